/*
 * older_flags.c - flags of older releases and of forks, as those of the table mean them
 *
 * Megatron-LM 1.0 to 3.0 (2020 to 2022), Megatron-DeepSpeed of BigScience and of DeepSpeed, whose
 * parsers are in megatron/arguments.py of each.
 */
#include <string.h>

#include "launch/megatron/import_parts.h"

typedef struct older_flag {
    const char *name;
    const char *meant; /* the flag of the table; NULL ends */
    const char *value; /* NULL: its own */
} older_flag;

static const older_flag older[] = {
    {"model_parallel_size", "tensor_model_parallel_size", NULL},
    {"batch_size", "micro_batch_size", NULL},

    {"checkpoint_activations", "recompute_granularity", "full"},
    {"checkpoint_activations", "recompute_method", "uniform"},
    {"checkpoint_num_layers", "recompute_num_layers", NULL},
    {"activations_checkpoint_method", "recompute_granularity", "full"},
    {"activations_checkpoint_method", "recompute_method", NULL},
    {"activations_checkpoint_granularity", "recompute_granularity", NULL},
    {"activations_checkpoint_num_layers", "recompute_num_layers", NULL},
    {"distribute_checkpointed_activations", "distribute_saved_activations", "true"},

    {"ds_sequence_parallel_size", "context_parallel_size", NULL}, // Ulysses
    {"ds_sequence_parallel_size", "cp_comm_type", "a2a"},
    {"moe_expert_parallel_size", "expert_model_parallel_size", NULL},
    {"topk", "moe_router_topk", NULL},
    {"moe_loss_coeff", "moe_aux_loss_coeff", NULL},
    {"moe_train_capacity_factor", "moe_expert_capacity_factor", NULL},
    {"moe_router_padding_for_fp8", "moe_router_padding_for_quantization", NULL},
    {"moe_enable_deepep", "moe_flex_dispatcher_backend", "deepep"},
    {"cpu_optimizer", "optimizer_cpu_offload", "true"},

    {"intermediate_size", "ffn_hidden_size", NULL}, // Pai-Megatron-Patch, as the next
    {"n_head_kv", "num_query_groups", NULL},
    {"n_head_kv", "group_query_attention", "true"},
    {"rotary_scale_factor", "rotary_seq_len_interpolation_factor", NULL},
    {"use_alibi_mask", "position_embedding_type", "alibi"},
    {"glu_activation", "swiglu", "true"},
    {"disable_bias_linear_fc", "disable_bias_linear", "true"},
    {"pad_vocab_size_to", "padded_vocab_size", NULL},
    {"num_key_value_heads", "num_query_groups", NULL},
    {"num_key_value_heads", "group_query_attention", "true"},
    {"use_rotary_position_embeddings", "position_embedding_type", "rope"},
    {"use_llama2_rotary_position_embeddings", "position_embedding_type", "rope"},
    {"use_rotary_emb", "position_embedding_type", "rope"},
    {"rotary_position_embeddings_theta", "rotary_base", NULL},
    {"use_flash_attn", "attention_backend", "flash"},
    {"use_flash_attn_v1", "attention_backend", "flash"},
    {"use_flash_attn_v2", "attention_backend", "flash"},
    {"use_flash_attn_triton", "attention_backend", "flash"},
    {"use_flash_attn_builder", "attention_backend", "flash"},
    {"fp8_e4m3", "fp8_format", "e4m3"},
    {"fp8_hybrid", "fp8_format", "hybrid"},
    {NULL, NULL, NULL},
};

bool megatron_flag_is_older(const char *name)
{
    for (const older_flag *row = older; row->name != NULL; row++)
        if (strcmp(row->name, name) == 0)
            return true;
    return false;
}

bool megatron_flags_are_of_2021(const launch_flags *flags)
{
    static const char *const names[] = {
        "model_parallel_size",           "batch_size", "checkpoint_activations",
        "activations_checkpoint_method", "DDP_impl",   NULL};

    for (const char *const *name = names; *name != NULL; name++)
        if (flags_last(flags, *name) != NULL)
            return true;
    return false;
}

/* A flag of the table that is there itself stands above what an older one means. */
plait_status megatron_translate_flags(launch_flags *flags, plait_error *err)
{
    for (const older_flag *row = older; row->name != NULL; row++) {
        const launch_flag *const flag = flags_last(flags, row->name);

        if (flag == NULL || flags_value_is_off(flag->value[0]) ||
            flags_last(flags, row->meant) != NULL)
            continue;
        PLAIT_TRY(
            flags_add(flags, row->meant, row->value != NULL ? row->value : flag->value[0], err));
    }
    return PLAIT_OK;
}
