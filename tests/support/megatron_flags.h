/*
 * megatron_flags.h - what the command lines of pretrain_gpt and pretrain_hybrid take, as far as a
 * launch may use it
 *
 * Types, defaults and choices are those that the parser of Megatron-LM d98e8a6 (2026-08-22) has,
 * printed from it. A flag that is not in the list is one that a launch should not have.
 *
 *     X(name, kind, default, choices)    --name with '-' for '_'; choices, blanks between them
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* clang-format off */
#define MEGATRON_FLAGS(X) \
    /* Model shape */                                                                             \
    X(num_layers, INT, "", "")                                                                    \
    X(hidden_size, INT, "", "")                                                                   \
    X(ffn_hidden_size, INT, "", "")                                                               \
    X(num_attention_heads, INT, "", "")                                                           \
    X(kv_channels, INT, "", "")                                                                   \
    X(group_query_attention, SWITCH, "", "")                                                      \
    X(num_query_groups, INT, "1", "")                                                             \
    X(seq_length, INT, "", "")                                                                    \
    X(max_position_embeddings, INT, "", "")                                                       \
    X(vocab_size, INT, "", "")                                                                    \
    X(padded_vocab_size, INT, "", "")                                                             \
    X(make_vocab_size_divisible_by, INT, "128", "")                                               \
    X(untie_embeddings_and_output_weights, SWITCH, "", "")                                        \
    X(swiglu, SWITCH, "", "")                                                                     \
    X(squared_relu, SWITCH, "", "")                                                               \
    X(quick_geglu, SWITCH, "", "")                                                                \
    X(disable_bias_linear, SWITCH, "", "")                                                        \
    X(add_qkv_bias, SWITCH, "", "")                                                               \
    X(normalization, TEXT, "LayerNorm", "LayerNorm RMSNorm")                                      \
    X(qk_layernorm, SWITCH, "", "")                                                               \
    X(position_embedding_type, TEXT, "learned_absolute",                                          \
      "learned_absolute rope yarn mrope relative none")                                           \
    X(rotary_base, INT, "10000", "")                                                              \
    X(rotary_percent, FLOAT, "1", "")                                                             \
    X(use_rope_scaling, SWITCH, "", "")                                                           \
    X(window_size, TEXT, "", "")                                                                  \
    X(window_attn_skip_freq, PATTERN, "", "")                                                     \
    X(softmax_type, TEXT, "vanilla", "vanilla off-by-one learnable")                              \
    X(attention_dropout, FLOAT, "0.1", "")                                                        \
    X(hidden_dropout, FLOAT, "0.1", "")                                                           \
    X(transformer_impl, TEXT, "transformer_engine",                                               \
      "local transformer_engine inference_optimized")                                             \
    X(attention_backend, TEXT, "auto", "flash fused unfused local auto")                          \
    X(flash_attention_version, INT, "", "2 3 4")                                                  \
    X(mtp_num_layers, INT, "", "")                                                                \
    X(spec, TEXTS, "", "")                                                                        \
    /* Hybrids (Nemotron-H, Granite 4) */                                                         \
    X(hybrid_layer_pattern, TEXT, "", "")                                                         \
    X(mamba_state_dim, INT, "128", "")                                                            \
    X(mamba_head_dim, INT, "64", "")                                                              \
    X(mamba_num_groups, INT, "8", "")                                                             \
    X(mamba_num_heads, INT, "", "")                                                               \
    X(moe_latent_size, INT, "", "")                                                               \
    /* Multi-latent attention (DeepSeek-V2/V3, Kimi-K2) */                                        \
    X(multi_latent_attention, SWITCH, "", "")                                                     \
    X(q_lora_rank, INT, "", "")                                                                   \
    X(kv_lora_rank, INT, "32", "")                                                                \
    X(qk_head_dim, INT, "128", "")                                                                \
    X(qk_pos_emb_head_dim, INT, "64", "")                                                         \
    X(v_head_dim, INT, "128", "")                                                                 \
    X(rotary_scaling_factor, FLOAT, "1", "")                                                      \
    X(mscale, FLOAT, "1", "")                                                                     \
    X(mscale_all_dim, FLOAT, "0", "")                                                             \
    X(rope_type, TEXT, "", "rope yarn")                                                           \
    /* Parallel degrees */                                                                        \
    X(tensor_model_parallel_size, INT, "1", "")                                                   \
    X(pipeline_model_parallel_size, INT, "1", "")                                                 \
    X(context_parallel_size, INT, "1", "")                                                        \
    X(expert_model_parallel_size, INT, "1", "")                                                   \
    X(expert_tensor_parallel_size, INT, "", "")                                                   \
    X(sequence_parallel, SWITCH, "", "")                                                          \
    X(num_layers_per_virtual_pipeline_stage, INT, "", "")                                         \
    X(num_virtual_stages_per_pipeline_rank, INT, "", "")                                          \
    X(pipeline_model_parallel_layout, TEXT, "", "")                                               \
    X(decoder_first_pipeline_num_layers, INT, "", "")                                             \
    X(decoder_last_pipeline_num_layers, INT, "", "")                                              \
    X(account_for_embedding_in_pipeline_split, SWITCH, "", "")                                    \
    X(account_for_loss_in_pipeline_split, SWITCH, "", "")                                         \
    X(microbatch_group_size_per_virtual_pipeline_stage, INT, "", "")                              \
    X(no_overlap_p2p_communication, SWITCH, "", "")                                               \
    X(overlap_p2p_communication_warmup_flush, SWITCH, "", "")                                     \
    X(cp_comm_type, TEXTS, "p2p", "p2p a2a allgather all_gather a2a+p2p")                                    \
    X(hierarchical_context_parallel_sizes, INTS, "", "")                                          \
    X(hybrid_context_parallel, SWITCH, "", "")                                                    \
    X(use_tp_pp_dp_mapping, SWITCH, "", "")                                                       \
    X(tensor_parallel_num_weight_shards, INT, "", "")                                             \
    X(expert_tensor_parallel_num_weight_shards, INT, "", "")                                      \
    X(num_distributed_optimizer_instances, INT, "1", "")                                          \
    X(pipeline_model_parallel_comm_backend, TEXT, "", "nccl ucc")                                 \
    /* Batch */                                                                                   \
    X(micro_batch_size, INT, "", "")                                                              \
    X(global_batch_size, INT, "", "")                                                             \
    X(step_batch_size_schedule, TEXT, "", "")                                                     \
    X(rampup_batch_size, INTS, "", "")                                                            \
    X(decrease_batch_size_if_needed, SWITCH, "", "")                                              \
    X(eval_global_batch_size, INT, "", "")                                                        \
    X(eval_micro_batch_size, INT, "", "")                                                         \
    X(train_iters, INT, "", "")                                                                   \
    X(train_samples, INT, "", "")                                                                 \
    /* Activation memory */                                                                       \
    X(recompute_activations, SWITCH, "", "")                                                      \
    X(recompute_granularity, TEXT, "", "full selective")                                          \
    X(recompute_method, TEXT, "", "uniform block")                                                \
    X(recompute_num_layers, INT, "", "")                                                          \
    X(recompute_modules, TEXTS, "", "")                                                           \
    X(distribute_saved_activations, SWITCH, "", "")                                               \
    X(cpu_offloading_num_layers, INT, "0", "")                                                    \
    X(fine_grained_activation_offloading, SWITCH, "", "")                                         \
    X(offload_modules, TEXTS, "",                                                                 \
      "core_attn attn_proj expert_fc1 fused_group_mlp moe_act attn_norm mlp_norm "                \
      "qkv_linear gdp_qkv")                                                                       \
    X(moe_paged_stash, SWITCH, "", "")                                                            \
    X(moe_layer_recompute, SWITCH, "", "")                                                        \
    /* Data parallel, optimizer, sharding */                                                      \
    X(use_distributed_optimizer, SWITCH, "", "")                                                  \
    X(overlap_grad_reduce, SWITCH, "", "")                                                        \
    X(overlap_param_gather, SWITCH, "", "")                                                       \
    X(overlap_param_gather_with_optimizer_step, SWITCH, "", "")                                   \
    X(ddp_bucket_size, INT, "", "")                                                               \
    X(ddp_num_buckets, INT, "", "")                                                               \
    X(ddp_average_in_collective, SWITCH, "", "")                                                  \
    X(no_align_grad_reduce, SWITCH, "", "")                                                       \
    X(disable_align_grad_reduce, SWITCH, "", "")                                                  \
    X(grad_reduce_in_bf16, SWITCH, "", "")                                                        \
    X(accumulate_allreduce_grads_in_fp32, SWITCH, "", "")                                         \
    X(no_gradient_accumulation_fusion, SWITCH, "", "")                                            \
    X(use_megatron_fsdp, SWITCH, "", "")                                                          \
    X(megatron_fsdp_version, INT, "1", "1 2")                                                     \
    X(data_parallel_sharding_strategy, TEXT, "optim_grads_params",                                \
      "no_shard optim optim_grads optim_grads_params")                                            \
    X(use_torch_fsdp2, SWITCH, "", "")                                                            \
    X(torch_fsdp2_no_reshard_after_forward, SWITCH, "", "")                                       \
    X(fsdp_double_buffer, SWITCH, "", "")                                                         \
    X(use_nccl_ub, SWITCH, "", "")                                                                \
    X(init_model_with_meta_device, SWITCH, "", "")                                                \
    X(ckpt_format, TEXT, "torch_dist", "torch torch_dist torch_dcp fsdp_dtensor")                 \
    X(optimizer, TEXT, "adam", "adam sgd muon dist_muon lion soap adaptive_muon")                 \
    X(use_precision_aware_optimizer, SWITCH, "", "")                                              \
    X(main_grads_dtype, TEXT, "fp32", "fp32 bf16")                                                \
    X(main_params_dtype, TEXT, "fp32", "fp32 fp16")                                               \
    X(exp_avg_dtype, TEXT, "fp32", "fp32 fp16 bf16 fp8")                                          \
    X(exp_avg_sq_dtype, TEXT, "fp32", "fp32 fp16 bf16 fp8")                                       \
    X(optimizer_cpu_offload, SWITCH, "", "")                                                      \
    X(optimizer_offload_fraction, FLOAT, "1", "")                                                 \
    X(overlap_cpu_optimizer_d2h_h2d, SWITCH, "", "")                                              \
    X(disable_gloo_process_groups, SWITCH, "", "")                                                \
    /* Precision, kernels, overlap */                                                             \
    X(bf16, SWITCH, "", "")                                                                       \
    X(fp16, SWITCH, "", "")                                                                       \
    X(fp8_format, TEXT, "", "e4m3 hybrid")                                                        \
    X(fp8_recipe, TEXT, "delayed", "tensorwise delayed mxfp8 blockwise custom")                   \
    X(fp8_param_gather, SWITCH, "", "")                                                           \
    X(fp8_amax_history_len, INT, "1", "")                                                         \
    X(fp8_amax_compute_algo, TEXT, "most_recent", "most_recent max")                              \
    X(reuse_grad_buf_for_mxfp8_param_ag, SWITCH, "", "")                                          \
    X(first_last_layers_bf16, SWITCH, "", "")                                                     \
    X(fp4_format, TEXT, "", "e2m1")                                                               \
    X(cross_entropy_loss_fusion, SWITCH, "", "")                                                  \
    X(cross_entropy_fusion_impl, TEXT, "native", "native te")                                     \
    X(tp_comm_overlap, SWITCH, "", "")                                                            \
    X(tp_comm_overlap_cfg, TEXT, "", "")                                                          \
    X(tp_comm_bootstrap_backend, TEXT, "nccl", "nccl mpi gloo")                                   \
    X(defer_embedding_wgrad_compute, SWITCH, "", "")                                              \
    X(wgrad_deferral_limit, INT, "0", "")                                                         \
    X(delay_wgrad_compute, SWITCH, "", "")                                                        \
    X(overlap_moe_expert_parallel_comm, SWITCH, "", "")                                           \
    X(ep_overlap_early_attn_memory_release, SWITCH, "", "")                                       \
    X(overlap_dispatch_backward_with_experts_wgrad, SWITCH, "", "")                               \
    X(cuda_graph_impl, TEXT, "none", "none local transformer_engine full_iteration")              \
    X(cuda_graph_modules, TEXTS, "", "attn mlp moe moe_router moe_preprocess mamba")              \
    X(no_check_for_nan_in_loss_and_grad, SWITCH, "", "")                                          \
    X(te_rng_tracker, SWITCH, "", "")                                                             \
    X(use_transformer_engine_op_fuser, SWITCH, "", "")                                            \
    X(fine_grained_offloading_max_inflight_offloads, INT, "", "")                                 \
    X(deterministic_mode, SWITCH, "", "")                                                         \
    X(distributed_timeout_minutes, INT, "10", "")                                                 \
    X(manual_gc, SWITCH, "", "")                                                                  \
    X(manual_gc_interval, INT, "0", "")                                                           \
    /* Mixture of experts */                                                                      \
    X(num_experts, INT, "", "")                                                                   \
    X(moe_router_topk, INT, "2", "")                                                              \
    X(moe_ffn_hidden_size, INT, "", "")                                                           \
    X(moe_shared_expert_intermediate_size, INT, "", "")                                           \
    X(moe_shared_expert_overlap, SWITCH, "", "")                                                  \
    X(moe_layer_freq, PATTERN, "1", "")                                                           \
    X(moe_grouped_gemm, SWITCH, "", "")                                                           \
    X(moe_token_dispatcher_type, TEXT, "allgather", "allgather alltoall flex")                    \
    X(moe_flex_dispatcher_backend, TEXT, "deepep", "deepep hybridep ncclep")                      \
    X(moe_enable_deepep, SWITCH, "", "")                                                          \
    X(moe_expert_capacity_factor, FLOAT, "", "")                                                  \
    X(moe_pad_expert_input_to_capacity, SWITCH, "", "")                                           \
    X(moe_mlp_glu_interleave_size, INT, "", "")                                                   \
    X(moe_expert_rank_capacity_factor, FLOAT, "", "")                                             \
    X(moe_paged_stash_buffer_size_factor_cuda, FLOAT, "1.1", "")                                  \
    X(moe_paged_stash_buffer_size_factor_cpu, FLOAT, "0", "")                                     \
    X(moe_router_load_balancing_type, TEXTS, "aux_loss",                                          \
      "aux_loss seq_aux_loss global_aux_loss sinkhorn quantile_balancing none")                   \
    X(moe_aux_loss_coeff, FLOATS, "0", "")                                                        \
    X(moe_router_bias_update_rate, FLOAT, "0.001", "")                                            \
    X(mtp_loss_scaling_factor, FLOAT, "0.1", "")                                                  \
    X(moe_router_score_function, TEXT, "softmax", "softmax sigmoid sqrtsoftplus")                 \
    X(moe_apply_probs_on_input, SWITCH, "", "")                                              \
    X(moe_router_enable_expert_bias, SWITCH, "", "")                                              \
    X(moe_router_num_groups, INT, "", "")                                                         \
    X(moe_router_group_topk, INT, "", "")                                                         \
    X(moe_router_topk_scaling_factor, FLOAT, "", "")                                              \
    X(moe_router_pre_softmax, SWITCH, "", "")                                                     \
    X(moe_router_dtype, TEXT, "", "fp32 fp64")                                                    \
    X(moe_permute_fusion, SWITCH, "", "")                                                         \
    X(moe_router_padding_for_quantization, SWITCH, "", "")                                        \
    X(moe_router_fusion, SWITCH, "", "")                                                          \
    X(moe_router_force_load_balancing, SWITCH, "", "")                                            \
    /* Others */                                                                                  \
    X(no_rope_fusion, SWITCH, "", "")                                                             \
    X(no_masked_softmax_fusion, SWITCH, "", "")                                                   \
    X(no_create_attention_mask_in_dataloader, SWITCH, "", "")                                     \
    X(norm_epsilon, FLOAT, "1e-05", "")                                                           \
    X(init_method_std, FLOAT, "0.02", "")                                                         \
    X(qk_l2_norm, SWITCH, "", "")                                                                 \
    X(attention_output_gate, SWITCH, "", "")                                                      \
    X(experimental_attention_variant, TEXT, "", "gdn gdn2 dsa gated_delta_net")                   \
    X(dsa_indexer_n_heads, INT, "", "")                                                           \
    X(dsa_indexer_head_dim, INT, "", "")                                                          \
    X(dsa_indexer_topk, INT, "", "")                                                              \
    X(linear_attention_freq, PATTERN, "", "")                                                     \
    X(linear_num_key_heads, INT, "16", "")                                                        \
    X(linear_num_value_heads, INT, "32", "")                                                      \
    X(linear_key_head_dim, INT, "128", "")                                                        \
    X(linear_value_head_dim, INT, "128", "")                                                      \
    X(linear_conv_kernel_dim, INT, "4", "")                                                       \
    X(no_rope_freq, PATTERN, "", "")                                                              \
    X(rotary_interleaved, SWITCH, "", "")                                                         \
    X(rotary_seq_len_interpolation_factor, INT, "", "")                                           \
    X(rope_scaling_factor, FLOAT, "8", "")                                                        \
    X(yarn_original_max_position_embeddings, INT, "", "")                                         \
    X(yarn_beta_fast, FLOAT, "", "")                                                              \
    X(yarn_beta_slow, FLOAT, "", "")                                                              \
    X(glu_linear_offset, FLOAT, "0", "")                                                          \
    X(activation_func_clamp_value, FLOAT, "", "")                                                 \
    X(moe_shared_expert_gate, SWITCH, "", "")                                                     \
    X(mock_data, SWITCH, "", "")                                                                  \
    X(data_path, TEXTS, "", "")                                                                   \
    X(train_data_path, TEXTS, "", "")                                                             \
    X(valid_data_path, TEXTS, "", "")                                                             \
    X(test_data_path, TEXTS, "", "")                                                              \
    X(tokenizer_type, TEXT, "",                                                                   \
      "BertWordPieceLowerCase BertWordPieceCase GPT2BPETokenizer "                                \
      "SentencePieceTokenizer GPTSentencePieceTokenizer HuggingFaceTokenizer "                    \
      "Llama2Tokenizer TikTokenizer MultimodalTokenizer NullTokenizer "                           \
      "NullMultimodalTokenizer SFTTokenizer")                                                     \
    X(tokenizer_model, TEXT, "", "")                                                              \
    X(lr, FLOAT, "", "")                                                                          \
    X(min_lr, FLOAT, "0", "")                                                                     \
    X(lr_decay_style, TEXT, "linear", "constant linear cosine inverse-square-root WSD")           \
    X(lr_decay_iters, INT, "", "")                                                                \
    X(lr_wsd_decay_style, TEXT, "exponential", "exponential linear cosine minus_sqrt")            \
    X(lr_wsd_decay_iters, INT, "", "")                                                            \
    X(lr_decay_samples, INT, "", "")                                                              \
    X(lr_warmup_fraction, FLOAT, "", "")                                                          \
    X(lr_warmup_iters, INT, "0", "")                                                              \
    X(lr_warmup_samples, INT, "0", "")                                                            \
    X(weight_decay, FLOAT, "0.01", "")                                                            \
    X(adam_beta1, FLOAT, "0.9", "")                                                               \
    X(adam_beta2, FLOAT, "0.999", "")                                                             \
    X(adam_eps, FLOAT, "1e-08", "")                                                               \
    X(clip_grad, FLOAT, "1", "")                                                                  \
    X(eval_iters, INT, "100", "")                                                                 \
    X(eval_interval, INT, "", "")                                                                 \
    X(log_interval, INT, "100", "")                                                               \
    X(save, TEXT, "", "")                                                                         \
    X(load, TEXT, "", "")                                                                         \
    X(save_interval, INT, "", "")                                                                 \
    X(seed, INT, "1234", "")                                                                      \
    X(fp4_recipe, TEXT, "nvfp4", "nvfp4 custom")                                                  \
    X(fp4_param_gather, SWITCH, "", "")                                                           \
    X(moe_z_loss_coeff, FLOAT, "", "")
