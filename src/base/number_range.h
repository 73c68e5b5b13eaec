/*
 * number_range.h - ranges of the numbers of a struct
 *
 * A list such as RUNTIME_NUMBERS has each number once, as X(key, member, range, least, most, unit): its key in
 * JSON, its member, NON_NEGATIVE, POSITIVE or FRACTION, its bounds in units of the key, where a least of 0 means no
 * lower bound within the range, and the key's unit. Readers of files (src/io) and checks of structs that a program
 * filled (src/plan) make their tables from the same list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/error.h"

typedef struct number_range {
    const char *name; /* "overlap.bucket_bytes" */
    double least;     /* smallest value other than 0 */
    double most;
    bool zero;     /* 0 is allowed */
    size_t offset; /* offset of a double */
} number_range;

enum {
    NUMBER_POSITIVE_MAY_BE_ZERO = 0,
    NUMBER_NON_NEGATIVE_MAY_BE_ZERO = 1,
    NUMBER_FRACTION_MAY_BE_ZERO = 1
};

/** Smallest divisor: quotients of bytes, FLOPs or seconds, and products of two of them, stay finite. */
#define NUMBER_TINY 1e-100

/** Largest number of hardware, software and models, in any unit. */
#define NUMBER_MOST 1e30

/** Bounds of numbers in files: derived numbers, and numbers a tenth larger, stay within the bounds above. */
#define NUMBER_SAID_LEAST (1e10 * NUMBER_TINY)
#define NUMBER_SAID_MOST (1e-3 * NUMBER_MOST)

/** Whether a number of a file is 0 or within these bounds. */
static inline bool number_has_size(double number)
{
    return number == 0.0 || (number >= NUMBER_SAID_LEAST && number <= NUMBER_SAID_MOST);
}

/** Makes a number_range of a row of a list; RANGED_TYPE is the struct. */
#define NUMBER_RANGE(key, member, range, low, high, unit)                                          \
    {.name = #member,                                                                              \
     .least = (low) * (unit) > NUMBER_TINY ? (low) * (unit) : NUMBER_TINY,                         \
     .most = (high) * (unit),                                                                      \
     .zero = NUMBER_##range##_MAY_BE_ZERO && (low) == 0.0,                                         \
     .offset = offsetof(RANGED_TYPE, member)},

/** Rows of tables without a list; RANGED_TYPE is the struct. Divisors are rates, other numbers are amounts. */
#define NUMBER_WITHIN(member, low, high, may_be_zero)                                              \
    {                                                                                              \
        .name = #member, .least = (low), .most = (high), .zero = (may_be_zero),                    \
        .offset = offsetof(RANGED_TYPE, member)                                                    \
    }
#define NUMBER_RATE(member) NUMBER_WITHIN(member, NUMBER_TINY, NUMBER_MOST, false)
#define NUMBER_AMOUNT(member) NUMBER_WITHIN(member, NUMBER_TINY, NUMBER_MOST, true)

/**
 * Fails (RANGE) on the first number of `of` outside its range. NaN, and numbers between 0 and NUMBER_TINY, are
 * always outside.
 */
PLAIT_MUST_CHECK plait_status numbers_check(const char *whole, const void *of,
                                            const number_range *range, size_t count,
                                            plait_error *err);
