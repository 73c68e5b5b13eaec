/* arguments.h - Megatron-LM's arguments as values, known by meaning and in nobody's spelling
 *
 * Out: a model and a plan become arguments (args_parts.h), and what is to be said of them is said.
 *
 *     PLAIT_TRY(megatron_args_of(problem, plan, arena, &args, err));
 *     megatron_args_append(&args, &list);
 *
 * In: a script becomes arguments, and they a plan and a model (import_parts.h).
 *
 *     megatron_args_init(&args);
 *     PLAIT_TRY(megatron_args_parse(&flags, &args, err));
 *
 * How each is spelled stands in argument_table.c and nowhere else. Left out: arguments that neither
 * way has a use for.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "launch/read/flags.h"
#include "launch/write/args.h"

/**
 * Fields have the names that Megatron's parser stores them under, in the order in which they are
 * said. What has no value is 0, a double NaN, a text NULL; sizes are tokens, layers, or elements.
 */
typedef struct megatron_args {
    /* model */
    int num_layers;
    int hidden_size;
    int ffn_hidden_size; /* 0: four times hidden_size, of gated layers two thirds of that */
    int seq_length;
    int max_position_embeddings;
    int vocab_size;
    int padded_vocab_size;
    int extra_vocab_size; /* beyond the tokenizer's, in a fork */
    int make_vocab_size_divisible_by;
    bool untie_embeddings_and_output_weights;
    int mtp_num_layers;
    double mtp_loss_scaling_factor;

    /* attention */
    int num_attention_heads;
    bool multi_latent_attention;
    int q_lora_rank;
    int kv_lora_rank;
    int qk_head_dim;
    int qk_pos_emb_head_dim;
    int v_head_dim;
    int kv_channels; /* of one head; 0: hidden_size by the heads */
    bool group_query_attention;
    int num_query_groups; /* with group_query_attention alone */
    bool qk_layernorm;
    bool qk_l2_norm;
    bool attention_output_gate;
    const char *softmax_type;
    const char *experimental_attention_variant;
    int dsa_indexer_n_heads;
    int dsa_indexer_head_dim;
    int dsa_indexer_topk;
    const char *linear_attention_freq; /* a list */
    int linear_num_key_heads;
    int linear_num_value_heads;
    int linear_key_head_dim;
    int linear_value_head_dim;
    int linear_conv_kernel_dim;
    const char *window_size;           /* "127,0": tokens before and behind a query's own */
    const char *window_attn_skip_freq; /* a list */

    /* positions */
    const char *position_embedding_type;
    double rotary_base;
    double rotary_percent; /* a fraction, for all its name */
    bool rotary_interleaved;
    const char *rope_type; /* with MLA */
    bool apply_rope_fusion;
    double rotary_seq_len_interpolation_factor;
    bool use_rope_scaling; /* as Llama 3 */
    double rope_scaling_factor;
    double rotary_scaling_factor; /* YaRN, as all up to yarn_beta_slow */
    double mscale;
    double mscale_all_dim;
    int yarn_original_max_position_embeddings;
    double yarn_beta_fast;
    double yarn_beta_slow;
    const char *no_rope_freq; /* a list */

    /* norms, activation, biases */
    const char *normalization;
    double norm_epsilon;
    bool quick_geglu;
    double glu_linear_offset;
    double activation_func_clamp_value;
    bool swiglu;
    bool squared_relu;
    bool add_bias_linear;
    bool add_qkv_bias;
    double attention_dropout;
    double hidden_dropout;
    double init_method_std;

    /* experts */
    int num_experts;
    int expert_interval;        /* every how many layers, in Megatron-DeepSpeed; 0: not given */
    const char *mlp_type;       /* "residual": beside each expert stands a dense layer */
    int moe_ffn_hidden_size;    /* 0: ffn_hidden_size */
    const char *moe_layer_freq; /* a list */
    int moe_shared_expert_intermediate_size;
    bool moe_shared_expert_gate;
    double moe_expert_capacity_factor; /* NaN: none is given */
    bool moe_pad_expert_input_to_capacity;
    int moe_router_topk;
    const char *moe_router_score_function;
    bool moe_router_pre_softmax;
    bool moe_apply_probs_on_input;
    int moe_router_num_groups;
    int moe_router_group_topk;
    double moe_router_topk_scaling_factor;
    bool moe_router_enable_expert_bias;
    const char *moe_router_dtype;
    const char *moe_router_load_balancing_type;
    double moe_aux_loss_coeff;
    double moe_router_bias_update_rate;

    /* parallelism */
    int world_size; /* GPUs, which parsed arguments know and torchrun's next two multiply to */
    int nnodes;
    int gpus_per_node;
    int tensor_model_parallel_size;
    bool sequence_parallel;
    int pipeline_model_parallel_size;
    int num_virtual_stages_per_pipeline_rank;
    int virtual_pipeline_model_parallel_size; /* the same in parsed arguments */
    int num_layers_per_virtual_pipeline_stage;
    const char *pipeline_model_parallel_layout; /* "Et*3|t*4|t*3L" */
    int decoder_first_pipeline_num_layers;
    int decoder_last_pipeline_num_layers;
    bool account_for_embedding_in_pipeline_split;
    bool account_for_loss_in_pipeline_split;
    const char *pp_partition_method; /* of DeepSpeed: "type:transformer|embedding" */
    int context_parallel_size;
    const char *cp_comm_type;
    const char *hierarchical_context_parallel_sizes;
    int expert_model_parallel_size;
    int expert_tensor_parallel_size; /* 0: tensor_model_parallel_size */
    bool no_pipeline_parallel;
    bool use_tp_pp_dp_mapping;

    /* batch: sequences */
    int micro_batch_size;
    int global_batch_size;

    /* memory */
    bool recompute_activations; /* an older word for the selective granularity */
    const char *recompute_granularity;
    const char *recompute_modules; /* words */
    const char *recompute_method;
    int recompute_num_layers;        /* of a chunk */
    const char *recompute_layer_ids; /* of Primus */
    bool fine_grained_activation_offloading;
    const char *offload_modules;

    /* optimizer */
    const char *optimizer;
    bool use_distributed_optimizer;
    int num_distributed_optimizer_instances;
    bool use_megatron_fsdp;
    const char *data_parallel_sharding_strategy;
    const char *ckpt_format;
    bool gradient_accumulation_fusion;
    bool use_torch_fsdp2;
    bool torch_fsdp2_reshard_after_forward;
    bool use_precision_aware_optimizer;
    const char *exp_avg_dtype; /* of Adam's moments, as the next */
    const char *exp_avg_sq_dtype;
    bool optimizer_cpu_offload;
    double optimizer_offload_fraction;
    const char
        *DDP_impl;  /* up to 2023: "local" reduces at the end of the step, "torch" in buckets */
    bool deepspeed; /* DeepSpeed's engine runs the step */
    const char *deepspeed_config;
    int zero_stage; /* of DeepSpeed, as its JSON has it; -1: not given */

    /* overlap and kernels */
    bool overlap_grad_reduce;
    bool overlap_param_gather;
    bool tp_comm_overlap;
    bool cross_entropy_loss_fusion;
    bool
        grad_reduce_in_bf16; /* with bf16; fp16 reduces in its own format unless told by the next */
    bool accumulate_allreduce_grads_in_fp32;
    bool moe_grouped_gemm;
    bool moe_permute_fusion;
    bool moe_router_fusion;
    const char *moe_token_dispatcher_type;
    const char *moe_flex_dispatcher_backend;
    bool moe_enable_deepep; /* what releases before moe_flex_dispatcher_backend have */
    bool overlap_moe_expert_parallel_comm;
    bool delay_wgrad_compute;
    const char *attention_backend;
    int flash_attention_version;
    bool masked_softmax_fusion;
    bool create_attention_mask_in_dataloader;

    /* precision */
    bool bf16;
    bool fp16;
    const char *fp8; /* its format, as of fp4 */
    const char *fp8_recipe;
    const char *fp4;
    const char *fp4_recipe;
    bool moe_router_padding_for_quantization;
    bool moe_router_padding_for_fp8; /* its older name */
    bool fp4_param_gather;
    bool fp8_param_gather;
    bool reuse_grad_buf_for_mxfp8_param_ag;

    /* what a run needs and no plan decides */
    bool mock_data;
    bool moe_router_force_load_balancing;
    const char *tokenizer_type;
    const char *tokenizer_model;
    const char *tokenizer_name_or_path;
    const char *vocab_file;
    int train_iters;
    double lr;
    double min_lr;
    const char *lr_decay_style;
    const char *lr_wsd_decay_style; /* behind a plateau */
    int lr_wsd_decay_iters;
    int lr_decay_iters;
    int lr_warmup_iters;
    double adam_beta1;
    double adam_beta2;
    double adam_eps;
    double weight_decay;
    double clip_grad;
    int eval_iters;
    int log_interval;
    const char *save;
    const char *load;
    int save_interval;
    bool manual_gc;
    int manual_gc_interval;
    int distributed_timeout_minutes;

    /* what changes the price, and no plan of plait has */
    int cpu_offloading_num_layers;
    bool hybrid_context_parallel;
    int tensor_parallel_num_weight_shards;
    bool first_last_layers_bf16;
    const char *hybrid_layer_pattern;
    const char *step_batch_size_schedule;
    bool distribute_saved_activations;
    bool partition_activations;
    bool checkpoint_in_cpu;
    bool memory_centric_tiled_linear;
    bool ds_sequence_parallel_fpdt;
    bool random_ltd;
    const char *rampup_batch_size;
    bool enable_zbh1_pipeline;
    bool defer_embedding_wgrad_compute;

    int core; /* no argument: N of Megatron Core 0.N, whose arguments are written; INT_MAX: the newest */
} megatron_args;

