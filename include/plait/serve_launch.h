/*
 * serve_launch.h - a deployment as the files that start it.
 *
 * In order: plait_serve_rule_broken (serve_search.h) holds of every answer of a search;
 * plait_serve_launch_render makes the files of one target, in memory.
 *
 * Left out: balancing requests over replicas of aggregated workers, which any HTTP balancer does;
 * certificates, names and storage of a cluster.
 */
#ifndef PLAIT_SERVE_LAUNCH_H
#define PLAIT_SERVE_LAUNCH_H

#include "plait/launch.h"
#include "plait/serve_search.h"

PLAIT_BEGIN_DECLS

/** What files are for: an engine, or Dynamo over the engine of the answer. */
typedef enum plait_serve_target {
    PLAIT_SERVE_TARGET_VLLM,
    PLAIT_SERVE_TARGET_SGLANG,
    PLAIT_SERVE_TARGET_TRTLLM,
    PLAIT_SERVE_TARGET_DYNAMO,
    PLAIT_SERVE_TARGETS
} plait_serve_target;

extern const char *const plait_serve_target_name[PLAIT_SERVE_TARGETS + 1];

/** How an engine's workers are started. Dynamo has manifests of its own. */
typedef enum plait_serve_form {
    PLAIT_SERVE_SCRIPT,
    PLAIT_SERVE_SYSTEMD,
    PLAIT_SERVE_KUBERNETES,
    PLAIT_SERVE_FORMS
} plait_serve_form;

extern const char *const plait_serve_form_name[PLAIT_SERVE_FORMS + 1];

typedef struct plait_serve_launch {
    size_t size; /* as plait_serve_launch_init sets it; 0: that of this header */
    const plait_model *model;
    const char *checkpoint; /* a folder, or a name on the Hub */
    const plait_cluster *cluster;
    const plait_serve_plan *plan;
    plait_load load;
    plait_serve_form form;
    const char *container;   /* image; NULL: a placeholder */
    const void *reserved[8]; /* zero: room for fields to come */
} plait_serve_launch;

/** Nothing yet: set model, checkpoint, cluster, plan and load. */
#define plait_serve_launch_init(launch)                                                            \
    plait_serve_launch_init_sized((launch), sizeof(plait_serve_launch))

/** What it stands for: `size` is that of the header which the caller knows. */
void plait_serve_launch_init_sized(plait_serve_launch *launch, size_t size);

/** The target of an engine. */
plait_serve_target plait_serve_target_of(plait_engine_kind kind);

/**
 * Make the files of a deployment. *out lives in `arena`.
 *
 * Fails (RANGE) where the target is another engine whose rules the workers break, or has no words for
 * the drafts that the load speaks of.
 */
PLAIT_MUST_CHECK plait_status plait_serve_launch_render(const plait_serve_launch *launch,
                                                        plait_serve_target target,
                                                        plait_arena *arena,
                                                        plait_launch_folder *out, plait_error *err);

PLAIT_END_DECLS

#endif
