/* setup_runtime.c - the software of a row: a profile with changes from the row's notes */
#include <string.h>

#include "base/numbers.h"
#include "validate/setup.h"

/*
 * Copies the runtime's profile, or its variant for the row's `release`. For a runtime without a
 * profile, copies Megatron's profile and marks it as not calibrated.
 */
static plait_status copy_profile(setup *at, plait_runtime *out, plait_error *err)
{
    const char *const name = at->run->runtime;
    const plait_runtime *profile = NULL, *variant = NULL;
    bool calibrated = true;
    char release[40];

    if (name[0] != '\0') {
        profile = library_find(at->shelf, LIBRARY_RUNTIME, name, err);
        if (profile == NULL && err->status != PLAIT_ERROR_RANGE)
            return err->status;
    }
    if (profile != NULL && setup_value(at->run, "release", release, sizeof release)) {
        const char *const dated = plait_arena_printf(at->arena, "%s@%s", name, release);

        PLAIT_TRY(plait_check_allocated(dated, err));
        variant = library_find(at->shelf, LIBRARY_RUNTIME, dated, err);
        if (variant == NULL && err->status != PLAIT_ERROR_RANGE)
            return err->status;
        if (variant == NULL)
            setup_note(at, "unknown month of release %s, newest profile used", release);
        else
            profile = variant;
    }
    if (profile == NULL) {
        setup_note(at, "no profile for runtime \"%.40s\", megatron used", name);
        profile = library_find(at->shelf, LIBRARY_RUNTIME, "megatron", err);
        if (profile == NULL)
            return err->status;
        calibrated = false;
    }
    *out = *profile;
    out->name = name;
    out->calibrated = out->calibrated && calibrated;
    return PLAIT_OK;
}

/* ---- switches of the notes ---- */

/* A fused norm is one kernel that reads and writes bf16, so no fp32 copies are kept. */
static void fuse_norm(plait_runtime *runtime)
{
    double *const keeps = runtime->keep.keeps;

    runtime->kernels.fused_norm = true;
    keeps[PLAIT_TENSOR_norm_cast] = 0.0;
    keeps[PLAIT_TENSOR_norm_in] = smaller(keeps[PLAIT_TENSOR_norm_in], 2.0);
    keeps[PLAIT_TENSOR_norm_out] = smaller(keeps[PLAIT_TENSOR_norm_out], 2.0);
}

static void fuse_loss(plait_runtime *runtime)
{
    runtime->kernels.fused_loss = true;
    runtime->keep.logits = smaller(runtime->keep.logits, 4.0);
}

/*
 * Tokens of the fullest expert rank over the mean under natural routing. Derived from pairs of runs
 * with forced and with natural routing (megatron_moe_modelzoo).
 */
static const double natural_imbalance = 1.4;

/* Adam on the parameters themselves: two fp32 moments remain of the optimizer's state. */
static void drop_master(plait_runtime *runtime)
{
    static const double moments = 8.0;
    plait_state_bytes *const state = &runtime->state;

    state->step_bytes -= 2.0 * larger(0.0, state->optimizer - moments);
    state->optimizer = smaller(state->optimizer, moments);
}

/* A run without the optimizer: forward and backward alone are measured. */
static void drop_optimizer(plait_runtime *runtime)
{
    runtime->state.optimizer = 0.0;
    runtime->state.step_bytes = 0.0;
    runtime->state.shard_passes = 0.0;
    runtime->state.buffer_passes = 0.0;
}

/*
 * Time of PyTorch's memory-efficient attention over that of FlashAttention 2: xformers' CUTLASS
 * kernel in figures 4 to 6 of arXiv 2307.08691.
 */
static const double efficient_attention_slowdown = 2.0;

