/* plans.h - a plan out of a file that `plait search -o` or `plait eval --json` wrote
 *
 * The file repeats the question that its plans answer, so it is enough by itself. What an imported
 * file does not know is null there and 0, -1 or NULL here; whoever needs it asks for it. Numbers
 * that follow from the plan (times, memory) are not read: they are priced anew.
 */
#pragma once

#include "plait/cluster.h"
#include "plait/problem.h"
#include "plait/model.h"
#include "plait/plan.h"

/** One stage, as far as a file says it. */
typedef struct plans_stage {
    int chunks;
    const plait_chunk *chunk; /* in the order in which its rank takes turns at them */
    int layers;               /* over all chunks */
    int group;                /* of nodes */
    plait_degrees own;        /* keys of its own, tp, cp, dp, ep, etp among them ... */
    plait_key_set owns;       /* ... those that are given */
    int recomputes;           /* 0: not given; 1: one for all layers; else one a layer */
    const plait_recompute *recompute;
    const plait_cut *cut; /* one a layer; NULL: none has its own */
} plans_stage;

/** A layer of which no tp, or no stage of ZeRO, is given. */
#define PLANS_NO_CUT ((plait_cut){.tp = 0, .zero = 255})

/** What a stage offloads of its own: the keys of that. */
extern const plait_key_id plans_own_keys[3];

/** One plan and its question. */
typedef struct plans_entry {
    const char *where; /* "plans.json:/plans/1", for messages */
    int rank;
    const plait_model *model;     /* NULL: not given */
    const plait_cluster *cluster; /* NULL: not given; no GPUs are taken of it yet */
    const char *runtime;          /* a name, or a file beside this one; NULL: not given */
    int seq;                      /* 0: not given, as the next two */
    int gbs;
    int gpus;
    int precision;        /* plait_precision; -1: not given */
    double risk;          /* that a plan which fits may have; 0: not given */
    double imbalance;     /* of experts' tokens over ranks; 0: that of the runtime's profile */
    bool natural_routing; /* the job's imbalance is "natural": nothing balances its experts */
    plait_degrees degrees;
    plait_key_set given;
    int stages; /* 0: it lists none */
    const plans_stage *stage;
    const char *warnings; /* of what an imported file says and no plan has, one a line; or NULL */
    const char *not_read; /* options of an imported file that nothing reads, "a, b"; or NULL */
} plans_entry;

/** Can a plan that fits be asked to run out of memory this rarely? 0.001 to 0.5. */
bool plans_risk_is_sensible(double risk);

/** Can the fullest rank of experts have this many times the mean? 1 to 100. */
bool plans_imbalance_is_sensible(double imbalance);

/** The word that a job has in place of an imbalance when nothing balances its experts. */
#define PLANS_NATURAL_ROUTING "natural"

/** A plan of which nothing is known yet; `where` is for messages. */
plans_entry plans_unknown(const char *where);

/**
 * Load one plan.
 *
 * @param path  PATH or PATH:RANK; without a rank the first plan. A file whose name ends like a rank
 *              is taken by its name.
 * @param out   lives in `arena`
 */
PLAIT_MUST_CHECK plait_status plans_load(const char *path, plait_arena *arena, plans_entry *out,
                                         plait_error *err);

/** Load every plan of a file, in its order: `count` of them in `arena`. */
PLAIT_MUST_CHECK plait_status plans_load_all(const char *path, plait_arena *arena,
                                             const plans_entry **out, int *count, plait_error *err);

/** The same of its front of time and memory; a file without one has none. */
PLAIT_MUST_CHECK plait_status plans_load_front(const char *path, plait_arena *arena,
                                               const plans_entry **out, int *count,
                                               plait_error *err);

/** The command that wrote it; NULL: the file does not say. */
PLAIT_MUST_CHECK plait_status plans_load_command(const char *path, plait_arena *arena,
                                                 const char **command, plait_error *err);

/** The ranks, at most so many, of the plans that `plait search --try` chose. */
PLAIT_MUST_CHECK plait_status plans_tried(const char *path, int most, int rank[], int *count,
                                          plait_arena *arena, plait_error *err);

/** The same from text; `name` stands for the file in messages. Rank 0: the first plan. */
PLAIT_MUST_CHECK plait_status plans_parse(const char *text, size_t length, const char *name,
                                          int rank, plait_arena *arena, plans_entry *out,
                                          plait_error *err);

/**
 * The plan of an entry's stages, which it must list: their layers, and what else they say where
 * `degrees` are still those that the entry has. plait_plan_check has the verdict on it.
 *
 * @param changed  `degrees` are others than the entry's: of its stages only layers are taken
 * @param out      lives in `arena`
 */
PLAIT_MUST_CHECK plait_status plans_plan(const plans_entry *entry, const plait_degrees *degrees,
                                         bool changed, plait_arena *arena, plait_plan *out,
                                         plait_error *err);

/**
 * List stages of so many layers a chunk in an entry whose model, pp, vpp and schedule are known, and
 * set its split to that.
 *
 * @param counts  [pp * vpp] in pipeline order, which sum to the model's layers
 */
PLAIT_MUST_CHECK plait_status plans_deal_stages(plans_entry *entry, const int *counts,
                                                plait_arena *arena, plait_error *err);
