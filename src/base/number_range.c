/* number_range.c - is each number of a struct one that it may be? */
#include "base/number_range.h"

#include <string.h>

static bool is_in(const number_range *range, double number)
{
    return (number >= range->least && number <= range->most) || (range->zero && number == 0.0);
}

/* Who handed in nothing near 0 need not hear of what is nearly 0. */
static plait_status refuse(const char *whole, const number_range *range, double number,
                           plait_error *err)
{
    const bool tiny = number > 0.0 && number < range->least;
    const double least = range->zero && !tiny ? 0.0 : range->least;

    return plait_fail(err, PLAIT_ERROR_RANGE, whole, "expected %s from %g to %g, found %g",
                      range->name, least, range->most, number);
}

plait_status numbers_check(const char *whole, const void *of, const number_range *range,
                           size_t count, plait_error *err)
{
    for (size_t i = 0; i < count; i++) {
        double number;

        memcpy(&number, (const char *)of + range[i].offset, sizeof number);
        if (!is_in(&range[i], number))
            return refuse(whole, &range[i], number, err);
    }
    return PLAIT_OK;
}
