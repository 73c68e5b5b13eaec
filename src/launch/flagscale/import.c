/* import.c - FlagScale's YAML as a plan: its leaves are arguments of Megatron-LM, and some of its own */
#include "launch/flagscale/flagscale.h"

#include <string.h>

#include "launch/flagscale/meshes.h"

/* ---- which leaves are arguments ---- */

/* Behind "train."; a train file of its own begins with the blocks. NULL: no argument. */
static const char *argument_path(const char *path)
{
    static const char *const blocks[] = {"system.", "model.", "data."};
    const char *const at = text_starts_with(path, "train.") ? path + strlen("train.") : path;

    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        if (text_starts_with(at, blocks[b]))
            return at;
    return NULL;
}

static bool is_of_launcher(const char *path)
{
    return text_equal(path, "experiment.runner.nnodes") ||
           text_equal(path, "experiment.runner.nproc_per_node");
}

/* What FlagScale adds to Megatron-LM's parser, and the folders that its runner keeps for itself. */
static bool is_own(const char *key)
{
    static const char *const keys[] = {
        // read by meshes.c, recompute.c and below
        "enable_hetero", "hetero_process_meshes", "hetero_pipeline_layer_split",
        "expert_tensor_parallel_size_per_process_mesh", "hetero_device_types",
        "recompute_granularity_per_stage_micro_batch", "recompute_method_per_stage_micro_batch",
        "recompute_num_layers_per_stage_micro_batch", "multiple_of", "hidden_dim_multiplier",
        // no plan hangs on these
        "hetero_current_device_type", "hetero_use_cpu_communication", "standalone_embedding_stage",
        "use_partial_reduce_for_shared_embedding", "no_shared_fs", "tokenizer_path",
        "special_tokens_file", "norm_init_weight", "mtp_loss_coeff", "extra_eval_interval",
        "extra_valid_data_path", "finetune_dataset_type", "auto_tune", "auto_skip_spiky_loss",
        "spiky_loss_threshold", "log_dir", "details_dir", "scripts_dir", "pids_dir",
        "no_rope_fusion", "apply_sft_dataset_separated_loss_mask_if_existed", NULL};

    return text_index(key, keys) >= 0;
}

/* ${experiment.seed} stands in another file, and `xxxx` and `???` are the user's to fill in. */
static bool is_open_value(const char *value)
{
    const size_t length = strlen(value);

    return strstr(value, "${") != NULL || (length > 2 && strspn(value, "x") == length) ||
           text_equal(value, "???");
}

static bool is_open(const yaml_leaf *leaf)
{
    for (int v = 0; v < leaf->values; v++)
        if (is_open_value(leaf->value[v]))
            return true;
    return false;
}

static plait_status sort_leaves(const yaml_file *yaml, launch_flags *flags, launch_flags *own,
                                text_builder *warnings, plait_error *err)
{
    bool open = false;

    for (int i = 0; i < yaml->count; i++) {
        const yaml_leaf *const leaf = &yaml->leaf[i];
        const launch_flag flag = {leaf->key, leaf->values, leaf->value};

        if ((argument_path(leaf->path) == NULL && !is_of_launcher(leaf->path)) || leaf->values == 0)
            continue;
        if (is_open(leaf)) {
            text_append_printf(
                warnings, "%s%s",
                open ? ", " : "set outside the file, and taken as not given: ", leaf->key);
            open = true;
        } else {
            PLAIT_TRY(flags_put(is_own(leaf->key) ? own : flags, flag, err));
        }
    }
    return PLAIT_OK;
}

/* ---- what FlagScale says in its own words ---- */

static int number_of(const launch_flags *flags, const char *name)
{
    const launch_flag *const flag = flags_last(flags, name);
    int number = 0;

    return flag != NULL && text_parse_int(flag->value[0], 1, 1 << 20, &number) ? number : 0;
}

static bool is_on(const launch_flags *flags, const char *name)
{
    const launch_flag *const flag = flags_last(flags, name);

    return flag != NULL &&
           (text_equal(flag->value[0], "true") || text_equal(flag->value[0], "True"));
}

/* The width that multiple_of rounds up: two thirds of 4 h, cut off, and a multiplier, cut off too. */
static plait_status give_width(const launch_flags *own, launch_flags *flags, plait_error *err)
{
    const launch_flag *const factor = flags_last(own, "hidden_dim_multiplier");
    const int multiple = number_of(own, "multiple_of");
    int width = 8 * number_of(flags, "hidden_size") / 3;
    double by = 1.0;

    if (multiple == 0 || width == 0 || number_of(flags, "ffn_hidden_size") > 0 ||
        !is_on(flags, "swiglu"))
        return PLAIT_OK;
    if (factor != NULL && text_parse_number(factor->value[0], &by) && by > 0.0 && by < 100.0)
        width = (int)(by * width);
    width = (width + multiple - 1) / multiple * multiple;
    return flags_add(flags, "ffn_hidden_size", plait_arena_printf(flags->arena, "%d", width), err);
}

plait_status flagscale_flags(const yaml_file *yaml, plait_arena *arena, launch_flags *flags,
                             refined_recompute *refined, refined_meshes *meshes,
                             text_builder *warnings, plait_error *err)
{
    launch_flags own = {.file = yaml->name, .arena = arena, .launch = -1};

    *flags = own;
    *meshes = (refined_meshes){0};
    PLAIT_TRY(sort_leaves(yaml, flags, &own, warnings, err));
    if (flags->count + own.count == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, yaml->name,
                          "expected system, model and data, by themselves or under train, found "
                          "none of them");
    if (is_on(&own, "enable_hetero"))
        PLAIT_TRY(flagscale_read_meshes(&own, flags, meshes, err));
    PLAIT_TRY(flagscale_read_recompute(&own, flags, refined, err));
    return give_width(&own, flags, err);
}

plait_status flagscale_import(const char *text, size_t length, const char *name,
                              const launch_call *call, plait_arena *arena, plans_entry *out,
                              const char **warning, plait_error *err)
{
    text_builder warnings;
    refined_recompute refined;
    refined_meshes meshes;
    launch_flags flags;
    yaml_file yaml;

    text_builder_init(&warnings, arena);
    PLAIT_TRY(yaml_read(text, length, name, arena, &yaml, err));
    PLAIT_TRY(flagscale_flags(&yaml, arena, &flags, &refined, &meshes, &warnings, err));
    PLAIT_TRY(megatron_import_flags(&flags, text, length, call, &warnings, out, err));
    PLAIT_TRY(flagscale_give_recompute(&refined, name, arena, out, err));
    PLAIT_TRY(flagscale_give_meshes(&meshes, name, arena, out, err));
    if (text_equal(out->runtime, "megatron"))
        out->runtime = "flagscale";
    *warning = text_builder_finish(&warnings, NULL);
    return *warning != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
