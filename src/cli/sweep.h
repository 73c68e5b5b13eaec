/*
 * sweep.h - thousands of scenarios from one file, each answered by a line of JSON
 *
 * A file lists entries, and an entry describes one scenario for each combination of its lists of
 * values. The line of scenario i does not depend on the process that answers it: one process, a
 * shard, or a rank of plait-mpi.
 *
 * Call sweep_load(), then sweep_answer() for blocks of scenarios; sweep_run() does both.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "plait/arena.h"
#include "plait/error.h"

/** One key of an entry and its values, spelled as on a command line. */
typedef struct sweep_axis {
    const char *name; /* name in the file: "async_checkpoint" */
    const char *key;  /* as an option: "async-checkpoint"; "model" and "cluster" are operands */
    int values;
    const char *const *value; /* [values] words; "true" and "false" for a switch */
} sweep_axis;

typedef struct sweep_entry {
    int axes;
    const sweep_axis *axis; /* the last axis varies fastest */
    int64_t first;          /* index of its first scenario */
    int64_t count;
} sweep_entry;

typedef struct sweep {
    const char *name; /* path of the file */
    const char
        *folder; /* folder of the file, "" or ending in '/'; paths of models are relative to it */
    uint64_t digest; /* hash of all entries and of plait's version */
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
 * Fail (SCHEMA) with the nearest key if no option is named `flag`, which is the key with hyphens.
 */
PLAIT_MUST_CHECK plait_status sweep_check_key(const struct json_cursor *member, const char *flag,
                                              plait_error *err);

/**
 * Answer scenarios on several threads. Scenarios that need the same plan share one search.
 *
 * @param scenario  [count] indices
 * @param line      [count] lines in `arena`, each ended by a newline
 * @param wrong     [count] reason why an answer is missing, otherwise ""
 */
PLAIT_MUST_CHECK plait_status sweep_answer(const sweep *of, const int64_t *scenario, int count,
                                           int threads, plait_arena *arena, const char **line,
                                           const char **wrong, plait_error *err);

/*
 * ---- sweep_run ----
 *
 * A line is written as soon as all lines before it are written. Lines of an earlier run are kept:
 * if the file ends in the middle of a line, that line is removed, and the work continues there.
 */

/** Processes that answer a sweep together; the first rank writes the output. */
typedef struct sweep_team {
    int rank, ranks;
    void *context;
    /**
     * Gather the texts of all ranks on the first rank, in the order of the ranks.
     *
     * @param texts  [ranks], filled on the first rank only; in `arena`
     */
    plait_status (*gather)(void *context, const char *mine, plait_arena *arena, const char **texts,
                           plait_error *err);
    /** Broadcast a value from the first rank to all ranks. */
    plait_status (*broadcast)(void *context, int64_t *value, plait_error *err);
} sweep_team;

typedef struct sweep_work {
    const char *scenarios;  /* path of the file of scenarios */
    const char *output;     /* output file; NULL: stdout */
    int shard, shards;      /* shard K of N that this run answers; 1 of 1 for all scenarios */
    int threads;            /* number of threads; 0: all of the machine */
    bool progress;          /* print progress on standard error */
    const sweep_team *team; /* processes that take part; NULL: only this one */
} sweep_work;

/** Counts of a finished sweep. */
typedef struct sweep_counts {
    int64_t lines;  /* lines of this shard in total */
    int64_t kept;   /* lines kept from an earlier run */
    int64_t errors; /* lines of this run without an answer */
} sweep_counts;

PLAIT_MUST_CHECK plait_status sweep_run(const sweep_work *work, plait_arena *arena,
                                        sweep_counts *out, plait_error *err);

/** Parse "3/16". */
PLAIT_MUST_CHECK plait_status sweep_shard_parse(const char *text, int *shard, int *shards,
                                                plait_error *err);
