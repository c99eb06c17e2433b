/* Short forms for the rows of a table of keys (keys.h). Define KEYS_OF as the struct that the fields
 * belong to; what follows the meaning are further fields of Key, such as .derive = … */
#ifndef TINYLM_BASE_KEY_ROWS_H
#define TINYLM_BASE_KEY_ROWS_H

#include "base/keys.h"

#define KEY_ROW(key, kind_, field, fallback_, ...)                                                 \
    {                                                                                              \
        .name = key, .kind = kind_, .offset = offsetof(KEYS_OF, field), .fallback = fallback_,     \
        __VA_ARGS__                                                                                \
    }
#define WHOLE(key, field, fallback_, range, words, ...)                                            \
    KEY_ROW(key, KEY_WHOLE, field, fallback_, .allowed = range, .meaning = words, ##__VA_ARGS__)
#define REAL(key, field, fallback_, range, words, ...)                                             \
    KEY_ROW(key, KEY_REAL, field, fallback_, .allowed = range, .meaning = words, ##__VA_ARGS__)
#define FLAG(key, field, fallback_, words)                                                         \
    KEY_ROW(key, KEY_BOOL, field, fallback_, .meaning = words)
#define CHOICE(key, field, fallback_, names, words, ...)                                           \
    KEY_ROW(key, KEY_CHOICE, field, fallback_, .choices = names, .meaning = words, ##__VA_ARGS__)
#define TEXTS(key, kind_, field, fallback_, words)                                                 \
    KEY_ROW(key, kind_, field, fallback_, .meaning = words)
/* An object whose keys belong to the same struct. */
#define OBJECT(key, fallback_, table)                                                              \
    { .name = key, .kind = KEY_OBJECT, .fallback = fallback_, .keys = table }
#define END                                                                                        \
    { .name = NULL }

#endif
