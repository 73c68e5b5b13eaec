/* test_milp.c - mixed-integer programs: small ones by hand and by trying every point */
#include <math.h>
#include <string.h>

#include "search/milp/milp.h"
#include "support/must.h"

static const milp_limits unlimited = {0};

static plait_arena *arena;

static milp_result solved(const milp_problem *problem, milp_limits limits)
{
    milp_result result;
    plait_error err;

    must(milp_solve(problem, limits, arena, &result, &err), &err);
    return result;
}

// ---- by hand -------------------------------------------------------------------------------

/* x + y <= 3.5 with x whole: the best of -2x - y is x = 3, y = 1/2. */
static void test_milp__mixes_whole_and_broken_numbers(void **state)
{
    (void)state;
    const milp_column column[] = {{0, HUGE_VAL, -2, true}, {0, HUGE_VAL, -1, false}};
    const milp_term sum[] = {{0, 1}, {1, 1}};
    const milp_row row = {-HUGE_VAL, 3.5, 2, sum};
    const milp_result result = solved(&(milp_problem){2, column, 1, &row}, unlimited);

    assert_int_equal(result.verdict, MILP_OPTIMAL);
    assert_near(result.x[0], 3.0, 1e-9);
    assert_near(result.x[1], 0.5, 1e-9);
    assert_near(result.objective, -6.5, 1e-9);
    assert_true(result.bound == result.objective && result.gap == 0.0);
}

/* 2x = 3 has a solution, but no whole one. */
static void test_milp__infeasible_only_in_whole_numbers(void **state)
{
    (void)state;
    milp_column column = {0, 10, 1, true};
    const milp_term twice = {0, 2};
    const milp_row row = {3, 3, 1, &twice};
    const milp_problem problem = {1, &column, 1, &row};

    const milp_result whole = solved(&problem, unlimited);
    assert_int_equal(whole.verdict, MILP_INFEASIBLE);
    assert_null(whole.x);
    assert_true(isnan(whole.objective) && isinf(whole.gap));
    column.integer = false;
    assert_near(solved(&problem, unlimited).x[0], 1.5, 1e-9);
}

static void test_milp__bounds_that_cross_are_infeasible(void **state)
{
    (void)state;
    const milp_column crossed = {2, 1, 0, false};
    const milp_column between = {0.2, 0.8, 0, true}; // no whole number
    const milp_column any = {0, 1, 0, false};
    const milp_row row = {1, 0, 0, NULL};

    assert_int_equal(solved(&(milp_problem){1, &crossed, 0, NULL}, unlimited).verdict,
                     MILP_INFEASIBLE);
    assert_int_equal(solved(&(milp_problem){1, &between, 0, NULL}, unlimited).verdict,
                     MILP_INFEASIBLE);
    assert_int_equal(solved(&(milp_problem){1, &any, 1, &row}, unlimited).verdict, MILP_INFEASIBLE);
}

/* -x, x >= 0: no end. With 2y = 1 beside it, y whole, no solution in the first place. */
static void test_milp__unbounded_and_infeasible_are_told_apart(void **state)
{
    (void)state;
    const milp_column column[] = {{0, HUGE_VAL, -1, true}, {0, 4, 0, true}};
    const milp_term twice = {1, 2};
    const milp_row row = {1, 1, 1, &twice};

    const milp_result unbounded = solved(&(milp_problem){2, column, 0, NULL}, unlimited);
    assert_int_equal(unbounded.verdict, MILP_UNBOUNDED);
    assert_true(unbounded.bound == -HUGE_VAL);
    assert_null(unbounded.x);
    assert_int_equal(solved(&(milp_problem){2, column, 1, &row}, unlimited).verdict,
                     MILP_INFEASIBLE);
}

static void test_milp__empty_programs_have_answers(void **state)
{
    (void)state;
    const milp_row never = {1, 2, 0, NULL};
    const milp_result nothing = solved(&(milp_problem){0}, unlimited);

    assert_int_equal(nothing.verdict, MILP_OPTIMAL);
    assert_true(nothing.objective == 0.0);
    assert_int_equal(solved(&(milp_problem){0, NULL, 1, &never}, unlimited).verdict,
                     MILP_INFEASIBLE);
}

// ---- limits --------------------------------------------------------------------------------

enum { ITEMS = 30 };

/* A knapsack whose weights and values differ by little, so that the tree is large. */
typedef struct knapsack {
    milp_column column[ITEMS];
    milp_term term[ITEMS];
    milp_row row;
    milp_problem problem;
} knapsack;

