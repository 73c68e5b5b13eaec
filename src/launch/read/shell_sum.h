/* shell_sum.h - the inside of $((...)): integers, names, their sums and products, comparisons, ?: */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The integer that a name stands for, or false. */
typedef bool shell_lookup(const void *context, const char *name, size_t length, int64_t *out);

/** Evaluate [first, end); false when a name is not known, or at anything else. */
bool shell_sum(const char *first, const char *end, shell_lookup *lookup, const void *context,
               int64_t *out);
