/*
 * sweep_answer.c - answers scenarios of a sweep, with one search for all that need the same plan
 *
 * A scenario is parsed like a command line: each key is an option of one table, with the same error
 * messages. Scenarios share a search if they differ only in values that do not affect the plan
 * (tokens, price, deadline, failures). The first of them runs the search.
 */
#include <stdio.h>
#include <string.h>

#include "cli/capacity_flags.h"
#include "io/data/data.h"
#include "base/status.h"
#include "base/threads.h"
#include "io/json/json.h"
#include "report/json_plan.h"
#include "plait/units.h"
#include "cli/problem.h"
#include "cli/sweep.h"
#include "base/text.h"

typedef struct scenario_values {
    problem_flags problem;
    capacity_flags run;
    const char *fix, *limit, *refine;
} scenario_values;

static const opt options[] = {
    PROBLEM_OPTIONS(scenario_values, problem),
    OPT_OF_TEXT(scenario_values, run.tokens, "tokens", 0, "N", "tokens of the whole run"),
    CAPACITY_OPTIONS(scenario_values, run),
    OPT_OF_LIST(scenario_values, fix, "fix", "KEY=VALUE,...", "only plans with these values"),
    OPT_OF_LIST(scenario_values, limit, "limit", "KEY=LOW..HIGH,...", "only plans within these"),
    OPT_OF_TEXT(scenario_values, refine, "refine", 0, "WHAT", "none (default), ..."),
    OPT_END,
};
static const opt_usage usage = {
    .command = "sweep", .synopsis = "a model and a cluster", .max_operands = 2, .options = options};

static const char *const run_options[] = {
    "deadline",   "budget",    "price",  "co2",     "failures", "node-loss",
    "repeat",     "straggler", "detect", "restart", "repair",   "write-rate",
    "write-most", "spares",    "runs",   "knee",    NULL};

typedef struct scenario {
    int64_t index;
    const sweep_entry *entry;
    plait_arena *arena;
    scenario_values values;
    opt_operands operands;
    plait_problem problem;
    plait_capacity_options ask;
    plait_capacity_row row;
    const char *why;               /* reason if no plan fits; otherwise NULL */
    const struct scenario *leader; /* scenario that searches: itself or an earlier one */
    plait_error err;
    const char *line;
} scenario;

/* ---- reading ---- */

static const sweep_entry *entry_of(const sweep *of, int64_t index)
{
    int low = 0, high = of->entries - 1; // find the last entry with `first` <= index

    while (low < high) {
        const int middle = (low + high + 1) / 2;

        if (of->entry[middle].first <= index)
            low = middle;
        else
            high = middle - 1;
    }
    return &of->entry[low];
}

static const char *value_of(const sweep_entry *entry, int axis, int64_t index)
{
    int64_t rest = index - entry->first;

    for (int a = entry->axes - 1; a > axis; a--)
        rest /= entry->axis[a].values;
    return entry->axis[axis].value[rest % entry->axis[axis].values];
}

/*
 * Return a name or path of an entry; a relative path is relative to the folder of the file of
 * scenarios.
 */
static const char *place_operand(const sweep *of, const char *name, plait_arena *arena)
{
    return data_is_path(name) && name[0] != '/' && !data_is_hub_id(name)
               ? plait_arena_printf(arena, "%s%s%s", of->folder, text_equal(name, "-") ? "./" : "",
                                    name)
               : name;
}

static bool is_switch(const char *key)
{
    for (const opt *row = options; row->kind != OPT_LAST; row++)
        if (row->kind == OPT_FLAG && text_equal(row->name, key))
            return true;
    return false;
}

