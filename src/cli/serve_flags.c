/*
 * serve_flags.c - reads a load of requests, its latency bounds, and the allowed engines and formats
 */
#include "cli/serve_flags.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/magnitude.h"
#include "cli/problem.h"
#include "plait/units.h"
#include "plan/serve_values.h"
#include "cli/terminal.h"
#include "base/text.h"
#include "io/plans/request_trace.h"

/* ---- the load and its bounds ---- */

static plait_status read_shape(const char *flag, const char *text, double spread,
                               plait_length_shape *shape, plait_error *err)
{
    enum { COUNTS = 4 };
    int count[COUNTS] = {0}, found = 0;
    char part[32];
    bool valid = true;

    if (text == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, flag,
                          "expected a number of tokens, found nothing");
    for (const char *at = text; valid && at != NULL; found++) {
        const char *const end = strchr(at, ',');
        snprintf(part, sizeof part, "%.*s", (int)(end != NULL ? end - at : 31), at);
        valid =
            found < COUNTS && magnitude_parse_count(part, 1024, 1, PLAIT_MAX_SEQ, &count[found]);
        at = end != NULL ? end + 1 : NULL;
    }
    if (!valid || (found != 1 && found != COUNTS) ||
        (found > 1 && (count[1] > count[2] || count[2] > count[3])))
        return plait_fail(err, PLAIT_ERROR_RANGE, flag,
                          "expected the mean, or the mean, median, 90th percentile and maximum, "
                          "from 1 to %d tokens, found \"%.60s\"",
                          PLAIT_MAX_SEQ, text);
    *shape = (plait_length_shape){
        .mean = count[0], .p50 = count[1], .p90 = count[2], .max = count[3], .spread = spread};
    return PLAIT_OK;
}

/*
 * Set the distribution of lengths, and the means of the load; without percentiles, a file or turns,
 * the load has means and a spread only.
 */
static plait_status read_lengths(const serve_flags *flags, plait_arena *arena, plait_load *load,
                                 double *rate, plait_error *err)
{
    plait_length_shape input = {0}, output = {0};
    plait_request_lengths *request;
    static const double golden = 0.6180339887498949;
    request_trace trace;
    double hit = 1.0;
    int count;

    if (flags->lengths != NULL && (flags->input != NULL || flags->output != NULL))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--lengths",
                          "expected --lengths, or --input and --output-tokens, found both");
    if (flags->prefix_hit != NULL &&
        (!magnitude_parse(flags->prefix_hit, &hit) || hit < 0.0 || hit > 1.0))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--prefix-hit",
                          "expected a share from 0 to 1, found '%.40s'", flags->prefix_hit);
    if (flags->prefix_hit != NULL && flags->lengths == NULL && flags->turns <= 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--prefix-hit",
                          "expected --turns or --lengths in the same command, found neither");
    if (flags->lengths != NULL) {
        PLAIT_TRY(request_trace_read(flags->lengths, arena, &trace, err));
        request = trace.request;
        count = trace.count;
        *rate = trace.rate;
    } else {
        PLAIT_TRY(read_shape("--input", flags->input, flags->spread, &input, err));
        PLAIT_TRY(read_shape("--output-tokens", flags->output, flags->spread, &output, err));
        load->input = input.mean;
        load->output = output.mean;
        if (input.p50 <= 0.0 && output.p50 <= 0.0 && flags->turns <= 1)
            return PLAIT_OK;
        plait_error inner;
        if (plait_lengths_sample(input, output, arena, &request, &count, &inner) != PLAIT_OK)
            return plait_fail(err, inner.status,
                              text_equal(inner.where, "input") ? "--input" : "--output-tokens",
                              "%s", inner.message);
    }
    if (flags->turns > 1)
        PLAIT_TRY(
            plait_lengths_converse(request, count, flags->turns, arena, &request, &count, err));
    // Equally spaced phases: the share of the requests that hit is exact for each turn.
    for (int i = 0; i < count; i++) {
        if (fmod((i + 0.5) * golden, 1.0) >= hit)
            request[i].cached = 0.0;
        request[i].cached = fmax(request[i].cached, fmin(flags->cached, request[i].input - 1.0));
    }
    plait_lengths *const lengths = plait_arena_alloc(arena, 1, sizeof *lengths);
    PLAIT_TRY(plait_check_allocated(lengths, err));
    *lengths = plait_lengths_of(request, count);
    if (flags->lengths == NULL) // the longest prompt may have the longest answer
        lengths->longest = lengths->input.max + lengths->output.max;
    load->lengths = lengths;
    load->input = lengths->input.mean;
    load->output = lengths->output.mean;
    load->cached = lengths->cached;
    load->spread = fmin(sqrt(3.0) * lengths->output_cv, 1.0); // the even spread of this variance
    return PLAIT_OK;
}

