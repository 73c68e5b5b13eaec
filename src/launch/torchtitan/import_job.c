/* import_job.c - model, batch, number format and software out of a config of torchtitan */
#include <limits.h>
#include <string.h>

#include "base/status.h"
#include "plait/data.h"
#include "launch/torchtitan/reading.h"

/* ---- the batch ---- */

/* Tokens are whole sequences of the longest context. */
static plait_status take_tokens(titan_reading *in, plait_error *err)
{
    const plait_degrees *const d = &in->out->degrees;
    int64_t seq, tokens, step, microbatches;

    PLAIT_TRY(titan_number_of(in, "training.max_context_length", INT_MAX, &seq, err));
    PLAIT_TRY(titan_number_of(in, "training.num_tokens_per_microbatch_per_dp_rank", 1LL << 40,
                              &tokens, err));
    PLAIT_TRY(titan_number_of(in, "training.num_tokens_per_train_step", 1LL << 40, &step, err));
    PLAIT_TRY(titan_number_of(in, "parallelism.num_pp_microbatches", 1 << 20, &microbatches, err));
    in->out->seq = (int)(seq > 0 ? seq : 0);
    if (seq <= 0 || tokens <= 0)
        return PLAIT_OK;
    if (tokens % seq != 0) {
        titan_warn(in, "a microbatch is not whole sequences of the context: mbs is open");
        return PLAIT_OK;
    }
    const int64_t flush = tokens * (d->pp > 1 && microbatches > 0 ? microbatches : 1);
    if (step <= 0 && titan_knows(in, "dp") && flush <= 1LL << 40)
        step = flush * d->dp;
    if (step > 0 && step % seq == 0 && step / seq <= INT_MAX)
        in->out->gbs = (int)(step / seq);
    if (step > 0 && d->pp > 1 && titan_knows(in, "dp") && step / d->dp > flush)
        titan_warn(in, "the pipeline is emptied several times a step, and priced as if only once");
    return titan_set_number(in, "mbs", tokens / seq, err);
}

static plait_status take_sequences(titan_reading *in, plait_error *err)
{
    const plait_degrees *const d = &in->out->degrees;
    int64_t seq, local, global, micro;

    PLAIT_TRY(titan_number_of(in, "training.seq_len", INT_MAX, &seq, err));
    PLAIT_TRY(titan_number_of(in, "training.local_batch_size", 1 << 20, &local, err));
    PLAIT_TRY(titan_number_of(in, "training.global_batch_size", INT_MAX, &global, err));
    PLAIT_TRY(
        titan_number_of(in, "parallelism.pipeline_parallel_microbatch_size", 1 << 20, &micro, err));
    in->out->seq = (int)(seq > 0 ? seq : 0);
    if (global <= 0 && local > 0 && titan_knows(in, "dp") && local * d->dp <= INT_MAX)
        global = local * d->dp;
    in->out->gbs = (int)(global > 0 ? global : 0);
    if (d->pp > 1)
        return titan_set_number(in, "mbs", micro > 0 ? micro : 1, err);
    return local > 0 ? titan_set_number(in, "mbs", local, err) : PLAIT_OK;
}

/* ---- model, precision, software ---- */

/* A flavour by what the file calls it. */
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

plait_status titan_take_model(titan_reading *in, plait_error *err)
{
    const titan_flavour *const flavour = flavour_named(in);
    plait_model *const model = plait_arena_alloc(in->pairs->arena, 1, sizeof *model);
    plait_error inner;

    if (model == NULL)
        return plait_fail_nomem(err);
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

/* Both profiles are told by the compiler; another one, of somebody's own, only by a note. */
static void take_runtime(titan_reading *in)
{
    const char *const noted = in->notes.runtime;
    int compiled = titan_switch_of(in, "compile.enable");

    compiled = compiled < 0 && in->complete ? 0 : compiled;
    if (noted != NULL && strcmp(noted, "torchtitan") != 0 && strcmp(noted, "torchtitan-eager") != 0)
        in->out->runtime = noted;
    else if (compiled >= 0)
        in->out->runtime = compiled ? "torchtitan" : "torchtitan-eager";
    else
        in->out->runtime = noted != NULL ? noted : "torchtitan";
}

static void warn_of_others(titan_reading *in)
{
    const char *const dtype = titan_word_of(in, "training.dtype");

    if (titan_switch_of(in, "compile.enable_async_tensor_parallel") == 1 ||
        titan_switch_of(in, "parallelism.enable_async_tensor_parallel") == 1)
        titan_warn(in, "asynchronous tensor parallelism is priced as the profile has it");
    if (dtype != NULL && strcmp(dtype, "bfloat16") == 0)
        titan_warn(in, "weights and optimizer in bfloat16 are priced as if in float32");
    if (titan_switch_of(in, "training.disable_cuda_graphs") == 0)
        titan_warn(in, "CUDA graphs are not priced");
    if (titan_find(in, "several") != NULL)
        titan_warn(in, "the file has several configurations: of each key the last one is taken");
}

plait_status titan_take_job(titan_reading *in, plait_error *err)
{
    const titan_flavour *const flavour = flavour_named(in);

    PLAIT_TRY(in->toml ? take_sequences(in, err) : take_tokens(in, err));
    take_precision(in, flavour);
    take_runtime(in);
    warn_of_others(in);
    return PLAIT_OK;
}
