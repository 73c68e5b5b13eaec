/*
 * solve.c - the stages of a pipeline one after the other, by labels (S.93)
 *
 *     L_0 = { no stage, the embedding's tp };   L_s+1 = the undominated of { label + a way to fill stage s }
 *
 * Of two labels whose last layers have one tp, that which is nowhere less goes; so does one whose least step is no
 * better than the best known (S.94).
 */
#include <math.h>
#include <string.h>

#include "search/pipeline/per_layer_private.h"
#include "search/pipeline/way.h"

/* Of one dealing of layers: a budget, never a clock. */
enum { MOST_LABELS = 1 << 13 };

/* The first stages, filled. */
typedef struct cuts_label {
    stages_way way;
    const per_layer_option *filled; /* the last of them */
    const struct cuts_label *before;
    struct cuts_label *next;
} cuts_label;

typedef struct solve_work {
    const per_layer_point *point;
    const int *layers;
    double limit_s; /* of the step without sends */
    double *least;  /* [pp] of each stage */
    double *left;   /* [pp + 1] of the stages from there on, the sum ... */
    double *round;  /* ... and the largest */
    plait_arena *arena;
    per_layer_result *out;
    cuts_label **now, **next; /* [cuts] by the tp of the last layer */
} solve_work;

/* What a pipeline takes at least whose stages work `work_s` together, the longest of them `round_s`. (S.61) */
static double chains_s(int stages, int microbatches, double work_s, double round_s)
{
    const double mean_s =
        microbatches > stages ? work_s + (microbatches - 0.5 * (stages + 1.0)) * round_s : work_s;

    return fmax(microbatches * round_s, mean_s);
}

/* What a stage may work at most beside others, lest that passes the limit. (S.61) */
static double most_round_s(int stages, int microbatches, double others_s, double limit_s)
{
    const double mean = microbatches > stages ? microbatches - 0.5 * (stages + 1.0) : 0.0;

    return fmin(limit_s / microbatches, (limit_s - others_s) / (1.0 + mean));
}

/* May any filling of all stages be better than the limit? */
static bool weigh_stages(solve_work *w)
{
    const int stages = w->point->degrees.pp;

    for (int s = stages - 1; s >= 0; s--) {
        w->least[s] = per_layer_lower_bound_s(w->point, s, w->layers[s]);
        w->left[s] = w->left[s + 1] + w->least[s];
        w->round[s] = fmax(w->round[s + 1], w->least[s]);
    }
    return chains_s(stages, w->point->microbatches, w->left[0], w->round[0]) < w->limit_s;
}

/* Unless one that is kept is within it; those that it is within go. */
static plait_status keep(solve_work *w, const cuts_label *label, int slot, plait_error *err)
{
    cuts_label **link = &w->next[slot];

    while (*link != NULL) {
        if (way_within(&(*link)->way, &label->way))
            return PLAIT_OK;
        if (way_within(&label->way, &(*link)->way))
            *link = (*link)->next;
        else
            link = &(*link)->next;
    }
    if (w->out->labels == MOST_LABELS) {
        w->out->proven = false;
        return PLAIT_OK;
    }
    cuts_label *const kept = plait_arena_alloc(w->arena, 1, sizeof *kept);
    if (!kept)
        return plait_fail_nomem(err);
    *kept = *label;
    *link = kept;
    w->out->labels++;
    return PLAIT_OK;
}

/* One label with each way to fill the next stage. */
static plait_status extend(solve_work *w, const cuts_label *label, per_layer_option *const *filled,
                           plait_error *err)
{
    const int stages = w->point->degrees.pp;
    const int s = label->way.chain.stages;

    for (int slot = 0; slot < w->point->cuts; slot++)
        for (const per_layer_option *way = filled[slot]; way != NULL; way = way->next) {
            cuts_label next = {.way = label->way, .filled = way, .before = label};

            way_pass(&next.way, &w->point->degrees, w->point->microbatches, way->time, &way->tail);
            if (way_least_s(&next.way, stages, w->point->microbatches, w->round[s + 1],
                            w->left[s + 1]) < w->limit_s)
                PLAIT_TRY(keep(w, &next, slot, err));
        }
    return PLAIT_OK;
}

static plait_status pass_stage(solve_work *w, int s, plait_error *err)
{
    per_layer_option **const filled =
        plait_arena_alloc(w->arena, (size_t)w->point->cuts, sizeof(per_layer_option *));

    if (!filled)
        return plait_fail_nomem(err);
    for (int slot = 0; slot < w->point->cuts; slot++) {
        const per_layer_slot place = {
            .stage = s,
            .layers = w->layers[s],
            .tp_before = w->point->cut[slot].tp,
            .below_s = most_round_s(w->point->degrees.pp, w->point->microbatches,
                                    w->left[0] - w->least[s], w->limit_s),
        };
        if (w->now[slot] == NULL)
            continue;
        PLAIT_TRY(per_layer_fill(w->point, &place, w->arena, &w->out->proven, filled, err));
        for (const cuts_label *label = w->now[slot]; label != NULL; label = label->next)
            PLAIT_TRY(extend(w, label, filled, err));
    }
    return PLAIT_OK;
}

static double step_of(const cuts_label *label)
{
    return label->way.chain.whole_s + way_tail_s(&label->way);
}

static void take_best(solve_work *w, per_layer_stage *stage)
{
    const cuts_label *best = NULL;

    for (int slot = 0; slot < w->point->cuts; slot++)
        for (const cuts_label *label = w->now[slot]; label != NULL; label = label->next)
            if (step_of(label) < w->limit_s && (!best || step_of(label) < step_of(best)))
                best = label;
    w->out->fits = best != NULL;
    if (best)
        w->out->step_s = step_of(best) + w->point->sends_s;
    for (int s = w->point->degrees.pp - 1; best && s >= 0; s--, best = best->before)
        stage[s] = best->filled->stage;
}

static bool begin(solve_work *w)
{
    const size_t stages = (size_t)w->point->degrees.pp + 1, cuts = (size_t)w->point->cuts;

    w->least = plait_arena_alloc(w->arena, stages, sizeof *w->least);
    w->left = plait_arena_alloc(w->arena, stages, sizeof *w->left);
    w->round = plait_arena_alloc(w->arena, stages, sizeof *w->round);
    w->now = plait_arena_alloc(w->arena, cuts, sizeof(cuts_label *));
    w->next = plait_arena_alloc(w->arena, cuts, sizeof(cuts_label *));
    return w->least && w->left && w->round && w->now && w->next;
}

plait_status per_layer_dp(per_layer_point *point, const int *layers, double limit_s,
                          plait_arena *arena, per_layer_result *out, plait_error *err)
{
    per_layer_stage *const stage =
        plait_arena_alloc(arena, (size_t)point->degrees.pp, sizeof *stage);
    cuts_label none = {.way = way_begin()};
    solve_work w = {
        .point = point,
        .layers = layers,
        .limit_s = limit_s - point->sends_s,
        .arena = arena,
        .out = out,
    };

    *out = (per_layer_result){.proven = true, .step_s = HUGE_VAL, .stage = stage};
    if (!stage || !begin(&w))
        return plait_fail_nomem(err);
    if (!weigh_stages(&w))
        return PLAIT_OK;
    w.now[0] = &none;
    for (int s = 0; s < point->degrees.pp; s++) {
        cuts_label **const done = w.now;

        PLAIT_TRY(pass_stage(&w, s, err));
        w.now = w.next;
        w.next = done;
        memset(w.next, 0, (size_t)point->cuts * sizeof(cuts_label *));
    }
    take_best(&w, stage);
    return PLAIT_OK;
}
