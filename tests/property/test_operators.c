/*
 * test_operators.c - strategies of operators: elimination is enumeration is integer programming
 *
 * Whole blocks are held against GLPK on meshes of two axes, small ones against enumeration, and the
 * answers against what must hold of any: more memory is never slower, equal axes may be exchanged, an
 * axis cut into two allows whatever the axis does, the plan costs what was claimed.
 */
#include <stdlib.h>

#include "support/assert_near.h"
#include "support/enumerate_program.h"
#include "support/few_draws.h"
#include "support/glpk_program.h"
#include "search/operators/layer_graph.h"
#include "support/meshed.h"
#include "support/must.h"
#include "plait/units.h"

static plait_arena *arena;

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

// ---- enumeration ---------------------------------------------------------------------------

/* A random share of the strategies, so that what is left can be enumerated. */
typedef struct share {
    unsigned seed;
    unsigned of_ten;
} share;

static unsigned some(const void *context, const layer_graph *g, const node *n, const strategy *s)
{
    const share *of = context;
    unsigned seed = of->seed + (unsigned)(s - n->strategy) * 97u + (unsigned)(n - g->node) * 7919u;

    draw(&seed, 1);
    const bool kept = draw(&seed, 10) < of->of_ten || s == n->strategy;
    return kept ? ~0u : 0u;
}

/* Half a layer: attention alone, or the feed-forward part alone. At most eight operators. */
static plait_layer half_layer(const plait_layer *whole, bool attention)
{
    plait_layer half = *whole;

    half.norms = 1;
    half.parallel_residual = false;
    if (attention)
        half.ffn = PLAIT_FFN_NONE;
    else
        half.mixer = PLAIT_MIXER_NONE;
    return half;
}

static void halve(meshed *question, bool attention)
{
    plait_layer *half = plait_arena_alloc(arena, 1, sizeof *half);

    assert_non_null(half);
    *half = half_layer(&question->model.kind[question->model.kinds - 1], attention);
    question->model.kind = half;
    question->model.kinds = 1;
    unsigned char *kinds = plait_arena_alloc(arena, (size_t)question->model.layers, sizeof *kinds);
    assert_non_null(kinds);
    question->model.layer_kind = kinds;
}

static const meshed_case small[] = {
    {"llama-3.1-8b", "h100-80gb-sxm:1x8", "8", 4096, 8, 0, 0.0, NULL},
    {"gpt2-xl", "h100-80gb-sxm:2x8", "2x8", 1024, 16, 0, 0.0, NULL},
    {"llama-3.1-70b", "a100-80gb-sxm:2x4", "2x4", 2048, 4, 2, 0.0, "fsdp"},
    {"mixtral-8x7b", "h100-80gb-sxm:1x8", "8", 2048, 8, 0, 0.0, NULL},
    {"gpt2-medium", "rtx-4090-24gb:2x4", "2x2x2", 1024, 8, 0, 0.0, "torchtitan"},
};

enum { DRAWS = FEW_DRAWS ? 30 : 110 }; // of each case

/* A limit: 0 what the smallest assignment takes, 1 what the fastest does. */
static double limit_at(const assembly *a, double share_of_way)
{
    program_choice least, most;

    assert_int_equal(
        program_eliminate(&a->program, (program_weights){0.0, 1.0}, -1, arena, NULL, &least, NULL),
        PLAIT_OK);
    assert_int_equal(
        program_eliminate(&a->program, (program_weights){1.0, 0.0}, -1, arena, NULL, &most, NULL),
        PLAIT_OK);
    return least.bytes + (most.bytes - least.bytes) * share_of_way;
}

static void assert_instance(const layer_graph *g, double *const *tables, unsigned *seed, int *done)
{
    assembly *a = plait_arena_alloc(arena, 1, sizeof *a);
    share of = {.seed = draw(seed, 1u << 20), .of_ten = 10};
    bool any;

    assert_non_null(a);
    do {
        assert_int_equal(assemble(g, tables, some, &of, 0.0, arena, a, &any, NULL), PLAIT_OK);
        of.of_ten--;
    } while (program_combinations(&a->program) > 3e4 && of.of_ten > 0);
    if (program_combinations(&a->program) > 3e5)
        return;
    a->program.limit_bytes = limit_at(a, draw(seed, 120) / 100.0 - 0.05);
    assert_enumerated(&a->program, arena);
    ++*done;
}

