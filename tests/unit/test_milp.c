/* test_milp.c - mixed-integer programs: small ones by hand and by trying every point */
#include <math.h>

#include "support/milp.h"
#include "support/must.h"

static plait_arena *arena;

// ---- by hand -------------------------------------------------------------------------------

/* x + y <= 3.5 with x whole: the best of -2x - y is x = 3, y = 1/2. */
static void test_milp__mixes_whole_and_broken_numbers(void **state)
{
    (void)state;
    const milp_column column[] = {{0, HUGE_VAL, -2, true}, {0, HUGE_VAL, -1, false}};
    const milp_term sum[] = {{0, 1}, {1, 1}};
    const milp_row row = {-HUGE_VAL, 3.5, 2, sum};
    const milp_result result = milp_solve(&(milp_problem){2, column, 1, &row}, arena);

    assert_near(result.x[0], 3.0, 1e-9);
    assert_near(result.x[1], 0.5, 1e-9);
    assert_near(result.objective, -6.5, 1e-9);
}

/* 2x = 3 has a solution, but no whole one. */
static void test_milp__infeasible_only_in_whole_numbers(void **state)
{
    (void)state;
    milp_column column = {0, 10, 1, true};
    const milp_term twice = {0, 2};
    const milp_row row = {3, 3, 1, &twice};
    const milp_problem problem = {1, &column, 1, &row};

    const milp_result whole = milp_solve(&problem, arena);
    assert_false(whole.feasible);
    column.integer = false;
    assert_near(milp_solve(&problem, arena).x[0], 1.5, 1e-9);
}

enum { ITEMS = 16 };

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
    for (int items = 1; items <= ITEMS; items++) {
        knapsack k;
        knapsack_init(&k, items);
        assert_near(milp_solve(&k.problem, arena).objective, best_subset(&k, items), 1e-6);
    }
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
        const milp_result result = milp_solve(&s.problem, arena);

        assert_int_equal(result.feasible, !isinf(best));
        infeasible += isinf(best);
        if (!isinf(best)) {
            assert_near(result.objective, best, 1e-9);
            assert_true(within(&s.problem, result.x));
        }
        plait_arena_rewind(arena, mark);
    }
    assert_true(infeasible > 50 && infeasible < 800);
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
        cmocka_unit_test(test_milp__knapsack_as_every_subset),
        cmocka_unit_test(test_milp__random_programs_as_every_point),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
