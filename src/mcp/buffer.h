/* buffer.h - bytes that arrive in pieces */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct buffer {
    char *bytes;
    size_t length, capacity;
} buffer;

typedef enum buffer_state {
    BUFFER_MORE, /* the descriptor may have more bytes later */
    BUFFER_END,  /* the descriptor ended or failed */
    BUFFER_FULL, /* the limit is reached */
    BUFFER_NOMEM
} buffer_state;

/** Append what a descriptor has, up to `limit` bytes in all. */
buffer_state buffer_read(buffer *to, int fd, size_t limit);

/** Remove bytes at the start. */
void buffer_drop(buffer *from, size_t bytes);

void buffer_free(buffer *of);
