/*
 * import_bridge.c - reads the Hydra overrides of Megatron-Bridge as Megatron-LM's arguments
 *
 * An override has the form ++model.tensor_model_parallel_size=2. Its last key is the name of a
 * Megatron-LM argument, or one of the names below. Sources in NVIDIA-NeMo/Megatron-Bridge:
 * scripts/training/run_recipe.py at 03b0450, and in src/megatron/bridge/training mixed_precision.py
 * at 0509780 and comm_overlap.py at 0685ff5.
 */
#include "launch/megatron/megatron.h"

#include <stdio.h>
#include <string.h>

#include "base/grow.h"
#include "launch/read/tuning_read.h"
#include "plan/model_queries.h"

/* An override; several with the same section and key count as the last. */
typedef struct bridge_override {
    const char *section; /* "model"; the whole key if it has no dot */
    const char *key;     /* "" if the override sets the whole section */
    const char *value;
} bridge_override;

typedef struct bridge_overrides {
    launch_flags *flags;
    bridge_override *list;
    int count;
    int capacity;
    bool other_software; /* true if NeMo's sections occur, whose keys have other meanings */
} bridge_overrides;

static const char *const sections[] = {"model",
                                       "train",
                                       "validation",
                                       "dataset",
                                       "optimizer",
                                       "scheduler",
                                       "ddp",
                                       "dist",
                                       "checkpoint",
                                       "tokenizer",
                                       "logger",
                                       "rng",
                                       "profiling",
                                       "comm_overlap",
                                       "mixed_precision",
                                       "rerun_state_machine",
                                       NULL};

static bool is_null(const char *value)
{
    static const char *const words[] = {"null", "[]", "", NULL};

    return text_index(value, words) >= 0;
}

/* Remove quotes, and write a list such as ["attn","mlp"] as words with blanks between. */
static const char *plain_value(const char *value, plait_arena *arena)
{
    text_builder out;

    if (value[0] != '[' && strpbrk(value, "'\"") == NULL)
        return value;
    text_builder_init(&out, arena);
    for (const char *at = value; *at != '\0'; at++)
        if (*at == ',' && value[0] == '[')
            text_append_char(&out, ' ');
        else if (strchr("[]'\" ", *at) == NULL)
            text_append_char(&out, *at);
    return text_builder_finish(&out, NULL);
}

static plait_status add_override(bridge_overrides *in, const char *word, plait_error *err)
{
    plait_arena *const arena = in->flags->arena;
    char *const section = plait_arena_text(arena, word + strspn(word, "+"));
    const char *const value = section != NULL ? text_cut(section, '=') : NULL;

    PLAIT_TRY(plait_check_allocated(section, err));
    if (value == NULL)
        return PLAIT_OK;
    const char *const key = text_cut(section, '.');
    in->other_software =
        in->other_software || text_equal(section, "trainer") || text_equal(section, "exp_manager");
    // keys of nested configs, such as model.text_config.num_layers, have other meanings
    if (text_index(section, sections) < 0 || (key != NULL && strchr(key, '.') != NULL))
        return PLAIT_OK;
    bridge_override *const list =
        grow_by_one(arena, in->list, in->count, &in->capacity, sizeof *list);
    PLAIT_TRY(plait_check_allocated(list, err));
    in->list = list;
    list[in->count++] =
        (bridge_override){.section = section, .key = key != NULL ? key : "", .value = value};
    return PLAIT_OK;
}

/*
 * Collect the overrides of the launch, or of all commands of a file that has only overrides. In
 * such a file, a shell reads mixed_precision=bf16_mixed as an assignment.
 */
static plait_status collect(bridge_overrides *in, plait_error *err)
{
    const launch_flags *const flags = in->flags;
    const shell_words *const script = &flags->script;

    for (int c = 0; c < script->commands; c++) {
        const shell_command *const command = &script->command[c];

        if (flags->launch >= 0 ? c != flags->launch : !flags_runs(script, c))
            continue;
        for (int i = 0; i < command->count; i++)
            PLAIT_TRY(add_override(in, script->word[command->first + i], err));
    }
    const char *const precision =
        flags->launch < 0 ? shell_variable_word(script, "mixed_precision") : NULL;
    if (precision == NULL || in->count == 0)
        return PLAIT_OK;
    const char *const word = plait_arena_printf(flags->arena, "mixed_precision=%s", precision);
    return word != NULL ? add_override(in, word, err) : plait_fail_nomem(err);
}

