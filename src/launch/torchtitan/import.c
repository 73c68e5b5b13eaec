/*
 * import.c - reads a plan from a config of torchtitan: arguments, TOML or a recipe
 *
 * The reader uses the keys that the config gives, and torchtitan's defaults only if another key
 * makes them certain. Notes fill keys that the config does not give (plan_reader.h).
 */
#include "launch/torchtitan/torchtitan.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "plait/data.h"

#include "base/status.h"
#include "launch/read/plan_reader.h"
#include "plan/model_queries.h"

const char *titan_find(const titan_reading *in, const char *key)
{
    return titan_pairs_find(in->pairs, key);
}

const char *titan_word_of(const titan_reading *in, const char *key)
{
    const char *const value = titan_find(in, key);
    const size_t length = value != NULL ? strlen(value) : 0;

    if (length < 2 || strchr("\"'", value[0]) == NULL)
        return value;
    const char *const word =
        plait_arena_printf(in->pairs->arena, "%.*s", (int)length - 2, value + 1);
    return word != NULL ? word : value;
}

int64_t titan_number_of(titan_reading *in, const char *key, int64_t max)
{
    const char *const value = titan_word_of(in, key);
    int64_t product = 1, next = 0;

    if (value == NULL || in->status != PLAIT_OK)
        return 0;
    for (const char *at = value;; at++) {
        // one factor of a product such as 8 * 2_048, whose digits may be grouped by underscores
        char digits[24] = "";
        size_t count = 0;

        for (; *at != '\0' && *at != '*'; at++)
            if (*at != '_' && *at != ' ' && count < sizeof digits - 1)
                digits[count++] = *at;
        if (!text_parse_int64(digits, -1, 1LL << 40, &next) || next == 0 || next > max / product ||
            (next < 0 && product > 1)) {
            in->status = plait_fail(in->err, PLAIT_ERROR_RANGE, in->name,
                                    "expected a number from 1 to %lld for %s, found '%.60s'",
                                    (long long)max, key, value);
            return 0;
        }
        product *= next;
        if (*at == '\0')
            return product;
    }
}

/*
 * Return the value of a switch, 0 or 1; -1: not given, an expression of Python, or in->status is a
 * failure.
 */
static int titan_switch_of(titan_reading *in, const char *key)
{
    static const char *const off[] = {"False", "false", NULL};
    static const char *const on[] = {"True", "true", NULL};
    const char *const value = titan_find(in, key);

    if (value == NULL || in->status != PLAIT_OK)
        return -1;
    if (text_index(value, on) >= 0)
        return 1;
    if (text_index(value, off) >= 0)
        return 0;
    if (!in->python || strchr("\"'", value[0]) != NULL || isdigit((unsigned char)value[0]))
        in->status = plait_fail(in->err, PLAIT_ERROR_RANGE, in->name,
                                "expected true or false for %s, found %.60s", key, value);
    return -1;
}

void titan_set(titan_reading *in, const char *key, const char *value)
{
    plait_error inner;

    if (in->status != PLAIT_OK)
        return;
    if (plait_degrees_set(&in->out->degrees, key, value, &inner) != PLAIT_OK)
        in->status = plait_fail(in->err, inner.status, in->name, "%s: %s", key, inner.message);
    else
        in->out->given |= PLAIT_KEY_BIT(plait_key_find(key));
}

void titan_set_number(titan_reading *in, const char *key, int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)value);
    titan_set(in, key, text);
}

bool titan_is_known(const titan_reading *in, const char *key)
{
    return (in->out->given & PLAIT_KEY_BIT(plait_key_find(key))) != 0;
}

/* ---- the batch ---- */

/* Read a batch in tokens, which consists of whole sequences of the maximum context length. */
static void take_tokens(titan_reading *in)
{
    const plait_degrees *const d = &in->out->degrees;
    const int64_t seq = titan_number_of(in, "training.max_context_length", INT_MAX);
    const int64_t tokens =
        titan_number_of(in, "training.num_tokens_per_microbatch_per_dp_rank", 1LL << 40);
    int64_t step = titan_number_of(in, "training.num_tokens_per_train_step", 1LL << 40);
    const int64_t microbatches = titan_number_of(in, "parallelism.num_pp_microbatches", 1 << 20);

    in->out->seq = (int)(seq > 0 ? seq : 0);
    if (seq <= 0 || tokens <= 0)
        return;
    if (tokens % seq != 0) {
        import_warn(in->warnings, "the tokens of a microbatch are not a multiple of "
                                  "max_context_length; mbs is left unset");
        return;
    }
    const int64_t flush = tokens * (d->pp > 1 && microbatches > 0 ? microbatches : 1);
    if (step <= 0 && titan_is_known(in, "dp") && flush <= 1LL << 40)
        step = flush * d->dp;
    if (step > 0 && step % seq == 0 && step / seq <= INT_MAX)
        in->out->gbs = (int)(step / seq);
    if (step > 0 && d->pp > 1 && titan_is_known(in, "dp") && step / d->dp > flush)
        import_warn(
            in->warnings,
            "the pipeline is flushed several times per step, but priced as if flushed once");
    titan_set_number(in, "mbs", tokens / seq);
}

