/* ./convert FROM TO: models between formats. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/printable.h"
#include "commands/interrupt.h"
#include "commands/options.h"
#include "formats/model_file.h"

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* The format that a name asks for; MODEL_FORMAT_COUNT when it asks for none. */
static ModelFormat format_of_name(const char *path) {
    if (ends_with(path, ".gguf")) return MODEL_GGUF;
    if (ends_with(path, ".bin")) return MODEL_LLAMA2C;
    if (ends_with(path, "-hf") || ends_with(path, "-hf/")) return MODEL_HUGGINGFACE;
    if (strncmp(path, "runs/", 5) == 0 || strstr(path, "/runs/")) return MODEL_TINYLM;
    return MODEL_FORMAT_COUNT;
}

static ModelFormat format_named(const char *name) {
    int format = 0;
    while (strcmp(model_format_name((ModelFormat)format), name) != 0) format++;
    return (ModelFormat)format;
}

int main(int argc, char **argv) {
    const char *from = NULL, *to = NULL, *format_name = NULL, *tokenizer = NULL, *type = "f32";
    const Option options[] = {
        ARGUMENT("FROM", &from,
                 "a run directory, .safetensors, Hugging Face directory, .gguf or .bin"),
        ARGUMENT("TO", &to, "the file or (new) directory to write"),
        OPTION_CHOICE("--to", "hf|gguf|llama2c|tinylm", &format_name,
                      "the format; without it TO tells: NAME.gguf, NAME.bin, NAME-hf, runs/NAME"),
        OPTION_CHOICE("--type", "f32|f16", &type, "how GGUF matrices are stored"),
        OPTION_TEXT("--tokenizer", "PATH", &tokenizer,
                    "a tokenizer to use in place of the one that comes with FROM"),
        OPTIONS_END,
    };
    const Program program = {
        "convert",
        "Converts a model between this program's run directories, Hugging Face, "
        "GGUF (llama.cpp) and llama2.c.",
        "./convert runs/tiny tiny.gguf\n./convert runs/tiny tiny-hf", options};
    options_read(&program, argc, argv);
    interrupt_cleanly("convert: interrupted; nothing was written");

    ModelFormat format = format_name ? format_named(format_name) : format_of_name(to);
    if (format == MODEL_FORMAT_COUNT)
        return program_misused("convert", "the format of '%s' cannot be told; give --to", to);
    if (strcmp(type, "f16") == 0 && format != MODEL_GGUF)
        return program_misused("convert", "--type f16 is for GGUF only");

    ModelFile file;
    Error error;
    if (!directory_exists(to) && !file_check_output(to, from, "the model", &error))
        return program_failed("convert", &error);
    if (!model_file_read(&file, from, tokenizer, &error)) return program_failed("convert", &error);
    bool written = model_file_write(&file, format, to, strcmp(type, "f16") == 0, &error);
    for (int i = 0; i < file.warning_count; i++)
        print_line(stderr, "convert: warning: %s", file.warnings[i]);
    if (!written) {
        model_file_free(&file);
        return program_failed("convert", &error);
    }
    printf("%s: %s, %lld weights\n", to, model_format_name(format),
           (long long)parameters_total(&file.model->parameters));
    model_file_free(&file);
    return program_done("convert");
}
