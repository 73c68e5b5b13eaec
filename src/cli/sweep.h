/* sweep.h - thousands of questions from one file, each answered by a line of JSON
 *
 * A file lists scenarios; a value that is a list stands for each of its elements, so that an entry
 * stands for the product of its lists. Scenario i of the whole file has the same line whoever
 * answers it: one process, a shard of it, or a rank of plait-mpi.
 *
 * In order: sweep_load, then sweep_answer for some scenarios at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "plait/arena.h"
#include "plait/error.h"

/** One key of an entry, with the values that it takes in turn, each as a command line has it. */
typedef struct sweep_axis {
    const char *name; /* as in the file: "async_checkpoint" */
    const char *key;  /* as a flag: "async-checkpoint"; "model" and "cluster" are operands */
    int values;
    const char *const *value; /* "true": the switch is set, "false": it is not */
} sweep_axis;

typedef struct sweep_entry {
    int axes;
    const sweep_axis *axis; /* the last one varies fastest */
    int64_t first;          /* scenario */
    int64_t count;
} sweep_entry;

typedef struct sweep {
    const char *name;   /* of the file */
    const char *folder; /* of the file: "" or ending in '/'; paths of models are relative to it */
    uint64_t digest;    /* of all that is asked */
    int entries;
    const sweep_entry *entry;
    int64_t count; /* of scenarios */
} sweep;

enum { SWEEP_MOST = 10000000, SWEEP_PREFIX = 96 };

/** Load a file of scenarios. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status sweep_load(const char *path, plait_arena *arena, sweep *out,
                                         plait_error *err);

struct json_cursor;

/** A key names a flag, or fails (SCHEMA) with the nearest one. `flag` is the key with hyphens. */
PLAIT_MUST_CHECK plait_status sweep_check_key(const struct json_cursor *member, const char *flag,
                                              plait_error *err);

/** The value of an axis of scenario i's entry. */
const char *sweep_value(const sweep_entry *entry, int axis, int64_t scenario);

const sweep_entry *sweep_entry_of(const sweep *of, int64_t scenario);

/** How the line of scenario i begins, up to its words: what tells lines apart. */
const char *sweep_prefix(const sweep *of, int64_t scenario, char text[SWEEP_PREFIX]);

/**
 * Answer scenarios, on several threads, those that ask for the same plan with one search.
 *
 * @param scenario  [count], any of the sweep
 * @param line      [count], each in `arena`, ended by a newline
 * @param wrong     [count]: why there is no answer, "" where there is one
 */
PLAIT_MUST_CHECK plait_status sweep_answer(const sweep *of, const int64_t *scenario, int count,
                                           int threads, plait_arena *arena, const char **line,
                                           const char **wrong, plait_error *err);

/* ---- from a file of scenarios to a file of lines ---- */

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
