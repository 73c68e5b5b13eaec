/*
 * import.c - reads a plan from MaxText's YAML
 *
 * Keys that are not given have the values of base.yml. One axis inside a slice and one between
 * slices may be -1; such an axis takes the devices that the other axes leave. If no axis is -1, the
 * mesh gives the number of devices.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "launch/maxtext/maxtext.h"
#include "launch/read/plan_reader.h"
#include "plait/data.h"

enum { RANKS = 1 << 20 };

typedef struct config_reader {
    const yaml_file *yaml;
    plait_arena *arena;
    plans_entry *out;
    text_builder *warnings;
    bool devices_known;
    bool replicas_outside; /* replicas span slices */
    maxtext_axes mesh;     /* ranks of each axis, inside and between slices */
} config_reader;

/* ---- the mesh ---- */

/*
 * Read the axis `name`, which is `otherwise` unless given, and multiply it by the axis `also`,
 * which splits the same dimension and is 1 unless given.
 */
static plait_status read_axis(const config_reader *in, const char *part, const char *name,
                              const char *also, int otherwise, int *out, plait_error *err)
{
    char key[64];
    int more = 1;

    snprintf(key, sizeof key, "%s_%s_parallelism", part, name);
    PLAIT_TRY(maxtext_int(in->yaml, key, -1, RANKS, otherwise, out, err));
    if (*out == 0)
        return yaml_expected(in->yaml, yaml_find(in->yaml, key), "a number of ranks, or -1", err);
    if (also == NULL)
        return PLAIT_OK;
    snprintf(key, sizeof key, "%s_%s_parallelism", part, also);
    PLAIT_TRY(maxtext_int(in->yaml, key, 1, RANKS, 1, &more, err));
    if (more > 1 && (*out < 0 || *out > RANKS / more))
        return yaml_expected(in->yaml, yaml_find(in->yaml, key),
                             "1, since this key multiplies an axis that is -1 or too large", err);
    *out *= more > 1 ? more : 1;
    return PLAIT_OK;
}

static plait_status read_axes(const config_reader *in, const char *part, int data, int fsdp,
                              maxtext_axes *out, plait_error *err)
{
    PLAIT_TRY(read_axis(in, part, "data", NULL, data, &out->data, err));
    PLAIT_TRY(read_axis(in, part, "fsdp", "fsdp_transpose", fsdp, &out->fsdp, err));
    PLAIT_TRY(read_axis(in, part, "pipeline", NULL, 1, &out->pipeline, err));
    PLAIT_TRY(read_axis(in, part, "context", NULL, 1, &out->context, err));
    PLAIT_TRY(read_axis(in, part, "tensor", "tensor_sequence", 1, &out->tensor, err));
    return read_axis(in, part, "expert", NULL, 1, &out->expert, err);
}

/*
 * Compute the product of the known axes and the number of axes that are -1; return such an axis, or
 * NULL if all are known.
 */
static int *open_axis(maxtext_axes *axes, double *product, int *open)
{
    int *unknown = NULL;

    *product = 1.0;
    *open = 0;
#define X(axis)                                                                                    \
    if (axes->axis < 0) {                                                                          \
        unknown = &axes->axis;                                                                     \
        ++*open;                                                                                   \
    } else {                                                                                       \
        *product *= axes->axis;                                                                    \
    }
    MAXTEXT_AXES(X)
#undef X
    return unknown;
}

static plait_status refuse_mesh(const config_reader *in, const char *expected, double found,
                                plait_error *err)
{
    return plait_fail(err, PLAIT_ERROR_RANGE, in->yaml->name, "expected %s, found %.0f", expected,
                      found);
}

/*
 * By default both parts of a mesh have an axis of -1, which takes the remaining devices: data
 * between slices, fsdp inside a slice. The file does not give the number of slices, so if both axes
 * are -1 the job is treated as one slice.
 */