/* Reads the bounds. A number without a unit is in milliseconds, as in benchmarks of engines. */
static plait_status read_bounds(const serve_flags *flags, plait_serve_options *q, plait_error *err)
{
    double *const asked[] = {
#define X(flag, name) &q->name##_s,
        PLAIT_SERVE_LIMIT_LIST(X)
#undef X
    };
    for (int l = 0; l < PLAIT_SERVE_LIMITS; l++) {
        const char *text = flags->limit[l];
        char milliseconds[64];
        double number;

        if (text != NULL) {
            if (text_parse_number(text, &number)) {
                snprintf(milliseconds, sizeof milliseconds, "%.60sms", text);
                text = milliseconds;
            }
            PLAIT_TRY(magnitude_duration(plait_serve_limit_flag[l], text, asked[l], err));
        }
    }
    return PLAIT_OK;
}

/* Reads --speculate METHOD:N,accept=A. The price depends on N and A only. */
static plait_status read_speculation(const serve_flags *flags, const plait_model *model,
                                     plait_load *load, plait_error *err)
{
    const char *const text = flags->speculate;
    char method[16] = "";
    int read = 0;
    if (text == NULL)
        return PLAIT_OK;
    if (sscanf(text, "%15[a-z0-9]:%d,accept=%lf%n", method, &load->draft, &load->accept, &read) !=
            3 ||
        text[read] != '\0' || load->draft < 1 || load->draft > 16 || !(load->accept > 0.0) ||
        load->accept > 1.0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--speculate",
                          "expected METHOD:N,accept=A with N from 1 to 16 and A above 0 and at "
                          "most 1, found '%.40s'",
                          text);
    load->draft_layers = 1.0 / model->layers;
    return PLAIT_OK;
}

static plait_status read_load(const serve_flags *flags, const plait_model *model,
                              plait_arena *arena, plait_serve_options *q, plait_error *err)
{
    static const int usual_rank = 16;
    double rate = 0.0;

    if (flags->lora_rank > 0 && flags->lora_adapters == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--lora-rank",
                          "expected --lora-adapters in the same command, found nothing");
    q->load = (plait_load){.kind = PLAIT_LOAD_CLOSED,
                           .cached = flags->cached,
                           .spread = flags->spread,
                           .concurrency = flags->concurrency,
                           .lora_adapters = flags->lora_adapters};
    if (flags->lora_adapters > 0)
        q->load.lora_rank = flags->lora_rank > 0 ? flags->lora_rank : usual_rank;
    PLAIT_TRY(read_lengths(flags, arena, &q->load, &rate, err));
    if (flags->cache_cpu != NULL && (q->load.lengths == NULL || q->load.lengths->missed <= 0.0))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--cache-cpu",
                          "expected --turns, or --lengths with repeated tokens, and a --prefix-hit "
                          "below 1 in the same command");
    const double longest = plait_load_longest(&q->load);
    if (flags->cached >= q->load.input)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--prefix-cached",
                          "expected fewer than the %.0f tokens of --input, found %d", q->load.input,
                          flags->cached);
    if (flags->max_model_len > 0 && longest > flags->max_model_len)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "--max-model-len",
            "expected at least %.0f, the tokens of --input and --output-tokens, found %d", longest,
            flags->max_model_len);
    if (model->max_seq > 0 && longest > model->max_seq) {
        if (q->load.lengths == NULL)
            print_warning("--input: %.0f input and %.0f output tokens exceed %d, the published "
                          "context length of %s",
                          q->load.input, q->load.output, model->max_seq, model->name);
        else
            print_warning("the longest request has %.0f tokens, which exceed %d, the published "
                          "context length of %s",
                          longest, model->max_seq, model->name);
    }
    if (flags->rate != NULL && flags->concurrency > 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--rate",
                          "expected --rate or --concurrency, found both");
    if (flags->rate != NULL)
        PLAIT_TRY(
            magnitude_positive("--rate", flags->rate, "requests a second", &q->load.rate, err));
    else if (flags->concurrency == 0)
        q->load.rate = rate;
    if (q->load.rate > 0.0)
        q->load.kind = PLAIT_LOAD_RATE;
    PLAIT_TRY(read_bounds(flags, q, err));
    return read_speculation(flags, model, &q->load, err);
}

