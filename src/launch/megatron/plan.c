/*
 * plan.c - writes a plan as Megatron-LM's arguments
 *
 * The arguments switch on exactly the overlap that the runtime profile and therefore the price
 * assume. src/rules/rules_megatron.c rejects the plans that Megatron would reject.
 */
#include "launch/megatron/megatron.h"

#include <string.h>

#include "launch/megatron/arguments.h"
#include "launch/write/training.h"
#include "plan/layout.h"
#include "plan/model_queries.h"

/*
 * Write a split for which Megatron has no argument as a list of chunks, which also gives the number
 * of chunks.
 */
static plait_status spell_chunks(const plait_plan *plan, plait_arena *arena, megatron_args *out,
                                 plait_error *err)
{
    plait_chunk chunks[PLAIT_MAX_LAYERS];
    char text[PLAIT_VALUE_SIZE];

    for (int c = 0; c < plan->degrees.pp * plan->degrees.vpp; c++)
        chunks[c] = *plait_plan_chunk(plan, c);
    if (!layout_write(chunks, plan->degrees.pp * plan->degrees.vpp, text))
        return plait_fail(err, PLAIT_ERROR_RANGE, "split",
                          "expected a layout of at most %d letters, found a longer one",
                          PLAIT_VALUE_SIZE - 1);
    out->num_virtual_stages_per_pipeline_rank = 0;
    out->pipeline_model_parallel_layout = plait_arena_printf(arena, "%s", text);
    return out->pipeline_model_parallel_layout != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/* Write the layers of a hybrid with | between its chunks, which also gives their number. */
static plait_status spell_pattern(const plait_model *model, const plait_plan *plan,
                                  plait_arena *arena, megatron_args *out, plait_error *err)
{
    const int chunks = plan->degrees.pp * plan->degrees.vpp;
    plait_chunk chunk[PLAIT_MAX_LAYERS];

    for (int c = 0; c < chunks; c++)
        chunk[c] = *plait_plan_chunk(plan, c);
    out->hybrid_layer_pattern = hybrid_pattern(model, chunk, chunks, arena);
    return plait_check_allocated(out->hybrid_layer_pattern, err);
}

static plait_status megatron_args_of_split(const plait_problem *problem, const plait_plan *plan,
                                           plait_arena *arena, megatron_args *out, plait_error *err)
{
    const plait_degrees *const d = &plan->degrees;
    const plait_split *const split = &d->split;

    if (model_is_hybrid(problem->model))
        return spell_pattern(problem->model, plan, arena, out, err);
    // write the chunks per rank, or the layers of each chunk for releases without that argument
    const size_t field = MEGATRON_FIELD(num_virtual_stages_per_pipeline_rank);

    if (d->vpp > 1 && megatron_argument(field)->since > out->core)
        out->num_layers_per_virtual_pipeline_stage = problem->model->layers / (d->pp * d->vpp);
    else
        out->num_virtual_stages_per_pipeline_rank = d->vpp > 1 ? d->vpp : 0;
    switch ((plait_split_kind)split->kind) {
    case PLAIT_SPLIT_SPREAD:
    case PLAIT_SPLIT_COST:
    case PLAIT_SPLIT_LAYOUT:
        return spell_chunks(plan, arena, out, err);
    case PLAIT_SPLIT_FIRST_LAST:
        out->decoder_first_pipeline_num_layers = split->first;
        out->decoder_last_pipeline_num_layers = split->last;
        break;
    case PLAIT_SPLIT_EMBEDDING:
    case PLAIT_SPLIT_LOSS:
    case PLAIT_SPLIT_BOTH:
        out->account_for_embedding_in_pipeline_split = split->kind != PLAIT_SPLIT_LOSS;
        out->account_for_loss_in_pipeline_split = split->kind != PLAIT_SPLIT_EMBEDDING;
        break;
    case PLAIT_SPLIT_EVEN:
    case PLAIT_SPLITS:
        break;
    }
    return PLAIT_OK;
}

static bool has_argument(const megatron_args *args, size_t field)
{
    return megatron_argument(field)->since <= args->core;
}

/* ---- parallelism ---- */

/*
 * Return the word of --cp-comm-type. Transformer Engine writes all_gather, but Megatron's own
 * attention with an indexer writes allgather. With cp 1 the word has no effect: write p2p, since
 * old releases lack the argument and a2a+p2p would need sizes.
 */
static const char *exchange_word(const plait_model *model, const plait_degrees *d,
                                 const megatron_args *args)
{
    if (d->cp == 1 &&
        (d->cp_comm == PLAIT_CP_A2A_P2P || !has_argument(args, MEGATRON_FIELD(cp_comm_type))))
        return plait_cp_comm_name[PLAIT_CP_P2P];
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_MLA && model->kind[k].mla.index_heads > 0)
            return plait_cp_comm_name[d->cp_comm];
    return d->cp_comm == PLAIT_CP_ALLGATHER ? "all_gather" : plait_cp_comm_name[d->cp_comm];
}

