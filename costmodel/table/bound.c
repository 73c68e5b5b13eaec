/*
 * bound.c - what no completion of a point with a schedule and a split can undercut (C.90, C.93, C.94)
 *
 * A bound is a price with everything left out that only adds, so that it needs no proof of its own:
 * it sums the same entries by the same functions. A property test holds it below random completions.
 */
#include <math.h>
#include <string.h>

#include "plait/lowlevel/schedule.h"
#include "costmodel/table/table_private.h"

// ---- the leanest layers --------------------------------------------------------------------

/* All sets of activations that the runtime may offload, as one. */
static plait_recompute_masks most_offloaded(const plait_capabilities *can)
{
    plait_recompute_masks most = {0};

    for (int set = 0; set < PLAIT_OFFLOAD_SETS; set++) {
        const plait_recompute_masks masks = plait_offload_masks_of((unsigned char)set);
        if (!(can->takes[PLAIT_KEY_OFFLOAD_ACTS] >> set & 1u))
            continue;
        most.tensors |= masks.tensors;
        most.half_tensors |= masks.half_tensors;
    }
    return most;
}

/* Bytes that they are at most. */
static double offloadable_bytes(const plait_recompute_masks *most, const layer_price *price)
{
    double bytes = 0.0;

    for (int t = 0; t < PLAIT_TENSORS; t++)
        if ((most->tensors | most->half_tensors) >> t & 1u)
            bytes += (most->tensors >> t & 1u ? 1.0 : 0.5) * price->saved_bytes[t];
    return bytes;
}

/*
 * The fewest bytes of one layer that any recompute choice of the runtime keeps, less all that it may
 * offload.
 */
static double least_saved_bytes(const plait_capabilities *can, const plait_recompute_masks *most,
                                const layer_price *price)
{
    double least = price->kept_bytes;

    for (int kind = 0; kind < PLAIT_RECOMPUTE_KINDS; kind++) {
        plait_recompute recompute = {.kind = (unsigned char)kind};
        for (int s = 0; s < can->module_sets && kind == PLAIT_RECOMPUTE_MODULES; s++)
            recompute.modules = (unsigned char)(recompute.modules | can->module_set[s]);
        if (can->takes[PLAIT_KEY_RECOMPUTE] >> kind & 1u)
            least = smaller(least, layer_saved_bytes(price, recompute));
    }
    return larger(0.0, least - offloadable_bytes(most, price));
}

/* On so many ranks may a schedule of the software hold each stage. */
static int most_copies(const plait_capabilities *can)
{
    int most = 1;

    for (int s = 0; s < PLAIT_SCHEDULES; s++) {
        const int copies = plait_schedule_copies((plait_schedule)s);
        if (can->takes[PLAIT_KEY_SCHEDULE] >> s & 1u && copies > most)
            most = copies;
    }
    return most;
}

void table_make_whole(plait_table *table)
{
    const plait_model *model = table->problem.model;
    const plait_degrees one = plait_degrees_init();
    const plait_chunk chunk = {0, model->layers, true, true, model->mtp_layers};
    const plait_stage stage = {.chunks = 1, .chunk = &chunk, .degrees = one};

    table->copies = most_copies(&table->problem.runtime->can);
    table->whole = (stage_class){
        .parts = stage_parts_of(model, &stage, table->whole_part), .count = 1, .first = -1};
}

/* The whole model on one rank: what the mean stage has its share of. */
static stage_load lean_whole(const plait_table *table)
{
    stage_load load = begin_load(&table->row, &table->whole);

    add_layers(&table->whole, table->lean_time, &load);
    return load;
}

/* What layers hide in pairs, and no gathers. */
static layer_gather pairs_of(const layer_price *price, unsigned char ep_overlap)
{
    return (layer_gather){.paired_s = price->paired_s[ep_overlap]};
}

/* Times without gathers and recomputation, bytes of the leanest choice: no real plan has both. */
static void fill_lean(plait_table *table, unsigned char ep_overlap)
{
    const plait_capabilities *const can = &table->problem.runtime->can;
    const plait_recompute_masks most = most_offloaded(can);
    const plait_choice none = {.offload_acts = 0};
    layer_time *const time = table->lean[ep_overlap];

    for (int r = 0; r < ROW_PRICES; r++) {
        const layer_price *price = &table->row.price[r];
        if (r >= table->kinds && r < ROW_EMBEDDING)
            continue;
        const layer_gather pairs = pairs_of(price, ep_overlap);
        time[r] = layer_time_of(&table->problem, price, &pairs, none);
        if (r < ROW_EMBEDDING || r == ROW_MTP)
            time[r].saved_bytes = least_saved_bytes(can, &most, price);
        time[r].live_bytes = 0.0;
    }
}

