/* settings.h - what a plan switches on in Megatron Core, in nobody's spelling yet
 *
 * Megatron-LM's arguments and Megatron-Bridge's overrides are two spellings of the same settings;
 * what they are is decided once, here.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "target.h"

/* Words are Megatron Core's own; NULL, 0 and false: not said, which is off. */
typedef struct megatron_settings {
    const plait_degrees *degrees;
    int gbs;
    bool experts; /* the model has some: expert degrees and dispatch mean something */

    /* parallelism */
    int chunks;         /* virtual stages a rank, where there are more than one */
    const char *layout; /* a split that has to be spelled: "Et*3|t*4|t*3L" */
    int first_layers;
    int last_layers;
    bool embedding_counts;
    bool loss_counts;
    const char *cp_comm;
    bool stages_inside_replicas; /* order tp-cp-pp-dp */

    /* memory */
    const char *recompute; /* granularity */
    const char *recompute_method;
    int recompute_layers;
    unsigned recompute_modules; /* bits 1 << PLAIT_MODULE_... */

    /* optimizer and overlap */
    bool distributed_optimizer;
    int optimizer_instances; /* where more than one */
    const char *fsdp;        /* strategy of Megatron's own FSDP */
    bool overlap_grad_reduce;
    bool overlap_param_gather;
    bool overlap_tp;
    bool overlap_p2p;
    bool fused_loss;
    bool reduce_in_16_bits;
    const char *dispatcher;
    const char *flex_backend;

    /* kernels and precision */
    const char *attention;
    int flash_version;  /* of flash attention, where it is said */
    bool plain_softmax; /* scores, mask and softmax in passes of their own */
    bool fp16;
    const char *fp8_format;
    const char *fp8_recipe;
    const char *fp4_format;
    const char *fp4_recipe;
    bool pads_experts;
} megatron_settings;

/** Decide. What *out points to lives in `arena`; `degrees` must outlive it. */
PLAIT_MUST_CHECK plait_status megatron_settings_of(const plait_problem *problem,
                                                   const plait_degrees *degrees, plait_arena *arena,
                                                   megatron_settings *out, plait_error *err);

#endif
