/*
 * space.h - the plan space: all degrees that a search considers, in a fixed order
 *
 *     row        placement tp sp cp cp_comm etp ep       what one layer costs, up to mbs
 *                dispatcher attention switches
 *     pipeline   pp (and so dp)                          which ranks share what
 *     kind       schedule order ep_overlap               the order of microbatches
 *     size       mbs (and so microbatches)
 *     group      vpp split                               how layers become stages
 *     point      zero shard_group, the free keys (grad_sync, ...), then recompute offload_acts
 *
 * A key that is not named here is free: each shard is listed with every value of the key that the
 * runtime supports. Points are numbered in this order. Splits are listed once for each (pp, vpp),
 * shards once for rows with the same ranks, and sizes once for each (pp, dp, schedule), so that the
 * points of a pipeline are counted without visiting them.
 */
#pragma once

#include "plait/search.h"

/** A list of small integers, ascending. */
typedef struct space_list {
    int count;
    const int *value;
} space_list;

typedef plait_choice space_choice;

/** Plans by the choices of recomputation that are legal in them. */
typedef enum space_choice_class {
    SPACE_CHOICES_ALL,
    SPACE_CHOICES_PAIRS,   /* pairs of microbatches without CUDA graphs */
    SPACE_CHOICES_PARTIAL, /* CUDA graphs of layers */
    SPACE_CHOICES_PARTIAL_PAIRS,
    SPACE_CHOICES_STATIC, /* CUDA graphs of a whole iteration */
    SPACE_CHOICES_FUSED,  /* added to another class if the experts are one kernel */
    SPACE_CHOICE_CLASSES = 2 * SPACE_CHOICES_FUSED
} space_choice_class;

typedef struct space_choice_list {
    int count;
    const space_choice *value;
} space_choice_list;

typedef struct space_recompute {
    int count;
    const space_choice *value; /* choices other than full:N */
    bool full_layers;          /* whether full:N is a choice for N from low to high */
    int low, high;             /* range of N, which is also below the layers of a stage */
    space_choice_list of[SPACE_CHOICE_CLASSES]; /* legal choices of each class, without full:N */
} space_recompute;

static inline space_choice_class space_class_of(const plait_degrees *degrees)
{
    const int fused = degrees->switches.fused_grouped_mlp ? SPACE_CHOICES_FUSED : 0;
    const bool pairs = degrees->ep_overlap != PLAIT_EP_OVERLAP_NONE;
    const bool layers = degrees->switches.cuda_graph == PLAIT_GRAPH_LAYERS;
    const int graphs = degrees->switches.cuda_graph == PLAIT_GRAPH_FULL ? SPACE_CHOICES_STATIC
                       : layers && pairs ? SPACE_CHOICES_PARTIAL_PAIRS
                       : layers          ? SPACE_CHOICES_PARTIAL
                       : pairs           ? SPACE_CHOICES_PAIRS
                                         : SPACE_CHOICES_ALL;

    return (space_choice_class)(graphs + fused);
}

/** Returns whether full:N is legal in a class: without graphs and pairs of microbatches. */
static inline bool space_has_full_layers(space_choice_class class)
{
    return class % SPACE_CHOICES_FUSED == SPACE_CHOICES_ALL;
}

/** One split of the layers over pp x vpp chunks. */
typedef struct space_split {
    plait_split split;
    int vpp;
    int choices; /* number of recompute choices, which depends on the fullest stage */
} space_split;

/**
 * The number of recompute choices of some splits in a class, whose sum over all choices is `all`.
 */
static inline int64_t space_choices_in(const space_recompute *recompute, space_choice_class class,
                                       int splits, int64_t all)
{
    const int listed = recompute->of[class].count;

    return space_has_full_layers(class) ? all - (int64_t)splits * (recompute->count - listed)
                                        : (int64_t)splits * listed;
}

/** The splits that some schedules support: [first, end) of a list, and the sum of their choices. */
typedef struct space_split_range {
    int first, end;
    int64_t choices;
} space_split_range;

/** All splits for one pp. */
typedef struct space_splits {
    int count;
    const space_split *split;
    space_split_range of[3]; /* ranges by chunks per rank: [0] 1, [1] 2 in a V, [2] several
                              * interleaved */
} space_splits;

/** The splits that a schedule supports. */
const space_split_range *space_splits_for(const space_splits *splits, plait_schedule schedule);

/** A free key and its values. */
typedef struct space_free_key {
    plait_key_id key;
    bool usual_only; /* whether only the default is listed, which may depend on other keys */
    space_list values;
    space_list idle; /* values where the key has no effect: also those without measured runs */
} space_free_key;

enum { SPACE_FREE_KEYS = 24 };

/** Degrees without a microbatch size, and the range of sizes that they are listed with. */
typedef struct space_row {
    /* keys of the later levels have their first value, except ep_overlap: a row with PAIRS is only
     * for pairs of microbatches */
    plait_degrees degrees;
    int first, sizes;      /* sizes are plan_space.microbatch.value[first], ... */
    double sequence_bytes; /* C.92 with mbs 1; the bound is proportional to mbs */
} space_row;