static plait_status close_mesh(config_reader *in, maxtext_axes *ici, maxtext_axes *dcn,
                               plait_error *err)
{
    double inside, between;
    int open_inside, open_between;
    int *const axis = open_axis(ici, &inside, &open_inside);
    int *const outer = open_axis(dcn, &between, &open_between);

    if (open_inside > 1 || open_between > 1)
        return refuse_mesh(in, "one axis of -1", open_inside > 1 ? open_inside : open_between, err);
    if (inside * between > RANKS)
        return refuse_mesh(in, "a mesh of at most 1048576 devices", inside * between, err);
    const int least = (int)(inside * between);
    int *const last = axis != NULL ? axis : outer;
    if (outer != NULL)
        *outer = 1;
    if (last == NULL || (axis == NULL && in->out->gpus == 0))
        in->out->gpus = least;
    in->devices_known = in->out->gpus > 0;
    if (!in->devices_known || last == NULL)
        return PLAIT_OK;
    if (in->out->gpus % least != 0)
        return refuse_mesh(in, "a number of devices that the mesh axes divide", in->out->gpus, err);
    *last = in->out->gpus / least;
    return PLAIT_OK;
}

static plait_status take_degrees(config_reader *in, plait_error *err)
{
    const maxtext_axes *const mesh = &in->mesh;
    const char *const strategy = maxtext_word(in->yaml, "context_parallel_strategy", "all_gather");
    static const char *const strategies[] = {"all_gather", "ring", "ulysses", NULL};
    static const int exchanges[] = {PLAIT_CP_ALLGATHER, PLAIT_CP_P2P, PLAIT_CP_A2A};
    const int exchange = text_index(strategy, strategies);
    int experts;

    PLAIT_TRY(maxtext_int(in->yaml, "num_experts", 1, 1 << 12, 1, &experts, err));
    if (exchange < 0)
        return yaml_expected(in->yaml, yaml_find(in->yaml, "context_parallel_strategy"),
                             "all_gather, ring or ulysses", err);
    import_set_key(in->out, PLAIT_KEY_TP, mesh->tensor);
    import_set_key(in->out, PLAIT_KEY_SP, mesh->tensor > 1);
    import_set_key(in->out, PLAIT_KEY_PP, mesh->pipeline);
    import_set_key(in->out, PLAIT_KEY_CP, mesh->context);
    import_set_key(in->out, PLAIT_KEY_CP_COMM, exchanges[exchange]);
    import_set_key(in->out, PLAIT_KEY_EP, mesh->expert);
    import_set_key(in->out, PLAIT_KEY_ETP, experts > 1 ? mesh->tensor : 1);
    if (in->replicas_outside && !(in->out->given & PLAIT_KEY_BIT(PLAIT_KEY_ORDER)))
        import_set_key(in->out, PLAIT_KEY_ORDER, PLAIT_ORDER_TP_CP_PP_DP);
    if (in->devices_known) {
        const int shards = mesh->fsdp * mesh->context * mesh->expert;
        const bool over_data = maxtext_is_on(in->yaml, "shard_optimizer_over_data");
        if (over_data && shards > 1)
            import_warn(in->warnings,
                        "the optimizer state, sharded over more ranks than the weights, is "
                        "priced as sharded like the weights");
        if (shards > 1 || (mesh->data == 1 && !over_data)) {
            import_set_key(in->out, PLAIT_KEY_ZERO, 3);
            import_set_key(in->out, PLAIT_KEY_SHARD_GROUP, shards);
        } else {
            import_set_key(in->out, PLAIT_KEY_ZERO, over_data);
            import_set_key(in->out, PLAIT_KEY_SHARD_GROUP, mesh->data);
        }
    }
    return PLAIT_OK;
}

/* ---- batch and pipeline ---- */

