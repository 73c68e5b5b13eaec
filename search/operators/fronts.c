/*
 * fronts.c - variable elimination with a front of time and bytes in each entry of a table
 *
 * A label has the seconds and bytes of one choice for the variables that were eliminated into an
 * entry. A label is dropped if another label of its entry is as fast and as small, or if its time +
 * multiplier * bytes exceeds the minimum of its entry by more than the gap, since then every choice
 * that contains the label is slower than the best choice found so far. (S.43)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/operators/program.h"

typedef struct label {
    double time_s, bytes;
    const struct label
        *part[3]; /* labels of which it is the sum; all NULL for an option of a state */
    int variable, state, option;
    int order; /* position among the candidates of its entry */
} label;

typedef struct label_list {
    int count;
    label *label;
} label_list;

typedef struct front_search {
    const program *p;
    program_slack slack;
    plait_arena *arena;
    label_list *single[PROGRAM_VARIABLES];                  /* [states] */
    label_list *pair[PROGRAM_VARIABLES][PROGRAM_VARIABLES]; /* a < b: [states a][states b] */
    program_step step[PROGRAM_VARIABLES];
    label *candidate; /* labels of the entry under construction */
    int candidates, room;
    double least; /* minimum of time + multiplier * bytes over the candidates */
    bool whole, failed;
    int64_t labels;
} front_search;

// ---- one entry -----------------------------------------------------------------------------

static double key_of(const front_search *f, const label *l)
{
    return l->time_s + f->slack.multiplier * l->bytes;
}

static int smaller_first(const void *x, const void *y)
{
    const label *a = x, *b = y;

    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    return a->order - b->order;
}

static void prune(front_search *f)
{
    double fastest = HUGE_VAL;
    int kept = 0;

    qsort(f->candidate, (size_t)f->candidates, sizeof *f->candidate, smaller_first);
    for (int i = 0; i < f->candidates; i++) {
        const label *c = &f->candidate[i];
        if (c->time_s >= fastest || key_of(f, c) > f->least + f->slack.gap_s)
            continue;
        fastest = c->time_s;
        f->candidate[kept++] = *c;
    }
    f->candidates = kept;
    for (int i = 0; i < kept; i++)
        f->candidate[i].order = i;
}

static void begin_entry(front_search *f)
{
    f->candidates = 0;
    f->least = HUGE_VAL;
}

/*
 * Makes room for one more candidate. Removes dominated candidates, and doubles the array if more
 * than half of it is still in use. Returns false when out of memory.
 */
static bool has_room(front_search *f)
{
    if (f->candidates < f->room)
        return true;
    prune(f);
    if (f->candidates < f->room / 2)
        return true;
    label *more = plait_arena_alloc(f->arena, 2 * (size_t)f->room, sizeof *more);
    if (more == NULL) {
        f->failed = true;
        return false;
    }
    memcpy(more, f->candidate, (size_t)f->candidates * sizeof *more);
    f->candidate = more;
    f->room *= 2;
    return true;
}

/*
 * Adds a candidate unless a limit excludes it. After most_labels labels, each entry keeps only its
 * first candidate.
 */
static void add_candidate(front_search *f, label candidate)
{
    const double key = key_of(f, &candidate);

    f->labels++;
    if (f->slack.most_labels < f->labels && f->candidates > 0) {
        f->whole = false;
        return;
    }
    if (candidate.bytes > f->p->limit_bytes || key > f->least + f->slack.gap_s || !has_room(f))
        return;
    f->least = fmin(f->least, key);
    candidate.order = f->candidates;
    f->candidate[f->candidates++] = candidate;
}

static label_list end_entry(front_search *f)
{
    prune(f);
    const int most = f->slack.most_each;

    if (most != 0 && f->candidates > most) { // keep evenly spaced labels, both ends included
        for (int i = 0; i < most; i++)
            f->candidate[i] = f->candidate[(int64_t)i * (f->candidates - 1) / (most - 1)];
        f->candidates = most;
        f->whole = false;
    }
    label *const kept = plait_arena_alloc(f->arena, (size_t)f->candidates, sizeof *kept);
    if (kept == NULL) {
        f->failed = true;
        return (label_list){0, NULL};
    }
    memcpy(kept, f->candidate, (size_t)f->candidates * sizeof *kept);
    return (label_list){f->candidates, kept};
}

// ---- tables --------------------------------------------------------------------------------

/* Returns the entry of states i of a and j of b; a and b may be in either order. */
static label_list *entry_of(const front_search *f, int a, int i, int b, int j)
{
    return a < b ? &f->pair[a][b][i * f->p->variable[b].states + j]
                 : &f->pair[b][a][j * f->p->variable[a].states + i];
}

/*
 * Creates the table of a and b unless it exists, with one label of zero seconds and bytes in each
 * entry.
 */
static bool make_pair(front_search *f, int a, int b)
{
    const int low = a < b ? a : b, high = a < b ? b : a;
    const size_t size = (size_t)f->p->variable[low].states * (size_t)f->p->variable[high].states;

    if (f->pair[low][high] != NULL)
        return true;
    label_list *const list = plait_arena_alloc(f->arena, size, sizeof *list);
    label *const nothing = plait_arena_alloc(f->arena, size, sizeof *nothing);

    if (list == NULL || nothing == NULL)
        return false;
    for (size_t i = 0; i < size; i++) {
        nothing[i] = (label){.variable = -1};
        list[i] = (label_list){1, &nothing[i]};
    }
    f->pair[low][high] = list;
    return true;
}

