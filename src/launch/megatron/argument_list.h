/*
 * argument_list.h - Megatron-LM's arguments, one a line, in the order in which a launch writes them
 *
 * arguments.h and arguments.c include this file with macros for the kinds of values, and thereby
 * define the fields of megatron_args and the rows of the table. The file undefines these macros. A
 * line has the field's name, its default (NULL: none) and N of Megatron Core 0.N, the first release
 * whose parser has the flag; 0: no release has it. Other members of argument_row follow. Arguments
 * with N = 4 may be older than 0.4.
 *
 * Names, kinds and defaults are those of NVIDIA/Megatron-LM d98e8a6 (2026-08-22). A launch omits an
 * argument that has Megatron's default, unless the default is unusual in today's models, such as
 * dropout 0.1 or learned positions.
 */
// clang-format off
INT(num_layers, NULL, 4, .most = PLAIT_MAX_LAYERS, .group = "model")
INT(hidden_size, NULL, 4, .most = 1 << 20)
// 0: 4 hidden_size, or two thirds of that if the layers are gated
INT(ffn_hidden_size, NULL, 4, .least = 1, .most = WIDTH)
INT(seq_length, NULL, 4, .least = 1, .most = PLAIT_MAX_SEQ)
INT(max_position_embeddings, NULL, 4, .most = 1 << 26)
INT(vocab_size, NULL, 4, .most = 1 << 24)
INT(padded_vocab_size, NULL, 14, .most = 1 << 24)
INT(extra_vocab_size, NULL, 0, .most = 1 << 24) // tokens that a fork adds to the tokenizer's
// always written, since memory depends on it
INT(make_vocab_size_divisible_by, "128", 4, ANY, ALWAYS)
SWITCH(untie_embeddings_and_output_weights, 4)
INT(mtp_num_layers, NULL, 12, .most = 64)
NUMBER(mtp_loss_scaling_factor, "0.1", 12, .placeholder = true)
// one letter per mixer and feed-forward part, with | between chunks and / before each MTP module;
// pretrain_hybrid.py, which needs a spec, and --num-layers of older releases follow from it
WORD(hybrid_layer_pattern, NULL, 17) // "MEM*E|MEM*E/E"
WORDS(spec, NULL, 18, .placeholder = true)
INT(mamba_state_dim, "128", 12, .least = 1, .most = DIM, WITH(mamba_num_heads))
INT(mamba_head_dim, "64", 12, .least = 1, .most = DIM, WITH(mamba_num_heads))
INT(mamba_num_groups, "8", 12, .least = 1, .most = HEADS, WITH(mamba_num_heads))
INT(mamba_num_heads, NULL, 13, .least = 1, .most = HEADS) // 0: 2 hidden_size / mamba_head_dim

