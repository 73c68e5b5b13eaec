/* glpk_program.h - a program of search/operators/program.h by integer programming: a second opinion */
#pragma once

#include "search/operators/program.h"

/** Least time within the limit; HUGE_VAL when nothing fits, NaN when GLPK gives up. */
double glpk_program_s(const program *p);
