/* calibrate_sink.h - where what is fitted goes; the tables of fits go to standard output, or beside it */
#ifndef CALIBRATE_SINK_H
#define CALIBRATE_SINK_H

#include <stdbool.h>

typedef struct calibrate_sink {
    const char *path; /* NULL: no file */
    bool print;       /* to standard output, and the tables to standard error */
} calibrate_sink;

#endif
