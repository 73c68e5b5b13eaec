/*
 * serve_lengths.c - distributions of the lengths of requests: draws from quantiles, conversations,
 * and the moments that the closed forms use (C.400, C.401)
 */
#include <math.h>
#include <stdlib.h>

#include "base/normal.h"
#include "base/numbers.h"
#include "base/status.h"
#include "costmodel/serving/serve_request_cost.h"

// ---- draws from quantiles ------------------------------------------------------------------

enum { DRAWS = 1024 };

static double whole_tokens(double length)
{
    return larger(floor(length + 0.5), 1.0);
}

/*
 * Draws of a shape by its quantiles: logarithms of the lengths between p50 and p90 are normal, those
 * below p50 are `fall` times as far from it, and lengths above p90 rise to max with t^bend as the
 * exponent of max/p90.
 */
typedef struct quantile_draws {
    const plait_length_shape *shape;
    double deviations[DRAWS]; /* normal quantiles over that of p90 */
    double fall, bend;
} quantile_draws;

/* Fills the lengths in ascending order, and returns their mean. */
static double fill_lengths(const quantile_draws *d, double length[DRAWS])
{
    const plait_length_shape *const shape = d->shape;
    const int tail = (int)(0.9 * DRAWS + 0.5);
    const double width = log(shape->p90 / shape->p50), rise = shape->max / shape->p90;
    double sum = 0.0;

    for (int i = 0; i < DRAWS; i++) {
        const double z = d->deviations[i];
        const double t = (i - tail + 1.0) / (DRAWS - tail);
        length[i] = whole_tokens(i < tail ? shape->p50 * exp(width * (z < 0.0 ? d->fall * z : z))
                                          : shape->p90 * pow(rise, pow(t, d->bend)));
        sum += length[i];
    }
    return sum / DRAWS;
}

/* Finds *at between low and high such that the mean, which falls as *at grows, is that of the shape. */
static void find_mean(quantile_draws *d, double *at, double low, double high, double length[DRAWS])
{
    for (int round = 0; round < 40; round++) {
        *at = sqrt(low * high);
        *(fill_lengths(d, length) > d->shape->mean ? &low : &high) = *at;
    }
}

/*
 * Fills the lengths of a shape, in ascending order. The bend of the tail gives the mean; below the
 * mean of a sharp bend, the lengths under the median give it.
 */
static plait_status draw_lengths(const plait_length_shape *shape, const char *where,
                                 double length[DRAWS], plait_error *err)
{
    static const double least_bend = 1e-4, sharp = 8.0, most_fall = 100.0;
    static const double rounding = 0.005; // share that whole tokens change the mean by
    quantile_draws d = {.shape = shape, .fall = 1.0, .bend = least_bend};

    for (int i = 0; i < DRAWS; i++) {
        const double u = (i + 0.5) / DRAWS;
        d.deviations[i] = normal_quantile(u) / normal_quantile(0.9);
        length[i] = whole_tokens(shape->mean * (1.0 + shape->spread * (2.0 * u - 1.0)));
    }
    if (shape->p50 <= 0.0)
        return PLAIT_OK;
    const double most = fill_lengths(&d, length);
    d.bend = sharp;
    const double middle = fill_lengths(&d, length);
    d.fall = most_fall;
    const double least = fill_lengths(&d, length);
    if (shape->mean < (1.0 - rounding) * least || shape->mean > (1.0 + rounding) * most)
        return plait_fail(err, PLAIT_ERROR_RANGE, where,
                          "expected a mean from %.0f to %.0f tokens with these percentiles, found "
                          "%.0f",
                          ceil(least), floor(most), shape->mean);
    d.fall = 1.0;
    if (shape->mean < middle)
        find_mean(&d, &d.fall, 1.0, most_fall, length);
    else
        find_mean(&d, &d.bend, least_bend, sharp, length);
    return PLAIT_OK;
}

static plait_status check_shape(const plait_length_shape *shape, const char *where,
                                plait_error *err)
{
    static const double most = 1e12;
    const bool even = shape->p50 == 0.0 && shape->p90 == 0.0 && shape->max == 0.0;

    if (shape->mean >= 1.0 && shape->mean <= most &&
        (even ? shape->spread >= 0.0 && shape->spread <= 1.0
              : shape->p50 >= 1.0 && shape->p90 >= shape->p50 && shape->max >= shape->p90 &&
                    shape->max <= most))
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_RANGE, where,
                      "expected a mean of at least 1 with ascending quantiles or a spread from 0 "
                      "to 1, found other values");
}

