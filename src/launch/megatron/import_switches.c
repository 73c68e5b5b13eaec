/* import_switches.c - reads the switches of kernels and overlap from Megatron-LM's arguments */
#include <string.h>

#include "io/data/data.h"
#include "launch/megatron/megatron.h"
#include "plan/model_queries.h"

/* True if a list, with blanks or commas as separators, contains `word`. */
static bool has_word(const char *list, const char *word)
{
    static const char between[] = " ,";
    const size_t length = strlen(word);

    if (list == NULL)
        return false;
    for (list += strspn(list, between); *list != '\0'; list += strspn(list, between)) {
        const size_t its = strcspn(list, between);

        if (its == length && memcmp(list, word, its) == 0)
            return true;
        list += its;
    }
    return false;
}

/*
 * Check the modules of graphs: CudaGraphModule, and CudaGraphScope of earlier releases
 * (megatron/core/transformer/enums.py), whose list may also be "full".
 */
static plait_status check_modules(const char *list, size_t field, const plan_reader *in,
                                  plait_error *err)
{
    static const char *const known[] = {"attn",
                                        "mlp",
                                        "moe",
                                        "moe_router",
                                        "mamba",
                                        "full",
                                        "moe_preprocess",
                                        "full_iteration",
                                        "full_iteration_inference",
                                        NULL};
    char *const copy = plait_arena_text(in->flags->arena, list != NULL ? list : "");

    PLAIT_TRY(plait_check_allocated(copy, err));
    for (char *c = copy; *c != '\0'; c++)
        *c = *c == ',' ? ' ' : *c;
    char **word = text_split(in->flags->arena, copy, ' ', NULL);
    PLAIT_TRY(plait_check_allocated(word, err));
    for (; *word != NULL; word++)
        if ((*word)[0] != '\0' && text_index(*word, known) < 0)
            return flags_fail(in->flags, megatron_args_name(field), err,
                              "expected attn, mlp, moe, moe_router, moe_preprocess, mamba, full, "
                              "full_iteration or full_iteration_inference, found \"%.40s\"",
                              *word);
    return PLAIT_OK;
}

/* The modules of graphs, under the newer or the older name; NULL or "full": whole layers. */
static const char *modules_of(const megatron_args *args)
{
    const char *const list =
        args->cuda_graph_modules != NULL ? args->cuda_graph_modules : args->cuda_graph_scope;

    return list == NULL || list[0] == '\0' || has_word(list, "full") ? NULL : list;
}

/* True if the profile of the plan has graphs; a user's own profile may have them. */
static bool runtime_has_graphs(const char *runtime)
{
    return runtime != NULL && (strcmp(runtime, "megatron") == 0 ||
                               text_starts_with(runtime, "megatron@") || data_is_path(runtime));
}

static bool recomputes_experts(const plait_recompute *recompute)
{
    return recompute->kind == PLAIT_RECOMPUTE_MODULES &&
           (recompute->modules >> PLAIT_MODULE_moe & 1u);
}

/*
 * Warn if graphs of layers capture other parts than those of the key, which are all but experts,
 * and routers that backward runs again. Preprocessing before the dispatcher, and dense layers of a
 * model with experts, are a small part of the launches.
 */
