/* serve_runs.c - read measured runs of serving from a table, with the step tables to price them */
#include "plait/serve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/csv/csv_table.h"
#include "io/file.h"
#include "base/status.h"
#include "base/text.h"
#include "plait/data.h"
#include "plait/units.h"
#include "plan/model_queries.h"

const char *const plait_serve_mode_word[] = {"agg",    "disagg",  "static", "offline",
                                             "server", "prefill", "decode", NULL};

/* ---- the columns ---- */

#define COLUMNS(X)                                                                                 \
    X(id)                                                                                          \
    X(source)                                                                                      \
    X(group)                                                                                       \
    X(model)                                                                                       \
    X(hf_model)                                                                                    \
    X(accelerator)                                                                                 \
    X(gpus)                                                                                        \
    X(gpus_per_node)                                                                               \
    X(engine)                                                                                      \
    X(engine_version)                                                                              \
    X(mode)                                                                                        \
    X(tp)                                                                                          \
    X(pp)                                                                                          \
    X(ep)                                                                                          \
    X(dp_attn)                                                                                     \
    X(replicas)                                                                                    \
    X(prefill_workers)                                                                             \
    X(prefill_tp)                                                                                  \
    X(prefill_pp)                                                                                  \
    X(prefill_ep)                                                                                  \
    X(prefill_dp_attn)                                                                             \
    X(decode_workers)                                                                              \
    X(decode_tp)                                                                                   \
    X(decode_pp)                                                                                   \
    X(decode_ep)                                                                                   \
    X(decode_dp_attn)                                                                              \
    X(weight_dtype)                                                                                \
    X(kv_dtype)                                                                                    \
    X(input_len)                                                                                   \
    X(output_len)                                                                                  \
    X(prefix_cached)                                                                               \
    X(load)                                                                                        \
    X(concurrency)                                                                                 \
    X(request_rate)                                                                                \
    X(num_requests)                                                                                \
    X(warmup_requests)                                                                             \
    X(length_spread)                                                                               \
    X(chunk_tokens)                                                                                \
    X(poll_steps)                                                                                  \
    X(gather_steps)                                                                                \
    X(spec)                                                                                        \
    X(draft_tokens)                                                                                \
    X(ttft_mean_ms)                                                                                \
    X(ttft_any_ms)                                                                                 \
    X(ttft_median_ms)                                                                              \
    X(tpot_mean_ms)                                                                                \
    X(tpot_any_ms)                                                                                 \
    X(tpot_median_ms)                                                                              \
    X(e2e_mean_ms)                                                                                 \
    X(e2e_median_ms)                                                                               \
    X(out_tok_s)                                                                                   \
    X(out_tok_s_gpu)                                                                               \
    X(date)                                                                                        \
    X(trust)

typedef enum column {
#define X(name) AT_##name,
    COLUMNS(X)
#undef X
        COLUMN_COUNT
} column;

/* ---- models, clusters and step tables, cached for all rows ---- */

typedef struct known_model {
    const char *name, *hf_name;
    const plait_model *model; /* NULL: no model file */
} known_model;

typedef struct known_cluster {
    const char *accelerator;
    int gpus_per_node, gpus;
    const plait_cluster *cluster;
} known_cluster;

typedef struct known_table {
    plait_serving serving;
    const char *reason;
    plait_step_table table;
} known_table;

enum { MOST_MODELS = 512, MOST_CLUSTERS = 2048, MOST_TABLES = 16384 };

typedef struct reader {
    const char *path; /* path of the table of runs */
    csv_table table;
    int at[COLUMN_COUNT];
    plait_arena *arena;
    size_t models, clusters, tables;
    known_model model[MOST_MODELS];
    known_cluster cluster[MOST_CLUSTERS];
    known_table *known[MOST_TABLES];
} reader;

static const char *read_text(const reader *r, size_t row, column c)
{
    return csv_table_text(&r->table, row, r->at[c]);
}

static plait_status read_number(const reader *r, size_t row, column c, double most, double *out,
                                plait_error *err)
{
    return csv_table_number(&r->table, row, r->at[c], 0.0, most, out, err);
}

static plait_status read_int(const reader *r, size_t row, column c, int *out, plait_error *err)
{
    return csv_table_int(&r->table, row, r->at[c], 1, 1 << 20, out, err);
}

