/* memory_file.h - a file that is in memory only, for readers that take a path */
#pragma once

#include <stddef.h>

/** Returns a descriptor of a file with these bytes, to be closed by the caller, and its path. */
int memory_file(const void *data, size_t size, char path[32]);
