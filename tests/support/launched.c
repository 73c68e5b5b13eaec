/* launched.c - plans of shipped models, and their launch files, for tests */
#include "support/launched.h"

#include <stdio.h>
#include <string.h>

#include "support/must.h"
#include "plait/search.h"
#include "io/plans/plans.h"

static plait_degrees degrees_of(const plait_problem *problem, const char *keys, plait_arena *arena)
{
    plait_degrees d = plait_degrees_init();
    plait_key_set given = 0;
    plait_error err;

    while (*keys != '\0') {
        char key[24], value[64];
        int length = 0;

        assert_int_equal(sscanf(keys, " %23[^=]=%63s%n", key, value, &length), 2);
        must(plait_degrees_set(&d, key, plait_arena_text(arena, value), &err),
             &err); // a layout stays
        given |= PLAIT_KEY_BIT(plait_key_find(key));
        keys += length;
    }
    d.dp = plait_degrees_dp(problem->job.gpus, d.tp, d.pp, d.cp);
    must(plait_degrees_complete(problem, given, &d, arena, &err), &err);
    return d;
}

void launched_make(const launched_case *of, plait_arena *arena, launched_plan *out)
{
    plait_degrees degrees;
    plait_error err;
    char why[256];

    must(plait_model_find(of->model, arena, &out->model, NULL, &err), &err);
    must(plait_cluster_find(of->cluster, arena, &out->cluster, &err), &err);
    must(plait_cluster_take(&out->cluster, of->gpus, &err), &err);
    must(plait_runtime_find(of->runtime, arena, &out->runtime, &err), &err);
    out->problem = (plait_problem){
        .model = &out->model,
        .cluster = &out->cluster,
        .runtime = &out->runtime,
        .job = {.seq = of->seq, .gbs = of->gbs, .gpus = of->gpus},
    };
    degrees = degrees_of(&out->problem, of->keys, arena);
    if (plait_degrees_check(&out->problem, &degrees, why, sizeof why) != PLAIT_FITS)
        fail_msg("%s: %s", of->keys, why);
    must(plait_plan_expand(&out->problem, &degrees, arena, &out->plan, &err), &err);
    must(plait_plan_evaluate(&out->problem, &out->plan, NULL, arena, &out->cost, &err), &err);
    if (out->cost.verdict != PLAIT_FITS)
        fail_msg("%s: %s", of->keys, out->cost.why);
    out->launch = (plait_launch){.problem = &out->problem, .plan = &out->plan, .cost = &out->cost};
}

const char *launched_file(const plait_launch_folder *folder, const char *name)
{
    for (int f = 0; f < folder->files; f++)
        if (strcmp(folder->file[f].name, name) == 0)
            return folder->file[f].text;
    return NULL;
}

void launched_question(launched *out, const char *model, const char *runtime, int gpus,
                       plait_arena *arena)
{
    const char *warning;
    plait_error err;

    memset(out, 0, sizeof *out);
    must(plait_model_find(model, arena, &out->model, &warning, &err), &err);
    must(plait_cluster_find("dgx-h100", arena, &out->cluster, &err), &err);
    must(plait_cluster_take(&out->cluster, gpus, &err), &err);
    must(plait_runtime_find(runtime, arena, &out->runtime, &err), &err);
    out->problem = (plait_problem){
        .model = &out->model,
        .cluster = &out->cluster,
        .runtime = &out->runtime,
        .job = {.seq = 4096, .gbs = 64, .gpus = gpus, .precision = PLAIT_BF16},
    };
}

plait_status launched_render(launched *out, const char *keys, plait_launch_target target,
                             plait_arena *arena, plait_error *err)
{
    plait_degrees *const d = &out->degrees;
    plait_plan plan;
    plait_cost cost;
    const plait_launch launch = {.problem = &out->problem, .plan = &plan, .cost = &cost};

    *d = degrees_of(&out->problem, keys, arena);
    must(plait_plan_expand(&out->problem, d, arena, &plan, err), err);
    must(plait_plan_evaluate(&out->problem, &plan, NULL, arena, &cost, err), err);
    return plait_launch_render(&launch, target, arena, &out->folder, err);
}

const char *launched_text(const launched *from, const char *name)
{
    const char *const text = launched_file(&from->folder, name);

    if (text == NULL)
        fail_msg("no file %s", name);
    return text;
}

void assert_says(const launched *from, const char *name, const char *part)
{
    if (strstr(launched_text(from, name), part) == NULL)
        fail_msg("%s lacks '%s':\n%s", name, part, launched_text(from, name));
}

void assert_silent(const launched *from, const char *name, const char *part)
{
    if (strstr(launched_text(from, name), part) != NULL)
        fail_msg("%s has '%s'", name, part);
}