static plait_status warn_of_modules(const megatron_args *args, plan_reader *in, plait_error *err)
{
    const char *const modules = modules_of(args);
    const bool experts = args->num_experts > 0;
    const bool whole = modules == NULL || has_word(modules, "moe");
    // delayed weight gradients of attention with biases cannot be captured
    const bool outside = args->delay_wgrad_compute && (args->add_bias_linear || args->add_qkv_bias);
    // some hybrids have no attention or no feed-forward parts
    const plait_model *const hybrid = args->hybrid_layer_pattern != NULL ? in->out->model : NULL;
    const bool no_attention =
        hybrid != NULL && model_count_layers(hybrid, layer_has_attention) == 0;
    const bool no_mlp = hybrid != NULL && model_count_layers(hybrid, layer_has_mlp) == 0;
    const bool mamba = hybrid != NULL && model_count_layers(hybrid, layer_has_mamba) > 0;
    const bool all = modules == NULL || ((outside || no_attention || has_word(modules, "attn")) &&
                                         (has_word(modules, "moe_router") ||
                                          recomputes_experts(&in->out->degrees.recompute) ||
                                          (!experts && (no_mlp || has_word(modules, "mlp")))) &&
                                         (!mamba || has_word(modules, "mamba")));

    if (experts && whole) {
        import_warn(in->warnings, "graphs that capture experts are priced as graphs of all parts "
                                  "of layers but experts");
    } else if (!all) {
        const char *const text =
            plait_arena_printf(in->flags->arena,
                               "graphs of %.80s alone are priced as graphs of all parts of layers "
                               "but experts",
                               modules);
        PLAIT_TRY(plait_check_allocated(text, err));
        import_warn(in->warnings, text);
    }
    return PLAIT_OK;
}

static plait_status read_graphs(const megatron_args *args, plan_reader *in, plait_error *err)
{
    static const char *const impls[] = {"none", "local", "transformer_engine", "full_iteration",
                                        NULL};
    enum { IMPL_NONE, IMPL_LOCAL, IMPL_TRANSFORMER_ENGINE, IMPL_WHOLE };
    plait_degrees *const d = &in->out->degrees;
    const char *const modules = modules_of(args);
    const int impl = text_index(args->cuda_graph_impl, impls);

    if (impl < 0)
        return flags_fail(in->flags, MEGATRON_NAME(cuda_graph_impl), err,
                          "expected none, local, transformer_engine or full_iteration, found "
                          "\"%.40s\"",
                          args->cuda_graph_impl);
    PLAIT_TRY(check_modules(args->cuda_graph_modules, MEGATRON_FIELD(cuda_graph_modules), in, err));
    PLAIT_TRY(check_modules(args->cuda_graph_scope, MEGATRON_FIELD(cuda_graph_scope), in, err));
    const bool whole = impl == IMPL_WHOLE || has_word(modules, "full_iteration");
    const bool any = (impl != IMPL_NONE || whole) && !has_word(modules, "full_iteration_inference");

    d->switches.cuda_graph = PLAIT_GRAPH_NONE;
    if (!any)
        return PLAIT_OK;
    if (!runtime_has_graphs(in->out->runtime)) {
        import_warn(in->warnings, "the profile of this plan has no CUDA graphs; the plan is "
                                  "priced without them");
    } else if (d->recompute.kind == PLAIT_RECOMPUTE_FULL ||
               (recomputes_experts(&d->recompute) &&
                (whole || modules == NULL || has_word(modules, "moe_router") ||
                 has_word(modules, "moe")))) {
        import_warn(in->warnings,
                    "CUDA graphs with full recomputation, or of routers with recomputation of moe, "
                    "are not priced; the plan is priced without graphs");
    } else if (whole && args->num_experts > 0 &&
               (d->ep == 1 || d->dispatcher != PLAIT_DISPATCH_HYBRIDEP ||
                !d->switches.fused_grouped_mlp)) {
        d->switches.cuda_graph = PLAIT_GRAPH_LAYERS;
        import_warn(in->warnings,
                    "a graph of the whole iteration is priced with experts that use HybridEP and "
                    "the fused kernel only; the plan is priced with graphs of layers");
    } else if (whole) {
        d->switches.cuda_graph = PLAIT_GRAPH_FULL;
    } else {
        d->switches.cuda_graph = PLAIT_GRAPH_LAYERS;
        return warn_of_modules(args, in, err);
    }
    return PLAIT_OK;
}

static void read_fused_experts(const megatron_args *args, plan_reader *in)
{
    plait_degrees *const d = &in->out->degrees;
    const bool fused = args->use_transformer_engine_op_fuser && args->num_experts > 0;

    d->switches.fused_grouped_mlp = fused && in->out->precision == PLAIT_MXFP8 && d->etp == 1 &&
                                    runtime_has_graphs(in->out->runtime);
    if (fused && !d->switches.fused_grouped_mlp)
        import_warn(in->warnings, "--use-transformer-engine-op-fuser is priced with mxfp8 and "
                                  "expert-tensor-parallel size 1 only");
}

