/* cmd_search.c - plait search: finds the best plans of a job */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/magnitude.h"
#include "base/numbers.h"
#include "shell/shell.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/plan_request.h"
#include "cli/terminal.h"
#include "plan/choices.h"
#include "report/json_plan.h"
#include "report/lines.h"
#include "report/units.h"
#include "rules/runtime_features.h"

typedef struct search_values {
    problem_flags problem;
    const char *plan;
    const char *key[PLAIT_KEYS];
    const char *fix;
    const char *limit;
    const char *refine;
    const char *objective;
    bool allow_numerics;
    const char *distinct;
    bool all;
    int tries;
    int top;
    int threads;
    const char *memory_limit;
    bool json;
    const char *output; /* path of the JSON document, or NULL */
    const char *page;   /* path of the page if -o ends in .html, .md or .csv, or NULL */
} search_values;

static const opt options[] = {
    PROBLEM_OPTIONS(search_values, problem),
    OPT_OF_TEXT(search_values, plan, "plan", 0, "FILE[:RANK]",
                "take the model, cluster and job from a file that `plait import` or `plait search "
                "-o` wrote; other options override it"),
    OPT_HEADING("the search"),
    OPT_OF_LIST(search_values, fix, "fix", "KEY=VALUE,...",
                "search only plans with these values, such as tp=8,recompute=full"),
    OPT_OF_LIST(search_values, limit, "limit", "KEY=LOW..HIGH,...",
                "search only plans within these ranges, such as tp=..8,pp=2..16"),
    OPT_OF_WORD(
        search_values, refine, "refine", "WHAT", OPT_WORDS(plait_refine_name),
        "how far to search beyond uniform plans: none, layouts (assign layers to chunks), stages "
        "(layouts, and recomputation and offload per stage), layers (stages, and TP and ZeRO per "
        "layer), all (default)"),
    OPT_OF_WORD(search_values, objective, "objective", "WHAT", OPT_WORDS(plait_objective_name),
                "quantity to minimise: time (default), memory, cost, energy"),
    OPT_OF_FLAG(search_values, allow_numerics, "allow-numerics",
                "also search plans whose gradients, moments or parameters have fewer bits than in "
                "the runtime's recipe"),
    OPT_OF_LIST(search_values, distinct, "distinct", "KEY,...",
                "list only the best of all plans with equal values of these keys (default: "
                "tp,pp,vpp,cp,ep,mbs,recompute,zero, where recompute counts only as none, partial "
                "or full, and zero only as 3 or below 3)"),
    OPT_OF_FLAG(search_values, all, "all",
                "list all plans, also those that --distinct would leave out"),
    OPT_OF_INT(
        search_values, tries, "try", "N", 1, PLAIT_MAX_TRIES,
        "choose N plans to measure for a few steps, such that the fastest of them is as close to "
        "the optimum as possible; `plait launch FILE:try` writes a folder for each"),
    OPT_OF_INT(search_values, top, "top", "N", 1, 1000,
               "number of plans to list (default: 10, with --try 30)"),
    OPT_OF_INT(search_values, threads, "threads", "N", 1, 1024,
               "threads (default: OMP_NUM_THREADS or all processors); does not change the answer"),
    OPT_OF_TEXT(search_values, memory_limit, "memory-limit", 0, "BYTES",
                "bytes that the search may hold, such as 100M or 2G; if they do not suffice, the "
                "answer has the plans found until then; implies --threads 1"),
    OPT_HEADING("search only plans with these values; --tp 8 equals --fix tp=8"),
    OPT_OF_KEYS(search_values, key),
    OPT_HEADING("the answer"),
    OPT_OF_FLAG(search_values, json, "json", "one JSON document on standard output"),
    OPT_OF_OUTPUT(
        search_values, output, "output", 'o', "FILE",
        "also write the JSON document to FILE, or the page of `plait report` to FILE.html, "
        ".md or .csv; - means --json"),
    OPT_END,
};

