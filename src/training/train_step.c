#include "training/train_step.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "base/parallel.h"

/* Sequences of a micro-batch. Its activations should stay in the cache of a core, which asks for few
 * tokens; each micro-batch adds to all weight gradients, which asks for many; the first grows with d_model,
 * the second with its square. d_model tokens, between 256 and 1024, came out best: 256 instead of
 * 1024 makes a d_model of 128 14 % faster; at 512 the speed is the same from 512 to 2048, and the
 * memory is not. */
static int64_t micro_batch_for(const ModelConfig *model, int64_t rows, int64_t T, int workers) {
    int64_t tokens = model->d_model;
    if (tokens < 256) tokens = 256;
    if (tokens > 1024) tokens = 1024;
    int64_t share = rows / workers, size = tokens > T ? tokens / T : 1;
    return size < share ? size : share;
}

/* How the rows of a step are shared out. */
static TrainStep split_rows(Model *model, const TrainStepConfig *config, int threads) {
    int workers = threads < TRAIN_MOST_WORKERS ? threads : TRAIN_MOST_WORKERS;
    if (config->rows < workers) workers = (int)config->rows;
    /* More threads than processors gain nothing, and waking them costs up to a third of a step. */
    int useful = config->processors ? config->processors : parallel_available();
    if (useful < workers) useful = workers;
    if (useful > threads) useful = threads;
    return (TrainStep){.model = model,
                       .rows = config->rows,
                       .T = config->T,
                       .micro_batch =
                           micro_batch_for(&model->config, config->rows, config->T, workers),
                       .threads = useful,
                       .workers = workers};
}

static int64_t first_row(const TrainStep *step, int worker) {
    return step->rows * worker / step->workers;
}

/* The sequences of a worker's micro-batch number `round`; 0: it has no such micro-batch. */
static int64_t micro_batch_size(const TrainStep *step, int worker, int64_t round) {
    int64_t left =
        first_row(step, worker + 1) - first_row(step, worker) - round * step->micro_batch;
    return left <= 0 ? 0 : left < step->micro_batch ? left : step->micro_batch;
}

/* The threads that may share an operation of this round: all, divided by the workers that are still
 * busy. A function of the split alone, so that the bits are the same every time. */
static int share_of(const TrainStep *step, int64_t round) {
    int busy = 0;
    for (int w = 0; w < step->workers; w++) busy += micro_batch_size(step, w, round) > 0;
    return (step->threads + busy - 1) / busy;
}

static void prepare_tape(const TrainStep *step, Tape *tape, const TrainStepConfig *config,
                         TapeMode mode) {
    tape_init(tape, step->model->parameters.count, mode);
    tape->recompute = config->recompute;
    tape->plain = config->plain;
}

/* Bytes of a worker's tape at its peak, and the FLOPs of a token in forward. All rounds but the last
 * two are alike, and the second of them takes nothing new. */
static size_t plan_worker(const TrainStep *step, const TrainStepConfig *config, int worker,
                          double *flops) {
    Tape tape;
    prepare_tape(step, &tape, config, TAPE_PLAN);
    int32_t *ids = allocate_zeroed((size_t)(step->micro_batch * step->T), sizeof *ids);
    int64_t round = step->rows / step->workers / step->micro_batch - 1, count;
    for (; (count = micro_batch_size(step, worker, round)) > 0; round++) {
        parallel_set_share(share_of(step, round));
        model_loss(step->model, &tape, &(ModelInput){.B = count, .T = step->T, .ids = ids},
                   &(HeadLoss){0});
        *flops = (double)tape.forward_flops / (double)(count * step->T);
        tape_backward(&tape);
        tape_reset(&tape);
    }
    parallel_set_share(0);
    size_t bytes = tape_peak_bytes(&tape);
    tape_free(&tape);
    free(ids);
    return bytes;
}

TrainPlan train_step_plan(Model *model, const TrainStepConfig *config, int threads) {
    TrainStep step = split_rows(model, config, threads);
    int buffers = 1 + step.workers + optimizer_state_count(config->optimizer);
    TrainPlan plan = {.parameter_bytes = buffers * model->parameters.size * (int64_t)sizeof(real),
                      .batch_bytes = (double)config->rows * (double)config->T *
                                     (3 * sizeof(int32_t) + 2 * sizeof(real))};
    double flops = 0;
    for (int w = 0; w < step.workers; w++)
        plan.activation_bytes += (int64_t)plan_worker(&step, config, w, &flops);
    plan.flops_per_token = 3 * flops;
    return plan;
}

bool train_step_create(TrainStep *step, Model *model, const TrainStepConfig *config, Error *error) {
    *step = split_rows(model, config, parallel_threads());
    parallel_resize(step->threads);
    step->source = config->source;
    step->separator = config->separator;
    step->grad_clip = config->grad_clip;
    if (!position_prepare(model->position, config->T, error)) return false;
    if (!optimizer_create(&step->optimizer, config->optimizer, &model->parameters, error))
        return false;
    size_t tokens = (size_t)(step->rows * step->T);
    step->ids = allocate(tokens, sizeof *step->ids);
    step->targets = allocate(tokens, sizeof *step->targets);
    step->weights = allocate(tokens, sizeof *step->weights);
    step->losses = allocate(tokens, sizeof *step->losses);
    if (model->config.document_mask)
        step->document_start = allocate(tokens, sizeof *step->document_start);
    step->tapes = allocate_zeroed((size_t)step->workers, sizeof *step->tapes);
    step->gradients = allocate_zeroed((size_t)step->workers, sizeof *step->gradients);
    for (int w = 0; w < step->workers; w++) {
        step->gradients[w] = allocate_zeroed((size_t)model->parameters.size, sizeof(real));
        prepare_tape(step, &step->tapes[w], config, TAPE_RECORD);
        step->tapes[w].gradients = step->gradients[w];
    }
    return true;
}

