/*
 * serve_sim.h - state of a simulated deployment (C.364)
 *
 * serve_sim.c processes the events, serve_events.c stores pending ones, and serve_latency.c
 * computes the results.
 */
#pragma once

#include <stdint.h>

#include "plait/serve.h"

// ---- pending events: serve_events.c --------------------------------------------------------

typedef enum event_kind { ARRIVES, ARRIVES_DECODE, STEP_ENDS } event_kind;

/** An event of the deployment. In rank.decoding, the end of a sequence. */
typedef struct event {
    double time;   /* seconds; in rank.decoding a step number */
    int64_t order; /* events of equal time are processed in this order */
    int of;        /* index of the request or the worker */
    event_kind kind;
} event;

/** A binary heap by time and order. */
typedef struct event_heap {
    event *of;
    int count, room;
} event_heap;

/** Adds an event; returns false when out of memory. */
bool event_push(event_heap *heap, plait_arena *arena, event e);

/** Removes and returns the entry at index `at`; index 0 is the earliest. */
event event_take(event_heap *heap, int at);

// ---- the state -----------------------------------------------------------------------------

/* One request, from arrival to its last token. */
typedef struct request {
    double arrived, first, last;
    double input, output, cached;
    double made; /* output tokens before a preemption; they are recomputed after it */
    int next;    /* next request in the queue of its rank */
} request;

typedef struct rank {
    int head, tail;  /* first and last waiting request */
    double done;     /* processed tokens of the first waiting prompt */
    double waited;   /* steps since the first prompt began to wait for others; NONE: not waiting */
    double room;     /* free space of the KV cache, in tokens */
    double contexts; /* sum of the context lengths of decoding sequences */
    double step;     /* steps in which this rank has decoded */
    int started;     /* decode worker: first request that began to decode in this step, or NONE */
    int running;     /* number of requests on this rank: waiting, in prefill or decoding */
    double prompt, prompts, before; /* tokens and number of prompts in the current step,
                                       and sum of their cached tokens */
    event_heap decoding;            /* ends of the decoding sequences, by step */
} rank;

typedef struct worker {
    const plait_pool *pool;
    rank *ranks;
    int count;
    int load;    /* requests assigned to this worker */
    double step; /* steps that the worker has run */
    bool busy;
    bool prefills, decodes; /* roles of this worker */
    bool first;             /* a rank with prompts in a step does not decode in it */
} worker;

typedef struct sim {
    const plait_deployment *d;
    plait_load load;
    plait_serve_sim_options draws;
    plait_arena *arena;
    uint64_t state;
    double now;
    double yield, travel_s;
    /*
     * True if KV caches grow token by token, and the newest sequence gives up its cache when memory
     * is full. False if a request reserves its whole length at the start.
     */
    bool preempts;
    worker *workers;
    int worker_count, prefill_workers;
    request *requests;
    int issued, finished, preempted;
    event_heap events;
    int64_t order; /* next value of event.order */
    double steps;
    bool out_of_memory;
} sim;

// ---- results: serve_latency.c --------------------------------------------------------------

PLAIT_MUST_CHECK plait_status serve_sum_up(const sim *s, plait_serve_sim_result *out,
                                           plait_error *err);
