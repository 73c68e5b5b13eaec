/* serve_answer.c - reads a deployment from a document of `plait serve --json` */
#include "io/plans/serve_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "io/data/data.h"
#include "io/json/json.h"
#include "plait/units.h"

enum { MAX_DEGREE = 1 << 16, MAX_RANK = 1 << 10 };

/* Splits "FILE:2", the second plan of FILE; any other text is the name of a file. */
static const char *split_rank(const char *file, int *rank, plait_arena *arena)
{
    const char *const colon = strrchr(file, ':');
    char *end;

    *rank = 1;
    if (colon == NULL || colon[1] == '\0')
        return file;
    const long value = strtol(colon + 1, &end, 10);
    if (*end != '\0' || value < 1 || value > MAX_RANK)
        return file;
    *rank = (int)value;
    return plait_arena_printf(arena, "%.*s", (int)(colon - file), file);
}

static plait_status read_worker(const json_cursor *workers, const char *role, int r,
                                plait_serve_plan *plan, plait_error *err)
{
    json_cursor at;
    plait_worker *w = &plan->worker[r];

    PLAIT_TRY(json_object(workers, role, &at, err));
    PLAIT_TRY(json_int(&at, "count", 1, MAX_DEGREE, &plan->count[r], err));
    PLAIT_TRY(json_int(&at, "tp", 1, MAX_DEGREE, &w->tp, err));
    PLAIT_TRY(json_int(&at, "pp", 1, MAX_DEGREE, &w->pp, err));
    PLAIT_TRY(json_int(&at, "ep", 1, MAX_DEGREE, &w->ep, err));
    PLAIT_TRY(json_int(&at, "dp_attention", 1, MAX_DEGREE, &w->dp_attention, err));
    PLAIT_TRY(json_number(&at, "batch", JSON_POSITIVE, &plan->batch_cap, err));
    PLAIT_TRY(json_number(&at, "chunk_tokens", JSON_POSITIVE, &plan->chunk_tokens, err));
    return json_number(&at, "kv_tokens", JSON_POSITIVE, &plan->kv_tokens[r], err);
}

