/* number_range.c - check of the numbers of a struct against their ranges */
#include "base/number_range.h"

#include <string.h>

plait_status numbers_check(const char *whole, const void *of, const number_range *range,
                           size_t count, plait_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const number_range *const r = &range[i];
        double number;

        memcpy(&number, (const char *)of + r->offset, sizeof number);
        if ((number >= r->least && number <= r->most) || (r->zero && number == 0.0))
            continue;
        // The message states the smallest positive value only if the number is below that value.
        const bool tiny = number > 0.0 && number < r->least;
        return plait_fail(err, PLAIT_ERROR_RANGE, whole, "expected %s from %g to %g, found %g",
                          r->name, r->zero && !tiny ? 0.0 : r->least, r->most, number);
    }
    return PLAIT_OK;
}