static void knapsack_init(knapsack *k, int items)
{
    double all = 0.0;

    for (int j = 0; j < items; j++) {
        const double weight = 100 + (j * 37 + 11) % 61;
        k->column[j] = (milp_column){0, 1, -(weight + (j * 53) % 7), true};
        k->term[j] = (milp_term){j, weight};
        all += weight;
    }
    k->row = (milp_row){-HUGE_VAL, floor(all / 2.0) + 0.5, items, k->term};
    k->problem = (milp_problem){items, k->column, 1, &k->row};
}

/* The best of all 2^items subsets. */
static double best_subset(const knapsack *k, int items)
{
    double best = 0.0;

    for (unsigned set = 0; set < 1u << items; set++) {
        double weight = 0.0, value = 0.0;
        for (int j = 0; j < items; j++)
            if (set >> j & 1u) {
                weight += k->term[j].factor;
                value += k->column[j].cost;
            }
        if (weight <= k->row.high && value < best)
            best = value;
    }
    return best;
}

static void test_milp__knapsack_as_every_subset(void **state)
{
    (void)state;
    for (int items = 1; items <= 16; items++) {
        knapsack k;
        knapsack_init(&k, items);
        assert_near(solved(&k.problem, unlimited).objective, best_subset(&k, items), 1e-6);
    }
}

static void test_milp__node_limit_leaves_a_gap(void **state)
{
    (void)state;
    knapsack k;
    knapsack_init(&k, ITEMS);
    const milp_result stopped = solved(&k.problem, (milp_limits){.nodes = 40});
    const milp_result proven = solved(&k.problem, unlimited);

    assert_int_equal(proven.verdict, MILP_OPTIMAL);
    assert_true(proven.nodes > 40 && stopped.nodes <= 42); // a branch makes two
    assert_true(stopped.verdict == MILP_FEASIBLE || stopped.verdict == MILP_UNKNOWN);
    assert_true(stopped.bound <= proven.objective + 1e-6);
    if (stopped.x != NULL)
        assert_true(stopped.objective >= proven.objective - 1e-6 && stopped.gap > 0.0);
}

static void test_milp__gap_stops_sooner_and_is_kept(void **state)
{
    (void)state;
    knapsack k;
    knapsack_init(&k, ITEMS);
    const milp_result near = solved(&k.problem, (milp_limits){.gap = 0.01});
    const milp_result proven = solved(&k.problem, unlimited);

    assert_true(near.nodes < proven.nodes && near.gap <= 0.01);
    assert_true(near.objective >= proven.objective - 1e-6);
    assert_true(near.objective - proven.objective <= 0.01 * fabs(near.objective) + 1e-6);
}

static void test_milp__same_answer_again(void **state)
{
    (void)state;
    knapsack k;
    knapsack_init(&k, ITEMS);
    const milp_result a = solved(&k.problem, unlimited);
    const milp_result b = solved(&k.problem, unlimited);

    assert_int_equal(a.nodes, b.nodes);
    assert_memory_equal(a.x, b.x, ITEMS * sizeof *a.x);
}

// ---- every point ---------------------------------------------------------------------------

enum { MOST_COLUMNS = 5, MOST_ROWS = 4, MOST_VALUE = 4 };

typedef struct small_program {
    milp_column column[MOST_COLUMNS];
    milp_term term[MOST_ROWS][MOST_COLUMNS];
    milp_row row[MOST_ROWS];
    milp_problem problem;
} small_program;