/* Loads a model by a name or the path of a file, if it exists, and sets *found. */
static plait_status try_model(const reader *r, const char *name, plait_model *out, bool *found,
                              plait_error *err)
{
    const char *warning;
    plait_error unknown;

    *found = false;
    PLAIT_TRY(plait_check_allocated(name, err));
    const plait_status status = plait_model_find(name, r->arena, out, &warning, &unknown);
    *found = status == PLAIT_OK;
    return faults_only(status, &unknown, err);
}

/*
 * Finds a model by its short name, by its name on Hugging Face, or by the path of a config.json in
 * either column, relative to the table; *out is NULL if there is none.
 */
static plait_status find_model(reader *r, const char *name, const char *hf_name,
                               const plait_model **out, plait_error *err)
{
    bool found = false;

    *out = NULL;
    for (size_t i = 0; i < r->models; i++)
        if (strcmp(r->model[i].name, name) == 0 && strcmp(r->model[i].hf_name, hf_name) == 0) {
            *out = r->model[i].model;
            return PLAIT_OK;
        }
    if (r->models == MOST_MODELS)
        return PLAIT_OK;
    plait_model *const model = plait_arena_alloc(r->arena, 1, sizeof *model);
    PLAIT_TRY(plait_check_allocated(model, err));
    const char *const names[] = {name, hf_name};
    for (int i = 0; i < 4 && !found; i++) {
        const char *const one = names[i % 2];
        // without a name, the folder of the table would be read as a checkpoint
        if (one[0] != '\0')
            PLAIT_TRY(try_model(r, i < 2 ? one : file_beside(r->path, one, r->arena), model, &found,
                                err));
    }
    if (found)
        *out = model;
    r->model[r->models++] = (known_model){name, hf_name, *out};
    return PLAIT_OK;
}

/*
 * Sets *out to a cluster with the GPUs of a worker, as whole nodes if the worker exceeds one node;
 * NULL: there is none.
 */
static plait_status find_cluster(reader *r, const char *accelerator, int gpus_per_node, int gpus,
                                 const plait_cluster **out, plait_error *err)
{
    plait_error unknown;

    *out = NULL;
    if (gpus > gpus_per_node)
        gpus = (gpus + gpus_per_node - 1) / gpus_per_node * gpus_per_node;
    for (size_t i = 0; i < r->clusters; i++) {
        const known_cluster *k = &r->cluster[i];
        if (strcmp(k->accelerator, accelerator) == 0 && k->gpus_per_node == gpus_per_node &&
            k->gpus == gpus) {
            *out = k->cluster;
            return PLAIT_OK;
        }
    }
    if (r->clusters == MOST_CLUSTERS)
        return PLAIT_OK;
    plait_cluster *const cluster = plait_arena_alloc(r->arena, 1, sizeof *cluster);
    PLAIT_TRY(plait_check_allocated(cluster, err));
    plait_status status = plait_cluster_find(accelerator, r->arena, cluster, &unknown);
    if (status == PLAIT_OK)
        status = plait_cluster_take(cluster, gpus, &unknown);
    if (status == PLAIT_OK)
        *out = cluster;
    r->cluster[r->clusters++] = (known_cluster){accelerator, gpus_per_node, gpus, *out};
    return faults_only(status, &unknown, err);
}

static const known_table *table_of(reader *r, const plait_serving *serving)
{
    for (size_t i = 0; i < r->tables; i++) {
        const plait_serving *const s = &r->known[i]->serving;

        if (s->model == serving->model && s->cluster == serving->cluster &&
            s->weights == serving->weights && s->kv == serving->kv &&
            memcmp(&s->worker, &serving->worker, sizeof s->worker) == 0)
            return r->known[i];
    }
    known_table *k = plait_arena_alloc(r->arena, 1, sizeof *k);
    if (k == NULL || r->tables == MOST_TABLES)
        return NULL;
    k->serving = *serving;
    k->reason = plait_step_table_fill(serving, &k->table);
    r->known[r->tables++] = k;
    return k;
}

/* ---- one row ---- */

