/*
 * rl_settings.h - settings of reinforcement learning, which verl and NeMo-RL have under other keys
 *
 * The rows of a framework (write/settings.h) write them and read them back. Switches that follow
 * from other settings are fields of their own, since a row writes one field.
 */
#pragma once

#include "launch/read/yaml_read.h"
#include "launch/rl_import.h"
#include "launch/write/settings.h"

typedef struct rl_settings {
    const char *model;     /* id on the hub */
    const char *estimator; /* estimator of advantages: "grpo", "gae", "rloo" */
    const char *training;  /* training software, by the framework's name */
    const char *engine;
    const char *quantization; /* format of the engine's weights; NULL: that of training */
    const char *mode;         /* synchronous or asynchronous, by the framework's name */
    const char *backend;      /* backend of the hand-over to separate GPUs */
    const char *strategy;     /* for answers that are too old */
    const char *critic, *reward;
    const char *targets;                        /* modules with adapters */
    const char *granularity, *method, *modules; /* method of recomputation */
    const char *defaults;                       /* YAML that the file changes */
    int prompts, generations, update;
    int prompt_tokens, answer_tokens, total_tokens;
    int updates;        /* updates of a step, if asynchronous */
    int update_answers; /* update * generations */
    int batch;          /* packed sequences of a microbatch */
    int budget;         /* tokens of a microbatch, on a GPU */
    int dynamic, packing;
    int filtered; /* DAPO: prompts are sampled again */
    int reference, no_reference;
    double penalty; /* coefficient of the KL term */
    double high;    /* upper clip of the ratio */
    int bypass;     /* log-probabilities of the engine are used */
    int importance; /* correction for old answers */
    int critic_enabled, reward_enabled;
    int tp, sp, pp, vpp, cp, ep, etp;
    int first, last; /* layers of the first and the last stage */
    int embedding, loss;
    int layers; /* recomputed layers, or layers of a block */
    int checkpoints;
    int reshard, shard;
    int offload;
    int host_optimizer; /* the optimizer is in host memory during updates */
    int rollout_tp, rollout_pp, rollout_dp, rollout_ep;
    double memory; /* share of the device that the engine uses */
    int colocated, apart, partial, async;
    int age;         /* oldest weights of an answer: staleness, or versions that it spans */
    int nodes, gpus; /* nodes of training, or of all */
    int rollout_nodes, rollout_gpus; /* GPUs of a node */
    int adapters, rank, alpha;
    int megatron, dtensor; /* switches of the training software */
    int off;               /* always false */
    double lr;
} rl_settings;

/** All fields not given. */
rl_settings rl_settings_init(void);

/** A framework: its rows by the training software, and what it cannot run. */
typedef struct rl_framework {
    const char *name;
    const char *file;          /* file with the settings */
    const char *head;          /* first comment of the file */
    const char *edits;         /* settings to edit before a real run */
    const setting_row *rows;   /* rows of Megatron */
    const setting_row *fsdp;   /* rows of FSDP */
    const setting_row *critic; /* further rows of Megatron; NULL: none can be written */
    bool yaml;                 /* else overrides */
    const char *start;         /* lines of run.sh on the first node */
    const char *(*unsupported)(const plait_rl_job *job, const plait_rl_plan *plan);
    /** Sets the words and switches of the framework. */
    void (*adapt)(const plait_rl_job *job, const plait_rl_plan *plan, rl_settings *settings);
    /** Sets what the framework's own words and switches mean, after a file has been read. */
    void (*interpret)(const rl_settings *settings, rl_imported *out);
} rl_framework;

extern const rl_framework rl_verl, rl_nemo;

/**
 * Add the values of the files that a config of NeMo-RL names under `defaults`.
 *
 * Fails (RANGE) on a cycle. A file that does not exist is a warning.
 */
PLAIT_MUST_CHECK plait_status nemo_add_defaults(yaml_file *file, plait_arena *arena,
                                                text_builder *warnings, plait_error *err);
