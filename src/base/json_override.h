/* `--set training.max_steps=50`: changes one value in a JSON tree before it is checked. */
#ifndef TINYLM_BASE_JSON_OVERRIDE_H
#define TINYLM_BASE_JSON_OVERRIDE_H

#include "base/json.h"

/* `text` is "a.b.c=value": the value is JSON, or else a plain string, and replaces whatever stood
 * there. Missing objects on the way are created. Setting a key named "type" first removes its
 * siblings, which belong to the old type, so that the new one starts from its defaults. Errors: no
 * '=', an empty key, a way through something that is no object, text that is not UTF-8. `file` is
 * the tree's name in messages. */
bool json_override(cJSON *root, const char *text, const char *file, Error *error);

#endif
