#include "training/evaluation.h"

#include <omp.h>
#include <stdlib.h>

#include "training/batches.h"

/* ---- windows ---- */

EvaluationWindows evaluation_windows_all(const NpyArray *ids, int64_t T, int64_t separator) {
    int64_t targets = ids->count > 0 ? ids->count - 1 : 0, count = (targets + T - 1) / T;
    return (EvaluationWindows){ids, T, count, (count - 1) * T, false, separator};
}

EvaluationWindows evaluation_windows_spread(const NpyArray *ids, int64_t T, int64_t count,
                                            int64_t separator) {
    EvaluationWindows all = evaluation_windows_all(ids, T, separator);
    if (all.count <= count) return all;
    return (EvaluationWindows){ids, T, count, ids->count - 1 - T, true, separator};
}

static int64_t start_of_window(const EvaluationWindows *windows, int64_t index) {
    if (!windows->spread) return index * windows->T;
    return windows->count == 1 ? 0 : index * windows->last_start / (windows->count - 1);
}

static void fill_window(const void *context, int64_t index, EvaluationRow *row) {
    const EvaluationWindows *windows = context;
    int64_t start = start_of_window(windows, index), rest = windows->ids->count - 1 - start;
    if (rest < row->length) row->length = rest;
    for (int64_t i = 0; i < row->length; i++) {
        row->ids[i] = (int32_t)npy_get(windows->ids, start + i);
        row->targets[i] = (int32_t)npy_get(windows->ids, start + i + 1);
    }
    document_starts(row->ids, row->length, windows->separator, row->document_start);
}

EvaluationSource evaluation_source(const EvaluationWindows *windows) {
    return (EvaluationSource){windows->count, windows->T, fill_window, windows};
}

/* ---- results ---- */

double evaluation_loss(const Evaluation *evaluation) {
    return evaluation->tokens > 0 ? evaluation->loss_sum / evaluation->tokens : NAN;
}
double evaluation_perplexity(const Evaluation *evaluation) {
    return exp(evaluation_loss(evaluation));
}
double evaluation_bits_per_byte(const Evaluation *evaluation) {
    return evaluation->bytes > 0 ? evaluation->loss_sum / log(2) / evaluation->bytes : NAN;
}

/* ---- evaluating ---- */

struct Evaluator {
    const Model *model;
    Tape *tapes;
    bool own_tapes;
    int threads;
    /* Of one round: slices of `rows` sequences of T positions, as many as the threads take in a
     * short time. The buffers have room for `capacity` positions. */
    int64_t slices, rows, T, capacity;
    int32_t *ids, *targets, *document_start, *predictions;
    real *weights, *losses;
    int64_t *lengths; /* of each sequence of the round */
    int64_t sequences_capacity;
};

/* A slice has about so many positions, so that its activations stay in cache; a round has so many
 * slices for each thread. Neither depends on the team, or else the last digits would. */
enum { SLICE_POSITIONS = 768, SLICES_PER_THREAD = 4 };

Evaluator *evaluator_new(const Model *model, int threads, Tape *tapes) {
    Evaluator *evaluator = allocate_zeroed(1, sizeof *evaluator);
    *evaluator =
        (Evaluator){.model = model, .tapes = tapes, .own_tapes = !tapes, .threads = threads};
    if (tapes) return evaluator;
    evaluator->tapes = allocate((size_t)evaluator->threads, sizeof *evaluator->tapes);
    for (int i = 0; i < evaluator->threads; i++)
        tape_init(&evaluator->tapes[i], model->parameters.count, TAPE_EVALUATE);
    return evaluator;
}

static void free_buffers(Evaluator *evaluator) {
    free(evaluator->ids);
    free(evaluator->targets);
    free(evaluator->document_start);
    free(evaluator->predictions);
    free(evaluator->weights);
    free(evaluator->losses);
    free(evaluator->lengths);
}

void evaluator_free(Evaluator *evaluator) {
    if (!evaluator) return;
    for (int i = 0; evaluator->own_tapes && i < evaluator->threads; i++)
        tape_free(&evaluator->tapes[i]);
    if (evaluator->own_tapes) free(evaluator->tapes);
    free_buffers(evaluator);
    free(evaluator);
}

/* Room for rounds of sequences of T positions; keeps the memory when it is large enough. */
static void make_room(Evaluator *e, int64_t T) {
    e->T = T;
    e->rows = T < SLICE_POSITIONS ? SLICE_POSITIONS / T : 1;
    e->slices = (int64_t)SLICES_PER_THREAD * e->threads;
    int64_t sequences = e->slices * e->rows, positions = sequences * T;
    if (positions <= e->capacity && sequences <= e->sequences_capacity) return;
    free_buffers(e);
    e->capacity = positions;
    e->sequences_capacity = sequences;
    e->ids = allocate((size_t)positions, sizeof *e->ids);
    e->targets = allocate((size_t)positions, sizeof *e->targets);
    e->document_start = allocate((size_t)positions, sizeof *e->document_start);
    e->predictions = allocate((size_t)positions, sizeof *e->predictions);
    e->weights = allocate((size_t)positions, sizeof *e->weights);
    e->losses = allocate((size_t)positions, sizeof *e->losses);
    e->lengths = allocate((size_t)sequences, sizeof *e->lengths);
}

