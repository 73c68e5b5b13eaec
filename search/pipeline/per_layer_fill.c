/*
 * per_layer_fill.c - lists the undominated options of one stage: runs of layers and their choices
 * that fit (S.92)
 *
 *     one run    each sharding
 *     two runs   each pair of shardings in either order, with every number of layers in the first
 *
 * In each case the layers recompute as little as the memory allows (S.21).
 */
#include <math.h>
#include <string.h>

#include "search/pipeline/per_layer.h"
#include "search/pipeline/pack.h"

/* Part of the capacity to use, so that sums in a different order do not exceed the capacity. */
static const double within = 1.0 - 1e-12;

/* State while the options of a stage are listed. */
typedef struct fill_work {
    const per_layer_point *point;
    const per_layer_slot *slot;
    int ends;
    double in_flight;
    double scale; /* device bytes per byte of a tensor */
    bool last;
    bool *proven;
    per_layer_option **out;
    plait_arena *arena;
    pack_option *option; /* [PER_LAYER_RUNS][choices] */
} fill_work;

int per_layer_tp_slot(const per_layer_point *point, int tp)
{
    int c = 0;

    while (point->sharding[c].tp != tp)
        c++;
    return c;
}

// ---- runs ----------------------------------------------------------------------------------

/* Returns times and bytes of the runs and the ends, without recomputation. */
static plait_cut_share sum_of_runs(const fill_work *w, const per_layer_stage *stage)
{
    int own = 0;

    for (int r = 0; r < stage->runs; r++)
        own += stage->run[r].sharding == 0 ? stage->run[r].layers : 0;
    plait_cut_share sum = *per_layer_share(w->point, 0, w->ends, own);
    for (int r = 0; r < stage->runs; r++)
        if (stage->run[r].sharding != 0)
            plait_cut_share_add(&sum, per_layer_share(w->point, stage->run[r].sharding, w->ends,
                                                      stage->run[r].layers));
    return sum;
}

static int tp_of_run(const fill_work *w, const per_layer_stage *stage, int r)
{
    return w->point->sharding[stage->run[r].sharding].tp;
}

/*
 * Returns the redistributions of the hidden state before each run with a different tp, and before
 * the output layer.
 */
static plait_layout_change relocations(const fill_work *w, const per_layer_stage *stage)
{
    const plait_problem *const problem = w->point->input->problem;
    const plait_degrees *const d = &w->point->degrees;
    plait_layout_change sum = {0};
    int from = w->slot->tp_before;

    for (int r = 0; r < stage->runs; r++) {
        const int to = tp_of_run(w, stage, r);
        plait_relocation_add(&sum, plait_relocation_of(problem, d, from, to));
        from = to;
    }
    if (w->last)
        plait_relocation_add(&sum, plait_relocation_of(problem, d, from, d->tp));
    return sum;
}

// ---- choices -------------------------------------------------------------------------------

/* Returns the bytes of the device left for saved and recomputed activations of layers. */
static double room_of(const fill_work *w, const plait_cut_share *sum,
                      const plait_layout_change *between)
{
    const plait_cut_share *const ends = per_layer_share(w->point, 0, w->ends, 0);
    plait_cut_share bare = *sum;

    bare.saved_bytes = ends->saved_bytes;
    bare.live_bytes = 0.0;
    return w->point->input->capacity_bytes * within -
           plait_cut_peak(w->point->sort[0], &bare, w->in_flight) - w->scale * between->bytes;
}

static void list_options(const fill_work *w, const per_layer_stage *stage)
{
    const int choices = w->point->input->choices;

    for (int r = 0; r < stage->runs; r++)
        for (int c = 0; c < choices; c++) {
            const plait_layer_cost *const cost =
                &w->point->cost[stage->run[r].sharding * choices + c];
            w->option[r * choices + c] = (pack_option){
                .time_s = cost->forward_s + cost->backward_s,
                .saved_bytes = w->scale * w->in_flight * cost->saved_bytes,
                .live_bytes = w->scale * cost->live_bytes,
            };
        }
}

/* Updates the times in `sum` from layers without recomputation to layers with these choices. */
static void take_choices(const fill_work *w, per_layer_stage *stage, const int *count,
                         plait_cut_share *sum)
{
    const int choices = w->point->input->choices;

    for (int r = 0; r < stage->runs; r++) {
        const int sharding = stage->run[r].sharding;
        stage->run[r].count = count + r * choices;
        for (int c = 0; c < choices; c++) {
            const double n = stage->run[r].count[c];
            const plait_layer_cost *const cost = &w->point->cost[sharding * choices + c];
            sum->time.forward_s += n * (cost->forward_s - w->point->plain[sharding].forward_s);
            sum->time.backward_s += n * (cost->backward_s - w->point->plain[sharding].backward_s);
        }
    }
}

// ---- options that are kept -----------------------------------------------------------------

static bool dominates(const per_layer_option *a, const per_layer_option *b)
{
    return a->time.forward_s <= b->time.forward_s && a->time.backward_s <= b->time.backward_s &&
           a->tail.reduce_s <= b->tail.reduce_s && a->tail.gather_s <= b->tail.gather_s &&
           a->tail.optimizer_s <= b->tail.optimizer_s;
}

