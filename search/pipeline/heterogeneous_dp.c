/*
 * layers.c - the best layers of one line
 *
 * Stages are walked from the first to the last. A label of state (s, i), the first s stages holding the
 * first i layers, is what the price will read of them: the chains of C.73 that have turned, and the
 * longest gradients, gathers and optimizer. The step grows with each of ten numbers (S.64), so a label
 * that is at or above another in all of them is dropped; so is one whose bound reaches the best plan
 * known (S.65). rest_s and work_s, from the last stage back, are that bound's:
 *
 *     rest_s(s, i) = min over l of max(x(s, i, i + l), rest_s(s + 1, i + l))                    (S.63)
 *     work_s(s, i) = min over l of     x(s, i, i + l) + work_s(s + 1, i + l)
 *     after_s(s, i) = min over l of max(a(s, i, i + l), after_s(s + 1, i + l))
 *
 * with x the least f + b that fits, and a the least that follows the pipeline. What is left at (p, L) is
 * exact. Lines are dealt by several threads: nothing but the arena is written.
 */
#include <math.h>

#include "base/grow.h"
#include "search/pipeline/heterogeneous.h"
#include "base/numbers.h"
#include "plait/schedule.h"

/* A way to hold the first layers on the first stages. */
typedef struct layer_label {
    plait_chain walk;
    plait_between_stages between; /* sends of the line, the rest of the stages so far */
    double longest_s;             /* f + b of one stage */
    int before;                   /* label of the stage before; -1: none */
    int next;                     /* of the same state; -1: the last */
    short layers;                 /* of the last stage */
    unsigned char recompute;
    double bound;
} layer_label;

/* What stages from one on take at least, with the layers that are left for them. */
typedef struct layer_rest {
    double longest_s;
    double work_s;
    double after_s;
} layer_rest;

typedef struct layer_dealer {
    const hetero_problem *q;
    const group_order *line;
    double limit;
    plait_arena *arena;
    int layers;
    group_degrees **choice;  /* [stages] */
    const stage_bound **row; /* [stages] */
    int *
        least; /* [stages + 1]: layers before a stage, for those behind to hold the rest: at least */
    int *most;        /* and at most */
    layer_rest *rest; /* [stages + 1][layers + 1] */
    int *head;        /* the first label of each state; -1: none */
    int labels, room;
    layer_label *label;
    bool failed;
} layer_dealer;

static size_t state(const layer_dealer *d, int s, int i)
{
    return (size_t)s * (size_t)(d->layers + 1) + (size_t)i;
}

static int stages_of(const layer_dealer *d)
{
    return d->line->set->shape.stages;
}

/* Layers that a stage leaves to those behind it at most: one to each at least. */
static int last_of(const layer_dealer *d, int s)
{
    return d->layers - (stages_of(d) - 1 - s);
}

static stage_bound least_of(const layer_dealer *d, int s, int first, int last)
{
    return d->row[s][hetero_range(d->q, first, last)];
}

/* Rows and ways are there: a row was made of each stage of the line, and of its ways. */
static const stage_bound *row_of(const layer_dealer *d, int s)
{
    const hetero_place place = hetero_place_of(d->line->set, s);
    const int end = hetero_end(d->q, d->choice[s], place, hetero_other_end(d->line, s));

    return d->choice[s]->least[place][end][hetero_in_flight(d->line->set, s)];
}

static const stage_options *ways_of(const layer_dealer *d, int s, int first, int last)
{
    const hetero_place place = hetero_place_of(d->line->set, s);
    const int end = hetero_end(d->q, d->choice[s], place, hetero_other_end(d->line, s));

    return &d->choice[s]->ways[place][end][hetero_range(d->q, first, last)];
}

// ---- bounds --------------------------------------------------------------------------------

/* Layers that stage s holds at most in this time; of several kinds anything is taken for possible. */
static int most_layers(const layer_dealer *d, int s)
{
    int layers = 0;

    if (d->q->problem->model->kinds > 1)
        return d->layers;
    while (layers < d->layers && least_of(d, s, 0, layers + 1).stage_s <= d->line->most_s)
        layers++;
    return layers;
}

/* How many layers may lie before each stage; false where the line cannot hold all. */
static bool fill_window(layer_dealer *d)
{
    const int stages = stages_of(d);

    for (int s = 0; s < stages; s++) {
        const int held = most_layers(d, s);
        const int most = d->most[s] + held;
        if (held == 0)
            return false;
        d->most[s + 1] = most < last_of(d, s) ? most : last_of(d, s);
        d->least[s] = held; // until the next loop
    }
    d->least[stages] = d->layers;
    for (int s = stages - 1; s >= 0; s--) {
        const int least = d->least[s + 1] - d->least[s];
        d->least[s] = least > s ? least : s;
    }
    return d->least[0] == 0 && d->most[stages] == d->layers;
}

