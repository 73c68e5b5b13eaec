/* streams.h - standard input and output as files in memory, for code that reads and writes them */
#pragma once

#include <stddef.h>

/**
 * Replaces standard input by a file with these bytes, and standard output by an empty file. Texts
 * printed to stderr are dropped until the end; the descriptor of standard error stays.
 */
void streams_begin(const void *data, size_t size);

/** Restores all but standard input. Returns the text of standard output, which the caller frees. */
char *streams_end(size_t *length);
