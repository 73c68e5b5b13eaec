/* megatron_check.c - the rules that Megatron-LM applies while it starts, one after the other */
#include "support/megatron_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/megatron_layers.h"

/* ---- what the arguments come to ---- */

typedef struct launch {
    const megatron_args *args;
    int world, arch;
    int tp, pp, cp, ep, etp;
    int dp; /* 0 when tp pp cp is more than the world */
    int mbs, gbs, microbatches;
    int layers, embedding, loss; /* the last two count as layers: 1, or 0 */
    int first, last;             /* 0: not given */
    int heads, groups, experts;
    int vpp; /* chunks a rank; 1: not interleaved */
    bool sp, fsdp;
    int chunks; /* of the layout; 0: none */
    megatron_chunk chunk[MEGATRON_MAX_CHUNKS];
    bool is_hybrid, misspelled; /* a pattern is given; and is none */
    megatron_hybrid hybrid;     /* all 0 without a pattern */
} launch;

#define IS_GIVEN(name) (l->args->given[FLAG_##name])
#define INT_OF(name) megatron_int(l->args, FLAG_##name)
#define NUMBER_OF(name) megatron_number(l->args, FLAG_##name)
#define VALUE_IS(name, word) megatron_is(l->args, FLAG_##name, word)
#define WORDS_OF(name) megatron_words(l->args, FLAG_##name)
#define HAS_WORD(name, word) megatron_has_word(l->args, FLAG_##name, word)

/* Whether a is a multiple of b; of nothing, and of what is negative, none is. */
static bool divides(int b, int a)
{
    return b > 0 && a % b == 0;
}

static int chunks_a_rank(const launch *l)
{
    const int rank_layers = l->pp > 0 ? (l->layers + l->embedding + l->loss) / l->pp : 0;
    const int chunk_layers = INT_OF(num_layers_per_virtual_pipeline_stage);
    int vpp = 1;

    if (l->is_hybrid)
        vpp = l->pp > 0 ? l->hybrid.segments / l->pp : 0;
    else if (chunk_layers > 0)
        vpp = rank_layers / chunk_layers;
    else if (IS_GIVEN(num_virtual_stages_per_pipeline_rank))
        vpp = INT_OF(num_virtual_stages_per_pipeline_rank);
    else if (l->chunks > 0 && l->pp > 0)
        vpp = l->chunks / l->pp;
    return vpp > 1 ? vpp : 1;
}

static void read_degrees(launch *l)
{
    l->tp = INT_OF(tensor_model_parallel_size);
    l->pp = INT_OF(pipeline_model_parallel_size);
    l->cp = INT_OF(context_parallel_size);
    l->ep = INT_OF(expert_model_parallel_size);
    l->etp = IS_GIVEN(expert_tensor_parallel_size) ? INT_OF(expert_tensor_parallel_size) : l->tp;
    l->dp = l->tp > 0 && l->pp > 0 && l->cp > 0 ? l->world / (l->tp * l->pp * l->cp) : 0;
    l->mbs = INT_OF(micro_batch_size);
    l->gbs = IS_GIVEN(global_batch_size) ? INT_OF(global_batch_size) : l->mbs * l->dp;
    l->microbatches = l->mbs > 0 && l->dp > 0 ? l->gbs / (l->mbs * l->dp) : 0;
    l->sp = IS_GIVEN(sequence_parallel) && l->tp > 1;
    l->fsdp = IS_GIVEN(use_megatron_fsdp);
}

static void read_model(launch *l)
{
    l->is_hybrid = IS_GIVEN(hybrid_layer_pattern);
    l->misspelled = l->is_hybrid &&
                    !megatron_hybrid_read(l->args->value[FLAG_hybrid_layer_pattern], &l->hybrid);
    l->layers = l->is_hybrid ? l->hybrid.layers : INT_OF(num_layers);
    l->embedding = IS_GIVEN(account_for_embedding_in_pipeline_split);
    l->loss = IS_GIVEN(account_for_loss_in_pipeline_split);
    l->first = INT_OF(decoder_first_pipeline_num_layers);
    l->last = INT_OF(decoder_last_pipeline_num_layers);
    l->heads = INT_OF(num_attention_heads);
    l->groups = IS_GIVEN(group_query_attention) ? INT_OF(num_query_groups) : l->heads;
    l->experts = INT_OF(num_experts);
    if (IS_GIVEN(pipeline_model_parallel_layout))
        l->chunks = megatron_layout(l->args->value[FLAG_pipeline_model_parallel_layout], l->chunk);
    l->vpp = chunks_a_rank(l);
}

static bool has_first_or_last(const launch *l)
{
    return IS_GIVEN(decoder_first_pipeline_num_layers) ||
           IS_GIVEN(decoder_last_pipeline_num_layers);
}

static bool is_interleaved(const launch *l)
{
    return l->vpp > 1;
}

static bool is_latent(const launch *l)
{
    return IS_GIVEN(multi_latent_attention) || l->hybrid.letters['+'] + l->hybrid.letters['D'] > 0;
}

static int predictions(const launch *l)
{
    return l->hybrid.modules > 0 ? l->hybrid.modules : INT_OF(mtp_num_layers);
}

static bool recomputes_module(const launch *l, const char *module)
{
    return VALUE_IS(recompute_granularity, "selective") && HAS_WORD(recompute_modules, module);
}

/* ---- the parser ---- */