/* ---- GPUs, engines and formats ---- */

/*
 * Find the newest profile of each engine, or of the engine `name`, on the vendor's accelerators.
 * Any other name is one profile, by its name or path.
 */
static plait_status find_engines(const char *name, const char *vendor, plait_arena *arena,
                                 plait_serve_options *q, plait_error *err)
{
    const bool may_be_nvidia = vendor[0] == '\0' || text_equal(vendor, "NVIDIA");
    const char *const given = name;
    plait_engine *profiles;
    size_t count = 1;

    q->engines = 0;
    if (name == NULL || text_index(name, plait_engine_name) >= 0) {
        PLAIT_TRY(plait_engine_list(arena, &profiles, &count, err));
    } else {
        profiles = plait_arena_alloc(arena, 1, sizeof *profiles);
        PLAIT_TRY(plait_check_allocated(profiles, err));
        PLAIT_TRY(plait_engine_find(name, arena, profiles, err));
        profiles->until = 0; // the requested profile also covers today
        name = plait_engine_name[profiles->kind];
    }
    for (int k = 0; k < PLAIT_ENGINES; k++) {
        const plait_engine *found =
            plait_engine_of(profiles, count, (plait_engine_kind)k, vendor, 0, 0);
        if (found != NULL && (name == NULL || text_equal(name, plait_engine_name[k])) &&
            (k != PLAIT_ENGINE_TRTLLM || may_be_nvidia))
            q->engine[q->engines++] = found;
    }
    if (q->engines == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--engine",
                          "expected an engine that runs on accelerators of %s, found %s", vendor,
                          given);
    return PLAIT_OK;
}

/* Replace the engines by copies with the settings that the options give. */
static plait_status set_engines(const serve_flags *flags, plait_arena *arena,
                                plait_serve_options *q, plait_error *err)
{
    double fraction = 0.0, host_gib = 0.0, confidence = 0.0;

    if (flags->cache_cpu != NULL)
        PLAIT_TRY(magnitude_positive("--cache-cpu", flags->cache_cpu, "GiB", &host_gib, err));
    const double node_gib = q->cluster->host_memory_bytes / PLAIT_GIB;
    const int node_gpus = q->cluster->group[0].gpus_per_node;
    if (node_gib > 0.0 && host_gib * node_gpus > node_gib)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--cache-cpu",
                          "expected at most %.0f GiB for each of %d GPUs, since a node has %.0f, "
                          "found %.40s",
                          floor(node_gib / node_gpus), node_gpus, node_gib, flags->cache_cpu);
    if (flags->memory_fraction != NULL &&
        (!magnitude_parse(flags->memory_fraction, &fraction) || fraction <= 0.0 || fraction > 1.0))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--memory-fraction",
                          "expected a share above 0 and at most 1, found '%.40s'",
                          flags->memory_fraction);
    if (flags->confidence != NULL &&
        (!magnitude_parse(flags->confidence, &confidence) || confidence < 0.5 || confidence > 0.99))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--confidence",
                          "expected a probability from 0.5 to 0.99, found '%.40s'",
                          flags->confidence);
    for (int e = 0; e < q->engines; e++) {
        plait_engine *const own = plait_arena_alloc(arena, 1, sizeof *own);
        PLAIT_TRY(plait_check_allocated(own, err));
        *own = *q->engine[e];
        plait_engine_on(own, q->cluster->group[0].accelerator);
        own->host_cache_bytes = host_gib * PLAIT_GIB;
        plait_engine_judge(own, q->model, q->cluster->group[0].accelerator->name);
        if (confidence > 0.0)
            plait_engine_require(own, confidence);
        own->two_batch_overlap = flags->two_batch_overlap && own->kind != PLAIT_ENGINE_TRTLLM;
        if (fraction > 0.0)
            own->memory_fraction = fraction;
        if (flags->max_num_seqs > 0)
            own->max_sequences = flags->max_num_seqs;
        if (flags->chunk > 0)
            own->chunk_tokens = flags->chunk;
        q->engine[e] = own;
    }
    q->chunk_tokens = flags->chunk;
    q->max_model_len = flags->max_model_len;
    return PLAIT_OK;
}

