/* glpk_program.h - a program of search/operators/program.h by integer programming: a second opinion */
#ifndef GLPK_PROGRAM_H
#define GLPK_PROGRAM_H

#include "program.h"

/** Least time within the limit; HUGE_VAL when nothing fits, NaN when GLPK gives up. */
double glpk_program_s(const program *p);

#endif