static unsigned random_below(unsigned below)
{
    static uint64_t seed = 20;

    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static int random_between(int low, int high)
{
    return low + (int)random_below((unsigned)(high - low + 1));
}

static void small_init(small_program *s)
{
    s->problem = (milp_problem){random_between(1, MOST_COLUMNS), s->column,
                                random_between(0, MOST_ROWS), s->row};
    for (int j = 0; j < s->problem.columns; j++)
        s->column[j] = (milp_column){random_between(-1, 1), random_between(1, MOST_VALUE),
                                     random_between(-9, 9) / 2.0, true};
    for (int i = 0; i < s->problem.rows; i++) {
        int terms = 0;
        for (int j = 0; j < s->problem.columns; j++)
            if (random_below(4) > 0)
                s->term[i][terms++] = (milp_term){j, random_between(-5, 5)};
        const int low = random_between(-8, 6);
        s->row[i] =
            (milp_row){random_below(3) == 0 ? -HUGE_VAL : (double)low,
                       random_below(3) == 0 ? HUGE_VAL : (double)(low + random_between(0, 6)),
                       terms, s->term[i]};
    }
}

static bool within(const milp_problem *p, const double *x)
{
    for (int i = 0; i < p->rows; i++) {
        double sum = 0.0;
        for (int t = 0; t < p->row[i].terms; t++)
            sum += p->row[i].term[t].factor * x[p->row[i].term[t].column];
        if (sum < p->row[i].low || sum > p->row[i].high)
            return false;
    }
    return true;
}

/* The least cost over columns j and behind; infinity where no point is within the rows. */
static double least_cost(const milp_problem *p, int j, double *x)
{
    double best = HUGE_VAL;
    double cost = 0.0;

    if (j < p->columns) {
        for (x[j] = p->column[j].low; x[j] <= p->column[j].high; x[j] += 1.0)
            best = fmin(best, least_cost(p, j + 1, x));
        return best;
    }
    for (int i = 0; i < p->columns; i++)
        cost += p->column[i].cost * x[i];
    return within(p, x) ? cost : HUGE_VAL;
}

static void test_milp__random_programs_as_every_point(void **state)
{
    (void)state;
    int infeasible = 0;

    for (int turn = 0; turn < 1000; turn++) {
        const plait_arena_mark mark = plait_arena_save(arena);
        double x[MOST_COLUMNS];
        small_program s;
        small_init(&s);
        const double best = least_cost(&s.problem, 0, x);
        const milp_result result = solved(&s.problem, unlimited);

        assert_int_equal(result.verdict, isinf(best) ? MILP_INFEASIBLE : MILP_OPTIMAL);
        infeasible += isinf(best);
        if (!isinf(best)) {
            assert_near(result.objective, best, 1e-9);
            assert_true(within(&s.problem, result.x));
        }
        plait_arena_rewind(arena, mark);
    }
    assert_true(infeasible > 50 && infeasible < 800);
}

// ---- bad input -----------------------------------------------------------------------------

static void refuse(const milp_problem *problem, const char *where)
{
    milp_result result;
    plait_error err;

    assert_int_equal(milp_solve(problem, unlimited, arena, &result, &err), PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, where);
    assert_int_equal(result.verdict, MILP_FAILED);
}

static void test_milp__what_is_no_program_is_an_error(void **state)
{
    (void)state;
    const milp_column fine[] = {{0, 1, 1, true}, {0, 1, 1, true}};
    const milp_column nan_cost = {0, 1, (double)NAN, true};
    const milp_column nan_bound = {(double)NAN, 1, 1, true};
    const milp_column endless = {HUGE_VAL, HUGE_VAL, 1, true};
    const milp_term outside = {2, 1}, before = {-1, 1}, broken = {0, HUGE_VAL};
    const milp_term twice[] = {{1, 1}, {1, 2}};

    refuse(&(milp_problem){1, &nan_cost, 0, NULL}, "column 0");
    refuse(&(milp_problem){1, &nan_bound, 0, NULL}, "column 0");
    refuse(&(milp_problem){1, &endless, 0, NULL}, "column 0");
    refuse(&(milp_problem){2, fine, 1, &(milp_row){0, 1, 1, &outside}}, "row 0");
    refuse(&(milp_problem){2, fine, 1, &(milp_row){0, 1, 1, &before}}, "row 0");
    refuse(&(milp_problem){2, fine, 1, &(milp_row){0, 1, 1, &broken}}, "row 0");
    refuse(&(milp_problem){2, fine, 1, &(milp_row){0, 1, 2, twice}}, "row 0");
    refuse(&(milp_problem){2, fine, 1, &(milp_row){(double)NAN, 1, 0, NULL}}, "row 0");
    refuse(&(milp_problem){-1, fine, 0, NULL}, "program");
}

static int make_arena(void **state)
{
    (void)state;
    return (arena = plait_arena_new()) == NULL;
}

static int free_arena(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_milp__mixes_whole_and_broken_numbers),
        cmocka_unit_test(test_milp__infeasible_only_in_whole_numbers),
        cmocka_unit_test(test_milp__bounds_that_cross_are_infeasible),
        cmocka_unit_test(test_milp__unbounded_and_infeasible_are_told_apart),
        cmocka_unit_test(test_milp__empty_programs_have_answers),
        cmocka_unit_test(test_milp__knapsack_as_every_subset),
        cmocka_unit_test(test_milp__node_limit_leaves_a_gap),
        cmocka_unit_test(test_milp__gap_stops_sooner_and_is_kept),
        cmocka_unit_test(test_milp__same_answer_again),
        cmocka_unit_test(test_milp__random_programs_as_every_point),
        cmocka_unit_test(test_milp__what_is_no_program_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
