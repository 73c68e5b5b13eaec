/* setup_runtime.c - the software of a row: a profile with the changes of the row's notes */
#include <string.h>

#include "validate/setup.h"

/* ---- the profile ---- */

/* Replaces *profile by the variant for the row's `release`, if it names one. */
static plait_status find_release(setup *at, const char *name, const plait_runtime **profile,
                                 plait_error *err)
{
    char release[40];
    const char *dated;
    const plait_runtime *variant;
    plait_status status;

    if (setup_value(at->run, "release", release, sizeof release) == NULL)
        return PLAIT_OK;
    dated = plait_arena_printf(at->arena, "%s@%s", name, release);
    PLAIT_TRY(plait_check_allocated(dated, err));
    status = library_runtime(at->shelf, dated, &variant, err);
    if (status == PLAIT_ERROR_RANGE) {
        setup_note(at, "unknown month of release %s, newest profile used", release);
        return PLAIT_OK;
    }
    if (status == PLAIT_OK)
        *profile = variant;
    return status;
}

/* Copies the runtime's profile. A runtime without one uses Megatron's, as not calibrated. */
static plait_status copy_profile(setup *at, plait_runtime *out, plait_error *err)
{
    const char *const name = at->run->runtime;
    const plait_runtime *profile;
    plait_status status = PLAIT_ERROR_RANGE;

    if (name[0] != '\0')
        status = library_runtime(at->shelf, name, &profile, err);
    if (status == PLAIT_OK) {
        PLAIT_TRY(find_release(at, name, &profile, err));
        *out = *profile;
        out->name = name;
    }
    if (status != PLAIT_ERROR_RANGE)
        return status;
    setup_note(at, "no profile for runtime \"%.40s\", megatron used", name);
    PLAIT_TRY(library_runtime(at->shelf, "megatron", &profile, err));
    *out = *profile;
    out->name = name;
    out->calibrated = false;
    return PLAIT_OK;
}

/* ---- switches ---- */

static double min_double(double a, double b)
{
    return a < b ? a : b;
}

static double max_double(double a, double b)
{
    return a > b ? a : b;
}

/* One kernel reads and writes bf16, so no fp32 copies are kept. */
static void fuse_norm(plait_runtime *runtime)
{
    double *const keeps = runtime->keep.keeps;

    runtime->kernels.fused_norm = true;
    keeps[PLAIT_TENSOR_norm_cast] = 0.0;
    keeps[PLAIT_TENSOR_norm_in] = min_double(keeps[PLAIT_TENSOR_norm_in], 2.0);
    keeps[PLAIT_TENSOR_norm_out] = min_double(keeps[PLAIT_TENSOR_norm_out], 2.0);
}

static void fuse_loss(plait_runtime *runtime)
{
    runtime->kernels.fused_loss = true;
    runtime->keep.logits = min_double(runtime->keep.logits, 4.0);
}

/* Tokens beyond the mean per expert are dropped, so no rank receives more. */
static void drop_tokens(plait_runtime *runtime)
{
    runtime->factor.ep_imbalance = 1.0;
}

/* Muon keeps one moment in place of Adam's two. */
static void use_muon(plait_runtime *runtime)
{
    runtime->state.optimizer = min_double(runtime->state.optimizer, 8.0);
}

static void fuse_experts(plait_runtime *runtime)
{
    runtime->kernels.fused_experts = true;
}

/*
 * Every graph removes the launches of dense layers; only one of the whole iteration also removes
 * those of experts, whose shapes change.
 */
static void capture_graphs(const char *kind, plait_runtime *runtime)
{
    runtime->kernels.layer_graphs = true;
    runtime->kernels.cuda_graphs = strcmp(kind, "full_iteration") == 0;
}

static void narrow_attention(plait_runtime *runtime)
{
    runtime->kernels.fp8_attention = true;
}

static const struct {
    const char *word;
    void (*apply)(plait_runtime *runtime);
} switches[] = {
    {"fused-norm", fuse_norm},
    {"fused-loss", fuse_loss},
    {"token-drop", drop_tokens},
    {"muon", use_muon},
    {"fused-grouped-mlp", fuse_experts},
    {"fp8-attention", narrow_attention},
    {NULL, NULL},
};

/* Notes features without a model; the row is priced without them. */
static void note_unmodelled(setup *at)
{
    static const char *const words[] = {"async-tp",
                                        "deferred-embedding-wgrad",
                                        "fine-tuning",
                                        "document-mask",
                                        "megatron-fsdp",
                                        "launch-blocking",
                                        "swap-attention",
                                        "unfused-norm",
                                        NULL};

    for (const char *const *word = words; *word != NULL; word++)
        if (setup_has_word(at->run, *word)) {
            setup_note(at, "%s is not modelled", *word);
            at->unmodelled = true;
        }
}

