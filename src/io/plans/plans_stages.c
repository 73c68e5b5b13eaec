/* plans_stages.c - reads the stages of a plan, and makes a plan from them */
#include <limits.h>
#include <string.h>

#include "plait/lowlevel/schedule.h"

#include "base/saturating.h"
#include "io/plans/plans_json.h"

const plait_key_id plans_own_keys[3] = {PLAIT_KEY_OFFLOAD_ACTS, PLAIT_KEY_OFFLOAD,
                                        PLAIT_KEY_OFFLOAD_SHARE};

/* ---- chunks and keys of a stage ---- */

/* A rank of the pipeline, and the schedule that determines its chunks. */
typedef struct rank_place {
    plait_schedule schedule;
    int ranks;
    int rank;
} rank_place;

static plait_status read_chunks(const json_cursor *stage, const rank_place *rank,
                                plait_arena *arena, plans_stage *out, plait_error *err)
{
    json_cursor chunks, at;

    PLAIT_TRY(json_array(stage, "chunks", &chunks, err));
    plait_chunk *const chunk = plait_arena_alloc(arena, json_count(&chunks) + 1, sizeof *chunk);
    PLAIT_TRY(plait_check_allocated(chunk, err));
    for (bool more = json_first(&chunks, &at); more; more = json_next(&at)) {
        static const char *const keys[] = {"stage", "layers", "embedding", "loss", "mtp", NULL};
        json_cursor layers, end;

        if (out->chunks == PLAIT_MAX_LAYERS)
            return json_fail(&at, PLAIT_ERROR_RANGE, err, "expected at most %d chunks, found more",
                             PLAIT_MAX_LAYERS);

        const int place =
            plait_schedule_chunk(rank->schedule, rank->ranks, rank->rank, out->chunks);
        int given = place;
        PLAIT_TRY(json_int_optional(&at, "stage", 0, INT_MAX, &given, err));
        if (given != place)
            return json_fail_key(&at, "stage", PLAIT_ERROR_RANGE, err,
                                 "expected stage %d for chunk %d of rank %d, found %d", place,
                                 out->chunks, rank->rank, given);

        plait_chunk *const one = &chunk[out->chunks];
        int *const ends[] = {&one->first, &one->last};
        *one = (plait_chunk){0};
        PLAIT_TRY(json_keys_among(&at, keys, err));
        PLAIT_TRY(json_array(&at, "layers", &layers, err));
        if (json_count(&layers) != 2)
            return json_fail(
                &layers, PLAIT_ERROR_SCHEMA, err,
                "expected two numbers, the first layer and the layer after the last, found %zu",
                json_count(&layers));
        for (bool some = json_first(&layers, &end); some; some = json_next(&end))
            PLAIT_TRY(json_as_int(&end, 0, PLAIT_MAX_LAYERS, ends[end.index], err));
        if (one->last < one->first)
            return json_fail(&layers, PLAIT_ERROR_RANGE, err,
                             "expected an end that is not below the first layer, found %d to %d",
                             one->first, one->last);
        PLAIT_TRY(json_bool_optional(&at, "embedding", &one->embedding, err));
        PLAIT_TRY(json_bool_optional(&at, "loss", &one->loss, err));
        PLAIT_TRY(json_int_optional(&at, "mtp", 0, PLAIT_MAX_LAYERS, &one->mtp, err));
        out->layers += one->last - one->first;
        out->chunks++;
    }
    out->chunk = chunk;
    return PLAIT_OK;
}

