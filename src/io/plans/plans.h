/* plans.h - plans in a file that `plait search -o`, `plait eval --json` or `plait import` wrote
 *
 * The file has the model, the cluster and the job of its plans, so no other file is needed. Keys
 * that an imported job does not determine are null in the file, and 0, -1 or NULL here. Prices are
 * not read, but computed again.
 */
#pragma once

#include "plait/cluster.h"
#include "plait/problem.h"
#include "plait/model.h"
#include "plait/plan.h"

/** One stage of a file. Keys in `owns` are the stage's own and stand in `own`; other keys are the
 * plan's. */
typedef struct plans_stage {
    int chunks;
    const plait_chunk *chunk; /* in the order in which the rank runs them */
    int layers;               /* layers of all chunks */
    int group;                /* group of nodes */
    plait_degrees own;
    plait_key_set owns;
    int recomputes; /* length of `recompute`: 0, 1 for all layers, or one a layer */
    const plait_recompute *recompute;
    const plait_cut *cut; /* one a layer; NULL: all layers have the plan's tp and zero */
} plans_stage;

/** A layer without a tp and a stage of ZeRO of its own. */
#define PLANS_NO_CUT ((plait_cut){.tp = 0, .zero = 255})

/** The keys by which a stage may offload other data than the plan. */
extern const plait_key_id plans_own_keys[3];

/** One plan, its model, cluster and job. A number of 0 and a pointer of NULL are not given, if not
 * stated otherwise. */
typedef struct plans_entry {
    const char *where; /* place in the file for messages, "plans.json:/plans/1" */
    int rank;
    const plait_model *model;
    const plait_cluster *cluster; /* all of its GPUs */
    const char *runtime;          /* a name, or a file beside this one */
    int seq;
    int gbs;
    int gpus;
    int precision; /* plait_precision; -1: not given */
    double risk;   /* accepted probability of running out of memory */
    double
        imbalance; /* tokens of the fullest rank of experts over the mean; 0: runtime's default */
    bool natural_routing;  /* the imbalance is "natural": nothing balances the experts */
    plait_degrees degrees; /* keys that are not in `given` have their initial values */
    plait_key_set given;
    int stages;
    const plans_stage *stage;
    const char *warnings; /* settings of an imported file that no plan has, one a line */
    const char *not_read; /* options of an imported file that no reader looks up, "a, b"; or NULL */
} plans_entry;

/** Whether a risk is between 0.001 and 0.5. */
bool plans_risk_is_sensible(double risk);

/** Whether an imbalance is between 1 and 100. */
bool plans_imbalance_is_sensible(double imbalance);

/** The imbalance of a job in which nothing balances the experts. */
#define PLANS_NATURAL_ROUTING "natural"

/** A plan without any keys; `where` is its place for messages. */
plans_entry plans_unknown(const char *where);

/**
 * Loads one plan.
 *
 * @param path  PATH or PATH:RANK; without a rank the first plan. An existing file whose name looks like
 *              PATH:RANK is read as a whole.
 * @param out   lives in `arena`
 */
PLAIT_MUST_CHECK plait_status plans_load(const char *path, plait_arena *arena, plans_entry *out,
                                         plait_error *err);

/**
 * Loads a list of plans in the order of the file; *out lives in `arena`.
 *
 * @param key  "plans", or "front": the front of time and memory, which a file may not have
 */
PLAIT_MUST_CHECK plait_status plans_load_list(const char *path, const char *key, plait_arena *arena,
                                              const plans_entry **out, int *count,
                                              plait_error *err);

/** Loads the command that wrote the file; NULL if it has none. */
PLAIT_MUST_CHECK plait_status plans_load_command(const char *path, plait_arena *arena,
                                                 const char **command, plait_error *err);

/** Loads the ranks of the plans that `plait search --try` chose, of which there may be
 * `capacity`. */
PLAIT_MUST_CHECK plait_status plans_tried(const char *path, int capacity, int rank[], int *count,
                                          plait_arena *arena, plait_error *err);

/** Parses one plan of a text; messages have `name` as its path. Rank 0 is the first plan. */
PLAIT_MUST_CHECK plait_status plans_parse(const char *text, size_t length, const char *name,
                                          int rank, plait_arena *arena, plans_entry *out,
                                          plait_error *err);

/**
 * Makes a plan of an entry's stages, which it must have. The plan is not checked.
 *
 * @param changed  `degrees` differ from the entry's, so only the layers of its stages are used
 * @param out      lives in `arena`
 */
PLAIT_MUST_CHECK plait_status plans_plan(const plans_entry *entry, const plait_degrees *degrees,
                                         bool changed, plait_arena *arena, plait_plan *out,
                                         plait_error *err);

/**
 * Gives an entry with model, pp, vpp and schedule its stages, and sets its split to their layout.
 *
 * @param counts  [pp * vpp] layers of the chunks in pipeline order; their sum is the model's layers
 */
PLAIT_MUST_CHECK plait_status plans_assign_stages(plans_entry *entry, const int *counts,
                                                  plait_arena *arena, plait_error *err);
