/* calibrate_sink.h - where what is fitted goes; the tables of fits go to standard output, or beside it */
#pragma once

#include <stdbool.h>

typedef struct calibrate_sink {
    const char *path; /* NULL: no file */
    bool print;       /* to standard output, and the tables to standard error */
} calibrate_sink;
