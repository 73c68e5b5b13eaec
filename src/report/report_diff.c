/* report_diff.c - prints the differences between two documents, the most important values first */
#include "report/report_answers.h"

#include <math.h>
#include <string.h>

#include "report/json_plan.h"
#include "report/report_table.h"
#include "base/text.h"
#include "report/units.h"

enum { MOST_SHOWN = 40, CELL = 40 };

/* ---- order of values ---- */

/*
 * Beginnings of the paths that are printed first, and of those that are not printed, for each kind
 * of document.
 */
static const struct {
    const char *kind;
    const char *first[6];
    const char *never[4]; /* printed in a separate table, or only by --json */
} views[] = {
    {"plans", {"/job/", "/plans/0/", "/search/", NULL}, {"/plans/", "/front/", "/command", NULL}},
    {"capacity", {"/asked/", "/rows/", NULL}, {NULL}},
    {"accuracy",
     {"/summary/step_time/", "/summary/ranking/", "/summary/out_of_memory/", "/summary/memory/",
      "/summary/", NULL},
     {"/rows/", "/summary/worst/", NULL}},
};

static bool begins_with_any(const char *at, const char *const *starts)
{
    for (; *starts != NULL; starts++)
        if (text_starts_with(at, *starts))
            return true;
    return false;
}

/* Returns the order of a value: 0 if printed first, 1 if printed later, 2 if not printed. */
static int place_of(const char *kind, const char *at)
{
    static const char *const lists[] = {"/plans/0/stages", "/plans/0/communication",
                                        "/plans/0/order", NULL};

    if (text_ends_with(at, "/source"))
        return 2;
    for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
        if (!text_equal(views[v].kind, kind))
            continue;
        if (begins_with_any(at, lists))
            return 2;
        if (begins_with_any(at, views[v].first))
            return 0;
        return begins_with_any(at, views[v].never) ? 2 : 1;
    }
    return 0;
}

/* ---- values ---- */

/* Returns whether a value is a fraction of one; "width" in a model's layer kinds is not. */
static bool is_share(const char *at)
{
    static const char *const shares[] = {
        "mfu",     "hfu",         "risk",  "mape",      "median",  "p90",    "bias",
        "mean",    "inside_band", "width", "effective", "in_time", "regret", "balanced_accuracy",
        "scaling", NULL};
    const char *const name = strrchr(at, '/');

    return name != NULL && text_index(name + 1, shares) >= 0 && !text_starts_with(at, "/kinds/");
}

/* Writes a number in the unit that the end of its key gives. */
static const char *value_text(const char *at, const char *text, double number, char out[CELL])
{
    char unit[UNITS_SIZE];

    if (text == NULL)
        snprintf(out, CELL, "-");
    else if (isnan(number))
        snprintf(out, CELL, "%.*s", CELL - 1, text);
    else if (text_ends_with(at, "_s") && !text_ends_with(at, "per_s"))
        snprintf(out, CELL, "%s", units_seconds(number, unit));
    else if (text_ends_with(at, "_bytes"))
        snprintf(out, CELL, "%s", units_gib(number, unit));
    else if (is_share(at))
        snprintf(out, CELL, "%.2f %%", 100.0 * number);
    else
        snprintf(out, CELL, "%.6g", number);
    return out;
}

static void add_change(table *rows, const json_change *change)
{
    char a[CELL], b[CELL];

    TABLE_ROW(rows, as_text(change->at),
              as_text(value_text(change->at, change->a, change->from, a)),
              as_text(value_text(change->at, change->b, change->to, b)));
    if (isnan(change->from) || isnan(change->to))
        table_cell(rows, "%s", "");
    else if (is_share(change->at))
        table_cell(rows, "%+.2f points", 100.0 * (change->to - change->from));
    else
        table_cell(rows, change->from == 0.0 ? "-" : "%+.1f %%",
                   100.0 * (change->to / change->from - 1.0));
}

/* Prints the measured runs whose predictions changed most. */
static plait_status print_moved_runs(const report_diff *diff, FILE *out, plait_error *err)
{
    enum { MOST_RUNS = 10 };
    const json_change *most[MOST_RUNS];
    int count = 0;

    for (int c = 0; c < diff->changes.count; c++) {
        const json_change *const one = &diff->changes.change[c];
        int at;

        if (!text_starts_with(one->at, "/rows/") || !text_ends_with(one->at, "/step_s") ||
            !(one->from > 0.0) || !(one->to > 0.0))
            continue;
        for (at = count < MOST_RUNS ? count++ : MOST_RUNS; at > 0; at--) {
            if (fabs(log(most[at - 1]->to / most[at - 1]->from)) >= fabs(log(one->to / one->from)))
                break;
            if (at < MOST_RUNS)
                most[at] = most[at - 1];
        }
        if (at < MOST_RUNS)
            most[at] = one;
    }
    if (count == 0)
        return PLAIT_OK;
    table *rows = table_new("run|>predicted before|>after|>change");
    for (int i = 0; i < count; i++)
        add_change(rows, most[i]);
    fputs("\nruns with the largest change of the step time:\n", out);
    return table_print(rows, 2, out, err);
}

