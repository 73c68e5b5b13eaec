/*
 * test_theory.c - published numbers, computed by the functions that price a plan
 *
 * theory_vectors.json holds formulas of lectures, papers and books with their inputs, the number
 * that the source prints and where the two disagree. Here each formula is a call of the cost
 * model, never the formula again: the bytes of a layer are those of its block, the traffic of
 * ZeRO is what a priced plan lists, and so on. What needs no cost model (quoted measurements, plain
 * arithmetic) is left out, and counted.
 */
#include <stdio.h>
#include <string.h>

#include "vectors/theory/theory.h"

static const theory_formula *const lists[] = {
    theory_memory, theory_communication, theory_collectives, theory_schedules, theory_models,
    theory_limits, theory_topology,      theory_reliability, theory_serving,
};

enum { LISTS = sizeof lists / sizeof *lists, MOST_FORMULAS = 128 };

/* The f-th formula of all lists; NULL behind the last. */
static const theory_formula *formula_at(int f)
{
    for (int l = 0; l < LISTS; l++)
        for (const theory_formula *formula = lists[l]; formula->name; formula++)
            if (f-- == 0)
                return formula;
    return NULL;
}

static int formula_of(const char *name)
{
    for (int f = 0; formula_at(f); f++)
        if (strcmp(formula_at(f)->name, name) == 0)
            return f;
    return -1;
}

static bool among(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(*words, name) == 0)
            return true;
    return false;
}

static bool is_arithmetic(const char *formula)
{
    static const char *const names[] = {"mul",   "div",   "sub",        "pct",
                                        "share", "total", "ratio_gain", NULL};

    return among(formula, names);
}

// ---- the vectors ---------------------------------------------------------------------------

static bool is_near(double value, double other, const json_cursor *tolerance)
{
    return fabs(value - other) <=
           number_or(tolerance, "abs", 0.0) + number_or(tolerance, "rel", 0.0) * fabs(other);
}

/* Does our value say what the verdict says? */
static bool holds(const json_cursor *vector, double value, char *why, size_t size)
{
    static const char *const verdicts[] = {"agrees", "disagrees", NULL};
    const bool disagrees = word(vector, "verdict", verdicts) == 1;
    const double expected = number(vector, "expected");
    const double right = disagrees ? number(vector, "formula_value") : expected;
    json_cursor tolerance;

    assert_int_equal(json_object(vector, "tolerance", &tolerance, NULL), PLAIT_OK);
    snprintf(why, size, "%.12g, expected %.12g", value, right);
    if (!is_near(value, right, &tolerance))
        return false;
    snprintf(why, size, "%.12g as in the source, whose own formula gives %.12g", value, right);
    return !disagrees || !is_near(value, expected, &tolerance);
}

static bool check(const json_cursor *vector, int formula)
{
    const char *id = "?";
    char why[128];
    json_cursor inputs;

    assert_int_equal(json_string(vector, "id", theory_arena, &id, NULL), PLAIT_OK);
    assert_int_equal(json_object(vector, "inputs", &inputs, NULL), PLAIT_OK);
    if (holds(vector, formula_at(formula)->value(&inputs), why, sizeof why))
        return true;
    print_error("%s: %s is %s\n", id, formula_at(formula)->name, why);
    return false;
}

/* What became of the vectors. */
typedef struct tally {
    int all, checked, wrong;
    int quoted, arithmetic;
    int of_formula[MOST_FORMULAS];
} tally;

static void take(const json_cursor *vector, tally *t)
{
    const char *formula = NULL;

    t->all++;
    assert_int_equal(json_string_optional(vector, "formula", theory_arena, &formula, NULL),
                     PLAIT_OK);
    if (!formula) {
        t->quoted++;
    } else if (is_arithmetic(formula)) {
        t->arithmetic++;
    } else {
        const int f = formula_of(formula);
        if (f < 0)
            fail_msg("no function computes %s", formula);
        t->checked++;
        t->of_formula[f]++;
        t->wrong += !check(vector, f);
    }
}

static void test_vectors__are_what_the_cost_model_computes(void **state)
{
    json_document document;
    json_cursor root, vectors, vector;
    plait_error err;
    tally t = {0};

    (void)state;
    if (json_document_read("tests/vectors/theory_vectors.json", theory_arena, &document, &err) !=
        PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    root = json_document_root(&document);
    assert_int_equal(json_array(&root, "vectors", &vectors, NULL), PLAIT_OK);
    for (bool more = json_first(&vectors, &vector); more; more = json_next(&vector))
        take(&vector, &t);
    json_document_free(&document);

    print_message("%d vectors: %d checked; left out: %d quoted, %d plain arithmetic\n", t.all,
                  t.checked, t.quoted, t.arithmetic);
    for (int f = 0; formula_at(f); f++)
        if (t.of_formula[f] == 0)
            fail_msg("no vector of %s", formula_at(f)->name);
    if (t.wrong > 0)
        fail_msg("%d of %d vectors are wrong", t.wrong, t.checked);
}

static int begin(void **state)
{
    (void)state;
    theory_arena = plait_arena_new();
    return theory_arena == NULL;
}

static int end(void **state)
{
    (void)state;
    plait_arena_free(theory_arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_vectors__are_what_the_cost_model_computes, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
