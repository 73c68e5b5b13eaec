/*
 * per_stage_dp.c - S.26 by labels: a chain of stages so far, for every stage and number of layers
 *
 *     prices    of a stage with so many layers of each kind, once each          price_stage
 *     start     the layers whose slowest stage is fastest, to bound the rest    fill_even
 *     labels    C.73 stage by stage                                             extend
 */
#include "search/pipeline/per_stage_dp.h"

#include <math.h>

#include "search/pipeline/way.h"

/* What a stage takes: of each microbatch, and once a step. */
typedef struct stage_price {
    plait_chunk_time time;
    plait_stage_tail tail;
} stage_price;

/* One way to deal the first layers to the first stages. */
typedef struct deal_label {
    stages_way way;
    int layers; /* of the last of these stages */
    const struct deal_label *before;
    struct deal_label *next; /* of as many layers and stages */
} deal_label;

typedef struct deal_work {
    const per_stage_point *point;
    plait_arena *arena;
    per_stage_layout *out;
    int stages, layers, microbatches;
    int runs;             /* of layers, by how many there are of each kind */
    int *run;             /* [layers + 1][layers + 1]: which one layers [i, j) are */
    stage_price *price;   /* [2][stages][runs]; negative: not known; infinite: does not fit */
    per_stage_point kept; /* the point with the optimizer on the device */
    int homes;            /* of the optimizer that a stage may choose from: 1 or 2 */
    double fastest_s;     /* of all layers, the least that any choice takes: forward and backward */
    double best_s;        /* pipelines that take as long are of no use */
    deal_label **ways;    /* [layers + 1] of the stages so far */
    deal_label **longer;  /* and with one more */
} deal_work;

bool per_stage_dp_applies(const plait_degrees *d)
{
    return d->schedule == PLAIT_1F1B && d->vpp == 1;
}

// ---- prices --------------------------------------------------------------------------------

/* Have layers [i, i + n) and [j, j + n) as many of each kind? */
static bool same_kinds(const plait_model *model, int i, int j, int n)
{
    int more[PLAIT_MAX_LAYER_KINDS] = {0};

    for (int k = 0; k < n; k++) {
        more[model->layer_kind[i + k]]++;
        more[model->layer_kind[j + k]]--;
    }
    for (int k = 0; k < model->kinds; k++)
        if (more[k] != 0)
            return false;
    return true;
}

/* Numbers the runs of layers; those alike get one number. */
static void number_runs(deal_work *w)
{
    const plait_model *const model = w->point->question->problem->model;
    const int all = w->layers + 1;

    for (int n = 0; n <= w->layers; n++)
        for (int i = 0; i + n <= w->layers; i++) {
            const int before = i > 0 ? w->run[(i - 1) * all + i - 1 + n] : -1;
            int known = i > 0 && same_kinds(model, i, i - 1, n) ? before : -1;
            for (int j = 0; j < i - 1 && known < 0; j++)
                if (same_kinds(model, i, j, n))
                    known = w->run[j * all + j + n];
            w->run[i * all + i + n] = known >= 0 ? known : w->runs++;
        }
}

/* A stage of layers [first, last), with the choices that suit it; home 1: its optimizer on the device. */
static plait_status price_at_home(deal_work *w, int s, int first, int last, int home,
                                  stage_price *out, plait_error *err)
{
    const per_stage_point *const point = home ? &w->kept : w->point;
    const int run = w->run[first * (w->layers + 1) + last];
    stage_price *const known = &w->price[(home * w->stages + s) * w->runs + run];

    if (known->time.forward_s < 0.0) {
        const plait_model *const model = w->point->question->problem->model;
        const bool is_last = s == w->stages - 1;
        const plait_chunk chunk = {first, last, s == 0, is_last, is_last ? model->mtp_layers : 0};
        const plait_arena_mark mark = plait_arena_save(w->arena);
        per_stage_stage stage;

        PLAIT_TRY(per_stage_choose(point, s, &chunk, w->arena, &stage, err));
        *known = (stage_price){.time = {HUGE_VAL, HUGE_VAL, HUGE_VAL}};
        if (stage.count != NULL)
            *known = (stage_price){stage.time,
                                   plait_frame_tail(w->point->question->problem, w->point->degrees,
                                                    &stage.frame, &stage.time)};
        w->out->programs++;
        plait_arena_rewind(w->arena, mark);
    }
    *out = *known;
    return PLAIT_OK;
}

/* As the point has it: with most room, so that no other is faster. */
static plait_status price_stage(deal_work *w, int s, int first, int last, stage_price *out,
                                plait_error *err)
{
    return price_at_home(w, s, first, last, 0, out, err);
}

