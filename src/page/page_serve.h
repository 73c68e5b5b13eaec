/* page_serve.h - builds the page of plait serve from its JSON document */
#pragma once

#include "page/page.h"

enum { PAGE_SERVE_PLANS = 256, PAGE_SERVE_POINTS = 256, PAGE_SERVE_PARTS = 32 };

typedef struct page_serve_part {
    const char *name;
    double seconds;
} page_serve_part;

/** A deployment of the document; NaN: null or missing. */
typedef struct page_serve_plan {
    const char *engine, *profile, *mode, *workers, *weights, *kv, *binds;
    double rank, replicas, gpus, concurrency, running;
    double ttft_s, ttft_low_s, ttft_high_s, ttft_p99_s;
    double tpot_s, tpot_low_s, tpot_high_s, e2e_s;
    double tokens_per_s, tokens_per_s_gpu, usd_per_mtok, joules_per_tok;
    int parts;
    page_serve_part part[PAGE_SERVE_PARTS]; /* parts of a decoding step */
} page_serve_plan;

/** The first deployment under one load. */
typedef struct page_serve_point {
    double load, rate, ttft_s, ttft_p99_s, tpot_s, running, tokens_per_s;
} page_serve_point;

typedef struct page_serve_seen {
    double mean_s, p50_s, p99_s;
} page_serve_seen;

typedef struct page_serve {
    const char *model, *cluster;
    double input, output, rate, concurrency, gpus;
    double ttft_s, tpot_s; /* bounds */
    int plans, front, points;
    page_serve_plan *plan, *at_front;
    page_serve_point *point;
    double requests; /* simulated requests; NaN: no simulation */
    page_serve_seen ttft, tpot, e2e;
} page_serve;

/** Stores whether a file is a document of plait serve; fails only on errors of the machine, not of the file. */
PLAIT_MUST_CHECK plait_status page_serve_is(const char *path, plait_arena *arena, bool *is,
                                            plait_error *err);

/** *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status page_serve_read(const char *path, plait_arena *arena, page_serve *out,
                                              plait_error *err);

/** *out lives in `arena`, and points to what `of` does. */
PLAIT_MUST_CHECK plait_status page_of_serve(const page_serve *of, plait_arena *arena, page **out,
                                            plait_error *err);
