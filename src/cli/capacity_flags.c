/* capacity_flags.c - reads a run's deadline, budget, prices and failures, and lists of numbers */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/magnitude.h"
#include "base/text.h"
#include "cli/capacity_flags.h"

/* Read a number from `least` to `most`; *out stays unchanged if the option is not given. */
static plait_status read_number(const char *where, const char *text, double least, double most,
                                double *out, plait_error *err)
{
    double found;

    if (text == NULL)
        return PLAIT_OK;
    if (!magnitude_parse(text, &found) || found < least || found > most)
        return plait_fail(err, PLAIT_ERROR_RANGE, where,
                          "expected a number from %g to %g, found '%.40s'", least, most, text);
    *out = found;
    return PLAIT_OK;
}

static plait_status read_count(const char *where, const char *text, int most, int *out,
                               plait_error *err)
{
    double found = *out;

    PLAIT_TRY(read_number(where, text, 0.0, most, &found, err));
    if (found != floor(found))
        return text == NULL ? PLAIT_OK
                            : plait_fail(err, PLAIT_ERROR_RANGE, where,
                                         "expected a whole number, found '%.40s'", text);
    *out = (int)found;
    return PLAIT_OK;
}

static plait_status read_time(const char *where, const char *text, double *out, plait_error *err)
{
    return text == NULL ? PLAIT_OK : magnitude_duration(where, text, out, err);
}

static plait_status read_fleet(const capacity_flags *flags, plait_reliability *fleet,
                               plait_error *err)
{
    PLAIT_TRY(read_number("--failures", flags->failures, 0.0, 1e3,
                          &fleet->interruptions_per_node_day, err));
    PLAIT_TRY(read_number("--node-loss", flags->node_loss, 0.0, 1.0, &fleet->node_loss, err));
    PLAIT_TRY(read_number("--repeat", flags->repeat, 0.0, 0.99, &fleet->repeat, err));
    PLAIT_TRY(read_number("--straggler", flags->straggler, 1.0, 100.0, &fleet->straggler, err));
    PLAIT_TRY(read_time("--detect", flags->detect, &fleet->detect_s, err));
    PLAIT_TRY(read_time("--restart", flags->restart, &fleet->restart_s, err));
    PLAIT_TRY(read_time("--repair", flags->repair, &fleet->repair_s, err));
    PLAIT_TRY(
        read_number("--write-rate", flags->write_rate, 1e3, 1e15, &fleet->node_bytes_per_s, err));
    PLAIT_TRY(
        read_number("--write-most", flags->write_most, 1e3, 1e18, &fleet->most_bytes_per_s, err));
    fleet->async = flags->async;
    return read_count("--spares", flags->spares, PLAIT_MOST_SPARES, &fleet->spares, err);
}

/* Set the price of all clusters of one name, as in "dgx-h100=2.2". */
static plait_status read_named_price(char *text, char *equals, const char *const *cluster,
                                     int clusters, double *usd_per_gpu_hour, plait_error *err)
{
    double price = 0.0;
    bool found = false;

    *equals = '\0';
    PLAIT_TRY(read_number("--price", equals + 1, 1e-6, 1e6, &price, err));
    for (int c = 0; c < clusters; c++)
        if (text_equal(cluster[c], text)) {
            if (usd_per_gpu_hour[c] > 0.0)
                return plait_fail(err, PLAIT_ERROR_RANGE, "--price",
                                  "expected one price of %.40s, found a second one", text);
            usd_per_gpu_hour[c] = price;
            found = true;
        }
    return found ? PLAIT_OK
                 : plait_fail(err, PLAIT_ERROR_RANGE, "--price",
                              "expected CLUSTER=USD with a cluster of this command, found '%.40s'",
                              text);
}

static plait_status fail_prices(int clusters, int found, plait_error *err)
{
    return plait_fail(err, PLAIT_ERROR_RANGE, "--price",
                      "expected a price for each of %d clusters, such as 2.2,4 in their order or "
                      "CLUSTER=2.2,CLUSTER=4, found %d prices",
                      clusters, found);
}

plait_status capacity_flags_read_prices(const char *text, const char *const *cluster, int clusters,
                                        double *usd_per_gpu_hour, plait_error *err)
{
    char copy[1024];
    int in_order = 0, named = 0;

    for (int c = 0; c < clusters; c++)
        usd_per_gpu_hour[c] = 0.0;
    if (text == NULL)
        return PLAIT_OK;
    if (strlen(text) >= sizeof copy)
        return fail_prices(clusters, clusters + 1, err);
    memcpy(copy, text, strlen(text) + 1);
    for (char *at = copy, *next; at != NULL; at = next) {
        next = strchr(at, ',');
        if (next != NULL)
            *next++ = '\0';
        char *const equals = strrchr(at, '=');
        if (equals != NULL) {
            PLAIT_TRY(read_named_price(at, equals, cluster, clusters, usd_per_gpu_hour, err));
            named++;
            continue;
        }
        if (in_order < clusters)
            PLAIT_TRY(read_number("--price", at, 1e-6, 1e6, &usd_per_gpu_hour[in_order], err));
        in_order++;
    }
    if (in_order > 0 && (in_order != clusters || named > 0))
        return fail_prices(clusters, in_order + named, err);
    return PLAIT_OK;
}

