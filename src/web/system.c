/*
 * system.c - two functions of emscripten's C library, changed to those of glibc
 *
 * qsort() of emscripten sorts in place and does not keep the order of equal elements, but glibc merges and does;
 * answers in the browser then have the bytes of the native program. The first umask leaves no
 * permission to new files.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef int order(const void *, const void *);

/* Merges two adjacent sorted runs; `spare` has space for the first. */
static void merge(char *base, size_t left, size_t count, size_t size, order *compare, char *spare)
{
    const char *a = spare, *const a_end = spare + left * size;
    const char *b = base + left * size, *const b_end = base + count * size;

    memcpy(spare, base, left * size);
    for (; a < a_end; base += size) {
        if (b < b_end && compare(a, b) > 0) {
            memmove(base, b, size);
            b += size;
        } else {
            memcpy(base, a, size);
            a += size;
        }
    }
}

static void sort(char *base, size_t count, size_t size, order *compare, char *spare)
{
    const size_t left = count / 2;

    if (count < 2)
        return;
    sort(base, left, size, compare, spare);
    sort(base + left * size, count - left, size, compare, spare);
    merge(base, left, count, size, compare, spare);
}

void qsort(void *base, size_t count, size_t size, order *compare)
{
    char *const spare = malloc(count / 2 * size + 1);

    if (spare == NULL)
        abort(); // the page then reports that the program has stopped
    sort(base, count, size, compare, spare);
    free(spare);
}

__attribute__((constructor)) static void set_umask(void)
{
    umask(022);
}
