/*
 * layer_sharding.c - stages whose layers are cut unlike each other: each cut by its own degrees, and their sum
 *
 *     cut     row of layers, gathers, routes of the degrees that it has                       (C.280)
 *     stage   the sums of its cuts, and what lies between them                      (C.281 to C.283)
 */
#include "costmodel/stage/layer_sharding.h"

#include "costmodel/plan/cost_parts.h"
#include "plan/layer_sharding.h"
#include "plait/stage.h"

// ---- the cuts of a plan --------------------------------------------------------------------

static int cut_index(const plan_cuts *cuts, plait_cut cut)
{
    int c = 0;

    while (c < cuts->sorts && !cut_same(cuts->cut[c], cut))
        c++;
    return c;
}

static bool add_cut(plan_cuts *cuts, plait_cut cut, plait_arena *arena)
{
    const plait_degrees d = plait_degrees_cut(&cuts->plan->degrees, cut);

    if (cut_index(cuts, cut) < cuts->sorts)
        return true;
    cuts->cut[cuts->sorts] = cut;
    cuts->sort[cuts->sorts] = plait_stage_sort_new(cuts->problem, 0, &d, arena);
    return cuts->sort[cuts->sorts++] != NULL;
}

bool plan_cuts_of(const plait_problem *problem, const plait_plan *plan, plait_arena *arena,
                  plan_cuts *out)
{
    const size_t layers = (size_t)problem->model->layers + 1;

    *out = (plan_cuts){
        .problem = problem,
        .plan = plan,
        .cut = plait_arena_alloc(arena, layers, sizeof *out->cut),
        .sort = plait_arena_alloc(arena, layers, sizeof(plait_stage_sort *)),
        .chunk = plait_arena_alloc(arena, 2 * layers, sizeof *out->chunk),
        .recompute = plait_arena_alloc(arena, layers, sizeof *out->recompute),
    };
    if (!out->cut || !out->sort || !out->chunk || !out->recompute ||
        !add_cut(out, cut_of_degrees(&plan->degrees), arena))
        return false;
    for (int s = 0; s < plan->stages; s++)
        for (int i = 0; i < plan->stage[s].layers; i++)
            if (!add_cut(out, plait_cut_of(&plan->stage[s], i), arena))
                return false;
    return true;
}

// ---- one stage -----------------------------------------------------------------------------

/*
 * The layers of stage s that have cut c, each a chunk of its own; the ends have the plan's. It lives until the
 * next is asked for.
 */
static plait_stage layers_of_cut(const plan_cuts *cuts, int s, int c)
{
    const plait_stage *const stage = &cuts->plan->stage[s];
    plait_stage view = {
        .chunk = cuts->chunk, .degrees = cuts->sort[c]->degrees, .recompute = cuts->recompute};

    for (int v = 0, at = 0; v < stage->chunks; v++) {
        cuts->chunk[view.chunks] = stage->chunk[v];
        cuts->chunk[view.chunks].last = stage->chunk[v].first;
        view.chunks += c == 0;
        for (int l = stage->chunk[v].first; l < stage->chunk[v].last; l++, at++)
            if (cut_same(plait_cut_of(stage, at), cuts->cut[c])) {
                cuts->chunk[view.chunks++] = (plait_chunk){.first = l, .last = l + 1};
                cuts->recompute[view.layers++] = stage->recompute[at];
            }
    }
    return view;
}

/* The tp of the layer before stage s; of the first, the embedding's. */
static int tp_before(const plan_cuts *cuts, int s)
{
    for (int t = s - 1; t >= 0; t--)
        if (cuts->plan->stage[t].layers > 0)
            return plait_cut_of(&cuts->plan->stage[t], cuts->plan->stage[t].layers - 1).tp;
    return cuts->plan->degrees.tp;
}

