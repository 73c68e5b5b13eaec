/*
 * tuning.h - the parameters that a job trains: all, adapters, or all but some frozen parts
 *
 * Part of a job (problem.h). The zero value is pre-training of all parameters. Frozen parameters
 * have no gradients and no optimizer state, and their weight-gradient products are not computed.
 *
 * In order: set `kind`, then what differs from the defaults of that kind.
 */
#ifndef PLAIT_TUNING_H
#define PLAIT_TUNING_H

#include <stdbool.h>

#include "plait/error.h"

PLAIT_BEGIN_DECLS

/** Kinds of jobs: constant, word of --job, description. */
#define PLAIT_JOB_LIST(X)                                                                          \
    X(PRETRAIN, "pretrain", "all parameters, every token counts for the loss")                     \
    X(SFT, "sft", "supervised fine-tuning of all parameters that are not frozen")                  \
    X(LORA, "lora", "low-rank adapters on frozen weights")                                         \
    X(QLORA, "qlora", "low-rank adapters on frozen weights of 4 bits (NF4)")                       \
    X(DPO, "dpo", "preference learning on pairs, with a reference model")                          \
    X(DISTILL, "distill", "the outputs of a teacher are the targets")                              \
    X(REWARD, "reward", "a reward model or critic: the head has one output")                       \
    X(RL, "rl", "the update of reinforcement learning")

typedef enum plait_job_kind {
#define X(constant, word, what) PLAIT_JOB_##constant,
    PLAIT_JOB_LIST(X)
#undef X
        PLAIT_JOB_KINDS
} plait_job_kind;

extern const char *const plait_job_name[PLAIT_JOB_KINDS + 1];

/** Parts of a model that can be frozen: constant, word of --freeze. */
#define PLAIT_FREEZE_LIST(X)                                                                       \
    X(EMBEDDING, "embedding") /* token and position tables, and a tied head */                     \
    X(HEAD, "head")                                                                                \
    X(ATTENTION, "attention") /* mixers of any kind */                                             \
    X(MLP, "mlp")             /* dense and shared feed-forward parts */                            \
    X(EXPERTS, "experts")     /* routed experts */                                                 \
    X(ROUTER, "router")                                                                            \
    X(NORMS, "norms")                                                                              \
    X(VISION, "vision") /* encoder of images */                                                    \
    X(AUDIO, "audio")                                                                              \
    X(PROJECTOR, "projector") /* from encoders to the decoder */

typedef enum plait_freeze {
#define X(constant, word) PLAIT_FREEZE_##constant,
    PLAIT_FREEZE_LIST(X)
#undef X
        PLAIT_FREEZES
} plait_freeze;

extern const char *const plait_freeze_name[PLAIT_FREEZES + 1];

/** Matrices that adapters may be attached to: constant, word of --lora-targets. */
#define PLAIT_LORA_TARGET_LIST(X)                                                                  \
    X(Q, "q")                                                                                      \
    X(K, "k")                                                                                      \
    X(V, "v")                                                                                      \
    X(QKV, "qkv") /* one adapter on the fused projection (linear_qkv of Megatron) */               \
    X(O, "o")                                                                                      \
    X(GATE, "gate")                                                                                \
    X(UP, "up")                                                                                    \
    X(FC1, "fc1") /* one adapter on the fused gate and up projections */                           \
    X(DOWN, "down")                                                                                \
    X(EXPERTS, "experts") /* gate, up and down adapters of every routed expert */

typedef enum plait_lora_target {
#define X(constant, word) PLAIT_LORA_##constant,
    PLAIT_LORA_TARGET_LIST(X)
#undef X
        PLAIT_LORA_TARGETS
} plait_lora_target;

extern const char *const plait_lora_target_name[PLAIT_LORA_TARGETS + 1];

/**
 * Rank and matrices of adapters that a job does not state: those of Megatron-Bridge
 * (src/megatron/bridge/peft/lora.py: dim 32; linear_qkv, linear_proj, linear_fc1, linear_fc2).
 */
enum {
    PLAIT_LORA_USUAL_RANK = 32,
    PLAIT_LORA_USUAL_TARGETS =
        1 << PLAIT_LORA_QKV | 1 << PLAIT_LORA_O | 1 << PLAIT_LORA_FC1 | 1 << PLAIT_LORA_DOWN
};

/** Formats of frozen weights: constant, word, bits of a weight with its scales. */
#define PLAIT_FROZEN_FORMAT_LIST(X)                                                                \
    X(BF16, "bf16", 16.0)                                                                          \
    X(FP8, "fp8", 8.0)                                                                             \
    X(NF4, "nf4", 4.127) /* one scale of 8 bits for 64 weights, quantised twice (QLoRA) */

typedef enum plait_frozen_format {
#define X(constant, word, bits) PLAIT_FROZEN_##constant,
    PLAIT_FROZEN_FORMAT_LIST(X)
#undef X
        PLAIT_FROZEN_FORMATS
} plait_frozen_format;

extern const char *const plait_frozen_format_name[PLAIT_FROZEN_FORMATS + 1];

/** Bytes of a frozen weight in a format, with its scales. (C.412) */
double plait_frozen_format_bytes(plait_frozen_format format);

/** The model whose log-probabilities a preference loss compares with. */
typedef enum plait_reference {
    PLAIT_REFERENCE_NONE,
    PLAIT_REFERENCE_RESIDENT,  /* its weights stay on the GPUs, sharded as the policy's */
    PLAIT_REFERENCE_OFFLOADED, /* its weights wait in host memory and are copied for their pass */
    PLAIT_REFERENCE_CACHED,    /* its log-probabilities were computed before the run */
    PLAIT_REFERENCE_ADAPTERS,  /* the policy without its adapters: a pass, but no weights */
    PLAIT_REFERENCE_APART,     /* on reference_gpus other GPUs, during the step */
    PLAIT_REFERENCES
} plait_reference;

extern const char *const plait_reference_name[PLAIT_REFERENCES + 1];

/** The trained parameters of a job. */
typedef struct plait_tuning {
    plait_job_kind kind;
    unsigned frozen;            /* bits 1 << plait_freeze, in jobs without adapters */
    unsigned targets;           /* bits 1 << plait_lora_target */
    int rank;                   /* rank of the adapters; 0: none, all that is not frozen trains */
    plait_frozen_format format; /* format of frozen weights, in jobs with adapters */
    plait_reference reference;
    /**
     * Forward time and weights of the reference, or of a teacher, over those of the model that
     * trains; 0: 1. (C.415)
     */
    double reference_time, reference_weights;
    int reference_gpus; /* GPUs of a reference apart, in addition to those of the job */
} plait_tuning;

/** Does a step have a forward pass of another model over its tokens? */
static inline bool plait_tuning_refers(const plait_tuning *tuning)
{
    return tuning->reference != PLAIT_REFERENCE_NONE && tuning->reference != PLAIT_REFERENCE_CACHED;
}

/** Does any parameter of this kind of job stay as it is? */
static inline bool plait_tuning_freezes(const plait_tuning *tuning)
{
    return tuning->rank > 0 || tuning->frozen != 0;
}

PLAIT_END_DECLS

#endif