void table_select_lean(plait_table *table, unsigned char ep_overlap)
{
    const unsigned known = 1u << ep_overlap;

    if (table->lean_known == 0 || table->pairs != ep_overlap) {
        memset(table->chosen_known, 0, sizeof table->chosen_known);
        table->lean_based = false;
    }
    table->pairs = ep_overlap;
    table->lean_time = table->lean[ep_overlap];
    if (table->lean_known & known)
        return;
    fill_lean(table, ep_overlap);
    table->lean_known |= known;
    if (ep_overlap == PLAIT_EP_OVERLAP_NONE)
        table->lean_whole = lean_whole(table);
}

/* Times of a choice without gathers: as table_times under ZeRO-0. */
static const layer_time *chosen_times(plait_table *table, plait_choice choice)
{
    const int slot = table_slot_of(choice);
    layer_time *const time = table->chosen_time + slot * table->timed;

    for (int i = 0; i < table->timed && !table->chosen_known[slot]; i++) {
        const layer_price *price = &table->row.price[i < table->kinds ? i : ROW_MTP];
        const layer_gather pairs = pairs_of(price, table->pairs);
        time[i] = layer_time_of(&table->problem, price, &pairs, choice);
    }
    table->chosen_known[slot] = true;
    return time;
}

// ---- bounds --------------------------------------------------------------------------------

static int highest_zero(const plait_problem *problem)
{
    int zero = 3;

    while (zero > 0 && !(problem->runtime->can.takes[PLAIT_KEY_ZERO] >> zero & 1u))
        zero--;
    return zero;
}

double lean_state_bytes(const plait_problem *problem, const layer_row *row,
                        const plait_degrees *lean, const plait_state_bytes *bytes,
                        const stage_load *load)
{
    const stage_state state = stage_state_of(problem, lean, row, bytes, shard_ways_of(lean), load);

    return state.weights_bytes + state.gradients_bytes + state.optimizer_bytes +
           (lean->zero == 3 ? 0.0 : state.buffers_bytes);
}

/* Peak of a class by lean entries: as peak_bytes in table.c. */
static double lean_peak_bytes(const plait_table *table, const plait_degrees *lean,
                              const plait_state_bytes *bytes, const stage_load *load)
{
    const double allocated = lean_state_bytes(&table->problem, &table->row, lean, bytes, load) +
                             stage_activation_bytes(load) +
                             stage_buffer_bytes(&table->problem, lean, &table->row, load);

    return allocated * table->problem.runtime->keep.fragmentation + table->fixed_bytes;
}

plait_state_bytes lean_state_of(const plait_table *table, const plait_degrees *lean)
{
    plait_state_bytes least = plait_state_of(&table->problem, lean);
    plait_degrees wide = *lean;

    if (!lean->fp8_params)
        return least;
    wide.fp8_params = false;
    const plait_state_bytes other = plait_state_of(&table->problem, &wide);
    least.weight = smaller(least.weight, other.weight);
    least.replicated = smaller(least.replicated, other.replicated);
    return least;
}

plait_degrees lean_degrees(const plait_table *table, const plait_degrees *d)
{
    plait_degrees lean = *d;

    lean.zero = (unsigned char)highest_zero(&table->problem);
    lean.shard_group = d->dp * d->cp;
    lean.reshard = PLAIT_RESHARD_ALWAYS;
    lean.scatter = PLAIT_SCATTER_MICROBATCH;
    return lean;
}

/* The ends have lean times, too. */
static void fill_lean_loads(const plait_table *table, class_list *list)
{
    for (int c = 0; c < list->count; c++) {
        stage_class all = list->of[c];
        all.ends = 0;
        list->lean[c].load = begin_load(&table->row, &all);
        add_layers(&all, table->lean_time, &list->lean[c].load);
    }
}

static plait_price lean_of(step_sum sum, double peak_bytes)
{
    sum.total_s -= sum.most_hidden_s - sum.hidden_s; // another stage may be slowest in the end
    return price_of(&sum, peak_bytes);
}

/*
 * The price of what stands in `lean`, of each class of ranks and chunks. Who needs more than `most_bytes` is not
 * asked for time.
 */
static plait_price lean_price(plait_table *table, const plait_degrees *d, double most_bytes)
{
    const plait_degrees lean = lean_degrees(table, d);
    const plait_state_bytes bytes = lean_state_of(table, &lean);
    double fullest = 0.0;

    for (int c = 0; c < table->ranks.count; c++) {
        stage_load *load = &table->ranks.lean[c].load;
        take_chunks(&table->ranks.of[c], table->chunks.lean, load);
        fullest = larger(fullest, lean_peak_bytes(table, &lean, &bytes, load));
    }
    if (fullest > most_bytes)
        return (plait_price){.peak_bytes = fullest};
    table_pace(table, d);
    const step_sum sum = table_sum(table, &lean, table->ranks.lean);
    return lean_of(sum, fullest);
}

/*
 * C.90. Time: no recomputation, no gathers, no reduction, no optimizer: each only adds. Memory: the
 * highest ZeRO stage over all replicas, and of activations what the leanest choice keeps, with
 * nothing rebuilt.
 */