INT(num_attention_heads, NULL, 4, .least = 1, .most = HEADS, .group = "attention and positions")
SWITCH(multi_latent_attention, 10)
INT(q_lora_rank, NULL, 10, .most = 1 << 20)
INT(kv_lora_rank, "32", 10, .most = 1 << 20, WITH(multi_latent_attention))
INT(qk_head_dim, "128", 10, .most = DIM, WITH(multi_latent_attention))
INT(qk_pos_emb_head_dim, "64", 10, .most = DIM, WITH(multi_latent_attention))
INT(v_head_dim, "128", 10, .most = DIM, WITH(multi_latent_attention))
INT(kv_channels, NULL, 4, .least = 1, .most = DIM) // 0: hidden_size / num_attention_heads
SWITCH(group_query_attention, 4)
// only with group_query_attention
INT(num_query_groups, "1", 4, .least = 1, .most = HEADS, WITH(group_query_attention))
SWITCH(qk_layernorm, 6)
SWITCH(qk_l2_norm, 13)
SWITCH(attention_output_gate, 16)
WORD(softmax_type, "vanilla", 15)
WORD(experimental_attention_variant, NULL, 16)
INT(dsa_indexer_n_heads, NULL, 16, .most = HEADS)
INT(dsa_indexer_head_dim, NULL, 16, .most = DIM)
INT(dsa_indexer_topk, NULL, 16, .most = 1 << 30)
LIST(linear_attention_freq, NULL, 16)
INT(linear_num_key_heads, "16", 16, .most = HEADS, WITH(linear_attention_freq))
INT(linear_num_value_heads, "32", 16, .most = HEADS, WITH(linear_attention_freq))
INT(linear_key_head_dim, "128", 16, .most = DIM, WITH(linear_attention_freq))
INT(linear_value_head_dim, "128", 16, .most = DIM, WITH(linear_attention_freq))
INT(linear_conv_kernel_dim, "4", 16, .most = 1 << 10, WITH(linear_attention_freq))
WORD(window_size, NULL, 15) // "127,0": tokens before and after a query's own
LIST(window_attn_skip_freq, NULL, 15)
WORD(position_embedding_type, "learned_absolute", 4, ALWAYS)
WHOLE(rotary_base, "10000", 8, ALWAYS)
NUMBER(rotary_percent, "1", 4) // a fraction, despite its name
SWITCH(rotary_interleaved, 5)
WORD(rope_type, NULL, 14) // only with MLA
ON_UNLESS("no_rope_fusion", apply_rope_fusion, 5)
WHOLE(rotary_seq_len_interpolation_factor, NULL, 4)
SWITCH(use_rope_scaling, 10) // scaling of Llama 3
NUMBER(rope_scaling_factor, "8", 11, WITH(use_rope_scaling))
// Megatron's defaults of the next three are 1, 1 and 0, which do not scale; NULL marks them as not
// given
NUMBER(rotary_scaling_factor, NULL, 10) // YaRN, up to yarn_beta_slow
NUMBER(mscale, NULL, 11)
NUMBER(mscale_all_dim, NULL, 11)
INT(yarn_original_max_position_embeddings, NULL, 19, .most = 1 << 30)
NUMBER(yarn_beta_fast, NULL, 19)
NUMBER(yarn_beta_slow, NULL, 19)
LIST(no_rope_freq, NULL, 13)

WORD(normalization, "LayerNorm", 4, ALWAYS, .group = "norms, activation, biases")
NUMBER(norm_epsilon, "1e-05", 4, ALWAYS, .also = "layernorm_epsilon")
SWITCH(quick_geglu, 15)
NUMBER(glu_linear_offset, "0", 15)
NUMBER(activation_func_clamp_value, NULL, 15)
SWITCH(swiglu, 4)
SWITCH(squared_relu, 4)
ON_UNLESS("disable_bias_linear", add_bias_linear, 4)
SWITCH(add_qkv_bias, 5)
NUMBER(attention_dropout, "0.1", 4, ALWAYS)
NUMBER(hidden_dropout, "0.1", 4, ALWAYS)
NUMBER(init_method_std, "0.02", 4, ALWAYS)

INT(num_experts, NULL, 4, .most = 1 << 16, .group = "experts")
// Megatron-DeepSpeed's: every expert_interval-th layer has experts; 0: not given
INT(expert_interval, NULL, 0, .least = 1, .most = PLAIT_MAX_LAYERS)
WORD(mlp_type, "standard", 0) // "residual": a dense layer beside each expert
INT(moe_ffn_hidden_size, NULL, 10, .most = WIDTH) // 0: ffn_hidden_size
LIST(moe_layer_freq, "1", 10)
INT(moe_latent_size, NULL, 16, .least = 1, .most = WIDTH)
INT(moe_shared_expert_intermediate_size, NULL, 10, .most = WIDTH)
SWITCH(moe_shared_expert_gate, 16)
NUMBER(moe_expert_capacity_factor, NULL, 7) // NaN: none is given
SWITCH(moe_pad_expert_input_to_capacity, 7)
INT(moe_router_topk, "2", 5, .most = 1 << 16, WITH(num_experts))
WORD(moe_router_score_function, "softmax", 11, WITH(num_experts))
SWITCH(moe_router_pre_softmax, 8)
SWITCH(moe_apply_probs_on_input, 13)
INT(moe_router_num_groups, NULL, 11, .most = 1 << 16)
INT(moe_router_group_topk, NULL, 11, .most = 1 << 16)
NUMBER(moe_router_topk_scaling_factor, NULL, 11)
SWITCH(moe_router_enable_expert_bias, 11)
WORD(moe_router_dtype, NULL, 12, .optional = true)
WORD(moe_router_load_balancing_type, "aux_loss", 5, WITH(num_experts))
NUMBER(moe_aux_loss_coeff, "0", 5)
NUMBER(moe_router_bias_update_rate, "0.001", 11, WITH(moe_router_enable_expert_bias),
       .placeholder = true)

