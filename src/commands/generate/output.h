/* What ./generate prints: stories as text while they are told, or ids, or tables of
 * probabilities. */
#ifndef TINYLM_COMMANDS_GENERATE_OUTPUT_H
#define TINYLM_COMMANDS_GENERATE_OUTPUT_H

#include "formats/model_file.h"
#include "generation/generator.h"

typedef struct Prompt {
    const char *text; /* as it was given; need not be valid UTF-8, may hold NUL */
    size_t length;
    int32_t *ids;
    size_t count;
} Prompt;

typedef enum OutputForm {
    OUTPUT_TEXT,    /* prompt and story */
    OUTPUT_IDS,     /* one line a story: all ids, those of the prompt too, separated by blanks */
    OUTPUT_LOGPROBS /* one line a token: id, its text, its probability, and the likeliest others */
} OutputForm;

/* One story is printed as it comes; of several each is kept until all are told, and then they
 * follow each other, under a line with their number. Everything goes to stdout. The arguments must
 * outlive the output. */
typedef struct Output Output;
Output *output_new(OutputForm form, const ModelFile *file, const Prompt *prompt, int64_t stories,
                   const char *const *stops, int stop_count);
void output_free(Output *output);

void output_begin(Output *output);                             /* before the first token */
bool output_token(void *context, const GeneratedToken *token); /* the generator's callback */
void output_end(Output *output);                               /* after the last token */
int64_t output_tokens(const Output *output);  /* generated so far, of all stories */
int64_t output_unended(const Output *output); /* stories that have not come to their end */

#endif
