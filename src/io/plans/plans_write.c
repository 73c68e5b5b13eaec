/* plans_write.c - writes the job and the degrees of a plan; keys without a value become null */
#include "io/plans/plans_json.h"

#include <string.h>

#include "plait/runtime.h"
#include "plait/lowlevel/schedule.h"

#include "io/cluster/cluster_file.h"
#include "io/data/data.h"
#include "io/file.h"
#include "io/plans/tuning_json.h"
#include "io/model/model_file.h"

/* Makes an entry from a problem and degrees, in which all keys are given. */
static plans_entry entry_of(const plait_problem *problem, const plait_degrees *degrees)
{
    return (plans_entry){
        .rank = 1,
        .model = problem->model,
        .cluster = problem->cluster,
        .runtime = plait_runtime_handle(problem->runtime),
        .seq = problem->job.seq,
        .document = problem->job.document,
        .documents = problem->job.documents,
        .tuning = problem->job.tuning,
        .images = problem->job.images,
        .image_tokens = problem->job.image_tokens,
        .gbs = problem->job.gbs,
        .gpus = problem->job.gpus,
        .precision = (int)problem->job.precision,
        .risk = problem->risk,
        .imbalance =
            problem->runtime->imbalance_stated ? problem->runtime->factor.ep_imbalance : 0.0,
        .natural_routing = problem->runtime->natural_routing,
        .frontier = problem->runtime->frontier,
        .degrees = *degrees,
        .given = PLAIT_ALL_KEYS,
    };
}

/* ---- members that may be unknown ---- */

static bool has_key(const plans_entry *entry, plait_key_id key)
{
    return (entry->given & PLAIT_KEY_BIT(key)) != 0;
}

static void member_of_count(json_writer *json, const char *key, int count)
{
    if (count > 0)
        json_member_int64(json, key, count);
    else
        json_member_null(json, key);
}

static void member_of_word(json_writer *json, const char *key, const char *const *words, int index)
{
    json_member_string(json, key, index >= 0 ? words[index] : NULL);
}

static void write_order(json_writer *json, const plans_entry *entry)
{
    const plait_axis *axes = plait_order_axes((plait_order)entry->degrees.order);

    if (!has_key(entry, PLAIT_KEY_ORDER)) {
        json_member_null(json, "order");
        return;
    }
    json_member_row(json, "order");
    for (int i = 0; i < PLAIT_AXES; i++)
        json_write_string(json, plait_axis_name[axes[i]]);
    json_end_array(json);
}

static void member_of_key(json_writer *json, const plans_entry *entry, plait_key_id key)
{
    const plait_key *const row = &plait_keys[key];
    char text[PLAIT_VALUE_SIZE];

    if (!has_key(entry, key) ||
        (row->words == NULL && plait_key_value(&entry->degrees, key) < row->low))
        json_member_null(json, row->name); // not given, or invalid because no dp divides the GPUs
    else if (row->words == NULL)
        json_member_int64(json, row->name, plait_key_value(&entry->degrees, key));
    else
        json_member_string(json, row->name,
                           plait_degrees_get(&entry->degrees, key, text, sizeof text));
}

/*
 * Returns the name of the runtime. A path is written without its folder, since readers search for
 * the file beside the document.
 */
static const char *runtime_name(const plans_entry *entry)
{
    return entry->runtime != NULL && data_is_path(entry->runtime) ? file_base_name(entry->runtime)
                                                                  : entry->runtime;
}

static void write_degrees(json_writer *json, const plans_entry *entry)
{
    const plait_degrees *const d = &entry->degrees;
    const bool batch =
        has_key(entry, PLAIT_KEY_DP) && has_key(entry, PLAIT_KEY_MBS) && entry->gbs > 0;

    for (int key = 0; key < PLAIT_KEYS; key++)
        if (key == PLAIT_KEY_ORDER)
            write_order(json, entry);
        else
            member_of_key(json, entry, (plait_key_id)key);
    member_of_count(json, "gbs", entry->gbs);
    member_of_count(json, "microbatches", batch ? plait_degrees_microbatches(d, entry->gbs) : 0);
    member_of_word(json, "precision", plait_precision_name, entry->precision);
    json_member_string(json, "runtime", runtime_name(entry));
}

