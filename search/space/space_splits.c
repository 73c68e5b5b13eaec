/*
 * space_splits.c - the splits of the layers over the stages of each pp
 *
 * Splits are listed once for each pp with their numbers of recompute choices, so that the points of
 * a pipeline are counted without visiting them.
 */
#include "search/space/space_private.h"

#include "plait/lowlevel/schedule.h"
#include "rules/plan_check.h"
#include "plan/split.h"
#include "base/text.h"

/* Returns the number of layers of the fullest rank. full:N is a choice only for smaller N. */
static int fullest_stage(const plait_model *model, const plait_degrees *d)
{
    int counts[PLAIT_MAX_LAYERS];
    int layers[PLAIT_MAX_LAYERS] = {0};
    int fullest = 0;

    if (!plait_split_layers(model, d, counts))
        return 0;
    for (int c = 0; c < d->pp * d->vpp; c++) {
        const int rank = plait_schedule_rank((plait_schedule)d->schedule, d->pp, c);
        layers[rank] += counts[c];
        fullest = layers[rank] > fullest ? layers[rank] : fullest;
    }
    return fullest;
}

size_t space_most_choices(const plan_space *space)
{
    return (size_t)space->recompute.count + PLAIT_MAX_LAYERS;
}

/* Finds the split of a kind that a limit gives, with its counts or its layout. */
static bool given_split(const plait_search_options *options, plait_split_kind kind,
                        plait_split *out)
{
    plait_degrees probe = plait_degrees_init();

    for (int i = 0; i < options->limits; i++)
        if (options->limit[i].key == PLAIT_KEY_SPLIT &&
            plait_degrees_set(&probe, "split", options->limit[i].value, NULL) == PLAIT_OK &&
            probe.split.kind == kind) {
            *out = probe.split;
            return true;
        }
    return false;
}

/* Returns whether `even` is listed, which then represents the splits that equal it. */
static bool has_even(const plan_space *space, const plait_degrees *d)
{
    return (space->problem->runtime->can.takes[PLAIT_KEY_SPLIT] >> PLAIT_SPLIT_EVEN & 1u) &&
           limits_allow_text(space->options, PLAIT_KEY_SPLIT, "even") &&
           space->problem->model->layers % (d->pp * d->vpp) == 0;
}

/*
 * Returns whether a split is listed. A split that equals `even` is not. The counts of first-last
 * and the text of a layout come from a limit; without a limit, first-last gets balanced counts, and
 * no layout is listed.
 */
static bool split_wanted(const plan_space *space, plait_degrees *d)
{
    const plait_model *model = space->problem->model;
    const plait_split_kind kind = (plait_split_kind)d->split.kind;
    const int middle = model->layers / d->pp;
    char text[PLAIT_VALUE_SIZE];

    if (kind == PLAIT_SPLIT_FIRST_LAST || kind == PLAIT_SPLIT_LAYOUT) {
        if (!given_split(space->options, kind, &d->split) &&
            (kind == PLAIT_SPLIT_LAYOUT || !split_first_last(model, d->pp, d->vpp, &d->split) ||
             (has_even(space, d) && d->split.first == middle && d->split.last == middle)))
            return false;
    } else if (d->split.kind != PLAIT_SPLIT_EVEN && has_even(space, d) &&
               (d->pp * d->vpp == 1 || d->split.kind == PLAIT_SPLIT_SPREAD)) {
        return false;
    }
    return limits_allow_text(space->options, PLAIT_KEY_SPLIT,
                             plait_degrees_get(d, PLAIT_KEY_SPLIT, text, sizeof text)) &&
           plan_stages_legal(space->problem, d, &no_reason);
}

