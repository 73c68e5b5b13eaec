/*
 * mindspeed.c - MindSpeed-LLM's pretrain_gpt.py on Ascend: writes args.sh and the scripts that
 * start it, and reads a plan from its arguments, which become Megatron-LM's
 *
 * As in Ascend/MindSpeed-LLM c77308a (2026-08-21) with Ascend/MindSpeed 028de58 (2026-07-21):
 * mindspeed_llm/features_manager and mindspeed/features_manager add their arguments to the parser
 * of Megatron Core 0.12.1, which pretrain_gpt.py runs.
 */
#include "launch/megatron/megatron.h"

#include <math.h>
#include <string.h>

#include "launch/write/training.h"
#include "launch/write/scripts.h"

/* ---- positions ---- */

static void add_number(launch_args *own, const char *name, double number, double otherwise)
{
    if (known_or(number, otherwise) > 0.0)
        args_number(own, name, known_or(number, otherwise));
}

static void move_positions(const plait_rope *rope, megatron_args *args, launch_args *own)
{
    args->rope_type = NULL;
    args->use_rope_scaling = false;
    args->rope_scaling_factor = 8.0; // Megatron's default, which is not written
    args->rotary_scaling_factor = args->mscale = args->mscale_all_dim = (double)NAN;
    args->apply_rope_fusion = !args->rotary_interleaved;
    if (strcmp(args->position_embedding_type, "rope") != 0)
        return;
    if (rope->kind == PLAIT_ROPE_LLAMA3) {
        // none of these arguments has a default: for values that a model leaves open write those of
        // Llama 3.1
        args_text(own, "--rope-scaling-type", "llama3");
        add_number(own, "--rope-scaling-factor", rope->factor, 8.0);
        add_number(own, "--low-freq-factor", rope->low_freq, 1.0);
        add_number(own, "--high-freq-factor", rope->high_freq, 4.0);
        add_number(own, "--original-max-position-embeddings", rope->original_seq, 8192.0);
    } else if (rope->kind == PLAIT_ROPE_YARN) {
        args_text(own, "--rope-scaling-type", "yarn");
        add_number(own, "--rope-scaling-factor", rope->factor, 0.0);
        add_number(own, "--beta-fast", rope->beta_fast, 0.0);
        add_number(own, "--beta-slow", rope->beta_slow, 0.0);
        add_number(own, "--rope-scaling-mscale", rope->mscale, 0.0);
        add_number(own, "--rope-scaling-mscale-all-dim", rope->mscale_all_dim, 0.0);
        add_number(own, "--rope-scaling-original-max-position-embeddings", rope->original_seq, 0.0);
    }
}

/* ---- experts, chunks ---- */

/*
 * Write the number of dense layers, which precede those with experts (rule MSM3): MindSpeed-LLM
 * does not read Megatron's lists of layers.
 */
static void move_dense_layers(const plait_model *model, megatron_args *args, launch_args *own)
{
    const bool mixed = args->moe_layer_freq != NULL && strcmp(args->moe_layer_freq, "1") != 0;

    args->moe_router_padding_for_quantization = false; // Core 0.12.1 lacks this argument
    if (args->moe_router_load_balancing_type != NULL &&
        strcmp(args->moe_router_load_balancing_type, "global_aux_loss") == 0)
        args->moe_router_load_balancing_type = "aux_loss"; // the global loss needs pp 1
    if (!mixed)
        return;
    args->moe_layer_freq = "1";
    args_int(own, "--first-k-dense-replace",
             model->layers - model_count_layers(model, layer_has_experts));
    args_int(own, "--moe-layer-freq", 1);
}

/* ---- kernels ---- */

/*
 * Move arguments that MindSpeed-LLM names in its own way from `args` to `own`.
 *
 * @param args  loses arguments that Core 0.12.1 does not parse or its Ascend kernels ignore
 */
