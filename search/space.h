/*
 * space.h - the plan space: index -> degrees, in a fixed order
 *
 *     row     tp cp cp_comm sp ep etp mbs            what one layer costs
 *     group   pp vpp schedule split order            how layers become stages
 *     point   zero shard_group grad_sync recompute   what is sharded, synchronised, rebuilt
 *
 * Points are numbered row by row, in each row group by group, in each group point by point.
 */
#ifndef SEARCH_SPACE_H
#define SEARCH_SPACE_H

#include "plait/search.h"

/** A list of small integers, ascending. */
typedef struct space_list {
    int count;
    const int *value;
} space_list;

typedef struct space_recompute {
    int count;
    const plait_recompute *value; /* without full:N */
    bool full_layers;             /* full:N is a choice too */
    int low, high;                /* allowed N */
} space_recompute;

typedef struct plan_space {
    const plait_problem *problem;
    const plait_search_options *options;
    space_list divisors; /* of the number of GPUs */
    space_list zero;
    space_list grad_sync;
    space_list schedules; /* beside interleaved */
    space_list orders;
    bool interleaved;
    space_recompute recompute;
    int64_t rows;
    const plait_degrees *row; /* [rows]; keys of groups and points at their first value */
} plan_space;

/** The choices of a group that are still open. */
typedef struct space_group {
    plait_degrees degrees;
    int stage_layers; /* of the fullest stage: full:N has N below it */
} space_group;

/** Lists all rows. The space lives in `arena`. */
PLAIT_MUST_CHECK plait_status space_make(const plait_problem *problem,
                                         const plait_search_options *options, plait_arena *arena,
                                         plan_space *space, plait_error *err);

/**
 * Lists the legal groups of a row.
 *
 * @param groups  receives them in `arena`
 * @return        their number; -1 when out of memory
 */
int space_groups(const plan_space *space, int64_t row, plait_arena *arena,
                 const space_group **groups);

/** The shards (zero, shard_group, grad_sync) of a group, legal ones only; -1 out of memory. */
int space_shards(const plan_space *space, const space_group *group, plait_arena *arena,
                 const plait_degrees **shards);

/** Number of recompute choices of a group, and the i-th. */
int space_recompute_choices(const plan_space *space, const space_group *group);
plait_recompute space_recompute_choice(const plan_space *space, int choice);

/** Is a value of a key within the limits? */
bool limits_allow(const plait_search_options *options, const char *key, int value);
bool limits_allow_text(const plait_search_options *options, const char *key, const char *text);

/** A sentence on why a space has no point, from the check of its simplest candidate. */
void space_explain_empty(const plan_space *space, char *why, size_t size);

/** What eval and a search take for expert tensor parallelism when it is not given. */
int default_etp(const plait_problem *problem, int tp);

bool problem_has_experts(const plait_problem *problem);

#endif
