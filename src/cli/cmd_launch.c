/* cmd_launch.c - plait launch: writes the files that start a plan or a deployment */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/plan_request.h"
#include "cli/problem.h"
#include "cli/terminal.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/plans/plans.h"
#include "io/plans/serve_answer.h"
#include "plan/serve_values.h"
#include "plait/validate.h"
#include "plait/launch.h"

typedef struct launch_values {
    const char *target;
    const char *output;
    const char *container;
    const char *account;
    const char *as, *model;
    bool force;
} launch_values;

static const opt options[] = {
    OPT_OF_WORD(launch_values, target, "target", "NAME", OPT_WORDS(plait_launch_target_name),
                "software to launch: {words} (default: the plan's runtime); for serving: vllm, "
                "sglang, trtllm, dynamo, llm-d"),
    OPT_OF_OUTPUT(launch_values, output, "output", 'o', "DIR",
                  "folder for the files, new or empty"),
    OPT_OF_TEXT(launch_values, container, "container", 0, "IMAGE",
                "container image of SLURM and Kubernetes jobs (default: a placeholder)"),
    OPT_OF_TEXT(launch_values, account, "account", 0, "NAME",
                "account that SLURM charges (default: a placeholder)"),
    OPT_OF_WORD(launch_values, as, "as", "FORM", OPT_WORDS(plait_serve_form_name),
                "for serving: script (default), systemd or kubernetes"),
    OPT_OF_TEXT(launch_values, model, "model", 0, "PATH",
                "for serving: the checkpoint, a folder or a name on the Hub"),
    OPT_OF_FLAG(launch_values, force, "force", "write into a folder that has files"),
    OPT_END,
};

/* Return the target of the plan's runtime; for a job of fine-tuning, one that trains such jobs. */
static plait_launch_target default_target(const plait_problem *problem)
{
    const plait_rules rules = problem->runtime->rules;

    if (problem->job.tuning.kind == PLAIT_JOB_PRETRAIN)
        return plait_launch_target_of(problem->runtime);
    return rules == PLAIT_RULES_FSDP || rules == PLAIT_RULES_DEEPSPEED
               ? PLAIT_LAUNCH_TRL
               : PLAIT_LAUNCH_MEGATRON_BRIDGE;
}

static plait_status launch_one(const launch_values *flags, const char *path, plait_arena *arena,
                               plait_error *err)
{
    static const opt_operands nothing = {0};
    const plan_request_flags plan = {.plan = path};
    plan_request *question = plait_arena_alloc(arena, 1, sizeof *question);
    plait_launch_folder *folder = plait_arena_alloc(arena, 1, sizeof *folder);
    bool batch = false;
    int target;
    plait_launch launch;
    plait_error inner;

    PLAIT_TRY(plait_check_allocated(question && folder, err));
    PLAIT_TRY(folder_check(flags->output, flags->force, err));
    PLAIT_TRY(plan_request_resolve(&plan, &nothing, arena, question, err));
    target = (int)default_target(&question->problem);
    if (flags->target != NULL)
        PLAIT_TRY(problem_word("--target", flags->target, plait_launch_target_name, &target, err));
    plait_launch_init(&launch);
    launch.problem = &question->problem;
    launch.plan = &question->plan.plan;
    launch.cost = &question->plan.cost;
    launch.container = flags->container;
    launch.account = flags->account;

    if (question->plan.verdict >= PLAIT_OUT_OF_MEMORY)
        return plait_fail(err, PLAIT_ERROR_RANGE, question->file->where,
                          "expected a plan that fits, found: %s", question->plan.why);
    if (plait_launch_render(&launch, (plait_launch_target)target, arena, folder, &inner) !=
        PLAIT_OK) {
        return plait_fail(err, inner.status,
                          strcmp(inner.where, "container") == 0 ? "--container"
                          : strcmp(inner.where, "account") == 0 ? "--account"
                                                                : question->file->where,
                          "%s", inner.message);
    }
    PLAIT_TRY(folder_write(flags->output, folder, flags->force, err));
    if (question->plan.verdict == PLAIT_TIGHT)
        print_warning("the plan runs out of memory with a probability of %.0f %%; a search without "
                      "--risk allows %g %%",
                      100.0 * question->plan.cost.risk, 100.0 * PLAIT_USUAL_RISK);
    if (question->problem.job.document > 0)
        print_warning("the files do not limit attention to documents: configure the packing of "
                      "the data set before the run");
    print_message("%s: plan %d of %s for %s, %.4g s a step\n\n", flags->output, question->plan.rank,
                  question->problem.model->name, plait_launch_target_name[target],
                  question->plan.cost.step_s);
    for (int f = 0; f < folder->files; f++) {
        print_message("  %s\n", folder->file[f].name);
        batch = batch || strcmp(folder->file[f].name, "submit.sbatch") == 0;
    }
    if (batch)
        print_message("\nnext: sbatch submit.sbatch in that folder, or run.sh on every node\n");
    return PLAIT_OK;
}

/*
 * Return the length of the Hub name that a source cites, as in "... and
 * meta-llama/Meta-Llama-3.1-70B config"; 0 if it cites none.
 */
static size_t cited_in(const char *source, const char **name)
{
    static const char ending[] = " config";
    const char *const end = source != NULL ? strstr(source, ending) : NULL;
    const char *start = end;

    while (start != NULL && start > source && strchr(" ,;(", start[-1]) == NULL)
        start--;
    if (start == NULL || memchr(start, '/', (size_t)(end - start)) == NULL)
        return 0;
    *name = start;
    return (size_t)(end - start);
}

static const char *usual_checkpoint(const plait_model *model, plait_arena *arena)
{
    const char *name = model->name;
    size_t length = cited_in(model->source, &name);

    if (length == 0)
        length = cited_in(model->training.source, &name);
    return length > 0 ? plait_arena_printf(arena, "%.*s", (int)length, name) : name;
}

