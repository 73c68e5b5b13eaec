/*
 * layer_sharding.c - the cost of a stage whose layers are sharded differently
 *
 *     relocation  redistribution of the hidden state from one sharding to the next        (C.281)
 *     sharding    cost of the layers of one sharding; costs add up              (C.282 to C.284)
 *     stage       the sum over its shardings, with the relocations between them
 */
#include "costmodel/stage/layer_sharding.h"

#include "costmodel/api.h"
#include "plan/layer_sharding.h"
#include "plan/model_queries.h"

// ---- between two layers --------------------------------------------------------------------

/* Bytes of the whole hidden state of these sequences, at 16 bits per entry. */
static double hidden_bytes(const plait_problem *problem, double sequences)
{
    return 2.0 * sequences * plait_job_unit_tokens(&problem->job) *
           model_sent_width(problem->model);
}

/* Number of sequences of a microbatch on one rank, for layers with this tp. */
static double sequences_of(const plait_degrees *d, int tp)
{
    return (double)d->mbs * tp / d->tp;
}

static double all_gather_s(const plait_problem *problem, const plait_degrees *d, int ranks,
                           int stride, double bytes)
{
    const plait_group_shape shape = {
        .ranks = ranks, .runs = 1, .run = {{ranks, stride}}, .placement = d->placement};
    const plait_route route = plait_route_of(problem->cluster, shape);

    return plait_collective_s(&route, network_of(problem), PLAIT_ALL_GATHER, bytes);
}

/*
 * Time to change the sharding of the hidden state from tp `from` to tp `to`. The old ranks gather
 * the hidden state. If the new sharding has more sequences per rank, neighbouring groups also
 * gather each other's sequences. Finally each rank copies its part once.
 */
static double one_way_s(const plait_problem *problem, const plait_degrees *d, int from, int to)
{
    const double old_bytes = hidden_bytes(problem, sequences_of(d, from));
    const double new_bytes = hidden_bytes(problem, sequences_of(d, to));
    const double whole_s = all_gather_s(problem, d, from * d->cp, 1, old_bytes);
    const double joined_s =
        to > from ? all_gather_s(problem, d, to / from, from * d->cp, new_bytes) : 0.0;

    return whole_s + joined_s +
           problem->runtime->factor.memory *
               plait_memory_op_s(plait_cluster_accelerator(problem->cluster, 0),
                                 2.0 * larger(old_bytes, new_bytes));
}

plait_layout_change plait_relocation_of(const plait_problem *problem, const plait_degrees *d,
                                        int from, int to)
{
    if (from == to)
        return (plait_layout_change){0};
    return (plait_layout_change){
        .forward_s = one_way_s(problem, d, from, to),
        .backward_s = one_way_s(problem, d, to, from),
        .bytes = hidden_bytes(problem, sequences_of(d, from) + sequences_of(d, to)),
    };
}

void plait_relocation_add(plait_layout_change *sum, plait_layout_change more)
{
    sum->forward_s += more.forward_s;
    sum->backward_s += more.backward_s;
    sum->bytes = larger(sum->bytes, more.bytes);
}

// ---- one sharding --------------------------------------------------------------------------

/*
 * Moves buffers that a stage needs only once from the cost to spare_bytes: those shaped like the
 * widest layer, and those of exchanges. A sharding other than the plan's own adds NCCL buffers for
 * its groups.
 */
plait_sharding_cost plait_sharding_cost_of(plait_stage_pricer *pricer, const plait_stage *stage,
                                           double in_flight, bool own)
{
    const plait_problem *const problem = &pricer->problem;
    const plait_degrees *const d = &pricer->degrees;
    const stage_load nothing = {.count = 1};
    const double transient_bytes = stage_state_of(problem, d, &pricer->row, &pricer->routes.state,
                                                  pricer->routes.ways, &nothing)
                                       .buffers_bytes;
    plait_sharding_cost out = {.cost =
                                   stage_pricer_sum(pricer, stage, pricer->group, in_flight, NULL)};
    stage_cost *const cost = &out.cost;

    cost->state.buffers_bytes -= transient_bytes;
    cost->buffers_bytes = own ? cost->buffers_bytes - pricer->row.exchange_bytes
                              : communicator_bytes(problem, plait_group_replicas(d)) +
                                    communicator_bytes(problem, plait_group_of(d, PLAIT_AXIS_TP));
    if (cost->load.dense + cost->load.expert > 0.0)
        out.spare_bytes = transient_bytes + pricer->row.exchange_bytes;
    return out;
}

