/* The loss of a model on sequences that are not trained on.                     [handout §4.1, §5.3]
 *
 *   loss = −Σ ln p(target) / tokens,  perplexity = e^loss,
 *   bits per byte = −Σ log₂ p(target) / bytes of the text that the targets stand for
 *
 * Bits per byte do not depend on the tokenizer. Sequences are shared out over the team, a few at a
 * time, each thread with a tape of its own, as in training. The sums are added up in the order of
 * the sequences, so that they do not depend on the number of threads. */
#ifndef TINYLM_TRAINING_EVALUATION_H
#define TINYLM_TRAINING_EVALUATION_H

#include "formats/npy.h"
#include "model/transformer.h"

/* ---- what is evaluated ---- */

/* One sequence of up to T positions, to be filled in. */
typedef struct EvaluationRow {
    int32_t *ids, *targets;  /* (T) each below vocab_size */
    real *weights;           /* (T) preset to 1; 0 for a position that does not count */
    int32_t *document_start; /* (T) preset to 0: see attention.h */
    int64_t length;          /* positions filled, 1 … T; preset to T */
} EvaluationRow;

/* Sequences numbered 0 … count − 1. `fill` is called from several threads at once and must depend
 * on nothing but the index. All sequences but the last must have the length T. */
typedef struct EvaluationSource {
    int64_t count, T;
    void (*fill)(const void *context, int64_t index, EvaluationRow *row);
    const void *context;
} EvaluationSource;

/* Windows of T targets over an array of ids: the window at s predicts ids[s + 1 … s + T] from
 * ids[s … s + T − 1]. */
typedef struct EvaluationWindows {
    const NpyArray *ids;
    int64_t T;
    int64_t count;
    int64_t last_start; /* of the last window; the others are evenly spaced before it, or T apart */
    bool spread;
    int64_t separator; /* id that ends a document, beyond which nothing is attended to; −1: none */
} EvaluationWindows;

/* Every target once: windows side by side, the last one as short as it comes out. */
EvaluationWindows evaluation_windows_all(const NpyArray *ids, int64_t T, int64_t separator);
/* `count` windows at fixed places, evenly spaced from the first to the last that fits; all windows
 * side by side when that is not more than `count`. */
EvaluationWindows evaluation_windows_spread(const NpyArray *ids, int64_t T, int64_t count,
                                            int64_t separator);
/* The windows as a source; they must outlive it. */
EvaluationSource evaluation_source(const EvaluationWindows *windows);

/* ---- what comes out ---- */

typedef struct Evaluation {
    double loss_sum; /* Σ weight · loss, in nats */
    double tokens;   /* Σ weight: how many targets count */
    double correct;  /* Σ weight where the likeliest id is the target */
    double whole;    /* sequences in which every target that counts is the likeliest id */
    double bytes;    /* of the targets that count; 0 when the lengths of tokens were not given */
    int64_t sequences;
} Evaluation;

double evaluation_loss(const Evaluation *evaluation); /* per token, nats; NaN without tokens */
double evaluation_perplexity(const Evaluation *evaluation);
double evaluation_bits_per_byte(const Evaluation *evaluation); /* NaN when bytes are not known */

/* ---- doing it ---- */

/* Memory for evaluating, kept from one time to the next: after the first time nothing is
 * allocated. */
typedef struct Evaluator Evaluator;

/* Works with so many threads. `tapes`: one for each, lent by the caller (training's own: whatever they
 * hold is reset), or NULL for own ones. */
Evaluator *evaluator_new(const Model *model, int threads, Tape *tapes);
void evaluator_free(Evaluator *evaluator);

typedef struct EvaluationOptions {
    const uint32_t *token_bytes; /* (vocab_size) bytes of each token, or NULL */
    /* (T) of the source, or NULL: get the loss of each position, summed over the sequences, and how
     * many counted there. */
    double *position_losses, *position_tokens;
    /* Called now and then from the calling thread; returning false ends the evaluation early. */
    bool (*progress)(void *context, const Evaluation *so_far, int64_t sequences);
    void *progress_context;
} EvaluationOptions;

/* Evaluates all sequences of the source; `options` may be NULL. Errors: no sequences, an id outside
 * of the vocabulary, a T beyond what the model's positions reach, a loss that is not finite. */
bool evaluate(Evaluator *evaluator, const EvaluationSource *source,
              const EvaluationOptions *options, Evaluation *result, Error *error);

#endif