static void turn_switches(const plait_run *run, plait_runtime *runtime)
{
    char kind[40];

    for (size_t i = 0; switches[i].word != NULL; i++)
        if (setup_has_word(run, switches[i].word))
            switches[i].apply(runtime);
    if (setup_value(run, "cuda-graph", kind, sizeof kind) != NULL)
        capture_graphs(kind, runtime);
}

/* ---- defaults of the framework ---- */

/*
 * Megatron-LM defaults to the unfused cross-entropy, which keeps bf16 logits in addition to fp32
 * ones. The profile describes NeMo and Megatron-Bridge, which enable the fused one.
 */
static void unfuse_loss(plait_runtime *runtime)
{
    runtime->kernels.fused_loss = false;
    runtime->keep.logits = max_double(runtime->keep.logits, 6.0);
}

/*
 * Liger's kernels fuse norm, activation and rotary embedding; its loss processes slices of logits.
 */
static void use_liger(plait_runtime *runtime)
{
    fuse_norm(runtime);
    fuse_loss(runtime);
    runtime->kernels.fused_activation = true;
    runtime->kernels.fused_rotary = true;
    runtime->keep.keeps[PLAIT_TENSOR_rotary] = 0.0;
    runtime->keep.keeps[PLAIT_TENSOR_act_mid] = 0.0;
    runtime->keep.logits = 0.0;
}

/*
 * Megatron-Bridge's performance recipes balance tokens evenly (moe_router_force_load_balancing).
 * For expert models with whole-iteration graphs, except Qwen3, they run the head's product in 8
 * bits (fp8_output_proj).
 */
static void follow_bridge(const plait_run *run, plait_runtime *runtime)
{
    drop_tokens(runtime);
    runtime->kernels.narrow_head =
        runtime->kernels.cuda_graphs && run->experts > 1 && strstr(run->model, "qwen") == NULL;
}

/*
 * Sets the fp8 scaling of a run. If not noted, it is Transformer Engine's delayed scaling for NeMo
 * (before Megatron-Bridge) and Composer, and never rowwise: torchao's first recipe was per tensor.
 */
static void scale_as_then(const plait_run *run, plait_runtime *runtime)
{
    char recipe[40];

    if (setup_value(run, "fp8-recipe", recipe, sizeof recipe) != NULL) {
        runtime->kernels.rowwise_scaling = strcmp(recipe, "rowwise") == 0;
        runtime->kernels.delayed_scaling = strcmp(recipe, "delayed") == 0;
        return;
    }
    runtime->kernels.rowwise_scaling = false;
    if (text_starts_with(run->framework, "NeMo") || strstr(run->framework, "Composer") != NULL)
        runtime->kernels.delayed_scaling = true;
}

static void adapt_to_framework(const plait_run *run, plait_runtime *runtime)
{
    scale_as_then(run, runtime);
    if (strcmp(run->runtime, "megatron") == 0 && text_starts_with(run->framework, "Megatron-LM"))
        unfuse_loss(runtime);
    if (text_starts_with(run->framework, "Megatron-Bridge"))
        follow_bridge(run, runtime);
    if (strstr(run->framework, "Liger") != NULL)
        use_liger(runtime);
}

/* Offload: DeepSpeed moves optimizer state and gradients to the host, FSDP also weights. */
static void move_to_host(setup *at, plait_runtime *runtime)
{
    const bool fsdp = runtime->rules == PLAIT_RULES_FSDP;

    if (at->run->trust != PLAIT_TRUST_OFFLOAD)
        return;
    if (!fsdp && runtime->rules != PLAIT_RULES_DEEPSPEED) {
        setup_note(at, "offload is not modelled");
        at->unmodelled = true;
        return;
    }
    runtime->state.optimizer = 0.0;
    runtime->state.gradient = 0.0;
    if (fsdp)
        runtime->state.weight = 0.0;
    setup_note(at, "optimizer state and gradients%s on the host", fsdp ? " and weights" : "");
}

plait_status setup_runtime(setup *at, const plait_runtime **out, plait_error *err)
{
    plait_runtime *runtime = plait_arena_alloc(at->arena, 1, sizeof *runtime);

    PLAIT_TRY(plait_check_allocated(runtime, err));
    PLAIT_TRY(copy_profile(at, runtime, err));
    turn_switches(at->run, runtime);
    adapt_to_framework(at->run, runtime);
    move_to_host(at, runtime);
    note_unmodelled(at);
    *out = runtime;
    return PLAIT_OK;
}