/** A field, for functions that take any of them. */
#define MEGATRON_FIELD(field) offsetof(megatron_args, field)

/** What Megatron calls a field, for messages. */
#define MEGATRON_NAME(field) megatron_args_name(MEGATRON_FIELD(field))
const char *megatron_args_name(size_t field);

/** All arguments as Megatron has them when none is given. */
void megatron_args_init(megatron_args *args);

/** Append what is to be said, in groups; memory that runs out shows as args.h has it. */
void megatron_args_append(const megatron_args *args, launch_args *out);

/** Is a field to be said? */
bool megatron_args_says(const megatron_args *args, size_t field);

/** The first release, N of Megatron Core 0.N.0, that knows all that is to be said; 0: not known. */
int megatron_args_since(const megatron_args *args);

/** Fails (RANGE) on an argument that args->core does not have and the plan or the model cannot do without. */
PLAIT_MUST_CHECK plait_status megatron_args_check(const megatron_args *args, plait_error *err);

/**
 * Read flags. What they do not give stays as it is; flags that plait has no use for are skipped.
 *
 * @param out  its texts live in flags->arena
 *
 * Fails (RANGE) on a value of another kind than its argument's, or beyond its bounds; but for those
 * that no plan hangs on, which then stay as they are too.
 */
PLAIT_MUST_CHECK plait_status megatron_args_parse(const launch_flags *flags, megatron_args *out,
                                                  plait_error *err);

