/* sweep.h - thousands of scenarios from one file, each answered by a line of JSON
 *
 * A file lists entries; an entry stands for the product of its lists of values. The line of
 * scenario i does not depend on the process that answers it: one process, a shard, or a rank of
 * plait-mpi.
 *
 * In order: sweep_load, then sweep_answer for some scenarios at a time; sweep_run does both.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "plait/arena.h"
#include "plait/error.h"

/** One key of an entry and its values, spelled as on a command line. */
typedef struct sweep_axis {
    const char *name; /* as in the file: "async_checkpoint" */
    const char *key;  /* as a flag: "async-checkpoint"; "model" and "cluster" are operands */
    int values;
    const char *const *value; /* "true" and "false" for a switch */
} sweep_axis;

typedef struct sweep_entry {
    int axes;
    const sweep_axis *axis; /* the last one varies fastest */
    int64_t first;          /* its first scenario */
    int64_t count;
} sweep_entry;

typedef struct sweep {
    const char *name; /* path of the file */
    const char
        *folder; /* folder of the file, "" or ending in '/'; paths of models are relative to it */
    uint64_t digest; /* hash of all entries and of the version */
    int entries;
    const sweep_entry *entry;
    int64_t count; /* number of scenarios */
} sweep;

enum { SWEEP_MOST = 10000000 };

/** Load a file of scenarios. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status sweep_load(const char *path, plait_arena *arena, sweep *out,
                                         plait_error *err);

struct json_cursor;

/**
 * Fail (SCHEMA) with the nearest key if no option has this name. `flag` is the key with hyphens.
 */
PLAIT_MUST_CHECK plait_status sweep_check_key(const struct json_cursor *member, const char *flag,
                                              plait_error *err);

/**
 * Answer scenarios on several threads, with one search for those that need the same plan.
 *
 * @param scenario  [count] indices
 * @param line      [count] lines in `arena`, each ended by a newline
 * @param wrong     [count] reasons for a missing answer, "" otherwise
 */
PLAIT_MUST_CHECK plait_status sweep_answer(const sweep *of, const int64_t *scenario, int count,
                                           int threads, plait_arena *arena, const char **line,
                                           const char **wrong, plait_error *err);

/* ---- sweep_run ----
 *
 * Lines are written in order, as soon as all before them are. Lines of an earlier run are kept: a
 * file that ends in the middle of a line is cut there, and the work continues.
 */

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
    /** Broadcast a value of the first rank. */
    plait_status (*broadcast)(void *context, int64_t *value, plait_error *err);
} sweep_team;

typedef struct sweep_work {
    const char *scenarios;  /* path of the file of scenarios */
    const char *output;     /* NULL: stdout */
    int shard, shards;      /* the part of the scenarios, 1 of 1 for all */
    int threads;            /* 0: as many as the machine has */
    bool progress;          /* print progress on standard error */
    const sweep_team *team; /* NULL for one process */
} sweep_work;

/** Counts of a finished sweep. */
typedef struct sweep_counts {
    int64_t lines;  /* lines of this shard */
    int64_t kept;   /* lines of an earlier run */
    int64_t errors; /* lines of this run without an answer */
} sweep_counts;

PLAIT_MUST_CHECK plait_status sweep_run(const sweep_work *work, plait_arena *arena,
                                        sweep_counts *out, plait_error *err);

/** Parse "3/16". */
PLAIT_MUST_CHECK plait_status sweep_shard_parse(const char *text, int *shard, int *shards,
                                                plait_error *err);