static plait_status read_measured(const reader *r, size_t row, plait_serve_run *run,
                                  plait_error *err)
{
    static const struct {
        int figure;
        column from;
    } columns[] = {{PLAIT_SERVE_TTFT, AT_ttft_median_ms}, {PLAIT_SERVE_TTFT, AT_ttft_any_ms},
                   {PLAIT_SERVE_TTFT, AT_ttft_mean_ms},   {PLAIT_SERVE_TPOT, AT_tpot_median_ms},
                   {PLAIT_SERVE_TPOT, AT_tpot_any_ms},    {PLAIT_SERVE_TPOT, AT_tpot_mean_ms},
                   {PLAIT_SERVE_E2E, AT_e2e_median_ms},   {PLAIT_SERVE_E2E, AT_e2e_mean_ms}};
    double rate = (double)NAN, rate_gpu = (double)NAN;

    for (int f = 0; f < PLAIT_SERVE_MEASURES; f++)
        run->measured[f] = (double)NAN;
    // If several columns of a figure have values, the last one counts.
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        double ms = (double)NAN;
        PLAIT_TRY(read_number(r, row, columns[i].from, 1e12, &ms, err));
        if (ms > 0.0)
            run->measured[columns[i].figure] = ms * PLAIT_MS;
    }
    PLAIT_TRY(read_number(r, row, AT_out_tok_s, 1e12, &rate, err));
    PLAIT_TRY(read_number(r, row, AT_out_tok_s_gpu, 1e12, &rate_gpu, err));
    if (!(rate > 0.0))
        rate = rate_gpu * run->gpus;
    if (rate > 0.0)
        run->measured[PLAIT_SERVE_RATE] = rate;
    return PLAIT_OK;
}

/* Returns the year and month of a date: 2510 for "2025-10" or "20251015T0930"; 0: no date. */
static int month_of(const char *date)
{
    int digits = 0, value = 0;

    for (; *date != '\0' && digits < 6; date++)
        if (*date >= '0' && *date <= '9') {
            value = value * 10 + (*date - '0');
            digits++;
        }
    return digits == 6 ? value - 200000 : 0;
}

/* Returns 100 * major + minor: 12 for "0.12.0", 103 for "1.3rc5"; 0: not a version. */
static int version_of(const char *text)
{
    char *end;
    const long major = strtol(text, &end, 10);

    if (end == text || *end != '.' || major < 0 || major > 90)
        return 0;
    const long minor = strtol(end + 1, NULL, 10);
    return minor >= 0 && minor < 100 ? (int)(100 * major + minor) : 0;
}

static plait_engine_kind kind_of(const char *engine, const char *vendor)
{
    if (strcmp(engine, "sglang") == 0)
        return PLAIT_ENGINE_SGLANG;
    if (strcmp(engine, "vllm") == 0)
        return PLAIT_ENGINE_VLLM;
    if (strncmp(engine, "t", 1) == 0)
        return PLAIT_ENGINE_TRTLLM;
    return strcmp(vendor, "NVIDIA") == 0 ? PLAIT_ENGINE_TRTLLM : PLAIT_ENGINE_VLLM;
}

/*
 * Returns the weight format of a run. If the format is not published, assume the narrowest format
 * that the accelerator multiplies. Assume it also for fp16 in runs without published degrees:
 * MLPerf's logs contain the format before the submitter's tool quantised the weights, and measured
 * rates on H100 are higher than 16 bits allow.
 */
static int weights_of(const char *said, bool published, const plait_accelerator *gpu)
{
    const char *word = !published && strcmp(said, "fp16") == 0 ? "" : said;

    if (word[0] == '\0' && gpu->peak_flops_per_s[PLAIT_NVFP4] > 0.0)
        return PLAIT_WEIGHT_NVFP4;
    if (word[0] == '\0' && gpu->peak_flops_per_s[PLAIT_FP8] > 0.0)
        return PLAIT_WEIGHT_FP8;
    const int format = text_index(word, plait_weight_name);
    return format >= 0 ? format : (int)PLAIT_WEIGHT_BF16;
}

/*
 * Returns the KV format of a run. TensorRT-LLM runs quantised ModelOpt checkpoints, which set the
 * KV cache to fp8.
 */