/* S.63, of stages that no plan worth keeping can exceed. */
static layer_rest rest_of(const layer_dealer *d, int s, int i)
{
    const int *range = &d->q->range[i * (d->layers + 1)];
    layer_rest rest = {HUGE_VAL, HUGE_VAL, HUGE_VAL};

    for (int j = i + 1; j <= d->most[s + 1]; j++) {
        const stage_bound *least = &d->row[s][range[j]];
        const layer_rest *behind = &d->rest[state(d, s + 1, j)];
        if (least->stage_s > d->line->most_s) // nor will more layers fit, or be quicker
            break;
        rest.longest_s = smaller(rest.longest_s, larger(least->stage_s, behind->longest_s));
        rest.work_s = smaller(rest.work_s, least->stage_s + behind->work_s);
        rest.after_s = smaller(rest.after_s, larger(least->after_s, behind->after_s));
    }
    return rest;
}

static void fill_rest(layer_dealer *d)
{
    const layer_rest nothing = {0.0, 0.0, 0.0}, never = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
    const int stages = stages_of(d);

    for (int i = 0; i <= d->layers; i++)
        d->rest[state(d, stages, i)] = i == d->layers ? nothing : never;
    for (int s = stages - 1; s >= 0; s--)
        for (int i = 0; i <= d->layers; i++)
            d->rest[state(d, s, i)] =
                i >= d->least[s] && i <= d->most[s] ? rest_of(d, s, i) : never;
}

/* What no completion of a label undercuts. (S.65) */
static double bound_of(const layer_dealer *d, const layer_label *label, int s, int i)
{
    const group_choice *set = d->line->set;
    const layer_rest *rest = &d->rest[state(d, s, i)];
    const plait_between_stages *own = &label->between;
    const double slowest_s = larger(label->longest_s, rest->longest_s);
    const double own_after_s = own->reduce_s + own->gather_s + own->optimizer_s;

    if (slowest_s == HUGE_VAL)
        return HUGE_VAL;
    const double pipeline_s =
        larger(label->walk.whole_s,
               pipeline_lower_bound_s(&set->shape, slowest_s, label->walk.both_s + rest->work_s));
    return set->weight *
           (plait_between_step_s(d->q->problem, own, set->shape.microbatches, pipeline_s) +
            larger(0.0, rest->after_s - own_after_s));
}

// ---- labels --------------------------------------------------------------------------------

/* The ten numbers that a step grows with. (S.64) */
static bool as_good(const layer_label *a, const layer_label *b)
{
    const plait_chain *v = &a->walk, *w = &b->walk;

    return v->both_s <= w->both_s && v->forward_s <= w->forward_s &&
           v->backward_s <= w->backward_s && v->whole_s <= w->whole_s &&
           v->rounds_s + 2.0 * v->both_s <= w->rounds_s + 2.0 * w->both_s &&
           v->with_there_s + v->both_s <= w->with_there_s + w->both_s &&
           v->with_back_s + v->both_s <= w->with_back_s + w->both_s &&
           a->between.reduce_s <= b->between.reduce_s &&
           a->between.gather_s <= b->between.gather_s &&
           a->between.optimizer_s <= b->between.optimizer_s;
}

/* Takes those that are no better out of a list; returns how many are left, -1 if one is as good. */
static int clear_worse(layer_dealer *d, const layer_label *label, int *head)
{
    int left = 0;

    for (int l = *head; l >= 0; l = d->label[l].next)
        if (as_good(&d->label[l], label))
            return -1;
    for (int *l = head; *l >= 0;)
        if (as_good(label, &d->label[*l])) {
            *l = d->label[*l].next;
        } else {
            l = &d->label[*l].next;
            left++;
        }
    return left;
}

/* The label with the largest bound of a list. */
static int worst_of(const layer_dealer *d, int head)
{
    int worst = head;

    for (int l = head; l >= 0; l = d->label[l].next)
        if (d->label[l].bound > d->label[worst].bound)
            worst = l;
    return worst;
}

static void keep_label(layer_dealer *d, layer_label label, int s, int i)
{
    int *head = &d->head[state(d, s, i)];
    const int left = clear_worse(d, &label, head);
    const int worst = left >= d->line->most_labels ? worst_of(d, *head) : -1;

    if (left < 0 || (worst >= 0 && d->label[worst].bound <= label.bound))
        return;
    if (worst >= 0) {
        label.next = d->label[worst].next;
        d->label[worst] = label;
        return;
    }
    layer_label *more = grow_by_one(d->arena, d->label, d->labels, &d->room, sizeof *more);
    d->failed = d->failed || !more;
    if (!more)
        return;
    d->label = more;
    label.next = *head;
    d->label[d->labels] = label;
    *head = d->labels++;
}