static plait_status launch_serving(const char *file, const launch_values *flags, plait_arena *arena,
                                   plait_error *err)
{
    serve_answer *answer = plait_arena_alloc(arena, 1, sizeof *answer);
    plait_launch_folder *folder = plait_arena_alloc(arena, 1, sizeof *folder);
    int target, form = PLAIT_SERVE_SCRIPT;
    plait_error inner;

    PLAIT_TRY(plait_check_allocated(answer && folder, err));
    PLAIT_TRY(folder_check(flags->output, flags->force, err));
    PLAIT_TRY(serve_answer_load(file, arena, answer, err));
    if (answer->redundant_experts > 0)
        PLAIT_TRY(serve_set_redundant(&answer->model, answer->redundant_experts, file, arena, err));
    target = (int)plait_serve_target_of(answer->plan.engine->kind);
    if (flags->target != NULL)
        PLAIT_TRY(problem_word("--target", flags->target, plait_serve_target_name, &target, err));
    if (flags->as != NULL)
        PLAIT_TRY(problem_word("--as", flags->as, plait_serve_form_name, &form, err));
    const plait_serve_launch launch = {
        .model = &answer->model,
        .checkpoint = flags->model != NULL ? flags->model : usual_checkpoint(&answer->model, arena),
        .cluster = &answer->cluster,
        .plan = &answer->plan,
        .load = answer->load,
        .max_model_len = answer->max_model_len > 0.0 ? answer->max_model_len : answer->longest,
        .form = (plait_serve_form)form,
        .container = flags->container};
    PLAIT_TRY(plait_check_allocated(launch.checkpoint, err));
    if (plait_serve_launch_render(&launch, (plait_serve_target)target, arena, folder, &inner) !=
        PLAIT_OK)
        return plait_fail(err, inner.status,
                          strcmp(inner.where, "checkpoint") == 0  ? "--model"
                          : strcmp(inner.where, "container") == 0 ? "--container"
                                                                  : file,
                          "%s", inner.message);
    PLAIT_TRY(folder_write(flags->output, folder, flags->force, err));
    if (plait_serve_target_engine((plait_serve_target)target, answer->plan.engine->kind) !=
        answer->plan.engine->kind)
        print_warning("the deployment was computed for %s; its times do not apply to %s",
                      plait_engine_name[answer->plan.engine->kind],
                      plait_serve_target_name[target]);
    print_message("%s: deployment %d of %s for %s, %d replica%s\n\n", flags->output, answer->rank,
                  answer->model.name, plait_serve_target_name[target], answer->plan.replicas,
                  answer->plan.replicas == 1 ? "" : "s");
    for (int f = 0; f < folder->files; f++)
        print_message("  %s\n", folder->file[f].name);
    return PLAIT_OK;
}

/*
 * Return the file name of the operand "plans.json:try", which selects all plans to try; NULL for
 * other operands.
 */
static const char *tried_file(const char *path, plait_arena *arena)
{
    static const char suffix[] = ":try";
    const size_t length = strlen(path), ending = sizeof suffix - 1;

    if (length <= ending || strcmp(path + length - ending, suffix) != 0)
        return NULL;
    return plait_arena_printf(arena, "%.*s", (int)(length - ending), path);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const launch_values *const flags = values;
    const char *tried;
    bool serving;
    int rank[PLAIT_MAX_TRIES], count;

    (void)no;
    if (operands->count == 0)
        return plait_fail(
            err, PLAIT_ERROR_SCHEMA, "FILE",
            "expected a file that `plait search -o` or `plait serve -o` wrote, found nothing");
    if (flags->output == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "-o",
                          "expected a folder for the files, found nothing");
    PLAIT_TRY(serve_answer_is(operands->text[0], arena, &serving, err));
    if (serving)
        return launch_serving(operands->text[0], flags, arena, err);
    if (flags->as != NULL || flags->model != NULL)
        return plait_fail(
            err, PLAIT_ERROR_SCHEMA, flags->as != NULL ? "--as" : "--model",
            "expected a file of `plait serve -o`, since this option is for serving, found a "
            "training plan");
    tried = tried_file(operands->text[0], arena);
    if (tried == NULL)
        return launch_one(flags, operands->text[0], arena, err);
    PLAIT_TRY(plans_tried(tried, PLAIT_MAX_TRIES, rank, &count, arena, err));
    PLAIT_TRY(folder_check(flags->output, flags->force, err));
    if (mkdir(flags->output, 0777) != 0 && errno != EEXIST)
        return file_fail_write(flags->output, errno, err);
    for (int i = 0; i < count; i++) {
        launch_values one = *flags;
        const char *const path = plait_arena_printf(arena, "%s:%d", tried, rank[i]);

        one.output = plait_arena_printf(arena, "%s/rank-%d", flags->output, rank[i]);
        PLAIT_TRY(plait_check_allocated(path && one.output, err));
        PLAIT_TRY(launch_one(&one, path, arena, err));
        if (i + 1 < count)
            print_message("\n");
    }
    return PLAIT_OK;
}

const command command_launch = {
    .usage = {.command = "launch",
              .synopsis =
                  "FILE[:RANK|:try] [--target NAME] [--container IMAGE] [--account NAME] -o DIR "
                  "[--force]",
              .summary = "Write the files that start a plan.",
              .about = "FILE is a file that `plait search -o` or `plait serve -o` wrote. Either "
                       "all files are written or\nnone. With :try, DIR has a folder for each plan "
                       "that `plait search --try` chose.",
              .max_operands = 1,
              .options = options},
    .values_size = sizeof(launch_values),
    .run = run,
};