/* Read the batch, which MaxText computes in doubles and truncates. */
static plait_status read_batch(config_reader *in, plait_error *err)
{
    const double dp = (double)in->mesh.data * in->mesh.fsdp * in->mesh.expert;
    double of_device;
    int passes, accumulated;

    PLAIT_TRY(
        maxtext_int(in->yaml, "max_target_length", 1, PLAIT_MAX_SEQ, 2048, &in->out->seq, err));
    PLAIT_TRY(maxtext_number(in->yaml, "per_device_batch_size", 12.0, &of_device, err));
    PLAIT_TRY(
        maxtext_int(in->yaml, "gradient_accumulation_steps", 1, 1 << 20, 1, &accumulated, err));
    const int pp = in->mesh.pipeline;
    int repeats, layers;
    passes = 1;
    import_set_key(in->out, PLAIT_KEY_VPP, 1);
    import_set_key(in->out, PLAIT_KEY_SCHEDULE, pp > 1 ? PLAIT_GPIPE : PLAIT_1F1B);
    in->out->degrees.split = (plait_split){.kind = PLAIT_SPLIT_EVEN};
    in->out->given |= PLAIT_KEY_BIT(PLAIT_KEY_SPLIT);
    if (pp > 1) {
        PLAIT_TRY(
            maxtext_int(in->yaml, "num_pipeline_repeats", -1, PLAIT_MAX_LAYERS, -1, &repeats, err));
        PLAIT_TRY(maxtext_int(in->yaml, "num_layers_per_pipeline_stage", 1, PLAIT_MAX_LAYERS, 1,
                              &layers, err));
        PLAIT_TRY(
            maxtext_int(in->yaml, "num_pipeline_microbatches", -1, 1 << 20, -1, &passes, err));
        if (passes < 1)
            passes = pp;
        if (repeats > 1 ||
            (repeats < 1 && in->out->model != NULL && in->out->model->layers > (double)pp * layers))
            import_warn(in->warnings,
                        "a circular pipeline is priced as if each microbatch passed it once");
    }
    if (!in->devices_known || dp < 1.0)
        return PLAIT_OK;
    const double pass = floor(in->out->gpus * of_device);
    const double microbatch = pass / (dp * passes);
    if (pass * accumulated > 1e9 || microbatch < 1.0 || floor(microbatch) != microbatch)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, in->yaml->name,
            "expected per_device_batch_size times the devices to be a multiple of %.0f "
            "data-parallel ranks times the microbatches, found %.0f sequences in %d microbatches",
            dp, pass, passes);
    import_set_key(in->out, PLAIT_KEY_MBS, (int)microbatch);
    in->out->gbs = (int)pass * accumulated;
    return PLAIT_OK;
}

/* ---- memory, kernels, precision ---- */

static void read_remat(config_reader *in)
{
    static const char *const policies[] = {
        "full", "minimal", "none", "minimal_with_context", "minimal_flash", NULL};
    static const int kinds[] = {PLAIT_RECOMPUTE_FULL, PLAIT_RECOMPUTE_SELECTIVE,
                                PLAIT_RECOMPUTE_NONE, PLAIT_RECOMPUTE_NONE, PLAIT_RECOMPUTE_NONE};
    const int policy = text_index(maxtext_word(in->yaml, "remat_policy", "full"), policies);

    if (policy < 0) {
        import_warn(
            in->warnings,
            "only the remat_policy full, minimal and none are priced; recompute is left unset");
        return;
    }
    in->out->degrees.recompute = (plait_recompute){.kind = (unsigned char)kinds[policy]};
    in->out->given |= PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE);
}