static plait_kv_format kv_of(const char *word, plait_engine_kind kind, int weights)
{
    if (strncmp(word, "fp8", 3) == 0)
        return PLAIT_KV_FP8;
    return word[0] == '\0' && kind == PLAIT_ENGINE_TRTLLM && weights != PLAIT_WEIGHT_BF16
               ? PLAIT_KV_FP8
               : PLAIT_KV_BF16;
}

static plait_status read_worker(const reader *r, size_t row, const column at[4], plait_worker *out,
                                plait_error *err)
{
    *out = (plait_worker){1, 1, 1, 1};
    PLAIT_TRY(read_int(r, row, at[0], &out->tp, err));
    PLAIT_TRY(read_int(r, row, at[1], &out->pp, err));
    PLAIT_TRY(read_int(r, row, at[2], &out->ep, err));
    return read_int(r, row, at[3], &out->dp_attention, err);
}

/* Adds one pool to the run's next deployment, or sets the run's note if it cannot be priced. */
static plait_status add_pool(reader *r, plait_serve_run *run, plait_serving serving,
                             int gpus_per_node, int pool, int workers, plait_error *err)
{
    plait_deployment *d = &run->way[run->ways];

    // The attention-data-parallel ranks of a dense model share nothing, so they are replicas.
    if (!model_has_experts(serving.model)) {
        workers *= serving.worker.dp_attention;
        serving.worker.dp_attention = 1;
        serving.worker.ep = 1;
    }
    PLAIT_TRY(find_cluster(r, run->accelerator, gpus_per_node, plait_worker_gpus(serving.worker),
                           &serving.cluster, err));
    if (serving.cluster == NULL) {
        run->note = "unknown accelerator, or the worker needs more GPUs than the cluster has";
        return PLAIT_OK;
    }
    const known_table *k = table_of(r, &serving);
    PLAIT_TRY(plait_check_allocated(k, err));
    if (k->reason != NULL) {
        run->note = k->reason;
        return PLAIT_OK;
    }
    d->pool[pool] = (plait_pool){.table = &k->table, .workers = workers};
    run->memory[run->ways][pool] =
        plait_serve_memory_of(&serving, run->load.input + run->load.output);
    return PLAIT_OK;
}

static plait_status read_apart(reader *r, size_t row, plait_serve_run *run, plait_serving serving,
                               int gpus_per_node, plait_error *err)
{
    static const column workers[2] = {AT_prefill_workers, AT_decode_workers};
    static const column degrees[2][4] = {
        {AT_prefill_tp, AT_prefill_pp, AT_prefill_ep, AT_prefill_dp_attn},
        {AT_decode_tp, AT_decode_pp, AT_decode_ep, AT_decode_dp_attn}};

    for (int p = 0; p < 2 && run->note[0] == '\0'; p++) {
        int count = 1;
        PLAIT_TRY(read_int(r, row, workers[p], &count, err));
        PLAIT_TRY(read_worker(r, row, degrees[p], &serving.worker, err));
        PLAIT_TRY(add_pool(r, run, serving, gpus_per_node, p, count, err));
    }
    plait_deployment *d = &run->way[0];
    d->disaggregated = true;
    d->replicas = 1;
    if (run->note[0] == '\0') {
        const plait_cluster *c;
        PLAIT_TRY(find_cluster(r, run->accelerator, gpus_per_node, gpus_per_node, &c, err));
        d->transfer = c != NULL ? plait_serve_transfer(c) : (plait_link){0.0, 0.0};
        d->cache_token_bytes = run->memory[0][0].token;
        run->ways = 1;
    }
    return PLAIT_OK;
}

enum { MOST_WAYS = 32 };

/*
 * Adds all possible deployments of a run without published degrees: workers inside a node, with
 * tensor-parallel or attention-data-parallel ranks, and with or without expert parallelism.
 */
static plait_status read_any(reader *r, plait_serve_run *run, plait_serving serving,
                             int gpus_per_node, plait_error *err)
{
    const bool experts = model_has_experts(serving.model);
    const int gpus = (int)run->gpus;

    for (int size = 1; size <= gpus_per_node && size <= gpus; size *= 2)
        for (int dp = 1; dp <= size; dp *= size > 1 ? size : 2)
            for (int ep = 1; ep <= size && run->ways<MOST_WAYS; ep *= size> 1 ? size : 2) {
                if (gpus % size != 0 || (!experts && (dp > 1 || ep > 1)))
                    continue;
                serving.worker = (plait_worker){size / dp, 1, dp, ep};
                run->note = "";
                PLAIT_TRY(add_pool(r, run, serving, gpus_per_node, 0, 1, err));
                run->way[run->ways].replicas = gpus / size;
                if (run->note[0] == '\0')
                    run->ways++;
            }
    if (run->ways > 0)
        run->note = "";
    return PLAIT_OK;
}

