#undef NDEBUG
#define _GNU_SOURCE // memfd_create
#include "support/memory_file.h"

#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int memory_file(const void *data, size_t size, char path[32])
{
    const int file = memfd_create("fuzz", 0);

    assert(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, 32, "/proc/self/fd/%d", file);
    return file;
}