/* ---- options ---- */

/* Add limits on keys to the search; an error names the option and the key. */
static plait_status add_limits(plait_search_options *search, const char *flag, const char *text,
                               plait_error *err)
{
    plait_error inner = {PLAIT_OK, "", ""};
    char where[sizeof inner.where + 16];

    if (text == NULL || plait_search_limit(search, text, &inner) == PLAIT_OK)
        return PLAIT_OK;
    snprintf(where, sizeof where, "%s %s", flag, inner.where);
    return plait_fail(err, inner.status, where, "%s", inner.message);
}

/* Add a limit for each option that sets a key: --cp-comm a2a is --fix cp_comm=a2a. */
static plait_status limit_keys(const search_values *flags, plait_arena *arena,
                               plait_search_options *search, plait_error *err)
{
    opt_table named;
    plait_error inner;
    char where[32];

    opt_spell_out((const opt[]){OPT_OF_KEYS(search_values, key), OPT_END}, &named);
    for (int k = 0; k < PLAIT_KEYS; k++) {
        const char *limit;

        if (flags->key[k] == NULL)
            continue;
        limit = plait_arena_printf(arena, "%s=%s", plait_keys[k].name, flags->key[k]);
        snprintf(where, sizeof where, "--%s", named.flag[k]);
        if (flags->key[k][0] == '\0')
            return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected a value, found nothing");
        PLAIT_TRY(plait_check_allocated(limit, err));
        const int before = search->limits;
        const plait_status status = plait_search_limit(search, limit, &inner);

        // Reject a comma in the value, which would begin another limit.
        if (search->limits - before > (status == PLAIT_OK))
            return plait_fail(err, PLAIT_ERROR_RANGE, where,
                              "expected one value or a range like 2..16, found '%.40s'",
                              flags->key[k]);
        if (status != PLAIT_OK)
            return plait_fail(err, inner.status, where, "%s", inner.message);
    }
    return PLAIT_OK;
}

static const char *limit_text(const plait_limit *limit, char text[PLAIT_VALUE_SIZE])
{
    if (limit->value[0] != '\0')
        return limit->value;
    if (limit->low == limit->high)
        snprintf(text, PLAIT_VALUE_SIZE, "%d", limit->low);
    else if (limit->high == PLAIT_MAX_GPUS)
        snprintf(text, PLAIT_VALUE_SIZE, "%d..", limit->low);
    else
        snprintf(text, PLAIT_VALUE_SIZE, "%d..%d", limit->low, limit->high);
    return text;
}

static plait_status read_distinct(const search_values *flags, plait_key_set *out, plait_error *err)
{
    char list[256], *rest = list, *word;

    *out = flags->all ? 0 : plait_distinct_keys();
    if (flags->distinct == NULL)
        return PLAIT_OK;
    if (flags->all)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--all",
                          "expected --all or --distinct, found both");
    if (strlen(flags->distinct) >= sizeof list)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "--distinct",
            "expected keys of a plan, such as tp,pp,mbs, found more than 255 characters");
    memcpy(list, flags->distinct, strlen(flags->distinct) + 1);
    *out = 0;
    while ((word = strtok_r(rest, ",", &rest)) != NULL) {
        const int key = plait_key_find(word);

        if (key < 0)
            return plait_fail(err, PLAIT_ERROR_RANGE, "--distinct",
                              "expected keys of a plan, such as tp,pp,mbs, found \"%.40s\"", word);
        *out |= PLAIT_KEY_BIT(key);
    }
    return *out != 0 ? PLAIT_OK
                     : plait_fail(err, PLAIT_ERROR_RANGE, "--distinct",
                                  "expected keys of a plan, such as tp,pp,mbs, found none");
}

