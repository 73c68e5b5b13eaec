/* serving.h - what the files of all serving engines share */
#pragma once

#include "launch/write/args.h"
#include "plait/serve_launch.h"
#include "base/text.h"

/** Workers of one role: all alike. */
typedef struct serving_role {
    const plait_serve_launch *launch;
    int index;        /* in the plan */
    const char *name; /* "server", "prefill", "decode" */
    int workers;      /* of all replicas */
    plait_worker worker;
    int nodes, gpus_per_node; /* of one worker */
    int port;                 /* of the first worker; the next has the next */
    plait_arena *arena;
} serving_role;

/** An engine in its own words. */
typedef struct serving_engine {
    const char *program; /* in front of the model */
    const char *dynamo;  /* Dynamo's backend, and in front of the model under it */
    const char *dynamo_program;
    const char *image, *dynamo_image;
    const char *prelude; /* shell lines in front, of a worker of several nodes; NULL: none */
    /** All arguments behind the model. $PORT, $here, and of several nodes $NODE_RANK, $HEAD are a script's. */
    void (*args)(const serving_role *role, launch_args *out);
    /** The file that `args` names as engine.yaml; NULL: there is none. */
    const char *(*config)(const serving_role *role);
    /** Arguments of a role under Dynamo. */
    void (*dynamo_args)(const serving_role *role, launch_args *out);
    /** Shell lines that start what stands before two pools. */
    const char *(*router)(const serving_role role[2], plait_arena *arena);
} serving_engine;

extern const serving_engine serving_vllm, serving_sglang, serving_trtllm;

/** Sequences and tokens of one scheduler: of a worker, or with attention ranks of each of these. */
int serving_batch(const serving_role *role);
int serving_chunk(const serving_role *role);

/** Twice the mean request, in whole thousands, at most what the model was made for. */
int serving_context(const serving_role *role);

/** Comment lines with # for the head of every file. */
const char *serving_head(const serving_role *role, const char *what);

/** Files of a role, and of what stands before two. */
plait_status serving_script(const serving_role *role, const serving_engine *engine,
                            plait_launch_folder *out, plait_error *err) PLAIT_MUST_CHECK;
plait_status serving_systemd(const serving_role *role, const serving_engine *engine,
                             plait_launch_folder *out, plait_error *err) PLAIT_MUST_CHECK;
plait_status serving_kubernetes(const serving_role *role, const serving_engine *engine,
                                plait_launch_folder *out, plait_error *err) PLAIT_MUST_CHECK;
plait_status serving_dynamo(const serving_role *role, int roles, const serving_engine *engine,
                            plait_launch_folder *out, plait_error *err) PLAIT_MUST_CHECK;

/** Shell lines that start a router which takes --prefill URL and --decode URL; `behind` stands behind the former. */
const char *serving_router(const serving_role role[2], const char *program, const char *behind,
                           plait_arena *arena);

/** A model's name in small letters, digits and hyphens. */
const char *serving_plain_name(const plait_model *model, plait_arena *arena);