/* Lists the splits of one (pp, vpp) that runtime, limits and layers allow. Returns their number. */
static int list_splits_of(const plan_space *space, plait_degrees d, space_split *out)
{
    const unsigned can = space->problem->runtime->can.takes[PLAIT_KEY_SPLIT];
    const space_recompute *const r = &space->recompute;
    int count = 0;

    for (int kind = 0; kind < PLAIT_SPLITS; kind++) {
        d.split = (plait_split){.kind = (unsigned char)kind};
        if (!(can >> kind & 1u) || !split_wanted(space, &d))
            continue;
        // full:N recomputes the same number of layers in each chunk, so N is a multiple of vpp.
        const int most = fullest_stage(space->problem->model, &d) - 1;
        const int high = (r->high < most ? r->high : most) / d.vpp;
        const int low = (r->low + d.vpp - 1) / d.vpp;
        const int full = r->full_layers && high >= low ? high - low + 1 : 0;
        out[count++] = (space_split){.split = d.split, .vpp = d.vpp, .choices = r->count + full};
    }
    return count;
}

const space_split_range *space_splits_for(const space_splits *splits, plait_schedule schedule)
{
    const int chunks = plait_schedule_chunks(schedule);

    return &splits->of[chunks == PLAIT_SEVERAL_CHUNKS ? 2 : chunks - 1];
}

static int most_chunks(const plan_space *space)
{
    plait_split layout;

    return split_most_chunks(space->problem->model->layers,
                             given_split(space->options, PLAIT_SPLIT_LAYOUT, &layout)
                                 ? PLAIT_SPLIT_LAYOUT
                                 : PLAIT_SPLIT_BOTH);
}

/*
 * Lists the splits of one pp by schedule, since the schedule determines which layers share a rank
 * and therefore which splits are legal.
 */
static plait_status list_splits(const plan_space *space, int pp, plait_arena *arena,
                                space_splits *out, plait_error *err)
{
    static const plait_schedule of_chunks[] = {PLAIT_1F1B, PLAIT_ZB_V, PLAIT_INTERLEAVED};
    const int layers = most_chunks(space);
    const int limit = space->problem->runtime->can.most[PLAIT_KEY_VPP];
    const int max_vpp = pp == 1 ? 1 : layers / pp < limit ? layers / pp : limit;
    const int high[] = {1, max_vpp < 2 ? max_vpp : 2, max_vpp};
    plait_degrees d = plait_degrees_init();
    space_split *list =
        plait_arena_alloc(arena, (size_t)(max_vpp + 1) * PLAIT_SPLITS, sizeof *list);

    PLAIT_TRY(plait_check_allocated(list, err));
    *out = (space_splits){.split = list};
    d.pp = pp;
    for (int k = 0; k < 3; k++) {
        space_split_range range = {.first = out->count};

        d.schedule = (unsigned char)of_chunks[k];
        for (d.vpp = k == 0 ? 1 : 2; d.vpp <= high[k]; d.vpp++)
            if (limits_allow(space->options, PLAIT_KEY_VPP, d.vpp))
                out->count += list_splits_of(space, d, list + out->count);
        range.end = out->count;
        for (int i = range.first; i < range.end; i++)
            range.choices += list[i].choices;
        out->of[space_splits_for(out, of_chunks[k]) - out->of] = range;
    }
    return PLAIT_OK;
}

plait_status space_list_splits(plan_space *space, plait_arena *arena, plait_error *err)
{
    const plait_problem *problem = space->problem;
    space_splits *splits = plait_arena_alloc(arena, (size_t)space->divisors.count, sizeof *splits);

    PLAIT_TRY(plait_check_allocated(splits, err));
    for (int i = 0; i < space->divisors.count; i++) {
        const int pp = space->divisors.value[i];
        if (pp <= most_chunks(space) && pp <= problem->runtime->can.most[PLAIT_KEY_PP] &&
            limits_allow(space->options, PLAIT_KEY_PP, pp))
            PLAIT_TRY(list_splits(space, pp, arena, &splits[i], err));
    }
    space->splits = splits;
    return PLAIT_OK;
}
