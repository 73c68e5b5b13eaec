/*
 * test_program.c - elimination finds what enumeration finds
 *
 * Random programs of up to eight variables on random graphs of tree-width two, with limits that bind
 * and that do not.
 */
#include <stdlib.h>

#include "support/assert_near.h"
#include "support/enumerate_program.h"
#include "support/few_draws.h"

enum { STATES = 4, INSTANCES = FEW_DRAWS ? 300 : 1500 };

static plait_arena *arena;

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

// ---- random programs -----------------------------------------------------------------------

typedef struct instance {
    program p;
    program_state state[PROGRAM_VARIABLES][STATES];
    double table[PROGRAM_EDGES][STATES * STATES];
} instance;

static void draw_variable(instance *in, int v, unsigned *seed)
{
    in->p.variable[v] = (program_variable){1 + (int)draw(seed, STATES), in->state[v]};
    for (int s = 0; s < in->p.variable[v].states; s++) {
        program_state *state = &in->state[v][s];
        state->options = 1 + (int)draw(seed, PROGRAM_OPTIONS);
        for (int o = 0; o < state->options; o++)
            state->option[o] = (program_option){draw(seed, 30), draw(seed, 30), o};
    }
}

static void draw_edge(instance *in, int a, int b, unsigned *seed)
{
    const int e = in->p.edges++;
    const int size = in->p.variable[a].states * in->p.variable[b].states;

    for (int i = 0; i < size; i++)
        in->table[e][i] = draw(seed, 20);
    in->p.edge[e] = (program_edge){a, b, in->table[e]};
}

/* A 2-tree with edges left out: each variable joins at most two that are joined themselves. */
static void draw_program(instance *in, unsigned *seed)
{
    int ends[2 * PROGRAM_VARIABLES][2], known = 0;

    *in = (instance){.p = {.variables = 2 + (int)draw(seed, 7)}};
    for (int v = 0; v < in->p.variables; v++)
        draw_variable(in, v, seed);
    ends[known][0] = 0, ends[known++][1] = 1;
    draw_edge(in, 0, 1, seed);
    for (int v = 2; v < in->p.variables; v++) {
        const int *to = ends[draw(seed, (unsigned)known)];
        const int a = to[0], b = to[1];
        if (draw(seed, 6) > 0)
            draw_edge(in, a, v, seed);
        if (draw(seed, 3) > 0)
            draw_edge(in, v, b, seed);
        ends[known][0] = a, ends[known++][1] = v;
        ends[known][0] = v, ends[known++][1] = b;
    }
    in->p.limit_bytes = draw(seed, 30u * (unsigned)in->p.variables);
}

// ---- elimination -----------------------------------------------------------------------

static void test_elimination_is_enumeration(void **state)
{
    (void)state;
    static instance in;
    unsigned seed = 20;
    int binding = 0;

    for (int i = 0; i < INSTANCES; i++) {
        do
            draw_program(&in, &seed);
        while (program_combinations(&in.p) > 2e5);
        const plait_arena_mark mark = plait_arena_save(arena);
        program_answer answer;
        assert_enumerated(&in.p, arena);
        assert_int_equal(program_solve(&in.p, 1 << 24, arena, &answer, NULL), PLAIT_OK);
        binding += answer.labels > 0;
        plait_arena_rewind(arena, mark);
    }
    assert_true(binding > INSTANCES / 15); // gaps that had to be closed
}

/* A budget of nothing: an answer that fits, its bound below it, and no claim beyond. */
static void test_a_small_budget_leaves_a_true_gap(void **state)
{
    (void)state;
    static instance in;
    unsigned seed = 7;

    for (int i = 0; i < 300; i++) {
        program_answer answer;
        do
            draw_program(&in, &seed);
        while (program_combinations(&in.p) > 2e4);
        const enumeration best = program_enumerate(&in.p);
        assert_int_equal(program_solve(&in.p, 5, arena, &answer, NULL), PLAIT_OK);
        if (!answer.feasible)
            continue;
        assert_true(answer.choice.bytes <= in.p.limit_bytes);
        assert_true(answer.lower_s <= best.time_s + 1e-9);
        assert_true(answer.choice.time_s >= best.time_s - 1e-9);
        assert_true(!answer.proven || fabs(answer.choice.time_s - best.time_s) < 1e-9);
    }
}

static void test_more_memory_is_never_slower(void **state)
{
    (void)state;
    static instance in;
    unsigned seed = 99;

    for (int i = 0; i < 100; i++) {
        double last = HUGE_VAL;
        draw_program(&in, &seed);
        for (in.p.limit_bytes = 0.0; in.p.limit_bytes < 120.0; in.p.limit_bytes += 10.0) {
            program_answer answer;
            assert_int_equal(program_solve(&in.p, 1 << 24, arena, &answer, NULL), PLAIT_OK);
            if (!answer.feasible)
                continue;
            assert_true(answer.choice.time_s <= last);
            last = answer.choice.time_s;
        }
    }
}

/* Four variables that all see each other cannot be removed two neighbours at a time. */
static void test_a_wider_graph_is_refused(void **state)
{
    (void)state;
    static instance in;
    unsigned seed = 1;
    program_answer answer;
    plait_error err;

    in = (instance){.p = {.variables = 4, .limit_bytes = 1.0}};
    for (int v = 0; v < 4; v++)
        draw_variable(&in, v, &seed);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < a; b++)
            draw_edge(&in, a, b, &seed);
    assert_int_equal(program_solve(&in.p, 1, arena, &answer, &err), PLAIT_ERROR_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elimination_is_enumeration),
        cmocka_unit_test(test_a_small_budget_leaves_a_true_gap),
        cmocka_unit_test(test_more_memory_is_never_slower),
        cmocka_unit_test(test_a_wider_graph_is_refused),
    };

    arena = plait_arena_new();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    plait_arena_free(arena);
    return failed;
}
