/* The subcommands of ./inspect. argv[0] is the subcommand's name; each returns the exit status. */
#ifndef TINYLM_COMMANDS_INSPECT_H
#define TINYLM_COMMANDS_INSPECT_H

int inspect_chart(int argc, char **argv);
int inspect_model(int argc, char **argv);
int inspect_order(int argc, char **argv);
int inspect_positions(int argc, char **argv);
int inspect_rope(int argc, char **argv);
int inspect_scores(int argc, char **argv);

#endif