plait_status sweep_check_key(const json_cursor *member, const char *flag, plait_error *err)
{
    enum { MOST = 64 };
    const char *known[MOST + 3] = {"model", "cluster"}, *nearest = opt_replacement(flag);
    int count = 2;

    for (const opt *row = options; row->kind != OPT_LAST && count < MOST; row++)
        if (row->kind != OPT_GROUP)
            known[count++] = row->name;
    if (text_index(flag, known) >= 0)
        return PLAIT_OK;
    if (nearest != NULL)
        return json_fail(member, PLAIT_ERROR_SCHEMA, err, "expected the key %s, found \"%.40s\"",
                         nearest, member->key);
    nearest = text_nearest(flag, known);
    return json_fail(member, PLAIT_ERROR_SCHEMA, err, "expected %s%s%s, found \"%.40s\"",
                     nearest != NULL ? "the key \""
                                     : "a key that docs/reference/files/scenarios.md lists",
                     nearest != NULL ? nearest : "", nearest != NULL ? "\"" : "", member->key);
}

static plait_status read_flags(const sweep *of, scenario *s)
{
    const char **argv = plait_arena_alloc(s->arena, (size_t)s->entry->axes + 4, sizeof *argv);
    int argc = 0;

    if (argv == NULL)
        return plait_fail_nomem(&s->err);
    const char *operand[2] = {NULL, NULL};
    argv[(argc)++] = usage.command;
    for (int a = 0; a < s->entry->axes; a++) {
        const char *const key = s->entry->axis[a].key, *value = value_of(s->entry, a, s->index);
        const bool model = text_equal(key, "model"), cluster = text_equal(key, "cluster");

        if (model || cluster)
            value = operand[cluster] = place_operand(of, value, s->arena);
        else if (is_switch(key) && text_equal(value, "true"))
            value = argv[(argc)++] = plait_arena_printf(s->arena, "--%s", key);
        else if (!is_switch(key) || !text_equal(value, "false"))
            value = argv[(argc)++] = plait_arena_printf(s->arena, "--%s=%s", key, value);
        if (value == NULL)
            return plait_fail_nomem(&s->err);
    }
    for (int i = 0; i < 2; i++) {
        if (operand[i] == NULL)
            return plait_fail(&s->err, PLAIT_ERROR_SCHEMA, i == 0 ? "model" : "cluster",
                              "expected a name, found nothing");
        argv[(argc)++] = operand[i];
    }
    PLAIT_TRY(opt_parse(&usage, argc, argv, s->arena, &s->values, &s->operands, &s->err));
    s->values.problem.quiet = true;
    plait_capacity_options_init(&s->ask);
    s->ask.runs = 0; // no simulated runs by default
    if (s->values.run.tokens != NULL)
        return capacity_flags_read(&s->values.run, &s->ask, &s->err);
    return opt_first_given(&s->operands, run_options) == NULL
               ? PLAIT_OK
               : plait_fail(&s->err, PLAIT_ERROR_SCHEMA, "tokens",
                            "expected the tokens of the run, which deadline, budget and other keys "
                            "of a run need, found nothing");
}

static bool same_question(const scenario *a, const scenario *b)
{
    const problem_flags *const p = &a->values.problem, *const q = &b->values.problem;
    const char *const one[] = {
        a->operands.text[0], a->operands.text[1], p->precision,     p->runtime,  p->risk,
        a->values.fix,       a->values.limit,     a->values.refine, p->imbalance};
    const char *const other[] = {
        b->operands.text[0], b->operands.text[1], q->precision,     q->runtime,  q->risk,
        b->values.fix,       b->values.limit,     b->values.refine, q->imbalance};

    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        if ((one[i] == NULL) != (other[i] == NULL) ||
            (one[i] != NULL && strcmp(one[i], other[i]) != 0))
            return false;
    return p->seq == q->seq && p->document == q->document && p->gbs == q->gbs &&
           p->gpus == q->gpus && p->frontier == q->frontier;
}