static bool add_edge(front_search *f, const program_edge *edge)
{
    const int columns = f->p->variable[edge->b].states;

    if (!make_pair(f, edge->a, edge->b))
        return false;
    for (int i = 0; i < f->p->variable[edge->a].states; i++)
        for (int j = 0; j < columns; j++) {
            label_list *list = entry_of(f, edge->a, i, edge->b, j);
            list->label->time_s += edge->time_s[i * columns + j];
        }
    return true;
}

static bool fill_tables(front_search *f)
{
    f->room = 1024;
    f->candidate = plait_arena_alloc(f->arena, (size_t)f->room, sizeof *f->candidate);
    if (f->candidate == NULL)
        return false;
    for (int v = 0; v < f->p->variables; v++) {
        const int states = f->p->variable[v].states;
        f->single[v] = plait_arena_alloc(f->arena, (size_t)states, sizeof *f->single[v]);
        if (f->single[v] == NULL)
            return false;
        for (int s = 0; s < states; s++) {
            const program_state *state = &f->p->variable[v].state[s];

            begin_entry(f);
            for (int o = 0; o < state->options; o++)
                add_candidate(f, (label){.time_s = state->option[o].time_s,
                                         .bytes = state->option[o].bytes,
                                         .variable = v,
                                         .state = s,
                                         .option = o});
            f->single[v][s] = end_entry(f);
        }
    }
    for (int i = 0; i < f->p->edges; i++)
        if (!add_edge(f, &f->p->edge[i]))
            return false;
    return !f->failed;
}

// ---- removing a variable -------------------------------------------------------------------

static label nothing_at_all = {.variable = -1};
static const label_list only_nothing = {1, &nothing_at_all};

/* Adds the sums of one label from each list as candidates, in all combinations. */
static void offer_sums(front_search *f, label_list x, label_list y, label_list z)
{
    for (int i = 0; i < x.count; i++)
        for (int j = 0; j < y.count; j++)
            for (int k = 0; k < z.count; k++) {
                const label *parts[] = {&x.label[i], &y.label[j], &z.label[k]};
                add_candidate(f,
                              (label){
                                  .time_s = parts[0]->time_s + parts[1]->time_s + parts[2]->time_s,
                                  .bytes = parts[0]->bytes + parts[1]->bytes + parts[2]->bytes,
                                  .part = {parts[0], parts[1], parts[2]},
                                  .variable = -1,
                              });
            }
}

/*
 * Returns the front over the states of v, given state i of a and state j of b. A negative a or b
 * stands for no neighbour.
 */
static label_list front_over(front_search *f, int v, int a, int i, int b, int j)
{
    begin_entry(f);
    for (int s = 0; s < f->p->variable[v].states; s++)
        offer_sums(f, f->single[v][s], a < 0 ? only_nothing : *entry_of(f, v, s, a, i),
                   b < 0 ? only_nothing : *entry_of(f, v, s, b, j));
    return end_entry(f);
}

static void add_front(front_search *f, label_list *there, label_list front)
{
    begin_entry(f);
    offer_sums(f, *there, front, only_nothing);
    *there = end_entry(f);
}

static bool remove_between(front_search *f, int v, int a, int b)
{
    if (!make_pair(f, a, b))
        return false;
    for (int i = 0; i < f->p->variable[a].states; i++)
        for (int j = 0; j < f->p->variable[b].states; j++)
            add_front(f, entry_of(f, a, i, b, j), front_over(f, v, a, i, b, j));
    return true;
}

/*
 * Eliminates all variables. *whole receives the front of the graph: the sums over its connected
 * components.
 */
static bool remove_all(front_search *f, label_list *whole)
{
    *whole = only_nothing;
    for (int i = 0; i < f->p->variables; i++) {
        const int v = f->step[i].variable, *const pair = f->step[i].neighbour;
        if (f->step[i].neighbours == 0)
            add_front(f, whole, front_over(f, v, -1, 0, -1, 0));
        else if (f->step[i].neighbours == 1) {
            for (int j = 0; j < f->p->variable[pair[0]].states; j++)
                add_front(f, &f->single[pair[0]][j], front_over(f, v, pair[0], j, -1, 0));
        } else if (!remove_between(f, v, pair[0], pair[1]))
            return false;
        if (f->failed)
            return false;
    }
    return true;
}

static void read_off(const label *l, program_choice *choice)
{
    if (l == NULL)
        return;
    if (l->variable >= 0) {
        choice->state[l->variable] = l->state;
        choice->option[l->variable] = l->option;
    }
    for (int i = 0; i < 3; i++)
        read_off(l->part[i], choice);
}

plait_status program_fronts(const program *p, program_slack slack, plait_arena *arena,
                            program_choice *choice, bool *found, bool *whole, int64_t *labels,
                            plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    front_search *f = plait_arena_alloc(arena, 1, sizeof *f);
    label_list all;

    PLAIT_TRY(plait_check_allocated(f, err));
    *f = (front_search){.p = p, .slack = slack, .arena = arena, .whole = true};
    if (!program_order(p, -1, f->step))
        return plait_fail(err, PLAIT_ERROR_RANGE, "operators",
                          "expected a graph of tree-width 2, found a wider one");
    PLAIT_TRY(plait_check_allocated(fill_tables(f) && remove_all(f, &all), err));
    *found = all.count > 0;
    if (*found) { // labels are sorted by bytes, so the last is the fastest
        read_off(&all.label[all.count - 1], choice);
        program_price(p, choice);
    }
    *whole = f->whole;
    *labels += f->labels;
    plait_arena_rewind(arena, mark);
    return PLAIT_OK;
}