/* ---- model, cluster and job ---- */

static void write_question(json_writer *json, const plans_entry *entry)
{
    json_member_version(json);
    json_write_key(json, "model");
    if (entry->model != NULL)
        model_write(json, entry->model);
    else
        json_write_null(json);
    json_write_key(json, "cluster");
    if (entry->cluster != NULL)
        cluster_write(json, entry->cluster);
    else
        json_write_null(json);
    json_write_key(json, "job");
    json_begin_object(json);
    member_of_count(json, "seq", entry->seq);
    if (entry->document > 0)
        json_member_int64(json, "document", entry->document);
    documents_write_json(json, &entry->documents);
    if (entry->images > 0)
        json_member_int64(json, "images", entry->images);
    if (entry->image_tokens > 0)
        json_member_int64(json, "image_tokens", entry->image_tokens);
    member_of_count(json, "gbs", entry->gbs);
    member_of_count(json, "gpus", entry->gpus);
    member_of_word(json, "precision", plait_precision_name, entry->precision);
    json_member_string(json, "runtime", runtime_name(entry));
    if (entry->risk > 0.0 && entry->risk != PLAIT_USUAL_RISK)
        json_member_number(json, "risk", entry->risk);
    if (entry->imbalance > 0.0)
        json_member_number(json, "imbalance", entry->imbalance);
    else if (entry->natural_routing)
        json_member_string(json, "imbalance", PLANS_NATURAL_ROUTING);
    if (entry->frontier)
        json_member_bool(json, "frontier", true);
    tuning_write_json(json, &entry->tuning);
    json_end_object(json);
}

void plans_write_question(json_writer *json, const plait_problem *problem)
{
    const plait_degrees none = plait_degrees_init();
    const plans_entry entry = entry_of(problem, &none);

    write_question(json, &entry);
}

void plans_write_degrees(json_writer *json, const plait_problem *problem,
                         const plait_degrees *degrees)
{
    const plans_entry entry = entry_of(problem, degrees);

    write_degrees(json, &entry);
}

/* ---- choices of stages ---- */

/* The choices of a stage's layers: recomputation, tp and stage of ZeRO. */
typedef struct layer_choices {
    const plait_degrees *plan; /* has the tp and zero of layers without their own */
    const plait_recompute *recompute;
    const plait_cut *cut; /* tp and zero of each layer; NULL: all as in the plan */
    int layers;
} layer_choices;

static int cut_value(const layer_choices *c, plait_key_id key, int layer)
{
    const bool tp = key == PLAIT_KEY_TP;
    const int own = tp ? c->cut[layer].tp : c->cut[layer].zero;
    const int none = tp ? PLANS_NO_CUT.tp : PLANS_NO_CUT.zero;

    return own != none ? own : plait_key_value(c->plan, key);
}

static bool same_choice(const layer_choices *c, plait_key_id key, int a, int b)
{
    if (key != PLAIT_KEY_RECOMPUTE)
        return cut_value(c, key, a) == cut_value(c, key, b);
    return c->recompute[a].kind == c->recompute[b].kind &&
           c->recompute[a].modules == c->recompute[b].modules;
}

static void write_choice(json_writer *json, const layer_choices *c, plait_key_id key, int layer)
{
    if (key == PLAIT_KEY_RECOMPUTE)
        plans_write_recompute(json, c->recompute[layer]);
    else
        json_write_int64(json, cut_value(c, key, layer));
}

/* Returns the number of layers, from `first` on, that have the same choice. */
static int run_length(const layer_choices *c, plait_key_id key, int first)
{
    int next = first + 1;

    while (next < c->layers && same_choice(c, key, next, first))
        next++;
    return next - first;
}

/*
 * Writes one value if all layers have the same, otherwise [value, layers] for each run of equal
 * layers.
 */
static void write_runs(json_writer *json, const layer_choices *c, plait_key_id key)
{
    json_write_key(json, plait_keys[key].name);
    if (run_length(c, key, 0) >= c->layers) {
        write_choice(json, c, key, 0);
        return;
    }
    json_begin_row(json);
    for (int at = 0, run; at < c->layers; at += run) {
        run = run_length(c, key, at);
        json_begin_row(json);
        write_choice(json, c, key, at);
        json_write_int64(json, run);
        json_end_array(json);
    }
    json_end_array(json);
}