static plait_status read_options(const search_values *flags, const plait_problem *problem,
                                 progress *shown, plait_arena *arena, plait_search_options *search,
                                 plait_error *err)
{
    int refine = PLAIT_REFINE_ALL;
    char one[PLAIT_VALUE_SIZE], other[PLAIT_VALUE_SIZE];
    int objective;

    plait_search_options_init(search);
    PLAIT_TRY(limit_keys(flags, arena, search, err));
    PLAIT_TRY(add_limits(search, "--fix", flags->fix, err));
    PLAIT_TRY(add_limits(search, "--limit", flags->limit, err));
    for (int i = 0; i < search->limits; i++)
        for (int j = 0; j < i; j++) {
            const plait_limit *const a = &search->limit[j], *const b = &search->limit[i];

            if (a->key != b->key ||
                (text_equal(a->value, b->value) && a->low <= b->high && b->low <= a->high))
                continue;
            return plait_fail(err, PLAIT_ERROR_RANGE, "--fix",
                              "expected one value of %s, found %.40s and %.40s",
                              plait_keys[a->key].name, limit_text(a, one), limit_text(b, other));
        }
    if (flags->refine != NULL)
        PLAIT_TRY(problem_word("--refine", flags->refine, plait_refine_name, &refine, err));
    search->refine = (plait_refine)refine;
    if (flags->objective != NULL) {
        PLAIT_TRY(
            problem_word("--objective", flags->objective, plait_objective_name, &objective, err));
        search->objective = (plait_objective)objective;
        for (int g = 0; g < plait_cluster_groups(problem->cluster, problem->job.gpus); g++) {
            const plait_accelerator *const accelerator = problem->cluster->group[g].accelerator;

            if (objective == PLAIT_MINIMISE_COST && accelerator->usd_per_hour <= 0.0)
                return plait_fail(err, PLAIT_ERROR_RANGE, "--objective",
                                  "expected time, memory or energy, since %s has no price "
                                  "(usd_per_hour), found cost",
                                  accelerator->name);
            if (objective == PLAIT_MINIMISE_ENERGY && accelerator->power_w <= 0.0)
                return plait_fail(
                    err, PLAIT_ERROR_RANGE, "--objective",
                    "expected time, memory or cost, since %s has no power (power_w), found energy",
                    accelerator->name);
        }
    }
    PLAIT_TRY(read_distinct(flags, &search->distinct, err));
    if (flags->tries > 0 && search->objective != PLAIT_MINIMISE_TIME)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--try",
                          "expected --objective time, since tries measure the step time, found %s",
                          plait_objective_name[search->objective]);
    search->allow_numerics = flags->allow_numerics;
    search->top = flags->top > 0 ? flags->top : flags->tries > 0 ? 30 : 10;
    search->threads = flags->memory_limit != NULL ? 1 : flags->threads;
    progress_attach(shown, search);
    return PLAIT_OK;
}

/* ---- the answer ---- */

/*
 * Add a change of the runtime to the list of relaxations: the first of the runtimes `widest` for
 * which a plan fits without offloading, or else the first for which a plan that offloads state to
 * the host fits. The new entry is inserted after the relaxations that change neither the GPUs nor the sequence length.
 */
static plait_status relax_runtime(const plait_problem *problem, const plait_search_options *search,
                                  plait_arena *arena, plait_relaxation *list, int *count,
                                  plait_error *err)
{
    enum { WIDEST = 3 };
    static const char *const widest[WIDEST] = {"megatron", "torchtitan", "deepspeed"};
    plait_problem other[WIDEST] = {0};
    plait_relaxation found;
    bool fits = false;

    for (size_t i = 0; i < 2 * WIDEST && !fits; i++) {
        const char *const runtime = widest[i % WIDEST];

        if (*count == PLAIT_MAX_RELAXATIONS || text_equal(runtime, problem->runtime->name))
            continue;
        if (i < WIDEST)
            PLAIT_TRY(problem_for_runtime(problem, runtime, arena, &other[i], err));
        PLAIT_TRY(plait_relax_runtime(problem, &other[i % WIDEST], search, i >= WIDEST, arena,
                                      &found, &fits, err));
    }
    if (fits) {
        int at = 0;

        while (at < *count && list[at].job.gpus == problem->job.gpus &&
               list[at].job.seq == problem->job.seq)
            at++;
        memmove(&list[at + 1], &list[at], (size_t)(*count - at) * sizeof *list);
        list[at] = found;
        ++*count;
    }
    return PLAIT_OK;
}