/* Return the last override of a section and key; NULL: none. */
static const bridge_override *find(const bridge_overrides *in, const char *section, const char *key)
{
    for (int i = in->count - 1; i >= 0; i--)
        if (text_equal(in->list[i].section, section) && text_equal(in->list[i].key, key))
            return &in->list[i];
    return NULL;
}

/* True if the overrides or an option of run_recipe.py give an argument a known value. */
static bool is_stated(const bridge_overrides *in, const char *name)
{
    for (int i = 0; i < in->count; i++)
        if (text_equal(in->list[i].key, name) && shell_word_known(in->list[i].value))
            return true;
    return flags_find(in->flags, name) != NULL;
}

/* ---- keys that are arguments ---- */

/* Other names of arguments; NULL: no plan depends on the key. */
static const struct {
    const char *key, *argument;
} names[] = {
    {"num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers"},
    {"num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers"},
    {"sequence_length", "seq_length"},
    {"use_te_rng_tracker", "te_rng_tracker"},
    {"fp8_param", "fp8_param_gather"},
    {"fp4_param", "fp4_param_gather"},
    {"overlap_p2p_comm", NULL},
    {"batch_p2p_comm", NULL},
    {"align_param_gather", NULL},
    {"use_tokenizer_vocab_size", NULL},
    {"pretrained_checkpoint", NULL},
    {"enable_offline_packing", NULL},
    {"main_params_dtype", NULL},
    {"main_grads_dtype", NULL},
};

/* Names of PyTorch for the formats of Adam's moments. */
static const char *state_format(const char *value)
{
    static const char *const formats[][2] = {{"torch.float32", "fp32"},
                                             {"torch.bfloat16", "bf16"},
                                             {"torch.float16", "fp16"},
                                             {"torch.uint8", "fp8"}};

    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        if (text_equal(value, formats[f][0]))
            return formats[f][1];
    return value;
}

static plait_status add_argument(bridge_overrides *in, const char *key, const char *value,
                                 plait_error *err)
{
    plait_arena *const arena = in->flags->arena;
    const char *name = key;

    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (text_equal(key, names[n].key))
            name = names[n].argument;
    if (name == NULL)
        return PLAIT_OK;
    const argument_row *const row = megatron_argument_named(name);
    // a LIST such as [0,1,1] keeps its brackets
    if (row == NULL || row->kind != ARGUMENT_LIST)
        value = plain_value(value, arena);
    PLAIT_TRY(plait_check_allocated(value, err));
    // null is the value of an argument that is not given, and so is off if no reader has the key
    if (is_null(value) || (row == NULL && flags_value_is_off(value)))
        return PLAIT_OK;
    // the default of the selective granularity, whose plan has no list
    if (text_equal(name, MEGATRON_NAME(recompute_modules)) && text_equal(value, "core_attn"))
        return PLAIT_OK;
    return flags_add(in->flags, name, state_format(value), err);
}

/* ---- precision ---- */

/*
 * Named precisions by a part of their names. Those with fp8_current_scaling keep the first and the
 * last layer in bf16, which the price of that precision leaves out.
 */
static const struct {
    const char *part, *fp8, *fp8_recipe, *fp4;
    bool param_gather;
} precisions[] = {
    {"_with_fp8_delayed_scaling_mixed", "hybrid", "delayed", NULL, true},
    {"_with_fp8_current_scaling_mixed", "hybrid", "tensorwise", NULL, true},
    {"_with_fp8_subchannel_scaling_mixed", "hybrid", "blockwise", NULL, false},
    {"_with_mxfp8_mixed", "e4m3", "mxfp8", NULL, true},
    {"_with_nvfp4_mixed", NULL, NULL, "e2m1", false},
    {"16_mixed", NULL, NULL, NULL, false},
};