/* One more stage behind label `from`. */
static void extend(layer_dealer *d, int from, int s, int j, const stage_option *way)
{
    const pipeline_shape *shape = &d->line->set->shape;
    const plait_chunk_time time = {way->forward_s, way->backward_s, 0.0};
    layer_label label = d->label[from];

    plait_chain_pass(&label.walk, shape->stages, shape->microbatches, time);
    label.between.reduce_s = larger(label.between.reduce_s, way->reduce_s);
    label.between.gather_s = larger(label.between.gather_s, way->gather_s);
    label.between.optimizer_s = larger(label.between.optimizer_s, way->optimizer_s);
    label.longest_s = larger(label.longest_s, stage_option_s(way));
    label.before = from;
    label.recompute = (unsigned char)way->recompute;
    label.bound = bound_of(d, &label, s + 1, j);
    if (label.bound < d->limit)
        keep_label(d, label, s + 1, j);
}

static void extend_state(layer_dealer *d, int s, int i)
{
    for (int j = i + 1; j <= d->most[s + 1]; j++) {
        if (d->head[state(d, s, i)] < 0 || least_of(d, s, i, j).stage_s > d->line->most_s)
            return;
        const stage_options *ways = ways_of(d, s, i, j);
        for (int w = 0; w < ways->count; w++)
            for (int l = d->head[state(d, s, i)];
                 l >= 0 && ways->way[w].most_in_flight >= hetero_in_flight(d->line->set, s);
                 l = d->label[l].next) {
                d->label[l].layers = (short)i;
                extend(d, l, s, j, &ways->way[w]);
            }
    }
}

// ---- the line ------------------------------------------------------------------------------

/* The stages of a label of all layers, from the last to the first. */
static void tell(const layer_dealer *d, int best, hetero_layout *out)
{
    for (int s = stages_of(d) - 1, l = best, last = d->layers; s >= 0; s--) {
        out->last[s] = (short)last;
        out->recompute[s] = d->label[l].recompute;
        l = d->label[l].before;
        last = d->label[l].layers;
    }
}

static void tell_best(const layer_dealer *d, hetero_layout *out)
{
    const group_choice *set = d->line->set;
    int best = -1;

    for (int l = d->head[state(d, set->shape.stages, d->layers)]; l >= 0; l = d->label[l].next) {
        const double objective =
            set->weight * plait_between_step_s(d->q->problem, &d->label[l].between,
                                               set->shape.microbatches, d->label[l].walk.whole_s);
        if (objective < out->objective) {
            out->objective = objective;
            best = l;
        }
    }
    if (best >= 0)
        tell(d, best, out);
}

static bool make_stages(layer_dealer *d)
{
    const size_t stages = (size_t)stages_of(d);
    int at = 0;

    d->choice = plait_arena_alloc(d->arena, stages, sizeof(group_degrees *));
    d->row = plait_arena_alloc(d->arena, stages, sizeof(stage_bound *));
    d->least = plait_arena_alloc(d->arena, stages + 1, sizeof *d->least);
    d->most = plait_arena_alloc(d->arena, stages + 1, sizeof *d->most);
    if (!d->choice || !d->row || !d->least || !d->most)
        return false;
    for (int r = 0; r < d->line->set->runs; r++)
        for (int n = 0; n < d->line->run[r]->stages; n++, at++) {
            d->choice[at] = d->line->run[r]->choice;
            d->row[at] = row_of(d, at);
        }
    return true;
}

static bool make_states(layer_dealer *d)
{
    const size_t states = state(d, stages_of(d) + 1, 0);

    d->rest = plait_arena_alloc(d->arena, states, sizeof *d->rest);
    d->head = plait_arena_alloc(d->arena, states, sizeof *d->head);
    if (!d->rest || !d->head)
        return false;
    for (size_t i = 0; i < states; i++)
        d->head[i] = -1;
    return true;
}

static void deal(layer_dealer *d, hetero_layout *out)
{
    const layer_label none = {
        .walk = plait_chain_begin(), .between = d->line->between, .before = -1, .next = -1};

    d->failed = !make_stages(d);
    if (d->failed || !fill_window(d))
        return;
    d->failed = !make_states(d);
    if (d->failed)
        return;
    fill_rest(d);
    if (bound_of(d, &none, 0, 0) >= d->limit)
        return;
    out->solved = true;
    keep_label(d, none, 0, 0);
    for (int s = 0; s < stages_of(d); s++)
        for (int i = d->least[s]; i <= d->most[s] && !d->failed; i++)
            extend_state(d, s, i);
    if (!d->failed)
        tell_best(d, out);
}

hetero_layout hetero_dp(const hetero_problem *q, const group_order *line, double limit,
                        plait_arena *arena)
{
    const size_t stages = (size_t)line->set->shape.stages;
    hetero_layout out = {.objective = HUGE_VAL,
                         .last = plait_arena_alloc(arena, stages, sizeof *out.last),
                         .recompute = plait_arena_alloc(arena, stages, sizeof *out.recompute)};
    const plait_arena_mark mark = plait_arena_save(arena);
    layer_dealer d = {
        .q = q, .line = line, .limit = limit, .arena = arena, .layers = q->problem->model->layers};

    out.failed = !out.last || !out.recompute;
    if (!out.failed) {
        deal(&d, &out);
        out.failed = d.failed;
    }
    plait_arena_rewind(arena, mark);
    return out;
}