static plait_status find_plan(scenario *s)
{
    plait_search_options search;
    plait_search_result found = {0};
    plait_error refusal = {PLAIT_OK, "", ""};
    plait_status status;
    int refine = PLAIT_REFINE_NONE;

    PLAIT_TRY(
        problem_resolve(&s->values.problem, &s->operands, NULL, s->arena, &s->problem, &s->err));
    plait_search_options_init(&search);
    search.top = 1;
    search.threads = 1;
    if (s->values.fix != NULL)
        PLAIT_TRY(plait_search_limit(&search, s->values.fix, &s->err));
    if (s->values.limit != NULL)
        PLAIT_TRY(plait_search_limit(&search, s->values.limit, &s->err));
    if (s->values.refine != NULL)
        PLAIT_TRY(problem_word("refine", s->values.refine, plait_refine_name, &refine, &s->err));
    search.refine = (plait_refine)refine;
    s->row = (plait_capacity_row){.problem = &s->problem, .limit = PLAIT_CAPACITY_LIMIT_MEMORY};
    status = plait_search(&s->problem, &search, s->arena, &found, &refusal);
    if (status == PLAIT_ERROR_RANGE) {
        s->row.limit = PLAIT_CAPACITY_LIMIT_PLAN;
        s->why = plait_arena_text(s->arena, refusal.message);
    } else if (status == PLAIT_OK && found.plans == 0) {
        s->why = found.has_closest
                     ? plait_arena_printf(s->arena, "no plan fits: the smallest needs %.1f GiB",
                                          found.closest.price.peak_bytes / PLAIT_GIB)
                     : "no plan fits";
    } else if (status == PLAIT_OK) {
        s->row.fits = true;
        s->row.plan = found.plan[0].plan;
        return plait_plan_evaluate(&s->problem, &s->row.plan, NULL, s->arena, &s->row.cost,
                                   &s->err);
    } else {
        return plait_fail(&s->err, status, refusal.where, "%s", refusal.message);
    }
    return s->why != NULL ? PLAIT_OK : plait_fail_nomem(&s->err);
}

/* ---- the line ---- */

static plait_status write_line(const sweep *of, scenario *s)
{
    json_writer json;
    char digest[24];

    json_writer_init(&json, s->arena);
    snprintf(digest, sizeof digest, "%016llx", (unsigned long long)of->digest);
    json_begin_object_row(&json);
    json_member_string(&json, "sweep", digest);
    json_member_int64(&json, "index", s->index);
    json_member_int64(&json, "of", of->count);
    json_write_key(&json, "scenario");
    json_begin_object(&json);
    for (int a = 0; a < s->entry->axes; a++)
        json_member_string(&json, s->entry->axis[a].name, value_of(s->entry, a, s->index));
    json_end_object(&json);
    if (s->err.status != PLAIT_OK)
        json_member_string(&json, "error",
                           plait_arena_printf(s->arena, "%s: %s", s->err.where, s->err.message));
    else {
        const plait_capacity_row *const row = &s->row;
        const plait_cost *const cost = &row->cost;

        json_member_string(
            &json, "verdict",
            plait_verdict_name[row->fits                                   ? PLAIT_FITS
                               : row->limit == PLAIT_CAPACITY_LIMIT_MEMORY ? PLAIT_OUT_OF_MEMORY
                                                                           : PLAIT_INVALID]);
        if (!row->fits) {
            json_member_string(&json, "why", s->why);
        } else {
            json_write_key(&json, "plan");
            json_degrees_write(&json, &row->plan.degrees);
            JSON_NUMBERS(&json, {"step_s", cost->step_s}, {"step_low_s", cost->step_low_s},
                         {"step_high_s", cost->step_high_s},
                         {"tokens_per_s_per_gpu", cost->tokens_per_s_per_gpu}, {"mfu", cost->mfu},
                         {"memory_bytes", cost->memory.peak_bytes}, {"risk", cost->risk},
                         {"step_usd", cost->cost_usd}, {"step_j", cost->energy_j});
            if (s->values.run.tokens != NULL) {
                json_member_string(&json, "binds",
                                   row->limit == PLAIT_CAPACITY_LIMIT_NOTHING
                                       ? NULL
                                       : plait_capacity_limit_name[row->limit]);
                JSON_NUMBERS(&json, {"days", row->wall_s / PLAIT_DAY},
                             {"days_low", row->wall_low_s / PLAIT_DAY},
                             {"days_high", row->wall_high_s / PLAIT_DAY},
                             {"in_time", row->finishes}, {"effective", row->goodput.effective},
                             {"cost_usd", row->usd}, {"energy_mwh", row->energy_j / 3.6e9},
                             {"co2_t", row->co2_kg / 1e3});
            }
        }
    }
    json_end_object(&json);
    return json_writer_finish(&json, &s->line, NULL, &s->err);
}