static plait_status read_load(const reader *r, size_t row, plait_serve_run *run, plait_error *err)
{
    static const plait_load_kind kinds[PLAIT_SERVE_RUN_MODES] = {
        PLAIT_LOAD_CLOSED, PLAIT_LOAD_CLOSED, PLAIT_LOAD_STATIC, PLAIT_LOAD_OFFLINE,
        PLAIT_LOAD_RATE};
    plait_load *load = &run->load;
    const char *spec = read_text(r, row, AT_spec);
    double requests = 0.0, warmup = 0.0;

    load->kind = kinds[run->mode];
    PLAIT_TRY(read_number(r, row, AT_input_len, 1e12, &load->input, err));
    PLAIT_TRY(read_number(r, row, AT_output_len, 1e12, &load->output, err));
    PLAIT_TRY(read_number(r, row, AT_length_spread, 1.0, &load->spread, err));
    PLAIT_TRY(read_number(r, row, AT_prefix_cached, 1e12, &load->cached, err));
    PLAIT_TRY(read_number(r, row, AT_concurrency, 1e12, &load->concurrency, err));
    PLAIT_TRY(read_number(r, row, AT_request_rate, 1e12, &load->rate, err));
    PLAIT_TRY(read_number(r, row, AT_num_requests, 1e12, &requests, err));
    PLAIT_TRY(read_number(r, row, AT_warmup_requests, 1e12, &warmup, err));
    // `rounds` is the number of requests per user of a closed loop. If it is not published, assume
    // 10, as in most benchmarks.
    load->rounds =
        requests > 0.0 && load->concurrency > 0.0 ? fmax(requests / load->concurrency, 1.0) : 10.0;
    // Figures without the first request of each user do not contain the common start.
    if (load->concurrency > 0.0 && warmup >= load->concurrency)
        load->rounds = 0.0;
    // For speculative decoding, use the published number of draft tokens, or 2.
    if (strcmp(spec, "mtp") == 0 || strcmp(spec, "eagle") == 0) {
        load->draft = 2;
        load->accept = 0.6;
        load->draft_layers = 0.02;
        PLAIT_TRY(csv_table_int(&r->table, row, r->at[AT_draft_tokens], 1, 16, &load->draft, err));
    }
    if (load->kind == PLAIT_LOAD_CLOSED && load->rate > 0.0)
        load->kind = PLAIT_LOAD_RATE;
    if (load->kind == PLAIT_LOAD_RATE && load->rate <= 0.0)
        load->kind = PLAIT_LOAD_OFFLINE;
    if (load->input < 1.0 || load->output < 1.0)
        run->note = "no input or no output tokens";
    if (run->mode >= PLAIT_SERVE_RUN_PREFILL)
        run->note = "only prefill or only decode was measured";
    return PLAIT_OK;
}

