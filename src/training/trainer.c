#include "training/trainer.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/parallel.h"
#include "formats/model_weights.h"
#include "training/run_log.h"
#include "training/schedule.h"

/* What the loop carries from step to step. */
typedef struct Trainer {
    const TrainerSetup *setup;
    const TrainerEvents *events;
    TrainStep step;
    Evaluator *evaluator;
    RunLog log;
    TrainerResult *result;
    double start, seconds_before; /* of this process; of the run before it */
    double training_seconds;      /* spent in steps since the last row */
    int64_t training_steps;       /* made since the last row */
    int64_t saved_step;           /* of the checkpoint, 0: none */
} Trainer;

TrainStepConfig trainer_step_config(const TrainerSetup *setup) {
    const TrainConfig *config = setup->config;
    return (TrainStepConfig){.optimizer = &config->optimizer,
                             .source = setup->source,
                             .rows = config->batch_size * config->gradient_accumulation,
                             .T = config->model.context_length,
                             .separator = setup->separator,
                             .grad_clip = config->grad_clip,
                             .recompute = config->recompute,
                             .plain = setup->plain};
}

static bool due(int64_t step, int64_t every) {
    return every > 0 && step % every == 0;
}

/* Loads the checkpoint when resuming, and brings log and samples back to its step. */
static bool begin(Trainer *t, Error *error) {
    const TrainerSetup *setup = t->setup;
    RunState *state = &t->result->state;
    *state = (RunState){.best_valid_loss = HUGE_VAL, .tokenizer = setup->tokenizer};
    TrainStepConfig config = trainer_step_config(setup);
    if (!train_step_create(&t->step, setup->model, &config, error)) return false;
    if (setup->resume && file_exists(setup->run->checkpoint) &&
        !checkpoint_load(setup->run->checkpoint, setup->model, &t->step.optimizer, state, error))
        return false;
    t->result->first_step = t->saved_step = state->step;
    t->seconds_before = state->seconds;
    if (state->data && state->data != setup->data && t->events->other_data)
        t->events->other_data(t->events->context);
    state->data = setup->data;
    return samples_truncate(setup->run->samples, state->step > 0 ? state->step : -1, error) &&
           run_log_open(&t->log, setup->run->log, state->step, error);
}

/* What is left when a step failed. */
static bool name_checkpoint(const Trainer *t, Error *error) {
    const Error reason = *error;
    if (t->saved_step == 0)
        return error_set(error, "%s; there was no checkpoint yet", reason.message);
    return error_set(error, "%s; the last good checkpoint is %s, of step %lld", reason.message,
                     t->setup->run->checkpoint, (long long)t->saved_step);
}

static bool validate(Trainer *t, double rate, Evaluation *validation, Error *error) {
    const TrainerSetup *setup = t->setup;
    RunState *state = &t->result->state;
    /* As many threads as training has workers for at most. A batch of fewer rows has no tape for each
     * of them to lend. */
    int threads = parallel_threads();
    if (threads > TRAIN_MOST_WORKERS) threads = TRAIN_MOST_WORKERS;
    Tape *lent = t->step.workers == threads ? t->step.tapes : NULL;
    if (!t->evaluator) t->evaluator = evaluator_new(setup->model, threads, lent);
    EvaluationOptions options = {.token_bytes = setup->token_bytes};
    if (!evaluate(t->evaluator, &setup->validation, &options, validation, error)) {
        /* the first to see what the last update did */
        if (!isfinite(validation->loss_sum))
            error_set(error,
                      "step %lld: the validation loss is not finite, learning rate %.3g; lower "
                      "training.learning_rate.max or raise warmup_steps there",
                      (long long)state->step, rate);
        return name_checkpoint(t, error);
    }
    t->result->validation = *validation;
    double loss = evaluation_loss(validation);
    if (!(loss < state->best_valid_loss)) return true;
    state->best_valid_loss = loss;
    return model_weights_save(setup->model, setup->run->best, error);
}

static bool sample(Trainer *t, int64_t step, Error *error) {
    FILE *out = fopen(t->setup->run->samples, "abe");
    if (!out)
        return error_set(error, "%s: cannot be written: %s", t->setup->run->samples,
                         strerror(errno));
    fprintf(out, "=== step %lld\n", (long long)step);
    bool done = t->events->sample(t->events->context, step, out, error);
    if (fclose(out) != 0 && done)
        done =
            error_set(error, "%s: cannot be written: %s", t->setup->run->samples, strerror(errno));
    return done;
}

/* The checkpoint first: were the program killed between the two files, resuming writes the model
 * again, at the next checkpoint or, when no step is left, at once. */
