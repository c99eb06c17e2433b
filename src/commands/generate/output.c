#include "commands/generate/output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "generation/text_stream.h"

enum { RUNNERS_UP = 4 };

/* One story: what is printed for it goes to `stream`, which is stdout or memory. */
typedef struct StoryOutput {
    FILE *stream;
    char *memory;
    size_t size;
    TextStream text;
} StoryOutput;

struct Output {
    OutputForm form;
    const ModelFile *file;
    const Prompt *prompt;
    StoryOutput *stories;
    int64_t count, tokens;
};

Output *output_new(OutputForm form, const ModelFile *file, const Prompt *prompt, int64_t stories,
                   const char *const *stops, int stop_count) {
    Output *output = allocate(1, sizeof *output);
    *output = (Output){form,    file, prompt, allocate_zeroed((size_t)stories, sizeof(StoryOutput)),
                       stories, 0};
    uint32_t previous = prompt->count ? (uint32_t)prompt->ids[prompt->count - 1] : TOKEN_NONE;
    for (int64_t i = 0; i < stories; i++) {
        StoryOutput *story = &output->stories[i];
        story->stream = stories == 1 ? stdout : open_memstream(&story->memory, &story->size);
        text_stream_init(&story->text, &file->tokenizer, previous, stops, stop_count);
    }
    return output;
}

void output_free(Output *output) {
    for (int64_t i = 0; i < output->count; i++) {
        StoryOutput *story = &output->stories[i];
        if (story->stream != stdout && story->stream) fclose(story->stream);
        free(story->memory);
        text_stream_free(&story->text);
    }
    free(output->stories);
    free(output);
}

/* ---- probabilities ---- */

static void print_token(FILE *stream, const ModelFile *file, uint32_t previous, uint32_t id) {
    size_t length = 0;
    const uint8_t *bytes = model_tokenizer_bytes(&file->tokenizer, previous, id, &length);
    print_quoted(stream, bytes, bytes ? length : 0);
}

/* ln Σ e^logit, in double. */
static double log_sum(const real *logits, int64_t V) {
    double largest = (double)logits[0], sum = 0;
    for (int64_t i = 1; i < V; i++) largest = fmax(largest, (double)logits[i]);
    for (int64_t i = 0; i < V; i++) sum += exp((double)logits[i] - largest);
    return largest + log(sum);
}

/* The likeliest ids but for `id`, lower ids first among equals; returns how many there are. */
static int find_runners_up(const real *logits, int64_t V, int32_t id, int32_t best[RUNNERS_UP]) {
    int count = 0;
    for (int64_t i = 0; i < V; i++) {
        if (i == id || (count == RUNNERS_UP && !(logits[i] > logits[best[count - 1]]))) continue;
        int at = count < RUNNERS_UP ? count++ : count - 1;
        for (; at > 0 && logits[i] > logits[best[at - 1]]; at--) best[at] = best[at - 1];
        best[at] = (int32_t)i;
    }
    return count;
}

/* "42  " once"  0.8312  -0.18486 | " a" 0.0321 …": probabilities of the model itself, before
 * temperature and filters. */
static void print_logprobs(const Output *output, StoryOutput *story, const GeneratedToken *token) {
    int64_t V = output->file->model->config.vocab_size;
    uint32_t previous = story->text.previous;
    double sum = log_sum(token->logits, V), logprob = (double)token->logits[token->id] - sum;
    fprintf(story->stream, "%d\t", token->id);
    print_token(story->stream, output->file, previous, (uint32_t)token->id);
    fprintf(story->stream, "\t%.6f\t%.6f", exp(logprob), logprob);
    int32_t best[RUNNERS_UP];
    int count = find_runners_up(token->logits, V, token->id, best);
    for (int i = 0; i < count; i++) {
        fprintf(story->stream, "\t%d ", best[i]);
        print_token(story->stream, output->file, previous, (uint32_t)best[i]);
        fprintf(story->stream, " %.6f", exp((double)token->logits[best[i]] - sum));
    }
    fputc('\n', story->stream);
}

/* ---- stories ---- */

void output_begin(Output *output) {
    const Prompt *prompt = output->prompt;
    for (int64_t i = 0; i < output->count; i++) {
        FILE *stream = output->stories[i].stream;
        if (output->form == OUTPUT_TEXT) {
            size_t whole =
                text_stream_follow(&output->stories[i].text, prompt->text, prompt->length);
            print_text(stream, prompt->text, whole);
        }
        for (size_t k = 0; output->form == OUTPUT_IDS && k < prompt->count; k++)
            fprintf(stream, k ? " %d" : "%d", prompt->ids[k]);
        if (output->form == OUTPUT_LOGPROBS)
            fprintf(stream, "id\ttoken\tprobability\tlogprob\trunners-up\n");
    }
    fflush(stdout);
}

bool output_token(void *context, const GeneratedToken *token) {
    Output *output = context;
    StoryOutput *story = &output->stories[token->story];
    output->tokens++;
    if (output->form == OUTPUT_IDS) fprintf(story->stream, " %d", token->id);
    if (output->form == OUTPUT_LOGPROBS) print_logprobs(output, story, token);
    size_t length;
    const char *text = text_stream_add(&story->text, (uint32_t)token->id, &length);
    if (output->form == OUTPUT_TEXT) print_text(story->stream, text, length);
    if (story->stream == stdout) fflush(stdout);
    return !story->text.ended && !ferror(stdout);
}

void output_end(Output *output) {
    for (int64_t i = 0; i < output->count; i++) {
        StoryOutput *story = &output->stories[i];
        size_t length;
        const char *text = text_stream_finish(&story->text, &length);
        if (output->form == OUTPUT_TEXT) print_text(story->stream, text, length);
        if (output->form != OUTPUT_LOGPROBS) fputc('\n', story->stream);
        if (story->stream == stdout) continue;
        fflush(story->stream);
        printf("---- %lld ----\n", (long long)i + 1);
        print_text(stdout, story->memory, story->size);
    }
    fflush(stdout);
}

int64_t output_tokens(const Output *output) {
    return output->tokens;
}

int64_t output_unended(const Output *output) {
    int64_t unended = 0;
    for (int64_t i = 0; i < output->count; i++) unended += !output->stories[i].text.ended;
    return unended;
}
