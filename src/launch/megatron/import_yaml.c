/*
 * import_yaml.c - reads Megatron-LM's arguments from YAML, and adds the defaults of ms-swift and
 * Primus
 *
 * A file has one of four forms: keys under ARGS or MODEL_ARGS, as in model_config.yaml of
 * Megatron-LM's functional tests; the overrides of a module of AMD's Primus; a config of ms-swift;
 * or keys at the top or in the sections of Megatron-LM's --yaml-cfg.
 */
#include "launch/megatron/megatron.h"

#include <ctype.h>
#include <string.h>

#include "launch/read/yaml_read.h"

/* A flag and the value that it has unless the launch gives it. */
typedef struct wrapper_default {
    const char *name;
    const char *value;
} wrapper_default;

static plait_status add_defaults(launch_flags *flags, const wrapper_default *row, plait_error *err)
{
    for (; row->name != NULL; row++)
        if (flags_last(flags, row->name) == NULL)
            PLAIT_TRY(flags_add(flags, row->name, row->value, err));
    return PLAIT_OK;
}

static bool is_on(const launch_flags *flags, const char *name)
{
    static const char *const words[] = {"false", "False", NULL};
    const launch_flag *const flag = flags_find(flags, name);

    return flag != NULL && text_index(flag->value[0], words) < 0;
}

/* ---- ms-swift ---- */

/*
 * Defaults of swift/megatron/arguments/megatron_args.py of modelscope/ms-swift v4.5.2, equal in
 * v3.8.0 (argument/). The number format is the checkpoint's, bf16 for the models of the hub;
 * gradients are summed in fp32 (main_grads_dtype); the loader makes no masks, since samples are not
 * padded (padding_free).
 */
static const wrapper_default swift_defaults[] = {
    {"use_distributed_optimizer", "true"},
    {"micro_batch_size", "1"},
    {"global_batch_size", "16"},
    {"recompute_granularity", "selective"},
    {"attention_backend", "flash"},
    {"expert_tensor_parallel_size", "1"},
    {"data_parallel_sharding_strategy", "optim_grads_params"}, // only with use_megatron_fsdp
    {"no_create_attention_mask_in_dataloader", "true"},
    {NULL, NULL},
};

/* Set the sequence length: samples have at most --packing-length or --max-length tokens. */
static plait_status add_length(launch_flags *flags, plait_error *err)
{
    static const char *const names[] = {"packing_length", "max_length", NULL};

    for (const char *const *name = names; *name != NULL; name++) {
        const launch_flag *const flag = flags_find(flags, *name);

        if (flag != NULL && flags_last(flags, "seq_length") == NULL)
            return flags_add(flags, "seq_length", flag->value[0], err);
    }
    return PLAIT_OK;
}

plait_status megatron_translate_swift(launch_flags *flags, text_builder *warnings, plait_error *err)
{
    const launch_flag *const type = flags_find(flags, "torch_dtype");
    const bool half =
        is_on(flags, "fp16") || (type != NULL && text_equal(type->value[0], "float16"));

    PLAIT_TRY(add_length(flags, err));
    if (!half && flags_last(flags, "bf16") == NULL)
        PLAIT_TRY(flags_add(flags, "bf16", "true", err));
    if (half && flags_last(flags, "fp16") == NULL)
        PLAIT_TRY(flags_add(flags, "fp16", "true", err));
    if (!is_on(flags, "packing"))
        import_warn(warnings, "samples differ in length without --packing true; all are priced "
                              "with --max_length tokens");
    return add_defaults(flags, swift_defaults, err);
}

/* ---- Primus ---- */

/* Defaults of primus/configs/modules/megatron of AMD-AGI/Primus fd1eeab (2026-08-22). */
static const wrapper_default pretraining[] = {
    {"micro_batch_size", "2"}, {"global_batch_size", "16"},           {"seq_length", "1024"},
    {"bf16", "true"},          {"use_distributed_optimizer", "true"}, {NULL, NULL},
};

static const wrapper_default tuning[] = {
    {"micro_batch_size", "1"}, {"global_batch_size", "128"},          {"seq_length", "2048"},
    {"bf16", "true"},          {"use_distributed_optimizer", "true"}, {NULL, NULL},
};

/*
 * Translate the flags of Primus and add the defaults of `config`, a file of its modules such as
 * "pre_trainer.yaml".
 */