static plait_status read_mesh(const json_cursor *stage, plans_stage *out, plait_error *err)
{
    static const plait_key_id axes[] = {PLAIT_KEY_TP, PLAIT_KEY_CP, PLAIT_KEY_DP, PLAIT_KEY_EP,
                                        PLAIT_KEY_ETP};
    enum { AXES = sizeof axes / sizeof *axes };
    const char *names[AXES + 1] = {NULL};
    json_cursor mesh;

    PLAIT_TRY(json_object_optional(stage, "logical_mesh", &mesh, err));
    if (json_is_null(&mesh))
        return PLAIT_OK;
    for (int i = 0; i < AXES; i++)
        names[i] = plait_keys[axes[i]].name;
    PLAIT_TRY(json_keys_among(&mesh, names, err));
    for (int i = 0; i < AXES; i++) {
        const plait_key *const key = &plait_keys[axes[i]];
        int size = 0;

        PLAIT_TRY(json_int_optional(&mesh, key->name, key->low, key->high, &size, err));
        if (size == 0)
            continue;
        plait_key_put(&out->own, axes[i], size);
        out->owns |= PLAIT_KEY_BIT(axes[i]);
    }
    return PLAIT_OK;
}

/* ---- values per layer: "recompute": [["full", 2], "none"], "tp": [[4, 10], [2, 6]] ---- */

/* A function that reads one value and stores it for `count` layers from layer `first` on. */
typedef plait_status value_reader(const json_cursor *at, plait_arena *arena, plait_key_id key,
                                  int first, int count, void *layers, plait_error *err);

/*
 * Reads one value per layer. An entry of the list is a value for one layer, or [value, layers] for
 * several consecutive layers.
 */
static plait_status read_runs(const json_cursor *list, plait_arena *arena, plait_key_id key,
                              int layers, value_reader *read, void *out, plait_error *err)
{
    const bool words = key == PLAIT_KEY_RECOMPUTE;
    const char *const values = words ? "choices" : "numbers";
    json_cursor at, value, length;
    int count = 0;

    for (bool more = json_first(list, &at); more; more = json_next(&at)) {
        int run = 1;

        value = at;
        if (json_is_array(&at)) {
            if (json_count(&at) != 2)
                return json_fail(&at, PLAIT_ERROR_SCHEMA, err,
                                 "expected two elements, a %s and a number of layers, found %zu",
                                 words ? "choice" : "number", json_count(&at));
            (void)json_first(&at, &value);
            length = value;
            (void)json_next(&length);
            PLAIT_TRY(json_as_int(&length, 1, PLAIT_MAX_LAYERS, &run, err));
        }
        if (run > layers - count)
            return json_fail(&at, PLAIT_ERROR_RANGE, err, "expected %s for %d layers, found more",
                             values, layers);
        PLAIT_TRY(read(&value, arena, key, count, run, out, err));
        count += run;
    }
    return count == layers
               ? PLAIT_OK
               : json_fail(list, PLAIT_ERROR_SCHEMA, err, "expected %s for %d layers, found %d",
                           values, layers, count);
}

static plait_status read_choice(const json_cursor *at, plait_arena *arena, plait_key_id key,
                                int first, int count, void *layers, plait_error *err)
{
    plait_recompute *const choice = layers;
    plait_degrees one = plait_degrees_init();
    plait_error inner;
    const char *word;

    PLAIT_TRY(json_as_string(at, arena, &word, err));
    if (plait_degrees_set(&one, plait_keys[key].name, word, &inner) != PLAIT_OK)
        return json_fail(at, inner.status, err, "%s", inner.message);
    for (int i = 0; i < count; i++)
        choice[first + i] = one.recompute;
    return PLAIT_OK;
}

/* Reads one word for all layers of the stage, or a list of runs. */
static plait_status read_recompute(const json_cursor *stage, plait_arena *arena, plans_stage *out,
                                   plait_error *err)
{
    json_cursor list;

    PLAIT_TRY(json_value_optional(stage, "recompute", &list, err));
    if (json_is_null(&list))
        return PLAIT_OK;
    plait_recompute *const choice =
        plait_arena_alloc(arena, (size_t)out->layers + 1, sizeof *choice);
    PLAIT_TRY(plait_check_allocated(choice, err));
    out->recompute = choice;
    out->recomputes = json_is_string(&list) ? 1 : out->layers;
    if (json_is_string(&list))
        return read_choice(&list, arena, PLAIT_KEY_RECOMPUTE, 0, 1, choice, err);
    PLAIT_TRY(json_as_array(&list, err));
    return read_runs(&list, arena, PLAIT_KEY_RECOMPUTE, out->layers, read_choice, choice, err);
}