static void apply_switches(const plait_run *run, plait_runtime *runtime)
{
    char products[16];

    if (setup_has_word(run, "fused-norm"))
        fuse_norm(runtime);
    if (setup_has_word(run, "fused-loss"))
        fuse_loss(runtime);
    if (setup_has_word(run, "chunked-loss")) // torchtitan's ChunkedCELoss has eight chunks
        runtime->keep.logits /= 8.0;
    if (setup_has_word(run, "token-drop")) // no rank receives more than the mean per expert
        runtime->factor.ep_imbalance = 1.0;
    if (setup_has_word(run, "natural-routing") && !setup_has_word(run, "token-drop")) // C.62
        runtime->factor.ep_imbalance = larger(runtime->factor.ep_imbalance, natural_imbalance);
    if (setup_has_word(run, "round-robin-gate")) {
        runtime->factor.ep_imbalance = 1.0;
        runtime->round_robin_experts = true;
    }
    if (setup_value(run, "narrow", products, sizeof products)) {
        runtime->kernels.wide_linears = strcmp(products, "experts") == 0;
        runtime->kernels.wide_experts = strcmp(products, "linears") == 0;
    }
    // PyTorch runs this kernel if queries and values have heads of different widths.
    if (setup_has_word(run, "attn=sdpa-efficient"))
        runtime->factor.attention *= efficient_attention_slowdown;
    if (setup_has_word(run, "no-master"))
        drop_master(runtime);
    if (setup_has_word(run, "no-optimizer"))
        drop_optimizer(runtime);
    if (setup_has_word(run, "muon")) // one moment instead of Adam's two
        runtime->state.optimizer = smaller(runtime->state.optimizer, 8.0);
}

/* ---- defaults of the framework ---- */

static void adapt_to_framework(const plait_run *run, plait_runtime *runtime)
{
    char recipe[40];

    // If the notes do not contain the fp8 scaling, NeMo (before Megatron-Bridge) and Composer use
    // Transformer Engine's delayed scaling. No software then scales by rows, since torchao's first
    // recipe was per tensor.
    if (setup_value(run, "fp8-recipe", recipe, sizeof recipe)) {
        runtime->kernels.rowwise_scaling = strcmp(recipe, "rowwise") == 0;
        runtime->kernels.delayed_scaling = strcmp(recipe, "delayed") == 0;
    } else {
        runtime->kernels.rowwise_scaling = false;
        if (text_starts_with(run->framework, "NeMo") || strstr(run->framework, "Composer") != NULL)
            runtime->kernels.delayed_scaling = true;
    }
    // Megatron-LM's default is the unfused cross-entropy, which keeps bf16 logits in addition to
    // fp32 logits. The profile describes NeMo and Megatron-Bridge, which use the fused kernel.
    if (strcmp(run->runtime, "megatron") == 0 && text_starts_with(run->framework, "Megatron-LM")) {
        runtime->kernels.fused_loss = false;
        runtime->keep.logits = larger(runtime->keep.logits, 6.0);
    }
    // Megatron-Bridge's performance recipes balance tokens evenly
    // (moe_router_force_load_balancing). For expert models with whole-iteration graphs, except
    // Qwen3, the recipes run the head's product in 8 bits (fp8_output_proj).
    if (text_starts_with(run->framework, "Megatron-Bridge")) {
        runtime->factor.ep_imbalance = 1.0;
        runtime->kernels.narrow_head = setup_has_word(run, "cuda-graph=full_iteration") &&
                                       run->experts > 1 && strstr(run->model, "qwen") == NULL;
    }
    // Liger's kernels fuse norm, activation and rotary embedding. Liger's loss processes the logits
    // in slices.
    if (strstr(run->framework, "Liger") != NULL) {
        fuse_norm(runtime);
        fuse_loss(runtime);
        runtime->kernels.fused_activation = true;
        runtime->kernels.fused_rotary = true;
        runtime->keep.keeps[PLAIT_TENSOR_rotary] = 0.0;
        runtime->keep.keeps[PLAIT_TENSOR_act_mid] = 0.0;
        runtime->keep.logits = 0.0;
    }
}

/* Sets offload: DeepSpeed moves optimizer state and gradients to the host; FSDP also weights. */
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
    // Features that the cost model lacks; the row is priced without them.
    static const char *const unmodelled[] = {"deferred-embedding-wgrad",
                                             "fine-tuning",
                                             "experts-in-sequence",
                                             "activation-offload",
                                             "document-mask",
                                             "megatron-fsdp",
                                             "attn=flex",
                                             "attn=sdpa-efficient",
                                             "minimal-async-ep",
                                             "pipeline-flushes",
                                             "launch-blocking",
                                             "swap-attention",
                                             "unfused-norm",
                                             NULL};
    plait_runtime *runtime = plait_arena_alloc(at->arena, 1, sizeof *runtime);

    PLAIT_TRY(plait_check_allocated(runtime, err));
    PLAIT_TRY(copy_profile(at, runtime, err));
    apply_switches(at->run, runtime);
    adapt_to_framework(at->run, runtime);
    move_to_host(at, runtime);
    for (const char *const *word = unmodelled; *word != NULL; word++)
        if (setup_has_word(at->run, *word)) {
            setup_note(at, "%s is not modelled", *word);
            at->unmodelled = true;
        }
    *out = runtime;
    return PLAIT_OK;
}