static void take_degrees(const plait_model *model, const plait_degrees *d, megatron_args *out)
{
    out->tensor_model_parallel_size = d->tp;
    out->sequence_parallel = d->sp;
    out->pipeline_model_parallel_size = d->pp;
    out->context_parallel_size = d->cp;
    out->cp_comm_type = exchange_word(model, d, out);
    out->use_tp_pp_dp_mapping = d->order == PLAIT_ORDER_TP_CP_PP_DP;
    if (out->num_experts == 0)
        return;
    out->expert_model_parallel_size = d->ep;
    // in releases without this argument tp also splits the experts
    if (d->etp != d->tp || has_argument(out, MEGATRON_FIELD(expert_tensor_parallel_size)))
        out->expert_tensor_parallel_size = d->etp;
}

/* ---- memory ---- */

/* Join the names of the bits that are set: "core_attn moe_act". */
static plait_status join_names(unsigned bits, const char *const *name, int names,
                               plait_arena *arena, const char **out, plait_error *err)
{
    text_builder text;

    if (bits == 0)
        return PLAIT_OK;
    text_builder_init(&text, arena);
    for (int n = 0; n < names; n++)
        if (bits >> n & 1u)
            text_append_printf(&text, text.length > 0 ? " %s" : "%s", name[n]);
    *out = text_builder_finish(&text, NULL);
    return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/*
 * Megatron's layers are the letters of a hybrid's pattern: two are a unit if each layer has two,
 * and units of one letter keep one more input of a layer.
 */
static plait_status take_recompute(const plait_model *model, const plait_degrees *d,
                                   plait_arena *arena, megatron_args *out, plait_error *err)
{
    const plait_recompute *const recompute = &d->recompute;
    const int parts = model_is_hybrid(model) ? model_layer_parts(model) : 1;
    const int letters = parts > 0 ? parts : 1; // letters per layer

    switch ((plait_recompute_kind)recompute->kind) {
    case PLAIT_RECOMPUTE_SELECTIVE:
        out->recompute_granularity = "selective";
        break;
    case PLAIT_RECOMPUTE_MODULES:
        out->recompute_granularity = "selective";
        return join_names(recompute->modules, plait_recompute_module_name, PLAIT_MODULES, arena,
                          &out->recompute_modules, err);
    case PLAIT_RECOMPUTE_FULL:
        out->recompute_granularity = "full";
        out->recompute_method = recompute->layers > 0 ? "block" : "uniform";
        out->recompute_num_layers = recompute->layers > 0 ? recompute->layers / d->vpp * letters
                                                          : letters; // letters per chunk
        break;
    case PLAIT_RECOMPUTE_NONE:
    case PLAIT_RECOMPUTE_SAC:
    case PLAIT_RECOMPUTE_KINDS:
        break;
    }
    return PLAIT_OK;
}

/* ---- optimizer and overlap ---- */

/* True for Megatron-LM itself; its forks have older parsers. */
static bool is_megatron(const plait_runtime *runtime)
{
    return runtime->rules == PLAIT_RULES_MEGATRON;
}

/* True if kernels are fused: by the plan, or in software in which no plan decides that. */
static bool is_fused(const plait_runtime *runtime, plait_key_id key, bool by_plan)
{
    return by_plan || !(runtime->can.takes[key] >> 1 & 1u);
}

static void take_overlap(const plait_problem *problem, const plait_degrees *d, megatron_args *out)
{
    const plait_runtime *const runtime = problem->runtime;
    const plait_overlaps *const overlap = &runtime->overlap;

    out->overlap_grad_reduce = overlap->grad_reduce && d->grad_sync == PLAIT_SYNC_BUCKETED;
    out->overlap_param_gather = out->overlap_grad_reduce && overlap->param_gather && d->zero > 0;
    out->overlap_param_gather_with_optimizer_step =
        d->gather_with_step && out->overlap_param_gather;
    if (d->gather_with_step)
        out->ckpt_format = "torch"; // validate_args refuses distributed checkpoints
    out->tp_comm_overlap = user_buffers_of(problem, d) != USER_BUFFERS_NONE;
    out->create_attention_mask_in_dataloader = false; // the kernels mask causally by themselves
    out->cross_entropy_loss_fusion = runtime->kernels.fused_loss;
    if (out->num_experts == 0)
        return;
    // validate_args accepts grouped matrix products in fp16 since 0.16
    out->moe_grouped_gemm = problem->job.precision != PLAIT_FP16 || out->core >= 16;
    out->moe_permute_fusion =
        is_fused(runtime, PLAIT_KEY_PERMUTE_FUSION, d->switches.permute_fusion);
    out->moe_router_fusion = is_megatron(runtime) &&
                             is_fused(runtime, PLAIT_KEY_ROUTER_FUSION, d->switches.router_fusion);
    // with ep = 1 nothing is dispatched: write alltoall, since the flex dispatchers reject a group
    // of one rank
    static const char *const types[PLAIT_DISPATCHERS] = {"alltoall", "allgather", "flex", "flex",
                                                         "flex"};
    static const char *const backends[PLAIT_DISPATCHERS] = {NULL, NULL, "deepep", "deepep",
                                                            "hybridep"};
    const int dispatcher = d->ep > 1 ? d->dispatcher : PLAIT_DISPATCH_ALLTOALL;

    out->moe_token_dispatcher_type = types[dispatcher];
    out->moe_flex_dispatcher_backend = backends[dispatcher];
    out->moe_enable_deepep = backends[dispatcher] != NULL &&
                             !has_argument(out, MEGATRON_FIELD(moe_flex_dispatcher_backend));
    out->overlap_moe_expert_parallel_comm = d->ep_overlap != PLAIT_EP_OVERLAP_NONE;
    out->delay_wgrad_compute = d->ep_overlap == PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD;
}

/* ---- kernels and precision ---- */

static void take_attention(plait_attention_kernel kernel, megatron_args *out)
{
    switch (kernel) {
    case PLAIT_ATTENTION_UNFUSED:
    case PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL:
        out->attention_backend = "unfused";
        out->masked_softmax_fusion = kernel == PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL;
        break;
    case PLAIT_ATTENTION_FLASH:
        out->attention_backend = "flash";
        break;
    case PLAIT_ATTENTION_FLASH2:
    case PLAIT_ATTENTION_FLASH3:
        out->attention_backend = "flash";
        out->flash_attention_version = kernel == PLAIT_ATTENTION_FLASH2 ? 2 : 3;
        break;
    case PLAIT_ATTENTION_FUSED:
    case PLAIT_ATTENTION_KERNELS:
        out->attention_backend = "fused";
        break;
    }
}

static void take_precision(plait_precision precision, bool delayed_scaling, megatron_args *out)
{
    static const struct {
        const char *format;
        const char *recipe;
    } fp8[PLAIT_PRECISIONS] = {
        [PLAIT_FP8] = {"hybrid", "tensorwise"},
        [PLAIT_FP8_BLOCK] = {"e4m3", "blockwise"},
        [PLAIT_MXFP8] = {"e4m3", "mxfp8"},
    };

    out->fp16 = precision == PLAIT_FP16;
    out->bf16 = !out->fp16;
    if (fp8[precision].format != NULL) {
        out->fp8 = fp8[precision].format;
        out->fp8_recipe =
            precision == PLAIT_FP8 && delayed_scaling ? "delayed" : fp8[precision].recipe;
    }
    if (precision == PLAIT_NVFP4) {
        out->fp4 = "e2m1";
        out->fp4_recipe = "nvfp4";
    }
    // with the all-gather dispatcher, experts pad their rows themselves
    out->moe_router_padding_for_quantization =
        precision > PLAIT_FP16 && out->num_experts > 0 &&
        strcmp(out->moe_token_dispatcher_type, "allgather") != 0;
    out->moe_router_padding_for_fp8 =
        out->moe_router_padding_for_quantization &&
        !has_argument(out, MEGATRON_FIELD(moe_router_padding_for_quantization));
}

/* ---- graphs and fused experts ---- */

/*
 * Return the parts of layers that graphs capture: all but experts, as far as TransformerConfig and
 * validate_args allow. Delayed weight gradients exclude attention with biases, and pairs of
 * microbatches the MLP of dense layers. The all-to-all dispatcher waits for the host before it
 * sends if rows are padded or dropped. A hybrid's pattern leaves --moe-layer-freq at 1, with which
 * TransformerConfig assumes experts in every layer and refuses to capture an MLP.
 */
static plait_status captured_modules(const plait_model *model, bool recomputes_experts,
                                     plait_arena *arena, const megatron_args *args,
                                     const char **out, plait_error *err)
{
    const bool experts = args->num_experts > 0;
    const bool drops =
        args->moe_expert_capacity_factor > 0.0 && !args->moe_pad_expert_input_to_capacity;
    const bool waits =
        strcmp(args->moe_token_dispatcher_type, "alltoall") == 0 &&
        (drops || args->moe_router_padding_for_quantization || args->moe_router_padding_for_fp8);
    const bool biased = args->add_bias_linear || args->add_qkv_bias;
    // Recomputed experts route again, which a graph of the router does not allow.
    const bool routes = experts && !recomputes_experts;
    const struct {
        bool captured;
        const char *name;
    } modules[] = {
        {model_count_layers(model, layer_has_attention) > 0 &&
             !(args->delay_wgrad_compute && biased),
         "attn"},
        {model_count_layers(model, layer_has_mlp) > 0 && !args->overlap_moe_expert_parallel_comm &&
             !(experts && model_is_hybrid(model)),
         "mlp"},
        {routes, "moe_router"},
        {routes && !waits, "moe_preprocess"},
        {model_count_layers(model, layer_has_mamba) > 0, "mamba"},
    };
    text_builder text;

    text_builder_init(&text, arena);
    for (size_t m = 0; m < sizeof modules / sizeof *modules; m++)
        if (modules[m].captured)
            text_append_printf(&text, text.length > 0 ? " %s" : "%s", modules[m].name);
    if (text.length == 0 && !text.failed)
        return PLAIT_OK;
    *out = text_builder_finish(&text, NULL);
    return plait_check_allocated(*out, err);
}

/* Capture the whole iteration, which was a scope before core 0.18. */
static void take_whole_iteration(megatron_args *out)
{
    // checks for NaN wait for the host
    out->check_for_nan_in_loss_and_grad = false;
    if (has_argument(out, MEGATRON_FIELD(cuda_graph_modules))) {
        out->cuda_graph_impl = "full_iteration";
    } else {
        out->cuda_graph_impl = "local";
        out->cuda_graph_scope = "full_iteration";
    }
    if (out->fine_grained_activation_offloading)
        out->fine_grained_offloading_max_inflight_offloads = 1;
    if (out->num_experts == 0)
        return;
    // Sizes of the buffers for the rows of experts, over the rows of even routing, as in the
    // recipes of Megatron-Bridge 067f987 (src/megatron/bridge/perf_recipes/qwen/common.py). A step
    // in which a rank receives more rows is repeated without a graph.
    out->moe_expert_rank_capacity_factor = 1.5;
    out->moe_paged_stash = true;
    out->moe_paged_stash_buffer_size_factor_cuda = 1.2;
    out->moe_paged_stash_buffer_size_factor_cpu = 1.0;
}

/*
 * Set the arguments of graphs and fused experts, after all other arguments. No argument sets
 * fp8_attention: the list of edits at the head of the file has it, and Megatron-Bridge a field.
 */
static plait_status take_switches(const plait_model *model, const plait_degrees *d,
                                  plait_arena *arena, megatron_args *out, plait_error *err)
{
    const plait_switches *const switches = &d->switches;
    const bool recomputes_experts = d->recompute.kind == PLAIT_RECOMPUTE_MODULES &&
                                    (d->recompute.modules >> PLAIT_MODULE_moe & 1u);

    if (switches->fused_grouped_mlp && out->num_experts > 0) {
        out->use_transformer_engine_op_fuser = true;
        // blocks of gates and linear units, which the kernel expects to alternate
        out->moe_mlp_glu_interleave_size = out->swiglu || out->quick_geglu ? 32 : 0;
        // the fused experts pad their rows themselves, to multiples of 256
        out->moe_router_padding_for_quantization = false;
        out->moe_router_padding_for_fp8 = false;
    }
    // the generator of random numbers whose state a graph can capture
    out->te_rng_tracker = switches->cuda_graph != PLAIT_GRAPH_NONE;
    if (switches->cuda_graph == PLAIT_GRAPH_FULL)
        take_whole_iteration(out);
    if (switches->cuda_graph != PLAIT_GRAPH_LAYERS)
        return PLAIT_OK;
    out->cuda_graph_impl = "transformer_engine";
    return captured_modules(model, recomputes_experts, arena, out,
                            has_argument(out, MEGATRON_FIELD(cuda_graph_modules))
                                ? &out->cuda_graph_modules
                                : &out->cuda_graph_scope,
                            err);
}

/* ---- number formats of the state ---- */

/*
 * Set the number formats of parameters, gradients and optimizer. If the gather of MXFP8 parameters
 * overlaps, the two copies of the parameters reuse the gradient buffer.
 */
static void take_state(const plait_problem *problem, const plait_degrees *d, megatron_args *out)
{
    const bool half = problem->job.precision == PLAIT_FP16;
    const bool narrow_moments = d->optimizer_state != PLAIT_STATE_FP32;
    const bool offload = d->offload == PLAIT_OFFLOAD_OPTIMIZER;

    out->grad_reduce_in_bf16 = !half && d->grad_reduce != PLAIT_STATE_FP32;
    out->accumulate_allreduce_grads_in_fp32 = half && d->grad_reduce == PLAIT_STATE_FP32;
    out->optimizer_cpu_offload = offload;
    if (offload)
        out->optimizer_offload_fraction = plait_offload_share_of(d);
    out->use_precision_aware_optimizer = narrow_moments || offload;
    if (narrow_moments)
        out->exp_avg_dtype = out->exp_avg_sq_dtype = plait_state_format_name[d->optimizer_state];
    out->fp4_param_gather = d->fp8_params && problem->job.precision == PLAIT_NVFP4;
    out->fp8_param_gather = d->fp8_params && problem->job.precision != PLAIT_NVFP4;
    out->reuse_grad_buf_for_mxfp8_param_ag =
        d->fp8_params && problem->job.precision == PLAIT_MXFP8 && out->overlap_param_gather;
}

/* Set values that a run needs but no plan decides; with them the run starts on random tokens. */
static void take_placeholders(const plait_problem *problem, megatron_args *out)
{
    out->mock_data = true;
    // random tokens train no router, so their routing is not the one that the price assumes: force
    // it to be even, as Megatron-Bridge's performance recipes do (scripts/performance, 067f987),
    // unless the job states how uneven it is. Routing of real data must not be forced.
    const plait_runtime *const runtime = problem->runtime;

    out->moe_router_force_load_balancing = is_megatron(runtime) &&
                                           model_has_experts(problem->model) &&
                                           !runtime->natural_routing && !runtime->imbalance_stated;
    out->tokenizer_type = "NullTokenizer";
    out->train_iters = TRAINING_TRY_STEPS;
    out->eval_iters = 0;
    out->log_interval = 1;
    out->save_interval = TRAINING_SAVE_STEPS;
    out->manual_gc = true; // otherwise ranks stop for garbage collection at different times
    out->manual_gc_interval = 100;
    out->distributed_timeout_minutes = TRAINING_TIMEOUT_MINUTES;
}

plait_status megatron_args_of(const plait_problem *problem, const plait_plan *plan,
                              plait_arena *arena, megatron_args *out, plait_error *err)
{
    megatron_args_init(out);
    out->core = megatron_core_of(problem->runtime);
    take_placeholders(problem, out);
    const launch_training training = training_of(problem);

    out->lr = training.lr;
    out->min_lr = training.min_lr;
    out->adam_beta1 = training.beta1;
    out->adam_beta2 = training.beta2;
    out->adam_eps = training.eps;
    out->weight_decay = training.weight_decay;
    out->clip_grad = training.clip;
    // a schedule with a plateau before the decay has its own style, WSD
    const bool plateau = training.decay_steps < training.total_steps - training.warmup_steps;
    out->lr_decay_style = plateau ? "WSD" : plait_lr_decay_name[training.decay];
    if (plateau) {
        out->lr_wsd_decay_style = plait_lr_decay_name[training.decay];
        out->lr_wsd_decay_iters = training.decay_steps;
    }
    out->lr_decay_iters = training.total_steps;
    out->lr_warmup_iters = training.warmup_steps;
    out->save = out->load = training_checkpoints(problem->model, arena);
    PLAIT_TRY(plait_check_allocated(out->save, err));
    PLAIT_TRY(megatron_args_of_model(problem, arena, out, err));
    const plait_degrees *const d = &plan->degrees;

    take_degrees(problem->model, d, out);
    out->micro_batch_size = d->mbs;
    out->global_batch_size = problem->job.gbs;
    // Megatron's own FSDP also shards gradients and parameters, and supports only one checkpoint
    // format
    out->use_distributed_optimizer = d->zero > 0;
    out->num_distributed_optimizer_instances = d->dp * d->cp / d->shard_group;
    out->use_megatron_fsdp = d->zero > 1;
    if (out->use_megatron_fsdp) {
        out->data_parallel_sharding_strategy = d->zero == 3 ? "optim_grads_params" : "optim_grads";
        out->ckpt_format = "fsdp_dtensor";
        out->gradient_accumulation_fusion = false;
    }
    take_overlap(problem, d, out);
    take_attention((plait_attention_kernel)d->attention, out);
    take_precision(problem->job.precision, problem->runtime->kernels.delayed_scaling, out);
    take_state(problem, d, out);
    PLAIT_TRY(take_recompute(problem->model, d, arena, out, err));
    out->fine_grained_activation_offloading = plait_offload_modules(d->offload_acts) != 0;
    PLAIT_TRY(join_names(plait_offload_modules(d->offload_acts), plait_offload_module_name,
                         PLAIT_OFFLOAD_MODULES, arena, &out->offload_modules, err));
    // "4 2": the ranks of the all-to-all, then those of the ring
    const int inner = plait_context_inner(problem, d->tp, d->cp);
    if (d->cp != 1 && d->cp_comm == PLAIT_CP_A2A_P2P) {
        out->hierarchical_context_parallel_sizes =
            plait_arena_printf(arena, "%d %d", inner, d->cp / inner);
        PLAIT_TRY(plait_check_allocated(out->hierarchical_context_parallel_sizes, err));
    }
    PLAIT_TRY(megatron_args_of_split(problem, plan, arena, out, err));
    PLAIT_TRY(take_switches(problem->model, d, arena, out, err));
    return megatron_args_check(out, err);
}