plait_status plait_lengths_sample(plait_length_shape input, plait_length_shape output,
                                  plait_arena *arena, plait_request_lengths **out, int *count,
                                  plait_error *err)
{
    enum { STRIDE = 633 }; // DRAWS over the golden ratio: pairs cover the square evenly
    PLAIT_TRY(check_shape(&input, "input", err));
    PLAIT_TRY(check_shape(&output, "output", err));
    double *const inputs = plait_arena_alloc(arena, DRAWS, sizeof *inputs);
    double *const outputs = plait_arena_alloc(arena, DRAWS, sizeof *outputs);
    plait_request_lengths *const request = plait_arena_alloc(arena, DRAWS, sizeof *request);

    PLAIT_TRY(plait_check_allocated(inputs && outputs && request, err));
    PLAIT_TRY(draw_lengths(&input, "input", inputs, err));
    PLAIT_TRY(draw_lengths(&output, "output", outputs, err));
    for (int i = 0; i < DRAWS; i++)
        request[i] =
            (plait_request_lengths){.input = inputs[i], .output = outputs[i * STRIDE % DRAWS]};
    *out = request;
    *count = DRAWS;
    return PLAIT_OK;
}

// ---- conversations -------------------------------------------------------------------------

plait_status plait_lengths_converse(const plait_request_lengths *request, int count, int turns,
                                    plait_arena *arena, plait_request_lengths **out, int *made,
                                    plait_error *err)
{
    enum { MOST = 1 << 20 }; // requests of all conversations

    if (request == NULL || count < 1 || turns < 1 || turns > MOST)
        return plait_fail(err, PLAIT_ERROR_RANGE, "turns",
                          "expected requests, and 1 to %d turns, found others", MOST);
    const int conversations = (int)larger(smaller(count, floor((double)MOST / turns)), 1.0);
    plait_request_lengths *const all =
        plait_arena_alloc(arena, (size_t)conversations * (size_t)turns, sizeof *all);
    int n = 0;

    PLAIT_TRY(plait_check_allocated(all, err));
    for (int c = 0; c < conversations; c++) {
        double before = 0.0; // tokens of the turns before
        for (int k = 0; k < turns; k++) {
            // Another request of the list is the next turn, so that turns are independent.
            const plait_request_lengths *one = &request[((int64_t)c + (int64_t)k * 389) % count];
            all[n++] = (plait_request_lengths){.input = before + one->input,
                                               .output = one->output,
                                               .cached = before + one->cached,
                                               .repeated = before + one->cached};
            before += one->input + one->output;
        }
    }
    *out = all;
    *made = n;
    return PLAIT_OK;
}

// ---- moments -------------------------------------------------------------------------------

static double uncached(const plait_request_lengths *request)
{
    return larger(request->input - request->cached, 1.0);
}

static int by_input(const void *a, const void *b)
{
    const plait_request_lengths *const left = a, *const right = b;

    return (left->input > right->input) - (left->input < right->input);
}

static int by_output(const void *a, const void *b)
{
    const plait_request_lengths *const left = a, *const right = b;

    return (left->output > right->output) - (left->output < right->output);
}

/* A total order, so that equal requests in any order give the same draws. */
static int by_uncached(const void *a, const void *b)
{
    const plait_request_lengths *const left = a, *const right = b;
    const double x = uncached(left), y = uncached(right);

    if (x != y)
        return x < y ? -1 : 1;
    const int order = by_input(a, b);
    return order != 0 ? order : by_output(a, b);
}

#define QUANTILE(field, share) request[(int)smaller((share)*count, count - 1.0)].field
#define STATS(field, mean_)                                                                        \
    ((plait_length_stats){mean_, QUANTILE(field, 0.5), QUANTILE(field, 0.9),                       \
                          QUANTILE(field, 0.99), QUANTILE(field, 1.0)})

/* Fills the groups of requests in order of their uncached tokens. */
static void fill_groups(const plait_request_lengths *request, int count,
                        plait_length_group group[PLAIT_LENGTH_GROUPS])
{
    // Shares of requests below the end of each group: narrow groups at the longest prompts.
    static const double end[PLAIT_LENGTH_GROUPS] = {0.3, 0.55, 0.75, 0.87, 0.94, 0.98, 0.995, 1.0};

    for (int g = 0, i = 0; g < PLAIT_LENGTH_GROUPS; g++) {
        const int first = i, last = (int)floor(end[g] * count + 0.5);

        for (; i < last; i++) {
            group[g].input += request[i].input;
            group[g].cached += smaller(request[i].cached, request[i].input - 1.0);
        }
        if (i > first) {
            group[g].share = (double)(i - first) / count;
            group[g].input /= i - first;
            group[g].cached /= i - first;
        }
    }
}