/* clang-format on */

typedef enum megatron_flag {
#define X(name, kind, otherwise, choices) FLAG_##name,
    MEGATRON_FLAGS(X)
#undef X
        MEGATRON_FLAG_COUNT
} megatron_flag;

enum { MEGATRON_VALUE_SIZE = 1024, MEGATRON_SENTENCE_SIZE = 240 };

/** One launch, read: what is not given has its default as value. */
typedef struct megatron_args {
    bool given[MEGATRON_FLAG_COUNT];
    char value[MEGATRON_FLAG_COUNT][MEGATRON_VALUE_SIZE]; /* words of a list, one blank between */
    // environment variables; "" when one is not set
    char connections[16];    /* CUDA_DEVICE_MAX_CONNECTIONS */
    char graph_register[16]; /* NCCL_GRAPH_REGISTER */
    char fused_experts[16];  /* NVTE_CUTEDSL_FUSED_GROUPED_MLP */
} megatron_args;

/** Read args.sh; false with a sentence when the parser would refuse it. */
bool megatron_args_read(const char *text, megatron_args *args,
                        char sentence[MEGATRON_SENTENCE_SIZE]);

/** Of a number that is not given and has no default, 0. */
int megatron_int(const megatron_args *args, megatron_flag flag);
double megatron_number(const megatron_args *args, megatron_flag flag);

bool megatron_is(const megatron_args *args, megatron_flag flag, const char *value);

/** Words of a list, and whether one of them is `word`. */
int megatron_words(const megatron_args *args, megatron_flag flag);
bool megatron_has_word(const megatron_args *args, megatron_flag flag, const char *word);
