/* launch_serving.c - plait launch of an answer of `plait serve` */
#include "cli/launch_serving.h"

#include <stdio.h>
#include <string.h>

#include "io/folder.h"
#include "cli/problem.h"
#include "cli/terminal.h"
#include "io/plans/serve_answer.h"

/* "... and meta-llama/Meta-Llama-3.1-70B config": the name on the Hub that a source cites; 0: none. */
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

static plait_status choose(const launch_serving_flags *flags, const plait_serve_plan *plan,
                           plait_serve_target *target, plait_serve_form *form, plait_error *err)
{
    int word = (int)plait_serve_target_of(plan->engine->kind);

    if (flags->target != NULL)
        PLAIT_TRY(problem_word("--target", flags->target, plait_serve_target_name, &word, err));
    *target = (plait_serve_target)word;
    word = PLAIT_SERVE_SCRIPT;
    if (flags->form != NULL)
        PLAIT_TRY(problem_word("--as", flags->form, plait_serve_form_name, &word, err));
    *form = (plait_serve_form)word;
    return PLAIT_OK;
}

static void report(const plait_launch_folder *folder, const char *path, const serve_answer *answer,
                   plait_serve_target target)
{
    print_message("%s: deployment %d of %s for %s, %d replica%s\n\n", path, answer->rank,
                  answer->model.name, plait_serve_target_name[target], answer->plan.replicas,
                  answer->plan.replicas == 1 ? "" : "s");
    for (int f = 0; f < folder->files; f++)
        print_message("  %s\n", folder->file[f].name);
}

plait_status launch_serving(const char *file, const launch_serving_flags *flags, plait_arena *arena,
                            plait_error *err)
{
    serve_answer *answer = plait_arena_alloc(arena, 1, sizeof *answer);
    plait_launch_folder *folder = plait_arena_alloc(arena, 1, sizeof *folder);
    plait_serve_target target;
    plait_serve_form form;
    plait_error inner;

    if (answer == NULL || folder == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(folder_check(flags->output, flags->force, err));
    PLAIT_TRY(serve_answer_load(file, arena, answer, err));
    PLAIT_TRY(choose(flags, &answer->plan, &target, &form, err));
    const plait_serve_launch launch = {
        .model = &answer->model,
        .checkpoint = flags->model != NULL ? flags->model : usual_checkpoint(&answer->model, arena),
        .cluster = &answer->cluster,
        .plan = &answer->plan,
        .load = answer->load,
        .form = form,
        .container = flags->container};
    if (launch.checkpoint == NULL)
        return plait_fail_nomem(err);
    if (plait_serve_launch_render(&launch, target, arena, folder, &inner) != PLAIT_OK)
        return plait_fail(err, inner.status,
                          strcmp(inner.where, "checkpoint") == 0  ? "--model"
                          : strcmp(inner.where, "container") == 0 ? "--container"
                                                                  : file,
                          "%s", inner.message);
    PLAIT_TRY(folder_write(flags->output, folder, flags->force, err));
    if (target != PLAIT_SERVE_TARGET_DYNAMO &&
        target != plait_serve_target_of(answer->plan.engine->kind))
        print_warning("the answer is of %s; times on %s are others",
                      plait_engine_name[answer->plan.engine->kind],
                      plait_serve_target_name[target]);
    report(folder, flags->output, answer, target);
    return PLAIT_OK;
}