static plait_status megatron_translate_primus(launch_flags *flags, const char *config,
                                              text_builder *warnings, plait_error *err)
{
    const bool deepep = is_on(flags, "use_turbo_deepep");
    const bool known = text_equal(config, "pre_trainer.yaml");

    if (deepep) {
        PLAIT_TRY(flags_add(flags, "moe_token_dispatcher_type", "flex", err));
        PLAIT_TRY(flags_add(flags, "moe_flex_dispatcher_backend", "deepep", err));
    }
    if (known || text_equal(config, "sft_trainer.yaml"))
        return add_defaults(flags, known ? pretraining : tuning, err);
    import_warn(warnings,
                "the module's config is in another file, whose values are treated as not given");
    return PLAIT_OK;
}

typedef struct yaml_arguments {
    const yaml_file *yaml;
    const char *section; /* beginning of the arguments' paths: "MODEL_ARGS."; "": none */
    launch_flags *out;
    text_builder *warnings;
    import_list open; /* warning of values that are set outside the file */
} yaml_arguments;

bool megatron_is_yaml(const char *text, size_t length)
{
    const char *at = text, *const end = text + length;

    while (at < end && (*at == '#' || isspace((unsigned char)*at) ||
                        (end - at >= 3 && memcmp(at, "---", 3) == 0 &&
                         (end - at == 3 || isspace((unsigned char)at[3]))))) {
        const char *const newline =
            *at == '#' || *at == '-' ? memchr(at, '\n', (size_t)(end - at)) : at;
        at = newline != NULL ? newline + 1 : end;
    }
    while (at < end && (isalnum((unsigned char)*at) || *at == '_' || *at == '-' || *at == '.'))
        at++;
    return at < end && *at == ':' && (end - at == 1 || isspace((unsigned char)at[1]));
}

/*
 * Replace a variable by its default: ${PRIMUS_TP:8} becomes 8. A variable without a default, or
 * null, becomes NULL.
 */
static plait_status resolve_default(const char *value, plait_arena *arena, const char **out,
                                    plait_error *err)
{
    const char *const open = strstr(value, "${");
    const char *const colon = open != NULL ? strchr(open, ':') : NULL;
    const char *const close = colon != NULL ? strchr(colon, '}') : NULL;

    *out = value;
    if (close != NULL && close > colon + 1) {
        *out = plait_arena_printf(arena, "%.*s%.*s%s", (int)(open - value), value,
                                  (int)(close - colon - 1), colon + 1, close + 1);
        PLAIT_TRY(plait_check_allocated(*out, err));
    }
    if (strchr(*out, '$') != NULL || text_equal(*out, "null"))
        *out = NULL;
    return PLAIT_OK;
}

static plait_status add_flag(yaml_arguments *in, const yaml_leaf *leaf, plait_error *err)
{
    plait_arena *const arena = in->out->arena;
    char *const name = plait_arena_text(arena, leaf->key + strspn(leaf->key, "-"));
    const char **const value = plait_arena_alloc(arena, (size_t)leaf->values, sizeof *value);

    PLAIT_TRY(plait_check_allocated(name && value, err));
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '-'                              ? '_'
             : text_starts_with(leaf->path, "ENV.") ? (char)tolower((unsigned char)*c)
                                                    : *c;
    if (leaf->values == 1 && leaf->value[0][0] == '[') {
        // a quoted "[layernorm moe_act]" is a list of words, since _run_training.sh of
        // Megatron-LM's functional tests removes the brackets. "[0]*3+[1]*58" and a list with
        // commas stay one word
        const size_t length = strlen(leaf->value[0]);
        if (leaf->value[0][length - 1] != ']' || strcspn(leaf->value[0], "],") != length - 1)
            return flags_add(in->out, name, leaf->value[0], err);
        const char *const inner =
            plait_arena_printf(in->out->arena, "%.*s", (int)length - 2, leaf->value[0] + 1);
        return inner != NULL ? flags_add(in->out, name, inner, err) : plait_fail_nomem(err);
    }
    for (int v = 0; v < leaf->values; v++) {
        PLAIT_TRY(resolve_default(leaf->value[v], arena, &value[v], err));
        if (value[v] != NULL)
            continue;
        if (strchr(leaf->value[v], '$') != NULL && megatron_flag_matters(name))
            import_list_add(&in->open, name);
        return PLAIT_OK;
    }
    return flags_put(in->out, (launch_flag){.name = name, .values = leaf->values, .value = value},
                     err);
}