static void move_own_arguments(const plait_problem *problem, const plait_plan *plan,
                               megatron_args *args, launch_args *own)
{
    const plait_degrees *const d = &plan->degrees;

    args_group(own, "MindSpeed");
    // pretrain_gpt.py builds norms of q and k, and latent attention, only from a --spec
    if (args->multi_latent_attention)
        args_words(own, "--spec", "mindspeed_llm.tasks.models.spec.deepseek_spec layer_spec");
    else if (args->qk_layernorm)
        args_words(own, "--spec", "mindspeed_llm.tasks.models.spec.qwen3_spec layer_spec");
    move_positions(&problem->model->numerics.rope, args, own);
    move_dense_layers(problem->model, args, own);
    static const char *const algorithms[PLAIT_CP_COMMS] = {
        [PLAIT_CP_P2P] = "megatron_cp_algo",
        [PLAIT_CP_ALLGATHER] = "kvallgather_cp_algo",
        [PLAIT_CP_A2A] = "ulysses_cp_algo",
    };

    args->attention_backend = "auto";
    args->flash_attention_version = 0;
    args->cp_comm_type = NULL;
    args->masked_softmax_fusion = false;
    args->create_attention_mask_in_dataloader =
        true; // only `true` is written, since MindSpeed-LLM makes no masks by default
    args_switch(own, "--use-flash-attn");
    if (d->cp > 1)
        args_text(own, "--context-parallel-algo", algorithms[d->cp_comm]);
    // MindSpeed reads only the layers per chunk, where Megatron also reads the chunks per rank
    if (d->vpp != 1 && d->split.kind == PLAIT_SPLIT_EVEN) {
        args->num_virtual_stages_per_pipeline_rank = 0;
        args->num_layers_per_virtual_pipeline_stage = problem->model->layers / (d->pp * d->vpp);
    }
    const plait_kernel_set *const kernels = &problem->runtime->kernels;
    const bool rotary = strcmp(args->position_embedding_type, "rope") == 0;

    args_group(own, "kernels of Ascend");
    args->gradient_accumulation_fusion = kernels->fused_accumulation;
    args_text(own, "--transformer-impl", args->fp8 != NULL ? "transformer_engine" : "local");
    if (kernels->fused_norm && strcmp(args->normalization, "RMSNorm") == 0)
        args_switch(own, "--use-fused-rmsnorm");
    if (kernels->fused_activation && args->swiglu)
        args_switch(own, "--use-fused-swiglu");
    if (kernels->fused_rotary && rotary && !args->rotary_interleaved)
        args_switch(own, "--use-fused-rotary-pos-emb");
    // MC2 overlaps traffic with matrix products; the fitted share of exposed tensor-parallel
    // traffic contains its effect
    if (d->tp > 1 && d->sp && args->num_experts == 0)
        args_switch(own, "--use-ascend-mc2");
    args->ckpt_format = "torch";
    args->padded_vocab_size = 0;
}

static const training_places places = {
    .data = "random tokens: --mock-data, --tokenizer-type",
    .length = "--train-iters",
    .values = "--lr to --clip-grad",
    .checkpoints = "--save, --load, --save-interval",
    .cluster = true,
};

/* Variables of MindSpeed-LLM's examples; Megatron itself requires CUDA_DEVICE_MAX_CONNECTIONS. */
static const char environment[] = "\n# environment\n"
                                  "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
                                  "export HCCL_CONNECT_TIMEOUT=3600\n"
                                  "export HCCL_EXEC_TIMEOUT=3600\n"
                                  "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True\n";

