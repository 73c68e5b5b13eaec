/*
 * number_range.h - the numbers of a struct, each with what it may be
 *
 * A list such as RUNTIME_NUMBERS names each number once, as X(key, member, range, least, most, unit): its
 * key in JSON and that key's unit, its member, NON_NEGATIVE, POSITIVE or FRACTION, and in units of the key
 * its bounds, where a least of 0 is any of the range. A reader of files makes its table of it (src/io),
 * and so does the check of a struct that a program has filled (src/plan): one bound, wherever the number
 * comes from.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/error.h"

typedef struct number_range {
    const char *name; /* "overlap.bucket_bytes" */
    double least;     /* but for 0 */
    double most;
    bool zero;     /* may it be 0? */
    size_t offset; /* of a double */
} number_range;

enum {
    NUMBER_POSITIVE_MAY_BE_ZERO = 0,
    NUMBER_NON_NEGATIVE_MAY_BE_ZERO = 1,
    NUMBER_FRACTION_MAY_BE_ZERO = 1
};

/** What is divided by less has no size: bytes, FLOPs, seconds, or a product of two such quotients. */
#define NUMBER_TINY 1e-100

/** Of hardware, software and models nothing is more, whatever its unit. */
#define NUMBER_MOST 1e30

/** What a file may say leaves room for what is made of it, and for what a tenth more would give. */
#define NUMBER_SAID_LEAST (1e10 * NUMBER_TINY)
#define NUMBER_SAID_MOST (1e-3 * NUMBER_MOST)

/** Is a number that a file says 0, or of a size that prices can be made of? */
static inline bool number_has_size(double number)
{
    return number == 0.0 || (number >= NUMBER_SAID_LEAST && number <= NUMBER_SAID_MOST);
}

/** A row of a table of number_range, of one of a list; RANGED_TYPE is the struct. */
#define NUMBER_RANGE(key, member, range, low, high, unit)                                          \
    {.name = #member,                                                                              \
     .least = (low) * (unit) > NUMBER_TINY ? (low) * (unit) : NUMBER_TINY,                         \
     .most = (high) * (unit),                                                                      \
     .zero = NUMBER_##range##_MAY_BE_ZERO && (low) == 0.0,                                         \
     .offset = offsetof(RANGED_TYPE, member)},

/** Rows of tables that are spelled out; RANGED_TYPE is the struct. What is divided by is no amount but a rate. */
#define NUMBER_WITHIN(member, low, high, may_be_zero)                                              \
    {                                                                                              \
        .name = #member, .least = (low), .most = (high), .zero = (may_be_zero),                    \
        .offset = offsetof(RANGED_TYPE, member)                                                    \
    }
#define NUMBER_RATE(member) NUMBER_WITHIN(member, NUMBER_TINY, NUMBER_MOST, false)
#define NUMBER_AMOUNT(member) NUMBER_WITHIN(member, NUMBER_TINY, NUMBER_MOST, true)

/**
 * Fails (RANGE) on the first number of `of` outside its range, which NaN always is, and so is one that is
 * neither 0 nor NUMBER_TINY at least.
 */
PLAIT_MUST_CHECK plait_status numbers_check(const char *whole, const void *of,
                                            const number_range *range, size_t count,
                                            plait_error *err);