static plait_status read_run(reader *r, size_t row, plait_serve_run *run, plait_error *err)
{
    static const column degrees[4] = {AT_tp, AT_pp, AT_ep, AT_dp_attn};
    int mode = 0, gpus = 1, gpus_per_node = 8;
    plait_accelerator *gpu = plait_arena_alloc(r->arena, 1, sizeof *gpu);

    PLAIT_TRY(plait_check_allocated(gpu, err));
    *run = (plait_serve_run){.id = read_text(r, row, AT_id),
                             .source = read_text(r, row, AT_source),
                             .group = read_text(r, row, AT_group),
                             .model = read_text(r, row, AT_model),
                             .accelerator = read_text(r, row, AT_accelerator),
                             .vendor = "",
                             .note = "",
                             .version = version_of(read_text(r, row, AT_engine_version)),
                             .month = month_of(read_text(r, row, AT_date)),
                             .low = strcmp(read_text(r, row, AT_trust), "low") == 0};
    PLAIT_TRY(csv_table_word(&r->table, row, r->at[AT_mode], plait_serve_mode_word, &mode, err));
    run->mode = (plait_serve_mode)mode;
    PLAIT_TRY(read_int(r, row, AT_gpus, &gpus, err));
    PLAIT_TRY(read_int(r, row, AT_gpus_per_node, &gpus_per_node, err));
    run->gpus = gpus;
    PLAIT_TRY(read_number(r, row, AT_chunk_tokens, 1e12, &run->chunk_tokens, err));
    PLAIT_TRY(read_number(r, row, AT_poll_steps, 1e6, &run->poll_steps, err));
    PLAIT_TRY(read_number(r, row, AT_gather_steps, 1e6, &run->gather_steps, err));
    PLAIT_TRY(read_load(r, row, run, err));
    PLAIT_TRY(read_measured(r, row, run, err));
    const plait_cluster *node;
    const plait_model *model;
    PLAIT_TRY(find_cluster(r, run->accelerator, gpus_per_node, 1, &node, err));
    PLAIT_TRY(find_model(r, run->model, read_text(r, row, AT_hf_model), &model, err));
    run->shape = model;
    if (run->note[0] == '\0' && model == NULL)
        run->note = "unknown model";
    if (run->note[0] == '\0' && node == NULL)
        run->note = "unknown accelerator";
    if (run->note[0] != '\0')
        return PLAIT_OK;
    run->gpu = node->group[0].accelerator;
    run->vendor = run->gpu->vendor;
    run->kind = kind_of(read_text(r, row, AT_engine), run->vendor);
    const bool published =
        read_text(r, row, AT_tp)[0] != '\0' || run->mode == PLAIT_SERVE_RUN_DISAGGREGATED;
    const char *const stated = read_text(r, row, AT_weight_dtype);
    const char *const format =
        published && stated[0] == '\0' && model->weights != NULL ? model->weights : stated;
    const int weights = weights_of(format, published, node->group[0].accelerator);
    plait_serving serving = {
        .model = model,
        .weights = (plait_weight_format)weights,
        .kv = kv_of(read_text(r, row, AT_kv_dtype), run->kind, weights),
    };
    const size_t ways = published ? 1 : MOST_WAYS;
    run->way = plait_arena_alloc(r->arena, ways, sizeof *run->way);
    run->memory = plait_arena_alloc(r->arena, ways, sizeof *run->memory);
    PLAIT_TRY(plait_check_allocated(run->way && run->memory, err));
    if (run->mode == PLAIT_SERVE_RUN_DISAGGREGATED)
        return read_apart(r, row, run, serving, gpus_per_node, err);
    if (!published)
        return read_any(r, run, serving, gpus_per_node, err);
    run->way[0].replicas = 1;
    PLAIT_TRY(read_int(r, row, AT_replicas, &run->way[0].replicas, err));
    PLAIT_TRY(read_worker(r, row, degrees, &serving.worker, err));
    PLAIT_TRY(add_pool(r, run, serving, gpus_per_node, 0, 1, err));
    run->ways = run->note[0] == '\0';
    return PLAIT_OK;
}

plait_status plait_serve_runs_load(const char *path, plait_arena *arena, plait_serve_runs *out,
                                   plait_error *err)
{
    static const char *const titles[] = {
#define X(name) #name,
        COLUMNS(X)
#undef X
    };
    reader *r = plait_arena_alloc(arena, 1, sizeof *r);

    PLAIT_TRY(plait_check_allocated(r, err));
    r->arena = arena;
    r->path = path;
    PLAIT_TRY(csv_table_read(path, arena, &r->table, err));
    for (int c = 0; c < COLUMN_COUNT; c++)
        r->at[c] = csv_table_column(&r->table, titles[c]);
    if (r->at[AT_mode] < 0 || r->at[AT_model] < 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, path,
                          "expected columns model and mode, found a table without them");
    *out = (plait_serve_runs){.name = path, .count = r->table.rows};
    out->run = plait_arena_alloc(arena, out->count, sizeof *out->run);
    PLAIT_TRY(plait_check_allocated(out->run, err));
    for (size_t i = 0; i < out->count; i++)
        PLAIT_TRY(read_run(r, i, &out->run[i], err));
    return plait_engine_list(arena, &out->engine, &out->engines, err);
}