static plait_status read_cut(const json_cursor *at, plait_arena *arena, plait_key_id key, int first,
                             int count, void *layers, plait_error *err)
{
    plait_cut *const cut = layers;
    int value;

    (void)arena;
    PLAIT_TRY(json_as_int(at, plait_keys[key].low, plait_keys[key].high, &value, err));
    for (int i = first; i < first + count; i++)
        if (key == PLAIT_KEY_TP)
            cut[i].tp = (short)value;
        else
            cut[i].zero = (unsigned char)value;
    return PLAIT_OK;
}

/*
 * Reads "tp" and "zero" of the stage's layers, each as one number for all layers or as a list of
 * runs.
 */
static plait_status read_cuts(const json_cursor *stage, plait_arena *arena, plans_stage *out,
                              plait_error *err)
{
    static const plait_key_id keys[] = {PLAIT_KEY_TP, PLAIT_KEY_ZERO};
    plait_cut *const cut = plait_arena_alloc(arena, (size_t)out->layers + 1, sizeof *cut);
    json_cursor list;

    PLAIT_TRY(plait_check_allocated(cut, err));
    for (int i = 0; i < out->layers; i++)
        cut[i] = PLANS_NO_CUT;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        PLAIT_TRY(json_value_optional(stage, plait_keys[keys[k]].name, &list, err));
        if (json_is_null(&list))
            continue;
        out->cut = cut;
        PLAIT_TRY(json_is_array(&list)
                      ? read_runs(&list, arena, keys[k], out->layers, read_cut, cut, err)
                      : read_cut(&list, arena, keys[k], 0, out->layers, cut, err));
    }
    return PLAIT_OK;
}

/* ---- stages ---- */

/*
 * If the plan does not set recompute, derives it from the first stage that does. If the first chunk
 * of that stage begins with layers of `full` and ends with others, the value is full:N. Whether
 * stages may differ is checked by plait_plan_check() (rule P35).
 */
static void derive_recompute(plans_entry *out)
{
    const plans_stage *stage = out->stage;
    int s = 0, full = 0;

    while (s < out->stages && (stage[s].recomputes == 0 || stage[s].layers == 0))
        s++;
    if (s == out->stages)
        return;
    const int layers =
        stage[s].recomputes > 1 ? stage[s].chunk[0].last - stage[s].chunk[0].first : 0;

    while (full < layers && stage[s].recompute[full].kind == PLAIT_RECOMPUTE_FULL)
        full++;
    out->degrees.recompute = stage[s].recompute[0];
    if (full > 0 && full < layers)
        out->degrees.recompute.layers = (short)(full * out->degrees.vpp);
    out->given |= PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE);
}

/*
 * If a plan does not set the split, derives it from the layout of the stages, provided that their
 * number agrees with the degrees.
 */
static plait_status derive_layout(plans_entry *out, plait_arena *arena, plait_error *err)
{
    const plait_degrees *const d = &out->degrees;
    plait_chunk *chunks;
    plait_plan plan;

    if (out->stages != d->pp)
        return PLAIT_OK;
    for (int s = 0; s < out->stages; s++)
        if (out->stage[s].chunks != d->vpp)
            return PLAIT_OK;
    chunks = plait_arena_alloc(arena, (size_t)out->stages * (size_t)d->vpp, sizeof *chunks);
    PLAIT_TRY(plait_check_allocated(chunks, err));
    for (int c = 0; c < out->stages * d->vpp; c++) {
        const plait_schedule schedule = (plait_schedule)d->schedule;
        const int rank = plait_schedule_rank(schedule, d->pp, c);
        int v = 0;

        while (plait_schedule_chunk(schedule, d->pp, rank, v) != c)
            v++;
        chunks[c] = out->stage[rank].chunk[v];
    }
    out->degrees.split = (plait_split){.kind = PLAIT_SPLIT_LAYOUT};
    out->given |= PLAIT_KEY_BIT(PLAIT_KEY_SPLIT);
    PLAIT_TRY(plait_plan_lay(&out->degrees, chunks, arena, &plan, err));
    out->degrees.split = plan.degrees.split;
    return PLAIT_OK;
}