void plait_sharding_cost_add(plait_sharding_cost *all, const plait_sharding_cost *one)
{
    stage_cost *const sum = &all->cost;
    const stage_cost *const more = &one->cost;

    sum->load.embedding = sum->load.embedding || more->load.embedding;
    sum->load.loss = sum->load.loss || more->load.loss;
    sum->load.forward_s += more->load.forward_s;
    sum->load.backward_s += more->load.backward_s;
    sum->load.weight_s += more->load.weight_s;
    sum->load.busy_s += more->load.busy_s;
    sum->load.moving_s += more->load.moving_s;
    varied_time_add(&sum->load.varied, 1.0, &more->load.varied);
    sum->load.saved_bytes += more->load.saved_bytes;
    sum->load.held_bytes += more->load.held_bytes;
    sum->load.live_bytes = larger(sum->load.live_bytes, more->load.live_bytes);
    sum->load.dense += more->load.dense;
    sum->load.expert += more->load.expert;
    sum->load.frozen_dense += more->load.frozen_dense;
    sum->load.frozen_expert += more->load.frozen_expert;
    sum->state.weights_bytes += more->state.weights_bytes;
    sum->state.gradients_bytes += more->state.gradients_bytes;
    sum->state.optimizer_bytes += more->state.optimizer_bytes;
    sum->state.buffers_bytes += more->state.buffers_bytes;
    sum->buffers_bytes += more->buffers_bytes;
    sum->sync.reduce_s += more->sync.reduce_s;
    sum->sync.gather_s += more->sync.gather_s;
    sum->sync.optimizer_s += more->sync.optimizer_s;
    sum->sync.downs = more->sync.downs;
    all->spare_bytes = larger(all->spare_bytes, one->spare_bytes);
}

double plait_sharding_cost_peak(const plait_stage_pricer *own, const plait_sharding_cost *sum,
                                double in_flight)
{
    const stage_state *const state = &sum->cost.state;
    const stage_load *const load = &sum->cost.load;

    return own->problem.runtime->keep.fragmentation *
               (state->weights_bytes + state->gradients_bytes + state->optimizer_bytes +
                state->buffers_bytes + sum->cost.buffers_bytes + sum->spare_bytes +
                in_flight * load->saved_bytes + load->live_bytes) +
           runtime_fixed_bytes(&own->problem, &own->degrees);
}

// ---- the shardings of a plan ---------------------------------------------------------------

static int sharding_index(const plan_shardings *all, plait_cut sharding)
{
    int c = 0;

    while (c < all->count && !cut_same(all->sharding[c], sharding))
        c++;
    return c;
}

static bool add_sharding(plan_shardings *all, plait_cut sharding, plait_arena *arena)
{
    const plait_degrees d = plait_degrees_cut(&all->plan->degrees, sharding);

    if (sharding_index(all, sharding) < all->count)
        return true;
    all->sharding[all->count] = sharding;
    all->pricer[all->count] = plait_stage_pricer_new(all->problem, 0, &d, NULL, arena);
    return all->pricer[all->count++] != NULL;
}

bool plan_shardings_of(const plait_problem *problem, const plait_plan *plan, plait_arena *arena,
                       plan_shardings *out)
{
    const size_t layers = (size_t)problem->model->layers + 1;

    *out = (plan_shardings){
        .problem = problem,
        .plan = plan,
        .sharding = plait_arena_alloc(arena, layers, sizeof *out->sharding),
        .pricer = plait_arena_alloc(arena, layers, sizeof(plait_stage_pricer *)),
        .chunk = plait_arena_alloc(arena, 2 * layers, sizeof *out->chunk),
        .recompute = plait_arena_alloc(arena, layers, sizeof *out->recompute),
    };
    if (!out->sharding || !out->pricer || !out->chunk || !out->recompute ||
        !add_sharding(out, cut_of_degrees(&plan->degrees), arena))
        return false;
    for (int s = 0; s < plan->stages; s++)
        for (int i = 0; i < plan->stage[s].layers; i++)
            if (!add_sharding(out, plait_cut_of(&plan->stage[s], i), arena))
                return false;
    return true;
}