typedef struct plan_space {
    const plait_problem *problem;
    const plait_search_options *options;
    space_list divisors;   /* divisors of the number of GPUs */
    space_list microbatch; /* divisors of the batch that the limits allow */
    space_list zero;
    space_list schedules;
    space_list orders;
    space_list ep_overlaps;
    space_list dispatchers; /* dispatchers that rows can use */
    int free_keys;
    space_free_key free_key[SPACE_FREE_KEYS];
    space_recompute recompute;
    const space_splits *splits; /* [divisors.count], by the index of pp */
    bool layouts;               /* whether pipelines without a named split are also listed, for
                                 * layouts */
    double most_bytes; /* sizes with which no plan of a row fits this memory are not listed */
    int64_t rows;
    int64_t sized_rows;   /* number of pairs of a row and one of its sizes */
    const space_row *row; /* [rows] */
} plan_space;

/** A sharding of the state, and values of the free keys. */
typedef struct space_shard {
    int shard_group;
    unsigned char zero;
    unsigned char value[SPACE_FREE_KEYS];
} space_shard;

/** A triple of schedule, order and ep_overlap. */
typedef struct space_kind {
    unsigned char schedule, order, ep_overlap;
    unsigned relevant; /* free keys that have an effect with this triple: bits 1 << index in
                        * free_key */
    const unsigned short
        *sizes; /* [i]: number of legal sizes before plan_space.microbatch.value[i] */
    int shards;
    const space_shard *shard;
    int64_t points; /* number of points with one size */
} space_kind;

enum { SPACE_KINDS = PLAIT_ORDERS * PLAIT_SCHEDULES * PLAIT_EP_OVERLAPS };

/** Returns whether the i-th microbatch size is legal with a kind. */
static inline bool space_size_legal(const space_kind *kind, int i)
{
    return kind->sizes[i + 1] > kind->sizes[i];
}

/** One pp of a row, for all sizes of the row. */
typedef struct space_pipeline {
    plait_degrees degrees; /* mbs is the first size of the row */
    const space_splits *splits;
    int64_t points;
    int kinds;
    space_kind kind[SPACE_KINDS]; /* kinds that are legal with some size */
} space_pipeline;

/** Returns whether the i-th microbatch size is legal with some kind of a pipeline. */
bool space_takes_size(const space_pipeline *pipeline, int i);

/** State of a walk over rows. Consecutive rows share the shards of each pp. */
typedef struct space_cursor {
    const plan_space *space;
    plait_arena *arena;
    struct cursor_slot *slot; /* [divisors.count] */
    /* [divisors.count][divisors.count][PLAIT_SCHEDULES] space_kind.sizes by pp, dp and schedule;
     * NULL: not listed yet */
    const unsigned short **sizes;
    bool failed; /* out of memory */
} space_cursor;

/**
 * Lists all rows. The space lives in `arena`.
 *
 * @param most_bytes  microbatch sizes with which no plan of a row fits this memory are not listed
 */
PLAIT_MUST_CHECK plait_status space_make(const plait_problem *problem,
                                         const plait_search_options *options, double most_bytes,
                                         plait_arena *arena, plan_space *space, plait_error *err);

/**
 * Lists rows alone, with every degree that the layers support up to the GPUs of the job, whether it
 * divides that number or not, and with the microbatch sizes of several batches.
 *
 * @param gbs  [batches] the batches
 */
PLAIT_MUST_CHECK plait_status space_make_rows(const plait_problem *problem,
                                              const plait_search_options *options, const int *gbs,
                                              int batches, double most_bytes, plait_arena *arena,
                                              plan_space *space, plait_error *err);

/** Returns the i-th microbatch size of a row. */
static inline int space_size(const plan_space *space, const space_row *row, int i)
{
    return space->microbatch.value[row->first + i];
}

/** Starts a walk. Returns false when out of memory. */
bool space_cursor_init(space_cursor *cursor, const plan_space *space, plait_arena *arena);

/**
 * Makes the pipeline of a row with the i-th divisor as pp. Returns false if it has no legal plan.
 */
bool space_pipeline_at(space_cursor *cursor, const space_row *row, int i, space_pipeline *out);

/**
 * The two steps of space_pipeline_at, for callers that stop between them. The first fills degrees
 * and splits; the second the kinds and their sizes and, if `shards`, their shards and the number of
 * points.
 */
bool space_ranks_at(space_cursor *cursor, const space_row *row, int i, space_pipeline *out);
bool space_kinds_of(space_cursor *cursor, const space_row *row, int i, bool shards,
                    space_pipeline *pipeline);

/** Sets the keys of a point to those of a shard. */
void space_apply_shard(const plan_space *space, const space_shard *shard, plait_degrees *degrees);

/** Lists recompute choices, each with every set of activations that may be offloaded. */
PLAIT_MUST_CHECK plait_status space_list_recompute(const plait_problem *problem,
                                                   const plait_search_options *options,
                                                   plait_arena *arena, space_recompute *out,
                                                   plait_error *err);

/** Returns an upper bound on the recompute choices of any point. */
size_t space_most_choices(const plan_space *space);

/**
 * Sets the recomputation and offload of a choice, an index of the choices of the point's class.
 */
void space_apply_choice(const plan_space *space, int choice, plait_degrees *degrees);

/** Fails (RANGE) if options, their objective or the form of their limits is not valid. */
PLAIT_MUST_CHECK plait_status search_options_check(const plait_search_options *options,
                                                   plait_error *err);

/** Returns whether a value of a key is within the limits. */
bool limits_allow(const plait_search_options *options, plait_key_id key, int value);
bool limits_allow_text(const plait_search_options *options, plait_key_id key, const char *text);

/** As limits_allow; `value` is the index of a word if the key has words. */
bool limits_allow_value(const plait_search_options *options, plait_key_id key, int value);

/** Writes why a space has no point: the reason why its simplest candidate is illegal. */
void space_explain_empty(const plan_space *space, char *why, size_t size);