/* Writes the tp, or the stage of ZeRO, of the layers if at least one differs from the plan's. */
static void write_cuts(json_writer *json, const layer_choices *c)
{
    static const plait_key_id keys[] = {PLAIT_KEY_TP, PLAIT_KEY_ZERO};

    for (size_t k = 0; c->cut != NULL && k < sizeof keys / sizeof *keys; k++)
        for (int i = 0; i < c->layers; i++)
            if (cut_value(c, keys[k], i) != plait_key_value(c->plan, keys[k])) {
                write_runs(json, c, keys[k]);
                break;
            }
}

static void write_key(json_writer *json, const plait_degrees *degrees, plait_key_id key)
{
    char text[PLAIT_VALUE_SIZE];

    json_member_string(json, plait_keys[key].name,
                       plait_degrees_get(degrees, key, text, sizeof text));
}

void plans_write_choices(json_writer *json, const plait_plan *plan, const plait_stage *stage)
{
    const bool empty = stage->layers == 0;
    const layer_choices recompute = {.recompute =
                                         empty ? &stage->degrees.recompute : stage->recompute,
                                     .layers = empty ? 1 : stage->layers};
    const layer_choices cuts = {.plan = &plan->degrees, .cut = stage->cut, .layers = stage->layers};

    write_runs(json, &recompute, PLAIT_KEY_RECOMPUTE);
    for (size_t i = 0; i < sizeof plans_own_keys / sizeof *plans_own_keys; i++)
        if (!plait_key_same(&stage->degrees, &plan->degrees, plans_own_keys[i]))
            write_key(json, &stage->degrees, plans_own_keys[i]);
    write_cuts(json, &cuts);
}

static void write_stages(json_writer *json, const plans_entry *entry)
{
    json_member_array(json, "stages");
    for (int s = 0; s < entry->stages; s++) {
        json_begin_object(json);
        json_member_array(json, "chunks");
        for (int c = 0; c < entry->stage[s].chunks; c++) {
            json_begin_object(json);
            plans_write_chunk(json, &entry->stage[s].chunk[c]);
            json_end_object(json);
        }
        json_end_array(json);
        if (entry->stage[s].owns & PLAIT_KEY_BIT(PLAIT_KEY_DP)) {
            json_member_int64(json, "group", entry->stage[s].group);
            json_member_object(json, "degrees");
            for (int key = 0; key < PLAIT_KEYS; key++)
                if (entry->stage[s].owns & PLAIT_KEY_BIT(key))
                    write_key(json, &entry->stage[s].own, (plait_key_id)key);
            json_end_object(json);
        }

        const layer_choices recompute = {.recompute = entry->stage[s].recompute,
                                         .layers = entry->stage[s].recomputes};
        const layer_choices cuts = {
            .plan = &entry->degrees, .cut = entry->stage[s].cut, .layers = entry->stage[s].layers};
        if (entry->stage[s].recomputes > 0)
            write_runs(json, &recompute, PLAIT_KEY_RECOMPUTE);
        for (size_t i = 0; i < sizeof plans_own_keys / sizeof *plans_own_keys; i++)
            if (entry->stage[s].owns & PLAIT_KEY_BIT(plans_own_keys[i]))
                write_key(json, &entry->stage[s].own, plans_own_keys[i]);
        write_cuts(json, &cuts);
        json_end_object(json);
    }
    json_end_array(json);
}

plait_status plans_write(const plans_entry *entry, plait_arena *arena, const char **text,
                         size_t *length, plait_error *err)
{
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    write_question(&json, entry);
    if (entry->warnings != NULL && entry->warnings[0] != '\0') {
        const char *lines = entry->warnings;
        json_member_array(&json, "warnings");
        while (*lines != '\0') {
            const size_t width = strcspn(lines, "\n");

            json_write_string(&json, plait_arena_printf(arena, "%.*s", (int)width, lines));
            lines += width + (lines[width] == '\n');
        }
        json_end_array(&json);
    }
    json_member_array(&json, "plans");
    json_begin_object(&json);
    json_member_int64(&json, "rank", 1);
    write_degrees(&json, entry);
    if (entry->stages > 0)
        write_stages(&json, entry);
    json_end_object(&json);
    json_end_array(&json);
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}