/* Writes the keys that distinguish plans: "tp 2, pp 8, ...". */
static const char *plan_text(const plait_degrees *d, char text[256])
{
    char word[PLAIT_VALUE_SIZE];
    size_t used = 0;

    text[0] = '\0';
    for (int k = 0; k < PLAIT_KEYS && used < 200; k++) {
        if ((plait_distinct_keys() & PLAIT_KEY_BIT(k)) == 0 && k != PLAIT_KEY_DP)
            continue;
        used += (size_t)snprintf(text + used, 256 - used, "%s%s %.40s", used > 0 ? ", " : "",
                                 plait_keys[k].title,
                                 plait_degrees_get(d, (plait_key_id)k, word, sizeof word));
    }
    return text;
}

plait_status report_diff_print(const report_diff *diff, FILE *out, plait_error *err)
{
    char a[UNITS_SIZE], b[UNITS_SIZE], c[UNITS_SIZE], d[UNITS_SIZE], text[256];
    table *ranking;

    fprintf(out, "%s, from %s to %s: ", diff->kind, diff->name[0], diff->name[1]);
    if (diff->changes.count == 0) {
        fputs("no difference\n", out);
        return PLAIT_OK;
    }
    fprintf(out, "%d change%s\n\n", diff->changes.count, diff->changes.count == 1 ? "" : "s");
    if (diff->params[0] > 0.0)
        fprintf(out, "before: %s parameters, %s active; after: %s parameters, %s active\n\n",
                units_count(diff->params[0], a), units_count(diff->active[0], b),
                units_count(diff->params[1], c), units_count(diff->active[1], d));
    table *rows = table_new("path|>before|>after|>change");
    int shown = 0;
    for (int place = 0; place < 2; place++)
        for (int i = 0; i < diff->changes.count && shown < MOST_SHOWN; i++)
            if (place_of(diff->kind, diff->changes.change[i].at) == place) {
                add_change(rows, &diff->changes.change[i]);
                shown++;
            }
    PLAIT_TRY(table_print(rows, 0, out, err));
    if (shown < diff->changes.count)
        fprintf(out, "%d more change%s; --json lists all\n", diff->changes.count - shown,
                diff->changes.count - shown == 1 ? "" : "s");
    PLAIT_TRY(print_moved_runs(diff, out, err));
    if (diff->plans == 0)
        return PLAIT_OK;
    ranking = table_new(">before|>after@stays|>step before|>step after@stays|"
                        "plan@below");
    for (int i = 0; i < diff->plans && i < MOST_SHOWN; i++) {
        const diff_plan *const plan = &diff->plan[i];

        for (int side = 0; side < 2; side++)
            table_cell(ranking, plan->rank[side] > 0 ? "%d" : "-", plan->rank[side]);
        for (int side = 0; side < 2; side++)
            table_cell(ranking, "%s", units_seconds(plan->step_s[side], text));
        table_cell(ranking, "%s", plan_text(&plan->degrees, text));
    }
    fputs("\nrankings of plans before and after:\n", out);
    return table_print(ranking, 2, out, err);
}

void json_diff_document(json_writer *json, const report_diff *diff)
{
    json_member_version(json);
    JSON_STRINGS(json, {"kind", diff->kind}, {"a", diff->name[0]}, {"b", diff->name[1]});
    json_member_array(json, "changes");
    for (int c = 0; c < diff->changes.count; c++) {
        const json_change *const change = &diff->changes.change[c];

        json_begin_object(json);
        json_member_string(json, "at", change->at);
        if (isnan(change->from)) {
            JSON_STRINGS(json, {"a", change->a}, {"b", change->b});
        } else {
            JSON_NUMBERS(json, {"a", change->from}, {"b", change->to});
        }
        json_end_object(json);
    }
    json_end_array(json);
    json_member_array(json, "ranking");
    for (int i = 0; i < diff->plans; i++) {
        static const char *const rank[] = {"rank_a", "rank_b"}, *const step[] = {"step_a_s",
                                                                                 "step_b_s"};
        const diff_plan *const plan = &diff->plan[i];

        json_begin_object(json);
        for (int side = 0; side < 2; side++) {
            JSON_NUMBERS(json, {rank[side], plan->rank[side] > 0 ? plan->rank[side] : (double)NAN},
                         {step[side], plan->step_s[side]});
        }
        json_write_key(json, "plan");
        json_degrees_write(json, &plan->degrees);
        json_end_object(json);
    }
    json_end_array(json);
}