/* Sequence `i` of the round becomes the source's sequence `index`. False: an id out of range. */
static bool fill_row(Evaluator *e, const EvaluationSource *source, int64_t i, int64_t index) {
    int64_t T = e->T, at = i * T, vocab = e->model->config.vocab_size;
    EvaluationRow row = {e->ids + at, e->targets + at, e->weights + at, e->document_start + at, T};
    for (int64_t t = 0; t < T; t++) row.weights[t] = 1, row.document_start[t] = 0;
    source->fill(source->context, index, &row);
    e->lengths[i] = row.length;
    for (int64_t t = 0; t < row.length; t++)
        if (row.ids[t] < 0 || row.ids[t] >= vocab || row.targets[t] < 0 || row.targets[t] >= vocab)
            return false;
    return true;
}

/* Runs sequences [first, first + count) of the round, all of one length, in one forward pass. */
static void run_rows(Evaluator *e, Tape *tape, int64_t first, int64_t count) {
    int64_t at = first * e->T;
    TapeMode mode = tape->mode;
    tape->mode = TAPE_EVALUATE;
    tape_reset(tape);
    ModelInput input = {.B = count, .T = e->lengths[first], .ids = e->ids + at};
    if (e->model->config.document_mask) input.document_start = e->document_start + at;
    model_loss(e->model, tape, &input,
               &(HeadLoss){.targets = e->targets + at,
                           .scale = 1,
                           .losses = e->losses + at,
                           .predictions = e->predictions + at});
    tape_reset(tape);
    tape->mode = mode;
}

/* Fills and runs one slice: the sequences from `index` on. A shorter last one runs alone. */
static bool run_slice(Evaluator *e, const EvaluationSource *source, Tape *tape, int64_t slice,
                      int64_t index) {
    int64_t first = slice * e->rows, count = source->count - index;
    if (count > e->rows) count = e->rows;
    for (int64_t i = 0; i < count; i++)
        if (!fill_row(e, source, first + i, index + i)) return false;
    if (count > 1 && e->lengths[first + count - 1] < e->T) {
        run_rows(e, tape, first, count - 1);
        run_rows(e, tape, first + count - 1, 1);
    } else {
        run_rows(e, tape, first, count);
    }
    return true;
}

/* Adds sequence i of the round to the result. */
static void add_row(const Evaluator *e, int64_t i, const EvaluationOptions *options,
                    Evaluation *result) {
    bool whole = true;
    for (int64_t t = 0; t < e->lengths[i]; t++) {
        int64_t at = i * e->T + t;
        double weight = (double)e->weights[at], loss = (double)e->losses[at];
        if (weight == 0) continue;
        bool correct = e->predictions[at] == e->targets[at];
        result->loss_sum += weight * loss;
        result->tokens += weight;
        result->correct += correct ? weight : 0;
        whole = whole && correct;
        if (options->token_bytes)
            result->bytes += weight * (double)options->token_bytes[e->targets[at]];
        if (options->position_losses) options->position_losses[t] += weight * loss;
        if (options->position_tokens) options->position_tokens[t] += weight;
    }
    result->whole += whole;
    result->sequences++;
}

bool evaluate(Evaluator *evaluator, const EvaluationSource *source,
              const EvaluationOptions *options, Evaluation *result, Error *error) {
    Evaluator *e = evaluator;
    *result = (Evaluation){0};
    static const EvaluationOptions nothing_special = {0};
    if (!options) options = &nothing_special;
    if (source->count <= 0)
        return error_set(error, "there is nothing to evaluate: at least two tokens are needed");
    if (!position_prepare(e->model->position, source->T, error)) return false;
    make_room(e, source->T);
    for (int64_t t = 0; t < source->T; t++) {
        if (options->position_losses) options->position_losses[t] = 0;
        if (options->position_tokens) options->position_tokens[t] = 0;
    }
    for (int64_t done = 0; done < source->count; done = result->sequences) {
        int64_t left = source->count - done, slices = (left + e->rows - 1) / e->rows;
        if (slices > e->slices) slices = e->slices;
        bool known = true;
#pragma omp parallel for schedule(dynamic, 1) reduction(&& : known) num_threads(e->threads)
        for (int64_t slice = 0; slice < slices; slice++)
            known = run_slice(e, source, &e->tapes[omp_get_thread_num()], slice,
                              done + slice * e->rows) &&
                    known;
        if (!known)
            return error_set(
                error,
                "the text has an id that the model's vocabulary of %lld does not have; "
                "use the tokenizer that the model was trained with",
                (long long)e->model->config.vocab_size);
        int64_t sequences = slices * e->rows < left ? slices * e->rows : left;
        for (int64_t i = 0; i < sequences; i++) add_row(e, i, options, result);
        if (options->progress &&
            !options->progress(options->progress_context, result, source->count))
            break;
    }
    if (!isfinite(result->loss_sum))
        return error_set(error, "the loss is not a finite number; the model's weights are damaged");
    return true;
}
