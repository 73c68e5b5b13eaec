/*
 * settings.c - writes degrees, batch, memory and precision as torchtitan's keys and values
 *
 * Keys are those of pytorch/torchtitan b5bcd76 (2026-08-21). src/rules/rules_torchtitan.c rejects
 * the plans that torchtitan would reject.
 */
#include "launch/torchtitan/torchtitan.h"

#include <assert.h>
#include <string.h>

#include "launch/write/training.h"
#include "launch/write/scripts.h"
#include "plan/model_queries.h"

bool titan_divide_layers(int layers, int stages, titan_weights weights, int *counts)
{
    const int units = layers + weights.first + weights.last;
    const int each = units / stages;

    if (each < 1 || weights.first > each || weights.last > each)
        return false;
    for (int s = 0; s < stages; s++)
        counts[s] = each + (s < units % stages);
    counts[0] -= weights.first;
    counts[stages - 1] -= weights.last;
    return true;
}

static bool model_gives(const plait_model *model, const plait_degrees *d, const int *wanted,
                        titan_weights *weights)
{
    const int stages = d->pp * d->vpp;
    int counts[PLAIT_MAX_LAYERS];

    if (!titan_divide_layers(model->layers, stages, *weights, counts) ||
        memcmp(counts, wanted, (size_t)stages * sizeof *counts) != 0)
        return false;
    // torchtitan's default is one stage per rank, or two with schedules of several chunks
    if (stages == d->pp * (d->vpp > 1 ? 2 : 1))
        return true;
    // find the layers per stage that give torchtitan this number of stages; 0: none
    const int units = model->layers + weights->first + weights->last;
    const int each = (units + stages - 1) / stages;

    weights->layers_per_stage = (units + each - 1) / each == stages ? each : 0;
    return weights->layers_per_stage > 0;
}

bool titan_weights_of(const plait_launch *launch, titan_weights *out)
{
    static const titan_weights choices[] = {{0, 0, 0}, {1, 1, 0}, {1, 0, 0}, {0, 1, 0}};
    const plait_model *const model = launch->problem->model;
    const plait_degrees *const d = &launch->plan->degrees;
    int wanted[PLAIT_MAX_LAYERS];

    for (int c = 0; c < d->pp * d->vpp; c++) {
        const plait_chunk *const chunk = plait_plan_chunk(launch->plan, c);

        wanted[c] = chunk->last - chunk->first;
    }
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        *out = choices[i];
        if (model_gives(model, d, wanted, out))
            return true;
    }
    return false;
}

static void titan_add(titan_settings *out, titan_setting setting)
{
    assert(out->count < TITAN_MAX_SETTINGS);
    out->setting[out->count++] = setting;
}

static void set_number(titan_settings *out, const char *section, const char *key, int64_t value)
{
    titan_add(out, (titan_setting){section, key, TITAN_NUMBER, value, NULL});
}

static void on_off(titan_settings *out, const char *section, const char *key, bool value)
{
    titan_add(out, (titan_setting){section, key, TITAN_SWITCH, value, NULL});
}

static void set_word(titan_settings *out, const char *section, const char *key, const char *value)
{
    titan_add(out, (titan_setting){section, key, TITAN_TEXT, 0, value});
}

const char *const titan_schedule_name[PLAIT_SCHEDULES] = {
    [PLAIT_1F1B] = "1F1B",
    [PLAIT_GPIPE] = "GPipe",
    [PLAIT_INTERLEAVED] = "Interleaved1F1B",
    [PLAIT_ZB_V] = "ZBVZeroBubble",
    [PLAIT_DUALPIPE_V] = "DualPipeV",
};

/* ---- settings of both versions ---- */

/*
 * Add the degrees of data parallelism. plait's shard group includes the context ranks; torchtitan
 * multiplies its shard degree by them.
 */
static void add_data_ranks(const plait_degrees *d, titan_settings *out)
{
    set_number(out, "parallelism", "data_parallel_replicate_degree",
               d->dp * d->cp / d->shard_group);
    set_number(out, "parallelism", "data_parallel_shard_degree", d->shard_group / d->cp);
    set_word(out, "parallelism", "fsdp_reshard_after_forward", d->zero == 3 ? "always" : "never");
    set_number(out, "parallelism", "tensor_parallel_degree", d->tp);
}

static void add_pipeline(const plait_degrees *d, titan_settings *out)
{
    set_number(out, "parallelism", "context_parallel_degree", d->cp);
    set_number(out, "parallelism", "pipeline_parallel_degree", d->pp);
    if (d->pp > 1)
        set_word(out, "parallelism", "pipeline_parallel_schedule",
                 titan_schedule_name[d->schedule]);
}

/* Add FSDP2's CPUOffloadPolicy, which moves parameters, gradients and the optimizer to the host. */
static void add_offload(const plait_degrees *d, titan_settings *out)
{
    if (d->offload == PLAIT_OFFLOAD_PARAMS)
        on_off(out, "training", "enable_cpu_offload", true);
}

static void add_numbers(titan_settings *out)
{
    set_word(out, "training", "dtype", "float32");
    set_word(out, "training", "mixed_precision_param", "bfloat16");
    set_word(out, "training", "mixed_precision_reduce", "float32");
}

bool titan_is_compiled(const plait_launch *launch)
{
    return launch->problem->runtime->kernels.fused_norm;
}

static bool hides_tensor_traffic(const plait_degrees *d)
{
    return d->switches.tp_comm_overlap && d->tp > 1;
}

static void add_compile(const plait_launch *launch, titan_settings *out)
{
    on_off(out, "compile", "enable", titan_is_compiled(launch));
    if (titan_is_compiled(launch))
        titan_add(out, (titan_setting){"compile", "components", TITAN_TEXTS, 0, "model,loss"});
}

