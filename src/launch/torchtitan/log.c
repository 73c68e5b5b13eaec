/*
 * log.c - converts the config of a run in torchtitan's log to TOML
 *
 * With job.print_config the log of v0.2.1 and later has the whole job config as JSON. Every log has
 * lines on the model, the device mesh, the batch and the features that are applied to the model,
 * which give the values that the job config lacks. Source: train.py, trainer.py,
 * config/job_config.py, distributed/parallel_dims.py of pytorch/torchtitan v0.1.0, v0.2.0, v0.2.2
 * and b5bcd76.
 */
#include <stdio.h>
#include <string.h>

#include "launch/read/log.h"
#include "launch/torchtitan/torchtitan.h"
#include "launch/write/training.h"

/*
 * Append the sections of the JSON that a plan depends on. The JSON has one setting, or one item of
 * a list, per line.
 */
static void append_job_config(char *object, text_builder *out)
{
    // recipes (since 2026) have the name of the model in model_spec
    static const char *const sections[] = {
        "model",   "model_spec", "training",     "parallelism", "activation_checkpoint",
        "compile", "float8",     "experimental", NULL};
    static const char *const none[] = {"null", "\"\"", "[]", NULL};
    bool wanted = false, given = false;
    size_t outer = 0;
    char key[64];

    for (char *line = text_cut(object, '\n'), *next; line != NULL; line = next) {
        const size_t blanks = strspn(line, " ");
        int used = 0;

        next = text_cut(line, '\n');
        outer = outer == 0 ? blanks : outer;
        if (blanks <= outer + 2 && text_ends_with(line, ","))
            line[strlen(line) - 1] = '\0';
        const bool member = sscanf(line, " \"%63[A-Za-z0-9_]\": %n", key, &used) == 1 && used > 0;
        const char *const value = line + used;
        if (blanks <= outer) {
            wanted = member && text_index(key, sections) >= 0;
            if (wanted)
                text_append_printf(out, "[%s]\n", text_equal(key, "model_spec") ? "model" : key);
        } else if (wanted && blanks == outer + 2 && member) {
            // skip inner sections, and texts whose escapes TOML may read differently
            given = text_index(value, none) < 0 && value[0] != '{' && strchr(value, '\\') == NULL;
            if (given)
                text_append_printf(out, "%s = %s\n", key, value);
        } else if (wanted && given) {
            text_append_printf(out, "%s\n", line);
        }
    }
}

enum { LINE = 512 };

/*
 * Copy the rest of the line after the last occurrence of a text; store "" and return false if the
 * text is missing.
 */
static bool rest_of_line(char *log, const char *text, char line[LINE])
{
    const char *const found = log_last(log, text);
    const char *const rest = found != NULL ? found + strlen(text) : "";

    text_format(line, LINE, "%.*s", (int)strcspn(rest, "\n"), rest);
    return found != NULL;
}

/*
 * Append the GPUs, and with `all` the degrees, from a line such as "parallelism: pp=1,
 * dp_replicate=1, dp_shard=8, cp=1, tp=1, ep=1". Up to v0.2.1 the line is "['dp_shard', 'tp'], [4,
 * 2]": it omits axes of one rank, and with experts the axis of shards has two parts.
 */
static void append_mesh(const char *line, bool all, text_builder *out)
{
    enum { PP, REPLICATE, SHARD, CP, TP, EP, ETP, SHARD_MOD_EP, SHARD_IN_EP, AXES };
    static const char *const axes[AXES + 1] = {
        "pp",  "dp_replicate",    "dp_shard",       "cp", "tp", "ep",
        "etp", "dp_shard_mod_ep", "dp_shard_in_ep", NULL};
    static const char named[] = "parallelism:";
    int ranks[AXES] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, size, used;
    const char *sizes = strstr(line, "], [");
    double gpus = 1.0;
    char axis[24];

    line += text_starts_with(line, named) ? strlen(named) : 0;
    while (sscanf(line, "%*[[', ]%23[a-z_]%n", axis, &used) == 1) {
        line += used;
        const char **const at = sizes != NULL ? &sizes : &line;
        if (sscanf(*at, "%*[]=, []%7d%n", &size, &used) != 1)
            break;
        *at += used;
        if (text_index(axis, axes) >= 0)
            ranks[text_index(axis, axes)] = size;
    }
    const double shards = (double)ranks[SHARD] * ranks[SHARD_MOD_EP] * ranks[SHARD_IN_EP];
    for (int a = 0; a < EP; a++)
        gpus *= a == SHARD ? shards : ranks[a];
    if (!(gpus >= 1.0 && gpus <= PLAIT_MAX_GPUS))
        return;
    ranks[SHARD] = (int)shards;
    if (ranks[SHARD_IN_EP] > 1) // valid for expert_tensor_parallel_degree 1, the default
        ranks[EP] = ranks[SHARD_IN_EP] * ranks[CP] * ranks[TP];
    text_append_printf(out, NOTES_MARK "gpus %.0f\n", gpus);
    if (all)
        text_append_printf(
            out,
            "[parallelism]\npipeline_parallel_degree = %d\ndata_parallel_replicate_degree = %d\n"
            "data_parallel_shard_degree = %d\ncontext_parallel_degree = %d\n"
            "tensor_parallel_degree = %d\nexpert_parallel_degree = %d\n"
            "expert_tensor_parallel_degree = %d\n",
            ranks[PP], ranks[REPLICATE], ranks[SHARD], ranks[CP], ranks[TP], ranks[EP], ranks[ETP]);
}

