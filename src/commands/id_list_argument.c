#include "commands/id_list_argument.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

bool id_list_argument(const char *text, int32_t **ids, size_t *count, Error *error) {
    static const char separators[] = " ,\t\n";
    char *copy = string_copy(text), *rest = copy;
    *ids = allocate(strlen(text) / 2 + 1, sizeof **ids);
    *count = 0;
    bool good = true;
    for (char *word; good && (word = strtok_r(rest, separators, &rest));) {
        int64_t id;
        good = text_to_whole(word, &id) && id >= 0 && id <= INT32_MAX;
        if (good)
            (*ids)[(*count)++] = (int32_t)id;
        else
            error_set(error, "'%s' is no token id; give whole numbers, such as \"5 17 9\"", word);
    }
    free(copy);
    if (good) return true;
    free(*ids);
    *ids = NULL;
    return false;
}