static void take_sequences(titan_reading *in)
{
    const plait_degrees *const d = &in->out->degrees;
    const int64_t seq = titan_number_of(in, "training.seq_len", INT_MAX);
    const int64_t local = titan_number_of(in, "training.local_batch_size", 1 << 20);
    int64_t global = titan_number_of(in, "training.global_batch_size", INT_MAX);
    const int64_t micro =
        titan_number_of(in, "parallelism.pipeline_parallel_microbatch_size", 1 << 20);

    in->out->seq = (int)(seq > 0 ? seq : 0);
    if (global <= 0 && local > 0 && titan_is_known(in, "dp") && local * d->dp <= INT_MAX)
        global = local * d->dp;
    in->out->gbs = (int)(global > 0 ? global : 0);
    if (d->pp > 1)
        titan_set_number(in, "mbs", micro > 0 ? micro : 1);
    else if (local > 0)
        titan_set_number(in, "mbs", local);
}

/* ---- model, precision, software ---- */

static const titan_flavour *flavour_named(const titan_reading *in)
{
    const char *const module = titan_word_of(in, in->toml ? "model.name" : "module");
    const char *const name = titan_word_of(in, in->toml ? "model.flavor" : "config");

    for (const titan_flavour *f = titan_flavours; f->name != NULL && module != NULL; f++) {
        if (name == NULL || strcmp(titan_module[f->family], module) != 0)
            continue;
        if (in->toml ? strcmp(f->name, name) == 0
                     : (f->config != NULL && strcmp(f->config, name) == 0) ||
                           (f->quantized != NULL && strcmp(f->quantized, name) == 0))
            return f;
    }
    return NULL;
}

/*
 * Set the model that the caller, a note or the config names; NULL: plait does not have the model.
 */
static plait_status titan_take_model(titan_reading *in, plait_error *err)
{
    const titan_flavour *const flavour = flavour_named(in);
    plait_model *const model = plait_arena_alloc(in->pairs->arena, 1, sizeof *model);
    plait_error inner;

    PLAIT_TRY(plait_check_allocated(model, err));
    in->out->model = in->pairs->call != NULL && in->pairs->call->model != NULL
                         ? in->pairs->call->model
                         : in->notes.model;
    if (in->out->model != NULL || flavour == NULL)
        return PLAIT_OK;
    const plait_status status =
        plait_model_find(flavour->model, in->pairs->arena, model, NULL, &inner);
    if (status == PLAIT_OK)
        in->out->model = model;
    return faults_only(status, &inner, err);
}

static void take_precision(titan_reading *in, const titan_flavour *flavour)
{
    const char *const converters = titan_find(in, "model.converters");
    const char *const found = titan_find(in, "precision");
    const char *const config = titan_word_of(in, "config");

    if (in->toml && titan_switch_of(in, "float8.enable_float8_linear") == 1) // until early 2025
        in->out->precision = PLAIT_FP8;
    else if (in->toml && (converters == NULL || strcmp(converters, "[]") == 0))
        in->out->precision = PLAIT_BF16;
    else if (in->toml)
        in->out->precision = strstr(converters, "float8") != NULL ? PLAIT_FP8 : PLAIT_MXFP8;
    else if (found != NULL)
        in->out->precision = text_index(found, plait_precision_name);
    else if (flavour != NULL)
        in->out->precision = flavour->config != NULL && strcmp(flavour->config, config) == 0
                                 ? PLAIT_BF16
                                 : PLAIT_FP8;
}

