/* ./convert FROM TO: models between formats. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/printable.h"
#include "commands/interrupt.h"
#include "commands/options.h"
#include "formats/model_file.h"

/* The format that a path asks for, or NULL. */
static const ModelFormat *format_of_path(const char *path) {
    char *plain = string_copy(path);
    size_t length = strlen(plain);
    if (length > 1 && plain[length - 1] == '/') plain[length - 1] = '\0';
    bool is_run = strncmp(path, "runs/", 5) == 0 || strstr(path, "/runs/");
    const ModelFormat *const *format = model_formats;
    while (*format && !((*format)->ending && path_ends_with(plain, (*format)->ending))) format++;
    free(plain);
    return *format ? *format : is_run ? &tinylm_format : NULL;
}

int main(int argc, char **argv) {
    const char *from = NULL, *to = NULL, *format_name = NULL, *tokenizer = NULL, *type = "f32";
    const Option options[] = {
        ARGUMENT("FROM", &from,
                 "a run directory, .safetensors, Hugging Face directory, .gguf or .bin"),
        ARGUMENT("TO", &to, "the file or (new) directory to write"),
        OPTION_CHOICE("--to", "hf|gguf|llama2c|tinylm", &format_name,
                      "the format; by default TO decides: NAME.gguf, NAME.bin, NAME-hf, runs/NAME"),
        OPTION_CHOICE("--type", "f32|f16", &type, "how GGUF matrices are stored"),
        OPTION_TEXT("--tokenizer", "PATH", &tokenizer,
                    "a tokenizer to use instead of the one that comes with FROM"),
        OPTIONS_END,
    };
    const Program program = {
        "convert",
        "Converts a model between this program's run directories, Hugging Face, "
        "GGUF (llama.cpp) and llama2.c.",
        "./convert runs/tiny tiny.gguf\n./convert runs/tiny tiny-hf", options};
    options_read(&program, argc, argv);
    interrupt_cleanly("convert: interrupted; nothing was written");

    const ModelFormat *format = format_name ? model_format_find(format_name) : format_of_path(to);
    if (!format)
        return program_misused("convert", "cannot tell the format of '%s' from its name; give --to",
                               to);
    if (strcmp(type, "f16") == 0 && !format->has_f16)
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
    printf("%s: %s, %lld weights\n", to, format->name,
           (long long)parameters_total(&file.model->parameters));
    model_file_free(&file);
    return program_done("convert");
}