/*
 * Read fp8_dot_product_attention, which only YAML and other launchers than Megatron-LM's parser
 * have. Without it a note counts.
 */
static void read_fp8_attention(const megatron_args *args, plan_reader *in)
{
    plait_degrees *const d = &in->out->degrees;
    const bool given = flags_last(in->flags, MEGATRON_NAME(fp8_dot_product_attention)) != NULL;
    const bool noted = in->out->given & PLAIT_KEY_BIT(PLAIT_KEY_FP8_ATTENTION);
    const bool wanted =
        given ? args->fp8_dot_product_attention : noted && d->switches.fp8_attention;
    const bool other_kernel = (in->out->given & PLAIT_KEY_BIT(PLAIT_KEY_ATTENTION)) &&
                              d->attention != PLAIT_ATTENTION_FUSED;
    const bool narrow = in->out->precision == PLAIT_FP8 || in->out->precision == PLAIT_MXFP8;

    d->switches.fp8_attention =
        wanted && narrow && !other_kernel && runtime_has_graphs(in->out->runtime);
    if (wanted && !d->switches.fp8_attention)
        import_warn(in->warnings, "fp8_dot_product_attention is priced with fused attention and a "
                                  "tensorwise or mxfp8 recipe only");
}

/* Read the fused kernels of experts and the overlaps that the profile has as keys. */
static void read_fusion_and_overlap(const megatron_args *args, plan_reader *in)
{
    const char *const runtime = in->out->runtime;
    plait_degrees *const d = &in->out->degrees;
    const bool core = runtime != NULL && strcmp(runtime, "megatron-2021") != 0 &&
                      strcmp(runtime, "megatron-deepspeed") != 0 &&
                      (text_starts_with(runtime, "megatron") || data_is_path(runtime));
    const bool has_buffers = core || (runtime != NULL && text_starts_with(runtime, "flagscale"));
    // the arguments of ms-swift do not describe the model
    const plait_model *const model = in->out->model;
    const bool experts =
        core && (args->num_experts > 0 || (model != NULL && model_has_experts(model)));
    const bool shared = d->fp8_params && in->out->precision == PLAIT_MXFP8;

    d->switches.tp_comm_overlap = has_buffers && args->tp_comm_overlap && d->tp > 1 && d->sp;
    d->switches.permute_fusion = experts && args->moe_permute_fusion;
    d->switches.router_fusion = experts && args->moe_router_fusion;
    d->gather_with_step = args->overlap_param_gather_with_optimizer_step && core && d->zero == 1 &&
                          d->pp > 1 && d->vpp > 1 && d->grad_sync == PLAIT_SYNC_BUCKETED && !shared;
    const char *const needed = !core                                 ? "Megatron Core"
                               : d->zero != 1                        ? "the distributed optimizer"
                               : d->grad_sync != PLAIT_SYNC_BUCKETED ? "overlapped reductions"
                               : d->pp == 1 || d->vpp == 1
                                   ? "several chunks on each of several stages"
                                   : "gradient buffers that MXFP8 parameters do not share";
    if (args->overlap_param_gather_with_optimizer_step && !d->gather_with_step)
        text_append_printf(import_warn(in->warnings, ""),
                           "--overlap-param-gather-with-optimizer-step needs %s; the plan is "
                           "priced without it",
                           needed);
}

plait_status megatron_read_switches(const megatron_args *args, plan_reader *in, plait_error *err)
{
    if (args->deepspeed)
        return PLAIT_OK;
    read_fused_experts(args, in);
    read_fp8_attention(args, in);
    read_fusion_and_overlap(args, in);
    PLAIT_TRY(read_graphs(args, in, err));
    import_mark_known(in, "cuda_graph fp8_attention fused_grouped_mlp tp_comm_overlap "
                          "permute_fusion router_fusion gather_with_step");
    return PLAIT_OK;
}