static plait_status add_named_precision(bridge_overrides *in, const char *value, plait_error *err)
{
    char *const name = plait_arena_text(in->flags->arena, value);
    size_t p = 0;

    PLAIT_TRY(plait_check_allocated(name, err));
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '-' ? '_' : *c;
    while (p < sizeof precisions / sizeof *precisions && strstr(name, precisions[p].part) == NULL)
        p++;
    const bool half = text_starts_with(name, "fp16_");
    if (p == sizeof precisions / sizeof *precisions || (!half && strstr(name, "bf16_") == NULL))
        return flags_fail(in->flags, "mixed_precision", err,
                          "expected a precision of Megatron-Bridge such as bf16_mixed or "
                          "bf16_with_mxfp8_mixed, found \"%.40s\"",
                          value);
    PLAIT_TRY(flags_add(in->flags, half ? "fp16" : "bf16", "true", err));
    if (precisions[p].fp4 != NULL)
        PLAIT_TRY(flags_add(in->flags, "fp4", precisions[p].fp4, err));
    if (precisions[p].fp8 == NULL)
        return PLAIT_OK;
    PLAIT_TRY(flags_add(in->flags, "fp8", precisions[p].fp8, err));
    PLAIT_TRY(flags_add(in->flags, "fp8_recipe", precisions[p].fp8_recipe, err));
    return precisions[p].param_gather ? flags_add(in->flags, "fp8_param_gather", "true", err)
                                      : PLAIT_OK;
}

/* Add a field of MixedPrecisionConfig, which is fp32 in the sum of gradients unless it is given. */
static plait_status add_precision_field(bridge_overrides *in, const char *key, const char *value,
                                        plait_error *err)
{
    static const char *const of_named[] = {"_target_", "first_last_layers_bf16",
                                           "num_layers_at_start_in_bf16",
                                           "num_layers_at_end_in_bf16", NULL};

    if (text_index(key, of_named) >= 0)
        return PLAIT_OK;
    if (!text_equal(key, "grad_reduce_in_fp32"))
        return add_argument(in, key, value, err);
    return flags_value_is_off(value)
               ? flags_add(in->flags, "grad_reduce_in_bf16", "true", err)
               : flags_add(in->flags, "accumulate_allreduce_grads_in_fp32", "true", err);
}

/* Add the fields of {fp8:e4m3,params_dtype:{...},...}, without those of inner braces. */
static plait_status add_precision_fields(bridge_overrides *in, const char *value, plait_error *err)
{
    char *const fields = plait_arena_text(in->flags->arena, value + 1);
    int depth = 0;

    PLAIT_TRY(plait_check_allocated(fields, err));
    PLAIT_TRY(flags_add(in->flags, "fp8_recipe", "tensorwise", err)); // the default of the fields
    for (char *field = fields, *at = fields; *field != '\0'; at++) {
        depth += (*at == '{') - (*at == '}');
        if (*at != '\0' && depth >= 0 && (*at != ',' || depth > 0))
            continue;
        const bool ends = *at != ',';
        *at = '\0';
        const char *const content = text_cut(field, ':');
        if (content != NULL && content[0] != '{')
            PLAIT_TRY(add_precision_field(in, field + strspn(field, " "),
                                          content + strspn(content, " "), err));
        if (ends)
            break;
        field = at + 1;
    }
    return PLAIT_OK;
}

static plait_status add_precision(bridge_overrides *in, const char *value, plait_error *err)
{
    if (!shell_word_known(value) || is_null(value))
        return PLAIT_OK;
    if (value[0] == '{')
        return add_precision_fields(in, value, err);
    value = plain_value(value, in->flags->arena);
    return value != NULL ? add_named_precision(in, value, err) : plait_fail_nomem(err);
}

/* ---- all overrides ---- */

/*
 * Return the step in which a section is read. Megatron-Bridge makes the length of the model that of
 * the dataset, and lets the precision and the overlap replace the fields of all other sections.
 */
static int step_of(const bridge_override *o)
{
    const bool precision = text_equal(o->section, "mixed_precision");

    return text_equal(o->section, "model")          ? 0
           : precision && o->key[0] == '\0'         ? 2
           : precision                              ? 3
           : text_equal(o->section, "comm_overlap") ? 3
                                                    : 1;
}

static plait_status add_all(bridge_overrides *in, plait_error *err)
{
    for (int step = 0; step <= 3; step++)
        for (int i = 0; i < in->count; i++) {
            const bridge_override *const o = &in->list[i];

            if (step_of(o) != step || find(in, o->section, o->key) != o)
                continue;
            if (!text_equal(o->section, "mixed_precision"))
                PLAIT_TRY(o->key[0] == '\0' ? PLAIT_OK : add_argument(in, o->key, o->value, err));
            else
                PLAIT_TRY(o->key[0] == '\0' ? add_precision(in, o->value, err)
                                            : add_precision_field(in, o->key, o->value, err));
        }
    return PLAIT_OK;
}