/*
 * Append the batch in sequences; the log has it in sequences, or since 2026 in tokens. A pipeline
 * divides the batch of a rank into microbatches.
 */
static void append_batch(char *log, text_builder *out)
{
    long long local, global, seq, microbatches;
    char line[LINE], schedule[40];

    rest_of_line(log, "Trainer is initialized with ", line);
    if (sscanf(line,
               "%12lld tokens per DP rank, %12lld tokens per train step, gradient accumulation "
               "steps %*d, maximum context length %9lld",
               &local, &global, &seq) == 3 &&
        seq > 0) {
        local /= seq;
        global /= seq;
    } else if (sscanf(line,
                      "local batch size %9lld, global batch size %9lld, gradient accumulation "
                      "steps %*d, sequence length %9lld",
                      &local, &global, &seq) != 3) {
        return;
    }
    text_append_printf(
        out, "[training]\nlocal_batch_size = %lld\nglobal_batch_size = %lld\nseq_len = %lld\n",
        local, global, seq);
    rest_of_line(log, "Using pipeline schedule ", line);
    if (sscanf(line, "%39[A-Za-z0-9_] with %9lld", schedule, &microbatches) == 2 &&
        microbatches > 0)
        text_append_printf(out,
                           "[parallelism]\npipeline_parallel_schedule = \"%s\"\n"
                           "pipeline_parallel_microbatch_size = %lld\n",
                           schedule, local / microbatches);
}

/*
 * Append the model of "Building llama3 8B with TransformerModelArgs(...)", float8 and the compiler.
 */
static void append_model(char *log, text_builder *out)
{
    char line[LINE], mark[40], flavour[40];

    for (const char *const *module = titan_module; *module != NULL; module++) {
        text_format(mark, sizeof mark, "Building %s ", *module);
        rest_of_line(log, mark, line);
        if (sscanf(line, "%39[A-Za-z0-9._-]", flavour) == 1)
            text_append_printf(out, "[model]\nname = \"%s\"\nflavor = \"%s\"\n", *module, flavour);
    }
    // find lines such as "Float8 training active with recipe rowwise" or "Float8 tensorwise scaled
    // training active"
    if (strstr(log, "Float8 t") != NULL)
        text_append(out, "[model]\nconverters = [\"float8\"]\n");
    if (strstr(log, "Block with torch.compile") != NULL)
        text_append(out, "[compile]\nenable = true\n");
}

plait_status titan_read_log(char *log, const char *name, plait_arena *arena, char **config,
                            plait_error *err)
{
    const char *const found = log_last(log, "Running with configs: {");
    char line[LINE], *object;
    bool has_mode = false, has_batch = false;
    text_builder out;

    text_builder_init(&out, arena);
    if (found != NULL) {
        PLAIT_TRY(
            log_object(strchr(found, '{'), "torchtitan's job config", name, arena, &object, err));
        append_job_config(object, &out);
        const char *const given = text_builder_finish(&out, NULL);
        PLAIT_TRY(plait_check_allocated(given, err));
        // recipes (since 2026) have neither the mode of recomputation nor the batch in sequences
        has_mode = strstr(given, "\nmode = ") != NULL;
        has_batch = strstr(given, "\nlocal_batch_size = ") != NULL;
    }
    if (rest_of_line(log, "device mesh with ", line))
        append_mesh(line, found == NULL, &out);
    else if (found == NULL)
        return PLAIT_OK;
    if (found == NULL)
        append_model(log, &out);
    if (!has_mode) {
        // find a line such as "Applied selective activation checkpointing to the model", or since
        // 2026 "Applied SelectiveAC"
        const char *kind = log_last(log, " activation checkpointing to the model");
        while (kind != NULL && kind > log && text_is_alphanumeric(kind[-1]))
            kind--;
        text_append(&out, "[activation_checkpoint]\n");
        if (kind == NULL)
            text_append(&out, "mode = \"none\"\n");
        else if (text_starts_with(kind, "full") || text_starts_with(kind, "FullAC"))
            text_append(&out, "mode = \"full\"\n");
        else
            text_append_printf(&out, "mode = \"selective\"\nselective_ac_option = \"%s\"\n",
                               text_starts_with(kind, "SelectiveAC") ? "op" : "unknown");
    }
    if (!has_batch)
        append_batch(log, &out);
    *config = text_builder_finish(&out, NULL);
    return *config != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