const char *titan_checkpoint(const plait_launch *launch)
{
    switch ((plait_recompute_kind)launch->plan->degrees.recompute.kind) {
    case PLAIT_RECOMPUTE_SAC:
        return "selective";
    case PLAIT_RECOMPUTE_FULL:
        return "full";
    default:
        return "none";
    }
}

const char *titan_attention(const plait_launch *launch)
{
    const plait_problem *const problem = launch->problem;
    const bool packed = titan_family_of(problem->model) == TITAN_GPT_OSS ||
                        launch->plan->degrees.attention == PLAIT_ATTENTION_FLASH3;

    return packed && launch->plan->degrees.cp == 1 ? "varlen" : "flex";
}

/* ---- settings of the newest version ---- */

void titan_settings_of(const plait_launch *launch, titan_settings *out)
{
    const plait_job *const job = &launch->problem->job;
    const plait_degrees *const d = &launch->plan->degrees;

    *out = (titan_settings){0};
    add_data_ranks(d, out);
    if (d->tp > 1)
        on_off(out, "parallelism", "enable_sequence_parallel", d->sp);
    add_pipeline(d, out);
    if (d->pp > 1)
        set_number(out, "parallelism", "num_pp_microbatches",
                   plait_degrees_microbatches(d, job->gbs));
    set_number(out, "parallelism", "expert_parallel_degree", d->ep);
    set_number(out, "training", "num_tokens_per_microbatch_per_dp_rank",
               (int64_t)d->mbs * job->seq);
    set_number(out, "training", "num_tokens_per_train_step", (int64_t)job->gbs * job->seq);
    set_number(out, "training", "max_context_length", job->seq);
    on_off(out, "training", "disable_cuda_graphs", true); // the price assumes no CUDA graphs
    add_numbers(out);
    add_offload(d, out);
    add_compile(launch, out);
    on_off(out, "compile", "enable_async_tensor_parallel", hides_tensor_traffic(d));
}

/* ---- settings of versions that read TOML ---- */

void titan_toml_settings_of(const plait_launch *launch, titan_settings *out)
{
    const plait_degrees *const d = &launch->plan->degrees;

    *out = (titan_settings){0};
    // in these versions, all microbatches of a pipeline are one local batch; without a pipeline
    // they are accumulated
    const plait_job *const job = &launch->problem->job;
    const int microbatches = d->pp > 1 ? plait_degrees_microbatches(d, job->gbs) : 1;

    set_number(out, "training", "local_batch_size", (int64_t)d->mbs * microbatches);
    set_number(out, "training", "global_batch_size", job->gbs);
    set_number(out, "training", "seq_len", job->seq);
    add_numbers(out);
    add_offload(d, out);
    add_data_ranks(d, out);
    add_pipeline(d, out);
    if (d->pp > 1)
        set_number(out, "parallelism", "pipeline_parallel_microbatch_size", d->mbs);
    if (hides_tensor_traffic(d)) // a key of `compile` since 2026-08
        on_off(out, "parallelism", "enable_async_tensor_parallel", true);
    if (d->cp > 1)
        set_word(out, "parallelism", "context_parallel_rotate_method", "allgather");
    set_number(out, "parallelism", "expert_parallel_degree", d->ep);
    if (model_has_experts(launch->problem->model))
        set_number(out, "parallelism", "expert_tensor_parallel_degree", d->etp);
    set_word(out, "activation_checkpoint", "mode", titan_checkpoint(launch));
    if (d->recompute.kind == PLAIT_RECOMPUTE_SAC)
        set_word(out, "activation_checkpoint", "selective_ac_option", "op");
    add_compile(launch, out);
}

/* ---- the schedule ---- */

double titan_decay_ratio(const launch_training *training)
{
    return training->decay == PLAIT_LR_CONSTANT
               ? 0.0
               : (double)training->decay_steps / (double)training->total_steps;
}

double titan_end(const launch_training *training)
{
    return training->min_lr / training->lr;
}

void titan_append_quoted(const char *text, text_builder *out)
{
    text_append_char(out, '"');
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        if (c < ' ' || c == 0x7f)
            text_append_printf(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            text_append_printf(out, "\\%c", c);
        else
            text_append_char(out, *text);
    }
    text_append_char(out, '"');
}

void titan_append_head(const plait_launch *launch, const char *first, const training_places *places,
                       text_builder *out)
{
    static const plait_key_id keys[] = {PLAIT_KEY_VPP, PLAIT_KEY_SPLIT, PLAIT_KEY_CP_COMM,
                                        PLAIT_KEY_ETP};

    scripts_append_head(launch, first, places, out);
    notes_append(launch, out);
    notes_append_one("precision", plait_precision_name[launch->problem->job.precision], out);
    notes_append_keys(launch, keys, sizeof keys / sizeof *keys, out);
}

static void append_words(const char *words, text_builder *out)
{
    char **const list = text_split(out->arena, words, ',', NULL);

    text_append_char(out, '[');
    for (int i = 0; list != NULL && list[i] != NULL; i++) {
        text_append(out, i > 0 ? ", " : "");
        titan_append_quoted(list[i], out);
    }
    text_append_char(out, ']');
    out->failed = out->failed || list == NULL;
}

void titan_append_value(const titan_setting *s, const char *on, const char *off, text_builder *out)
{
    switch (s->kind) {
    case TITAN_NUMBER:
        text_append_printf(out, "%lld", (long long)s->number);
        break;
    case TITAN_SWITCH:
        text_append(out, s->number != 0 ? on : off);
        break;
    case TITAN_TEXT:
        titan_append_quoted(s->text, out);
        break;
    case TITAN_TEXTS:
        append_words(s->text, out);
        break;
    }
}