/* Reads a name, or a path, which becomes the file of that base name beside the document. */
static plait_status read_name(const json_cursor *at, const char *key, const char *document,
                              plait_arena *arena, const char **out, plait_error *err)
{
    const char *name;

    PLAIT_TRY(json_string(at, key, arena, &name, err));
    *out = data_named_in(document, name, arena);
    return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

static plait_status read_plan(const json_cursor *at, const char *document, plait_arena *arena,
                              serve_answer *answer, plait_error *err)
{
    plait_serve_plan *const plan = &answer->plan;
    static const char *const modes[] = {"aggregated", "disaggregated", NULL};
    json_cursor workers;
    int mode, weights, kv;
    plait_engine *const profile = plait_arena_alloc(arena, 1, sizeof *profile);
    const char *name;

    PLAIT_TRY(json_as_object(at, err));
    PLAIT_TRY(read_name(at, "profile", document, arena, &name, err));
    PLAIT_TRY(plait_check_allocated(profile, err));
    PLAIT_TRY(plait_engine_find(name, arena, profile, err));
    PLAIT_TRY(
        json_number_optional(at, "memory_fraction", JSON_FRACTION, &profile->memory_fraction, err));
    PLAIT_TRY(
        json_number_optional(at, "max_num_seqs", JSON_POSITIVE, &profile->max_sequences, err));
    double host_gib = 0.0;
    PLAIT_TRY(json_number_optional(at, "cache_cpu_gib", JSON_NON_NEGATIVE, &host_gib, err));
    profile->host_cache_bytes = host_gib * PLAIT_GIB;
    PLAIT_TRY(json_bool_optional(at, "two_batch_overlap", &profile->two_batch_overlap, err));
    plait_engine_judge(profile, &answer->model, answer->cluster.group[0].accelerator->name);
    plan->engine = profile;
    PLAIT_TRY(json_word(at, "mode", modes, &mode, err));
    PLAIT_TRY(json_word(at, "weights", plait_weight_name, &weights, err));
    PLAIT_TRY(json_word(at, "kv", plait_kv_name, &kv, err));
    PLAIT_TRY(json_int(at, "replicas", 1, MAX_DEGREE, &plan->replicas, err));
    PLAIT_TRY(json_number(at, "concurrency", JSON_POSITIVE, &plan->concurrency, err));
    PLAIT_TRY(json_object(at, "workers", &workers, err));
    plan->disaggregated = mode == 1;
    plan->weights = (plait_weight_format)weights;
    plan->kv = (plait_kv_format)kv;
    if (!plan->disaggregated)
        return read_worker(&workers, "aggregated", 0, plan, err);
    PLAIT_TRY(read_worker(&workers, "prefill", 0, plan, err));
    return read_worker(&workers, "decode", 1, plan, err);
}

static plait_status read_document(const json_cursor *root, plait_arena *arena, void *out,
                                  plait_error *err)
{
    serve_answer *answer = out;
    const char *name, *warning;
    json_cursor job, plans, at, drafts, lengths, lora;
    int gpus;

    PLAIT_TRY(json_as_object(root, err));
    PLAIT_TRY(read_name(root, "model_file", root->key, arena, &name, err));
    PLAIT_TRY(json_object(root, "job", &job, err));
    PLAIT_TRY(plait_model_find(name, arena, &answer->model, &warning, err));
    PLAIT_TRY(json_int_optional(&job, "redundant_experts", 0, MAX_DEGREE,
                                &answer->redundant_experts, err));
    PLAIT_TRY(read_name(root, "cluster_file", root->key, arena, &name, err));
    PLAIT_TRY(json_int(&job, "gpus", 1, PLAIT_MAX_GPUS, &gpus, err));
    PLAIT_TRY(plait_cluster_find(name, arena, &answer->cluster, err));
    PLAIT_TRY(plait_cluster_take(&answer->cluster, gpus, err));
    PLAIT_TRY(json_number(&job, "input", JSON_POSITIVE, &answer->load.input, err));
    PLAIT_TRY(json_number(&job, "output", JSON_POSITIVE, &answer->load.output, err));
    PLAIT_TRY(
        json_number_optional(&job, "prefix_cached", JSON_NON_NEGATIVE, &answer->load.cached, err));
    PLAIT_TRY(json_number_optional(&job, "rate", JSON_NON_NEGATIVE, &answer->load.rate, err));
    PLAIT_TRY(json_number_optional(&job, "concurrency", JSON_NON_NEGATIVE,
                                   &answer->load.concurrency, err));
    PLAIT_TRY(
        json_number_optional(&job, "max_model_len", JSON_POSITIVE, &answer->max_model_len, err));
    PLAIT_TRY(json_object_optional(&job, "lengths", &lengths, err));
    if (!json_is_null(&lengths))
        PLAIT_TRY(json_number(&lengths, "longest", JSON_POSITIVE, &answer->longest, err));
    PLAIT_TRY(json_object_optional(&job, "lora", &lora, err));
    if (!json_is_null(&lora)) {
        PLAIT_TRY(json_int(&lora, "adapters", 1, PLAIT_MAX_LORA, &answer->load.lora_adapters, err));
        PLAIT_TRY(json_int(&lora, "rank", 1, PLAIT_MAX_LORA, &answer->load.lora_rank, err));
    }
    answer->load.kind = answer->load.rate > 0.0 ? PLAIT_LOAD_RATE : PLAIT_LOAD_CLOSED;
    PLAIT_TRY(json_object_optional(&job, "speculate", &drafts, err));
    if (!json_is_null(&drafts)) {
        PLAIT_TRY(json_int(&drafts, "tokens", 1, 16, &answer->load.draft, err));
        PLAIT_TRY(json_number(&drafts, "accept", JSON_FRACTION, &answer->load.accept, err));
    }
    answer->load.draft_layers = 1.0 / answer->model.layers;
    PLAIT_TRY(json_array(root, "plans", &plans, err));
    bool more = json_first(&plans, &at);
    for (int i = 1; more && i < answer->rank; i++)
        more = json_next(&at);
    if (!more)
        return json_fail(&plans, PLAIT_ERROR_RANGE, err,
                         "expected at least %d deployments, found %zu", answer->rank,
                         json_count(&plans));
    return read_plan(&at, root->key, arena, answer, err);
}

plait_status serve_answer_load(const char *file, plait_arena *arena, serve_answer *out,
                               plait_error *err)
{
    *out = (serve_answer){0};
    out->path = split_rank(file, &out->rank, arena);
    PLAIT_TRY(plait_check_allocated(out->path, err));
    return json_load(out->path, read_document, arena, out, err);
}

static plait_status read_kind(const json_cursor *root, plait_arena *arena, void *out,
                              plait_error *err)
{
    json_cursor job;

    (void)arena;
    PLAIT_TRY(json_object(root, "job", &job, err));
    *(bool *)out = json_has(root, "model_file") && json_has(&job, "input");
    return PLAIT_OK;
}

plait_status serve_answer_is(const char *file, plait_arena *arena, bool *is, plait_error *err)
{
    plait_error inner;
    int rank;

    *is = false;
    const char *const path = split_rank(file, &rank, arena);
    PLAIT_TRY(plait_check_allocated(path, err));
    return faults_only(json_load(path, read_kind, arena, is, &inner), &inner, err);
}