// GPUs, in parsed arguments only; the next two, of torchrun, multiply to this number
INT(world_size, NULL, 0, .least = 1, .most = PLAIT_MAX_GPUS, .group = "parallelism")
INT(nnodes, NULL, 0, .least = 1, .most = RANKS) // of torchrun, as is gpus_per_node
INT(gpus_per_node, NULL, 0, .least = 1, .most = 1 << 12, .flag = "nproc_per_node")
INT(tensor_model_parallel_size, "1", 4, .least = 1, .most = RANKS, ALWAYS)
SWITCH(sequence_parallel, 4)
INT(pipeline_model_parallel_size, "1", 4, .least = 1, .most = STAGES, ALWAYS)
INT(num_virtual_stages_per_pipeline_rank, NULL, 11, .least = 1, .most = STAGES)
// the name of num_virtual_stages_per_pipeline_rank in parsed arguments
INT(virtual_pipeline_model_parallel_size, NULL, 0, .least = 1, .most = STAGES)
INT(num_layers_per_virtual_pipeline_stage, NULL, 4, .least = 1, .most = PLAIT_MAX_LAYERS)
WORD(pipeline_model_parallel_layout, NULL, 13) // "Et*3|t*4|t*3L"
INT(decoder_first_pipeline_num_layers, NULL, 9, .least = 1, .most = PLAIT_MAX_LAYERS)
INT(decoder_last_pipeline_num_layers, NULL, 9, .least = 1, .most = PLAIT_MAX_LAYERS)
SWITCH(account_for_embedding_in_pipeline_split, 11)
SWITCH(account_for_loss_in_pipeline_split, 11)
WORD(pp_partition_method, NULL, 0) // of DeepSpeed: "type:transformer|embedding"
INT(context_parallel_size, "1", 4, .least = 1, .most = RANKS, ALWAYS)
WORD(cp_comm_type, "p2p", 10, WITH(context_parallel_size))
WORDS(hierarchical_context_parallel_sizes, NULL, 11)
INT(expert_model_parallel_size, "1", 4, .least = 1, .most = RANKS, WITH(num_experts))
// 0: tensor_model_parallel_size
INT(expert_tensor_parallel_size, NULL, 10, .least = 1, .most = RANKS)
SWITCH(no_pipeline_parallel, 0)
SWITCH(use_tp_pp_dp_mapping, 7)

INT(micro_batch_size, NULL, 4, .least = 1, .most = PLAIT_MAX_DEGREE, .group = "batch")
INT(global_batch_size, NULL, 4, .least = 1, .most = PLAIT_MAX_GBS)

SWITCH(recompute_activations, 4, .group = "memory") // older name of the selective granularity
WORD(recompute_granularity, NULL, 4)
WORDS(recompute_modules, NULL, 12) // words with blanks between them
WORD(recompute_method, NULL, 4)
INT(recompute_num_layers, NULL, 4, .least = 0, .most = PLAIT_MAX_LAYERS) // layers per chunk
WORDS(recompute_layer_ids, NULL, 0) // only in Primus
SWITCH(fine_grained_activation_offloading, 16)
WORDS(offload_modules, NULL, 16)
INT(fine_grained_offloading_max_inflight_offloads, NULL, 18, ANY, .placeholder = true)