static bool is_layer_list(const launch *l, megatron_flag flag)
{
    const char *const text = l->args->value[flag];

    return !l->args->given[flag] || !megatron_pattern_is_list(text) ||
           megatron_pattern(text, NULL) == l->layers;
}

static bool lists_have_all_layers(const launch *l)
{
    return is_layer_list(l, FLAG_moe_layer_freq) && is_layer_list(l, FLAG_window_attn_skip_freq) &&
           is_layer_list(l, FLAG_no_rope_freq) && is_layer_list(l, FLAG_linear_attention_freq);
}

static bool layout_is_one(const launch *l)
{
    return !IS_GIVEN(pipeline_model_parallel_layout) || l->chunks > 0;
}

static bool hybrid_is_spelled(const launch *l)
{
    return !l->misspelled;
}

/* ---- V: validate_args ---- */

static bool world_divides(const launch *l)
{
    return l->dp > 0 && divides(l->tp * l->pp * l->cp, l->world);
}

static bool batch_is_given(const launch *l)
{
    return IS_GIVEN(micro_batch_size) && l->mbs > 0 && l->gbs > 0;
}

static bool evaluation_divides(const launch *l)
{
    const int mbs = IS_GIVEN(eval_micro_batch_size) ? INT_OF(eval_micro_batch_size) : l->mbs;
    const int gbs = IS_GIVEN(eval_global_batch_size) ? INT_OF(eval_global_batch_size) : l->gbs;

    return divides(mbs * l->dp, gbs);
}

static bool chunks_are_said_once(const launch *l)
{
    return IS_GIVEN(num_layers_per_virtual_pipeline_stage) +
               IS_GIVEN(num_virtual_stages_per_pipeline_rank) +
               IS_GIVEN(pipeline_model_parallel_layout) <=
           1;
}

static bool hybrid_chunks_are_said_once(const launch *l)
{
    return !l->is_hybrid || (!IS_GIVEN(num_layers_per_virtual_pipeline_stage) &&
                             !IS_GIVEN(num_virtual_stages_per_pipeline_rank) &&
                             !IS_GIVEN(pipeline_model_parallel_layout) && !l->embedding &&
                             !l->loss && (l->hybrid.segments == 1 || !has_first_or_last(l)));
}

static bool segments_fill_ranks(const launch *l)
{
    return l->hybrid.segments <= 1 || divides(l->pp, l->hybrid.segments);
}

static bool layout_fills_ranks(const launch *l)
{
    return l->chunks == 0 || divides(l->pp, l->chunks);
}

static bool chunk_layers_divide(const launch *l)
{
    const int layers = l->layers + l->embedding + l->loss;

    if (!IS_GIVEN(num_layers_per_virtual_pipeline_stage))
        return true;
    return !has_first_or_last(l) && divides(l->pp, layers) &&
           divides(INT_OF(num_layers_per_virtual_pipeline_stage), layers / l->pp);
}

static bool stage_layers_divide(const launch *l)
{
    if (has_first_or_last(l) || l->chunks > 0 || is_interleaved(l) || l->hybrid.segments > 1)
        return true;
    return divides(l->pp, l->layers + l->embedding + l->loss);
}

static bool interleaving_has_stages(const launch *l)
{
    return !is_interleaved(l) || l->pp > (IS_GIVEN(no_overlap_p2p_communication) ? 2 : 1);
}

static bool gather_has_shards(const launch *l)
{
    if (!IS_GIVEN(overlap_param_gather))
        return true;
    return (IS_GIVEN(use_distributed_optimizer) || l->fsdp) && IS_GIVEN(overlap_grad_reduce);
}

static bool gather_in_step_has_chunks(const launch *l)
{
    return !IS_GIVEN(overlap_param_gather_with_optimizer_step) ||
           (IS_GIVEN(use_distributed_optimizer) && IS_GIVEN(overlap_param_gather) &&
            is_interleaved(l) && VALUE_IS(ckpt_format, "torch") &&
            !IS_GIVEN(reuse_grad_buf_for_mxfp8_param_ag));
}

static bool fsdp_has_its_format(const launch *l)
{
    if (!l->fsdp)
        return !VALUE_IS(ckpt_format, "fsdp_dtensor");
    return (VALUE_IS(optimizer, "adam") || VALUE_IS(optimizer, "sgd")) &&
           VALUE_IS(ckpt_format, "fsdp_dtensor") && strcmp(l->args->connections, "1") != 0 &&
           !(INT_OF(megatron_fsdp_version) == 2 && IS_GIVEN(use_distributed_optimizer));
}

static bool fp8_gather_has_shards(const launch *l)
{
    return !IS_GIVEN(fp8_param_gather) || IS_GIVEN(use_distributed_optimizer) || l->fsdp ||
           IS_GIVEN(use_torch_fsdp2);
}

static bool fp8_gather_has_its_format(const launch *l)
{
    (void)l;
    return !IS_GIVEN(fp8_param_gather) || IS_GIVEN(fp8_format);
}

static bool fp4_is_alone(const launch *l)
{
    return !(IS_GIVEN(fp4_format) && IS_GIVEN(fp8_format)) &&
           (IS_GIVEN(fp4_format) || !IS_GIVEN(fp4_param_gather));
}

static bool one_training_format(const launch *l)
{
    const bool whole = IS_GIVEN(accumulate_allreduce_grads_in_fp32) ||
                       (IS_GIVEN(bf16) && !IS_GIVEN(grad_reduce_in_bf16));

    return !(IS_GIVEN(bf16) && IS_GIVEN(fp16)) && (!whole || VALUE_IS(main_grads_dtype, "fp32"));
}