/* In front of each layer of another tp, and of the head. */
static plait_relocation relocations_of(const plan_cuts *cuts, int s)
{
    const plait_plan *const plan = cuts->plan;
    const plait_stage *const stage = &plan->stage[s];
    const int ends = s == plan->stages - 1;
    int from = tp_before(cuts, s);
    plait_relocation sum = {0};

    for (int i = 0; i < stage->layers + ends; i++) {
        const int to = i < stage->layers ? plait_cut_of(stage, i).tp : plan->degrees.tp;
        plait_relocation_add(&sum, plait_relocation_of(cuts->problem, &plan->degrees, from, to));
        from = to;
    }
    return sum;
}

static void add_load(stage_load *sum, const stage_load *more)
{
    sum->embedding = sum->embedding || more->embedding;
    sum->loss = sum->loss || more->loss;
    sum->forward_s += more->forward_s;
    sum->backward_s += more->backward_s;
    sum->weight_s += more->weight_s;
    sum->busy_s += more->busy_s;
    sum->moving_s += more->moving_s;
    sum->saved_bytes += more->saved_bytes;
    sum->held_bytes += more->held_bytes;
    sum->live_bytes = larger(sum->live_bytes, more->live_bytes);
    sum->dense += more->dense;
    sum->expert += more->expert;
}

static void add_sync(stage_sync *sum, const stage_sync *more)
{
    sum->reduce_s += more->reduce_s;
    sum->across_s += more->across_s;
    sum->gather_s += more->gather_s;
    sum->optimizer_s += more->optimizer_s;
    sum->downs = more->downs;
}

/* Buffers are those that the share has beyond what stage_memory adds of the plan's own row. */
static void add_state(stage_state *sum, const plait_stage_sort *sort, const sorted_stage *more,
                      bool own)
{
    sum->weights_bytes += more->state.weights_bytes;
    sum->gradients_bytes += more->state.gradients_bytes;
    sum->optimizer_bytes += more->state.optimizer_bytes;
    sum->buffers_bytes += more->state.buffers_bytes - cut_transient_bytes(sort) +
                          (own ? 0.0 : cut_beside_bytes(sort, more, false));
}

void cuts_sum_stage(const plan_cuts *cuts, int s, stage_load *load, stage_state *state,
                    stage_sync *sync)
{
    const plait_relocation relocation = relocations_of(cuts, s);
    double spare = 0.0;

    *state = (stage_state){0};
    *sync = (stage_sync){0};
    load->forward_s = relocation.forward_s;
    load->backward_s = relocation.backward_s;
    for (int c = 0; c < cuts->sorts; c++) {
        const plait_stage layers = layers_of_cut(cuts, s, c);
        if (c > 0 && layers.layers == 0)
            continue;
        const sorted_stage sum = stage_sort_sum(cuts->sort[c], &layers, 0, load->in_flight);
        add_load(load, &sum.load);
        add_sync(sync, &sum.sync);
        add_state(state, cuts->sort[c], &sum, c == 0);
        spare = larger(spare, cut_spare_bytes(cuts->sort[c], &sum));
    }
    load->first = load->last = chunk_time_of(load);
    state->buffers_bytes += spare - cuts->sort[0]->row.exchange_bytes + relocation.bytes;
}

void cuts_terms(const plan_cuts *cuts, int s, double terms[LAYER_TERMS])
{
    const plait_relocation relocation = relocations_of(cuts, s);
    double of_cut[LAYER_TERMS];

    for (int t = 0; t < LAYER_TERMS; t++)
        terms[t] = 0.0;
    for (int c = 0; c < cuts->sorts; c++) {
        const plait_stage layers = layers_of_cut(cuts, s, c);
        const sorted_stage sum = stage_sort_sum(cuts->sort[c], &layers, 0, 0.0);
        stage_terms(&cuts->sort[c]->problem, &cuts->sort[c]->row, &cuts->sort[c]->gather,
                    &sum.parts, of_cut);
        for (int t = 0; t < LAYER_TERMS; t++)
            terms[t] += of_cut[t];
    }
    terms[LAYER_tp_comm] += relocation.forward_s + relocation.backward_s;
}
