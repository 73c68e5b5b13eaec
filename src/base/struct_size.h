/*
 * struct_size.h - structs that a program fills: they begin with their size and end with room
 *
 * A program compiled with another header has another struct. Its _init_sized writes no byte past the one
 * that the program has, and what takes it refuses another size than the library's.
 */
#pragma once

#include <stddef.h>

#include "plait/error.h"

/** Make *out the usual struct, `known` bytes of this library, as far as the `size` of the program reaches. */
void sized_init(void *out, size_t size, const void *usual, size_t known);

/** Fails (RANGE) on another size than `known`; 0 stands for it. */
PLAIT_MUST_CHECK plait_status sized_check(const char *where, size_t size, size_t known,
                                          plait_error *err);
