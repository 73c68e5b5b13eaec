/*
 * import.c - a plan out of a config of torchtitan: arguments, TOML or a recipe
 *
 * A key that stands there is taken; what the client would fill in by itself is taken only where
 * another key makes it certain. Notes fill what no key says (notes.h).
 */
#include <limits.h>
#include <string.h>

#include "launch/read/notes_read.h"
#include "launch/torchtitan/reading.h"
#include "plan/model_queries.h"

/* ---- degrees ---- */

/* A degree under its own key. */
static plait_status take_degree(titan_reading *in, const char *from, const char *key,
                                plait_error *err)
{
    int64_t value;

    PLAIT_TRY(titan_number_of(in, from, 1 << 20, &value, err));
    if (value == 0 && in->toml)
        value = 1; // the client's own
    return value > 0 ? titan_set_number(in, key, value, err) : PLAIT_OK;
}

static plait_status take_degrees(titan_reading *in, plait_error *err)
{
    const int sp = titan_switch_of(in, "parallelism.enable_sequence_parallel");

    PLAIT_TRY(take_degree(in, "parallelism.tensor_parallel_degree", "tp", err));
    PLAIT_TRY(take_degree(in, "parallelism.context_parallel_degree", "cp", err));
    PLAIT_TRY(take_degree(in, "parallelism.pipeline_parallel_degree", "pp", err));
    PLAIT_TRY(take_degree(in, "parallelism.expert_parallel_degree", "ep", err));
    if (titan_knows(in, "tp"))
        PLAIT_TRY(titan_set_number(in, "sp", in->out->degrees.tp > 1 && sp != 0, err));
    if (in->out->degrees.cp > 1)
        PLAIT_TRY(titan_set(in, "cp_comm", "allgather", err));
    return PLAIT_OK;
}

/* How many ranks there are: what the launcher starts, or the product of all degrees. */
static plait_status take_world(titan_reading *in, int64_t replicate, int64_t shard,
                               plait_error *err)
{
    const plait_degrees *const d = &in->out->degrees;
    int64_t nodes, gpus;

    PLAIT_TRY(titan_number_of(in, "nproc_per_node", 1 << 20, &gpus, err));
    PLAIT_TRY(titan_number_of(in, "nnodes", 1 << 20, &nodes, err));
    if (in->pairs->call != NULL && in->pairs->call->gpus > 0)
        in->out->gpus = in->pairs->call->gpus;
    else if (gpus > 0 && gpus * (nodes > 0 ? nodes : 1) <= INT_MAX)
        in->out->gpus = (int)(gpus * (nodes > 0 ? nodes : 1));
    const double product =
        (double)(replicate > 0 ? replicate : 1) * (double)shard * d->tp * d->cp * d->pp;
    const bool whole =
        in->complete || (titan_knows(in, "tp") && titan_knows(in, "cp") && titan_knows(in, "pp"));
    if (in->out->gpus == 0 && shard > 0 && whole && product <= INT_MAX)
        in->out->gpus = (int)product;
    if (in->out->gpus == 0)
        in->out->gpus = in->notes.gpus;
    return PLAIT_OK;
}

/* torchtitan's shard leaves the context ranks out, plait's counts them. */
static plait_status take_shards(titan_reading *in, plait_error *err)
{
    const plait_degrees *const d = &in->out->degrees;
    int64_t replicate, shard;

    PLAIT_TRY(titan_number_of(in, "parallelism.data_parallel_replicate_degree", 1 << 20, &replicate,
                              err));
    PLAIT_TRY(titan_number_of(in, "parallelism.data_parallel_shard_degree", 1 << 20, &shard, err));
    PLAIT_TRY(take_world(in, replicate, shard, err));
    const int dp = in->out->gpus > 0 ? plait_degrees_dp(in->out->gpus, d->tp, d->pp, d->cp) : 0;
    if (dp > 0)
        PLAIT_TRY(titan_set_number(in, "dp", dp, err));
    if (shard <= 0 && dp > 0 && (shard < 0 || replicate > 0))
        shard = dp / (replicate > 0 ? replicate : 1);
    return shard > 0 ? titan_set_number(in, "shard_group", shard * d->cp, err) : PLAIT_OK;
}

/* ---- memory ---- */

static plait_status take_zero(titan_reading *in, plait_error *err)
{
    const char *policy = titan_word_of(in, "parallelism.fsdp_reshard_after_forward");

    if (policy == NULL && in->complete)
        policy = "default";
    if (policy == NULL || (strcmp(policy, "default") == 0 && !titan_knows(in, "pp")))
        return PLAIT_OK;
    if (strcmp(policy, "default") == 0) // a pipeline would gather once a microbatch
        policy = in->out->degrees.pp > 1 ? "never" : "always";
    return titan_set(in, "zero", strcmp(policy, "never") == 0 ? "2" : "3", err);
}

/* "full" of `full`, of FullAC.Config(), of mode = "full". */
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

