#include "commands/logits.h"

#include <stdlib.h>
#include <string.h>

#include "training/batches.h"

bool ids_parse(const char *text, int64_t vocab_size, int32_t **ids, int64_t *count, Error *error) {
    static const char separators[] = " ,\t\r\n";
    *ids = allocate(strlen(text) / 2 + 1, sizeof **ids);
    *count = 0;
    for (const char *at = text + strspn(text, separators); *at; at += strspn(at, separators)) {
        size_t length = strcspn(at, separators), digits = strspn(at, "0123456789");
        int64_t id = 0;
        for (size_t i = 0; i < digits && id < vocab_size; i++) id = 10 * id + at[i] - '0';
        if (digits != length || id >= vocab_size) {
            error_set(error, "'%.*s' is no id of this model; ids are whole numbers from 0 to %lld",
                      length < 40 ? (int)length : 40, at, (long long)vocab_size - 1);
            free(*ids);
            return false;
        }
        (*ids)[(*count)++] = (int32_t)id;
        at += length;
    }
    if (*count > 0) return true;
    free(*ids);
    return error_set(error, "there are no ids; give whole numbers separated by blanks");
}

bool logits_print(const Model *model, const int32_t *ids, int64_t count, int64_t separator,
                  FILE *stream, Error *error) {
    if (!position_prepare(model->position, count, error)) return false;
    int32_t *starts = allocate((size_t)count, sizeof *starts);
    document_starts(ids, count, separator, starts);
    ModelInput input = {.B = 1, .T = count, .ids = ids};
    if (model->config.document_mask) input.document_start = starts;
    Tape tape;
    tape_init(&tape, model->parameters.count, TAPE_EVALUATE);
    Tensor *logits = model_logits(model, &tape, model_hidden(model, &tape, &input));
    int64_t vocab_size = model->config.vocab_size;
    for (int64_t i = 0; i < count * vocab_size; i++)
        fprintf(stream, "%.9g%c", (double)logits->data[i], (i + 1) % vocab_size ? ' ' : '\n');
    tape_free(&tape);
    free(starts);
    return true;
}