/* Keys of a plan that a recipe sets unless one of the arguments is overridden. */
static const struct {
    const char *keys, *arguments[6];
} of_recipe[] = {
    {"tp", {"tensor_model_parallel_size"}},
    {"sp", {"sequence_parallel"}},
    {"pp", {"pipeline_model_parallel_size"}},
    {"vpp schedule", {"virtual_pipeline_model_parallel_size", "pipeline_model_parallel_layout"}},
    {"split",
     {"pipeline_model_parallel_layout", "num_layers_in_first_pipeline_stage",
      "num_layers_in_last_pipeline_stage", "account_for_embedding_in_pipeline_split",
      "account_for_loss_in_pipeline_split"}},
    {"cp", {"context_parallel_size"}},
    {"cp_comm", {"cp_comm_type"}},
    {"ep", {"expert_model_parallel_size"}},
    {"etp", {"expert_tensor_parallel_size"}},
    {"order", {"use_tp_pp_dp_mapping"}},
    {"zero", {"use_distributed_optimizer", "use_megatron_fsdp"}},
    {"shard_group", {"num_distributed_optimizer_instances"}},
    {"grad_sync", {"overlap_grad_reduce"}},
    {"recompute", {"recompute_granularity"}},
    {"offload_acts", {"fine_grained_activation_offloading"}},
    {"optimizer_state", {"use_precision_aware_optimizer"}},
    {"grad_reduce fp8_params", {"", "grad_reduce_in_fp32"}}, // "": mixed_precision itself
    {"dispatcher", {"moe_token_dispatcher_type"}},
    {"ep_overlap", {"overlap_moe_expert_parallel_comm"}},
    {"permute_fusion", {"moe_permute_fusion"}},
    {"router_fusion", {"moe_router_fusion"}},
};

static plait_key_set keys_of_recipe(const bridge_overrides *in)
{
    const bridge_override *const precision = find(in, "mixed_precision", "");
    plait_key_set keys = 0;
    char key[24];

    for (size_t r = 0; r < sizeof of_recipe / sizeof *of_recipe; r++) {
        bool stated = false;

        for (const char *const *name = of_recipe[r].arguments; *name != NULL && !stated; name++)
            stated = (*name)[0] != '\0' ? is_stated(in, *name)
                                        : precision != NULL && shell_word_known(precision->value);
        const char *at = of_recipe[r].keys;
        for (int used; !stated && sscanf(at, "%23s%n", key, &used) == 1; at += used)
            keys |= PLAIT_KEY_BIT(plait_key_find(key));
    }
    return keys;
}

plait_status megatron_translate_bridge(launch_flags *flags, plait_error *err)
{
    bridge_overrides in = {.flags = flags};

    PLAIT_TRY(collect(&in, err));
    if (in.count == 0 || in.other_software)
        return PLAIT_OK;
    flags->recipe = true;
    flags->recipe_keys = keys_of_recipe(&in);
    PLAIT_TRY(add_all(&in, err));
    // the recipes' datasets have no masks (skip_getting_attention_mask_from_dataset)
    PLAIT_TRY(flags_add(flags, "no_create_attention_mask_in_dataloader", "true", err));
    const launch_flag *const recipe = flags_find(flags, "recipe");
    const char *const model = recipe != NULL ? megatron_bridge_model(recipe->value[0]) : NULL;
    return model != NULL ? flags_add(flags, MEGATRON_MODEL_FLAG, model, err) : PLAIT_OK;
}

