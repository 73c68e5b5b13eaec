/* engine.c - extends, bounds and prunes the labels of a 1F1B pipeline, stage by stage */
#include "search/pipeline/engine.h"

#include <math.h>

#include "base/grow.h"
#include "base/numbers.h"

/*
 * The engine stores the labels of all stages in one array, since the path to an answer is read back
 * through them. Two rows of lists index it by state: `now` for the current stage, `next` for the
 * one after it. In the drawing numbers are labels, arrows the field `next` of a label.
 *
 *     now    state:   0     1     2     3          next   state:   0     1     2     3
 *                     |           |                                      |           |
 *     label           7 -> 5      6                                      9           11 -> 8
 *                                                            before:     5            6    7
 *
 * `stage` and `state` are valid while the caller lists options. These options fill the lists of
 * `next`, which become `now` after the last state. A list has at most most_labels labels, and none
 * that another label of the list dominates. A dropped label stays in the array unless the label
 * that replaced it reuses its slot. `failed` is set when memory runs out, and stops the search.
 */
struct pipeline_engine {
    const pipeline_problem *problem;
    plait_arena *arena;
    int stage, state;
    int *now, *next; /* [states] first label of each list; -1: empty */
    pipeline_label *label;
    int labels, capacity;
    bool complete;
    bool failed;
};

// ---- bounds --------------------------------------------------------------------------------

/*
 * Returns the largest sum of the work x_s of all p stages in a pipeline of one second with m
 * microbatches, if all stages together do work W. Chains of C.73 limit each x_s by
 *
 *     m x_s + P_s <= 1,  and
 *     2 W - P_s + (m - 1 - p + s) x_s <= 1  for s > p - m,  else  W + (m - 1) x_s / 2 <= 1
 *
 * with P_s the work before stage s. The sum never falls when the work before a stage grows. (S.62)
 */
static double reachable_work(int p, int m, double work_s)
{
    double before_s = 0.0;

    for (int s = 0; s < p; s++) {
        const double rounds = m - 1.0 - p + s;
        double x_s = (1.0 - before_s) / m;
        if (s > p - m && rounds > 0.0)
            x_s = smaller(x_s, (1.0 - 2.0 * work_s + before_s) / rounds);
        if (s <= p - m && m > 1)
            x_s = smaller(x_s, 2.0 * (1.0 - work_s) / (m - 1.0));
        before_s += larger(0.0, x_s);
    }
    return before_s;
}