void train_step_free(TrainStep *step) {
    for (int w = 0; w < step->workers && step->tapes; w++) {
        tape_free(&step->tapes[w]);
        free(step->gradients[w]);
    }
    free(step->tapes);
    free(step->gradients);
    free(step->ids);
    free(step->targets);
    free(step->weights);
    free(step->losses);
    free(step->document_start);
    optimizer_free(&step->optimizer);
    *step = (TrainStep){0};
}

/* Fills the batch of iteration t and returns the sum of the weights. */
static double fill_batch(TrainStep *step, int64_t t) {
    double total = 0;
    for (int64_t row = 0; row < step->rows; row++) {
        int64_t at = row * step->T;
        step->source.fill(step->source.context, t, row, step->ids + at, step->targets + at,
                          step->weights + at);
        for (int64_t i = at; i < at + step->T; i++) total += (double)step->weights[i];
        if (step->document_start)
            document_starts(step->ids + at, step->T, step->separator, step->document_start + at);
    }
    return total;
}

/* Forward, and backward when the tape is recording, of `count` rows from `row` on. */
static void run_micro_batch(TrainStep *step, Tape *tape, int64_t row, int64_t count, double scale,
                            bool last) {
    int64_t at = row * step->T;
    ModelInput input = {
        .B = count,
        .T = step->T,
        .ids = step->ids + at,
        .document_start = step->document_start ? step->document_start + at : NULL,
    };
    HeadLoss loss = {.targets = step->targets + at,
                     .weights = step->weights + at,
                     .scale = scale,
                     .losses = step->losses + at};
    tape->last_pass = last;
    model_loss(step->model, tape, &input, &loss);
    if (tape->mode == TAPE_RECORD) tape_backward(tape);
}

/* The rows of one worker. */
static void run_worker(TrainStep *step, int worker, double scale) {
    Tape *tape = &step->tapes[worker];
    int64_t row = first_row(step, worker), end = first_row(step, worker + 1), count;
    tape_begin_gradients(tape);
    for (int64_t round = 0; (count = micro_batch_size(step, worker, round)) > 0; round++) {
        parallel_set_share(share_of(step, round));
        run_micro_batch(step, tape, row, count, scale, row + count == end);
        tape_reset(tape);
        row += count;
    }
    parallel_set_share(0);
    tape_end_gradients(tape, step->model->parameters.tensors, step->model->parameters.count);
}

/* Mean loss, summed row by row in a fixed order. */
static double mean_loss(const TrainStep *step, double scale) {
    double total = 0;
    for (int64_t row = 0; row < step->rows; row++) {
        double sum = 0;
        for (int64_t i = row * step->T; i < (row + 1) * step->T; i++)
            sum += step->weights[i] != 0 ? (double)step->weights[i] * (double)step->losses[i] : 0;
        total += sum;
    }
    return total * scale;
}

/* Says where in the model the first number that is not finite comes from. */
static bool report_nonfinite(TrainStep *step, int64_t t, double rate, const StepResult *result,
                             Error *error) {
    char where[160] = "in backward";
    Tape tape;
    tape_init(&tape, step->model->parameters.count, TAPE_EVALUATE);
    tape.find_nonfinite = true;
    for (int64_t row = 0; row < step->rows; row += step->micro_batch) {
        int64_t count = step->rows - row < step->micro_batch ? step->rows - row : step->micro_batch;
        run_micro_batch(step, &tape, row, count, 1, false);
        if (tape.nonfinite_module) {
            snprintf(where, sizeof where, "in %s (%s)", tape.nonfinite_module,
                     tape.nonfinite_operation);
            break;
        }
        tape_reset(&tape);
    }
    tape_free(&tape);
    bool loss = !isfinite(result->loss);
    return error_set(error,
                     "step %lld: the %s is not finite, learning rate %.3g; it arose %s; "
                     "lower training.learning_rate.max or raise warmup_steps there",
                     (long long)t + 1, loss ? "loss" : "gradient norm", rate, where);
}

bool train_step_run(TrainStep *step, int64_t t, double rate, StepResult *result, Error *error) {
    double start = omp_get_wtime();
    /* Evaluating or sampling may have left the tables at another length. */
    if (!position_prepare(step->model->position, step->T, error)) return false;
    double weight = fill_batch(step, t), scale = weight > 0 ? 1 / weight : 0;
    double filled = omp_get_wtime();
    step->seconds_data += filled - start;
    double waited = 0;
#pragma omp parallel num_threads(step->threads) reduction(+ : waited)
    {
        int worker = omp_get_thread_num();
        if (worker < step->workers) run_worker(step, worker, scale);
        double done = omp_get_wtime();
#pragma omp barrier
        if (worker < step->workers) waited = omp_get_wtime() - done;
    }
    step->seconds_waiting += waited / step->workers;
    double computed = omp_get_wtime();
    result->loss = mean_loss(step, scale);
    result->grad_norm = optimizer_sum_gradients(&step->optimizer, step->gradients, step->workers);
    if (!isfinite(result->loss) || !isfinite(result->grad_norm))
        return report_nonfinite(step, t, rate, result, error);
    double clip = gradient_clip_factor(result->grad_norm, step->grad_clip);
    optimizer_update(&step->optimizer, step->model->parameters.values, step->gradients[0], clip,
                     rate);
    step->seconds_optimizer += omp_get_wtime() - computed;
    return true;
}
