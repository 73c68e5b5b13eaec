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
 *
 * with x the least f + b that fits. What is left at (p, L) is exact.
 */
#include <math.h>

#include "grow.h"
#include "mixed.h"
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
    bool dropped;
} layer_label;

typedef struct layer_dealer {
    mixed_question *q;
    const mixed_line *line;
    int layers;
    mixed_choice *choice[PLAIT_MAX_LAYERS]; /* of each stage */
    int least[PLAIT_MAX_LAYERS +
              1]; /* layers before a stage: at least, for those behind to hold the rest */
    int most[PLAIT_MAX_LAYERS + 1]; /* and at most */
    double *rest_s;                 /* [stages + 1][layers + 1] */
    double *work_s;
    int *head; /* the first label of each state; -1: none */
    int labels, room;
    layer_label *label;
    bool failed;
} layer_dealer;

static size_t state(const layer_dealer *d, int s, int i)
{
    return (size_t)s * (size_t)(d->layers + 1) + (size_t)i;
}

static mixed_place place_of(const layer_dealer *d, int s)
{
    return s == 0 ? MIXED_FIRST : s == d->line->shape.stages - 1 ? MIXED_LAST : MIXED_MIDDLE;
}

static int in_flight(const layer_dealer *d, int s)
{
    const int behind = d->line->shape.stages - s;

    return behind < d->line->shape.microbatches ? behind : d->line->shape.microbatches;
}

/* Layers that a stage leaves to those behind it at most: one to each at least. */
static int last_of(const layer_dealer *d, int s)
{
    return s == d->line->shape.stages - 1 ? d->layers : d->layers - (d->line->shape.stages - 1 - s);
}

static const mixed_ways *ways_of(layer_dealer *d, int s, int first, int last)
{
    const int end = s == 0 ? d->line->shape.stages - 1 : 0;
    const mixed_ways *ways =
        mixed_ways_of(d->q, d->choice[s], place_of(d, s), d->choice[end]->group, first, last);

    d->failed = d->failed || !ways;
    return ways;
}

// ---- bounds --------------------------------------------------------------------------------

/* The least f + b of a stage that fits; infinite where none does. */
static double quickest_s(layer_dealer *d, int s, int first, int last)
{
    const mixed_ways *ways = ways_of(d, s, first, last);
    double least_s = HUGE_VAL;

    for (int w = 0; ways && w < ways->count; w++)
        if (ways->way[w].most_in_flight >= in_flight(d, s))
            least_s = fmin(least_s, ways->way[w].price.forward_s + ways->way[w].price.backward_s);
    return least_s;
}

/* Layers that stage s holds at most in this time; of several kinds anything is taken for possible. */
static int most_layers(layer_dealer *d, int s, double most_s)
{
    int layers = 0;

    if (d->q->problem->model->kinds > 1)
        return d->layers;
    while (layers < d->layers && quickest_s(d, s, 0, layers + 1) <= most_s)
        layers++;
    return layers;
}

/* How many layers may lie before each stage; false where the line cannot hold all. */
static bool fill_window(layer_dealer *d, double most_s)
{
    const int stages = d->line->shape.stages;
    int held[PLAIT_MAX_LAYERS];

    d->most[0] = 0;
    for (int s = 0; s < stages; s++) {
        held[s] = most_layers(d, s, most_s);
        if (held[s] == 0)
            return false;
        const int most = d->most[s] + held[s];
        d->most[s + 1] = most < last_of(d, s) ? most : last_of(d, s);
    }
    d->least[stages] = d->layers;
    for (int s = stages - 1; s >= 0; s--) {
        const int least = d->least[s + 1] - held[s];
        d->least[s] = least > s ? least : s;
    }
    return d->least[0] == 0 && d->most[stages] == d->layers;
}

