/* The signals that ask a program to stop: Ctrl-C (SIGINT), SIGTERM, and SIGHUP of a closed terminal. */
#ifndef TINYLM_COMMANDS_INTERRUPT_H
#define TINYLM_COMMANDS_INTERRUPT_H

#include <stdbool.h>

/* From now on these signals remove half-written files, print `words` (one line) to stderr, and end the
 * program with 128 + signal. A program that wants to stop in another way later replaces the handlers. */
void interrupt_cleanly(const char *words);

/* Calls `handler` for these signals. A blocked system call is resumed, or without `restart` fails with
 * EINTR. A signal that is already ignored stays so: nohup ignores SIGHUP, a shell SIGINT for
 * background jobs. */
void interrupt_handle(void (*handler)(int number), bool restart);

#endif
