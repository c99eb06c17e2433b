/* Token ids on a command line: "5 17 9". */
#ifndef TINYLM_COMMANDS_ID_LIST_ARGUMENT_H
#define TINYLM_COMMANDS_ID_LIST_ARGUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Whole numbers from 0 on, separated by blanks or commas, in memory that the caller frees. Errors:
 * something else, a number of 2^31 or more. */
bool id_list_argument(const char *text, int32_t **ids, size_t *count, Error *error);

#endif