static void test_small_blocks_are_enumerated(void **state)
{
    (void)state;
    unsigned seed = 3;
    int done = 0;

    for (size_t c = 0; c < sizeof small / sizeof *small; c++)
        for (int half = 0; half < 2; half++) {
            const plait_arena_mark mark = plait_arena_save(arena);
            meshed *question = plait_arena_alloc(arena, 1, sizeof *question);
            layer_graph *g = plait_arena_alloc(arena, 1, sizeof *g);
            double **tables;
            plait_error err;

            meshed_make(&small[c], arena, question);
            halve(question, half == 0);
            must(graph_prepare(&question->problem, &question->options, arena, g, &err), &err);
            must(edge_tables(g, arena, &tables, &err), &err);
            assert_true(g->nodes <= 8);
            for (int i = 0; i < DRAWS / 2 + 10; i++) {
                const plait_arena_mark each = plait_arena_save(arena);
                assert_instance(g, tables, &seed, &done);
                plait_arena_rewind(arena, each);
            }
            plait_arena_rewind(arena, mark);
        }
    assert_true(done >= (FEW_DRAWS ? 200 : 500));
}

// ---- integer programming -------------------------------------------------------------------

static const meshed_case whole[] = {
    {"llama-3.1-8b", "h100-80gb-sxm:8x8", "8x8", 8192, 64, 0, 0.0, NULL},
    {"llama-3.1-70b", "h100-80gb-sxm:8x8", "8x8", 8192, 16, 0, 0.0, NULL},
    {"gpt3-175b", "a100-80gb-sxm:4x8", "4x8", 2048, 8, 4, 0.0, NULL},
    {"mixtral-8x7b", "h100-80gb-sxm:2x4", "2x4", 4096, 8, 0, 0.0, NULL},
};

static void test_blocks_on_two_axes_are_what_glpk_finds(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof whole / sizeof *whole; c++) {
        meshed *question = plait_arena_alloc(arena, 1, sizeof *question);
        layer_graph *g = plait_arena_alloc(arena, 1, sizeof *g);
        assembly *a = plait_arena_alloc(arena, 1, sizeof *a);
        program_answer answer;
        double **tables;
        bool any;
        plait_error err;

        meshed_make(&whole[c], arena, question);
        must(graph_prepare(&question->problem, &question->options, arena, g, &err), &err);
        must(edge_tables(g, arena, &tables, &err), &err);
        must(assemble(g, tables, NULL, NULL, 0.0, arena, a, &any, &err), &err);
        a->program.limit_bytes = limit_at(a, 0.37);
        must(program_solve(&a->program, 1 << 26, arena, &answer, &err), &err);
        assert_true(answer.feasible && answer.proven);
        assert_true(answer.labels > 0); // the limit binds
        assert_near_relative(glpk_program_s(&a->program), answer.choice.time_s, 1e-6);
    }
}

// ---- what holds of any answer --------------------------------------------------------------

static const meshed_case blocks[] = {
    {"llama-3.1-8b", "h100-80gb-sxm:8x8", "8x8", 8192, 64, 0, 0.0, NULL},
    {"llama-3.1-8b", "h100-80gb-sxm:1x8", "2x4", 4096, 8, 4, 0.0, "fsdp"},
    {"qwen3-30b-a3b", "h100-80gb-sxm:4x8", "4x8", 4096, 64, 32, 0.0, NULL},
    {"deepseek-v3", "h800-80gb-sxm:8x8", "8x8", 4096, 64, 0, 900.0, NULL},
    {"llama-3.1-70b", "dgx-h100", "2x4x8", 8192, 16, 0, 0.0, NULL},
};

enum { BLOCKS = sizeof blocks / sizeof *blocks };

/* Kernels and communication of one layer and microbatch, times both, and what is done once a step. */
static void test_the_plan_costs_what_was_claimed(void **state)
{
    (void)state;
    for (size_t c = 0; c < BLOCKS; c++) {
        const double microbatches = blocks[c].mbs > 0 ? (double)blocks[c].gbs / blocks[c].mbs : 1.0;
        plait_operators_result result;
        meshed_solve(&blocks[c], arena, &result);
        const plait_operators_plan *plans[] = {&result.best, &result.named};
        for (int p = 0; p < 2; p++) {
            double each_s = 0.0, sync_s = 0.0, bytes = 0.0;
            for (int i = 0; i < plans[p]->operators; i++) {
                const plait_operator *op = &plans[p]->op[i];
                each_s += op->forward_s + op->backward_s + op->inside_s;
                sync_s += op->sync_s;
                bytes += result.layers * (op->state_bytes + op->kept_bytes);
            }
            for (int i = 0; i < plans[p]->edges; i++)
                each_s += plans[p]->edge[i].forward_s + plans[p]->edge[i].backward_s;
            assert_near_relative(result.layers * (microbatches * each_s + sync_s), plans[p]->step_s,
                                 1e-9);
            assert_near_relative(plans[p]->state_bytes + plans[p]->kept_bytes, bytes, 1e-9);
            assert_true(plans[p]->bytes >= bytes * (1.0 - 1e-9));
            assert_true(plans[p]->bytes <= result.limit_bytes);
        }
    }
}