static bool counts_iterations_or_samples(const launch *l)
{
    const bool iters =
        IS_GIVEN(train_iters) || IS_GIVEN(lr_decay_iters) || INT_OF(lr_warmup_iters) != 0;
    const bool samples =
        IS_GIVEN(train_samples) || IS_GIVEN(lr_decay_samples) || INT_OF(lr_warmup_samples) != 0;

    if (IS_GIVEN(lr_warmup_fraction) &&
        (INT_OF(lr_warmup_iters) != 0 || INT_OF(lr_warmup_samples) != 0))
        return false;
    return !iters || !samples;
}

static bool sizes_are_given(const launch *l)
{
    return (IS_GIVEN(num_layers) || l->is_hybrid) && IS_GIVEN(hidden_size) &&
           IS_GIVEN(num_attention_heads) && IS_GIVEN(max_position_embeddings);
}

static bool head_width_is_known(const launch *l)
{
    return IS_GIVEN(kv_channels) || divides(l->heads, INT_OF(hidden_size));
}

static bool sequence_halves(const launch *l)
{
    return l->cp == 1 || divides(2 * l->cp, INT_OF(seq_length));
}

static bool positions_reach(const launch *l)
{
    return INT_OF(max_position_embeddings) >= INT_OF(seq_length);
}

static bool rates_fall(const launch *l)
{
    return !IS_GIVEN(lr) || NUMBER_OF(min_lr) <= NUMBER_OF(lr);
}

static bool saved_activations_are_split(const launch *l)
{
    if (!IS_GIVEN(distribute_saved_activations))
        return true;
    return l->tp > 1 && VALUE_IS(recompute_granularity, "full") && IS_GIVEN(recompute_method) &&
           !l->sp;
}

static bool selective_has_no_method(const launch *l)
{
    return !VALUE_IS(recompute_granularity, "selective") || !IS_GIVEN(recompute_method);
}

static bool tp_overlap_has_sp(const launch *l)
{
    return !IS_GIVEN(tp_comm_overlap) || l->sp;
}

static bool one_connection(const launch *l)
{
    if ((l->tp == 1 && l->cp == 1) || l->arch >= 10 || l->fsdp || IS_GIVEN(use_torch_fsdp2) ||
        IS_GIVEN(overlap_moe_expert_parallel_comm))
        return true;
    return strcmp(l->args->connections, "1") == 0;
}

static bool ep_has_experts(const launch *l)
{
    return l->ep == 1 || (IS_GIVEN(num_experts) && divides(l->ep, l->experts));
}

static bool loss_is_fused_natively(const launch *l)
{
    return !IS_GIVEN(cross_entropy_loss_fusion) || !VALUE_IS(cross_entropy_fusion_impl, "te");
}

static bool data_is_one(const launch *l)
{
    const bool parts =
        IS_GIVEN(train_data_path) || IS_GIVEN(valid_data_path) || IS_GIVEN(test_data_path);

    return IS_GIVEN(mock_data) + IS_GIVEN(data_path) + parts <= 1;
}

static bool latent_has_no_groups(const launch *l)
{
    return !is_latent(l) || !IS_GIVEN(group_query_attention);
}

static bool offload_has_its_optimizer(const launch *l)
{
    if (!IS_GIVEN(optimizer_cpu_offload))
        return true;
    return IS_GIVEN(use_precision_aware_optimizer) &&
           (!IS_GIVEN(fp8_param_gather) || VALUE_IS(fp8_recipe, "delayed"));
}

static bool predictions_know_positions(const launch *l)
{
    return predictions(l) == 0 || VALUE_IS(position_embedding_type, "rope") ||
           VALUE_IS(position_embedding_type, "none");
}

static bool has_graphs(const launch *l)
{
    return !VALUE_IS(cuda_graph_impl, "none");
}

static bool graphs_of_iterations_are_whole(const launch *l)
{
    return !VALUE_IS(cuda_graph_impl, "full_iteration") ||
           (!IS_GIVEN(cuda_graph_modules) && IS_GIVEN(no_check_for_nan_in_loss_and_grad));
}

static bool graphs_register_nothing(const launch *l)
{
    return !VALUE_IS(cuda_graph_impl, "transformer_engine") ||
           strcmp(l->args->graph_register, "0") == 0;
}

static bool delayed_graphs_have_no_biases(const launch *l)
{
    if (!IS_GIVEN(delay_wgrad_compute) || !IS_GIVEN(overlap_grad_reduce) ||
        !HAS_WORD(cuda_graph_modules, "attn"))
        return true;
    return IS_GIVEN(disable_bias_linear) && !IS_GIVEN(add_qkv_bias) &&
           !IS_GIVEN(no_gradient_accumulation_fusion);
}

/* ---- B: microbatches ---- */

static bool batch_divides(const launch *l)
{
    return IS_GIVEN(decrease_batch_size_if_needed) || divides(l->mbs * l->dp, l->gbs);
}

static bool has_microbatches(const launch *l)
{
    return l->microbatches >= 1;
}

/* ---- G: process groups ---- */

static bool expert_ranks_divide(const launch *l)
{
    return divides(l->etp * l->ep * l->pp, l->world);
}

static bool grids_agree(const launch *l)
{
    return !IS_GIVEN(use_tp_pp_dp_mapping) || l->pp == 1 || l->tp * l->cp == l->etp * l->ep;
}