plait_status serve_flags_question(const serve_flags *flags, const opt_operands *operands,
                                  plait_arena *arena, plait_serve_options *q, plait_error *err)
{
    plait_model *model = plait_arena_alloc(arena, 1, sizeof *model);
    plait_cluster *cluster = plait_arena_alloc(arena, 1, sizeof *cluster);
    int word = 0;

    PLAIT_TRY(plait_check_allocated(model && cluster, err));
    if (operands->count < 2)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, operands->count < 1 ? "MODEL" : "CLUSTER",
                          "expected a name, found nothing; see --help");
    PLAIT_TRY(problem_find_model(operands->text[0], flags->assume_llama, false, arena, model, err));
    PLAIT_TRY(plait_cluster_find(operands->text[1], arena, cluster, err));
    const char *const text =
        flags->gpus != NULL || cluster->gpus > 0 ? flags->gpus : flags->gpus_else;
    int *const out = &q->gpus;
    static const int most = 1 << 16;
    *out = cluster->gpus;
    if (text != NULL && !magnitude_parse_count(text[0] == '.' && text[1] == '.' ? text + 2 : text,
                                               1000, 1, most, out))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--gpus",
                          "expected ..N, N from 1 to %d, found '%.40s'", most, text);
    if (*out < 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--gpus",
                          "expected ..N, since the cluster has no size, found nothing");
    if (cluster->group[0].gpus_per_node > 0 && *out > cluster->group[0].gpus_per_node)
        *out -= *out % cluster->group[0].gpus_per_node;
    PLAIT_TRY(plait_cluster_take(cluster, *out, err));
    if (model->patch_dim > 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, operands->text[0],
                          "expected a model with a decoder, found an encoder");
    if (flags->redundant_experts > 0)
        PLAIT_TRY(serve_set_redundant(model, flags->redundant_experts, "--redundant-experts", arena,
                                      err));
    q->model = model;
    q->cluster = cluster;
    q->only = (plait_worker){flags->tp, flags->pp, flags->dp_attention, flags->ep};
    PLAIT_TRY(find_engines(flags->engine, cluster->group[0].accelerator->vendor, arena, q, err));
    PLAIT_TRY(set_engines(flags, arena, q, err));
    q->weights = plait_serve_usual_weights(cluster->group[0].accelerator, model);
    q->kv = (1u << PLAIT_KV_FORMATS) - 1;
    if (flags->weights != NULL) {
        PLAIT_TRY(problem_word("--weights", flags->weights, plait_weight_name, &word, err));
        q->weights = 1u << word;
    }
    if (flags->kv != NULL) {
        PLAIT_TRY(problem_word("--kv", flags->kv, plait_kv_name, &word, err));
        q->kv = 1u << word;
    }
    if (!cluster->group[0].accelerator->gemm[PLAIT_BF16].measured)
        print_warning("%s: no measurement supports the constants of %s; they follow from its data "
                      "sheet and from defaults",
                      operands->text[1], cluster->group[0].accelerator->name);
    return read_load(flags, model, arena, q, err);
}

plait_status serve_flags_check_file(const char *path, plait_error *err)
{
    int tokens;

    if (path == NULL || !magnitude_parse_count(path, 1024, 1, PLAIT_MAX_SEQ, &tokens))
        return PLAIT_OK;
    return plait_fail(
        err, PLAIT_ERROR_RANGE, "--output",
        "expected a file, found %s; for the tokens of an answer use --output-tokens %s", path,
        path);
}
