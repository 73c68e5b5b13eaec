/* plans_stages.c - the stages of a plan, out of a file and into a plan */
#include <limits.h>
#include <string.h>

#include "plait/lowlevel/schedule.h"
#include "base/saturating.h"
#include "io/plans/plans_sharding.h"
#include "io/plans/plans_read.h"

const plait_key_id plans_own_keys[3] = {PLAIT_KEY_OFFLOAD_ACTS, PLAIT_KEY_OFFLOAD,
                                        PLAIT_KEY_OFFLOAD_SHARE};

// ---- out of a file -------------------------------------------------------------------------

/* The rank of a stage, of how many, and how chunks go round them. */
typedef struct rank_place {
    plait_schedule schedule;
    int of;
    int rank;
} rank_place;

static plait_status read_chunk(const json_cursor *at, plait_chunk *out, plait_error *err)
{
    static const char *const keys[] = {"stage", "layers", "embedding", "loss", "mtp", NULL};
    int *const ends[] = {&out->first, &out->last};
    json_cursor layers, end;
    size_t count = 0;

    *out = (plait_chunk){0};
    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_array(at, "layers", &layers, err));
    if (json_count(&layers) != 2)
        return json_fail(&layers, PLAIT_ERROR_SCHEMA, err,
                         "expected the first layer and the one behind the last, found %zu numbers",
                         json_count(&layers));
    for (bool more = json_first(&layers, &end); more; more = json_next(&end))
        PLAIT_TRY(json_as_int(&end, 0, PLAIT_MAX_LAYERS, ends[count++], err));
    if (out->last < out->first)
        return json_fail(&layers, PLAIT_ERROR_RANGE, err,
                         "expected a run of layers, found %d to %d", out->first, out->last);
    PLAIT_TRY(json_bool_optional(at, "embedding", &out->embedding, err));
    PLAIT_TRY(json_bool_optional(at, "loss", &out->loss, err));
    return json_int_optional(at, "mtp", 0, PLAIT_MAX_LAYERS, &out->mtp, err);
}

/* Where a chunk says its place in the pipeline, it is the one that its schedule gives it. */
static plait_status check_place(const json_cursor *at, const rank_place *rank, int turn,
                                plait_error *err)
{
    const int place = plait_schedule_chunk(rank->schedule, rank->of, rank->rank, turn);
    int said = place;

    PLAIT_TRY(json_int_optional(at, "stage", 0, INT_MAX, &said, err));
    if (said != place)
        return json_fail_key(at, "stage", PLAIT_ERROR_RANGE, err,
                             "expected %d, where chunk %d of rank %d stands, found %d", place, turn,
                             rank->rank, said);
    return PLAIT_OK;
}