typedef enum argument_kind {
    ARGUMENT_SWITCH, /* a bool */
    ARGUMENT_INT,
    ARGUMENT_NUMBER, /* a double */
    ARGUMENT_WHOLE,  /* a double that the parser takes neither with a point nor an exponent */
    ARGUMENT_WORD,   /* a text; of several words the first */
    ARGUMENT_WORDS,  /* a text, a blank between its words */
    ARGUMENT_LIST    /* a text: every how many layers, "2", or one a layer, "([0]*3+[1]*58)" */
} argument_kind;

typedef struct argument_row {
    const char *name; /* "num_layers": of the field, in parsed arguments, and of the flag, ... */
    const char *flag; /* ... unless it has another: "fp8_format". That of a switch turns it off */
    const char *also; /* a name of other releases, which is read */
    argument_kind kind;
    size_t field;       /* offset in megatron_args */
    const char *absent; /* the default, as one would give it; NULL: none */
    int since;          /* N of Megatron Core 0.N.0, which has the flag; 0: no release has it */
    int least, most;    /* of an int on its way in */
    size_t with;       /* said where this field is not at its default, even if itself is; 0: none */
    bool placeholder;  /* no plan hangs on it: what a script has there is not judged */
    bool optional;     /* releases before `since` do without it, or have another for it */
    bool unpriced;     /* it changes what a step costs, and plait has no term for it */
    const char *group; /* the title of the arguments from here on */
} argument_row;

/** As argument_row.with: always said. */
#define ARGUMENT_ALWAYS SIZE_MAX

/** Ended by a row without a name. */
extern const argument_row megatron_arguments[];

/** The row of a field. */
const argument_row *megatron_argument(size_t field);

/**
 * Set a field to what a text says.
 *
 * @param text  the field may point into it
 * @return      false when it is of another kind or out of bounds; the field stays as it is
 */
bool megatron_argument_set(const argument_row *row, const char *text, megatron_args *args);

/** Have two launches the same value? */
bool megatron_argument_same(const argument_row *row, const megatron_args *a,
                            const megatron_args *b);
