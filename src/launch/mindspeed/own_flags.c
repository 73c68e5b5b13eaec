/*
 * own_flags.c - flags that MindSpeed and MindSpeed-LLM add to Megatron-LM's
 *
 * Names of mindspeed_llm/features_manager at c77308a (2026-08-21) and of mindspeed/features_manager at
 * 028de58 (2026-07-21), as destinations. What is neither here nor translated nor Megatron-LM's is warned of.
 */
#include "launch/mindspeed/mindspeed.h"

static const char *const idle[] = {
    // kernels that the profile counts on
    "use_fused_rmsnorm", "use_fused_swiglu", "use_fused_rotary_pos_emb", "use_ascend_mc2",
    "use_mc2", "use_ascend_coc", "coc_fused_kernel", "coc_mode", "coc_parallel_num",
    "gemm_gradient_accumulation_fusion", "use_fused_ring_attention_update",
    "use_cp_send_recv_overlap", "use_fused_moe_token_permute_and_unpermute",
    "moe_permutation_async_comm", "megatron_cp_in_bnsd", "cp_window_size", "shape_order",
    "sparse_mode", "pre_tockens", "next_tockens", "attention_mask_type", "cp_attention_mask_type",
    "kv_head_repeat_before_uly_alltoall", "optimize_send_recv_comm", "mla_fa_without_pad",
    "mla_fa_divide_qk", "mla_mm_split", "padded_base_length", "jit_compile", "hccl_group_buffer",
    "hccl_group_buffer_adaptive", "hccl_ep_group_buffer_adaptive_factor", "hccl_op_mode",
    "optimizer_selection", "optimization_level", "te_gmm_mode", "no_use_gmm_fp8",
    // numbers and choices of a model that cost nothing
    "norm_topk_prob", "seq_aux", "moe_device_level_aux_loss_coeff", "moe_comm_aux_loss_coeff",
    "router_gating_in_fp32", "moe_revert_type_after_topk", "topk_softmax_in_fp32", "fix_router",
    "use_global_aux_loss", "low_freq_factor", "high_freq_factor",
    "original_max_position_embeddings", "dynamic_factor", "use_glm_rope", "add_rmsnorm_offset",
    "input_layernorm_in_fp32", "rmsnorm_weight_in_fp32", "init_norm_weight_in_fp32",
    "embedding_multiplier_scale", "output_multiplier_scale", "scale_emb", "scale_depth",
    "dim_model_base", "input_jitter", "skip_bias_add", "query_pre_attn_scalar",
    "shared_expert_gate_output_dimension", "mtp_mem_efficient_logits", "mtp_spec",
    // data, checkpoints, logs
    "handler_name", "tokenizer_name_or_path", "tokenizer_not_use_fast", "tokenizer_padding_side",
    "is_instruction_dataset", "prompt_type", "prompt_type_path", "pad_to_multiple_of",
    "variable_seq_lengths", "no_pad_to_seq_lengths", "reset_attention_mask", "neat_pack", "pack",
    "padded_samples", "fix_sub_seq_length", "dataset_additional_keys", "enable_thinking",
    "reasoning_effort", "drop_thinking", "full_shuffle_instruction_dataset", "no_shuffle", "stage",
    "no_shared_storage", "enable_hf2mg_convert", "enable_mg2hf_convert", "model_type_hf",
    "hf_cfg_dir", "hf_save_dir", "mg_save_dir", "load_checkpoint_loosely", "ckpt_cfg_path",
    "disable_gloo_group", "distributed_optimizer_no_replica", "npu_deterministic", "use_deter_comp",
    "npu_datadump", "profile_level", "profile_with_cpu", "profile_with_memory",
    "profile_with_stack", "profile_record_shapes", "profile_save_path", "profile_export_type",
    "profile_data_simplification", "op_cal_tflops", "print_expert_load", "use_wandb",
    "enable_high_availability", "enable_hbmfault_repair", "enable_worker_reboot",
    "enable_elastic_training", "log_throughput", "spec", "ai_framework", NULL};

static const char *const unpriced[] = {
    // memory
    "recompute_activation_function", "recompute_activation_function_num_layers", "recompute_norm",
    "recompute_norm_num_layers", "recompute_in_bubble", "recompute_in_advance",
    "enable_recompute_layers_per_pp_rank", "recompute_mla_up_proj", "mla_zero_memory",
    "moe_zero_memory", "moe_zero_memory_num_layers", "swap_attention", "swap_modules",
    "swap_optimizer", "swap_optimizer_times", "swap_layer_input", "smart_swap", "virtual_optimizer",
    "reuse_fp32_param", "o2_optimizer", "o2_gradient", "quant_states", "quant_grads",
    "moe_unperm2_mem_optim_swap", "mla_swap_core_attn_out", "loss_compute_mode", "loss_chunk_size",
    "adaptive_recompute_device_size", "compress_activation", "compress_optimizer", "compress_dense",
    // parallelism and overlap
    "schedules_method", "dualpipev_dw_detach", "noop_layers", "moe_fb_overlap", "moe_tp_extend_ep",
    "moe_alltoall_overlap_comm", "moe_allgather_overlap_comm", "moe_alltoall_mc2",
    "balanced_moe_experts", "tp_2d", "tp_x", "tp_y", "nd1_dim1_size", "nd2_dim1_size",
    "context_parallel_kv_cache_policy", "context_parallel_cache_interval",
    "use_ulysses_allgather_kv", "mla_up_proj_tp_overlap", "pipeline_num_transformer_layers",
    "use_multiparameter_pipeline_model_parallel", "automated_pipeline", "layerzero",
    "layerzero_config", "unaligned_linear", "async_log_allreduce",
    // models and training of another kind
    "sliding_window", "interleave_sliding_window", "enable_dsa_indexer", "index_n_heads",
    "index_head_dim", "index_topk", "full_attention_interval", "num_zero_experts", "post_norm",
    "geglu", "gelu_tanh", "attn_logit_softcapping", "output_logit_softcapping",
    "partial_rotary_factor", "cla_share_factor", "share_kvstates", "input_embeds_norm",
    "enable_mhc", "n_hash_layers", "swiglu_limit", "qat_scheme", NULL};

bool mindspeed_flag_is_idle(const char *name)
{
    return text_index(name, idle) >= 0;
}

bool mindspeed_flag_is_unpriced(const char *name)
{
    return text_index(name, unpriced) >= 0;
}