void megatron_leave_to_recipe(plan_reader *in)
{
    static const plait_key_id experts[] = {PLAIT_KEY_EP,
                                           PLAIT_KEY_ETP,
                                           PLAIT_KEY_DISPATCHER,
                                           PLAIT_KEY_EP_OVERLAP,
                                           PLAIT_KEY_PERMUTE_FUSION,
                                           PLAIT_KEY_ROUTER_FUSION};
    const plait_degrees plain = plait_degrees_init();
    plait_key_set keys = in->flags->recipe_keys;
    import_list list = {in->warnings,
                        "keys that the recipe sets and the overrides do not, left unset", false};

    if (in->out->degrees.pp == 1 && !(keys & PLAIT_KEY_BIT(PLAIT_KEY_PP)))
        keys &= ~(PLAIT_KEY_BIT(PLAIT_KEY_VPP) | PLAIT_KEY_BIT(PLAIT_KEY_SCHEDULE) |
                  PLAIT_KEY_BIT(PLAIT_KEY_SPLIT));
    if (in->out->degrees.cp == 1 && !(keys & PLAIT_KEY_BIT(PLAIT_KEY_CP)))
        keys &= ~PLAIT_KEY_BIT(PLAIT_KEY_CP_COMM);
    for (size_t k = 0; k < sizeof experts / sizeof *experts; k++)
        if (in->out->model != NULL && !model_has_experts(in->out->model))
            keys &= ~PLAIT_KEY_BIT(experts[k]);
    for (int k = 0; k < PLAIT_KEYS; k++)
        if (keys & in->out->given & PLAIT_KEY_BIT(k)) {
            import_list_add(&list, plait_keys[k].name);
            plait_key_put(&in->out->degrees, (plait_key_id)k,
                          plait_key_value(&plain, (plait_key_id)k));
            in->out->given &= ~PLAIT_KEY_BIT(k);
        }
}

/* ---- fine-tuning ---- */

#define ROW(key, kind, field) SETTING(NULL, key, kind, tuning_settings, field)

/* Fields of LoRA in src/megatron/bridge/peft/lora.py. */
static const setting_row adapters[] = {
    ROW("peft.dim", INT, rank),
    ROW("peft.alpha", INT, alpha),
    ROW("peft.target_modules", WORDS, targets),
    ROW("peft.share_expert_adapters", SWITCH, nested),
    SETTINGS_END,
};

/* Return modules without the beginnings of patterns: linear_fc1 for *.mlp.linear_fc1. */
static const char *plain_modules(const char *modules, plait_arena *arena)
{
    text_builder out;
    char word[96];

    text_builder_init(&out, arena);
    for (int used; sscanf(modules, "%95s%n", word, &used) == 1; modules += used) {
        const char *const dot = strrchr(word, '.');

        text_append_printf(&out, "%s%s", out.length > 0 ? " " : "", dot != NULL ? dot + 1 : word);
    }
    return text_builder_finish(&out, NULL);
}

/*
 * Set the job: adapters if the recipe's name or an override has them. A recipe of PEFT has LoRA of
 * rank 32 on all modules (_peft_common in src/megatron/bridge/recipes/common.py), and one adapter
 * that the experts of a rank share.
 */
static plait_status take_tuning(const settings_source *source, plans_entry *out, plait_error *err)
{
    tuning_settings s = tuning_settings_init();
    const char *const recipe = settings_value(source, "recipe");
    const char *const mode = settings_value(source, "mode");
    const bool lora = (recipe != NULL && strstr(recipe, "_peft_") != NULL) ||
                      (mode != NULL && text_equal(mode, "lora"));
    plait_tuning *const tuning = &out->tuning;

    PLAIT_TRY(settings_read(adapters, source, &s, err));
    if (lora || s.rank > 0 || s.targets != NULL) {
        const char *const modules =
            s.targets != NULL ? plain_modules(s.targets, source->arena) : "all";

        PLAIT_TRY(plait_check_allocated(modules, err));
        tuning->kind = PLAIT_JOB_LORA;
        tuning->rank = s.rank > 0 ? s.rank : 32;
        tuning->targets = tuning_targets_of(modules, tuning_names_megatron);
        if (s.nested == 0)
            tuning->targets |= 1u << PLAIT_LORA_EXPERTS;
    } else if (tuning->kind == PLAIT_JOB_PRETRAIN && recipe != NULL &&
               strstr(recipe, "_sft_") != NULL) {
        tuning->kind = PLAIT_JOB_SFT;
    }
    return PLAIT_OK;
}

plait_status bridge_import(const char *text, size_t length, const char *name,
                           const launch_call *call, plait_arena *arena, plans_entry *out,
                           text_builder *warnings, plait_error *err)
{
    settings_source source;

    PLAIT_TRY(megatron_import(text, length, name, call, arena, out, warnings, err));
    PLAIT_TRY(settings_open(text, length, name, true, call, arena, &source, err));
    return take_tuning(&source, out, err);
}