WORD(optimizer, "adam", 4, ALWAYS, .group = "optimizer")
SWITCH(use_distributed_optimizer, 4)
INT(num_distributed_optimizer_instances, "1", 10, .least = 1, .most = RANKS)
SWITCH(use_megatron_fsdp, 14, .also = "use_custom_fsdp")
WORD(data_parallel_sharding_strategy, "optim_grads_params", 12, WITH(use_megatron_fsdp))
WORD(ckpt_format, "torch_dist", 9)
ON_UNLESS("no_gradient_accumulation_fusion", gradient_accumulation_fusion, 4)
SWITCH(use_torch_fsdp2, 10)
ON_UNLESS("torch_fsdp2_no_reshard_after_forward", torch_fsdp2_reshard_after_forward, 13)
SWITCH(use_precision_aware_optimizer, 11)
// formats of Adam's moments
WORD(exp_avg_dtype, "fp32", 11, WITH(use_precision_aware_optimizer))
WORD(exp_avg_sq_dtype, "fp32", 11, WITH(use_precision_aware_optimizer))
SWITCH(optimizer_cpu_offload, 12)
NUMBER(optimizer_offload_fraction, "1.0", 12, .least = 0, .most = 1)
WORD(DDP_impl, NULL, 0) // up to 2023: "local" reduces at the end of the step, "torch" in buckets
SWITCH(deepspeed, 0) // DeepSpeed's engine runs the step
WORD(deepspeed_config, NULL, 0)
INT(zero_stage, "-1", 0, .least = -1, .most = 3) // stage of DeepSpeed's JSON; -1: not given

SWITCH(overlap_grad_reduce, 4, .group = "overlap and kernels")
SWITCH(overlap_param_gather, 4)
SWITCH(overlap_param_gather_with_optimizer_step, 9)
SWITCH(tp_comm_overlap, 4)
SWITCH(cross_entropy_loss_fusion, 8, .optional = true)
SWITCH(grad_reduce_in_bf16, 12) // only with bf16; fp16 reduces in fp16 unless the next is set
SWITCH(accumulate_allreduce_grads_in_fp32, 4)
SWITCH(moe_grouped_gemm, 5, .optional = true)
SWITCH(moe_permute_fusion, 11, .optional = true)
SWITCH(moe_router_fusion, 14, .optional = true) // also needs Transformer Engine 2.7
WORD(moe_token_dispatcher_type, "allgather", 6)
WORD(moe_flex_dispatcher_backend, "deepep", 16, WITH(moe_token_dispatcher_type), .optional = true)
SWITCH(moe_enable_deepep, 12) // only in releases before moe_flex_dispatcher_backend
SWITCH(overlap_moe_expert_parallel_comm, 14)
SWITCH(delay_wgrad_compute, 14)
WORD(attention_backend, "auto", 11, .optional = true)
INT(flash_attention_version, NULL, 19, ANY, .optional = true)
SWITCH(fp8_dot_product_attention, 0) // in YAML only: the parser has no flag for it
SWITCH(use_transformer_engine_op_fuser, 18)
INT(moe_mlp_glu_interleave_size, NULL, 18, ANY, .placeholder = true)
WORD(cuda_graph_impl, "none", 15)
WORDS(cuda_graph_modules, NULL, 18)
WORDS(cuda_graph_scope, NULL, 15) // older name of cuda_graph_modules, which also had full_iteration
SWITCH(te_rng_tracker, 11, .placeholder = true)
ON_UNLESS("no_check_for_nan_in_loss_and_grad", check_for_nan_in_loss_and_grad, 5,
          .placeholder = true)
NUMBER(moe_expert_rank_capacity_factor, NULL, 18, .placeholder = true)
SWITCH(moe_paged_stash, 18, .placeholder = true)
NUMBER(moe_paged_stash_buffer_size_factor_cuda, "1.1", 18, .placeholder = true)
NUMBER(moe_paged_stash_buffer_size_factor_cpu, "0", 18, .placeholder = true)
ON_UNLESS("no_masked_softmax_fusion", masked_softmax_fusion, 4)
ON_UNLESS("no_create_attention_mask_in_dataloader", create_attention_mask_in_dataloader, 6,
          .placeholder = true)

