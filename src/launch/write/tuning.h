/*
 * tuning.h - settings of fine-tuning that several targets share, as fields of rows (settings.h)
 *
 * A target fills them by tuning_settings_of for a plan, or reads them from a file; read/tuning_read.h
 * turns them into a plan again. Values that no plan decides (rates, data) come from training.h.
 */
#pragma once

#include "launch/target.h"
#include "launch/write/settings.h"

typedef struct tuning_settings {
    const char *model;     /* id on the hub, or the target's own name */
    const char *stage;     /* word of the target for the kind of job: "sft", "dpo" */
    const char *method;    /* "full" or "lora" */
    const char *targets;   /* modules with adapters, by the target's names */
    const char *dtype;     /* format of the loaded weights, "bfloat16" */
    const char *attention; /* attention kernel, by the target's names */
    const char *deepspeed; /* DeepSpeed's JSON; NULL: none */
    const char *format4;   /* format of 4-bit weights, "nf4" */
    const char *storage;   /* type in which 4-bit weights are stored, so that FSDP can shard them */
    const char *packer;    /* way to pack sequences */
    const char *decay;     /* schedule of the rate */
    const char *output;    /* folder of checkpoints */
    const char *dataset;
    const char *accelerator; /* accelerator_config of the Trainer, as JSON */
    int rank, alpha;
    int adapters;    /* switch: adapters are trained */
    int mlp;         /* switch: adapters on all products of the MLP */
    int bits;        /* bits of frozen weights, if not 16 */
    int quantised;   /* switch: frozen weights have 4 bits */
    int nested;      /* switch: the scales of 4-bit weights are quantised again */
    int cached;      /* switch: the reference's log-probabilities are computed before the run */
    int seq;         /* tokens of a sequence */
    int batch;       /* sequences, or pairs, of a microbatch */
    int steps;       /* microbatches */
    int packing;     /* switch: samples are packed to the length of a sequence */
    int separate;    /* switch: packed samples do not attend to each other */
    int checkpoints; /* switch: all layers are recomputed */
    int plain;       /* switch: no layer is recomputed */
    int bf16, fp16;  /* switches */
    int tp, cp, shard, replicate;
    int reshard; /* switch: parameters are gathered again in the backward pass */
    int offload; /* switch: parameters are in host memory */
    int freeze_vision, freeze_projector;
    double beta; /* settings of DPO */
    int warmup, most_steps, save_steps;
    double lr, weight_decay, beta1, beta2, eps, clip;
} tuning_settings;

/** All fields not given. */
tuning_settings tuning_settings_init(void);

/** Names of modules by plait_lora_target; NULL: the target has no such module. */
typedef const char *const tuning_names[PLAIT_LORA_TARGETS];

/** Modules of Hugging Face's transformers, and of Megatron Core. */
extern tuning_names tuning_names_hub, tuning_names_megatron;

/** Attention of Hugging Face's transformers by plait_attention_kernel. */
extern const char *const tuning_attention_hub[PLAIT_ATTENTION_KERNELS];

/**
 * Set the settings of a plan, except for method, stage and the words that depend on the target.
 *
 * @param out  lives in `arena`
 */
PLAIT_MUST_CHECK plait_status tuning_settings_of(const plait_launch *launch, tuning_names names,
                                                 plait_arena *arena, tuning_settings *out,
                                                 plait_error *err);

/** A degree that the software of a target does not run, or plait does not write, for some jobs. */
typedef struct tuning_limit {
    unsigned kinds;     /* bits of 1 << PLAIT_JOB_... */
    plait_key_id key;   /* must be 1 */
    const char *what;   /* "pipeline parallelism, which no recipe has" */
    const char *source; /* repository, commit and file */
} tuning_limit;

/** Jobs that a target can train: bits of 1 << PLAIT_JOB_..., names of modules, and weights of 4 bits. */
typedef struct tuning_support {
    unsigned kinds;
    const char *const *names;
    bool nf4;
    bool towers;                /* vision encoder and projector can be frozen */
    bool cached;                /* DPO with cached log-probabilities of the reference */
    const tuning_limit *limits; /* ends with a row without `what`; NULL: none */
} tuning_support;

/** Returns the part of a job, or of a plan for it, that a target cannot train; NULL: none. */
const char *tuning_unsupported(const plait_problem *problem, const plait_degrees *degrees,
                               const tuning_support *support);

/** Append the notes of keys that a config of FSDP or ZeRO does not have, and of the job. */
void tuning_append_notes(const plait_launch *launch, text_builder *out);
