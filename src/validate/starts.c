/* starts.c - predicts the figures of a server's start log, with the settings of that log */
#include "validate/starts.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "plait/units.h"

/* Returns a version as profiles count it: 0.19.0 is 19, 1.2.0 is 102; 0: unknown. */
static int version_of(const char *text)
{
    int major, minor;

    if (text == NULL || sscanf(text, "%3d.%3d", &major, &minor) != 2 || major < 0 || minor < 0)
        return 0;
    return 100 * major + minor;
}

static plait_status find_profile(const start_log *log, const char *profile,
                                 const plait_cluster *cluster, plait_arena *arena,
                                 plait_engine *out, plait_error *err)
{
    const char *const vendor = cluster->group[0].accelerator->vendor;
    plait_engine *profiles;
    size_t count;

    if (profile != NULL)
        return plait_engine_find(profile, arena, out, err);
    PLAIT_TRY(plait_engine_list(arena, &profiles, &count, err));
    const plait_engine *const found =
        plait_engine_of(profiles, count, log->kind, vendor, 0, version_of(log->version));
    if (found == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--cluster",
                          "expected accelerators that %s runs on, found those of %s",
                          plait_engine_name[log->kind], vendor);
    *out = *found;
    return PLAIT_OK;
}

/*
 * Bytes of vLLM's sampler for each logit. FlashInfer's has the logits in 16 and in 32 bits, the
 * probabilities and a mask. PyTorch's operators also sort the logits with their indices of 64 bits,
 * in two buffers; a kernel of Triton replaces them in the newest profile. (C.367)
 */
static void set_sampler(const start_log *log, plait_engine *engine)
{
    static const double flashinfer = 12.0, sorted = 38.0;
    const bool newest = engine->until == 0 && engine->before == 0;

    if (log->sampler == START_SAMPLER_FLASHINFER)
        engine->logit_bytes = flashinfer;
    if (log->sampler == START_SAMPLER_NATIVE && !newest)
        engine->logit_bytes = sorted;
}

/*
 * Applies the defaults for the accelerator (C.404) and the settings of the log. vLLM has 1024
 * sequences since 0.9 and counts its CUDA graphs since 0.21. (C.367)
 */
static void set_engine(const start_log *log, const plait_accelerator *gpu, plait_engine *engine)
{
    static const int graphs_since = 21, many_since = 9;
    const int version = version_of(log->version);

    if (log->kind == PLAIT_ENGINE_VLLM) {
        if (version >= many_since)
            engine->max_sequences = 1024.0;
        if (version > 0 && version < graphs_since)
            engine->graph_bytes = 0.0;
        set_sampler(log, engine);
    }
    plait_engine_on(engine, gpu);
    if (log->memory_fraction > 0.0)
        engine->memory_fraction = log->memory_fraction;
    if (log->chunk_tokens > 0.0)
        engine->chunk_tokens = log->chunk_tokens;
    if (log->max_sequences > 0.0)
        engine->max_sequences = log->max_sequences;
}

/* Returns whether a text contains a lower-case name in any case of letters. */
static bool contains_name(const char *text, const char *name)
{
    for (; *text != '\0'; text++) {
        size_t length = 0;

        while (name[length] != '\0' && text_lower(text[length]) == name[length])
            length++;
        if (name[length] == '\0')
            return true;
    }
    return false;
}

/* Returns the format of a model's published checkpoint; 16 bits if it has no other. */
static plait_weight_format published_format(const plait_model *model)
{
    const int format =
        model->weights != NULL ? text_index(model->weights, plait_weight_name) : PLAIT_WEIGHT_BF16;

    return format >= 0 ? (plait_weight_format)format : PLAIT_WEIGHT_BF16;
}

/*
 * Returns the format of the weights that the engine's configuration, or else the model's name, gives.
 * "fp8" includes published formats with blocks or with experts in four bits. SGLang names no
 * format if it reads it from the checkpoint; vLLM always names it.
 */
static plait_weight_format weights_of(const start_log *log, const plait_model *model)
{
    static const struct {
        const char *name;
        plait_weight_format format;
    } names[] = {{"mxfp4", PLAIT_WEIGHT_MXFP4}, {"fp4", PLAIT_WEIGHT_NVFP4},
                 {"awq", PLAIT_WEIGHT_INT4},    {"gptq", PLAIT_WEIGHT_INT4},
                 {"w4a16", PLAIT_WEIGHT_INT4},  {"fp8", PLAIT_WEIGHT_FP8},
                 {"w8a8", PLAIT_WEIGHT_FP8}};
    const char *const text[] = {log->quantization, log->model};
    const plait_weight_format published = published_format(model);

    if (log->quantization == NULL && log->kind == PLAIT_ENGINE_VLLM)
        return PLAIT_WEIGHT_BF16;
    for (int t = 0; t < 2; t++)
        for (size_t w = 0; text[t] != NULL && w < sizeof names / sizeof *names; w++)
            if (contains_name(text[t], names[w].name))
                return names[w].format == PLAIT_WEIGHT_FP8 && published != PLAIT_WEIGHT_BF16
                           ? published
                           : names[w].format;
    return published;
}

static int degree(int given)
{
    return given > 0 ? given : 1;
}

static plait_worker worker_of(const start_log *log, const plait_model *model)
{
    const int tp = degree(log->tp), dp = degree(log->dp);
    bool experts = false;

    for (int k = 0; k < model->kinds; k++)
        experts = experts || model->kind[k].ffn == PLAIT_FFN_MOE;
    if (log->kind == PLAIT_ENGINE_SGLANG && log->dp_attention)
        return (plait_worker){tp >= dp ? tp / dp : 1, degree(log->pp), dp,
                              experts ? degree(log->ep) : 1};
    // Data parallelism of a dense model gives whole copies, as does SGLang's without dp attention.
    const int ranks = log->kind == PLAIT_ENGINE_VLLM && experts ? dp : 1;
    const int ep = log->expert_parallel ? tp * ranks : degree(log->ep);
    return (plait_worker){tp, degree(log->pp), ranks, experts ? ep : 1};
}

plait_status start_predict(const start_log *log, const char *profile, const plait_model *model,
                           const plait_cluster *cluster, plait_arena *arena, start_prediction *out,
                           plait_error *err)
{
    plait_step_table *const table = plait_arena_alloc(arena, 1, sizeof *table);

    PLAIT_TRY(plait_check_allocated(table, err));
    *out = (start_prediction){.serving = {.model = model,
                                          .cluster = cluster,
                                          .worker = worker_of(log, model),
                                          .weights = weights_of(log, model),
                                          .kv = log->fp8_cache ? PLAIT_KV_FP8 : PLAIT_KV_BF16}};
    PLAIT_TRY(find_profile(log, profile, cluster, arena, &out->engine, err));
    set_engine(log, cluster->group[0].accelerator, &out->engine);
    const char *const why = plait_step_table_fill(&out->serving, table);
    if (why != NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--model",
                          "expected a model that runs with the degrees of the log, found: %s", why);
    out->start = plait_serve_start_of(&out->serving, &out->engine,
                                      log->request_tokens > 0.0 ? log->request_tokens
                                      : model->max_seq > 0      ? model->max_seq
                                                                : 8192.0);
    return PLAIT_OK;
}
