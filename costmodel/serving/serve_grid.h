/* serve_grid.h - the points of step tables: 1, 2, 3, 4, 6, 8, 12, ... */
#pragma once

#include "plait/lowlevel/block.h"
#include "plait/serve.h"

/** Point i: 2^e at 2e - 1, 3/2 of it at 2e. */
double serve_grid_point(int i);

/** Where between two points something is. */
typedef struct serve_grid_spot {
    int low;
    double share; /* of the way to the next point */
    double scale; /* 1; above the last point in proportion */
} serve_grid_spot;

serve_grid_spot serve_grid_find(int points, double x);
double serve_grid_value(const double *values, serve_grid_spot at);

/** Value at x of a line through the points; as at the ends beyond them, in proportion above the last. */
double serve_grid_at(const double *values, int points, double x);

/** How many layers are of a kind. */
int serve_layers_of(const plait_model *model, int kind);

/** The host's turn of a step, seconds, which has a share for each sequence of all attention ranks. (C.362) */
double serve_host_s(const plait_step_table *table, const plait_engine *engine, double sequences);

/** Is this part stored in the weights' format? */
bool serve_is_narrow(const plait_model *model, plait_weight_format weights, plait_part part);

/** Bytes of a cached element. */
double serve_kv_bytes(plait_kv_format format);

/** How products of weights run on an accelerator: its own format, else 16 bits of narrow weights. */
typedef struct serve_format {
    plait_precision precision;
    double bytes; /* an element of the weights */
} serve_format;

serve_format serve_format_of(const plait_accelerator *gpu, plait_weight_format weights);
