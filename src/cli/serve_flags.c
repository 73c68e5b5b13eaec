/*
 * serve_flags.c - reads a load of requests, its latency bounds, and the allowed engines and formats
 */
#include "cli/serve_flags.h"

#include <stdio.h>

#include "base/magnitude.h"
#include "cli/problem.h"
#include "plan/serve_values.h"
#include "cli/terminal.h"
#include "base/text.h"

/* ---- the load and its bounds ---- */

static plait_status read_load(const serve_flags *flags, const plait_model *model,
                              plait_serve_options *q, plait_error *err)
{
    if (flags->input == 0 || flags->output == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, flags->input == 0 ? "--input" : "--output-tokens",
                          "expected a number of tokens, found nothing");
    if (flags->cached >= flags->input)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--prefix-cached",
                          "expected fewer than the %d tokens of --input, found %d", flags->input,
                          flags->cached);
    if (flags->max_model_len > 0 && (double)flags->input + flags->output > flags->max_model_len)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "--max-model-len",
            "expected at least %.0f, the tokens of --input and --output-tokens, found %d",
            (double)flags->input + flags->output, flags->max_model_len);
    if (model->max_seq > 0 && (double)flags->input + flags->output > model->max_seq)
        print_warning(
            "--input: %d input and %d output tokens exceed %d, the published context length of %s",
            flags->input, flags->output, model->max_seq, model->name);
    if (flags->rate != NULL && flags->concurrency > 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--rate",
                          "expected --rate or --concurrency, found both");
    q->load = (plait_load){.kind = flags->rate != NULL ? PLAIT_LOAD_RATE : PLAIT_LOAD_CLOSED,
                           .input = flags->input,
                           .output = flags->output,
                           .cached = flags->cached,
                           .concurrency = flags->concurrency};
    if (flags->rate != NULL)
        PLAIT_TRY(
            magnitude_positive("--rate", flags->rate, "requests a second", &q->load.rate, err));
    double *const asked[] = {
#define X(flag, name) &q->name##_s,
        PLAIT_SERVE_LIMIT_LIST(X)
#undef X
    };
    for (int l = 0; l < PLAIT_SERVE_LIMITS; l++) {
        // A number without a unit is in milliseconds, as in the benchmarks of the engines.
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
    const char *const text = flags->speculate;
    plait_load *const load = &q->load;
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
    double fraction = 0.0;

    if (flags->memory_fraction != NULL &&
        (!magnitude_parse(flags->memory_fraction, &fraction) || fraction <= 0.0 || fraction > 1.0))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--memory-fraction",
                          "expected a share above 0 and at most 1, found '%.40s'",
                          flags->memory_fraction);
    for (int e = 0; e < q->engines; e++) {
        plait_engine *const own = plait_arena_alloc(arena, 1, sizeof *own);
        PLAIT_TRY(plait_check_allocated(own, err));
        *own = *q->engine[e];
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
    return read_load(flags, model, q, err);
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
