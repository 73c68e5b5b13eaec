/* buffer.c - collects bytes that arrive in pieces */
#include "mcp/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 64 * 1024 };

buffer_state buffer_read(buffer *to, int fd, size_t limit)
{
    if (to->length >= limit)
        return BUFFER_FULL;
    if (to->capacity - to->length < PIECE) {
        const size_t capacity = to->capacity == 0 ? 2 * PIECE : 2 * to->capacity;
        char *const bytes = realloc(to->bytes, capacity);

        if (bytes == NULL)
            return BUFFER_NOMEM;
        to->bytes = bytes;
        to->capacity = capacity;
    }
    const ssize_t got = read(fd, to->bytes + to->length, PIECE);
    if (got > 0)
        to->length += (size_t)got;
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)) ? BUFFER_MORE : BUFFER_END;
}

void buffer_drop(buffer *from, size_t bytes)
{
    from->length -= bytes;
    memmove(from->bytes, from->bytes + bytes, from->length);
}

void buffer_free(buffer *of)
{
    free(of->bytes);
    *of = (buffer){0};
}