static const char *name_of(const char *theirs)
{
    static const char *const names[][2] = {
        {"llama2-7b", "llama-2-7b"},
        {"llama2-13b", "llama-2-13b"},
        {"llama2-70b", "llama-2-70b"},
        {"llama3.1-8b", "llama-3.1-8b"},
        {"llama3.1-70b", "llama-3.1-70b"},
        {"llama3.1-405b", "llama-3.1-405b"},
        {"mixtral-8x7b", "mixtral-8x7b"},
        {"mixtral-8x22b", "mixtral-8x22b"},
        {"qwen3-8b", "qwen3-8b"},
        {"qwen3-32b", "qwen3-32b"},
        {"qwen3-30b-a3b", "qwen3-30b-a3b"},
        {"qwen3-235b-a22b", "qwen3-235b-a22b"},
        {"deepseek2-16b", "deepseek-v2-lite"},
        {"deepseek2-236b", "deepseek-v2"},
        {"deepseek3-671b", "deepseek-v3"},
        {"gpt3-175b", "gpt3-175b"},
    };

    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (strcmp(names[n][0], theirs) == 0)
            return names[n][1];
    return NULL;
}

static plait_status read_model(config_reader *in, const char *noted, plait_error *err)
{
    const char *const theirs = maxtext_word(in->yaml, "model_name", "default");
    const char *const name = name_of(theirs);
    const plait_model *built;

    PLAIT_TRY(maxtext_read_model(
        in->yaml, noted != NULL ? noted : maxtext_word(in->yaml, "run_name", "model"), in->arena,
        &built, err));
    if (built != NULL) {
        in->out->model = built;
    } else if (name != NULL) {
        plait_model *const model = plait_arena_alloc(in->arena, 1, sizeof *model);

        PLAIT_TRY(plait_check_allocated(model, err));
        PLAIT_TRY(plait_model_find(name, in->arena, model, NULL, err));
        in->out->model = model;
    } else if (in->out->model == NULL) {
        import_warn(in->warnings, "the model is unknown; give it with --model");
    }
    return PLAIT_OK;
}

/*
 * Keys that change the cost of a step and that plait does not price. The names are those of
 * src/maxtext/configs/base.yml at AI-Hypercomputer/maxtext e591f30 (2026-08-22).
 */
static const char *const unpriced[] = {
    // parallelism that plait's plans cannot express
    "ici_diloco_parallelism", "ici_sequence_parallelism", "ici_context_usp_ulysses_parallelism",
    "ici_context_autoregressive_parallelism", "ici_autoregressive_parallelism",
    "dcn_diloco_parallelism", "dcn_sequence_parallelism", "dcn_context_usp_ulysses_parallelism",
    "dcn_context_autoregressive_parallelism", "dcn_autoregressive_parallelism", "enable_diloco",
    "custom_mesh_and_rule", "logical_axis_rules", "mesh_axes", "use_2d_fsdp_sharding",
    "shard_exp_on_fsdp", "use_ring_of_experts", "num_moe_token_chunks", "num_moe_emb_chunks",
    "use_batch_split_schedule", "pipeline_parallel_layers", "pipeline_fsdp_ag_once",
    "pipeline_fsdp_ag_per_repeat", "pipeline_delay_activation_forwarding",
    "enable_rampup_batch_size",
    // memory and number formats
    "optimizer_memory_host_offload", "parameter_memory_host_offload", "num_vocab_tiling",
    "mu_dtype", "weight_sparsity_n", "activations_in_float32",
    // layers and losses that plait has no term for
    "mtp_num_layers", "shared_experts", "first_num_dense_layers", "sliding_window_size",
    "chunk_attn_window_size", "attention_sink", "attn_logits_soft_cap", "final_logits_soft_cap",
    "attention_bias", "mlp_bias", "use_post_attn_norm", "use_post_ffw_norm", "moba", "use_indexer",
    "share_kv_projections", "num_kv_shared_layers", "trainable_position_size", "capacity_factor",
    "use_multimodal", "use_dpo", "training_objective", NULL};

/*
 * List the keys that were not read. Fail if no key was read, since the file is not one of
 * MaxText's.
 */
