/* enumerate_program.h - a program of search/operators/program.h, choice by choice */
#pragma once

#include "search/operators/program.h"

typedef struct enumeration {
    double time_s; /* of the fastest within the limit; HUGE_VAL: none */
    double bytes;  /* fewest of all */
} enumeration;

/** Choices that there are. */
double program_combinations(const program *p);

enumeration program_enumerate(const program *p);

/** Fails the test unless program_solve finds and proves what enumeration finds. */
void assert_enumerated(const program *p, plait_arena *arena);