static plait_status read_chunks(const json_cursor *stage, const rank_place *rank,
                                plait_arena *arena, plans_stage *out, plait_error *err)
{
    json_cursor chunks, at;

    PLAIT_TRY(json_array(stage, "chunks", &chunks, err));
    plait_chunk *const chunk = plait_arena_alloc(arena, json_count(&chunks) + 1, sizeof *chunk);
    if (chunk == NULL)
        return plait_fail_nomem(err);
    for (bool more = json_first(&chunks, &at); more; more = json_next(&at)) {
        if (out->chunks == PLAIT_MAX_LAYERS)
            return json_fail(&at, PLAIT_ERROR_RANGE, err, "expected at most %d chunks",
                             PLAIT_MAX_LAYERS);
        PLAIT_TRY(check_place(&at, rank, out->chunks, err));
        PLAIT_TRY(read_chunk(&at, &chunk[out->chunks], err));
        out->layers += chunk[out->chunks].last - chunk[out->chunks].first;
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

/* Other keys that a stage has of its own. */
static plait_status read_keys(const json_cursor *stage, plait_arena *arena, plans_stage *out,
                              plait_error *err)
{
    json_cursor own;

    PLAIT_TRY(json_object_optional(stage, "degrees", &own, err));
    if (json_is_null(&own))
        return PLAIT_OK;
    const char *names[PLAIT_KEYS + 1] = {NULL};
    for (int key = 0; key < PLAIT_KEYS; key++)
        names[key] = plait_keys[key].name;
    PLAIT_TRY(json_keys_among(&own, names, err));
    for (int key = 0; key < PLAIT_KEYS; key++)
        PLAIT_TRY(plans_read_key(&own, (plait_key_id)key, arena, &out->own, &out->owns, err));
    return PLAIT_OK;
}

static plait_status read_choice(const json_cursor *at, plait_arena *arena, plait_recompute *out,
                                plait_error *err)
{
    plait_degrees one = plait_degrees_init();
    plait_error inner;
    const char *word;

    PLAIT_TRY(json_as_string(at, arena, &word, err));
    if (plait_degrees_set(&one, plait_keys[PLAIT_KEY_RECOMPUTE].name, word, &inner) != PLAIT_OK)
        return json_fail(at, inner.status, err, "%s", inner.message);
    *out = one.recompute;
    return PLAIT_OK;
}

/* A layer's word, or [word, layers] of several in a row. */
static plait_status read_run(const json_cursor *at, plait_arena *arena, plait_recompute *choice,
                             int *layers, plait_error *err)
{
    json_cursor part;

    *layers = 1;
    if (!json_is_array(at))
        return read_choice(at, arena, choice, err);
    if (json_count(at) != 2)
        return json_fail(at, PLAIT_ERROR_SCHEMA, err, "expected a word and layers, found %zu parts",
                         json_count(at));
    (void)json_first(at, &part);
    PLAIT_TRY(read_choice(&part, arena, choice, err));
    (void)json_next(&part);
    return json_as_int(&part, 1, PLAIT_MAX_LAYERS, layers, err);
}

/* The choices of a stage's layers, run by run; `choice` has room for all of them. */
static plait_status read_runs(const json_cursor *list, plait_arena *arena, plait_recompute *choice,
                              plans_stage *out, plait_error *err)
{
    json_cursor at;
    int layers;

    for (bool more = json_first(list, &at); more; more = json_next(&at)) {
        plait_recompute one;

        PLAIT_TRY(read_run(&at, arena, &one, &layers, err));
        if (layers > out->layers - out->recomputes)
            return json_fail(&at, PLAIT_ERROR_RANGE, err,
                             "expected choices for %d layers, found more", out->layers);
        while (layers-- > 0)
            choice[out->recomputes++] = one;
    }
    if (out->recomputes != out->layers)
        return json_fail(list, PLAIT_ERROR_SCHEMA, err, "expected choices for %d layers, found %d",
                         out->layers, out->recomputes);
    return PLAIT_OK;
}

/* A word for all layers of the stage, or a list of runs. */
static plait_status read_recompute(const json_cursor *stage, plait_arena *arena, plans_stage *out,
                                   plait_error *err)
{
    json_cursor list;

    PLAIT_TRY(json_value_optional(stage, "recompute", &list, err));
    if (json_is_null(&list))
        return PLAIT_OK;
    plait_recompute *const choice =
        plait_arena_alloc(arena, (size_t)out->layers + 1, sizeof *choice);
    if (choice == NULL)
        return plait_fail_nomem(err);
    out->recompute = choice;
    if (json_is_string(&list)) {
        out->recomputes = 1;
        return read_choice(&list, arena, choice, err);
    }
    PLAIT_TRY(json_array(stage, "recompute", &list, err));
    return read_runs(&list, arena, choice, out, err);
}

/* What the stage offloads other than the plan. */
static plait_status read_offloads(const json_cursor *stage, plait_arena *arena, plans_stage *out,
                                  plait_error *err)
{
    for (size_t i = 0; i < sizeof plans_own_keys / sizeof *plans_own_keys; i++) {
        const plait_key *const key = &plait_keys[plans_own_keys[i]];
        const char *word = NULL;
        plait_error inner;

        PLAIT_TRY(json_string_optional(stage, key->name, arena, &word, err));
        if (word == NULL)
            continue;
        if (plait_degrees_set(&out->own, key->name, word, &inner) != PLAIT_OK)
            return json_fail_key(stage, key->name, inner.status, err, "%s", inner.message);
        out->owns |= PLAIT_KEY_BIT(plans_own_keys[i]);
    }
    return PLAIT_OK;
}

/*
 * Where the plan leaves open what is recomputed, and a stage says it, that is the plan's choice; a
 * list whose first chunk begins with `full` and ends without is full:N. Whether stages may say something
 * else is for plait_plan_check (rule P35).
 */
static void take_recompute(plans_entry *out)
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

/* Stages of which the plan says no split are its layout, if they are as many as its degrees say. */
static plait_status take_layout(plans_entry *out, plait_arena *arena, plait_error *err)
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
    if (chunks == NULL)
        return plait_fail_nomem(err);
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
    if (stage == NULL)
        return plait_fail_nomem(err);
    int layers = 0;
    out->stages = 0;
    out->stage = stage;
    for (bool more = json_first(&stages, &at); more; more = json_next(&at)) {
        plans_stage *const one = &stage[out->stages];

        if (out->stages == PLAIT_MAX_LAYERS)
            return json_fail(&at, PLAIT_ERROR_RANGE, err, "expected at most %d stages",
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
                             "expected stages of at most %d layers together", PLAIT_MAX_LAYERS);
        PLAIT_TRY(json_int_optional(&at, "group", 0, PLAIT_MAX_NODE_GROUPS - 1, &one->group, err));
        PLAIT_TRY(read_mesh(&at, one, err));
        PLAIT_TRY(read_keys(&at, arena, one, err));
        PLAIT_TRY(read_recompute(&at, arena, one, err));
        PLAIT_TRY(read_offloads(&at, arena, one, err));
        PLAIT_TRY(plans_read_cuts(&at, arena, one, err));
        out->stages++;
    }
    if (!(out->given & PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE)))
        take_recompute(out);
    return out->given & PLAIT_KEY_BIT(PLAIT_KEY_SPLIT) ? PLAIT_OK : take_layout(out, arena, err);
}

