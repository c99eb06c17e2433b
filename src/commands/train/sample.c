#include "commands/train/sample.h"

#include <stdlib.h>

#include "generation/generator.h"
#include "generation/text_stream.h"

enum { MAX_TOKENS = 200 };

typedef struct Story {
    TextStream text;
    FILE *out;
} Story;

static bool write_token(void *context, const GeneratedToken *token) {
    Story *story = context;
    size_t length;
    const char *text = text_stream_add(&story->text, (uint32_t)token->id, &length);
    fwrite(text, 1, length, story->out);
    return !story->text.ended;
}

bool train_sample_write(const Model *model, Tokenizer *tokenizer, int64_t separator, uint64_t seed,
                        FILE *out, Error *error) {
    ModelTokenizer either; /* only lent: the tokenizer stays the caller's */
    model_tokenizer_take(&either, tokenizer, NULL);
    model_tokenizer_set_ends(&either, &separator, 1);
    int32_t prompt = (int32_t)(separator >= 0 ? separator : (int64_t)tokenizer->id_of_byte['\n']);
    uint8_t *padding = allocate_zeroed((size_t)model->config.vocab_size, 1);
    for (int64_t id = tokenizer_vocab_size(tokenizer); id < model->config.vocab_size; id++)
        padding[id] = 1;
    Story story = {.out = out};
    text_stream_init(&story.text, &either, (uint32_t)prompt, NULL, 0);
    GeneratorOptions options = {.stories = 1,
                                .max_tokens = MAX_TOKENS,
                                .seed = seed,
                                .sampler = sampler_config_default(),
                                .excluded = padding,
                                .separator = separator,
                                .token = write_token,
                                .context = &story};
    options.sampler.temperature = 0.8;
    options.sampler.top_p = 0.95;
    bool done = generate(model, &prompt, 1, &options, NULL, error);
    size_t length = 0;
    const char *rest = text_stream_finish(&story.text, &length);
    fwrite(rest, 1, length, out);
    fputc('\n', out);
    text_stream_free(&story.text);
    free(padding);
    return done;
}
