/* cmd_report.c - plait report: writes the page of a search or of a deployment */

#include "cli/plan_request.h"
#include "cli/command.h"
#include "base/status.h"
#include "io/json/json.h"
#include "page/pages.h"
#include "cli/terminal.h"

typedef struct report_values {
    const char *output;
    bool no_alternatives;
    int threads;
} report_values;

static const opt options[] = {
    OPT_OF_OUTPUT(report_values, output, "output", 'o', "FILE",
                  "page to write: FILE.html, or its tables as FILE.md, .csv or .json"),
    OPT_OF_FLAG(
        report_values, no_alternatives, "no-alternatives",
        "leave out the best plans with other values of one key, which take up to 24 searches"),
    OPT_OF_INT(report_values, threads, "threads", "N", 1, 1024,
               "threads of a search (default: OMP_NUM_THREADS or all processors)"),
    OPT_END,
};

/* Storage for everything that the page refers to. */
typedef struct reporting {
    plait_arena *arena;
    plait_problem problem;
    page_plans page;
} reporting;

/* Price the plans of a list. The page has the problem of the first plan. */
static plait_status price_all(const plans_entry *entry, int count, reporting *r,
                              const report_plan **out, plait_error *err)
{
    report_plan *plan = plait_arena_alloc(r->arena, (size_t)count, sizeof *plan);
    plan_request *one = plait_arena_alloc(r->arena, 1, sizeof *one);

    PLAIT_TRY(plait_check_allocated(plan && one, err));
    for (int i = 0; i < count; i++) {
        PLAIT_TRY(plan_request_from_entry(NULL, &entry[i], r->arena, one, err));
        plan[i] = one->plan;
        if (i == 0 || one->problem.runtime->natural_routing)
            PLAIT_TRY(report_natural(&one->problem, r->arena, &plan[i], err));
        if (i == 0)
            r->problem = one->problem;
    }
    *out = plan;
    return PLAIT_OK;
}

/* Find the plan to run, which `plait search` recommends: the one that a file without a rank means. */
static plait_status find_run(const char *path, reporting *r, plait_error *err)
{
    plans_entry *const run = plait_arena_alloc(r->arena, 1, sizeof *run);

    PLAIT_TRY(plait_check_allocated(run, err));
    PLAIT_TRY(plans_load(path, r->arena, run, err));
    for (int i = 0; i < r->page.plans; i++)
        if (r->page.plan[i].rank == run->rank)
            r->page.run = i;
    return PLAIT_OK;
}

/*
 * Find whether plait capacity wrote a document; plait report refuses it, since plait capacity
 * writes its own page.
 */
static plait_status find_capacity(const json_cursor *root, plait_arena *arena, void *to,
                                  plait_error *err)
{
    (void)arena;
    (void)err;
    *(bool *)to = json_has(root, "fleets") || json_has(root, "tornado");
    return PLAIT_OK;
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const report_values *const flags = values;
    reporting *r = plait_arena_alloc(arena, 1, sizeof *r);
    bool serving, capacity = false;
    plait_error inner;
    const plans_entry *entry;
    int count;

    (void)no;
    PLAIT_TRY(plait_check_allocated(r, err));
    *r = (reporting){.arena = arena};
    if (operands->count == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "PLANS.json",
                          "expected a file of plans, as `plait search -o FILE` writes it, found "
                          "nothing");
    if (flags->output == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--output",
                          "expected a file such as report.html, found nothing");
    PLAIT_TRY(command_apart(operands->text[0], flags->output, err));
    PLAIT_TRY(command_page_check(flags->output, err));
    PLAIT_TRY(page_serve_is(operands->text[0], arena, &serving, err));
    if (serving) {
        page_serve of;

        PLAIT_TRY(page_of_serve(operands->text[0], arena, &of, err));
        PLAIT_TRY(command_page_write(of.made, flags->output, err));
        print_message("%s: %d deployment%s, %d Pareto-optimal\n", flags->output, of.plans,
                      of.plans == 1 ? "" : "s", of.front);
        return PLAIT_OK;
    }
    PLAIT_TRY(faults_only(json_load(operands->text[0], find_capacity, arena, &capacity, &inner),
                          &inner, err));
    if (capacity)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, operands->text[0],
                          "expected a file of plans or deployments, found one of plait capacity, "
                          "which writes its page itself: plait capacity ... -o FILE.html");
    const char *const path = operands->text[0];
    PLAIT_TRY(plans_load_list(path, "front", r->arena, &entry, &count, err));
    PLAIT_TRY(price_all(entry, count, r, &r->page.front_plan, err));
    r->page.front = count;
    PLAIT_TRY(plans_load_list(path, "plans", r->arena, &entry, &count, err));
    if (count == 0)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, path,
            "expected a plan that fits, found none: `plait search` prints the reason");
    PLAIT_TRY(price_all(entry, count, r, &r->page.plan, err));
    for (int i = 0; i < count; i++)
        if (r->page.plan[i].verdict == PLAIT_INVALID)
            print_warning("%s: cannot run: %s", entry[i].where, r->page.plan[i].why);
    r->page.plans = count;
    PLAIT_TRY(find_run(path, r, err));
    r->page.problem = &r->problem;
    r->page.no_alternatives = flags->no_alternatives;
    PLAIT_TRY(plans_load_command(path, r->arena, &r->page.command, err));
    PLAIT_TRY(plans_page_write(&r->page, flags->output, flags->threads, arena, err));
    print_message("%s: %d plan%s, %d Pareto-optimal\n", flags->output, r->page.plans,
                  r->page.plans == 1 ? "" : "s", r->page.front);
    return PLAIT_OK;
}

const command command_report = {
    .usage = {.command = "report",
              .synopsis = "PLANS.json -o FILE.html",
              .summary =
                  "Write a page about a search or a deployment: charts, tables, alternatives.",
              .about = "PLANS.json is a file that `plait search -o`, `plait eval --json` or `plait "
                       "serve -o` wrote.\nThe page needs no network and no other file; .md, .csv "
                       "and .json contain its tables.",
              .max_operands = 1,
              .options = options},
    .values_size = sizeof(report_values),
    .run = run,
};