plait_status capacity_flags_read(const capacity_flags *flags, plait_capacity_options *ask,
                                 plait_error *err)
{
    if (flags->tokens == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--tokens",
                          "expected the tokens of the whole run such as 15T, found nothing");
    PLAIT_TRY(read_number("--tokens", flags->tokens, 1.0, 1e18, &ask->tokens, err));
    PLAIT_TRY(read_time("--deadline", flags->deadline, &ask->deadline_s, err));
    if (flags->budget != NULL)
        PLAIT_TRY(magnitude_positive("--budget", flags->budget, "dollars", &ask->budget_usd, err));
    PLAIT_TRY(read_number("--price", flags->price, 1e-6, 1e6, &ask->usd_per_gpu_hour, err));
    PLAIT_TRY(read_number("--co2", flags->co2, 0.0, 1e4, &ask->co2_g_per_kwh, err));
    PLAIT_TRY(read_number("--knee", flags->knee, 0.0, 1.0, &ask->knee, err));
    PLAIT_TRY(read_fleet(flags, &ask->fleet, err));
    return read_count("--runs", flags->runs, 100000, &ask->runs, err);
}

plait_status capacity_flags_read_fleet(const capacity_flags *flags, plait_reliability *failures,
                                       double *usd_per_gpu_hour, plait_error *err)
{
    PLAIT_TRY(read_number("--price", flags->price, 1e-6, 1e6, usd_per_gpu_hour, err));
    return read_fleet(flags, failures, err);
}

plait_status capacity_check_money(const plait_capacity_options *ask, const plait_problem *problem,
                                  plait_error *err)
{
    if (ask->budget_usd > 0.0 && isnan(plait_capacity_usd_per_gpu_hour(ask, problem)))
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "--budget",
            "expected --price together with --budget, since %.60s has no price, found no --price",
            problem->cluster->group[0].accelerator->name);
    return PLAIT_OK;
}

enum { TEXT_SIZE = 4096 };

typedef struct number_reader {
    const char *where, *text, *what;
    int most;
    plait_error *err;
} number_reader;

static plait_status refuse_numbers(const number_reader *r)
{
    return plait_fail(
        r->err, PLAIT_ERROR_RANGE, r->where,
        "expected %s as N, N,N,..., A..B or A..B:STEP with A at most B, found '%.60s'", r->what,
        r->text);
}

static plait_status read_one(const number_reader *r, const char *text, int *out)
{
    return magnitude_parse_count(text, 1000, 1, r->most, out) ? PLAIT_OK : refuse_numbers(r);
}

static plait_status add_number(const number_reader *r, int value, number_list *out)
{
    if (out->count == NUMBER_LIST_MOST)
        return plait_fail(r->err, PLAIT_ERROR_RANGE, r->where, "expected at most %d %s, found more",
                          NUMBER_LIST_MOST, r->what);
    out->value[out->count++] = value;
    return PLAIT_OK;
}

static int compare_ints(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

plait_status number_list_read(const char *where, const char *text, const char *what, int most,
                              number_list *out, plait_error *err)
{
    const number_reader reader = {where, text, what, most, err};
    char copy[TEXT_SIZE], *dots;

    *out = (number_list){0};
    if (text == NULL)
        return PLAIT_OK;
    if (strlen(text) >= sizeof copy)
        return refuse_numbers(&reader);
    memcpy(copy, text, strlen(text) + 1);
    dots = strstr(copy, "..");
    if (dots != NULL) {
        char *const high = dots + 2, *const colon = strchr(high, ':');

        *dots = '\0';
        if (colon != NULL)
            *colon = '\0';
        PLAIT_TRY(read_one(&reader, copy, &out->from));
        PLAIT_TRY(read_one(&reader, high, &out->to));
        if (out->from > out->to)
            return refuse_numbers(&reader);
        out->range = colon == NULL && out->from < out->to;
        if (colon != NULL)
            PLAIT_TRY(read_one(&reader, colon + 1, &out->step));
        if (out->range)
            return PLAIT_OK;
        for (long value = out->from; value <= out->to; value += out->step > 0 ? out->step : 1)
            PLAIT_TRY(add_number(&reader, (int)value, out));
        return PLAIT_OK;
    }
    for (char *at = copy, *next; at != NULL; at = next) {
        int value;

        next = strchr(at, ',');
        if (next != NULL)
            *next++ = '\0';
        PLAIT_TRY(read_one(&reader, at, &value));
        PLAIT_TRY(add_number(&reader, value, out));
    }
    int kept = 0;
    qsort(out->value, (size_t)out->count, sizeof *out->value, compare_ints);
    for (int i = 0; i < out->count; i++)
        if (kept == 0 || out->value[kept - 1] != out->value[i])
            out->value[kept++] = out->value[i];
    out->count = kept;
    out->from = out->value[0];
    out->to = out->value[kept - 1];
    return PLAIT_OK;
}
