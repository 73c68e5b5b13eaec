/* sweep_run.h - a sweep from its file of scenarios to its file of lines, alone or in a team
 *
 * Lines are written in order and as soon as all before them are. What an earlier run wrote is kept:
 * a file that ends in the middle of a line is cut there, and the work goes on.
 */
#pragma once

#include "cli/sweep.h"

/** Processes that answer a sweep together; the first one writes. */
typedef struct sweep_team {
    int rank, ranks;
    void *context;
    /**
     * Bring the texts of all ranks to the first, in their order.
     *
     * @param texts  [ranks], on the first rank; in `arena`
     */
    plait_status (*gather)(void *context, const char *mine, plait_arena *arena, const char **texts,
                           plait_error *err);
    /** What the first rank says, said to all. */
    plait_status (*tell)(void *context, int64_t *value, plait_error *err);
} sweep_team;

typedef struct sweep_work {
    const char *scenarios;  /* the file */
    const char *output;     /* NULL: stdout */
    int shard, shards;      /* 1 of 1: all; every shards-th scenario from shard - 1 on */
    int threads;            /* 0: as many as the machine has */
    bool progress;          /* on standard error */
    const sweep_team *team; /* NULL: alone */
} sweep_work;

/** What came of it. */
typedef struct sweep_told {
    int64_t lines;  /* of this shard */
    int64_t kept;   /* that an earlier run had written */
    int64_t errors; /* lines of this run without an answer; each is told on standard error */
} sweep_told;

PLAIT_MUST_CHECK plait_status sweep_run(const sweep_work *work, plait_arena *arena, sweep_told *out,
                                        plait_error *err);

/** "3/16". */
PLAIT_MUST_CHECK plait_status sweep_shard_parse(const char *text, int *shard, int *shards,
                                                plait_error *err);