/* ---- keys that are arguments ---- */

/*
 * Return the section of the arguments: ARGS, MODEL_ARGS, the overrides of a Primus module, or else
 * the top.
 */
static const char *section_of(const yaml_file *yaml, plait_arena *arena)
{
    static const char *const sections[] = {"ARGS.", "MODEL_ARGS.", NULL};

    for (int i = 0; i < yaml->count; i++) {
        const char *const path = yaml->leaf[i].path;
        const size_t width = strlen(path) - strlen(yaml->leaf[i].key);

        for (const char *const *section = sections; *section != NULL; section++)
            if (text_starts_with(path, *section))
                return *section;
        if (text_starts_with(path, "modules.") && text_equal(yaml->leaf[i].key, "framework"))
            return plait_arena_printf(arena, "%.*soverrides.", (int)width, path);
    }
    return "";
}

/*
 * True if a path is an argument; in the environment of a launcher (ENV) only the numbers of
 * processes and nodes are.
 */
static bool is_argument(const char *path, const char *section)
{
    static const char *const open[] = {"language_model.", "model_parallel.", "ENV.NPROC_PER_NODE",
                                       "ENV.NNODES", NULL};
    const size_t width = strlen(section);

    for (const char *const *at = open; width == 0 && *at != NULL; at++)
        if (text_starts_with(path, *at))
            return true;
    return strncmp(path, section, width) == 0 && strchr(path + width, '.') == NULL;
}

/*
 * Find the value of a key that is next to a Primus module's overrides; NULL: none, or several
 * values.
 */
static plait_status word_beside(const yaml_arguments *in, const char *key, const char **out,
                                plait_error *err)
{
    const size_t width = strlen(in->section) - strlen("overrides.");
    const char *const path =
        plait_arena_printf(in->out->arena, "%.*s%s", (int)width, in->section, key);
    const yaml_leaf *const leaf = path != NULL ? yaml_find(in->yaml, path) : NULL;

    *out = NULL;
    PLAIT_TRY(plait_check_allocated(path, err));
    return leaf != NULL && leaf->values == 1
               ? resolve_default(leaf->value[0], in->out->arena, out, err)
               : PLAIT_OK;
}

plait_status megatron_read_yaml(const char *text, size_t length, const char *name,
                                plait_arena *arena, launch_flags *out, text_builder *warnings,
                                plait_error *err)
{
    yaml_file yaml;
    yaml_arguments in = {
        .yaml = &yaml,
        .out = out,
        .warnings = warnings,
        .open = {warnings, "values set outside the file, treated as not given", false}};

    *out = (launch_flags){.file = name, .arena = arena, .launch = -1};
    PLAIT_TRY(yaml_read(text, length, name, arena, &yaml, err));
    in.section = section_of(&yaml, arena);
    PLAIT_TRY(plait_check_allocated(in.section, err));
    for (int i = 0; i < yaml.count; i++)
        if (yaml.leaf[i].values > 0 && is_argument(yaml.leaf[i].path, in.section))
            PLAIT_TRY(add_flag(&in, &yaml.leaf[i], err));
    if (yaml.repeated != NULL)
        text_append_printf(import_warn(warnings, ""),
                           "%.80s is given twice; the last value is used", yaml.repeated);
    if (text_ends_with(in.section, ".overrides.")) {
        const char *framework, *model, *config;
        PLAIT_TRY(word_beside(&in, "framework", &framework, err));
        PLAIT_TRY(word_beside(&in, "model", &model, err));
        PLAIT_TRY(word_beside(&in, "config", &config, err));
        if (framework == NULL || !text_equal(framework, "megatron"))
            return plait_fail(
                err, PLAIT_ERROR_SCHEMA, in.yaml->name,
                "expected a module of Primus with framework megatron, found \"%.40s\"",
                framework != NULL ? framework : "");
        if (model != NULL)
            PLAIT_TRY(flags_add(in.out, MEGATRON_MODEL_FLAG, model, err));
        return megatron_translate_primus(in.out, config != NULL ? config : "", in.warnings, err);
    }
    // a file with a model of the hub and a data set is one of ms-swift: Megatron-LM has neither
    // argument
    return (yaml_find(&yaml, "model") != NULL && yaml_find(&yaml, "dataset") != NULL)
               ? megatron_translate_swift(out, warnings, err)
               : PLAIT_OK;
}