static bool save(Trainer *t, Error *error) {
    const TrainerSetup *setup = t->setup;
    if (!checkpoint_save(setup->run->checkpoint, setup->run->previous_checkpoint, setup->model,
                         &t->step.optimizer, &t->result->state, setup->config_json, error) ||
        !model_weights_save(setup->model, setup->run->model, error))
        return false;
    t->saved_step = t->result->state.step;
    if (t->events->saved) t->events->saved(t->events->context, t->result->state.step);
    return true;
}

static bool keep_model(Trainer *t, int64_t step, Error *error) {
    char *path =
        string_format("%s/step_%07lld.safetensors", t->setup->run->checkpoints, (long long)step);
    bool kept = directory_create(t->setup->run->checkpoints, error) &&
                model_weights_save(t->setup->model, path, error);
    free(path);
    return kept;
}

/* Writes the row of a step and tells the caller about the step. */
static bool report(Trainer *t, double rate, const StepResult *step, const Evaluation *validation,
                   Error *error) {
    const TrainConfig *config = t->setup->config;
    RunState *state = &t->result->state;
    double now = omp_get_wtime() - t->start;
    state->seconds = t->seconds_before + now;
    double per_step = (double)(t->step.rows * t->step.T);
    double speed = per_step * (double)t->training_steps / fmax(t->training_seconds, 1e-9);
    bool row = state->step == 1 || due(state->step, config->log_every) || validation ||
               state->step == config->max_steps;
    if (row) {
        RunLogRow fields = {.step = state->step,
                            .tokens = (int64_t)per_step * state->step,
                            .seconds = state->seconds,
                            .learning_rate = rate,
                            .train_loss = step->loss,
                            .grad_norm = step->grad_norm,
                            .valid_loss = validation ? evaluation_loss(validation) : NAN,
                            .tokens_per_second = speed};
        if (!run_log_write(&t->log, &fields, error)) return false;
        t->training_seconds = 0;
        t->training_steps = 0;
    }
    double done = (double)(state->step - t->result->first_step);
    TrainerReport all = {.step = state->step,
                         .max_steps = config->max_steps,
                         .learning_rate = rate,
                         .train_loss = step->loss,
                         .grad_norm = step->grad_norm,
                         .tokens_per_second = speed,
                         .seconds_left = now / done * (double)(config->max_steps - state->step),
                         .validation = validation,
                         .row = row};
    if (t->events->step) t->events->step(t->events->context, &all);
    return true;
}

/* One step with everything that is due after it. */
static bool iterate(Trainer *t, Error *error) {
    const TrainConfig *config = t->setup->config;
    RunState *state = &t->result->state;
    StepResult step;
    double begun = omp_get_wtime(), rate = schedule_rate(&config->learning_rate, state->step);
    if (!train_step_run(&t->step, state->step, rate, &step, error))
        return name_checkpoint(t, error);
    t->training_seconds += omp_get_wtime() - begun;
    t->training_steps++;
    state->step++;
    bool last = state->step == config->max_steps;
    Evaluation validation;
    bool validated =
        t->setup->validation.count > 0 && (last || due(state->step, config->eval_every));
    if (validated && !validate(t, rate, &validation, error)) return false;
    if (!report(t, rate, &step, validated ? &validation : NULL, error)) return false;
    if (t->events->sample &&
        (due(state->step, config->sample_every) || (last && config->sample_every)) &&
        !sample(t, state->step, error))
        return false;
    if (due(state->step, config->keep_every) && !keep_model(t, state->step, error)) return false;
    t->result->stopped = !last && t->events->stop && *t->events->stop;
    if (last || t->result->stopped || due(state->step, config->checkpoint_every))
        return save(t, error);
    return true;
}

bool trainer_run(const TrainerSetup *setup, const TrainerEvents *events, TrainerResult *result,
                 Error *error) {
    Trainer t = {.setup = setup, .events = events, .result = result, .start = omp_get_wtime()};
    *result = (TrainerResult){0};
    bool going = begin(&t, error);
    /* No step to do: the model of max_steps 0, or of a run that was killed after its last checkpoint
     * and before the model that belongs to it. */
    if (going && result->state.step >= setup->config->max_steps) {
        going = model_weights_save(setup->model, setup->run->model, error);
        if (going && result->state.step > 0 && events->saved)
            events->saved(events->context, result->state.step);
    }
    while (going && !result->stopped && result->state.step < setup->config->max_steps)
        going = iterate(&t, error);
    run_log_close(&t.log);
    evaluator_free(t.evaluator);
    train_step_free(&t.step);
    return going;
}