plait_status plans_read_stages(const json_cursor *plan, plait_arena *arena, plans_entry *out,
                               plait_error *err)
{
    static const char *const keys[] = {
        "chunks",    "mesh",         "logical_mesh", "recompute",     "tp",
        "zero",      "offload_acts", "offload",      "offload_share", "memory_bytes",
        "forward_s", "backward_s",   "group",        "degrees",       NULL};
    json_cursor stages, at;

    PLAIT_TRY(json_array_optional(plan, "stages", &stages, err));
    if (json_is_null(&stages))
        return PLAIT_OK;
    plans_stage *const stage = plait_arena_alloc(arena, json_count(&stages) + 1, sizeof *stage);
    PLAIT_TRY(plait_check_allocated(stage, err));
    int layers = 0;
    out->stages = 0;
    out->stage = stage;
    for (bool more = json_first(&stages, &at); more; more = json_next(&at)) {
        plans_stage *const one = &stage[out->stages];
        json_cursor own;

        if (out->stages == PLAIT_MAX_LAYERS)
            return json_fail(&at, PLAIT_ERROR_RANGE, err, "expected at most %d stages, found more",
                             PLAIT_MAX_LAYERS);
        memset(one, 0, sizeof *one);
        PLAIT_TRY(json_keys_among(&at, keys, err));
        PLAIT_TRY(read_chunks(&at,
                              &(rank_place){(plait_schedule)out->degrees.schedule,
                                            (int)json_count(&stages), out->stages},
                              arena, one, err));
        layers += one->layers;
        if (layers > PLAIT_MAX_LAYERS)
            return json_fail(&at, PLAIT_ERROR_RANGE, err,
                             "expected at most %d layers in all stages, found more",
                             PLAIT_MAX_LAYERS);
        PLAIT_TRY(json_int_optional(&at, "group", 0, PLAIT_MAX_NODE_GROUPS - 1, &one->group, err));
        PLAIT_TRY(read_mesh(&at, one, err));
        PLAIT_TRY(json_object_optional(&at, "degrees", &own, err));
        if (!json_is_null(&own)) {
            const char *names[PLAIT_KEYS + 1] = {NULL};
            for (int key = 0; key < PLAIT_KEYS; key++)
                names[key] = plait_keys[key].name;
            PLAIT_TRY(json_keys_among(&own, names, err));
            for (int key = 0; key < PLAIT_KEYS; key++)
                PLAIT_TRY(
                    plans_read_key(&own, (plait_key_id)key, arena, &one->own, &one->owns, err));
        }
        PLAIT_TRY(read_recompute(&at, arena, one, err));
        for (size_t i = 0; i < sizeof plans_own_keys / sizeof *plans_own_keys; i++) {
            const plait_key *const key = &plait_keys[plans_own_keys[i]];
            const char *word = NULL;
            plait_error inner;

            PLAIT_TRY(json_string_optional(&at, key->name, arena, &word, err));
            if (word == NULL)
                continue;
            if (plait_degrees_set(&one->own, key->name, word, &inner) != PLAIT_OK)
                return json_fail_key(&at, key->name, inner.status, err, "%s", inner.message);
            one->owns |= PLAIT_KEY_BIT(plans_own_keys[i]);
        }
        PLAIT_TRY(read_cuts(&at, arena, one, err));
        out->stages++;
    }
    if (!(out->given & PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE)))
        derive_recompute(out);
    return out->given & PLAIT_KEY_BIT(PLAIT_KEY_SPLIT) ? PLAIT_OK : derive_layout(out, arena, err);
}

/* ---- plans of stages ---- */

