/*
 * fuzz_merge.c - any bytes as two parts of a sweep, with a form feed between them; merging
 * the result again gives the same bytes
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "report/lines.h"
#include "support/memory_file.h"
#include "support/streams.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the lines of the parts in order; NULL: they are refused, or scenarios are missing. */
static char *merged(const void *first, size_t bytes, const void *second, size_t more,
                    size_t *length)
{
    plait_arena *const arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    char one[32], other[32];
    const int files[2] = {memory_file(first, bytes, one), memory_file(second, more, other)};
    bool no = false;

    assert(arena != NULL);
    streams_begin("", 0);
    const plait_status status = command_run(
        &command_merge, 3, (const char *[]){"merge", one, other, NULL}, arena, &no, &err);
    assert(lines_flush(NULL) == PLAIT_OK);
    char *const text = streams_end(length);
    assert(status == PLAIT_OK || (err.message[0] != '\0' && *length == 0));
    assert(!no || *length > 0);
    close(files[0]);
    close(files[1]);
    plait_arena_free(arena);
    if (status == PLAIT_OK && !no)
        return text;
    free(text);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *const cut = size > 0 ? memchr(data, '\f', size) : NULL;
    const size_t bytes = cut != NULL ? (size_t)(cut - data) : size;
    size_t length, again;
    char *const text = merged(data, bytes, cut != NULL ? cut + 1 : data,
                              cut != NULL ? size - bytes - 1 : 0, &length);

    if (text != NULL) {
        char *const same = merged(text, length, text, length, &again);

        assert(same != NULL && again == length && memcmp(same, text, length) == 0);
        free(same);
    }
    free(text);
    return 0;
}
