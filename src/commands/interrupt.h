/* Ctrl-C (SIGINT) and SIGTERM while a program writes what can be made again. */
#ifndef TINYLM_COMMANDS_INTERRUPT_H
#define TINYLM_COMMANDS_INTERRUPT_H

/* From now on these signals remove half-written files, print `words` (one line) to stderr, and end the
 * program with 128 + signal. A program that wants to stop in another way later replaces the handlers. */
void interrupt_cleanly(const char *words);

#endif
