/*
 * cmd_doctor.c - plait doctor: prices a running job and finds the fewest changes that make it
 * faster
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/plan_request.h"
#include "cli/command.h"
#include "launch/edits.h"
#include "base/status.h"
#include "launch/import.h"
#include "cli/import_rl.h"
#include "cli/imported.h"
#include "cli/server_log.h"
#include "report/lines.h"
#include "report/report_answers.h"
#include "base/text.h"

typedef struct doctor_values {
    problem_flags problem; /* --gpus also applies to the imported file */
    const char *from, *model, *cluster, *log;
    bool verbose, json;
} doctor_values;

static const opt options[] = {
    OPT_OF_WORD(doctor_values, from, "from", "FORMAT", OPT_LISTED(launch_import_names),
                "format of FILE: {words}"),
    OPT_OF_WORD(doctor_values, model, "model", "MODEL", OPT_NAMES(PLAIT_DATA_MODELS),
                "model, if the file does not state it, or to override the file"),
    OPT_OF_WORD(doctor_values, cluster, "cluster", "CLUSTER", OPT_NAMES(PLAIT_DATA_CLUSTERS),
                "cluster that the job runs on"),
    OPT_OF_TEXT(doctor_values, log, "log", 0, "RUN.log",
                "training log of the job, to print the measured next to the predicted step time"),
    PROBLEM_OPTIONS(doctor_values, problem),
    OPT_HEADING("the answer"),
    OPT_OF_FLAG(doctor_values, verbose, "verbose", "list the options of FILE that are not read"),
    OPT_OF_FLAG(doctor_values, json, "json", "one JSON document on standard output"),
    OPT_END,
};

/* Smallest share of the step time that a change must save to be worth a restart (chosen). */
static const double worth = 0.01;

static plait_status find_changes(doctor_answer *answer, const plait_search_options *space,
                                 plait_arena *arena, plait_error *err)
{
    plait_change *change = plait_arena_alloc(arena, DOCTOR_CHANGES, sizeof *change);
    // If the current plan does not fit, any plan that fits is better.
    const double limit_s =
        answer->now->verdict <= PLAIT_TIGHT ? (1.0 - worth) * answer->now->cost.step_s : HUGE_VAL;
    plait_search_options best = *space;
    plait_error inner;

    PLAIT_TRY(plait_check_allocated(change, err));
    answer->change = change;
    PLAIT_TRY(plait_changes(answer->problem, space, &answer->now->degrees, limit_s, DOCTOR_CHANGES,
                            arena, change, &answer->changes, err));
    best.top = 1;
    best.refine = PLAIT_REFINE_ALL;
    const plait_status status =
        plait_search(answer->problem, &best, arena, &answer->search, &inner);
    if (status == PLAIT_ERROR_RANGE) // no plan of all GPUs is legal
        return PLAIT_OK;
    return status == PLAIT_OK ? PLAIT_OK
                              : plait_fail(err, status, inner.where, "%s", inner.message);
}

/*
 * Render the files of a plan as plait launch does. No files are rendered if the plan does not fit
 * or the target cannot express it.
 */
static plait_status render_command(const doctor_answer *answer, plait_launch_target target,
                                   const report_plan *plan, plait_arena *arena,
                                   plait_launch_folder *out, plait_error *err)
{
    plait_launch launch;
    plait_error inner;

    *out = (plait_launch_folder){0};
    plait_launch_init(&launch);
    launch.problem = answer->problem;
    launch.plan = &plan->plan;
    launch.cost = &plan->cost;
    if (plan->verdict > PLAIT_TIGHT)
        return PLAIT_OK;
    const plait_status status = plait_launch_render(&launch, target, arena, out, &inner);
    if (status != PLAIT_OK)
        out->files = 0;
    return faults_only(status, &inner, err);
}

/* Return those of `keys` whose values differ between two plans. */
static plait_key_set keys_missed(const report_plan *wanted, const report_plan *got,
                                 plait_key_set keys)
{
    plait_key_set missed = 0;

    for (int key = 0; key < PLAIT_KEYS; key++)
        if ((keys & PLAIT_KEY_BIT(key)) != 0 &&
            !plait_key_same(&wanted->degrees, &got->degrees, (plait_key_id)key))
            missed |= PLAIT_KEY_BIT(key);
    return missed;
}

static const char by_hand[] = "plait cannot edit this file for this plan: change these keys by "
                              "hand, or write new files with plait launch\n";
static const char outside[] =
    "no line of this file sets the attention kernel, which depends on the "
    "installed attention library\n";

/*
 * Keep the edits only if importing the edited file gives the wanted plan. The attention kernel may
 * remain unchanged, because some software uses whichever kernel is installed.
 */