static double round_of(const stage_price *price)
{
    return price->time.forward_s + price->time.backward_s;
}

/* The next stage behind those of a way. */
static void add_stage(const deal_work *w, const stage_price *price, stages_way *way)
{
    way_pass(way, w->point->degrees, w->microbatches, price->time, &price->tail);
}

// ---- a start -------------------------------------------------------------------------------

/* The pipeline of these layers, and what follows it. */
static plait_status time_of(deal_work *w, const int *layers, double *time_s, plait_error *err)
{
    stages_way way = way_begin();
    int first = 0;

    for (int s = 0; s < w->stages; first += layers[s++]) {
        stage_price price;
        PLAIT_TRY(price_stage(w, s, first, first + layers[s], &price, err));
        add_stage(w, &price, &way);
    }
    *time_s = way.chain.whole_s + way_tail_s(&way);
    return PLAIT_OK;
}

/* Of the first stages up to s with the first `u` layers: how slow is the slowest, at best? */
static plait_status even_cell(deal_work *w, int s, int u, double *slowest, int *layers,
                              plait_error *err)
{
    const int all = w->layers + 1;
    double best_s = HUGE_VAL;

    for (int n = s == 0 ? u : 0; n <= u; n++) {
        stage_price price;
        PLAIT_TRY(price_stage(w, s, u - n, u, &price, err));
        if (round_of(&price) >= best_s)
            break; // more layers take longer
        const double before_s = s == 0 ? 0.0 : slowest[(s - 1) * all + u - n];
        if (fmax(before_s, round_of(&price)) < best_s) {
            best_s = fmax(before_s, round_of(&price));
            layers[s * all + u] = n;
        }
    }
    slowest[s * all + u] = best_s;
    return PLAIT_OK;
}

/* Layers whose slowest stage is as fast as can be. *fits: there are such that fit. */
static plait_status fill_even(deal_work *w, int *out, bool *fits, plait_error *err)
{
    const size_t cells = (size_t)w->stages * (size_t)(w->layers + 1);
    double *const slowest = plait_arena_alloc(w->arena, cells, sizeof *slowest);
    int *const layers = plait_arena_alloc(w->arena, cells, sizeof *layers);

    if (slowest == NULL || layers == NULL)
        return plait_fail_nomem(err);
    for (int s = 0; s < w->stages; s++)
        for (int u = s == w->stages - 1 ? w->layers : 0; u <= w->layers; u++)
            PLAIT_TRY(even_cell(w, s, u, slowest, layers, err));
    *fits = slowest[cells - 1] < HUGE_VAL;
    for (int s = w->stages - 1, u = w->layers; *fits && s >= 0; s--) {
        out[s] = layers[s * (w->layers + 1) + u];
        u -= out[s];
    }
    return PLAIT_OK;
}

// ---- labels --------------------------------------------------------------------------------

/* The layers that are left lie at best evenly on the stages to come. */
static double least_s(const deal_work *w, const stages_way *way, int dealt)
{
    const double left_s = w->fastest_s * (w->layers - dealt) / w->layers;
    const int to_come = w->stages - way->chain.stages;

    return way_least_s(way, w->stages, w->microbatches, to_come > 0 ? left_s / to_come : 0.0,
                       left_s);
}

/* Keeps a way unless one that is kept is within it; drops those that it is within. */
static plait_status keep(deal_work *w, deal_label way, int dealt, plait_error *err)
{
    deal_label **link = &w->longer[dealt];

    while (*link != NULL) {
        if (way_within(&(*link)->way, &way.way))
            return PLAIT_OK;
        if (way_within(&way.way, &(*link)->way))
            *link = (*link)->next;
        else
            link = &(*link)->next;
    }
    deal_label *const kept = plait_arena_alloc(w->arena, 1, sizeof *kept);
    if (kept == NULL)
        return plait_fail_nomem(err);
    way.next = NULL;
    *kept = way;
    *link = kept;
    w->out->labels++;
    return PLAIT_OK;
}

/* The next stage with n layers behind one way, its optimizer where `home` says. */
static plait_status extend_by(deal_work *w, const deal_label *way, int dealt, int n, int home,
                              plait_error *err)
{
    deal_label next = {way->way, n, way, NULL};
    stage_price price;

    PLAIT_TRY(price_at_home(w, way->way.chain.stages, dealt, dealt + n, home, &price, err));
    if (w->microbatches * round_of(&price) >= w->best_s)
        return PLAIT_OK;
    add_stage(w, &price, &next.way);
    return least_s(w, &next.way, dealt + n) < w->best_s * (1.0 - 1e-12)
               ? keep(w, next, dealt + n, err)
               : PLAIT_OK;
}