plait_status plans_plan(const plans_entry *entry, const plait_degrees *degrees, bool changed,
                        plait_arena *arena, plait_plan *out, plait_error *err)
{
    plait_stage *const stage = plait_arena_alloc(arena, (size_t)entry->stages + 1, sizeof *stage);

    PLAIT_TRY(plait_check_allocated(stage, err));
    for (int s = 0; s < entry->stages; s++) {
        const int recomputes = changed ? 0 : entry->stage[s].recomputes;
        plait_recompute *const recompute =
            plait_arena_alloc(arena, (size_t)entry->stage[s].layers + 1, sizeof *recompute);
        PLAIT_TRY(plait_check_allocated(recompute, err));
        for (int c = 0, at = 0; c < entry->stage[s].chunks; c++)
            for (int i = 0; i < entry->stage[s].chunk[c].last - entry->stage[s].chunk[c].first;
                 i++, at++)
                recompute[at] = recomputes > 1    ? entry->stage[s].recompute[at]
                                : recomputes == 1 ? entry->stage[s].recompute[0]
                                                  : plait_recompute_of(degrees, i);
        stage[s] = (plait_stage){.chunks = entry->stage[s].chunks,
                                 .chunk = entry->stage[s].chunk,
                                 .degrees = *degrees,
                                 .recompute = recompute,
                                 .layers = entry->stage[s].layers,
                                 .group = entry->stage[s].group};
        if (!changed && entry->stage[s].cut != NULL) {
            // Layers without their own tp or stage of ZeRO have the plan's.
            plait_cut *const cut =
                plait_arena_alloc(arena, (size_t)entry->stage[s].layers + 1, sizeof *cut);
            PLAIT_TRY(plait_check_allocated(cut, err));
            for (int i = 0; i < entry->stage[s].layers; i++) {
                const plait_cut given = entry->stage[s].cut[i];
                cut[i].tp = (short)(given.tp != PLANS_NO_CUT.tp ? given.tp : degrees->tp);
                cut[i].zero = given.zero != PLANS_NO_CUT.zero ? given.zero : degrees->zero;
            }
            stage[s].cut = cut;
        }
        for (int key = 0; !changed && key < PLAIT_KEYS; key++)
            if (entry->stage[s].owns & PLAIT_KEY_BIT(key))
                plait_key_put(&stage[s].degrees, (plait_key_id)key,
                              plait_key_value(&entry->stage[s].own, (plait_key_id)key));
        // The value of this key is only the kind, without the modules and the number of layers.
        if (!changed && entry->stage[s].owns & PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE))
            stage[s].degrees.recompute = entry->stage[s].own.recompute;
    }
    *out = (plait_plan){.degrees = *degrees, .stages = entry->stages, .stage = stage};
    memcpy(out->order, plait_order_axes((plait_order)degrees->order), sizeof out->order);
    return PLAIT_OK;
}

plait_status plans_assign_stages(plans_entry *entry, const int *counts, plait_arena *arena,
                                 plait_error *err)
{
    const int count = saturating_mul(entry->degrees.pp, entry->degrees.vpp);
    plait_chunk *const chunks = plait_arena_alloc(arena, (size_t)count, sizeof *chunks);
    plans_stage *stage;
    plait_plan plan;

    PLAIT_TRY(plait_check_allocated(chunks, err));
    plait_chunks_deal(entry->model, counts, count, chunks);
    entry->degrees.split = (plait_split){.kind = PLAIT_SPLIT_LAYOUT};
    entry->given |= PLAIT_KEY_BIT(PLAIT_KEY_SPLIT);
    PLAIT_TRY(plait_plan_lay(&entry->degrees, chunks, arena, &plan, err));
    entry->degrees.split = plan.degrees.split;
    stage = plait_arena_alloc(arena, (size_t)plan.stages + 1, sizeof *stage);
    PLAIT_TRY(plait_check_allocated(stage, err));
    for (int s = 0; s < plan.stages; s++)
        stage[s] = (plans_stage){.chunks = plan.stage[s].chunks,
                                 .chunk = plan.stage[s].chunk,
                                 .layers = plan.stage[s].layers};
    entry->stages = plan.stages;
    entry->stage = stage;
    return PLAIT_OK;
}
