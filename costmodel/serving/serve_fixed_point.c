/* serve_fixed_point.c - fixed point of a load and the deployment that serves it */
#include <math.h>

#include "base/numbers.h"
#include "costmodel/serving/serve_request_cost.h"

enum { ROUNDS = 60 }; // limit of the iterations; five or six are usual

static const double tight = 1e-9; // relative width at which the search stops

/*
 * Returns the least x in 0 .. most with gap(x) = 0, or `most` if gap stays positive. The last call
 * evaluates gap at the returned x, so *context describes that point. Secants from below come first,
 * since they stay below the zero of a convex gap; then the Illinois method narrows the bracket.
 */
double serve_settle(double (*gap)(void *context, double x), void *context, double most)
{
    double a = 0.0, at_a = gap(context, a);
    double b = smaller(at_a, most), at_b = gap(context, b);
    int i = 0;

    for (; i < ROUNDS && at_b > 0.0 && b - a > tight * b; i++) {
        double next = 0.5 * (a + b); // an infinite gap: b is too large
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
