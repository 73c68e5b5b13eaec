/* least_squares.c - minimise a sum of squares with MINPACK */
#include "calibrate/least_squares.h"

#include <cminpack.h>

/* Relative change of the sum of squares or of x below which lmdif stops. */
static const double tolerance = 1e-6;
/* Relative error of the residuals; lmdif takes its square root, 1e-4, as step for derivatives. */
static const double precision = 1e-8;
/* Limit of evaluations, per number plus one. */
enum { MOST_TURNS = 25 };

static int evaluate_residuals(void *context, int residuals, int numbers, const double *x,
                              double *residual, int flag)
{
    const least_squares *problem = context;

    (void)residuals;
    (void)numbers;
    (void)flag;
    problem->fill(problem->context, x, residual);
    return 0;
}

/* The work arrays of lmdif. */
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
    // The reason for stopping does not matter, since x is always the best point so far.
    (void)lmdif(evaluate_residuals, &copy, m, n, x, w.residual, tolerance, tolerance, 0.0,
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