static plait_status check_edits(const doctor_answer *answer, int i, const launch_config *file,
                                const char *applied, const plans_entry *today,
                                const plan_request_flags *question, plait_arena *arena,
                                const char **edits, plait_error *err)
{
    static const plait_key_set attention = PLAIT_KEY_BIT(PLAIT_KEY_ATTENTION);
    const plait_key_set changed = answer->change[i].changed;
    plan_request *after = plait_arena_alloc(arena, 1, sizeof *after);
    bool read = false;

    PLAIT_TRY(plait_check_allocated(after, err));
    if (applied != NULL) {
        // Import and price the edited file; `read` stays false if the result is not a valid plan.
        plans_entry *entry = plait_arena_alloc(arena, 1, sizeof *entry);
        const char *warning;
        plait_error inner;

        PLAIT_TRY(plait_check_allocated(entry, err));
        plait_status status = launch_import(file->target, applied, strlen(applied), file->name,
                                            &file->call, arena, entry, &warning, &inner);
        if (status == PLAIT_OK) {
            entry->model = today->model;
            entry->cluster = today->cluster;
            entry->gpus = entry->gpus > 0 ? entry->gpus : today->gpus;
            status = plan_request_from_entry(question, entry, arena, after, &inner);
        }
        read = status == PLAIT_OK && after->plan.verdict != PLAIT_INVALID;
        PLAIT_TRY(faults_only(status, &inner, err));
    }
    const plait_key_set missed =
        read ? keys_missed(answer->plan[i], &after->plan, changed) : changed;
    if (read && missed == attention && keys_missed(answer->now, &after->plan, attention) == 0) {
        *edits = plait_arena_printf(arena, "%s%s", *edits, outside);
        return *edits != NULL ? PLAIT_OK : plait_fail_nomem(err);
    }
    const plait_cost *const is = &after->plan.cost, *const wanted = &answer->plan[i]->cost;
    if (!read || missed != 0 || !(fabs(is->step_s - wanted->step_s) <= 1e-9 * wanted->step_s) ||
        !(fabs(is->memory.peak_bytes - wanted->memory.peak_bytes) <=
          1e-9 * wanted->memory.peak_bytes))
        *edits = by_hand;
    return PLAIT_OK;
}

/*
 * Find the edits of each change, and price its plan. If a key has no effect, the search may return
 * any value for it; such keys keep their current value. launch.json has no edits: it lists ranks
 * and actions, which users do not edit by hand.
 */
static plait_status find_edits(doctor_answer *answer, const launch_config *file,
                               const plans_entry *today, const plan_request_flags *question,
                               plait_arena *arena, plait_error *err)
{
    const char *applied;
    plait_launch_folder *folder = plait_arena_alloc(arena, 2, sizeof *folder);

    PLAIT_TRY(plait_check_allocated(folder, err));
    PLAIT_TRY(render_command(answer, file->target, answer->now, arena, &folder[0], err));
    for (int i = 0; i < answer->changes; i++) {
        report_plan *plan = plait_arena_alloc(arena, 1, sizeof *plan);

        PLAIT_TRY(plait_check_allocated(plan, err));
        plait_degrees degrees = answer->change[i].best.plan.degrees;
        const plait_key_set moved = answer->change[i].changed | PLAIT_KEY_BIT(PLAIT_KEY_DP) |
                                    PLAIT_KEY_BIT(PLAIT_KEY_SHARD_GROUP);
        char *value =
            plait_arena_alloc(arena, PLAIT_KEYS,
                              PLAIT_VALUE_SIZE); // plait_degrees_set keeps a pointer to a layout

        PLAIT_TRY(plait_check_allocated(value, err));
        for (int key = 0; key < PLAIT_KEYS; key++, value += PLAIT_VALUE_SIZE) {
            if (moved & PLAIT_KEY_BIT(key))
                continue;
            plait_degrees_get(&answer->now->degrees, (plait_key_id)key, value, PLAIT_VALUE_SIZE);
            PLAIT_TRY(plait_degrees_set(&degrees, plait_keys[key].name, value, err));
        }
        PLAIT_TRY(report_price_degrees(answer->problem, &degrees, 0, arena, plan, err));
        PLAIT_TRY(
            plan->verdict == PLAIT_INVALID
                ? report_price(answer->problem, &answer->change[i].best.plan, 0, arena, plan, err)
                : PLAIT_OK);
        answer->plan[i] = plan;
        answer->edits[i] = "";
        if (file->target == PLAIT_LAUNCH_COMPANION)
            continue;
        PLAIT_TRY(render_command(answer, file->target, plan, arena, &folder[1], err));
        PLAIT_TRY(launch_edits_make(file, &folder[0], &folder[1], answer->change[i].changed, arena,
                                    &answer->edits[i], &applied, err));
        PLAIT_TRY(
            check_edits(answer, i, file, applied, today, question, arena, &answer->edits[i], err));
        if (strstr(answer->edits[i], "+ --flash-attention-version") != NULL) {
            answer->edits[i] = plait_arena_printf(
                arena, "%s--flash-attention-version needs Megatron-LM core 0.19 or later\n",
                answer->edits[i]);
            PLAIT_TRY(plait_check_allocated(answer->edits[i], err));
        }
    }
    return PLAIT_OK;
}

