/* setup.c - convert a row of a file of runs to a problem: cluster, runtime, job */
#include "validate/setup.h"

#include <stdio.h>
#include <string.h>

/* ---- cluster ---- */

static plait_status gpus_of_node(setup *at, int *out, plait_error *err)
{
    const plait_accelerator *accelerator;

    *out = at->run->gpus_per_node;
    if (*out > 0)
        return PLAIT_OK;
    PLAIT_TRY(library_accelerator(at->shelf, at->run->accelerator, &accelerator, err));
    *out = accelerator->gpus_per_node;
    setup_note(at, "gpus_per_node not given, assumed %d", *out);
    return PLAIT_OK;
}

static plait_status setup_cluster(setup *at, plait_problem *out, plait_error *err)
{
    const plait_run *const run = at->run;
    plait_cluster *cluster = plait_arena_alloc(at->arena, 1, sizeof *cluster);
    const plait_cluster *whole;
    char text[200], number[TEXT_NUMBER_SIZE];
    int node, nodes;

    PLAIT_TRY(plait_check_allocated(cluster, err));
    if (strpbrk(run->accelerator, ":,") != NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "accelerator",
                          "expected a name that `plait clusters` lists, found \"%.60s\"",
                          run->accelerator);
    PLAIT_TRY(gpus_of_node(at, &node, err));
    nodes = (run->gpus + node - 1) / node;
    snprintf(text, sizeof text, "%.120s:%dx%d%s%s", run->accelerator, nodes, node,
             run->nic_gbps > 0.0 ? ",nic=" : "",
             run->nic_gbps > 0.0 ? text_number(run->nic_gbps, number) : "");
    PLAIT_TRY(library_cluster(at->shelf, text, &whole, err));
    *cluster = *whole;
    PLAIT_TRY(plait_cluster_take(cluster, run->gpus, err));
    out->cluster = cluster;
    return PLAIT_OK;
}

/* ---- job ---- */

static plait_status need_number(int number, const char *title, plait_error *err)
{
    if (number > 0)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_SCHEMA, title, "expected a number, found nothing");
}

plait_status setup_word(const char *title, const char *word, const char *const *words, int *out,
                        plait_error *err)
{
    *out = text_index(word, words);
    if (*out < 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, title, "expected a known %s, found \"%.60s\"",
                          title, word);
    return PLAIT_OK;
}

/* Notes attention that the cost model has no kernel rates for. */
static void note_attention(setup *at, const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_ATTENTION && model->kind[k].attention.sinks) {
            setup_note(at, "attention sinks are not modelled");
            at->unmodelled = true;
            return;
        }
}

plait_status setup_problem(setup *at, plait_problem *out, plait_error *err)
{
    const plait_run *const run = at->run;
    int precision = PLAIT_BF16;

    PLAIT_TRY(need_number(run->seq_len, "seq_len", err));
    PLAIT_TRY(need_number(run->gbs, "gbs", err));
    PLAIT_TRY(need_number(run->gpus, "gpus", err));
    PLAIT_TRY(setup_cluster(at, out, err));
    PLAIT_TRY(setup_runtime(at, &out->runtime, err));
    note_attention(at, out->model);
    if (run->precision[0] != '\0')
        PLAIT_TRY(setup_word("precision", run->precision, plait_precision_name, &precision, err));
    out->job = (plait_job){.seq = run->seq_len,
                           .gbs = run->gbs,
                           .gpus = run->gpus,
                           .precision = (plait_precision)precision};
    return PLAIT_OK;
}
