/*
 * bound.c - lower bounds over all completions of a point with a schedule and a split (C.90, C.93,
 * C.94)
 *
 * A bound is a price without some of its nonnegative terms, summed by the same functions as a
 * price. A property test compares bounds with the prices of random completions.
 */
#include <math.h>
#include <string.h>

#include "plait/lowlevel/schedule.h"
#include "costmodel/table/table_private.h"

// ---- minimal layers ------------------------------------------------------------------------

/* Returns the union of all sets of activations that the runtime may offload. */
static plait_recompute_masks max_offloaded(const plait_capabilities *can)
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

/* Upper bound on the bytes of one layer that `most`, a union of offload sets, moves to the host. */
static double offloadable_bytes(const plait_recompute_masks *most, const layer_price *price)
{
    double bytes = 0.0;

    for (int t = 0; t < PLAIT_TENSORS; t++)
        if ((most->tensors | most->half_tensors) >> t & 1u)
            bytes += (most->tensors >> t & 1u ? 1.0 : 0.5) * price->saved_bytes[t];
    return bytes;
}

/*
 * Lower bound on the bytes that one layer keeps: the minimum over all recompute choices of the
 * runtime, minus everything that it may offload.
 */
static double min_saved_bytes(const plait_capabilities *can, const plait_recompute_masks *most,
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

/* Largest number of ranks with the same stage, over the schedules of the software. */
static int max_replicas(const plait_capabilities *can)
{
    int most = 1;

    for (int s = 0; s < PLAIT_SCHEDULES; s++) {
        const int replicas = plait_schedule_replicas((plait_schedule)s);
        if (can->takes[PLAIT_KEY_SCHEDULE] >> s & 1u && replicas > most)
            most = replicas;
    }
    return most;
}

static bool may_split_backwards(const plait_capabilities *can)
{
    bool any = false;

    for (int s = 0; s < PLAIT_SCHEDULES; s++)
        any = any || ((can->takes[PLAIT_KEY_SCHEDULE] >> s & 1u) &&
                      plait_schedule_splits((plait_schedule)s));
    return any;
}

void table_make_whole(plait_table *table)
{
    const plait_model *model = table->problem.model;
    const plait_degrees one = plait_degrees_init();
    const plait_chunk chunk = {0, model->layers, true, true, model->mtp_layers};
    const plait_stage stage = {.chunks = 1, .chunk = &chunk, .degrees = one};

    table->replicas = max_replicas(&table->problem.runtime->can);
    table->split_backwards = may_split_backwards(&table->problem.runtime->can);
    table->whole = (stage_class){
        .parts = stage_parts_of(model, &stage, table->whole_part), .count = 1, .first = -1};
}

/* Sums the whole model on one rank; the mean stage has 1 / pp of the result. */
static stage_load min_memory_whole(const plait_table *table)
{
    stage_load load = begin_load(&table->row, &table->whole);

    add_layers(&table->whole, table->min_memory_time, &load);
    return load;
}

/* Returns gathers that take no time, with the time that pairs of microbatches save. */
static layer_gather pairs_of(const layer_price *price, unsigned char ep_overlap)
{
    return (layer_gather){.paired_s = price->paired_s[ep_overlap]};
}

/*
 * Fills lower bounds for each row: the times without gathers and recomputation, and the bytes of
 * the choice that keeps the fewest. No plan reaches both at once.
 */
static void fill_min_memory(plait_table *table, unsigned char ep_overlap)
{
    const plait_capabilities *const can = &table->problem.runtime->can;
    const plait_recompute_masks most = max_offloaded(can);
    const plait_choice none = {.offload_acts = 0};
    layer_time *const time = table->min_memory_times[ep_overlap];

    for (int r = 0; r < ROW_PRICES; r++) {
        const layer_price *price = &table->row.price[r];
        if (r >= table->kinds && r < ROW_EMBEDDING)
            continue;
        const layer_gather pairs = pairs_of(price, ep_overlap);
        time[r] = layer_time_of(&table->problem, price, &pairs, none);
        if (r < ROW_EMBEDDING || r == ROW_MTP)
            time[r].saved_bytes = min_saved_bytes(can, &most, price);
        time[r].live_bytes = 0.0;
    }
}

void table_select_min_memory(plait_table *table, unsigned char ep_overlap)
{
    const unsigned known = 1u << ep_overlap;

    if (table->min_memory_valid == 0 || table->pairs != ep_overlap) {
        memset(table->chosen_time_valid, 0, sizeof table->chosen_time_valid);
        table->bound_base_valid = false;
        table->min_loads_valid = false;
    }
    table->pairs = ep_overlap;
    table->min_memory_time = table->min_memory_times[ep_overlap];
    if (table->min_memory_valid & known)
        return;
    fill_min_memory(table, ep_overlap);
    table->min_memory_valid |= known;
    if (ep_overlap == PLAIT_EP_OVERLAP_NONE)
        table->min_memory_whole = min_memory_whole(table);
}

/* Under ZeRO-0 these times equal those of table_times. */
const layer_time *table_chosen_times(plait_table *table, plait_choice choice)
{
    const int slot = table_slot_of(choice);
    layer_time *const time = table->chosen_time + slot * table->timed_rows;

    for (int i = 0; i < table->timed_rows && !table->chosen_time_valid[slot]; i++) {
        const layer_price *price = &table->row.price[i < table->kinds ? i : ROW_MTP];
        const layer_gather pairs = pairs_of(price, table->pairs);
        time[i] = layer_time_of(&table->problem, price, &pairs, choice);
    }
    table->chosen_time_valid[slot] = true;
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

double min_memory_state_bytes(const plait_problem *problem, const layer_row *row,
                              const plait_degrees *most_sharded, const plait_state_bytes *bytes,
                              const stage_load *load)
{
    const stage_state state =
        stage_state_of(problem, most_sharded, row, bytes, shard_ways_of(most_sharded), load);

    return state.weights_bytes + state.gradients_bytes + state.optimizer_bytes +
           (most_sharded->zero == 3 ? 0.0 : state.buffers_bytes);
}

/* Lower bound on the memory peak of a class, summed like table_peak_bytes. */
static double min_memory_peak_bytes(const plait_table *table, const plait_degrees *most_sharded,
                                    const plait_state_bytes *bytes, const stage_load *load)
{
    const double allocated =
        min_memory_state_bytes(&table->problem, &table->row, most_sharded, bytes, load) +
        stage_activation_bytes(load) +
        stage_buffer_bytes(&table->problem, most_sharded, &table->row, load);

    return allocated * table->problem.runtime->keep.fragmentation + table->fixed_bytes;
}

plait_state_bytes min_memory_state_of(const plait_table *table, const plait_degrees *most_sharded)
{
    plait_state_bytes least = plait_state_of(&table->problem, most_sharded);
    plait_degrees wide = *most_sharded;

    if (!most_sharded->fp8_params)
        return least;
    wide.fp8_params = false;
    const plait_state_bytes other = plait_state_of(&table->problem, &wide);
    least.weight = smaller(least.weight, other.weight);
    least.replicated = smaller(least.replicated, other.replicated);
    return least;
}

plait_degrees min_memory_degrees(const plait_table *table, const plait_degrees *d)
{
    plait_degrees most_sharded = *d;

    most_sharded.zero = (unsigned char)highest_zero(&table->problem);
    most_sharded.shard_group = d->dp * d->cp;
    most_sharded.reshard = PLAIT_RESHARD_ALWAYS;
    most_sharded.scatter = PLAIT_SCATTER_MICROBATCH;
    return most_sharded;
}

/*
 * Fills bound[] of all classes with the minimum times and bytes (min_memory_time) of layers and
 * ends.
 */
static void fill_min_memory_loads(const plait_table *table, class_list *list)
{
    for (int c = 0; c < list->count; c++) {
        stage_class all = list->of[c];
        all.ends = 0;
        list->bound[c].load = begin_load(&table->row, &all);
        add_layers(&all, table->min_memory_time, &list->bound[c].load);
    }
}

/* Fills bound[] of all classes with the fewest activations, unless it still has them. */
static void select_min_memory_loads(plait_table *table)
{
    if (table->min_loads_valid)
        return;
    fill_min_memory_loads(table, &table->chunks);
    fill_min_memory_loads(table, &table->ranks);
    for (int c = 0; c < table->ranks.count; c++)
        add_chunk_times(&table->ranks.of[c], table->chunks.bound, &table->ranks.bound[c].load);
    table->min_loads_valid = true;
}

static plait_price bound_of(step_sum sum, double peak_bytes)
{
    sum.total_s -= sum.most_hidden_s - sum.hidden_s; // the slowest stage of a plan may hide more
    sum.total_s -= sum.data_s;                       // depends on the layout (C.417)
    return price_of(&sum, peak_bytes);
}

/* Sums bound[] of all classes as a price. If memory exceeds `most_bytes`, no time is computed. */
static plait_price bound_price(plait_table *table, const plait_degrees *d, double most_bytes)
{
    const plait_degrees most_sharded = min_memory_degrees(table, d);
    const plait_state_bytes bytes = min_memory_state_of(table, &most_sharded);
    double fullest = 0.0;

    for (int c = 0; c < table->ranks.count; c++)
        fullest = larger(fullest, min_memory_peak_bytes(table, &most_sharded, &bytes,
                                                        &table->ranks.bound[c].load));
    if (fullest > most_bytes)
        return (plait_price){.peak_bytes = fullest};
    table_select_sends(table, d);
    const step_sum sum = table_sum(table, &most_sharded, table->ranks.bound);
    return bound_of(sum, fullest);
}

/*
 * Returns the bound of C.90. The time excludes recomputation, gathers, reductions and the optimizer
 * step. Memory assumes the highest ZeRO stage over all replicas and the choice that keeps the
 * fewest activations, and excludes recomputed activations.
 */
plait_price plait_degrees_bound(plait_table *table, const plait_degrees *d, double most_bytes)
{
    table_select_stages(table, d);
    table_select_min_memory(table, d->ep_overlap);
    select_min_memory_loads(table);
    return bound_price(table, d, most_bytes);
}

/* Fills bound[] of all classes with the times of a choice for layers and prediction modules. */
static void fill_chosen_loads(const plait_table *table, const layer_choice *choice,
                              class_list *list)
{
    const layer_time *const ends = table->min_memory_time + ROW_EMBEDDING;
    const layer_time *const mtp = choice->rest + table->kinds;

    for (int c = 0; c < list->count; c++) {
        if (!table->bound_base_valid || table_has_module(&list->of[c]))
            table_fill_base(table, ends, mtp, &list->of[c], &list->bound_base[c]);
        list->bound[c].load = list->bound_base[c];
        add_chosen_layers(table, &list->of[c], choice, &list->bound[c].load);
    }
}

/* Sets the number of classes of ranks. Returns false if there are too many. */
static bool count_classes(const plait_table *table, plait_class_bytes *out)
{
    out->classes = table->ranks.count <= PLAIT_MOST_CLASSES ? table->ranks.count : 0;
    return out->classes > 0;
}

static void fill_activations(const plait_table *table, plait_class_bytes *out)
{
    const double fragmentation = table->problem.runtime->keep.fragmentation;

    if (count_classes(table, out))
        for (int c = 0; c < out->classes; c++)
            out->bytes[c] = fragmentation * stage_activation_bytes(&table->ranks.bound[c].load);
}

/*
 * Returns the bound of C.93: that of C.90, plus the recomputation and the kept and recomputed
 * activations of one choice.
 */
plait_price plait_choice_bound(plait_table *table, const plait_degrees *d, double most_bytes,
                               plait_class_bytes *activations)
{
    const plait_choice usual = {d->recompute, d->offload_acts};

    table_select_stages(table, d);
    table_select_min_memory(table, d->ep_overlap);
    const layer_choice choice = {table_chosen_times(table, usual),
                                 table_chosen_times(table, rest_choice(d)),
                                 recomputes_some(d) ? d->recompute.layers / d->vpp : -1};
    fill_chosen_loads(table, &choice, &table->chunks);
    fill_chosen_loads(table, &choice, &table->ranks);
    for (int c = 0; c < table->ranks.count; c++)
        add_chunk_times(&table->ranks.of[c], table->chunks.bound, &table->ranks.bound[c].load);
    table->bound_base_valid = true;
    table->min_loads_valid = false;
    if (activations)
        fill_activations(table, activations);
    return bound_price(table, d, most_bytes);
}

/* Memory peak of the fullest class, with the cached state and the fewest activations. */
static double min_memory_activations_peak(plait_table *table)
{
    double fullest = 0.0;

    select_min_memory_loads(table);
    for (int c = 0; c < table->ranks.count; c++)
        fullest = larger(fullest, table_peak_bytes(table, c, &table->ranks.bound[c].load));
    return fullest;
}

double plait_shard_bound_bytes(plait_table *table, const plait_degrees *d, plait_class_bytes *rest)
{
    const double fragmentation = table->problem.runtime->keep.fragmentation;
    const plait_state_bytes bytes = plait_state_of(&table->problem, d);
    const shard_ways ways = sync_ways_of(&table->problem, d);
    double fullest = 0.0;

    table_select_stages(table, d);
    table_select_min_memory(table, d->ep_overlap);
    select_min_memory_loads(table);
    const bool keeps = rest && count_classes(table, rest);
    for (int c = 0; c < table->ranks.count; c++) {
        const stage_load *const load = &table->ranks.bound[c].load;
        const stage_state state =
            stage_state_of(&table->problem, d, &table->row, &bytes, ways, load);
        const double peak = table_peak_of(
            table, &state, stage_buffer_bytes(&table->problem, d, &table->row, load), load);
        fullest = larger(fullest, peak);
        if (keeps)
            rest->bytes[c] = peak - fragmentation * stage_activation_bytes(load);
    }
    return fullest;
}

/*
 * Lower bound on exposed reductions, for any recomputation. Recomputation lengthens backward
 * passes, which then overlap more of the reductions. On stage `slowest` this costs at least as much
 * time as it hides. On another stage it may cost nothing, so all of its reductions may be hidden.
 * -1: the slowest stage is unknown.
 */
static double least_sync_s(const step_parts *parts, int slowest, stage_cost *scratch)
{
    static const double endless_s = 1e30; // finite, since a stage may hide a share of 0 of it

    for (int i = 0; i < parts->costs; i++) {
        scratch[i] = parts->cost[i];
        if (i != slowest)
            scratch[i].load.backward_s = endless_s;
    }
    return sync_exposed_s(parts->problem, parts->degrees, scratch, parts->costs);
}

/*
 * Returns the longest optimizer step, without sends of gradients to the host, since recomputation
 * may hide all of them.
 */
static double least_optimizer_s(const step_parts *parts)
{
    double longest_s = 0.0;

    for (int i = 0; i < parts->costs; i++)
        longest_s = larger(longest_s, parts->cost[i].sync.optimizer_s);
    return longest_s;
}

/*
 * Lower bound on the step with any recomputation, from the step without recomputation. If the time
 * of the pipeline is only a bound, the slowest stage may wait for another, and its recomputation
 * may cost nothing.
 */
static plait_price least_price_of(const step_parts *parts, double peak_bytes, stage_cost *scratch)
{
    step_sum sum = step_sum_of(parts);
    const int paying = sum.exact ? sum.slowest : -1;
    const double hideable_s = sum.optimizer_s - least_optimizer_s(parts);

    sum.total_s -= hideable_s + sum.dp_comm_s - least_sync_s(parts, paying, scratch);
    sum.moving_s_a_gpu -= hideable_s;
    return bound_of(sum, peak_bytes);
}

/*
 * Returns the bound of C.94: that of C.90, plus the state, gathers, reductions and optimizer step
 * of one set of shard keys.
 */
plait_price plait_shard_bound(plait_table *table, const plait_degrees *d)
{
    plait_degrees plain = *d;

    plain.recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_NONE};
    plain.offload_acts = 0;
    table_fill(table, &plain);
    table_select_min_memory(table, d->ep_overlap);
    const double peak_bytes = min_memory_activations_peak(table);
    const step_parts parts = parts_of_classes(table, &plain, table->ranks.cost);
    const plait_price price = least_price_of(&parts, peak_bytes, table->scratch);
    if (!table->boundary.faster)
        return price;
    const step_parts fused = parts_fused(&parts, &table->boundary, table->fused);
    const plait_price other = least_price_of(&fused, peak_bytes, table->scratch);
    return other.step_s < price.step_s ? other : price;
}