static bool instances_divide(const launch *l)
{
    const int instances = INT_OF(num_distributed_optimizer_instances);

    return divides(instances, l->dp * l->cp) &&
           divides(instances, l->world / (l->etp * l->ep * l->pp));
}

/* ---- C: configuration of the model ---- */

static bool heads_divide(const launch *l)
{
    return divides(l->tp, l->heads);
}

static bool groups_divide(const launch *l)
{
    return divides(l->tp, l->groups) || divides(l->groups, l->tp);
}

static bool layout_has_predictions(const launch *l, int layers_end)
{
    const int wanted = INT_OF(mtp_num_layers);
    int found = 0, at = -1;

    for (int c = 0; c < l->chunks; c++) {
        if (l->chunk[c].predictions == 0)
            continue;
        if (at >= 0 || c < layers_end)
            return false;
        found = l->chunk[c].predictions;
        at = c;
    }
    return found == wanted && (wanted == 0 || at >= l->chunks - l->pp) &&
           (wanted == 0 || at % l->pp != 0 || at == l->chunks - l->pp);
}

static bool layout_has_everything(const launch *l)
{
    int embeddings = 0, layers = 0, losses = 0, layers_end = 0;

    if (l->chunks == 0)
        return true;
    if (has_first_or_last(l) || l->embedding || l->loss)
        return false;
    for (int c = 0; c < l->chunks; c++) {
        embeddings += l->chunk[c].embeddings;
        layers += l->chunk[c].layers;
        losses += l->chunk[c].losses;
        if (l->chunk[c].layers > 0)
            layers_end = c;
    }
    return embeddings == 1 && l->chunk[0].embeddings == 1 && losses == 1 &&
           l->chunk[l->chunks - 1].losses == 1 && layers == l->layers &&
           layout_has_predictions(l, layers_end);
}

static int middle_ranks(const launch *l)
{
    return l->pp - (l->first > 0) - (l->last > 0);
}

static bool uneven_ends_divide(const launch *l)
{
    const int middle = l->layers - l->first - l->last;
    const int ranks = middle_ranks(l);

    if (!has_first_or_last(l))
        return true;
    if (l->embedding || l->loss || (IS_GIVEN(decoder_first_pipeline_num_layers) && l->first <= 0) ||
        (IS_GIVEN(decoder_last_pipeline_num_layers) && l->last <= 0) || middle < 0)
        return false;
    if (ranks <= 0 || middle == 0)
        return ranks <= 0 && middle == 0 && l->first % l->vpp == 0 && l->last % l->vpp == 0;
    return middle % ranks == 0 && l->first % l->vpp == 0 && l->last % l->vpp == 0 &&
           middle / ranks % l->vpp == 0;
}

static bool counted_ends_divide(const launch *l)
{
    const int layers = l->layers + l->embedding + l->loss;

    if (!is_interleaved(l) || (!l->embedding && !l->loss))
        return true;
    return divides(l->pp, layers) && divides(l->vpp, layers / l->pp);
}

static bool modules_are_known(const launch *l)
{
    static const char known[] = " core_attn moe_act layernorm mla_up_proj mlp moe shared_experts"
                                " gdn_norm_out gdp_in_proj gdp_qkv mhc ";
    char word[MEGATRON_VALUE_SIZE + 2];
    char list[MEGATRON_VALUE_SIZE];

    strcpy(list, l->args->value[FLAG_recompute_modules]);
    for (char *at = strtok(list, " "); at != NULL; at = strtok(NULL, " ")) {
        snprintf(word, sizeof word, " %s ", at);
        if (strstr(known, word) == NULL)
            return false;
    }
    return true;
}

static bool modules_suit(const launch *l)
{
    const bool delayed = IS_GIVEN(fp8_format) && VALUE_IS(fp8_recipe, "delayed");

    if (recomputes_module(l, "moe_act") && !IS_GIVEN(moe_grouped_gemm))
        return false;
    if (recomputes_module(l, "mla_up_proj") && !is_latent(l))
        return false;
    if (recomputes_module(l, "shared_experts") && IS_GIVEN(moe_shared_expert_overlap))
        return false;
    return !delayed || (!recomputes_module(l, "moe_act") && !recomputes_module(l, "layernorm"));
}

static bool recomputation_is_whole(const launch *l)
{
    if (VALUE_IS(recompute_granularity, "full"))
        return IS_GIVEN(recompute_method) && INT_OF(recompute_num_layers) > 0;
    return !IS_GIVEN(recompute_num_layers) && !IS_GIVEN(recompute_method) && modules_are_known(l) &&
           modules_suit(l);
}

static bool expert_width_has_experts(const launch *l)
{
    return !IS_GIVEN(moe_ffn_hidden_size) || l->experts > 0;
}

static bool biased_experts_are_whole(const launch *l)
{
    return l->experts == 0 || IS_GIVEN(disable_bias_linear) || l->etp == 1;
}

static bool dispatcher_suits(const launch *l)
{
    const bool flex = VALUE_IS(moe_token_dispatcher_type, "flex");

    if (IS_GIVEN(moe_enable_deepep) && !flex)
        return false;
    if (!VALUE_IS(moe_token_dispatcher_type, "allgather"))
        return true;
    return !IS_GIVEN(moe_shared_expert_overlap) && !IS_GIVEN(moe_router_padding_for_quantization);
}