double pipeline_max_work(int stages, int microbatches)
{
    double low = 0.0, high = 1.0;

    for (int i = 0; i < 50; i++) {
        const double middle = 0.5 * (low + high);
        if (reachable_work(stages, microbatches, middle) >= middle)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double pipeline_lower_bound_s(const pipeline_shape *shape, double slowest_s, double work_s)
{
    const int stages = shape->stages, microbatches = shape->microbatches;
    const double m = microbatches;
    const double mean_s = work_s + (m - 0.5 * (stages + 1)) * slowest_s;
    const double round_s = 2.0 * work_s + (m - 1.0 - stages) * slowest_s;
    const double alone_s = larger(work_s / shape->max_work, m * slowest_s);

    return microbatches > stages ? larger(alone_s, larger(mean_s, round_s))
           : microbatches > 1    ? larger(alone_s, round_s)
                                 : alone_s;
}

static double step_s(const pipeline_problem *problem, double pipeline_s,
                     const plait_stage_tail *tail)
{
    return problem->step_s ? problem->step_s(problem->context, pipeline_s, tail)
                           : pipeline_s + pipeline_tail_s(tail);
}

/*
 * Returns a lower bound of the objective of every completion of a label (S.65). The bound covers
 * two more chains than S.61: the work of the stages so far followed by all microbatches of the
 * slowest remaining stage; and the chains of the label that have already gone from forward to
 * backward, extended to the last stage and back.
 */
static double lower_bound(const pipeline_problem *problem, const pipeline_label *label,
                          const pipeline_rest *rest)
{
    const plait_chain *const chain = &label->chain;
    const pipeline_shape *const shape = &problem->shape;
    double pipeline_s = chain->whole_s;

    if (chain->stages < shape->stages) {
        const double work_s = chain->both_s + rest->work_s;
        const double slowest_s = larger(label->slowest_s, rest->slowest_s);
        pipeline_s = larger(pipeline_s, pipeline_lower_bound_s(shape, slowest_s, work_s));
        pipeline_s = larger(pipeline_s, chain->both_s + shape->microbatches * rest->slowest_s);
        pipeline_s = larger(pipeline_s, work_s + larger(chain->with_there_s, chain->with_back_s));
    }
    return problem->weight * (step_s(problem, pipeline_s, &label->tail) +
                              larger(0.0, rest->tail_s - pipeline_tail_s(&label->tail)));
}

// ---- labels --------------------------------------------------------------------------------

/*
 * Returns whether label a dominates b: none of ten numbers is larger for a. The step, and these
 * numbers after further stages, grow with each of them. (S.64)
 */
static bool dominates(const pipeline_label *a, const pipeline_label *b)
{
    const plait_chain *v = &a->chain, *w = &b->chain;

    return v->whole_s <= w->whole_s && v->both_s <= w->both_s && v->forward_s <= w->forward_s &&
           v->backward_s <= w->backward_s &&
           v->with_there_s + v->both_s <= w->with_there_s + w->both_s &&
           v->with_back_s + v->both_s <= w->with_back_s + w->both_s &&
           v->rounds_s + 2.0 * v->both_s <= w->rounds_s + 2.0 * w->both_s &&
           a->tail.reduce_s <= b->tail.reduce_s && a->tail.gather_s <= b->tail.gather_s &&
           a->tail.optimizer_s <= b->tail.optimizer_s;
}

/*
 * Removes the labels that `label` dominates from the list at `head`. Returns the number of labels
 * left, or -1 if one of them dominates `label`.
 */
static int remove_dominated(pipeline_engine *e, const pipeline_label *label, int *head)
{
    int left = 0;

    for (int l = *head; l >= 0; l = e->label[l].next)
        if (dominates(&e->label[l], label))
            return -1;
    for (int *link = head; *link >= 0;)
        if (dominates(label, &e->label[*link])) {
            *link = e->label[*link].next;
        } else {
            link = &e->label[*link].next;
            left++;
        }
    return left;
}

static void keep_label(pipeline_engine *e, pipeline_label *label)
{
    int *const head = &e->next[label->state];
    const int left = remove_dominated(e, label, head);

    if (left < 0)
        return;
    if (left >= e->problem->most_labels) {
        int worst = *head;
        for (int l = *head; l >= 0; l = e->label[l].next)
            if (e->label[l].bound > e->label[worst].bound)
                worst = l;
        e->complete = false;
        if (e->label[worst].bound > label->bound) {
            label->next = e->label[worst].next;
            e->label[worst] = *label;
        }
        return;
    }
    pipeline_label *const more =
        grow_by_one(e->arena, e->label, e->labels, &e->capacity, sizeof *more);
    e->failed = e->failed || !more;
    if (!more)
        return;
    e->label = more;
    label->next = *head;
    e->label[e->labels] = *label;
    *head = e->labels++;
}

void pipeline_pass(const pipeline_problem *problem, const pipeline_option *option,
                   pipeline_label *label)
{
    const plait_stage_tail *const more = &option->tail;
    plait_stage_tail *const tail = &label->tail;

    plait_chain_pass(&label->chain, problem->shape.stages, problem->shape.microbatches,
                     option->time);
    tail->reduce_s = problem->reductions_add ? tail->reduce_s + more->reduce_s
                                             : larger(tail->reduce_s, more->reduce_s);
    tail->gather_s = larger(tail->gather_s, more->gather_s);
    tail->optimizer_s = larger(tail->optimizer_s, more->optimizer_s);
    label->slowest_s = larger(label->slowest_s, option->time.forward_s + option->time.backward_s);
    label->state = option->state;
    label->choice = option->choice;
}

void pipeline_extend(pipeline_engine *e, const pipeline_option *option)
{
    const pipeline_problem *const problem = e->problem;
    const pipeline_rest rest = problem->rest(problem->context, e->stage + 1, option->state);

    if (rest.slowest_s == HUGE_VAL)
        return;
    for (int l = e->now[e->state]; l >= 0 && !e->failed; l = e->label[l].next) {
        pipeline_label label = e->label[l];

        pipeline_pass(problem, option, &label);
        label.before = l;
        label.bound = lower_bound(problem, &label, &rest);
        if (label.bound < problem->limit)
            keep_label(e, &label);
    }
}

// ---- stages --------------------------------------------------------------------------------

static plait_status fill_stages(pipeline_engine *e, plait_error *err)
{
    const pipeline_problem *const problem = e->problem;

    for (e->stage = 0; e->stage < problem->shape.stages; e->stage++) {
        int *const done = e->now;

        for (int i = 0; i < problem->states; i++)
            e->next[i] = -1;
        for (e->state = 0; e->state < problem->states; e->state++)
            if (e->now[e->state] >= 0)
                PLAIT_TRY(problem->list(e, problem->context, e->stage, e->state, err));
        if (e->failed)
            return plait_fail_nomem(err);
        e->now = e->next;
        e->next = done;
    }
    return PLAIT_OK;
}

static void take_answers(const pipeline_engine *e, pipeline_result *out)
{
    out->labels = e->labels - 1;
    out->complete = e->complete;
    out->label = e->label;
    out->first = e->now[e->problem->goal];
    for (int l = out->first; l >= 0; l = e->label[l].next)
        if (e->label[l].bound < out->value) { // with all stages filled, the bound is the objective
            out->value = e->label[l].bound;
            out->best = l;
        }
}

plait_status pipeline_solve(const pipeline_problem *problem, plait_arena *arena,
                            pipeline_result *out, plait_error *err)
{
    const size_t states = (size_t)problem->states;
    const pipeline_rest rest = problem->rest(problem->context, 0, 0);
    pipeline_label empty = {.chain = plait_chain_begin(), .before = -1};
    pipeline_engine e = {.problem = problem,
                         .arena = arena,
                         .now = plait_arena_alloc(arena, states, sizeof *e.now),
                         .next = plait_arena_alloc(arena, states, sizeof *e.next),
                         .complete = true};

    *out = (pipeline_result){
        .bound = rest.slowest_s < HUGE_VAL ? lower_bound(problem, &empty, &rest) : HUGE_VAL,
        .complete = true,
        .first = -1,
        .best = -1,
        .value = HUGE_VAL};
    PLAIT_TRY(plait_check_allocated(e.now && e.next, err));
    if (out->bound >= problem->limit)
        return PLAIT_OK;
    for (size_t i = 0; i < states; i++)
        e.now[i] = e.next[i] = -1;
    keep_label(&e, &empty);
    e.now[0] = e.next[0];
    PLAIT_TRY(e.failed ? plait_fail_nomem(err) : fill_stages(&e, err));
    take_answers(&e, out);
    return PLAIT_OK;
}

void pipeline_path(const pipeline_result *result, int answer, int stages,
                   const pipeline_label **path)
{
    for (int s = stages - 1, l = answer; s >= 0; s--) {
        path[s] = &result->label[l];
        l = path[s]->before;
    }
}

// ---- ranges of layers ----------------------------------------------------------------------

/* Number of layers of each kind before a given layer. */
typedef struct kind_counts {
    short of[PLAIT_MAX_LAYER_KINDS];
} kind_counts;

static bool same_kinds(const kind_counts *before, int kinds, int i, int j, int length)
{
    for (int k = 0; k < kinds; k++)
        if (before[i + length].of[k] - before[i].of[k] !=
            before[j + length].of[k] - before[j].of[k])
            return false;
    return true;
}

const int *pipeline_ranges(const plait_model *model, plait_arena *arena, int *count)
{
    const int side = model->layers + 1;
    int *const range = plait_arena_alloc(arena, (size_t)side * (size_t)side, sizeof *range);
    kind_counts *const before = plait_arena_alloc(arena, (size_t)side, sizeof *before);

    *count = 0;
    if (!range || !before)
        return NULL;
    for (int i = 0; i < model->layers; i++) {
        before[i + 1] = before[i];
        before[i + 1].of[model->layer_kind[i]]++;
    }
    for (int length = 0; length < side; length++)
        for (int i = 0; i + length < side; i++) {
            int same = i - 1; // try the previous range first: most often it matches
            if (same >= 0 && !same_kinds(before, model->kinds, i, same, length))
                for (same = 0; same < i && !same_kinds(before, model->kinds, i, same, length);)
                    same++;
            range[i * side + i + length] =
                same >= 0 && same < i ? range[same * side + same + length] : (*count)++;
        }
    return range;
}
