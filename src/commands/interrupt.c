#include "commands/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static const char *volatile last_words;

/* Only what a signal handler may do: no stdio, no memory. */
static void clean_up(int number) {
    file_remove_unfinished();
    const char *words = last_words;
    if (write(STDERR_FILENO, words, strlen(words)) >= 0 && write(STDERR_FILENO, "\n", 1) >= 0)
        _exit(128 + number);
    _exit(128 + number); /* nobody reads the words */
}

void interrupt_cleanly(const char *words) {
    last_words = words;
    signal(SIGINT, clean_up);
    signal(SIGTERM, clean_up);
}
