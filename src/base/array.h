/* The one way in which arrays grow: items, their count and the capacity are variables or fields of the
 * owner's, and array_reserve makes room for `more` items behind the last one. Capacities at least double,
 * so that adding items one by one costs constant time each. Free the items with free(). */
#ifndef TINYLM_BASE_ARRAY_H
#define TINYLM_BASE_ARRAY_H

#include "base/error.h"

#define array_reserve(items, count, capacity, more)                                                \
    do {                                                                                           \
        if ((capacity) - (count) >= (more)) break;                                                 \
        (capacity) = 2 * ((count) + (more)) + 16;                                                  \
        (items) = reallocate((items), (capacity), sizeof *(items));                                \
    } while (0)

#endif