/* Reports on a log that needs no prices of training: of an engine's start, or of reinforcement learning. */
static plait_status report_log(const doctor_values *flags, const import_rl_flags *rl,
                               const opt_operands *operands, plait_arena *arena, bool *done,
                               bool *no, plait_error *err)
{
    const server_log_flags server = {flags->model, flags->cluster, flags->json,
                                     flags->problem.assume_llama};

    PLAIT_TRY(server_log_report(operands->text[0], &server, arena, done, err));
    return *done ? PLAIT_OK : import_rl_log(rl, operands, arena, done, no, err);
}

/* Refuses a file that leaves open what no option gives. */
static plait_status check_complete(const doctor_values *flags, const plans_entry *entry,
                                   const char *file, plait_error *err)
{
    const struct {
        const char *option, *what;
        bool missing;
    } facts[] = {{"--model", "a model", entry->model == NULL},
                 {"--cluster", "a cluster", entry->cluster == NULL},
                 {"--seq", "the tokens of a sequence", entry->seq == 0 && flags->problem.seq == 0},
                 {"--gbs", "the sequences of a step", entry->gbs == 0 && flags->problem.gbs == 0}};

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].missing)
            return plait_fail(err, PLAIT_ERROR_SCHEMA, facts[i].option,
                              "expected %s, since %.120s does not state it, found nothing",
                              facts[i].what, file);
    return PLAIT_OK;
}

/* Prices a training job, finds its changes, and prints both. */
static plait_status report_training(const doctor_values *flags, const opt_operands *operands,
                                    plait_arena *arena, bool *no, plait_error *err)
{
    const imported_flags file = {flags->from,         flags->model,   flags->cluster,
                                 flags->problem.gpus, flags->verbose, flags->problem.assume_llama};
    doctor_answer *answer = plait_arena_alloc(arena, 1, sizeof *answer);
    plan_request *today = plait_arena_alloc(arena, 1, sizeof *today);
    launch_config read;
    plait_search_options space;
    plan_request_flags question = {.problem = flags->problem};
    plans_entry entry;
    plait_error inner;
    step_log log;
    json_writer json;

    PLAIT_TRY(plait_check_allocated(answer && today, err));
    PLAIT_TRY(imported_read(&file, operands, arena, &entry, &read, err));
    PLAIT_TRY(check_complete(flags, &entry, operands->text[0], err));
    if (entry.gpus == 0)
        entry.gpus = flags->problem.gpus;
    question.problem.gpus = 0; // the entry has it; as an option it would count as a change
    PLAIT_TRY(plan_request_from_entry(&question, &entry, arena, today, err));
    *answer = (doctor_answer){.file = text_plain(arena, operands->text[0]),
                              .problem = &today->problem,
                              .now = &today->plan};
    PLAIT_TRY(plait_check_allocated(answer->file, err));
    if (flags->log != NULL)
        PLAIT_TRY(
            measured_log_read(flags->log, answer->problem, arena, &log, &answer->measured_s, err));
    else if (read.logged) { // a log without steps is accepted
        const plait_status status =
            measured_log_read(read.name, answer->problem, arena, &log, &answer->measured_s, &inner);
        PLAIT_TRY(faults_only(status, &inner, err));
    }
    plait_search_options_init(&space);
    if (today->plan.verdict != PLAIT_INVALID) {
        PLAIT_TRY(find_changes(answer, &space, arena, err));
        PLAIT_TRY(find_edits(answer, &read, &entry, &question, arena, err));
    }
    *no = today->plan.verdict > PLAIT_TIGHT;
    if (!flags->json)
        return report_doctor(answer, lines_out(), err);
    command_begin_json(&json, arena);
    json_doctor(&json, answer);
    return command_deliver_json(&json, NULL, true, err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const doctor_values *const flags = values;
    const import_rl_flags rl = {.model = flags->model,
                                .cluster = flags->cluster,
                                .log = flags->log,
                                .gpus = flags->problem.gpus,
                                .verbose = flags->verbose,
                                .json = flags->json};
    const int framework = flags->from != NULL ? text_index(flags->from, rl_import_name) : -1;
    bool done = false;

    if (framework >= 0)
        return import_rl_doctor((plait_rl_framework)framework, &rl, operands, arena, no, err);
    if (operands->count == 1 && flags->from == NULL)
        PLAIT_TRY(report_log(flags, &rl, operands, arena, &done, no, err));
    return done ? PLAIT_OK : report_training(flags, operands, arena, no, err);
}

const command command_doctor = {
    .usage =
        {.command = "doctor",
         .synopsis = "[--from FORMAT] FILE [ARGUMENT...] --cluster CLUSTER [options]",
         .summary = "Price a running job, and find the fewest changes that make it faster.",
         .about =
             "FILE is any input of `plait import`. The log of a run also gives the measured "
             "step time.\nFor the start log of vLLM, SGLang or TensorRT-LLM, prints its memory "
             "next to the prediction.\nFor a run of verl or NeMo-RL, prints the phases of the log "
             "next to those that plait rl\npredicts.\nEach change sets one or two keys of the "
             "plan, and the keys "
             "that "
             "depend on them. Exit status 1\nwhen the current plan does not fit.",
         .max_operands = OPT_MAX_OPERANDS,
         .options = options},
    .values_size = sizeof(doctor_values),
    .run = run,
};
