/* serving.h - definitions shared by the serving engines and the forms of their files */
#pragma once

#include "launch/write/args.h"
#include "plait/serve.h"
#include "base/text.h"

/** The equal workers of one role. */
typedef struct serving_role {
    const plait_serve_launch *launch;
    int index;        /* index of the role in the plan's arrays */
    const char *name; /* "server", "prefill", "decode" */
    int workers;      /* workers of all replicas */
    plait_worker worker;
    int nodes, gpus_per_node; /* nodes of one worker, and the worker's GPUs on each node */
    int port;                 /* port of the first worker; the ports of the other workers follow */
    plait_arena *arena;
} serving_role;

/** The commands and files of one engine. */
typedef struct serving_engine {
    const char *program;        /* command words before the model */
    const char *dynamo;         /* name of Dynamo's backend */
    const char *dynamo_program; /* command words before the model under Dynamo */
    const char *image, *dynamo_image;
    /** Shell lines before the command of a worker that spans several nodes; NULL: none. */
    const char *prelude;
    /**
     * Appends all arguments after the model. The script that runs them sets $PORT and $here, and
     * for several nodes $NODE_RANK and $HEAD.
     */
    void (*args)(const serving_role *role, launch_args *out);
    /**
     * Returns the content of NAME.yaml, where NAME is the role's name and which `args` refers to;
     * NULL: the engine has no such file.
     */
    const char *(*config)(const serving_role *role);
    /** Appends the arguments of a role under Dynamo. */
    void (*dynamo_args)(const serving_role *role, launch_args *out);
    /** Returns shell lines that start the router of two pools. */
    const char *(*router)(const serving_role role[2], plait_arena *arena);
} serving_engine;

extern const serving_engine serving_vllm, serving_sglang, serving_trtllm;

/**
 * Return the limits of sequences and of tokens per step for one scheduler. A worker has one
 * scheduler, or one per attention rank.
 */
int serving_batch(const serving_role *role);
int serving_chunk(const serving_role *role);

/**
 * Returns the longest request in tokens. If the launch has none, it is twice the mean request,
 * rounded up to a multiple of 1,024, but at most the model's longest sequence.
 */
int serving_context(const serving_role *role);

/** Returns the comment lines at the head of a file of the role; NULL: out of memory. */
const char *serving_head(const serving_role *role, const char *what);

/**
 * Returns shell lines that start a router with --prefill URL and --decode URL; each --prefill URL
 * is followed by `behind`.
 */
const char *serving_router(const serving_role role[2], const char *program, const char *behind,
                           plait_arena *arena);

/**
 * Returns a model's name as a label of DNS, short enough for a suffix: it begins with a letter and has
 * letters, digits and hyphens only. NULL: out of memory.
 */
const char *serving_plain_name(const plait_model *model, plait_arena *arena);

/** Appends a text with all lines indented, for a block in YAML. */
void serving_block(text_builder *out, const char *text, int indent);

/** Adds the values of llm-d's chart for the deployment's roles. */
plait_status serving_add_llmd(const serving_role *role, int roles, plait_launch_folder *out,
                              plait_error *err);
