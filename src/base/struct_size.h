/*
 * struct_size.h - structs that a program fills, which begin with their size
 *
 * A program that was compiled with another header has another struct. An _init_sized function writes only the bytes
 * that the program's struct has, and functions that take the struct refuse a size other than the library's.
 */
#pragma once

#include <stddef.h>

#include "plait/error.h"

/** Copies the default struct of `known` bytes to *out, at most `size` bytes of it. */
void sized_init(void *out, size_t size, const void *usual, size_t known);

/** Fails (RANGE) if the size is neither `known` nor 0. */
PLAIT_MUST_CHECK plait_status sized_check(const char *where, size_t size, size_t known,
                                          plait_error *err);