/* Inserts an option unless it is dominated; removes the options that it dominates. */
static plait_status keep(const fill_work *w, const per_layer_option *option, int last_tp,
                         plait_error *err)
{
    per_layer_option **link = &w->out[per_layer_tp_slot(w->point, last_tp)];
    const size_t counts = PER_LAYER_RUNS * (size_t)w->point->input->choices;

    while (*link != NULL) {
        if (dominates(*link, option))
            return PLAIT_OK;
        if (dominates(option, *link))
            *link = (*link)->next;
        else
            link = &(*link)->next;
    }
    per_layer_option *const kept = plait_arena_alloc(w->arena, 1, sizeof *kept);
    int *const count = plait_arena_alloc(w->arena, counts, sizeof *count);
    PLAIT_TRY(plait_check_allocated(kept && count, err));
    *kept = *option;
    for (int r = 0; r < option->stage.runs; r++) {
        int *const of_run = count + r * w->point->input->choices;
        memcpy(of_run, option->stage.run[r].count,
               (size_t)w->point->input->choices * sizeof *of_run);
        kept->stage.run[r].count = of_run;
    }
    kept->next = NULL;
    *link = kept;
    return PLAIT_OK;
}

/* Returns f + b of the layers of the runs, without recomputation. */
static double plain_layers_s(const fill_work *w, const per_layer_stage *stage)
{
    double sum_s = 0.0;

    for (int r = 0; r < stage->runs; r++) {
        const plait_layer_cost *const plain = &w->point->plain[stage->run[r].sharding];
        sum_s += stage->run[r].layers * (plain->forward_s + plain->backward_s);
    }
    return sum_s;
}

/* Solves S.21 for the runs. `sum` has their times without recomputation, and those of `between`. */
static plait_status pack_runs(const fill_work *w, const per_layer_stage *stage,
                              const plait_cut_share *sum, const plait_layout_change *between,
                              pack_result *out, plait_error *err)
{
    const double all_s = sum->time.forward_s + sum->time.backward_s;
    int layers[PER_LAYER_RUNS] = {0};

    for (int r = 0; r < stage->runs; r++)
        layers[r] = stage->run[r].layers;
    list_options(w, stage);
    const pack_problem problem = {
        .groups = stage->runs,
        .layers = layers,
        .options = w->point->input->choices,
        .option = w->option,
        .room_bytes = room_of(w, sum, between),
        .live_bytes = w->scale * per_layer_share(w->point, 0, w->ends, 0)->live_bytes,
        .below_s = w->slot->below_s - (all_s - plain_layers_s(w, stage)),
        .nodes = w->point->input->nodes,
    };
    return pack_solve(&problem, w->arena, out, err);
}

/* Finds the fastest choices of these runs, and keeps the option if it fits. */
static plait_status try_runs(const fill_work *w, per_layer_stage stage, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(w->arena);
    const plait_layout_change between = relocations(w, &stage);
    plait_cut_share sum = sum_of_runs(w, &stage);
    pack_result packed;

    sum.time.forward_s += between.forward_s;
    sum.time.backward_s += between.backward_s;
    if (sum.time.forward_s + sum.time.backward_s >= w->slot->below_s)
        return PLAIT_OK;
    PLAIT_TRY(pack_runs(w, &stage, &sum, &between, &packed, err));
    *w->proven = *w->proven && packed.proven;
    if (!packed.fits) {
        plait_arena_rewind(w->arena, mark);
        return PLAIT_OK;
    }
    take_choices(w, &stage, packed.count, &sum);
    const per_layer_option option = {
        .time = sum.time,
        .tail = plait_cut_tail(w->point->sort[0], w->slot->stage, &sum),
        .stage = stage,
    };
    const int last_tp = stage.runs > 0 ? tp_of_run(w, &stage, stage.runs - 1) : w->slot->tp_before;
    return keep(w, &option, w->last ? w->point->degrees.tp : last_tp, err);
}

static plait_status try_two(const fill_work *w, int first, int second, plait_error *err)
{
    for (int n = 1; n < w->slot->layers; n++)
        PLAIT_TRY(try_runs(
            w,
            (per_layer_stage){.runs = 2,
                              .run = {{.sharding = first, .layers = n},
                                      {.sharding = second, .layers = w->slot->layers - n}}},
            err));
    return PLAIT_OK;
}

plait_status per_layer_fill(const per_layer_point *point, const per_layer_slot *slot,
                            plait_arena *arena, bool *proven, per_layer_option **out,
                            plait_error *err)
{
    const plait_degrees *const d = &point->degrees;
    const fill_work w = {
        .point = point,
        .slot = slot,
        .ends = per_layer_ends(point, slot->stage),
        .in_flight =
            plait_schedule_in_flight(PLAIT_1F1B, d->pp, slot->stage, 1, point->microbatches),
        .scale = point->input->problem->runtime->keep.fragmentation,
        .last = slot->stage == d->pp - 1,
        .proven = proven,
        .out = out,
        .arena = arena,
        .option = plait_arena_alloc(arena, PER_LAYER_RUNS * (size_t)point->input->choices,
                                    sizeof *w.option),
    };

    PLAIT_TRY(plait_check_allocated(w.option, err));
    memset(out, 0, (size_t)point->shardings * sizeof(per_layer_option *));
    for (int a = 0; a < point->shardings; a++) {
        const per_layer_stage one = {.runs = slot->layers > 0,
                                     .run = {{.sharding = a, .layers = slot->layers}}};
        PLAIT_TRY(try_runs(&w, one, err));
        for (int b = 0; b < point->shardings; b++)
            if (b != a)
                PLAIT_TRY(try_two(&w, a, b, err));
    }
    return PLAIT_OK;
}
