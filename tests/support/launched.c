/* launched.c - a plan of a shipped model and its launch files, for tests */
#include "launched.h"

#include <stdio.h>
#include <string.h>

#include "must.h"
#include "plait/data.h"
#include "plait/search.h"
#include "plans.h"

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
        .job = {.seq = 4096,
                .gbs = 64,
                .gpus = gpus,
                .precision = PLAIT_BF16,
                .attention = out->runtime.defaults.attention},
    };
}

/* "tp=2 zero=3" */
static unsigned long set_keys(plait_degrees *degrees, const char *keys)
{
    unsigned long given = 0;
    char key[32], value[64];
    plait_error err;
    int used;

    while (sscanf(keys, " %31[^=]=%63s%n", key, value, &used) == 2) {
        must(plait_degrees_set(degrees, key, value, &err), &err);
        given |= plans_key_bit(key);
        keys += used;
    }
    return given;
}

plait_status launched_render(launched *out, const char *keys, plait_launch_target target,
                             plait_arena *arena, plait_error *err)
{
    plait_degrees *const d = &out->degrees;
    unsigned long given;
    plait_plan plan;
    plait_cost cost;
    const plait_launch launch = {&out->problem, &plan, &cost};

    *d = plait_degrees_init();
    given = set_keys(d, keys);
    d->dp = plait_degrees_dp(out->problem.job.gpus, d->tp, d->pp, d->cp);
    must(plait_degrees_complete(&out->problem, given, d, arena, err), err);
    must(plait_plan_expand(&out->problem, d, arena, &plan, err), err);
    must(plait_plan_cost(&out->problem, &plan, arena, &cost, err), err);
    return plait_launch_render(&launch, target, arena, &out->folder, err);
}

const char *launched_text(const launched *from, const char *name)
{
    for (int f = 0; f < from->folder.files; f++)
        if (strcmp(from->folder.file[f].name, name) == 0)
            return from->folder.file[f].text;
    fail_msg("no file %s", name);
    return "";
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