/* Find a smaller number of GPUs with a faster plan, because it has more divisors. */
static plait_status find_fewer_gpus(const plait_problem *problem, const plait_search_result *result,
                                    plait_arena *arena, report_found *found, plait_error *err)
{
    plait_fewer_gpus *fewer = plait_arena_alloc(arena, 1, sizeof *fewer);

    PLAIT_TRY(plait_check_allocated(fewer, err));
    PLAIT_TRY(plait_fewer_gpus_find(problem, found->options, result, arena, fewer, err));
    found->fewer = fewer->gpus > 0 ? fewer : NULL;
    return PLAIT_OK;
}

/*
 * Choose the plans to try. At least five are chosen, so that the report can show how much further
 * tries would gain.
 */
static plait_status choose_tries(int count, const plait_problem *problem, plait_arena *arena,
                                 report_found *found, plait_error *err)
{
    enum { AT_LEAST = 5 };
    const int plans = found->result->plans;
    const plait_degrees **degrees = plait_arena_alloc(arena, (size_t)plans + 1, sizeof(void *));
    double *step_s = plait_arena_alloc(arena, (size_t)plans + 1, sizeof *step_s);
    plait_tries *tries = plait_arena_alloc(arena, 1, sizeof *tries);
    plait_error_parts parts;
    plait_posterior belief;

    if (count == 0 || plans == 0)
        return PLAIT_OK;
    PLAIT_TRY(plait_check_allocated(degrees && step_s && tries, err));
    for (int i = 0; i < plans; i++) {
        degrees[i] = &found->plan[i].degrees;
        step_s[i] = found->plan[i].cost.step_s;
    }
    PLAIT_TRY(problem_error_parts(problem, arena, &parts, err));
    PLAIT_TRY(plait_posterior_make(degrees, step_s, plans, &parts, arena, &belief, err));
    PLAIT_TRY(
        plait_posterior_tries(&belief, count > AT_LEAST ? count : AT_LEAST, arena, tries, err));
    found->tries = tries;
    found->tries_asked = count;
    return PLAIT_OK;
}

/* Find the measured run that is nearest to the recommended plan. */
static plait_status find_nearest(const plait_problem *problem, plait_arena *arena,
                                 report_found *found, plait_error *err)
{
    plait_nearest_run *nearest = plait_arena_alloc(arena, 1, sizeof *nearest);
    plait_evidence evidence;

    PLAIT_TRY(plait_check_allocated(nearest, err));
    PLAIT_TRY(plait_evidence_find(arena, &evidence, err));
    *nearest = plait_evidence_nearest(&evidence, problem, &found->plan[found->recommended].degrees);
    found->nearest = nearest;
    return PLAIT_OK;
}