static bool is_balancing_capped(const char *type)
{
    static const char *const capped[] = {"aux_loss", "seq_aux_loss", "global_aux_loss", "none"};

    for (size_t i = 0; i < sizeof capped / sizeof *capped; i++)
        if (strcmp(capped[i], type) == 0)
            return true;
    return false;
}

static bool capacity_suits(const launch *l)
{
    if (!IS_GIVEN(moe_expert_capacity_factor))
        return !IS_GIVEN(moe_pad_expert_input_to_capacity);
    return WORDS_OF(moe_router_load_balancing_type) != 1 ||
           is_balancing_capped(l->args->value[FLAG_moe_router_load_balancing_type]);
}

static bool correction_suits(const launch *l)
{
    return !IS_GIVEN(moe_router_enable_expert_bias) ||
           !VALUE_IS(moe_router_score_function, "softmax");
}

static bool one_expert_has_weight(const launch *l)
{
    if (l->experts == 0 || INT_OF(moe_router_topk) != 1)
        return true;
    return !VALUE_IS(moe_router_score_function, "softmax") || IS_GIVEN(moe_router_pre_softmax);
}

static bool expert_groups_divide(const launch *l)
{
    const int groups = INT_OF(moe_router_num_groups);

    if (!IS_GIVEN(moe_router_group_topk))
        return true;
    return groups > 0 && divides(groups, l->experts) && INT_OF(moe_router_group_topk) <= groups;
}

static bool balancing_has_weights(const launch *l)
{
    return WORDS_OF(moe_router_load_balancing_type) == WORDS_OF(moe_aux_loss_coeff);
}

static bool ep_overlap_suits(const launch *l)
{
    if (!IS_GIVEN(overlap_moe_expert_parallel_comm))
        return true;
    return l->ep > 1 && !VALUE_IS(moe_token_dispatcher_type, "allgather") &&
           (IS_GIVEN(bf16) || IS_GIVEN(fp16)) && !VALUE_IS(recompute_granularity, "full") &&
           !recomputes_module(l, "moe") && !IS_GIVEN(moe_shared_expert_overlap) && !l->is_hybrid &&
           predictions(l) <= 1 && (l->pp == 1 || is_interleaved(l));
}

static bool delay_has_overlap(const launch *l)
{
    return !IS_GIVEN(delay_wgrad_compute) || IS_GIVEN(overlap_moe_expert_parallel_comm);
}

static bool deferral_has_stages(const launch *l)
{
    return !IS_GIVEN(defer_embedding_wgrad_compute) ||
           (l->pp > 1 && !IS_GIVEN(no_gradient_accumulation_fusion));
}

static bool has_dense_layers(const launch *l);

static bool graph_modules_suit(const launch *l)
{
    const bool router = HAS_WORD(cuda_graph_modules, "moe_router");
    const bool preprocess = HAS_WORD(cuda_graph_modules, "moe_preprocess");
    const bool mlp = HAS_WORD(cuda_graph_modules, "mlp"), moe = HAS_WORD(cuda_graph_modules, "moe");
    const bool padded = IS_GIVEN(moe_expert_capacity_factor)
                            ? !IS_GIVEN(moe_pad_expert_input_to_capacity)
                            : IS_GIVEN(moe_router_padding_for_quantization);

    if (!has_graphs(l) || VALUE_IS(cuda_graph_impl, "full_iteration"))
        return true;
    if (moe || (preprocess && !router) || (router && l->experts <= 1) ||
        (mlp && !has_dense_layers(l)))
        return false;
    if (IS_GIVEN(overlap_moe_expert_parallel_comm) && (mlp || !IS_GIVEN(cuda_graph_modules)))
        return false;
    return !(preprocess && padded && VALUE_IS(moe_token_dispatcher_type, "alltoall"));
}

static bool graphs_suit_recomputation(const launch *l)
{
    if (!has_graphs(l))
        return true;
    const bool whole = VALUE_IS(cuda_graph_impl, "full_iteration");
    if (VALUE_IS(recompute_granularity, "full"))
        return whole;
    if (recomputes_module(l, "moe"))
        return whole ||
               (IS_GIVEN(cuda_graph_modules) && !HAS_WORD(cuda_graph_modules, "moe_router"));
    if (VALUE_IS(recompute_granularity, "selective") && NUMBER_OF(attention_dropout) > 0.0 &&
        (!IS_GIVEN(recompute_modules) || recomputes_module(l, "core_attn")))
        return false;
    return NUMBER_OF(hidden_dropout) <= 0.0 || !recomputes_module(l, "mlp");
}

static bool graphs_suit_offloading(const launch *l)
{
    if (!has_graphs(l) || !IS_GIVEN(fine_grained_activation_offloading))
        return true;
    if (VALUE_IS(cuda_graph_impl, "full_iteration"))
        return IS_GIVEN(fine_grained_offloading_max_inflight_offloads);
    return !HAS_WORD(offload_modules, "attn_norm") && !HAS_WORD(offload_modules, "mlp_norm");
}

static bool offloads_experts(const launch *l)
{
    return HAS_WORD(offload_modules, "expert_fc1") || HAS_WORD(offload_modules, "moe_act");
}

static bool rank_capacity_suits(const launch *l)
{
    if (IS_GIVEN(moe_paged_stash) &&
        (!IS_GIVEN(moe_expert_rank_capacity_factor) || offloads_experts(l)))
        return false;
    return !IS_GIVEN(moe_expert_rank_capacity_factor) ||
           (VALUE_IS(moe_token_dispatcher_type, "flex") &&
            VALUE_IS(moe_flex_dispatcher_backend, "hybridep") &&
            IS_GIVEN(use_transformer_engine_op_fuser));
}

