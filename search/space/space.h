/*
 * space.h - the plan space: index -> degrees, in a fixed order
 *
 *     row        placement tp sp cp cp_comm etp ep dispatcher mbs attention    what one layer costs
 *     pipeline   pp (and so dp, microbatches)       which ranks share what
 *     group      schedule order ep_overlap vpp split    how layers become stages
 *     point      zero shard_group, the free keys (grad_sync, ...), then recompute offload_acts
 *
 * A key that no walk names is free: its values are those of its row in plait_keys that the runtime
 * takes, each with every shard. Points are numbered in this order. What depends on fewer keys is listed once: splits by
 * (pp, vpp), shards by everything but mbs. So counting the points of a pipeline costs no walk.
 */
#pragma once

#include "plait/search.h"

/** A list of small integers, ascending. */
typedef struct space_list {
    int count;
    const int *value;
} space_list;

typedef plait_choice space_choice;

typedef struct space_recompute {
    int count;
    const space_choice *value; /* without full:N */
    bool full_layers;          /* full:N is a choice too ... */
    int low, high;             /* ... for these N below a stage's layers */
    int paired;                /* how many of them go with pairs of microbatches ... */
    const space_choice *pair;  /* ... and which */
} space_recompute;

/** One way to deal layers to pp x vpp chunks. */
typedef struct space_split {
    plait_split split;
    int vpp;
    int choices; /* of recompute: full:N depends on the fullest stage */
} space_split;

/** Those that some schedules take: [first, end) of a list, and their choices summed. */
typedef struct space_split_range {
    int first, end;
    int64_t choices;
} space_split_range;

/** All ways for one pp. */
typedef struct space_splits {
    int count;
    const space_split *split;
    space_split_range of[3]; /* by chunks a rank: 1, 2 down and up again, several in turn */
} space_splits;

/** Those that a schedule takes. */
const space_split_range *space_splits_for(const space_splits *splits, plait_schedule schedule);

/** A key without a walk of its own, and its values. */
typedef struct space_free_key {
    plait_key_id key;
    bool usual_only; /* as the runtime would, which may follow from other keys */
    space_list values;
} space_free_key;

enum { SPACE_FREE_KEYS = 24 };

typedef struct plan_space {
    const plait_problem *problem;
    const plait_search_options *options;
    space_list divisors;   /* of the number of GPUs */
    space_list microbatch; /* divisors of the batch that the limits allow */
    space_list zero;
    space_list schedules;
    space_list orders;
    space_list ep_overlaps;
    space_list dispatchers; /* those that rows choose from */
    int free_keys;
    space_free_key free_key[SPACE_FREE_KEYS];
    space_recompute recompute;
    const space_splits *splits; /* [divisors.count], by the index of pp */
    bool layouts;               /* pipelines that no split in words deals are of use, too */
    int64_t rows;
    const plait_degrees *row; /* [rows]; other keys at their first value, but a row with ep_overlap
                                 PAIRS is one for pairs of microbatches alone */
} plan_space;

/** How one group shards its state, and its values of the free keys. */
typedef struct space_shard {
    int shard_group;
    unsigned char zero;
    unsigned char value[SPACE_FREE_KEYS];
} space_shard;

/** A triple of schedule, order and ep_overlap. */
typedef struct space_kind {
    unsigned char schedule, order, ep_overlap;
    unsigned said; /* which free keys say something beside them: bits 1 << place in the space */
    int shards;
    const space_shard *shard;
} space_kind;

enum { SPACE_KINDS = PLAIT_ORDERS * PLAIT_SCHEDULES * PLAIT_EP_OVERLAPS };

/** One pp of a row. */
typedef struct space_pipeline {
    plait_degrees degrees;
    const space_splits *splits;
    int64_t points;
    int kinds;
    space_kind kind[SPACE_KINDS]; /* that are legal */
} space_pipeline;

/** What a walk over rows remembers: the shards of each pp, shared by neighbouring rows. */
typedef struct space_cursor {
    const plan_space *space;
    plait_arena *arena;
    struct cursor_slot *slot; /* [divisors.count] */
    bool failed;              /* out of memory */
} space_cursor;

/** Lists all rows. The space lives in `arena`. */
PLAIT_MUST_CHECK plait_status space_make(const plait_problem *problem,
                                         const plait_search_options *options, plait_arena *arena,
                                         plan_space *space, plait_error *err);

/**
 * Lists rows alone: those of any number of GPUs up to the job's, with every degree that layers take,
 * whether it divides the GPUs or not.
 */
PLAIT_MUST_CHECK plait_status space_make_rows(const plait_problem *problem,
                                              const plait_search_options *options,
                                              plait_arena *arena, plan_space *space,
                                              plait_error *err);

/** Starts a walk; false when out of memory. */
bool space_cursor_init(space_cursor *cursor, const plan_space *space, plait_arena *arena);

/** The pipeline of a row at the i-th divisor as pp; false when there is none. */
bool space_pipeline_at(space_cursor *cursor, int64_t row, int i, space_pipeline *out);

/**
 * The same in steps, each once and in this order, for who may have seen enough: which ranks share what, then
 * schedules, then shards and how many points there are.
 */
bool space_ranks_at(space_cursor *cursor, int64_t row, int i, space_pipeline *out);
bool space_kinds_of(space_cursor *cursor, int i, space_pipeline *pipeline);
bool space_shards_of(space_cursor *cursor, int i, space_pipeline *pipeline);

/** Gives a point the keys of a shard. */
void space_apply_shard(const plan_space *space, const space_shard *shard, plait_degrees *degrees);

/** What may be recomputed, with each set of activations that may be offloaded beside it. */
PLAIT_MUST_CHECK plait_status space_list_recompute(const plait_problem *problem,
                                                   const plait_search_options *options,
                                                   plait_arena *arena, space_recompute *out,
                                                   plait_error *err);

/**
 * How many choices there are where the fullest stage has so many layers: full:N takes as many of
 * each chunk, so N is a multiple of vpp.
 */
int space_recompute_choices(const space_recompute *recompute, int stage_layers, int vpp);

/** As many choices as any point may have. */
size_t space_most_choices(const plan_space *space);

/** Gives a point the k-th choice of what is recomputed and offloaded; in pairs of microbatches of those that go with them. */
void space_apply_choice(const plan_space *space, int choice, plait_degrees *degrees);

/** Are the limits such as plait_search_limit adds? */
PLAIT_MUST_CHECK plait_status limits_check(const plait_search_options *options, plait_error *err);

/** Is a value of a key within the limits? */
bool limits_allow(const plait_search_options *options, plait_key_id key, int value);
bool limits_allow_text(const plait_search_options *options, plait_key_id key, const char *text);

/** The same of a number or of the index of a word, whichever the key has. */
bool limits_allow_value(const plait_search_options *options, plait_key_id key, int value);

/** A sentence on why a space has no point, from the check of its simplest candidate. */
void space_explain_empty(const plan_space *space, char *why, size_t size);