static plait_status next_command(const search_values *flags, const opt_operands *operands,
                                 const plait_problem *problem, plait_arena *arena,
                                 report_found *found, plait_error *err)
{
    const int rank = found->recommended + 1;
    const char *question, *plan;

    if (found->result->plans == 0 || (flags->plan != NULL && flags->output == NULL))
        return PLAIT_OK;
    if (flags->output != NULL) {
        plan = shell_quoted(flags->output, arena);
        PLAIT_TRY(plait_check_allocated(plan, err));
        found->next = flags->plan != NULL
                          ? plait_arena_printf(arena, "plait explain --plan %s --versus %s:%d",
                                               shell_quoted(flags->plan, arena), plan, rank)
                          : plait_arena_printf(arena, "plait explain --plan %s:%d", plan, rank);
        return found->next != NULL ? PLAIT_OK : plait_fail_nomem(err);
    }
    if (!plait_cluster_priced(problem->cluster, problem->job.gpus, NULL, 0))
        return PLAIT_OK; // no command-line options describe different stages; -o FILE does
    question = problem_text(problem, &flags->problem, operands, arena);
    PLAIT_TRY(plait_check_allocated(question, err));
    const plait_plan *const recommended = &found->result->plan[found->recommended].plan;
    if (stages_choose_own(recommended)) { // options cannot set them
        found->next = plait_arena_printf(
            arena,
            "repeat the command with `-o plans.json` to keep the choices of each stage, then "
            "`plait explain --plan plans.json:%d`",
            rank);
        return found->next != NULL ? PLAIT_OK : plait_fail_nomem(err);
    }
    PLAIT_TRY(plan_request_text(problem, &recommended->degrees, arena, &plan, err));
    found->next = plait_arena_printf(arena, "plait explain %s %s", question, plan);
    return found->next != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

static plait_status deliver_json(const search_values *flags, const plait_problem *problem,
                                 const report_found *found, plait_arena *arena, plait_error *err)
{
    json_writer json;

    if (!flags->json && flags->output == NULL)
        return PLAIT_OK;
    command_begin_json(&json, arena);
    json_search(&json, problem, found);
    PLAIT_TRY(command_deliver_json(&json, flags->output, flags->json, err));
    return command_check_runtime(flags->output, plait_runtime_handle(problem->runtime), arena, err);
}

/* Write the page that plait report would make of the JSON document. */
static plait_status deliver_page(const search_values *flags, const plait_problem *problem,
                                 const report_found *found, plait_arena *arena, plait_error *err)
{
    const plait_search_result *const result = found->result;
    report_plan *front;

    if (flags->page == NULL)
        return PLAIT_OK;
    if (result->plans == 0) {
        print_warning("%s: not written, since no plan fits", flags->page);
        return PLAIT_OK;
    }
    front = plait_arena_alloc(arena, (size_t)result->front_size + 1, sizeof *front);
    PLAIT_TRY(plait_check_allocated(front, err));
    for (int i = 0; i < result->front_size; i++)
        PLAIT_TRY(report_price(problem, &result->front[i].plan, 0, arena, &front[i], err));
    const page_plans plans = {.problem = problem,
                              .command = found->command,
                              .plans = result->plans,
                              .plan = found->plan,
                              .run = found->recommended,
                              .front = result->front_size,
                              .front_plan = front};
    return plans_page_write(&plans, flags->page, flags->threads, arena, err);
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static plait_status answer_search(const search_values *flags, const opt_operands *operands,
                                  const plait_problem *problem, const plait_search_options *search,
                                  plait_search_result *result, plait_arena *arena, plait_error *err)
{
    const double start_s = seconds_now() - result->elapsed_s;
    report_found found = {.options = search, .result = result, .command = operands->line};
    plait_idle_group *idle = plait_arena_alloc(arena, PLAIT_MAX_NODE_GROUPS, sizeof *idle);

    PLAIT_TRY(plait_check_allocated(idle, err));
    report_plan *plan = plait_arena_alloc(arena, (size_t)result->plans, sizeof *plan);
    PLAIT_TRY(plait_check_allocated(plan, err));
    for (int i = 0; i < result->plans; i++) {
        PLAIT_TRY(report_price(problem, &result->plan[i].plan, i + 1, arena, &plan[i], err));
        plan[i].variants = result->plan[i].variants;
        plan[i].variants_within = result->plan[i].variants_within;
        if (i == 0 || problem->runtime->natural_routing)
            PLAIT_TRY(report_natural(problem, arena, &plan[i], err));
        plan[i].tied = i > 0 && plan[i].cost.step_s < problem->band.tie * plan[0].cost.step_s;
    }
    found.plan = plan;
    found.recommended = plait_search_recommended(problem, result);
    if (result->plans != 0) {
        PLAIT_TRY(find_nearest(problem, arena, &found, err));
        PLAIT_TRY(plait_search_by_model(problem, search, &result->plan[found.recommended], arena,
                                        &found.by_model, err));
    }
    if (result->plans != 0) {
        const plait_degrees *const best = &result->plan[0].plan.degrees;

        for (int k = 0; k < PLAIT_KEYS; k++) {
            const plait_key_id key = (plait_key_id)k;
            char text[32];

            if (plait_keys[key].numerics && key != PLAIT_KEY_OFFLOAD &&
                !plait_key_is_usual(problem, best, key))
                print_warning("the best plan changes numerics: %s %s differs from the recipe of %s",
                              plait_keys[key].name, plait_degrees_get(best, key, text, sizeof text),
                              problem->runtime->name);
        }
    }
    found.idle = idle;
    if (result->plans == 0) {
        plait_relaxation *relaxation =
            plait_arena_alloc(arena, PLAIT_MAX_RELAXATIONS, sizeof *relaxation);
        report_plan *closest = plait_arena_alloc(arena, 1, sizeof *closest);

        PLAIT_TRY(plait_check_allocated(relaxation && closest, err));
        if (result->has_closest) {
            PLAIT_TRY(report_price(problem, &result->closest.plan, 0, arena, closest, err));
            PLAIT_TRY(plait_relaxations(problem, found.options, arena, relaxation,
                                        &found.relaxations, err));
            PLAIT_TRY(
                relax_runtime(problem, found.options, arena, relaxation, &found.relaxations, err));
            found.closest = closest;
            found.relaxation = relaxation;
        }
    } else
        PLAIT_TRY(plait_idle_groups(problem, search, &result->plan[0].plan, arena, idle,
                                    &found.idle_groups, err));
    PLAIT_TRY(find_fewer_gpus(problem, result, arena, &found, err));
    PLAIT_TRY(choose_tries(flags->tries, problem, arena, &found, err));
    progress_clear(search->progress_context);
    result->elapsed_s = seconds_now() - start_s; // includes the work after the search
    PLAIT_TRY(deliver_json(flags, problem, &found, arena, err));
    PLAIT_TRY(deliver_page(flags, problem, &found, arena, err));
    if (flags->json)
        return PLAIT_OK;
    PLAIT_TRY(next_command(flags, operands, problem, arena, &found, err));
    return report_search(problem, &found, lines_out(), err);
}

/* If no plan on all GPUs is legal, answer with a smaller number of GPUs that has legal plans. */
static plait_status answer_refusal(const search_values *flags, const opt_operands *operands,
                                   const plait_problem *problem, const plait_search_options *search,
                                   const plait_error *refusal, plait_arena *arena, plait_error *err)
{
    static const plait_search_result nothing = {0};
    const char *const why = strstr(refusal->message, "found none: ");
    report_found found = {.options = search, .result = &nothing, .command = operands->line};
    problem_flags smaller = flags->problem;

    PLAIT_TRY(find_fewer_gpus(problem, NULL, arena, &found, err));
    if (found.fewer == NULL || why == NULL) {
        // Fail with the error of the search. Its message names the smallest change with which a
        // plan fits, if one is found.
        plait_relaxation relaxation;
        char step[UNITS_SIZE], memory[UNITS_SIZE];
        bool any;
        int count = 0;

        PLAIT_TRY(plait_first_relaxation(problem, search, arena, &relaxation, &any, err));
        if (!any)
            PLAIT_TRY(relax_runtime(problem, search, arena, &relaxation, &count, err));
        if (!any && count == 0)
            return plait_fail(err, refusal->status, refusal->where, "%s", refusal->message);
        return plait_fail(err, refusal->status, refusal->where, "%s; a plan fits with %s (%s, %s)",
                          refusal->message, relaxation.change,
                          units_seconds(relaxation.best.price.step_s, step),
                          units_gib(relaxation.best.price.peak_bytes, memory));
    }
    found.refusal = why + strlen("found none: ");
    PLAIT_TRY(deliver_json(flags, problem, &found, arena, err));
    PLAIT_TRY(deliver_page(flags, problem, &found, arena, err));
    if (flags->json)
        return PLAIT_OK;
    smaller.gpus = found.fewer->gpus;
    found.next = plait_arena_printf(arena, "plait search %s",
                                    problem_text(problem, &smaller, operands, arena));
    return found.next != NULL ? report_search(problem, &found, lines_out(), err)
                              : plait_fail_nomem(err);
}

/*
 * Bounds of the search for a batch that allows more data parallelism. dp divides both the GPUs and
 * the batch, so it is at most their greatest common divisor. The bounds are chosen: for most users
 * a batch within 1 / REACH_SHARE trains equally well, and other degrees make up for a gain below
 * LEAST_GAIN in replicas.
 */
enum { REACH_SHARE = 20, MOST_REACH = 1 << 16, LEAST_GAIN = 4 };

/*
 * Return whether `batch` is better than `best`: first by the number of replicas that it allows,
 * then by the divisors left for microbatches, then by the distance from the job's batch.
 */
static bool divides_better(const plait_job *job, int64_t batch, int64_t best)
{
    const int64_t gpus = job->gpus;
    const int64_t replicas = common_divisor(batch, gpus) - common_divisor(best, gpus);
    const int64_t rest = common_divisor(batch, gpus * gpus) - common_divisor(best, gpus * gpus);

    if (replicas != 0)
        return replicas > 0;
    return rest != 0 ? rest > 0 : llabs(batch - job->gbs) < llabs(best - job->gbs);
}

/*
 * Warns if the batch limits the dp of the best plan, and names the nearest batch that does not: with
 * 512 GPUs, a batch of 1000 allows dp up to 8, a batch of 1024 up to 512.
 *
 * @param dp  of the best plan; 0 without a plan
 */
static void warn_of_batch(const plait_job *job, int dp)
{
    const int64_t shared = common_divisor(job->gbs, job->gpus);
    int64_t best = job->gbs, reach = job->gbs / REACH_SHARE;

    if (dp > 0 && dp != shared)
        return;
    reach = reach < job->gpus ? reach : job->gpus; // has a multiple of each divisor of the GPUs
    reach = reach < MOST_REACH ? reach : MOST_REACH;
    for (int64_t batch = job->gbs - reach; batch <= job->gbs + reach; batch++)
        if (batch > 0 && divides_better(job, batch, best))
            best = batch;
    if (common_divisor(best, job->gpus) >= LEAST_GAIN * shared)
        print_warning("--gbs %d: dp is at most %lld, since %d GPUs and the batch have no larger "
                      "common divisor; --gbs %lld allows dp up to %lld",
                      job->gbs, (long long)shared, job->gpus, (long long)best,
                      (long long)common_divisor(best, job->gpus));
}

enum { LEAST_MEMORY = 1000000 }; /* bytes; a search needs several times as many */

/* Reads the bytes that the search may hold; 0: no limit. */
static plait_status read_memory_limit(const search_values *flags, size_t *bytes, plait_error *err)
{
    double found;

    *bytes = 0;
    if (flags->memory_limit == NULL)
        return PLAIT_OK;
    if (!magnitude_parse(flags->memory_limit, &found) || found < LEAST_MEMORY || found > 1e15)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--memory-limit",
                          "expected bytes from 1M to 1000T, such as 100M or 2G, found \"%s\"",
                          flags->memory_limit);
    *bytes = (size_t)found;
    return PLAIT_OK;
}

/* Searches with at most `most_bytes` of memory; 0: no limit. */
static plait_status search_within(size_t most_bytes, const plait_problem *problem,
                                  const plait_search_options *search, plait_arena *arena,
                                  plait_search_result *result, plait_error *err)
{
    plait_arena_limit(most_bytes);
    const plait_status status = plait_search(problem, search, arena, result, err);
    plait_arena_limit(0);
    if (status == PLAIT_ERROR_NOMEM && most_bytes > 0)
        return plait_fail(err, status, "--memory-limit",
                          "expected enough bytes to list the plans, found %.0f MB",
                          (double)most_bytes / 1e6);
    return status;
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    search_values flags = *(const search_values *)values;
    const page_form form = flags.output != NULL ? page_form_of(flags.output) : PAGE_FORMS;
    plans_entry *file = NULL;
    plait_problem problem;
    plait_search_options search;
    plait_search_result result;
    plait_error refusal = {PLAIT_OK, "", ""};
    plait_status status;
    progress shown = progress_of(1, "searching");
    size_t most_bytes;
    char why[256];

    if (form == PAGE_JSON || form == PAGE_FORMS) {
        PLAIT_TRY(command_output(&flags.output, &flags.json, err));
    } else {
        flags.page = flags.output;
        flags.output = NULL;
        PLAIT_TRY(command_page_check(flags.page, err));
    }
    if (flags.plan != NULL) {
        file = plait_arena_alloc(arena, 1, sizeof *file);
        PLAIT_TRY(plait_check_allocated(file, err));
        PLAIT_TRY(plans_load(flags.plan, arena, file, err));
    }
    PLAIT_TRY(problem_resolve(&flags.problem, operands, file, arena, &problem, err));
    PLAIT_TRY(read_options(&flags, &problem, &shown, arena, &search, err));
    PLAIT_TRY(read_memory_limit(&flags, &most_bytes, err));
    if (!plait_model_check(problem.runtime, problem.model, why, sizeof why)) {
        if (runtime_part_missed(problem.runtime, problem.model) >= 0)
            print_warning("%s", why);
        else
            print_warning("%s: plait launch cannot express this model: expected %s",
                          problem.model->name, why);
    }
    status = search_within(most_bytes, &problem, &search, arena, &result, &refusal);
    progress_clear(&shown);
    *no = status != PLAIT_OK || result.plans == 0;
    if (status == PLAIT_OK || text_equal(refusal.where, "search"))
        warn_of_batch(&problem.job, *no ? 0 : result.plan[0].plan.degrees.dp);
    if (status == PLAIT_ERROR_RANGE && text_equal(refusal.where, "search"))
        return answer_refusal(&flags, operands, &problem, &search, &refusal, arena, err);
    if (status != PLAIT_OK)
        return plait_fail(err, status, refusal.where, "%s", refusal.message);
    return answer_search(&flags, operands, &problem, &search, &result, arena, err);
}

const command command_search = {
    .usage = {.command = "search",
              .synopsis = "MODEL CLUSTER --seq S --gbs B [--gpus N] [options] | --plan FILE[:RANK]",
              .summary = "Find the best plans of a job, and prove that they are the best.",
              .about =
                  "MODEL is a name that `plait models` lists, a model file or a Hugging Face "
                  "config.json,\nor the model's id on the Hub. CLUSTER is a name that `plait "
                  "clusters` lists, a file,\nACCELERATOR:NODESxGPUS such as h100-80gb-sxm:64x8, "
                  "or a short name, h100 or 8xH100.\nExit status 1 when no plan fits.",
              .max_operands = 2,
              .operand = {OPT_NAMES(PLAIT_DATA_MODELS), OPT_NAMES(PLAIT_DATA_CLUSTERS)},
              .options = options},
    .values_size = sizeof(search_values),
    .run = run,
};
