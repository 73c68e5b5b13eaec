/* least_squares.c - the minimum of a sum of squares, by MINPACK */
#include "calibrate/least_squares.h"

#include <cminpack.h>

/* A fit is done when a step gains less than a ten thousandth, far below what is printed. */
static const double tolerance = 1e-6;
/* Steps for derivatives are the root of this: kinks of rounded-up tiles are wider. */
static const double precision = 1e-8;
/* Evaluations a number; what has not settled by then is as good as it gets. */
enum { MOST_TURNS = 25 };

static int evaluate(void *context, int residuals, int numbers, const double *x, double *residual,
                    int flag)
{
    const least_squares *problem = context;

    (void)residuals;
    (void)numbers;
    (void)flag;
    problem->fill(problem->context, x, residual);
    return 0;
}

/* What lmdif works in, besides x. */
typedef struct workspace {
    double *residual, *jacobian, *scale, *projected, *a, *b, *c, *d;
    int *pivot;
} workspace;

static bool make_workspace(const least_squares *problem, plait_arena *arena, workspace *out)
{
    const size_t m = (size_t)problem->residuals;
    const size_t n = (size_t)problem->numbers;

    *out = (workspace){
        .residual = plait_arena_alloc(arena, m, sizeof(double)),
        .jacobian = plait_arena_alloc(arena, m * n, sizeof(double)),
        .scale = plait_arena_alloc(arena, n, sizeof(double)),
        .projected = plait_arena_alloc(arena, n, sizeof(double)),
        .a = plait_arena_alloc(arena, n, sizeof(double)),
        .b = plait_arena_alloc(arena, n, sizeof(double)),
        .c = plait_arena_alloc(arena, n, sizeof(double)),
        .d = plait_arena_alloc(arena, m, sizeof(double)),
        .pivot = plait_arena_alloc(arena, n, sizeof(int)),
    };
    return out->residual != NULL && out->jacobian != NULL && out->scale != NULL &&
           out->projected != NULL && out->a != NULL && out->b != NULL && out->c != NULL &&
           out->d != NULL && out->pivot != NULL;
}

bool least_squares_minimise(const least_squares *problem, plait_arena *scratch, double *x,
                            double *variance)
{
    const int m = problem->residuals, n = problem->numbers;
    const plait_arena_mark mark = plait_arena_save(scratch);
    least_squares copy = *problem;
    workspace w;
    int evaluations = 0;

    if (!make_workspace(problem, scratch, &w)) {
        plait_arena_rewind(scratch, mark);
        return false;
    }
    // Why it stopped does not matter: x is the best point seen.
    (void)lmdif(evaluate, &copy, m, n, x, w.residual, tolerance, tolerance, 0.0,
                MOST_TURNS * (n + 1), precision, w.scale, 1, 1.0, 0, &evaluations, w.jacobian, m,
                w.pivot, w.projected, w.a, w.b, w.c, w.d);
    if (variance != NULL) {
        covar(n, w.jacobian, m, w.pivot, 0.0, w.a);
        for (int i = 0; i < n; i++)
            variance[i] = w.jacobian[(size_t)i * (size_t)m + (size_t)i];
    }
    plait_arena_rewind(scratch, mark);
    return true;
}
