/* ./tokenize: everything about the tokenizer, one subcommand each. */
#include "commands/interrupt.h"
#include "commands/tokenize/tokenize_commands.h"

int main(int argc, char **argv) {
    static const Subcommand table[] = {
        {"train", "learn a vocabulary from text", tokenize_train},
        {"encode", "text to ids", tokenize_encode},
        {"decode", "ids to text", tokenize_decode},
        {"split", "text to pre-tokens, in hex", tokenize_split},
        {"show", "a text in coloured pieces with their ids", tokenize_show},
        {"merges", "how a word is merged, step by step", tokenize_merges},
        {"bytes", "a text's characters in UTF-8, UTF-16 and UTF-32", tokenize_bytes},
        {"stats", "what a tokenizer makes of a text", tokenize_stats},
        {"compare", "several tokenizers on several texts", tokenize_compare},
        {NULL, NULL, NULL},
    };
    interrupt_cleanly("tokenize: interrupted; no file was written");
    return options_run_subcommand(
        "tokenize", "Trains, applies and explains a byte-level BPE tokenizer.", table, argc, argv);
}