static bool fused_experts_suit(const launch *l)
{
    if (!IS_GIVEN(use_transformer_engine_op_fuser) || l->experts == 0)
        return true;
    return l->etp == 1 && !offloads_experts(l) && !IS_GIVEN(moe_apply_probs_on_input) &&
           IS_GIVEN(moe_grouped_gemm) &&
           (IS_GIVEN(swiglu) || IS_GIVEN(quick_geglu) || IS_GIVEN(squared_relu)) &&
           strcmp(l->args->fused_experts, "1") == 0;
}

static bool context_words_suit(const launch *l)
{
    return l->cp == 1 || WORDS_OF(cp_comm_type) == 1 || WORDS_OF(cp_comm_type) == l->layers;
}

static bool latent_rotation_suits(const launch *l)
{
    const bool yarn = !IS_GIVEN(rope_type) || VALUE_IS(rope_type, "yarn");

    return !is_latent(l) || ((yarn || IS_GIVEN(no_rope_fusion)) && !IS_GIVEN(rotary_interleaved));
}

static bool rotation_suits(const launch *l)
{
    return is_latent(l) || !IS_GIVEN(rope_type) || VALUE_IS(rope_type, "rope");
}

static bool expert_letters_have_experts(const launch *l)
{
    return l->hybrid.letters['E'] == 0 || l->experts > 0;
}

static bool mamba_heads_divide(const launch *l)
{
    const int width = INT_OF(mamba_head_dim), groups = INT_OF(mamba_num_groups);
    const int inner =
        IS_GIVEN(mamba_num_heads) ? INT_OF(mamba_num_heads) * width : 2 * INT_OF(hidden_size);

    if (l->hybrid.letters['M'] == 0)
        return true;
    if (!divides(width, inner) || INT_OF(mamba_state_dim) <= 0)
        return false;
    const int heads = inner / width;
    const int rank_groups = l->tp > 0 ? groups / l->tp : 0;
    const int channels = 2 * inner + 2 * groups * INT_OF(mamba_state_dim) + heads;
    return divides(l->tp, heads) && divides(l->tp, groups) && divides(groups, heads) &&
           divides(l->cp, heads / l->tp) &&
           (divides(l->cp, rank_groups) || (rank_groups < l->cp && divides(rank_groups, l->cp))) &&
           (!IS_GIVEN(fp8_format) || channels % 16 == 0);
}

/* ---- L: layers of the stages ---- */

static bool virtual_stages_divide(const launch *l)
{
    const int layers = l->layers + l->embedding + l->loss;
    const int stages = INT_OF(num_virtual_stages_per_pipeline_rank);

    if (!IS_GIVEN(num_virtual_stages_per_pipeline_rank) || has_first_or_last(l))
        return true;
    return divides(l->pp, layers) && divides(stages, layers / l->pp);
}

/* Layers that a rank builds in one of its chunks. */
static int layers_built(const launch *l, int rank, int chunk)
{
    const bool first = rank == 0 && chunk == 0;
    const bool last = rank == l->pp - 1 && chunk == l->vpp - 1;
    int layers;

    if (l->chunks > 0)
        return l->chunk[chunk * l->pp + rank].layers;
    if (l->first > 0 && rank == 0)
        layers = l->first;
    else if (l->last > 0 && rank == l->pp - 1)
        layers = l->last;
    else if (has_first_or_last(l))
        layers = (l->layers - l->first - l->last) / middle_ranks(l);
    else
        layers = (l->layers + l->embedding + l->loss) / l->pp;
    return layers / l->vpp - (first && l->embedding) - (last && l->loss);
}

static bool stages_are_not_negative(const launch *l)
{
    for (int rank = 0; rank < l->pp; rank++)
        for (int chunk = 0; chunk < l->vpp; chunk++)
            if (layers_built(l, rank, chunk) < 0)
                return false;
    return true;
}

static bool stages_hold_all_layers(const launch *l)
{
    int layers = 0;

    if (l->hybrid.segments > 1)
        return true;
    for (int rank = 0; rank < l->pp; rank++)
        for (int chunk = 0; chunk < l->vpp; chunk++)
            layers += layers_built(l, rank, chunk);
    return layers == l->layers;
}

/* ---- S: schedule ---- */

static int microbatch_group(const launch *l)
{
    return IS_GIVEN(microbatch_group_size_per_virtual_pipeline_stage)
               ? INT_OF(microbatch_group_size_per_virtual_pipeline_stage)
               : l->pp;
}

static bool group_is_full(const launch *l)
{
    const int group = microbatch_group(l);

    return !is_interleaved(l) || (l->pp <= group && group <= l->microbatches);
}

static bool last_group_suffices(const launch *l)
{
    const int rest = l->microbatches % microbatch_group(l);

    return !is_interleaved(l) || rest == 0 || rest >= l->pp;
}

/* ---- F: first forward pass ---- */

static bool experts_have_sp(const launch *l)
{
    return l->experts == 0 || l->tp == 1 || l->sp;
}

static bool has_dense_layers(const launch *l)
{
    int entry[MEGATRON_MAX_LAYERS];
    const char *const text = l->args->value[FLAG_moe_layer_freq];
    const int count = megatron_pattern(text, entry);

    if (l->experts == 0)
        return true;
    if (!megatron_pattern_is_list(text))
        return entry[0] > 1;
    for (int i = 0; i < count; i++)
        if (entry[i] == 0)
            return true;
    return false;
}

