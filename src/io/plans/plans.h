/*
 * plans.h - plans in a file that `plait search -o`, `plait eval --json` or `plait import` wrote
 *
 * The file contains the model, the cluster and the job of its plans, so no other file is needed.
 * Keys that an imported job does not determine are null in the file, and 0, -1 or NULL here. Prices
 * are not read but computed again.
 */
#pragma once

#include "plait/cluster.h"
#include "plait/problem.h"
#include "plait/model.h"
#include "plait/plan.h"

/**
 * One stage of a file. `owns` is the set of keys that the stage has itself, with their values in
 * `own`; the other keys have the plan's values.
 */
typedef struct plans_stage {
    int chunks;
    const plait_chunk *chunk; /* [chunks] in the order in which the rank runs them */
    int layers;               /* number of layers of all chunks */
    int group;                /* index of the group of nodes */
    plait_degrees own;
    plait_key_set owns;
    int recomputes; /* length of `recompute`: 0, 1 for all layers, or the number of layers */
    const plait_recompute *recompute;
    const plait_cut *cut; /* [layers]; NULL: all layers have the plan's tp and zero */
} plans_stage;

/** The value of a layer that has neither its own tp nor its own stage of ZeRO. */
#define PLANS_NO_CUT ((plait_cut){.tp = 0, .zero = 255})

/** The keys by which a stage may offload different data than the plan. */
extern const plait_key_id plans_own_keys[3];

/**
 * One plan with its model, cluster and job. Unless stated otherwise, 0 and NULL mean that a value
 * is not given.
 */
typedef struct plans_entry {
    const char *where; /* place in the file, for messages: "plans.json:/plans/1" */
    int rank;
    const plait_model *model;
    const plait_cluster *cluster; /* the whole cluster; `gpus` may be fewer */
    const char *runtime;          /* name of the runtime, or of a file beside this one */
    int seq;
    int document;
    plait_documents documents;
    int images, image_tokens; /* 0: none; 0: as the encoder has */
    int gbs;
    int gpus;
    int precision;         /* a plait_precision; -1: not given */
    plait_tuning tuning;   /* trained parameters and adapters; zero: all are trained */
    double risk;           /* accepted probability of running out of memory */
    double imbalance;      /* tokens of the fullest expert rank over the mean; 0: runtime's value */
    bool natural_routing;  /* the imbalance is "natural": the experts are not balanced */
    bool frontier;         /* priced by the model alone, without regard to evidence */
    plait_degrees degrees; /* values of the keys in `given`; other keys have their initial values */
    plait_key_set given;
    int stages;
    const plans_stage *stage;
    const char *warnings; /* settings of an imported file that plans do not have, one per line */
    const char *not_read; /* unread options of an imported file, "a, b"; or NULL */
} plans_entry;

/** Returns whether a risk is between 0.001 and 0.5. */
bool plans_risk_is_sensible(double risk);

/** Returns whether an imbalance is between 1 and 100. */
bool plans_imbalance_is_sensible(double imbalance);

/** The word for the imbalance of a job whose experts are not balanced. */
#define PLANS_NATURAL_ROUTING "natural"

/** Returns a plan without any keys; `where` is its place for messages. */
plans_entry plans_unknown(const char *where);

/**
 * Loads one plan.
 *
 * @param path  PATH or PATH:RANK; without a rank, the first plan is loaded. An existing file whose
 *              name looks like PATH:RANK is read as a whole
 * @param out   lives in `arena`
 */
PLAIT_MUST_CHECK plait_status plans_load(const char *path, plait_arena *arena, plans_entry *out,
                                         plait_error *err);

/**
 * Loads a list of plans in the order of the file. *out lives in `arena`.
 *
 * @param key  "plans", or "front" for the Pareto front of time and memory, which a file need not
 *             have
 */
PLAIT_MUST_CHECK plait_status plans_load_list(const char *path, const char *key, plait_arena *arena,
                                              const plans_entry **out, int *count,
                                              plait_error *err);

/** Loads the command line that wrote the file; NULL if the file does not have it. */
PLAIT_MUST_CHECK plait_status plans_load_command(const char *path, plait_arena *arena,
                                                 const char **command, plait_error *err);

/**
 * Loads the ranks of the plans that `plait search --try` chose into `rank`, which has space for
 * `capacity` ranks.
 */
PLAIT_MUST_CHECK plait_status plans_tried(const char *path, int capacity, int rank[], int *count,
                                          plait_arena *arena, plait_error *err);

/** Parses one plan of a text; messages have `name` as its path. Rank 0 means the first plan. */
PLAIT_MUST_CHECK plait_status plans_parse(const char *text, size_t length, const char *name,
                                          int rank, plait_arena *arena, plans_entry *out,
                                          plait_error *err);

/**
 * Makes a plan from an entry that has stages. The plan is not checked.
 *
 * @param changed  `degrees` differ from the entry's, so only the layers of its stages are used
 * @param out      lives in `arena`
 */
PLAIT_MUST_CHECK plait_status plans_plan(const plans_entry *entry, const plait_degrees *degrees,
                                         bool changed, plait_arena *arena, plait_plan *out,
                                         plait_error *err);

/**
 * Sets the stages of an entry that has a model, pp, vpp and a schedule, and sets its split to their
 * layout.
 *
 * @param counts  [pp * vpp] layers of each chunk in pipeline order; their sum is the number of the
 *                model's layers
 */
PLAIT_MUST_CHECK plait_status plans_assign_stages(plans_entry *entry, const int *counts,
                                                  plait_arena *arena, plait_error *err);
