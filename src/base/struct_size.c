/* struct_size.c - structs that a program fills, which begin with their size */
#include "base/struct_size.h"

#include <string.h>

void sized_init(void *out, size_t size, const void *usual, size_t known)
{
    memcpy(out, usual, size < known ? size : known);
}

plait_status sized_check(const char *where, size_t size, size_t known, plait_error *err)
{
    if (size == 0 || size == known)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_RANGE, where,
                      "expected the struct of this version of plait, %zu bytes, found one of %zu",
                      known, size);
}
