/*
 * serve_sim.h - the state of a simulated deployment (C.364)
 *
 * serve_sim.c moves it from event to event, serve_events.c keeps what comes next, serve_latency.c says what was
 * seen.
 */
#pragma once

#include <stdint.h>

#include "plait/serve.h"

// ---- what comes next: serve_events.c ---------------------------------------------------------

typedef enum event_kind { ARRIVES, ARRIVES_DECODE, STEP_ENDS } event_kind;

typedef struct event {
    double time;
    int64_t order; /* of equal times the first comes first */
    event_kind kind;
    int of; /* request or worker */
} event;

typedef struct event_heap {
    event *of; /* by time */
    int count, room;
    int64_t order; /* of the next one */
} event_heap;

/** False when out of memory. */
bool event_push(event_heap *heap, plait_arena *arena, double time, event_kind kind, int of);

/** The first one, of a heap that has one. */
event event_pop(event_heap *heap);

typedef struct finish {
    double step; /* of the worker, the last of a sequence */
    int request;
} finish;

/** Sequences that decode on one attention rank. */
typedef struct finish_heap {
    finish *of; /* by step */
    int count, room;
} finish_heap;

/** False when out of memory. */
bool finish_push(finish_heap *heap, plait_arena *arena, finish f);

/** The one at a place of the heap; 0: that which ends first. */
finish finish_take(finish_heap *heap, int at);

// ---- the state -----------------------------------------------------------------------------

/* One request, from arrival to its last token. */
typedef struct request {
    double arrived, first, last;
    double input, output;
    double made; /* of the output, when its cache was given up: prompt again */
    int next;    /* in the queue of its rank */
} request;

typedef struct rank {
    int head, tail;  /* prompts that wait, in order */
    double done;     /* tokens of the first one that earlier steps took */
    double waited;   /* steps since a prompt came to gather others; NONE: none has */
    double room;     /* tokens of cache that nobody holds or has been promised */
    double contexts; /* sum over those that decode */
    int running;     /* decoding, or prefilled in part */
    finish_heap decoding;
} rank;

typedef struct worker {
    const plait_pool *pool;
    rank *ranks;
    int count;
    int load; /* requests that it has */
    double step;
    bool busy;
    bool prefills, decodes;            /* what this worker does for requests */
    double *prompt, *prompts, *before; /* [count] of the step under way; before: of all prompts */
} worker;

typedef struct sim {
    const plait_deployment *d;
    plait_load load;
    plait_serve_sim_options draws;
    plait_arena *arena;
    uint64_t state;
    double now;
    double yield, travel_s;
    bool
        preempts; /* caches grow as they fill, and the newest gives way; else its whole length is promised */
    worker *workers;
    int worker_count, prefill_workers;
    request *requests;
    int issued, finished, preempted;
    event_heap events;
    double steps;
    bool out_of_memory;
} sim;

// ---- what was seen: serve_latency.c -----------------------------------------------------------

PLAIT_MUST_CHECK plait_status serve_sum_up(const sim *s, plait_serve_sim_result *out,
                                           plait_error *err);