SWITCH(bf16, 4, .group = "precision")
SWITCH(fp16, 4)
WORD(fp8, NULL, 4, .flag = "fp8_format") // number format, as in fp4
WORD(fp8_recipe, "delayed", 12)
WORD(fp4, NULL, 15, .flag = "fp4_format")
WORD(fp4_recipe, "nvfp4", 15, WITH(fp4))
SWITCH(moe_router_padding_for_quantization, 16, .optional = true)
SWITCH(moe_router_padding_for_fp8, 13, .optional = true) // older name of ..._for_quantization
SWITCH(fp4_param_gather, 15)
SWITCH(fp8_param_gather, 9)
SWITCH(reuse_grad_buf_for_mxfp8_param_ag, 13)

SWITCH(mock_data, 5,
       .placeholder = true, .group = "to edit: data, tokenizer, schedule, checkpoints")
SWITCH(moe_router_force_load_balancing, 13, .placeholder = true)
WORD(tokenizer_type, NULL, 4, .placeholder = true)
WORD(tokenizer_model, NULL, 4, .placeholder = true)
WORD(tokenizer_name_or_path, NULL, 0, .placeholder = true, .also = "patch_tokenizer_type")
WORD(vocab_file, NULL, 4, .placeholder = true)
INT(train_iters, NULL, 4, ANY, .placeholder = true)
NUMBER(lr, NULL, 4, .placeholder = true)
NUMBER(min_lr, "0", 4, .placeholder = true)
WORD(lr_decay_style, "linear", 4, .placeholder = true)
WORD(lr_wsd_decay_style, "exponential", 8, .placeholder = true) // decay after a plateau
INT(lr_wsd_decay_iters, NULL, 8, ANY, .placeholder = true)
INT(lr_decay_iters, NULL, 4, ANY, .placeholder = true)
INT(lr_warmup_iters, "0", 4, ANY, .placeholder = true)
NUMBER(adam_beta1, "0.9", 4, ALWAYS, .placeholder = true)
NUMBER(adam_beta2, "0.999", 4, ALWAYS, .placeholder = true)
NUMBER(adam_eps, "1e-08", 4, ALWAYS, .placeholder = true)
NUMBER(weight_decay, "0.01", 4, ALWAYS, .placeholder = true)
NUMBER(clip_grad, "1.0", 4, ALWAYS, .placeholder = true)
INT(eval_iters, "100", 4, ANY, .placeholder = true)
INT(log_interval, "100", 4, ANY, .placeholder = true)
WORD(save, NULL, 4, .placeholder = true)
WORD(load, NULL, 4, .placeholder = true)
INT(save_interval, NULL, 4, ANY, .placeholder = true)
SWITCH(manual_gc, 4, .placeholder = true)
INT(manual_gc_interval, "0", 4, ANY, .placeholder = true)
INT(distributed_timeout_minutes, "10", 4, ANY, .placeholder = true)

INT(cpu_offloading_num_layers, "0", 16, ANY, .unpriced = true, .group = "not priced")
SWITCH(hybrid_context_parallel, 16, .unpriced = true)
INT(tensor_parallel_num_weight_shards, NULL, 19, ANY, .unpriced = true)
SWITCH(first_last_layers_bf16, 12, .unpriced = true)
WORD(step_batch_size_schedule, NULL, 18, .unpriced = true)
SWITCH(distribute_saved_activations, 4, .unpriced = true)
SWITCH(partition_activations, 0, .unpriced = true)
SWITCH(checkpoint_in_cpu, 0, .unpriced = true)
SWITCH(memory_centric_tiled_linear, 0, .unpriced = true)
SWITCH(ds_sequence_parallel_fpdt, 0, .unpriced = true)
SWITCH(random_ltd, 0, .unpriced = true)
WORDS(rampup_batch_size, NULL, 4, .unpriced = true)
SWITCH(enable_zbh1_pipeline, 0, .unpriced = true)
SWITCH(defer_embedding_wgrad_compute, 6, .unpriced = true)

#undef INT
#undef NUMBER
#undef WHOLE
#undef WORD
#undef WORDS
#undef LIST
#undef SWITCH
#undef ON_UNLESS