// ---- into a plan, and back -----------------------------------------------------------------

/* The cuts of a stage's layers; what is not given is the plan's. */
static plait_status give_cuts(const plans_stage *from, const plait_degrees *degrees,
                              plait_arena *arena, plait_stage *out, plait_error *err)
{
    plait_cut *const cut = plait_arena_alloc(arena, (size_t)from->layers + 1, sizeof *cut);

    if (cut == NULL)
        return plait_fail_nomem(err);
    for (int i = 0; i < from->layers; i++) {
        const plait_cut given = from->cut[i];
        cut[i].tp = (short)(given.tp != PLANS_NO_CUT.tp ? given.tp : degrees->tp);
        cut[i].zero = given.zero != PLANS_NO_CUT.zero ? given.zero : degrees->zero;
    }
    out->cut = cut;
    return PLAIT_OK;
}

static plait_status stage_of(const plans_stage *from, const plait_degrees *degrees, bool changed,
                             plait_arena *arena, plait_stage *out, plait_error *err)
{
    const int recomputes = changed ? 0 : from->recomputes;
    plait_recompute *const recompute =
        plait_arena_alloc(arena, (size_t)from->layers + 1, sizeof *recompute);

    if (recompute == NULL)
        return plait_fail_nomem(err);
    for (int c = 0, at = 0; c < from->chunks; c++)
        for (int i = 0; i < from->chunk[c].last - from->chunk[c].first; i++, at++)
            recompute[at] = recomputes > 1    ? from->recompute[at]
                            : recomputes == 1 ? from->recompute[0]
                                              : plait_recompute_of(degrees, i);
    *out = (plait_stage){.chunks = from->chunks,
                         .chunk = from->chunk,
                         .degrees = *degrees,
                         .recompute = recompute,
                         .layers = from->layers,
                         .group = from->group};
    if (!changed && from->cut != NULL)
        PLAIT_TRY(give_cuts(from, degrees, arena, out, err));
    for (int key = 0; !changed && key < PLAIT_KEYS; key++)
        if (from->owns & PLAIT_KEY_BIT(key))
            plait_key_put(&out->degrees, (plait_key_id)key,
                          plait_key_value(&from->own, (plait_key_id)key));
    return PLAIT_OK;
}

plait_status plans_plan(const plans_entry *entry, const plait_degrees *degrees, bool changed,
                        plait_arena *arena, plait_plan *out, plait_error *err)
{
    plait_stage *const stage = plait_arena_alloc(arena, (size_t)entry->stages + 1, sizeof *stage);

    if (stage == NULL)
        return plait_fail_nomem(err);
    for (int s = 0; s < entry->stages; s++)
        PLAIT_TRY(stage_of(&entry->stage[s], degrees, changed, arena, &stage[s], err));
    *out = (plait_plan){.degrees = *degrees, .stages = entry->stages, .stage = stage};
    memcpy(out->order, plait_order_axes((plait_order)degrees->order), sizeof out->order);
    return PLAIT_OK;
}

static plait_status list_stages(const plait_plan *plan, plait_arena *arena, plans_entry *entry,
                                plait_error *err)
{
    plans_stage *const stage = plait_arena_alloc(arena, (size_t)plan->stages + 1, sizeof *stage);

    if (stage == NULL)
        return plait_fail_nomem(err);
    for (int s = 0; s < plan->stages; s++)
        stage[s] = (plans_stage){.chunks = plan->stage[s].chunks,
                                 .chunk = plan->stage[s].chunk,
                                 .layers = plan->stage[s].layers};
    entry->stages = plan->stages;
    entry->stage = stage;
    return PLAIT_OK;
}

plait_status plans_deal_stages(plans_entry *entry, const int *counts, plait_arena *arena,
                               plait_error *err)
{
    const int count = product(entry->degrees.pp, entry->degrees.vpp);
    plait_chunk *const chunks = plait_arena_alloc(arena, (size_t)count, sizeof *chunks);
    plait_plan plan;

    if (chunks == NULL)
        return plait_fail_nomem(err);
    plait_chunks_deal(entry->model, counts, count, chunks);
    entry->degrees.split = (plait_split){.kind = PLAIT_SPLIT_LAYOUT};
    entry->given |= PLAIT_KEY_BIT(PLAIT_KEY_SPLIT);
    PLAIT_TRY(plait_plan_lay(&entry->degrees, chunks, arena, &plan, err));
    entry->degrees.split = plan.degrees.split;
    return list_stages(&plan, arena, entry, err);
}