static plait_status take_recompute(titan_reading *in, plait_error *err)
{
    const char *const mode = checkpoint_of(in);
    const char *const option = titan_word_of(in, "activation_checkpoint.selective_ac_option");

    if (strcmp(mode, "full") == 0 || strcmp(mode, "none") == 0)
        return titan_set(in, "recompute", mode, err);
    if (strcmp(mode, "selective") == 0 &&
        (!in->toml || (option != NULL && strcmp(option, "op") == 0)))
        return titan_set(in, "recompute", "sac", err);
    if (strcmp(mode, "selective") == 0)
        titan_warn(in, "recomputation of every second layer has no word here: recompute is open");
    else if (mode[0] != '\0')
        titan_warn(in, "recomputation to a memory budget has no word here: recompute is open");
    return PLAIT_OK;
}

/* ---- the whole ---- */

/* What is the same in every config: FSDP reduces in buckets, its mesh has one order, tokens go by NCCL. */
static plait_status take_fixed(titan_reading *in, plait_error *err)
{
    const plait_degrees *const d = &in->out->degrees;
    int64_t etp;

    PLAIT_TRY(titan_number_of(in, "parallelism.expert_tensor_parallel_degree", 1 << 20, &etp, err));
    PLAIT_TRY(titan_set(in, "order", "tp-cp-dp-pp", err));
    PLAIT_TRY(titan_set(in, "grad_sync", "bucketed", err));
    PLAIT_TRY(titan_set(in, "fusion", "none", err));
    PLAIT_TRY(titan_set(in, "dispatcher", "alltoall", err));
    PLAIT_TRY(titan_set(in, "ep_overlap", "none", err));
    PLAIT_TRY(titan_set(in, "reshard", "always", err)); // `never` is read as zero 2
    PLAIT_TRY(titan_set(in, "scatter", "microbatch", err));
    PLAIT_TRY(titan_set(in, "offload_acts", "none", err));
    PLAIT_TRY(titan_set(in, "offload",
                        titan_switch_of(in, "training.enable_cpu_offload") == 1 ? "params" : "none",
                        err));
    if (in->out->model != NULL && model_has_experts(in->out->model) && titan_knows(in, "ep") &&
        titan_knows(in, "tp"))
        PLAIT_TRY(titan_set_number(in, "etp", d->ep == 1 ? d->tp : etp > 0 ? etp : 1, err));
    return PLAIT_OK;
}

static plait_status take_all(titan_reading *in, plait_error *err)
{
    PLAIT_TRY(titan_take_model(in, err));
    PLAIT_TRY(take_degrees(in, err));
    PLAIT_TRY(take_shards(in, err));
    PLAIT_TRY(take_zero(in, err));
    PLAIT_TRY(titan_take_pipeline(in, err));
    PLAIT_TRY(take_recompute(in, err));
    PLAIT_TRY(take_fixed(in, err));
    return titan_take_job(in, err);
}

/* Does a key stand for a section whose own keys follow, such as `parallelism = ParallelismConfig(...)`? */
static bool is_section(const titan_pairs *pairs, const char *key)
{
    const size_t width = strlen(key);

    for (int i = 0; i < pairs->count; i++)
        if (text_starts_with(pairs->pair[i].key, key) && pairs->pair[i].key[width] == '.')
            return true;
    return false;
}

static plait_status list_not_read(titan_reading *in, plait_error *err)
{
    text_builder list;

    text_builder_init(&list, in->pairs->arena);
    for (int i = 0; i < in->pairs->count; i++) {
        const titan_pair *const pair = &in->pairs->pair[i];

        if (!pair->read && !is_section(in->pairs, pair->key))
            text_append_printf(&list, "%s%s", list.length > 0 ? ", " : "", pair->key);
    }
    in->out->not_read = text_builder_finish(&list, NULL);
    return in->out->not_read != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/* A file that says nothing is none of torchtitan's. */
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

/* The first line that is no comment tells: [section], import or def, anything else. */
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
                          const char **warning, plait_error *err)
{
    titan_pairs pairs = {.arena = arena};
    titan_reading in = {.pairs = &pairs, .name = name, .out = out, .notes = plans_unknown(name)};
    const char *const copy = plait_arena_printf(arena, "%.*s", (int)length, text);

    pairs.call = call;
    *out = plans_unknown(name);
    if (copy == NULL)
        return plait_fail_nomem(err);
    if (strlen(copy) != length)
        return plait_fail(err, PLAIT_ERROR_SYNTAX, name, "expected text, found a zero byte");
    text_builder_init(&in.warning, arena);
    titan_reader *const read = reader_of(copy);
    in.toml = read == titan_read_toml;
    in.complete = read != titan_read_shell;
    PLAIT_TRY(read(copy, strlen(copy), name, &pairs, err));
    PLAIT_TRY(notes_read(copy, strlen(copy), name, arena, &in.notes, err));
    PLAIT_TRY(check_any(&in, err));
    PLAIT_TRY(take_all(&in, err));
    PLAIT_TRY(list_not_read(&in, err));
    PLAIT_TRY(notes_read(copy, strlen(copy), name, arena, out, err));
    *warning = text_builder_finish(&in.warning, NULL);
    return *warning != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
