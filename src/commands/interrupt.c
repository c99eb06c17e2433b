#include "commands/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static const char *volatile last_words;

static pthread_t main_thread;

/* Only what a signal handler may do: no stdio, no memory. A worker hands the signal on to the main thread,
 * which alone changes the list of unfinished files: it cannot free a path while its handler reads it. */
static void clean_up(int number) {
    if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, number);
        return;
    }
    file_remove_unfinished();
    const char *words = last_words;
    if (write(STDERR_FILENO, words, strlen(words)) >= 0 && write(STDERR_FILENO, "\n", 1) >= 0)
        _exit(128 + number);
    _exit(128 + number); /* nobody reads the words */
}

void interrupt_cleanly(const char *words) {
    last_words = words;
    main_thread = pthread_self();
    interrupt_handle(clean_up, true);
}

void interrupt_handle(void (*handler)(int number), bool restart) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before,
            action = {.sa_handler = handler, .sa_flags = restart ? SA_RESTART : 0};
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}