/* All ways to give the next stage its layers behind one way. */
static plait_status extend(deal_work *w, const deal_label *way, int dealt, plait_error *err)
{
    const int s = way->way.chain.stages;
    const bool last = s == w->stages - 1;

    for (int n = last ? w->layers - dealt : 0; dealt + n <= w->layers; n++) {
        stage_price price;

        PLAIT_TRY(price_stage(w, s, dealt, dealt + n, &price, err));
        if (w->microbatches * round_of(&price) >= w->best_s)
            break; // more layers take longer
        for (int home = 0; home < w->homes; home++)
            PLAIT_TRY(extend_by(w, way, dealt, n, home, err));
    }
    return PLAIT_OK;
}

static plait_status extend_all(deal_work *w, plait_error *err)
{
    for (int s = 0; s < w->stages; s++) {
        deal_label **const done = w->ways;

        for (int u = 0; u <= w->layers; u++)
            for (const deal_label *way = w->ways[u]; way != NULL; way = way->next)
                PLAIT_TRY(extend(w, way, u, err));
        w->ways = w->longer;
        w->longer = done;
        for (int u = 0; u <= w->layers; u++)
            w->longer[u] = NULL;
    }
    return PLAIT_OK;
}

/* The shortest of the ways to deal all layers, if any is shorter than the start. */
static void take_best(deal_work *w, int *layers)
{
    const deal_label *best = NULL;

    for (const deal_label *way = w->ways[w->layers]; way != NULL; way = way->next)
        if (way->way.chain.whole_s + way_tail_s(&way->way) < w->best_s) {
            w->best_s = way->way.chain.whole_s + way_tail_s(&way->way);
            best = way;
        }
    for (int s = w->stages - 1; best != NULL && s >= 0; s--, best = best->before)
        layers[s] = best->layers;
}

// ---- per_stage_dp.h -----------------------------------------------------------------------

/* Forward and backward of all layers, each with its fastest choice. */
static double fastest_layers_s(const per_stage_point *point)
{
    const plait_model *const model = point->question->problem->model;
    double sum_s = 0.0;

    for (int i = 0; i < model->layers; i++) {
        const plait_layer_cost *const cost =
            &point->cost[model->layer_kind[i] * point->question->choices];
        double fastest = HUGE_VAL;
        for (int c = 0; c < point->question->choices; c++)
            fastest = fmin(fastest, cost[c].forward_s + cost[c].backward_s);
        sum_s += fastest;
    }
    return sum_s;
}

static plait_status begin(deal_work *w, plait_error *err)
{
    const size_t all = (size_t)w->layers + 1;

    w->fastest_s = fastest_layers_s(w->point);
    w->run = plait_arena_alloc(w->arena, all * all, sizeof *w->run);
    w->ways = plait_arena_alloc(w->arena, all, sizeof *w->ways);
    w->longer = plait_arena_alloc(w->arena, all, sizeof *w->longer);
    if (!w->run || !w->ways || !w->longer)
        return plait_fail_nomem(err);
    number_runs(w);
    const size_t prices = (size_t)(2 * w->stages) * (size_t)w->runs;
    w->price = plait_arena_alloc(w->arena, prices, sizeof *w->price);
    if (w->price == NULL)
        return plait_fail_nomem(err);
    for (size_t i = 0; i < prices; i++)
        w->price[i].time.forward_s = -1.0;
    return PLAIT_OK;
}

plait_status per_stage_dp(const per_stage_point *point, plait_arena *arena, per_stage_layout *out,
                          plait_error *err)
{
    const plait_problem *const problem = point->question->problem;
    int *const layers = plait_arena_alloc(arena, (size_t)point->degrees->pp, sizeof *layers);
    const plait_arena_mark mark = plait_arena_save(arena);
    deal_work w = {
        .point = point,
        .arena = arena,
        .out = out,
        .stages = point->degrees->pp,
        .layers = problem->model->layers,
        .microbatches = plait_degrees_microbatches(point->degrees, problem->job.gbs),
        .kept = per_stage_on_device(point),
        .homes = per_stage_may_differ_in_offload(point) ? 2 : 1,
    };
    deal_label none = {.way = way_begin()};

    *out = (per_stage_layout){.time_s = HUGE_VAL, .layers = layers};
    if (layers == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(begin(&w, err));
    PLAIT_TRY(fill_even(&w, layers, &out->fits, err));
    if (out->fits) {
        PLAIT_TRY(time_of(&w, layers, &w.best_s, err));
        w.ways[0] = &none;
        PLAIT_TRY(extend_all(&w, err));
        take_best(&w, layers);
        out->time_s = w.best_s;
    }
    plait_arena_rewind(arena, mark);
    return PLAIT_OK;
}