plait_price plait_degrees_bound(plait_table *table, const plait_degrees *d, double most_bytes)
{
    table_select_stages(table, d);
    table_select_lean(table, d->ep_overlap);
    fill_lean_loads(table, &table->chunks);
    fill_lean_loads(table, &table->ranks);
    return lean_price(table, d, most_bytes);
}

/* The ends of lean times; a prediction module's are those of the choice. */
static void fill_chosen_loads(const plait_table *table, const layer_choice *choice,
                              class_list *list)
{
    const layer_time *const ends = table->lean_time + ROW_EMBEDDING;
    const layer_time *const mtp = choice->first + table->kinds;

    for (int c = 0; c < list->count; c++) {
        if (!table->lean_based || table_has_module(&list->of[c]))
            table_fill_base(table, ends, mtp, &list->of[c], &list->lean_base[c]);
        list->lean[c].load = list->lean_base[c];
        add_chosen_layers(table, &list->of[c], choice, &list->lean[c].load);
    }
}

/* C.93. As C.90 with one choice: what it runs again, keeps and rebuilds is counted. */
plait_price plait_choice_bound(plait_table *table, const plait_degrees *d, double most_bytes)
{
    const plait_choice usual = {d->recompute, d->offload_acts};
    const plait_choice none = {.offload_acts = d->offload_acts};
    const bool some = recomputes_some(d);

    table_select_stages(table, d);
    table_select_lean(table, d->ep_overlap);
    const layer_time *const first = chosen_times(table, usual);
    const layer_choice choice = {first, some ? chosen_times(table, none) : first,
                                 some ? d->recompute.layers / d->vpp : -1};
    fill_chosen_loads(table, &choice, &table->chunks);
    fill_chosen_loads(table, &choice, &table->ranks);
    table->lean_based = true;
    return lean_price(table, d, most_bytes);
}

/* The fullest class with the shard's own state and the activations of the leanest choice. */
static double lean_activations_peak(plait_table *table)
{
    double fullest = 0.0;

    fill_lean_loads(table, &table->chunks);
    fill_lean_loads(table, &table->ranks);
    for (int c = 0; c < table->ranks.count; c++) {
        stage_load *load = &table->ranks.lean[c].load;
        take_chunks(&table->ranks.of[c], table->chunks.lean, load);
        fullest = larger(fullest, table_peak_bytes(table, c, load));
    }
    return fullest;
}

/*
 * What recomputation cannot hide of reductions: it lengthens backward passes, behind which more of them
 * hides. On the slowest stage it costs more than it hides, unless `slowest` is -1; on another it may cost
 * nothing.
 */
static double least_sync_s(const step_parts *parts, int slowest, stage_cost *scratch)
{
    for (int i = 0; i < parts->costs; i++) {
        scratch[i] = parts->cost[i];
        if (i != slowest)
            scratch[i].load.backward_s = HUGE_VAL;
    }
    return sync_exposed_s(parts->problem, parts->degrees, scratch, parts->costs);
}

/* The same of the optimizer: gradients on their way to the host may all hide. */
static double least_optimizer_s(const step_parts *parts)
{
    double longest_s = 0.0;

    for (int i = 0; i < parts->costs; i++)
        longest_s = larger(longest_s, parts->cost[i].sync.optimizer_s);
    return longest_s;
}

/*
 * Lower bound on the step with any recomputation, from the step without. If the pipeline's time is itself a
 * bound, the slowest stage may wait for another, and its recomputation may cost nothing either.
 */
static plait_price least_price_of(const step_parts *parts, double peak_bytes, stage_cost *scratch)
{
    step_sum sum = step_sum_of(parts);
    const int paying = sum.exact ? sum.slowest : -1;
    const double hideable_s = sum.optimizer_s - least_optimizer_s(parts);

    sum.total_s -= hideable_s + sum.dp_comm_s - least_sync_s(parts, paying, scratch);
    sum.moving_s_a_gpu -= hideable_s;
    return lean_of(sum, peak_bytes);
}

/* C.94. As C.90 with one shard: what it keeps, gathers, reduces and updates is counted. */
plait_price plait_shard_bound(plait_table *table, const plait_degrees *d)
{
    plait_degrees plain = *d;

    plain.recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_NONE};
    plain.offload_acts = 0;
    table_fill(table, &plain);
    table_select_lean(table, d->ep_overlap);
    const double peak_bytes = lean_activations_peak(table);
    const step_parts parts = parts_of_classes(table, &plain, table->ranks.cost);
    const plait_price price = least_price_of(&parts, peak_bytes, table->scratch);
    if (!table->boundary.faster)
        return price;
    const step_parts fused = parts_fused(&parts, &table->boundary, table->fused);
    const plait_price other = least_price_of(&fused, peak_bytes, table->scratch);
    return other.step_s < price.step_s ? other : price;
}