static bool dense_width_divides(const launch *l)
{
    return !(l->is_hybrid ? l->hybrid.letters['-'] > 0 : has_dense_layers(l)) ||
           !IS_GIVEN(ffn_hidden_size) || divides(l->tp, INT_OF(ffn_hidden_size));
}

static bool expert_width_divides(const launch *l)
{
    const int width =
        IS_GIVEN(moe_ffn_hidden_size) ? INT_OF(moe_ffn_hidden_size) : INT_OF(ffn_hidden_size);

    return l->experts == 0 || divides(l->etp, width);
}

static bool shared_width_divides(const launch *l)
{
    return l->experts == 0 || divides(l->tp, INT_OF(moe_shared_expert_intermediate_size));
}

static bool sequence_parts_divide(const launch *l)
{
    return !l->sp || divides(l->tp, INT_OF(seq_length) / l->cp);
}

static bool heads_reach_all_contexts(const launch *l)
{
    const int groups = l->groups > l->tp ? l->groups / l->tp : 1;

    if (l->cp == 1 || !HAS_WORD(cp_comm_type, "a2a"))
        return true;
    return divides(l->cp, l->heads / l->tp) && (is_latent(l) || divides(l->cp, groups));
}

/* Transformer Engine knows all_gather, Megatron's own sparse attention allgather alone. */
static bool exchange_is_known(const launch *l)
{
    if (VALUE_IS(experimental_attention_variant, "dsa"))
        return l->cp == 1 || VALUE_IS(cp_comm_type, "allgather");
    return l->cp == 1 || !HAS_WORD(cp_comm_type, "allgather");
}

static bool has_a_kernel(const launch *l)
{
    const bool flash = VALUE_IS(attention_backend, "flash");

    if (l->cp > 1 && VALUE_IS(attention_backend, "unfused"))
        return false;
    if (flash && !VALUE_IS(softmax_type, "vanilla"))
        return false;
    return !flash || !is_latent(l) || INT_OF(flash_attention_version) != 2;
}

static bool experts_divide(const launch *l)
{
    return l->experts == 0 || divides(l->ep, l->experts);
}

static bool enough_experts(const launch *l)
{
    return l->experts == 0 || INT_OF(moe_router_topk) <= l->experts;
}

/* ---- all of them ---- */

typedef struct check_rule {
    const char *number;
    const char *says;
    bool (*holds)(const launch *l);
} check_rule;