/* Exchanges the cached and the repeated tokens of all requests, and orders them by uncached ones. */
static void exchange_cached(plait_request_lengths *request, int count)
{
    for (int i = 0; i < count; i++) {
        const double cached = request[i].cached;
        request[i].cached = request[i].repeated;
        request[i].repeated = cached;
    }
    qsort(request, (size_t)count, sizeof *request, by_uncached);
}

plait_lengths plait_lengths_of(plait_request_lengths *request, int count)
{
    plait_lengths l = {.request = request, .count = count};
    double input = 0.0, output = 0.0, square = 0.0, context = 0.0, inverse = 0.0, several = 0.0;

    for (int i = 0; i < count; i++) {
        plait_request_lengths *const one = &request[i];
        one->repeated = larger(one->repeated, one->cached);
        input += one->input;
        output += one->output;
        const double cached = smaller(one->cached, one->input - 1.0);
        l.cached += cached / count;
        l.missed += larger(smaller(one->repeated, one->input - 1.0) - cached, 0.0) / count;
        square += one->output * one->output;
        context += one->output * one->input;
        inverse += one->output > 1.0 ? 1.0 / (one->output - 1.0) : 0.0;
        several += one->output > 1.0;
        l.longest = larger(l.longest, one->input + one->output);
    }
    // A sequence decodes for a time in proportion to its answer, which weights the means.
    l.context = (context + square / 2.0) / output;
    l.whole = (context + square) / output;
    l.output_cv = sqrt(larger(square / output * count / output - 1.0, 0.0));
    l.hit = l.missed > 0.0 ? l.cached / (l.cached + l.missed) : 1.0;
    l.per_output = inverse / larger(several, 1.0);
    qsort(request, (size_t)count, sizeof *request, by_output);
    l.output = STATS(output, output / count);
    qsort(request, (size_t)count, sizeof *request, by_input);
    l.input = STATS(input, input / count);
    qsort(request, (size_t)count, sizeof *request, by_uncached);
    fill_groups(request, count, l.group);
    if (l.missed > 0.0) {
        exchange_cached(request, count);
        fill_groups(request, count, l.group + PLAIT_LENGTH_GROUPS);
        exchange_cached(request, count);
    }
    return l;
}

// ---- a load --------------------------------------------------------------------------------

double plait_load_whole(const plait_load *load)
{
    return load->lengths != NULL ? load->lengths->whole : load->input + load->output;
}

double plait_load_longest(const plait_load *load)
{
    return load->lengths != NULL ? load->lengths->longest : load->input + load->output;
}

/*
 * The least recently used cache leaves the memory first. If conversations return after times with
 * an exponential distribution, a cache of k tokens misses e^(-k/m) of them, so a larger cache
 * misses a power of that.
 */
double serve_host_hit(const plait_pool *pool, const plait_lengths *lengths)
{
    if (pool->host_tokens <= 0.0 || pool->kv_tokens <= 0.0 || lengths->missed <= 0.0)
        return 0.0;
    return 1.0 - pow(1.0 - lengths->hit, pool->host_tokens / pool->kv_tokens);
}

int serve_groups(const plait_pool *pool, const plait_load *load,
                 plait_length_group group[PLAIT_LENGTH_MIXED])
{
    int count = 0;

    if (load->lengths == NULL) {
        group[0] = (plait_length_group){1.0, load->input, load->cached};
        return 1;
    }
    const double host = serve_host_hit(pool, load->lengths);
    for (int g = 0; g < PLAIT_LENGTH_MIXED; g++) {
        const plait_length_group *const one = &load->lengths->group[g];
        const double part = g < PLAIT_LENGTH_GROUPS ? 1.0 - host : host;
        if (one->share * part > 0.0) {
            group[count] = *one;
            group[count++].share *= part;
        }
    }
    return count;
}

plait_load serve_load_of(const plait_load *load, const plait_length_group *group)
{
    plait_load one = *load;

    one.input = group->input;
    one.cached = group->cached;
    return one;
}