static void warn_of_others(titan_reading *in)
{
    const char *const exchange = titan_word_of(in, "parallelism.context_parallel_rotate_method");
    const char *const dispatcher = titan_word_of(in, "parallelism.expert_parallel_comm_backend");
    const char *const dtype = titan_word_of(in, "training.dtype");

    // the section of float8 in TOML, up to 2025-07, up to 2025-09, and up to the last release
    static const char *const recipes[] = {"float8.recipe_name", "quantize.dense.float8.recipe_name",
                                          "quantize.linear.float8.recipe_name"};

    for (size_t r = 0; r < sizeof recipes / sizeof *recipes; r++) {
        const char *const recipe = titan_word_of(in, recipes[r]);

        if (in->out->precision == PLAIT_FP8 && recipe != NULL && strcmp(recipe, "rowwise") != 0)
            text_append_printf(import_warn(in->warnings, ""),
                               "the float8 recipe %.40s is priced as rowwise", recipe);
    }
    if (dtype != NULL && strcmp(dtype, "bfloat16") == 0)
        import_warn(in->warnings, "weights and optimizer in bfloat16 are priced as float32");
    if (titan_switch_of(in, "parallelism.pipeline_parallel_expert_parallel_overlap") == 1)
        import_warn(in->warnings, "overlap of pipeline and experts is not priced");
    if (exchange != NULL && strcmp(exchange, "alltoall") == 0)
        import_warn(in->warnings, "context parallelism with alltoall is priced as with allgather");
    if (dispatcher != NULL && strcmp(dispatcher, "standard") != 0)
        import_warn(in->warnings, "the token dispatcher is priced as the standard dispatcher");
    if (titan_switch_of(in, "training.disable_cuda_graphs") == 0)
        import_warn(in->warnings, "CUDA graphs are not priced");
    if (titan_find(in, "several") != NULL)
        import_warn(in->warnings,
                    "the file has several configurations; the last value of each key is used");
}

/* ---- degrees ---- */

static void take_degree(titan_reading *in, const char *from, const char *key)
{
    const int64_t value = titan_number_of(in, from, 1 << 20);

    if (value > 0 || (value == 0 && in->toml)) // 1 is torchtitan's default
        titan_set_number(in, key, value > 0 ? value : 1);
}

/* Set the GPUs: the ranks that the launcher starts, else the product of all degrees. */
static void take_world(titan_reading *in, int64_t replicate, int64_t shard)
{
    const plait_degrees *const d = &in->out->degrees;
    const int64_t gpus = titan_number_of(in, "nproc_per_node", 1 << 20);
    const int64_t nodes = titan_number_of(in, "nnodes", 1 << 20);

    if (in->pairs->call != NULL && in->pairs->call->gpus > 0)
        in->out->gpus = in->pairs->call->gpus;
    else if (gpus > 0 && gpus * (nodes > 0 ? nodes : 1) <= INT_MAX)
        in->out->gpus = (int)(gpus * (nodes > 0 ? nodes : 1));
    const double product =
        (double)(replicate > 0 ? replicate : 1) * (double)shard * d->tp * d->cp * d->pp;
    const bool whole = in->complete || (titan_is_known(in, "tp") && titan_is_known(in, "cp") &&
                                        titan_is_known(in, "pp"));
    if (in->out->gpus == 0 && shard > 0 && whole && product <= INT_MAX)
        in->out->gpus = (int)product;
    if (in->out->gpus == 0)
        in->out->gpus = in->notes.gpus;
}

/* ---- memory ---- */

/* Return the kind of recomputation: "full" for `full`, FullAC.Config() and mode = "full". */
static const char *checkpoint_of(const titan_reading *in)
{
    const char *const mode =
        titan_word_of(in, in->toml ? "activation_checkpoint.mode" : "activation_checkpoint");

    if (mode == NULL)
        return in->complete ? "selective" : "";
    if (strstr(mode, "FullAC") != NULL)
        return "full";
    if (strstr(mode, "SelectiveAC") != NULL)
        return "selective";
    if (strstr(mode, "MemoryBudgetAC") != NULL)
        return "memory-budget";
    return strcmp(mode, "None") == 0 ? "none" : mode;
}

static void take_recompute(titan_reading *in)
{
    const char *const mode = checkpoint_of(in);
    const char *const option = titan_word_of(in, "activation_checkpoint.selective_ac_option");

    if (strcmp(mode, "full") == 0 || strcmp(mode, "none") == 0)
        titan_set(in, "recompute", mode);
    else if (strcmp(mode, "selective") == 0 &&
             (!in->toml || (option != NULL && strcmp(option, "op") == 0)))
        titan_set(in, "recompute", "sac");
    else if (strcmp(mode, "selective") == 0 && option != NULL && strcmp(option, "unknown") == 0)
        import_warn(
            in->warnings,
            "the log does not show what selective recomputation keeps; recompute is left unset");
    else if (strcmp(mode, "selective") == 0)
        import_warn(
            in->warnings,
            "plait cannot express recomputation of every second layer; recompute is left unset");
    else if (mode[0] != '\0')
        import_warn(
            in->warnings,
            "plait cannot express recomputation to a memory budget; recompute is left unset");
}