static const check_rule rules[] = {
    {"flags", "a list of layers has as many numbers as there are layers", lists_have_all_layers},
    {"flags", "a layout is made of E t m L | * ( ), in that order", layout_is_one},
    {"flags",
     "a hybrid's layers are M G * D + - E, its segments part at | and modules begin with /",
     hybrid_is_spelled},
    {"V1", "tp pp cp divides the world", world_divides},
    {"V5", "micro and global batch size are positive", batch_is_given},
    {"V7", "the evaluation's batch divides by its micro batch and dp", evaluation_divides},
    {"V8", "chunks are said in one way", chunks_are_said_once},
    {"V48", "the pattern of a hybrid alone divides its layers", hybrid_chunks_are_said_once},
    {"V49", "the segments of a hybrid divide by pp", segments_fill_ranks},
    {"V9", "the layout's stages divide by pp", layout_fills_ranks},
    {"V10", "layers divide by pp, and those of a rank by the layers of a chunk",
     chunk_layers_divide},
    {"V11", "layers divide by pp", stage_layers_divide},
    {"V12", "interleaving has more than one stage, without overlap more than two",
     interleaving_has_stages},
    {"V13", "overlapped gathering has a distributed optimizer and overlapped reduction",
     gather_has_shards},
    {"V47", "gathering in the optimizer step has shards, chunks and checkpoints of one file a rank",
     gather_in_step_has_chunks},
    {"V16", "FSDP has Adam or SGD, its checkpoint format and more than one connection",
     fsdp_has_its_format},
    {"V19", "FP8 parameters are gathered by a distributed optimizer", fp8_gather_has_shards},
    {"V19", "FP8 parameters are those of FP8 products", fp8_gather_has_its_format},
    {"V20", "FP4 and FP8 exclude each other", fp4_is_alone},
    {"V21", "one of bf16 and fp16, and sums in fp32 have gradients in fp32", one_training_format},
    {"V22", "a run counts iterations or samples", counts_iterations_or_samples},
    {"V23", "layers, hidden size, heads and positions are given", sizes_are_given},
    {"V24", "heads divide the hidden size where no head width is given", head_width_is_known},
    {"V25", "2 cp divides the sequence", sequence_halves},
    {"V26", "positions reach the sequence's end", positions_reach},
    {"V27", "the least learning rate is not above the first", rates_fall},
    {"V29", "saved activations are split with tp, full recomputation and no sequence parallelism",
     saved_activations_are_split},
    {"V30", "selective recomputation has no method", selective_has_no_method},
    {"V31", "tensor-parallel overlap has sequence parallelism", tp_overlap_has_sp},
    {"V32", "tp or cp before Blackwell has CUDA_DEVICE_MAX_CONNECTIONS=1", one_connection},
    {"V35", "ep divides the experts", ep_has_experts},
    {"V36", "the fused loss is not Transformer Engine's", loss_is_fused_natively},
    {"V37", "there is one source of data", data_is_one},
    {"V38", "latent attention has no groups of queries", latent_has_no_groups},
    {"V39", "an optimizer on the CPU is the precision-aware one", offload_has_its_optimizer},
    {"V43", "prediction modules have rotary positions or none", predictions_know_positions},
    {"V44", "a graph of the iteration has no modules, and no checks for NaN",
     graphs_of_iterations_are_whole},
    {"V45", "graphs with expandable segments have NCCL_GRAPH_REGISTER=0", graphs_register_nothing},
    {"V46", "delayed weight gradients in a graph have attention without biases",
     delayed_graphs_have_no_biases},
    {"B1", "the batch divides by micro batch and dp", batch_divides},
    {"B2", "there is a microbatch", has_microbatches},
    {"G1", "tp pp cp divides the world", world_divides},
    {"G2", "etp ep pp divides the world", expert_ranks_divide},
    {"G5", "stages inside replicas have tp cp = etp ep", grids_agree},
    {"G6", "optimizer instances divide the replicas, of experts too", instances_divide},
    {"C1", "tp divides the heads", heads_divide},
    {"C2", "tp divides the query groups, or they divide tp", groups_divide},
    {"C3", "a layout holds every layer once", layout_has_everything},
    {"C4", "first and last stages leave layers that divide", uneven_ends_divide},
    {"C5", "layers with embedding and loss divide into chunks", counted_ends_divide},
    {"C6", "full recomputation has a method and layers, others have neither, modules suit",
     recomputation_is_whole},
    {"C10", "an expert width has experts", expert_width_has_experts},
    {"C11", "experts with biases have etp = 1", biased_experts_are_whole},
    {"C12", "the dispatcher can do what is asked of it", dispatcher_suits},
    {"C13", "a capacity has a loss that suits it", capacity_suits},
    {"C14", "a bias of experts has sigmoid scores", correction_suits},
    {"C15", "the one expert of a token has its softmax before the choice", one_expert_has_weight},
    {"C16", "groups of experts divide them", expert_groups_divide},
    {"C17", "every balancing loss has a coefficient", balancing_has_weights},
    {"C18", "expert communication overlaps with ep, without full recomputation, interleaved",
     ep_overlap_suits},
    {"C19", "delayed weight gradients have overlapped expert communication", delay_has_overlap},
    {"C20", "deferred embedding gradients have stages and fused sums", deferral_has_stages},
    {"C21", "a context exchange is said once or for each layer", context_words_suit},
    {"C25", "latent attention has fused rotation with YaRN alone, never interleaved",
     latent_rotation_suits},
    {"C26", "plain attention has rope type rope", rotation_suits},
    {"C27", "graphs capture modules that the model has and whose shapes are fixed",
     graph_modules_suit},
    {"C28", "graphs have no full recomputation, and none of captured routers or with dropout",
     graphs_suit_recomputation},
    {"C29", "graphs offload no norms, and a whole one limits its copies", graphs_suit_offloading},
    {"C30", "a capacity of ranks has HybridEP and fused experts", rank_capacity_suits},
    {"C31", "layers of experts have experts", expert_letters_have_experts},
    {"C32", "tp and cp divide the heads and groups of Mamba-2, and 16 its projection in 8 bits",
     mamba_heads_divide},
    {"L1", "layers divide into virtual stages", virtual_stages_divide},
    {"L2", "no stage has less than no layers", stages_are_not_negative},
    {"L3", "the stages hold all layers", stages_hold_all_layers},
    {"S1", "a group of microbatches fills the stages and is there", group_is_full},
    {"S2", "the last group of microbatches fills the stages", last_group_suffices},
    {"F1", "experts with tp > 1 have sequence parallelism", experts_have_sp},
    {"F2", "tp divides the feed-forward width", dense_width_divides},
    {"F3", "etp divides the experts' width", expert_width_divides},
    {"F4", "tp divides the shared experts' width", shared_width_divides},
    {"F5", "tp divides a context rank's sequence", sequence_parts_divide},
    {"F6", "cp divides the heads that are exchanged", heads_reach_all_contexts},
    {"F6", "the exchange has the name that its kernel knows", exchange_is_known},
    {"F7", "ep divides the experts", experts_divide},
    {"F8", "there are as many experts as a token goes to", enough_experts},
    {"F10", "fused experts are whole, gated or squared, on the device, and have their kernel",
     fused_experts_suit},
    {"F9", "attention has a kernel for its contexts, sinks and widths", has_a_kernel},
};

static const char *first_broken(launch *l, char sentence[MEGATRON_SENTENCE_SIZE])
{
    read_degrees(l);
    read_model(l);
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        if (rules[r].holds(l))
            continue;
        snprintf(sentence, MEGATRON_SENTENCE_SIZE, "must hold: %s", rules[r].says);
        return rules[r].number;
    }
    return NULL;
}

bool megatron_check(const char *text, int world, int arch, megatron_finding *found)
{
    megatron_args *const args = malloc(sizeof *args);
    launch *const l = calloc(1, sizeof *l);

    *found = (megatron_finding){.rule = "memory"};
    if (args != NULL && l != NULL) {
        l->args = args;
        l->world = world;
        l->arch = arch;
        found->rule = "flags";
        if (megatron_args_read(text, args, found->sentence))
            found->rule = first_broken(l, found->sentence);
    }
    free(args);
    free(l);
    return found->rule == NULL;
}