// ---- one stage -----------------------------------------------------------------------------

/*
 * Returns a view of the layers of stage s that have sharding c, each as its own chunk. The ends of
 * the model belong to sharding 0, the plan's own. The view is valid until the next call.
 */
static plait_stage layers_with(const plan_shardings *all, int s, int c)
{
    const plait_stage *const stage = &all->plan->stage[s];
    plait_stage view = {
        .chunk = all->chunk, .degrees = all->pricer[c]->degrees, .recompute = all->recompute};

    for (int v = 0, at = 0; v < stage->chunks; v++) {
        all->chunk[view.chunks] = stage->chunk[v];
        all->chunk[view.chunks].last = stage->chunk[v].first;
        view.chunks += c == 0;
        for (int l = stage->chunk[v].first; l < stage->chunk[v].last; l++, at++)
            if (cut_same(plait_cut_of(stage, at), all->sharding[c])) {
                all->chunk[view.chunks++] = (plait_chunk){.first = l, .last = l + 1};
                all->recompute[view.layers++] = stage->recompute[at];
            }
    }
    return view;
}

/*
 * Returns the tp of the last layer before stage s. If no layer precedes the stage, this is the tp
 * of the embedding.
 */
static int tp_before(const plait_plan *plan, int s)
{
    for (int t = s - 1; t >= 0; t--)
        if (plan->stage[t].layers > 0)
            return plait_cut_of(&plan->stage[t], plan->stage[t].layers - 1).tp;
    return plan->degrees.tp;
}

/*
 * Sums the relocations of a stage: one at each layer whose tp differs from that of the layer
 * before, and one before the head.
 */
static plait_layout_change relocations_of(const plan_shardings *all, int s)
{
    const plait_plan *const plan = all->plan;
    const plait_stage *const stage = &plan->stage[s];
    const int ends = s == plan->stages - 1;
    int from = tp_before(plan, s);
    plait_layout_change sum = {0};

    for (int i = 0; i < stage->layers + ends; i++) {
        const int to = i < stage->layers ? plait_cut_of(stage, i).tp : plan->degrees.tp;
        plait_relocation_add(&sum, plait_relocation_of(all->problem, &plan->degrees, from, to));
        from = to;
    }
    return sum;
}

stage_cost sharded_stage_cost(const plan_shardings *all, int s, double in_flight)
{
    const plait_layout_change relocation = relocations_of(all, s);
    plait_sharding_cost sum = {.cost.load = {.index = s,
                                             .count = 1,
                                             .in_flight = in_flight,
                                             .forward_s = relocation.forward_s,
                                             .backward_s = relocation.backward_s}};
    stage_cost *const cost = &sum.cost;

    for (int c = 0; c < all->count; c++) {
        const plait_stage layers = layers_with(all, s, c);
        if (c > 0 && layers.layers == 0)
            continue;
        const plait_sharding_cost one =
            plait_sharding_cost_of(all->pricer[c], &layers, in_flight, c == 0);
        plait_sharding_cost_add(&sum, &one);
    }
    cost->load.first = cost->load.last = chunk_time_of(&cost->load);
    cost->buffers_bytes += sum.spare_bytes + relocation.bytes;
    return *cost;
}

void sharded_stage_terms(const plan_shardings *all, int s, double terms[LAYER_TERMS])
{
    const plait_layout_change relocation = relocations_of(all, s);
    double of_share[LAYER_TERMS];

    for (int t = 0; t < LAYER_TERMS; t++)
        terms[t] = 0.0;
    for (int c = 0; c < all->count; c++) {
        const plait_stage layers = layers_with(all, s, c);
        const stage_rows rows = stage_rows_of(all->pricer[c]);
        const stage_parts parts =
            stage_parts_of(all->problem->model, &layers, all->pricer[c]->part);
        stage_terms(&rows, &parts, of_share);
        for (int t = 0; t < LAYER_TERMS; t++)
            terms[t] += of_share[t];
    }
    terms[LAYER_tp_comm] += relocation.forward_s + relocation.backward_s;
}
