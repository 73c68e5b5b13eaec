/*
 * closest.c - nothing fits: the plan over several sorts of nodes that lacks least memory
 *
 * With l(s, i, j) what the leanest way to hold layers i .. j - 1 on stage s lacks of its nodes' memory,
 *
 *     lack(s, i) = min over j of max(l(s, i, j), lack(s + 1, j))                                 (S.69)
 *
 * in every order of every set of choices of as few sequences a replica as limits leave: more of them lack
 * more. A set whose layers do not fit within the best that is known, were each group the last of its line,
 * is left out.
 */
#include <math.h>

#include "search/pipeline/heterogeneous.h"
#include "base/numbers.h"
#include "search/space/space.h"

/* Bytes of a stage, by what it recomputes. */
typedef struct lean_bytes {
    double state, flight;
} lean_bytes;

struct stage_min_memory {
    lean_bytes *bytes; /* [recomputes]; NULL: not known yet */
};

typedef struct lean_walk {
    hetero_problem *q;
    const degrees_list *list; /* [PLAIT_MAX_NODE_GROUPS]: of one size */
    group_choice set;
    double best_bytes;
    group_order line; /* that lacks so much */
    group_choice of;  /* its set */
    hetero_layout dealt;
    bool failed;
} lean_walk;

// ---- one stage -----------------------------------------------------------------------------

static bool fill_lean(hetero_problem *q, group_degrees *choice, hetero_place place, int first,
                      int last, stage_min_memory *out)
{
    const plait_arena_mark mark = plait_arena_save(q->scratch);

    out->bytes = plait_arena_alloc(q->arena, (size_t)q->space.recomputes, sizeof *out->bytes);
    for (int r = 0; out->bytes && r < q->space.recomputes; r++) {
        plait_stage stage;
        if (!hetero_stage(q, choice, place, first, last, q->space.recompute[r], q->scratch, &stage))
            return false;
        const plait_stage_price price = plait_stage_sort_price(choice->sort, &stage, choice->group);
        out->bytes[r] = (lean_bytes){price.state_bytes, price.flight_bytes};
    }
    plait_arena_rewind(q->scratch, mark);
    return out->bytes != NULL;
}

/* What layers [first, last) lack on their nodes, negative where there is room; and which way lacks least. */
static double lack_of(lean_walk *walk, group_degrees *choice, hetero_place place, int in_flight,
                      int first, int last, int *recompute)
{
    hetero_problem *q = walk->q;
    stage_min_memory **all = &choice->lean[place];
    double least = HUGE_VAL;

    if (!*all)
        *all = plait_arena_alloc(q->arena, (size_t)q->ranges, sizeof **all);
    stage_min_memory *lean = *all ? &(*all)[hetero_range(q, first, last)] : NULL;
    walk->failed = !lean || (!lean->bytes && !fill_lean(q, choice, place, first, last, lean));
    if (walk->failed)
        return HUGE_VAL;
    for (int r = 0; r < q->space.recomputes; r++) {
        const double lack = lean->bytes[r].state + in_flight * lean->bytes[r].flight;
        if (lack - choice->capacity_bytes < least) {
            least = lack - choice->capacity_bytes;
            *recompute = r;
        }
    }
    return least;
}

// ---- one line ------------------------------------------------------------------------------

/* S.69 of a line, in tables of [stages + 1][layers + 1]. */
static void fill_lacks(lean_walk *walk, const group_order *line, double *lack, short *next)
{
    const int layers = walk->q->problem->model->layers, stages = line->set->shape.stages;

    for (int i = 0; i <= layers; i++)
        lack[stages * (layers + 1) + i] = i == layers ? -HUGE_VAL : HUGE_VAL;
    for (int r = line->set->runs - 1, s = stages - 1; r >= 0; r--)
        for (int n = 0; n < line->run[r]->stages; n++, s--)
            for (int i = 0; i <= layers; i++) {
                double *least = &lack[s * (layers + 1) + i];
                *least = HUGE_VAL;
                for (int j = i + 1; j <= layers && (s > 0 || i == 0) && !walk->failed; j++) {
                    int recompute;
                    const double own =
                        lack_of(walk, line->run[r]->choice, hetero_place_of(line->set, s),
                                hetero_in_flight(line->set, s), i, j, &recompute);
                    if (own >= walk->best_bytes || own >= *least) // nor will more layers lack less
                        break;
                    const double all = larger(own, lack[(s + 1) * (layers + 1) + j]);
                    if (all < *least) {
                        *least = all;
                        next[s * (layers + 1) + i] = (short)j;
                    }
                }
            }
}