/* ---- all scenarios ---- */

static plait_status evaluate_run(scenario *s)
{
    const scenario *const leader = s->leader;

    if (leader->err.status != PLAIT_OK && leader != s)
        s->err = leader->err;
    PLAIT_TRY(s->err.status);
    if (leader != s) {
        s->row = leader->row;
        s->why = leader->why;
    }
    if (s->values.run.tokens == NULL)
        return PLAIT_OK;
    PLAIT_TRY(capacity_check_money(&s->ask, leader->row.problem, &s->err));
    s->ask.search.threads = 1; // threads of the simulated runs
    return s->row.fits ? plait_capacity_follow(&s->ask, s->arena, &s->row, &s->err) : PLAIT_OK;
}

typedef struct scenario_block {
    const sweep *of;
    scenario *s;
} scenario_block;

static void search_leader(int worker, int64_t i, void *context)
{
    scenario *const s = &((const scenario_block *)context)->s[i];

    (void)worker;
    if (s->err.status == PLAIT_OK && s->leader == s)
        (void)!find_plan(s);
}

static void evaluate_follower(int worker, int64_t i, void *context)
{
    scenario *const s = &((const scenario_block *)context)->s[i];

    (void)worker;
    if (s->leader != s)
        (void)!evaluate_run(s);
}

static void evaluate_leader_and_write(int worker, int64_t i, void *context)
{
    const scenario_block *const block = context;
    scenario *const s = &block->s[i];

    (void)worker;
    if (s->leader == s)
        (void)!evaluate_run(s);
    if (s->arena != NULL && !is_fault(s->err.status))
        (void)!write_line(block->of, s);
}

/*
 * Leaders evaluate their own runs after the others, because evaluation changes the row that the
 * others copy.
 */
static void answer_all(const sweep *of, scenario *s, int count, int threads)
{
    scenario_block block = {of, s};

    threads_for(threads, count, search_leader, &block);
    threads_for(threads, count, evaluate_follower, &block);
    threads_for(threads, count, evaluate_leader_and_write, &block);
}

plait_status sweep_answer(const sweep *of, const int64_t *index, int count, int threads,
                          plait_arena *arena, const char **line, const char **wrong,
                          plait_error *err)
{
    scenario *s = plait_arena_alloc(arena, (size_t)count, sizeof *s);
    plait_status status = PLAIT_OK;

    PLAIT_TRY(plait_check_allocated(s, err));
    for (int i = 0; i < count; i++) {
        s[i] = (scenario){.index = index[i],
                          .entry = entry_of(of, index[i]),
                          .leader = &s[i],
                          .arena = plait_arena_new()};
        if ((s[i].arena == NULL ? plait_fail_nomem(&s[i].err) : read_flags(of, &s[i])) != PLAIT_OK)
            continue;
        for (int before = 0; before < i && s[i].leader == &s[i]; before++)
            if (s[before].leader == &s[before] && s[before].err.status == PLAIT_OK &&
                same_question(&s[before], &s[i]))
                s[i].leader = &s[before];
    }
    answer_all(of, s, count, threads);
    for (int i = 0; i < count; i++) {
        if (status == PLAIT_OK)
            status = faults_only(s[i].err.status, &s[i].err, err);
        if (status == PLAIT_OK && s[i].line == NULL)
            status = plait_fail_nomem(err);
        if (status == PLAIT_OK) {
            line[i] = plait_arena_text(arena, s[i].line);
            wrong[i] = s[i].err.status == PLAIT_OK
                           ? ""
                           : plait_arena_printf(arena, "%s: %s", s[i].err.where, s[i].err.message);
            if (line[i] == NULL || wrong[i] == NULL)
                status = plait_fail_nomem(err);
        }
        plait_arena_free(s[i].arena);
    }
    return status;
}