/*
 * Set the keys that are equal in all configs: FSDP reduces in buckets, its mesh has one order of
 * axes, and NCCL dispatches tokens.
 */
static void take_fixed(titan_reading *in)
{
    const plait_degrees *const d = &in->out->degrees;
    const int64_t etp = titan_number_of(in, "parallelism.expert_tensor_parallel_degree", 1 << 20);

    titan_set(in, "order", "tp-cp-dp-pp");
    titan_set(in, "grad_sync", "bucketed");
    titan_set(in, "fusion", "none");
    titan_set(in, "dispatcher", "alltoall");
    titan_set(in, "ep_overlap", "none");
    titan_set(in, "reshard", "always"); // `never` was read as ZeRO-2 above
    titan_set(in, "scatter", "microbatch");
    titan_set(in, "offload_acts", "none");
    titan_set(in, "offload",
              titan_switch_of(in, "training.enable_cpu_offload") == 1 ? "params" : "none");
    if (in->out->model != NULL && model_has_experts(in->out->model) && titan_is_known(in, "ep") &&
        titan_is_known(in, "tp"))
        titan_set_number(in, "etp", d->ep == 1 ? d->tp : etp > 0 ? etp : 1);
}

/* Set tp_comm_overlap, after the runtime. The key moved to the section `compile` in 2026-08. */
static void take_tensor_overlap(titan_reading *in)
{
    const plait_degrees *const d = &in->out->degrees;
    const bool on = titan_switch_of(in, "compile.enable_async_tensor_parallel") == 1 ||
                    titan_switch_of(in, "parallelism.enable_async_tensor_parallel") == 1;
    const bool compiled = strcmp(in->out->runtime, "torchtitan-eager") != 0;

    if (on && !compiled)
        import_warn(in->warnings, "asynchronous tensor parallelism needs torch.compile of the "
                                  "model; the plan is priced without it");
    titan_set_number(in, "tp_comm_overlap", on && compiled && d->tp > 1 && d->sp);
}

/*
 * Return 1 if torch.compile compiles the model and 0 if it does not; -1: not given. Without a list,
 * it compiles the model and the loss.
 */
static int compiles_model(titan_reading *in)
{
    const char *const components = titan_find(in, "compile.components");
    const int enabled = titan_switch_of(in, "compile.enable");

    if (enabled != 1 || components == NULL)
        return enabled < 0 && in->complete ? 0 : enabled;
    for (const char *at = components; (at = strstr(at, "model")) != NULL; at++)
        if ((at == components || strchr("[\"' ,", at[-1]) != NULL) &&
            strchr("]\"' ,", at[strlen("model")]) != NULL) // or the end of the list
            return 1;
    return 0;
}

static plait_status take_all(titan_reading *in, plait_error *err)
{
    PLAIT_TRY(titan_take_model(in, err));
    const int sp = titan_switch_of(in, "parallelism.enable_sequence_parallel");

    take_degree(in, "parallelism.tensor_parallel_degree", "tp");
    take_degree(in, "parallelism.context_parallel_degree", "cp");
    take_degree(in, "parallelism.pipeline_parallel_degree", "pp");
    take_degree(in, "parallelism.expert_parallel_degree", "ep");
    if (titan_is_known(in, "tp"))
        titan_set_number(in, "sp", in->out->degrees.tp > 1 && sp != 0);
    if (in->out->degrees.cp > 1)
        titan_set(in, "cp_comm", "allgather");
    // torchtitan's shard degree excludes the context ranks, plait's includes them
    const plait_degrees *const d = &in->out->degrees;
    const int64_t replicate =
        titan_number_of(in, "parallelism.data_parallel_replicate_degree", 1 << 20);
    int64_t shard = titan_number_of(in, "parallelism.data_parallel_shard_degree", 1 << 20);

    take_world(in, replicate, shard);
    const int dp = in->out->gpus > 0 ? plait_degrees_dp(in->out->gpus, d->tp, d->pp, d->cp) : 0;
    if (dp > 0)
        titan_set_number(in, "dp", dp);
    if (shard <= 0 && dp > 0 && (shard < 0 || replicate > 0))
        shard = dp / (replicate > 0 ? replicate : 1);
    if (shard > 0)
        titan_set_number(in, "shard_group", shard * d->cp);
    const char *policy = titan_word_of(in, "parallelism.fsdp_reshard_after_forward");
    if (policy == NULL && in->complete)
        policy = "default";
    if (policy != NULL && (strcmp(policy, "default") != 0 || titan_is_known(in, "pp"))) {
        if (strcmp(policy, "default") == 0) // "always" would gather once per microbatch
            policy = in->out->degrees.pp > 1 ? "never" : "always";
        titan_set(in, "zero", strcmp(policy, "never") == 0 ? "2" : "3");
    }
    PLAIT_TRY(in->status);
    PLAIT_TRY(titan_take_pipeline(in, err));
    take_recompute(in);
    take_fixed(in);
    const titan_flavour *const flavour = flavour_named(in);

    if (in->toml)
        take_sequences(in);
    else
        take_tokens(in);
    take_precision(in, flavour);
    // torch.compile distinguishes the two profiles; only a note can name a user's own profile
    const char *const noted = in->notes.runtime;
    const int compiled = compiles_model(in);
    if (noted != NULL && strcmp(noted, "torchtitan") != 0 && strcmp(noted, "torchtitan-eager") != 0)
        in->out->runtime = noted;
    else if (compiled >= 0)
        in->out->runtime = compiled ? "torchtitan" : "torchtitan-eager";
    else
        in->out->runtime = noted != NULL ? noted : "torchtitan";
    take_tensor_overlap(in);
    warn_of_others(in);
    return in->status;
}