static void tell(lean_walk *walk, const group_order *line, const short *next)
{
    const int layers = walk->q->problem->model->layers;

    walk->of = *line->set;
    walk->line = *line;
    walk->line.set = &walk->of;
    for (int r = 0, s = 0, i = 0; r < line->set->runs; r++)
        for (int n = 0; n < line->run[r]->stages; n++, s++) {
            const int j = next[s * (layers + 1) + i];
            int recompute = 0;
            lack_of(walk, line->run[r]->choice, hetero_place_of(line->set, s),
                    hetero_in_flight(line->set, s), i, j, &recompute);
            walk->dealt.last[s] = (short)j;
            walk->dealt.recompute[s] = (unsigned char)recompute;
            i = j;
        }
}

static void try_line(lean_walk *walk, const group_order *line)
{
    hetero_problem *q = walk->q;
    const plait_arena_mark mark = plait_arena_save(q->scratch);
    const size_t states =
        (size_t)(line->set->shape.stages + 1) * (size_t)(q->problem->model->layers + 1);
    double *lack = plait_arena_alloc(q->scratch, states, sizeof *lack);
    short *next = plait_arena_alloc(q->scratch, states, sizeof *next);

    walk->failed = walk->failed || !lack || !next;
    if (!walk->failed)
        fill_lacks(walk, line, lack, next);
    if (!walk->failed && lack[0] < walk->best_bytes) {
        walk->best_bytes = lack[0];
        tell(walk, line, next);
    }
    plait_arena_rewind(q->scratch, mark);
}

// ---- all lines -----------------------------------------------------------------------------

/* Could its stages hold all layers with less than is known to lack, each group the last of its line? */
static bool may_lack_less(lean_walk *walk, const group_choice *set)
{
    const int layers = walk->q->problem->model->layers;
    int held = 0, recompute;

    if (walk->q->problem->model->kinds > 1)
        return true;
    for (int r = 0; r < set->runs; r++)
        for (int k = 1; k <= set->run[r]->stages; k++) {
            const int in_flight = k < set->shape.microbatches ? k : set->shape.microbatches;
            int l = 0;
            while (l < layers && lack_of(walk, set->run[r]->choice, HETERO_MIDDLE, in_flight, 0,
                                         l + 1, &recompute) < walk->best_bytes)
                l++;
            if (l == 0)
                return false;
            held += l;
        }
    return held >= layers;
}

static void try_orders(lean_walk *walk, group_order *line, int at)
{
    if (at == line->set->runs || at == HETERO_RUNS) {
        try_line(walk, line);
        return;
    }
    for (int g = at; g < line->set->runs && g < HETERO_RUNS; g++) {
        stage_run *const here = line->run[at];
        line->run[at] = line->run[g];
        line->run[g] = here;
        try_orders(walk, line, at + 1);
        line->run[g] = line->run[at];
        line->run[at] = here;
    }
}

static void try_groups(lean_walk *walk, int g)
{
    group_choice *set = &walk->set;

    if (walk->failed)
        return;
    if (g == walk->q->problem->cluster->groups) {
        group_order line = {.set = set};
        for (int i = 0; i < set->runs; i++)
            line.run[i] = set->run[i];
        if (set->runs > 1 && set->shape.stages <= walk->q->problem->model->layers &&
            limits_allow(walk->q->options, PLAIT_KEY_PP, set->shape.stages) &&
            may_lack_less(walk, set))
            try_orders(walk, &line, 0);
        return;
    }
    for (int c = 0; c < walk->list[g].count; c++) {
        group_degrees *const choice = walk->list[g].choice[c]; // whole: the question is lean
        stage_run *const run = hetero_run(walk->q, choice, choice->most_stages);
        walk->failed = walk->failed || !run;
        if (!run)
            return;
        set->run[set->runs++] = run;
        set->shape.stages += run->stages;
        try_groups(walk, g + 1);
        set->shape.stages -= set->run[--set->runs]->stages;
    }
    try_groups(walk, g + 1);
}

plait_status hetero_closest(hetero_problem *q, plait_plan *plan, plait_error *err)
{
    const size_t layers = (size_t)q->problem->model->layers;
    lean_walk walk = {.q = q,
                      .best_bytes = q->lacks_bytes,
                      .dealt = {.last = plait_arena_alloc(q->arena, layers, sizeof(short)),
                                .recompute = plait_arena_alloc(q->arena, layers, 1)}};

    walk.failed = !walk.dealt.last || !walk.dealt.recompute;
    for (int size = 0; size < q->space.sizes && !walk.failed; size++) {
        walk.list = &q->space.list[size * PLAIT_MAX_NODE_GROUPS];
        walk.set =
            (group_choice){.shape.microbatches = hetero_microbatches(q, q->space.size[size])};
        try_groups(&walk, 0);
    }
    if (walk.failed)
        return plait_fail_nomem(err);
    q->lacks_bytes = walk.best_bytes;
    return walk.of.runs > 0 ? hetero_build_plan(q, &walk.line, &walk.dealt, plan, err) : PLAIT_OK;
}