/* ---- settings of the runtime ---- */

/*
 * Writes the number formats of the optimizer's state: 12 bytes per parameter are an fp32 master
 * weight and two fp32 moments; other sizes are ambiguous and written as null.
 */
static void write_optimizer_dtypes(json_writer *json, double bytes_each)
{
    if (bytes_each != 12.0) {
        json_member_null(json, "optimizer_dtypes");
        return;
    }
    json_member_object(json, "optimizer_dtypes");
    json_member_string(json, "master", "fp32");
    json_member_string(json, "exp_avg", "fp32");
    json_member_string(json, "exp_avg_sq", "fp32");
    json_end_object(json);
}

static const char *fp8_recipe(plait_precision precision)
{
    switch (precision) {
    case PLAIT_FP8:
        return "tensorwise";
    case PLAIT_FP8_BLOCK:
        return "blockwise";
    case PLAIT_MXFP8:
        return "mxfp8";
    case PLAIT_NVFP4:
        return "nvfp4";
    case PLAIT_BF16:
    case PLAIT_FP16:
    case PLAIT_PRECISIONS:
        break;
    }
    return NULL;
}

void plans_write_settings(json_writer *json, const plait_problem *problem,
                          const plait_degrees *degrees)
{
    const plait_runtime *const runtime = problem->runtime;

    json_member_object(json, "settings");
    json_member_bool(json, "overlap_grad_reduce",
                     runtime->overlap.grad_reduce && degrees->grad_sync == PLAIT_SYNC_BUCKETED);
    json_member_bool(json, "overlap_param_gather",
                     runtime->overlap.param_gather && degrees->zero > 0);
    json_member_bool(json, "tp_overlap", degrees->tp > 1 && degrees->switches.tp_comm_overlap);
    json_member_number(json, "bucket_bytes", runtime->overlap.bucket_bytes);

    // The number of microbatches that a rank runs through one chunk before it switches to the next.
    const plait_pipeline_shape shape = {
        .schedule = (plait_schedule)degrees->schedule,
        .ranks = degrees->pp,
        .chunks = degrees->vpp,
        .microbatches = plait_degrees_microbatches(degrees, problem->job.gbs),
    };
    const int group = shape.chunks > 1 && shape.microbatches > 0 ? plait_schedule_group(&shape) : 0;
    member_of_count(json, "microbatch_group", group);
    if (degrees->zero >= 2)
        json_member_bool(json, "reshard_after_forward",
                         degrees->zero == 3 && degrees->reshard != PLAIT_RESHARD_NEVER);
    else
        json_member_null(json, "reshard_after_forward");
    const plait_state_bytes state = plait_state_of(problem, degrees);

    const char *word = NULL;
    if (state.gradient == 4.0)
        word = "fp32";
    else if (state.gradient == 2.0)
        word = "bf16";
    json_member_string(json, "grad_dtype", word);
    write_optimizer_dtypes(json, state.optimizer);
    json_member_string(json, "fp8_recipe", fp8_recipe(problem->job.precision));
    json_member_string(json, "moe_dispatcher",
                       degrees->ep > 1 ? plait_dispatcher_name[degrees->dispatcher] : NULL);
    json_member_string(
        json, "offload",
        degrees->offload == PLAIT_OFFLOAD_NONE ? NULL : plait_offload_name[degrees->offload]);
    json_end_object(json);
}

/* ---- parts of a stage ---- */

void plans_write_recompute(json_writer *json, plait_recompute recompute)
{
    plait_degrees one = plait_degrees_init();
    char text[80];

    one.recompute = recompute;
    json_write_string(json, plait_degrees_get(&one, PLAIT_KEY_RECOMPUTE, text, sizeof text));
}

void plans_write_chunk(json_writer *json, const plait_chunk *chunk)
{
    json_member_row(json, "layers");
    json_write_int64(json, chunk->first);
    json_write_int64(json, chunk->last);
    json_end_array(json);
    json_member_bool(json, "embedding", chunk->embedding);
    json_member_bool(json, "loss", chunk->loss);
    json_member_int64(json, "mtp", chunk->mtp);
}
