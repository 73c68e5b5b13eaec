/*
 * number_range.h - ranges of the numbers of a struct
 *
 * A list such as RUNTIME_NUMBERS has one row X(key, member, range, least, most, unit) per number:
 * its key in JSON, its member, its range (NON_NEGATIVE, POSITIVE or FRACTION), its bounds in the
 * key's unit, and that unit. A `least` of 0 means no lower bound except the range. File readers
 * (src/io) and checks of structs from programs (src/plan) build their tables from the same list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/error.h"

typedef struct number_range {
    const char *name; /* name of the member, such as "overlap.bucket_bytes" */
    double least;     /* lower bound of values other than 0 */
    double most;
    bool zero;     /* whether 0 is allowed */
    size_t offset; /* offset of the double in the struct */
} number_range;

enum {
    NUMBER_POSITIVE_MAY_BE_ZERO = 0,
    NUMBER_NON_NEGATIVE_MAY_BE_ZERO = 1,
    NUMBER_FRACTION_MAY_BE_ZERO = 1
};

/**
 * Smallest divisor, chosen so that quotients of bytes, FLOPs or seconds, and products of two such
 * quotients, stay finite.
 */
#define NUMBER_TINY 1e-100

/** Largest value of any number of hardware, software or models, in any unit. */
#define NUMBER_MOST 1e30

/**
 * Bounds of numbers in files. They are tighter, so that numbers derived from files, and numbers
 * that are larger by a tenth, stay within NUMBER_TINY and NUMBER_MOST.
 */
#define NUMBER_SAID_LEAST (1e10 * NUMBER_TINY)
#define NUMBER_SAID_MOST (1e-3 * NUMBER_MOST)

/** Returns whether a number of a file is 0 or within the bounds of numbers in files. */
static inline bool number_has_size(double number)
{
    return number == 0.0 || (number >= NUMBER_SAID_LEAST && number <= NUMBER_SAID_MOST);
}

/** Converts a row of a list to a number_range; RANGED_TYPE is the struct. */
#define NUMBER_RANGE(key, member, range, low, high, unit)                                          \
    {.name = #member,                                                                              \
     .least = (low) * (unit) > NUMBER_TINY ? (low) * (unit) : NUMBER_TINY,                         \
     .most = (high) * (unit),                                                                      \
     .zero = NUMBER_##range##_MAY_BE_ZERO && (low) == 0.0,                                         \
     .offset = offsetof(RANGED_TYPE, member)},

/**
 * Makes a number_range without a list; RANGED_TYPE is the struct. NUMBER_RATE is for divisors,
 * which must not be 0, and NUMBER_AMOUNT for other numbers.
 */
#define NUMBER_WITHIN(member, low, high, may_be_zero)                                              \
    {                                                                                              \
        .name = #member, .least = (low), .most = (high), .zero = (may_be_zero),                    \
        .offset = offsetof(RANGED_TYPE, member)                                                    \
    }
#define NUMBER_RATE(member) NUMBER_WITHIN(member, NUMBER_TINY, NUMBER_MOST, false)
#define NUMBER_AMOUNT(member) NUMBER_WITHIN(member, NUMBER_TINY, NUMBER_MOST, true)

/**
 * Fails (RANGE) on the first number of struct `of` outside its range. NaN and numbers between 0 and
 * NUMBER_TINY are always outside.
 */
PLAIT_MUST_CHECK plait_status numbers_check(const char *whole, const void *of,
                                            const number_range *range, size_t count,
                                            plait_error *err);