static plait_status check_read(const config_reader *in, plait_error *err)
{
    text_builder list;
    bool any = false;

    text_builder_init(&list, in->arena);
    for (int i = 0; i < in->yaml->count; i++) {
        const yaml_leaf *const leaf = &in->yaml->leaf[i];

        any = any || leaf->read;
        if (!leaf->read)
            text_append_printf(&list, "%s%s", list.length > 0 ? ", " : "", leaf->path);
    }
    if (!any)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, in->yaml->name,
                          "expected keys of MaxText, such as per_device_batch_size, found none");
    in->out->not_read = text_builder_finish(&list, NULL);
    return in->out->not_read != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

plait_status maxtext_import(const char *text, size_t length, const char *name,
                            const launch_call *call, plait_arena *arena, plans_entry *out,
                            text_builder *warnings, plait_error *err)
{
    const char *model;
    yaml_file yaml;

    PLAIT_TRY(yaml_read(text, length, name, arena, &yaml, err));
    PLAIT_TRY(notes_read(text, length, name, arena, out, err));
    if (call != NULL && call->gpus > 0)
        out->gpus = call->gpus;
    config_reader in = {.yaml = &yaml, .arena = arena, .out = out, .warnings = warnings};
    PLAIT_TRY(notes_find(text, length, "model", arena, &model, err));
    PLAIT_TRY(read_model(&in, model, err));
    maxtext_axes ici, dcn;
    PLAIT_TRY(read_axes(&in, "ici", 1, -1, &ici, err));
    PLAIT_TRY(read_axes(&in, "dcn", -1, 1, &dcn, err));
    PLAIT_TRY(close_mesh(&in, &ici, &dcn, err));
#define X(axis) in.mesh.axis = ici.axis * dcn.axis;
    MAXTEXT_AXES(X)
#undef X
    in.replicas_outside = dcn.data * dcn.fsdp * dcn.expert > 1;
    PLAIT_TRY(take_degrees(&in, err));
    PLAIT_TRY(read_batch(&in, err));
    read_remat(&in);
    const bool noted = in.out->given & PLAIT_KEY_BIT(PLAIT_KEY_ATTENTION);
    const bool unfused =
        strcmp(maxtext_word(in.yaml, "attention", "autoselected"), "dot_product") == 0;
    if (unfused || !noted || in.out->degrees.attention == PLAIT_ATTENTION_UNFUSED)
        import_set_key(in.out, PLAIT_KEY_ATTENTION,
                       unfused ? PLAIT_ATTENTION_UNFUSED : PLAIT_ATTENTION_FUSED);
    import_set_key(in.out, PLAIT_KEY_GRAD_SYNC, PLAIT_SYNC_BUCKETED);
    import_set_key(in.out, PLAIT_KEY_GRAD_REDUCE, PLAIT_STATE_BF16);
    const char *const quantization = maxtext_word(in.yaml, "quantization", "");

    in.out->precision = text_starts_with(quantization, "fp8") ? PLAIT_FP8 : PLAIT_BF16;
    if (quantization[0] != '\0' && in.out->precision == PLAIT_BF16)
        import_warn(in.warnings, "matrix products in int8 and other formats are priced as in bf16");
    if (strcmp(maxtext_word(in.yaml, "dtype", "bfloat16"), "bfloat16") != 0)
        import_warn(in.warnings, "a dtype other than bfloat16 is priced as bfloat16");
    import_list list = {in.warnings, "options that the price ignores", false};
    for (int i = 0; i < in.yaml->count; i++) {
        yaml_leaf *const leaf = &in.yaml->leaf[i];

        if (text_index(leaf->path, unpriced) < 0)
            continue;
        leaf->read = true;
        // values with which a key has no effect
        static const char *const words[] = {"",          "false",   "False", "0",    "0.0",
                                            "1",         "-1",      "-1.0",  "None", "null",
                                            "causal_lm", "float32", "none",  NULL};
        if (leaf->values > 0 && text_index(leaf->value[0], words) < 0)
            import_list_add(&list, leaf->path);
    }
    PLAIT_TRY(check_read(&in, err));
    import_fill_plain(out);
    out->runtime = "maxtext";
    return PLAIT_OK;
}