/*
 * True if a key is a section whose own keys are in the list, such as `parallelism =
 * ParallelismConfig(...)`.
 */
static bool is_section(const titan_pairs *pairs, const char *key)
{
    const size_t width = strlen(key);

    for (int i = 0; i < pairs->count; i++)
        if (text_starts_with(pairs->pair[i].key, key) && pairs->pair[i].key[width] == '.')
            return true;
    return false;
}

static plait_status check_any(const titan_reading *in, plait_error *err)
{
    if (in->pairs->count > 0 || in->notes.given != 0)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_SCHEMA, in->name,
                      "expected a config of torchtitan: TOML, a recipe in Python, or flags such as "
                      "--parallelism.tensor_parallel_degree 8, found none");
}

typedef plait_status titan_reader(const char *text, size_t length, const char *name,
                                  titan_pairs *out, plait_error *err);

/*
 * Choose the reader by the first line that is not a comment: [section] is TOML, a line such as
 * import or def is Python, anything else a command line.
 */
static titan_reader *reader_of(const char *text)
{
    static const char *const python[] = {"from ", "import ", "def ", "\"\"\"", "@", NULL};

    while (*text != '\0') {
        const char *const line = text + strspn(text, " \t\r\n");

        for (const char *const *word = python; *word != NULL; word++)
            if (text_starts_with(line, *word))
                return titan_read_python;
        if (*line == '[')
            return titan_read_toml;
        if (*line != '#' && *line != '\0')
            return titan_read_shell;
        text = line + strcspn(line, "\n");
    }
    return titan_read_shell;
}

plait_status titan_import(const char *text, size_t length, const char *name,
                          const launch_call *call, plait_arena *arena, plans_entry *out,
                          text_builder *warnings, plait_error *err)
{
    titan_pairs pairs = {.arena = arena};
    titan_reading in = {.pairs = &pairs,
                        .name = name,
                        .out = out,
                        .warnings = warnings,
                        .err = err,
                        .notes = plans_unknown(name)};
    const char *const copy = plait_arena_printf(arena, "%.*s", (int)length, text);

    pairs.call = call;
    *out = plans_unknown(name);
    PLAIT_TRY(plait_check_allocated(copy, err));
    if (strlen(copy) != length)
        return plait_fail(err, PLAIT_ERROR_SYNTAX, name, "expected a text file, found a zero byte");
    titan_reader *const read = reader_of(copy);
    in.toml = read == titan_read_toml;
    in.python = read == titan_read_python;
    in.complete = read != titan_read_shell;
    PLAIT_TRY(read(copy, strlen(copy), name, &pairs, err));
    PLAIT_TRY(notes_read(copy, strlen(copy), name, arena, &in.notes, err));
    PLAIT_TRY(check_any(&in, err));
    PLAIT_TRY(take_all(&in, err));
    text_builder list;
    text_builder_init(&list, in.pairs->arena);
    for (int i = 0; i < in.pairs->count; i++) {
        const titan_pair *const pair = &in.pairs->pair[i];

        if (!pair->read && !is_section(in.pairs, pair->key))
            text_append_printf(&list, "%s%s", list.length > 0 ? ", " : "", pair->key);
    }
    in.out->not_read = text_builder_finish(&list, NULL);
    PLAIT_TRY(plait_check_allocated(in.out->not_read, err));
    PLAIT_TRY(notes_read(copy, strlen(copy), name, arena, out, err));
    return PLAIT_OK;
}