static const char *argument_lines(const plait_launch *launch, const launch_args *flags,
                                  plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    scripts_append_head(launch,
                        "# shellcheck shell=bash disable=SC2215\n"
                        "# args.sh - arguments of MindSpeed-LLM's pretrain_gpt.py, one per line; "
                        "run.sh reads them",
                        &places, &out);
    notes_append(launch, &out);
    text_append(&out, environment);
    args_append_shell(flags, &out);
    return text_builder_finish(&out, NULL);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    static const launch_device npu = {"gres=npu", "huawei.com/Ascend910",
                                      "an image with CANN and torch_npu"};
    static const launch_program program = {
        .what = "MindSpeed-LLM",
        .checkout = "MINDSPEED_LLM",
        .args = "args.sh",
        .notes = "# Copy the folder megatron of Megatron Core 0.12.1 into that of MindSpeed-LLM, "
                 "and install MindSpeed\n"
                 "# together with torch_npu.\n",
        .device = &npu,
        .start = SCRIPTS_TORCHRUN "    pretrain_gpt.py \"${args[@]}\" \"$@\"",
    };

    megatron_args args;
    launch_args flags, own;

    PLAIT_TRY(megatron_args_of(launch->problem, launch->plan, arena, &args, err));
    args_init(&own, arena);
    move_own_arguments(launch->problem, launch->plan, &args, &own);
    args_init(&flags, arena);
    megatron_args_append(&args, &flags);
    args_append(&flags, &own);
    PLAIT_TRY(folder_add(out, "args.sh", argument_lines(launch, &flags, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

/* ---- flags with another name ---- */

static const flag_alias own[] = {
    {"use_flash_attn", "attention_backend", "fused"},
    {"use_fusion_attn_v2", "attention_backend", "fused"},
    {"beta_fast", "yarn_beta_fast", NULL},
    {"beta_slow", "yarn_beta_slow", NULL},
    {"rope_scaling_beta_fast", "yarn_beta_fast", NULL},
    {"rope_scaling_beta_slow", "yarn_beta_slow", NULL},
    {"rope_scaling_mscale", "mscale", NULL},
    {"rope_scaling_mscale_all_dim", "mscale_all_dim", NULL},
    {"rope_scaling_original_max_position_embeddings", "yarn_original_max_position_embeddings",
     NULL},
    {"multi_head_latent_attention", "multi_latent_attention", "true"},
    {"qk_rope_head_dim", "qk_pos_emb_head_dim", NULL},
    {"qk_nope_head_dim", "qk_head_dim", NULL},
    {"moe_intermediate_size", "moe_ffn_hidden_size", NULL},
    {"n_group", "moe_router_num_groups", NULL},
    {"topk_group", "moe_router_group_topk", NULL},
    {"routed_scaling_factor", "moe_router_topk_scaling_factor", NULL},
    {"shared_expert_gate", "moe_shared_expert_gate", "true"},
    {NULL, NULL, NULL},
};

/* Return a flag's known value; NULL for a switch that is off, as parsed arguments list it. */
static const char *value_of(const launch_flags *flags, const char *name)
{
    const launch_flag *const flag = flags_find(flags, name);

    return flag != NULL && !flags_value_is_off(flag->value[0]) && flag->value[0][0] != '\0'
               ? flag->value[0]
               : NULL;
}

/* ---- flags without a counterpart ---- */

static int number_of(const launch_flags *flags, const char *name)
{
    const char *const value = value_of(flags, name);
    int number = 0;

    return value != NULL && text_parse_int(value, -1, 1 << 24, &number) ? number : 0;
}

/*
 * Translate rope scaling: YaRN is --rope-type for latent attention, and --position-embedding-type
 * for other attention.
 */
static plait_status translate_positions(launch_flags *flags, text_builder *warnings,
                                        plait_error *err)
{
    const char *const type = value_of(flags, "rope_scaling_type");
    const char *const factor = value_of(flags, "rope_scaling_factor");
    const bool latent = flags_last(flags, "multi_latent_attention") != NULL;

    if (type == NULL)
        return latent ? flags_add(flags, "rope_type", "rope", err) : PLAIT_OK;
    if (strcmp(type, "llama3") == 0)
        return flags_add(flags, "use_rope_scaling", "true", err);
    if (strcmp(type, "yarn") != 0) {
        text_append_printf(import_warn(warnings, "the price ignores rope scaling of type "),
                           "%.20s", type);
        return PLAIT_OK;
    }
    if (factor != NULL)
        PLAIT_TRY(flags_add(flags, "rotary_scaling_factor", factor, err));
    return flags_add(flags, latent ? "rope_type" : "position_embedding_type", "yarn", err);
}

/* Translate layers per stage: "17,20,22,21" is the layout Et*17|t*20|t*22|t*21L. */
static plait_status translate_layers(launch_flags *flags, plait_error *err)
{
    const char *const list = value_of(flags, "num_layer_list");
    text_builder layout;
    char **count;

    if (list == NULL)
        return PLAIT_OK;
    text_builder_init(&layout, flags->arena);
    count = text_split(flags->arena, list, ',', NULL);
    PLAIT_TRY(plait_check_allocated(count, err));
    text_append_char(&layout, 'E');
    for (int s = 0; count[s] != NULL; s++) {
        int layers;

        if (!text_parse_int(count[s], 1, PLAIT_MAX_LAYERS, &layers))
            return flags_fail(
                flags, "num_layer_list", err,
                "expected the layers of each stage, such as 17,20,22,21, found \"%.60s\"", list);
        text_append_printf(&layout, "%st*%d", s > 0 ? "|" : "", layers);
    }
    text_append_char(&layout, 'L');
    return flags_add(flags, "pipeline_model_parallel_layout", text_builder_finish(&layout, NULL),
                     err);
}

/*
 * Options that change the cost of a step and that plait does not price. The names are the argparse
 * destinations of mindspeed_llm/features_manager at c77308a (2026-08-21) and of
 * mindspeed/features_manager at 028de58 (2026-07-21).
 */
static const char *const unpriced[] = {
    // memory of activations, states or the loss, or traffic to swap them
    "recompute_activation_function", "recompute_activation_function_num_layers", "recompute_norm",
    "recompute_norm_num_layers", "recompute_in_bubble", "recompute_in_advance",
    "enable_recompute_layers_per_pp_rank", "recompute_mla_up_proj", "mla_zero_memory",
    "moe_zero_memory", "moe_zero_memory_num_layers", "swap_attention", "swap_modules",
    "swap_optimizer", "swap_optimizer_times", "swap_layer_input", "smart_swap", "virtual_optimizer",
    "reuse_fp32_param", "o2_optimizer", "o2_gradient", "quant_states", "quant_grads",
    "moe_unperm2_mem_optim_swap", "mla_swap_core_attn_out", "loss_compute_mode", "loss_chunk_size",
    "adaptive_recompute_device_size", "compress_activation", "compress_optimizer", "compress_dense",
    // other schedules, layouts and overlap
    "schedules_method", "dualpipev_dw_detach", "noop_layers", "moe_fb_overlap", "moe_tp_extend_ep",
    "moe_alltoall_overlap_comm", "moe_allgather_overlap_comm", "moe_alltoall_mc2",
    "balanced_moe_experts", "tp_2d", "tp_x", "tp_y", "nd1_dim1_size", "nd2_dim1_size",
    "context_parallel_kv_cache_policy", "context_parallel_cache_interval",
    "use_ulysses_allgather_kv", "mla_up_proj_tp_overlap", "pipeline_num_transformer_layers",
    "use_multiparameter_pipeline_model_parallel", "automated_pipeline", "layerzero",
    "layerzero_config", "unaligned_linear", "async_log_allreduce",
    // layers and losses that plait has no term for
    "sliding_window", "interleave_sliding_window", "enable_dsa_indexer", "index_n_heads",
    "index_head_dim", "index_topk", "full_attention_interval", "num_zero_experts", "post_norm",
    "geglu", "gelu_tanh", "attn_logit_softcapping", "output_logit_softcapping",
    "partial_rotary_factor", "cla_share_factor", "share_kvstates", "input_embeds_norm",
    "enable_mhc", "n_hash_layers", "swiglu_limit", "qat_scheme", NULL};

static plait_status mindspeed_translate(launch_flags *flags, text_builder *warnings,
                                        plait_error *err)
{
    import_list list = {warnings, "options that the price ignores", false};

    PLAIT_TRY(megatron_translate(flags, own, err));
    static const char *const algorithms[] = {"megatron_cp_algo", "kvallgather_cp_algo",
                                             "ulysses_cp_algo", "hybrid_cp_algo", NULL};
    static const char *const meant[] = {"p2p", "all_gather", "a2a", "a2a+p2p"};
    const char *const word = value_of(flags, "context_parallel_algo");
    if (word != NULL) {
        const int algorithm = text_index(word, algorithms);
        if (algorithm < 0)
            return flags_fail(flags, "context_parallel_algo", err,
                              "expected megatron_cp_algo, kvallgather_cp_algo, ulysses_cp_algo or "
                              "hybrid_cp_algo, found \"%.40s\"",
                              word);
        if (algorithm == 3 && number_of(flags, "context_parallel_size") != 1) {
            // the file gives the ranks of the all-to-all, from which those of the ring follow
            const int cp = number_of(flags, "context_parallel_size");
            const int inner = number_of(flags, "ulysses_degree_in_cp");

            if (cp < 2 || inner < 1 || cp % inner != 0)
                return flags_fail(flags, "ulysses_degree_in_cp", err,
                                  "expected a divisor of --context-parallel-size %d, found %d", cp,
                                  inner);
            PLAIT_TRY(flags_add(flags, "hierarchical_context_parallel_sizes",
                                plait_arena_printf(flags->arena, "%d %d", inner, cp / inner), err));
        }
        PLAIT_TRY(flags_add(flags, "cp_comm_type", meant[algorithm], err));
    }
    PLAIT_TRY(translate_positions(flags, warnings, err));
    // with -1 in first_k_dense_replace or moe_layer_freq all layers have experts
    const int layers = number_of(flags, "num_layers");
    const int dense = number_of(flags, "first_k_dense_replace");
    const int every = number_of(flags, "moe_layer_freq");
    const int shared = number_of(flags, "n_shared_experts");
    const int width = number_of(flags, "moe_ffn_hidden_size");
    if (shared > 0 && shared < 1 << 10 && width > 0 && width < 1 << 20)
        PLAIT_TRY(flags_add(flags, "moe_shared_expert_intermediate_size",
                            plait_arena_printf(flags->arena, "%d", shared * width), err));
    if (every < 0)
        PLAIT_TRY(flags_add(flags, "moe_layer_freq", "1", err));
    if (dense != 0 && every != 0 && layers >= 1 && layers <= PLAIT_MAX_LAYERS) {
        // a list in which every `every`-th layer of the model has experts, from layer `dense` on
        text_builder out;
        text_builder_init(&out, flags->arena);
        for (int l = 0; l < layers; l++)
            text_append_printf(&out, "%s%d", l == 0 ? "[" : ",",
                               l >= dense && l % (every < 0 ? 1 : every) == 0);
        text_append_char(&out, ']');
        PLAIT_TRY(flags_add(flags, "moe_layer_freq", text_builder_finish(&out, NULL), err));
    }
    PLAIT_TRY(translate_layers(flags, err));
    import_list_add_flags(&list, flags, unpriced);
    // MindSpeed-LLM makes no masks; do not add a flag to a file without flags of Megatron-LM, since
    // such a file must be rejected
    return megatron_has_flags(flags)
               ? flags_add(flags, "no_create_attention_mask_in_dataloader", "true", err)
               : PLAIT_OK;
}

plait_status mindspeed_import(const char *text, size_t length, const char *name,
                              const launch_call *call, plait_arena *arena, plans_entry *out,
                              text_builder *warnings, plait_error *err)
{
    launch_flags flags;

    PLAIT_TRY(flags_read(text, length, name, call, arena, &flags, err));
    PLAIT_TRY(mindspeed_translate(&flags, warnings, err));
    PLAIT_TRY(megatron_import_flags(&flags, text, length, call, warnings, out, err));
    if (out->runtime == NULL || text_starts_with(out->runtime, "megatron"))
        out->runtime = "mindspeed";
    out->degrees.switches = (plait_switches){0}; // it has neither graphs nor such kernels
    return PLAIT_OK;
}

const launch_target target_mindspeed = {
    .name = "mindspeed",
    .runtime = "mindspeed",
    .rules = PLAIT_RULES_MINDSPEED,
    .render = render,
    .import = mindspeed_import,
};
