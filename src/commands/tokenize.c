/* ./tokenize: everything about the tokenizer. This table says what each part asks for on the command
 * line; its work is one function in commands/tokenize/. */
#include <string.h>

#include "base/parallel.h"
#include "commands/interrupt.h"
#include "commands/tokenize/tokenize.h"
#include "tokenizer/unicode.h"

static Session session;

#define TOKENIZER                                                                                  \
    OPTION_TEXT("--tokenizer", "DIR", &session.directory,                                          \
                "its folder, its tokenizer.json, or a tiktoken file (one whose name begins with "  \
                "cl100k, o200k or llama3 splits text that way, others as GPT-2)",                  \
                .needed = true),                                                                   \
        OPTION_LIST("--special", "TOKEN", &session.specials, "one more special token")
#define TEXT OPTION_TEXT("--input", "FILE", &session.input, "text", .absent = "standard input")

static const Option train[] = {
    OPTION_LIST("--input", "FILE", &session.inputs, "text to learn from",
                .absent = "standard input"),
    OPTION_WHOLE("--vocab-size", "N", &session.vocab_size, 1, 1 << 30,
                 "size of the vocabulary: special tokens, 256 bytes and merges", .needed = true),
    OPTION_LIST("--special", "TOKEN", &session.specials, "a special token, e.g. '<|endoftext|>'"),
    OPTION_TEXT("--output", "DIR", &session.output, "folder of the tokenizer; created",
                .needed = true),
    OPTION_THREADS(&session.threads),
    OPTIONS_END,
};
static const Option encode[] = {
    TOKENIZER,
    TEXT,
    OPTION_TEXT("--output", "FILE.npy", &session.output,
                "array of uint16 (uint32 if the vocabulary exceeds 65536)",
                .absent = "numbers on standard output"),
    OPTION_THREADS(&session.threads),
    OPTIONS_END,
};
static const Option decode[] = {
    TOKENIZER,
    OPTION_TEXT("--input", "FILE.npy", &session.input, "array of ids",
                .absent = "numbers on standard input"),
    OPTION_FLAG("--raw", &session.raw,
                "the bytes as they are, also where they are not valid UTF-8"),
    OPTIONS_END,
};
static const Option split[] = {
    OPTION_LIST("--special", "TOKEN", &session.specials, "a special token"),
    TEXT,
    OPTIONS_END,
};
static const Option show[] = {
    TOKENIZER,
    ARGUMENT("TEXT", &session.text, "what to show"),
    OPTIONS_END,
};
static const Option merges[] = {
    TOKENIZER,
    ARGUMENT("WORD", &session.text, "a word; with the space before it, if it has one: ' word'"),
    OPTIONS_END,
};
static const Option bytes[] = {
    ARGUMENT("TEXT", &session.text, "what to look at"),
    OPTIONS_END,
};
static const Option stats[] = {
    TOKENIZER,
    TEXT,
    OPTION_THREADS(&session.threads),
    OPTIONS_END,
};
static const Option compare[] = {
    ARGUMENT_LIST("DIR", &session.directories, "folders of the tokenizers", .needed = true),
    OPTION_LIST("--input", "FILE", &session.inputs, "text", .needed = true),
    OPTION_LIST("--special", "TOKEN", &session.specials, "one more special token for all of them"),
    OPTIONS_END,
};

static const struct Part {
    const char *summary; /* for ./tokenize --help */
    Program program;
    bool (*run)(Session *session);
} parts[] = {
    {"learn a vocabulary from text",
     {"tokenize train", "Learns a byte-level BPE vocabulary.",
      "./tokenize train --input text.txt --vocab-size 4096 --output my_tokenizer", train},
     tokenize_train},
    {"text to ids",
     {"tokenize encode", "Turns text into token ids.",
      "./tokenize encode --tokenizer runs/tiny/tokenizer --input story.txt", encode},
     tokenize_encode},
    {"ids to text",
     {"tokenize decode", "Turns token ids into text.",
      "echo 12 345 67 | ./tokenize decode --tokenizer runs/tiny/tokenizer", decode},
     tokenize_decode},
    {"text to pre-tokens, in hex",
     {"tokenize split",
      "Splits text into pre-tokens, one a line: p and its bytes in hex, or s for a special token.",
      "echo 'some text' | ./tokenize split", split},
     tokenize_split},
    {"a text in coloured tokens with their ids",
     {"tokenize show",
      "Shows the tokens of a text in colours, each with its id; one a line when the output is not "
      "a terminal.",
      "./tokenize show --tokenizer runs/tiny/tokenizer 'Once upon a time'", show},
     tokenize_show},
    {"how a word is merged, step by step",
     {"tokenize merges",
      "Shows how a word becomes tokens: its bytes, then one merge after the other, the lowest "
      "rank first.",
      "./tokenize merges --tokenizer runs/tiny/tokenizer ' unhappily'", merges},
     tokenize_merges},
    {"a text's characters in UTF-8, UTF-16 and UTF-32",
     {"tokenize bytes",
      "Shows the characters of a text: code point, class in the GPT-2 pattern, and bytes in "
      "UTF-8, UTF-16 and UTF-32 (little-endian).",
      "./tokenize bytes 'h\xC3\xA9llo'", bytes},
     tokenize_bytes},
    {"how a tokenizer encodes a text",
     {"tokenize stats", "Measures how a tokenizer encodes a text.",
      "./tokenize stats --tokenizer runs/tiny/tokenizer --input text.txt", stats},
     tokenize_stats},
    {"several tokenizers on several texts",
     {"tokenize compare", "Compares how many bytes of each text the tokens of each tokenizer hold.",
      "./tokenize compare stories_bpe news_bpe --input stories.txt --input news.txt", compare},
     tokenize_compare},
};
enum { PARTS = sizeof parts / sizeof *parts };

static const char *name_of(const struct Part *part) {
    return strchr(part->program.name, ' ') + 1;
}

static int run_part(int argc, char **argv) {
    const struct Part *part = parts;
    while (strcmp(name_of(part), argv[0]) != 0) part++; /* it is one of them */
    options_read(&part->program, argc, argv);
    parallel_start((int)session.threads);
    unicode_start();
    bool done = true;
    if (session.directory) {
        session.tokenizer = tokenize_load(session.directory, &session.specials, &session.error);
        done = session.tokenizer != NULL;
    }
    done = done && part->run(&session);
    tokenizer_free(session.tokenizer);
    option_list_free(&session.inputs);
    option_list_free(&session.directories);
    option_list_free(&session.specials);
    return done ? program_done(part->program.name)
                : program_failed(part->program.name, &session.error);
}

int main(int argc, char **argv) {
    Subcommand table[PARTS + 1] = {{0}};
    for (int i = 0; i < PARTS; i++)
        table[i] = (Subcommand){name_of(&parts[i]), parts[i].summary, run_part};
    interrupt_cleanly("tokenize: interrupted; no file was written");
    return options_run_subcommand(
        "tokenize", "Trains, applies and explains a byte-level BPE tokenizer.", table, argc, argv);
}