/* S.63, of stages that no plan worth keeping can exceed. */
static void fill_rest(layer_dealer *d, double most_s)
{
    const int stages = d->line->shape.stages;

    for (int i = 0; i <= d->layers; i++) {
        d->rest_s[state(d, stages, i)] = i == d->layers ? 0.0 : HUGE_VAL;
        d->work_s[state(d, stages, i)] = i == d->layers ? 0.0 : HUGE_VAL;
    }
    for (int s = stages - 1; s >= 0; s--)
        for (int i = 0; i <= d->layers; i++) {
            double rest_s = HUGE_VAL, work_s = HUGE_VAL;
            const bool within = i >= d->least[s] && i <= d->most[s];
            for (int j = i + 1; within && j <= d->most[s + 1]; j++) {
                const double x_s = quickest_s(d, s, i, j);
                if (x_s > most_s) // nor will more layers fit, or be quicker
                    break;
                rest_s = fmin(rest_s, fmax(x_s, d->rest_s[state(d, s + 1, j)]));
                work_s = fmin(work_s, x_s + d->work_s[state(d, s + 1, j)]);
            }
            d->rest_s[state(d, s, i)] = rest_s;
            d->work_s[state(d, s, i)] = work_s;
        }
}

/* What no completion of a label undercuts. (S.65) */
static double bound_of(const layer_dealer *d, const layer_label *label, int s, int i)
{
    const mixed_line *line = d->line;
    const double slowest_s = fmax(label->longest_s, d->rest_s[state(d, s, i)]);
    const double pipeline_s =
        fmax(label->walk.whole_s,
             mixed_pipeline_bound_s(&line->shape, slowest_s,
                                    label->walk.both_s + d->work_s[state(d, s, i)]));

    return slowest_s < HUGE_VAL
               ? line->weight * plait_between_step_s(d->q->problem, &label->between,
                                                     line->shape.microbatches, pipeline_s)
               : HUGE_VAL;
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

static void keep_label(layer_dealer *d, layer_label label, int s, int i)
{
    int *head = &d->head[state(d, s, i)];

    for (int l = *head; l >= 0; l = d->label[l].next)
        if (!d->label[l].dropped && as_good(&d->label[l], &label))
            return;
    for (int *l = head; *l >= 0;)
        if (as_good(&label, &d->label[*l]))
            *l = d->label[*l].next;
        else
            l = &d->label[*l].next;
    layer_label *more = grow_by_one(d->q->scratch, d->label, d->labels, &d->room, sizeof *more);
    d->failed = d->failed || !more;
    if (!more)
        return;
    d->label = more;
    label.next = d->head[state(d, s, i)];
    d->label[d->labels] = label;
    d->head[state(d, s, i)] = d->labels++;
}

/* One more stage behind label `from`. */
static void extend(layer_dealer *d, int from, int s, int j, const mixed_way *way)
{
    const plait_chunk_time time = {way->price.forward_s, way->price.backward_s, 0.0};
    layer_label label = d->label[from];

    plait_chain_pass(&label.walk, d->line->shape.stages, d->line->shape.microbatches, time);
    plait_between_add_stage(&label.between, &way->price);
    label.longest_s = fmax(label.longest_s, time.forward_s + time.backward_s);
    label.before = from;
    label.recompute = (unsigned char)way->recompute;
    if (bound_of(d, &label, s + 1, j) < mixed_limit(d->q))
        keep_label(d, label, s + 1, j);
}

static void extend_state(layer_dealer *d, int s, int i, double most_s)
{
    for (int j = i + 1; j <= d->most[s + 1]; j++) {
        const mixed_ways *ways = ways_of(d, s, i, j);
        if (!ways || quickest_s(d, s, i, j) > most_s)
            return;
        for (int w = 0; w < ways->count; w++)
            for (int l = d->head[state(d, s, i)];
                 l >= 0 && ways->way[w].most_in_flight >= in_flight(d, s); l = d->label[l].next) {
                d->label[l].layers = (short)i;
                extend(d, l, s, j, &ways->way[w]);
            }
    }
}

// ---- the plan ------------------------------------------------------------------------------

/* The stages of a label of all layers, from the last to the first. */
static bool build(layer_dealer *d, int best, plait_plan *plan)
{
    mixed_question *q = d->q;
    const int stages = d->line->shape.stages;
    plait_stage *stage = plait_arena_alloc(q->arena, (size_t)stages, sizeof *stage);
    plait_chunk chunk[PLAIT_MAX_LAYERS];
    int last = d->layers;

    if (!stage)
        return false;
    for (int s = stages - 1, l = best; s >= 0; s--, l = d->label[l].before) {
        const int first = d->label[d->label[l].before].layers;
        if (!mixed_stage(q, d->choice[s], place_of(d, s), first, last,
                         q->recompute[d->label[l].recompute], q->arena, &stage[s]))
            return false;
        stage[s].degrees.pp = stages;
        chunk[s] = stage[s].chunk[0];
        last = first;
    }
    if (plait_plan_lay(&stage[0].degrees, chunk, q->arena, plan, NULL) != PLAIT_OK)
        return false;
    for (int s = 0; s < stages; s++)
        stage[s].degrees.split = plan->degrees.split;
    plan->stage = stage;
    return true;
}

static void keep_best(layer_dealer *d)
{
    const mixed_line *line = d->line;
    double least = HUGE_VAL;
    int best = -1;
    plait_plan plan;

    for (int l = d->head[state(d, line->shape.stages, d->layers)]; l >= 0; l = d->label[l].next) {
        const double s =
            line->weight * plait_between_step_s(d->q->problem, &d->label[l].between,
                                                line->shape.microbatches, d->label[l].walk.whole_s);
        if (s < least) {
            least = s;
            best = l;
        }
    }
    if (best < 0 || least >= mixed_limit(d->q))
        return;
    if (build(d, best, &plan))
        mixed_keep(d->q, &plan, least);
    else
        d->failed = true;
}

static bool make_states(layer_dealer *d)
{
    const size_t states = state(d, d->line->shape.stages + 1, 0);

    d->rest_s = plait_arena_alloc(d->q->scratch, states, sizeof *d->rest_s);
    d->work_s = plait_arena_alloc(d->q->scratch, states, sizeof *d->work_s);
    d->head = plait_arena_alloc(d->q->scratch, states, sizeof *d->head);
    if (!d->rest_s || !d->work_s || !d->head)
        return false;
    for (size_t i = 0; i < states; i++)
        d->head[i] = -1;
    return true;
}

static void deal(layer_dealer *d)
{
    const mixed_line *line = d->line;
    const double most_s = mixed_limit(d->q) / line->weight / line->shape.microbatches;
    const layer_label none = {
        .walk = plait_chain_begin(), .between = line->between, .before = -1, .next = -1};

    for (int g = 0, s = 0; g < line->groups; g++)
        for (int n = 0; n < line->choice[g]->stages; n++)
            d->choice[s++] = line->choice[g];
    if (!fill_window(d, most_s))
        return;
    fill_rest(d, most_s);
    if (bound_of(d, &none, 0, 0) >= mixed_limit(d->q) || d->failed)
        return;
    d->q->solved++;
    keep_label(d, none, 0, 0);
    for (int s = 0; s < line->shape.stages; s++)
        for (int i = d->least[s]; i <= d->most[s] && !d->failed; i++)
            extend_state(d, s, i, most_s);
    d->q->labels += d->labels;
    if (!d->failed)
        keep_best(d);
}

plait_status mixed_deal(mixed_question *q, const mixed_line *line, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(q->scratch);
    layer_dealer *d = plait_arena_alloc(q->scratch, 1, sizeof *d);
    bool failed = true;

    if (d) {
        *d = (layer_dealer){.q = q, .line = line, .layers = q->problem->model->layers};
        if (make_states(d))
            deal(d);
        failed = d->failed || !d->head;
    }
    plait_arena_rewind(q->scratch, mark);
    return failed ? plait_fail_nomem(err) : PLAIT_OK;
}