static void test_no_layout_with_a_name_is_better(void **state)
{
    (void)state;
    for (size_t c = 0; c < BLOCKS; c++) {
        plait_operators_result result;
        meshed_solve(&blocks[c], arena, &result);
        assert_int_equal(result.verdict, PLAIT_FITS);
        assert_true(result.proven);
        assert_true(result.named.step_s >= result.best.step_s * (1.0 - 1e-12));
        if (result.best.name[0] != '\0')
            assert_near_relative(result.named.step_s, result.best.step_s, 1e-12);
    }
}

static void test_more_memory_is_never_slower(void **state)
{
    (void)state;
    for (size_t c = 0; c < BLOCKS; c++) {
        meshed_case of = blocks[c];
        double last = HUGE_VAL;
        int fit = 0;
        for (of.memory_gib = 20.0; of.memory_gib < 3000.0; of.memory_gib *= 1.4) {
            plait_operators_result result;
            meshed_solve(&of, arena, &result);
            if (result.verdict != PLAIT_FITS)
                continue;
            fit++;
            assert_true(result.proven);
            assert_true(result.best.step_s <= last * (1.0 + 1e-12));
            last = result.best.step_s;
        }
        assert_true(fit > 3);
    }
}

/* What nothing fits into says what would do: that much fits, a thousandth less does not. */
static void test_the_relaxation_is_the_smallest(void **state)
{
    (void)state;
    for (size_t c = 0; c < BLOCKS; c++) {
        meshed_case of = blocks[c];
        plait_operators_result result;
        of.memory_gib = 1.0;
        meshed_solve(&of, arena, &result);
        assert_int_equal(result.verdict, PLAIT_OUT_OF_MEMORY);
        of.memory_gib = result.needed_bytes / PLAIT_GIB * 0.999;
        meshed_solve(&of, arena, &result);
        assert_int_equal(result.verdict, PLAIT_OUT_OF_MEMORY);
        of.memory_gib = result.needed_bytes / PLAIT_GIB * (1.0 + 1e-12);
        meshed_solve(&of, arena, &result);
        assert_int_equal(result.verdict, PLAIT_FITS);
    }
}

static double step_of(meshed_case of, const char *mesh)
{
    plait_operators_result result;

    of.mesh = mesh;
    meshed_solve(&of, arena, &result);
    assert_int_equal(result.verdict, PLAIT_FITS);
    return result.best.step_s;
}

/* Inside one domain all axes are alike: their order is no matter, nor are axes of one rank. */
static void test_equal_axes_may_be_exchanged(void **state)
{
    (void)state;
    static const meshed_case cases[] = {
        {"llama-3.1-8b", "h100-80gb-sxm:1x8", "8", 4096, 4, 0, 0.0, NULL},
        {"mixtral-8x7b", "h100-80gb-sxm:1x8", "8", 4096, 8, 0, 200.0, NULL},
        {"gpt2-xl", "h100-80gb-sxm:1x8", "8", 1024, 8, 0, 0.0, "fsdp"},
    };

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const double two = step_of(cases[c], "2x4");
        assert_near_relative(step_of(cases[c], "4x2"), two, 1e-12);
        assert_near_relative(step_of(cases[c], "2x1x4"), two, 1e-12);
        assert_near_relative(step_of(cases[c], "1x8"), step_of(cases[c], "8"), 1e-12);
    }
}

static void test_an_axis_cut_into_two_is_never_slower(void **state)
{
    (void)state;
    static const meshed_case cases[] = {
        {"llama-3.1-8b", "h100-80gb-sxm:8x8", "", 8192, 64, 0, 0.0, NULL},
        {"llama-3.1-70b", "h100-80gb-sxm:8x8", "", 8192, 16, 0, 0.0, NULL},
        {"qwen3-30b-a3b", "h100-80gb-sxm:8x8", "", 4096, 64, 0, 0.0, NULL},
    };

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const double coarse = step_of(cases[c], "8x8");
        assert_true(step_of(cases[c], "2x4x8") <= coarse * (1.0 + 1e-12));
        assert_true(step_of(cases[c], "8x2x4") <= coarse * (1.0 + 1e-12));
        assert_true(coarse <= step_of(cases[c], "64") * (1.0 + 1e-12));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_blocks_are_enumerated),
        cmocka_unit_test(test_blocks_on_two_axes_are_what_glpk_finds),
        cmocka_unit_test(test_the_plan_costs_what_was_claimed),
        cmocka_unit_test(test_no_layout_with_a_name_is_better),
        cmocka_unit_test(test_more_memory_is_never_slower),
        cmocka_unit_test(test_the_relaxation_is_the_smallest),
        cmocka_unit_test(test_equal_axes_may_be_exchanged),
        cmocka_unit_test(test_an_axis_cut_into_two_is_never_slower),
    };

    arena = plait_arena_new();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    plait_arena_free(arena);
    return failed;
}
