/* serve_fixed_point.c - the fixed point of a load and what serves it */
#include <math.h>

#include "base/numbers.h"
#include "costmodel/serving/serve_request_cost.h"

enum { ROUNDS = 60 }; // at most; five or six are usual

static const double tight = 1e-9; // of a fixed point, relative

/*
 * The least x of 0 .. most where gap(x) falls to 0, or most where it never does; *context is as the last call leaves it,
 * at that x. Secants from below, which stay below a convex gap's zero, then between the two sides (Illinois).
 */
double serve_settle(double (*gap)(void *context, double x), void *context, double most)
{
    double a = 0.0, at_a = gap(context, a);
    double b = smaller(at_a, most), at_b = gap(context, b);
    int i = 0;

    for (; i < ROUNDS && at_b > 0.0 && b - a > tight * b; i++) {
        double next = 0.5 * (a + b); // an endless gap: too far
        if (!isinf(at_b)) {
            if (b >= most)
                return b;
            next = smaller(b + (at_a > at_b ? larger(at_b * (b - a) / (at_a - at_b), at_b) : at_b),
                           most);
            a = b;
            at_a = at_b;
        }
        b = next;
        at_b = gap(context, b);
    }
    for (; i < ROUNDS && at_b < 0.0 && b - a > tight * b; i++) {
        const double x = isinf(at_a) ? 0.5 * (a + b) : b - at_b * (b - a) / (at_b - at_a);
        const double at_x = gap(context, x);
        if (at_x > 0.0) {
            a = x;
            at_a = at_x;
            at_b *= 0.5;
        } else {
            b = x;
            at_b = at_x;
            at_a *= 0.5;
        }
    }
    gap(context, b);
    return b;
}
