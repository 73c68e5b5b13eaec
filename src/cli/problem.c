/* problem.c - resolves the problem of a command line: model, cluster, job and runtime */
#include "cli/problem.h"

#include <stdio.h>
#include <string.h>

#include "plait/plan.h"

#include "rules/kernels.h"
#include "rules/runtime_features.h"
#include "cli/terminal.h"
#include "shell/shell.h"
#include "base/text.h"
#include "plan/model_queries.h"

plait_status problem_word(const char *where, const char *word, const char *const *words, int *out,
                          plait_error *err)
{
    const char *nearest;
    char list[200] = "";

    *out = text_index(word, words);
    if (*out >= 0)
        return PLAIT_OK;
    nearest = text_nearest(word, words);
    if (nearest != NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected \"%s\", found \"%.60s\"",
                          nearest, word);
    for (; *words != NULL; words++) {
        const size_t used = strlen(list);

        snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", *words);
    }
    return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected one of %s, found \"%.40s\"", list,
                      word);
}

/* ---- model and cluster ---- */

plait_status problem_find_model(const char *name, bool assume_llama, bool quiet, plait_arena *arena,
                                plait_model *out, plait_error *err)
{
    const char *path, *warning = NULL;

    if (assume_llama) {
        PLAIT_TRY(plait_data_find(PLAIT_DATA_MODELS, name, arena, &path, err));
        PLAIT_TRY(plait_model_load_as_llama(path, arena, out, &warning, err));
    } else {
        PLAIT_TRY(plait_model_find(name, arena, out, &warning, err));
    }
    if (warning != NULL && warning[0] != '\0' && !quiet)
        print_warning("%s: %s", name, warning);
    return PLAIT_OK;
}

/*
 * Find the cluster and the number of GPUs: the value of --gpus, else that of the file, else the
 * size of the cluster.
 */
static plait_status resolve_cluster(const char *name, const problem_flags *flags,
                                    const plans_entry *file, plait_arena *arena, plait_problem *out,
                                    plait_error *err)
{
    plait_cluster *cluster = plait_arena_alloc(arena, 1, sizeof *cluster);
    plait_error inner = {PLAIT_OK, "", ""};
    int gpus = flags->gpus;

    PLAIT_TRY(plait_check_allocated(cluster, err));
    if (name != NULL)
        PLAIT_TRY(plait_cluster_find(name, arena, cluster, err));
    else if (file != NULL && file->cluster != NULL)
        *cluster = *file->cluster;
    else
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "CLUSTER",
                          "expected a name that `plait clusters` lists, a file, or "
                          "ACCELERATOR:NODESxGPUS, found nothing");
    if (gpus == 0 && file != NULL)
        gpus = file->gpus;
    if (gpus == 0)
        gpus = cluster->gpus;
    if (gpus == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--gpus",
                          "expected a number of GPUs, since %.80s states no size, found nothing",
                          cluster->name);
    if (plait_cluster_take(cluster, gpus, &inner) != PLAIT_OK)
        return plait_fail(err, inner.status, "--gpus", "%s", inner.message);
    out->cluster = cluster;
    out->job.gpus = cluster->gpus;
    return PLAIT_OK;
}

static plait_status resolve_runtime(const problem_flags *flags, const plans_entry *file,
                                    plait_arena *arena, plait_problem *out, plait_error *err)
{
    plait_runtime *runtime = plait_arena_alloc(arena, 1, sizeof *runtime);
    const char *name = flags->runtime;

    PLAIT_TRY(plait_check_allocated(runtime, err));
    if (name == NULL && file != NULL)
        name = file->runtime;
    if (name == NULL)
        name = "megatron";
    PLAIT_TRY(plait_runtime_find(name, arena, runtime, err));
    out->runtime = runtime;
    // Set the imbalance of experts that the job gives. With natural routing the runtime profile
    // keeps its own value.
    const plait_model *const model = out->model;
    const char *const word = flags->imbalance;
    double imbalance = file != NULL ? file->imbalance : 0.0;
    runtime->natural_routing = word != NULL ? text_equal(word, PLANS_NATURAL_ROUTING)
                                            : file != NULL && file->natural_routing;
    if (runtime->natural_routing)
        imbalance = 0.0;
    else if (word != NULL &&
             (!text_parse_number(word, &imbalance) || !plans_imbalance_is_sensible(imbalance)))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--imbalance",
                          "expected a number from 1 to 100, or natural, found '%.40s'", word);
    if (flags->imbalance != NULL && !model_has_experts(model))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--imbalance",
                          "expected a model with experts, found %.80s", model->name);
    runtime->frontier = flags->frontier || (file != NULL && file->frontier);
    if (imbalance > 0.0) {
        runtime->factor.ep_imbalance = imbalance;
        runtime->imbalance_stated = true;
    }
    return PLAIT_OK;
}

/* ---- number formats of the hardware and the software ---- */

static plait_status fail_unsupported(const char *where, const char *const *words, unsigned mask,
                                     const char *whose, int found, plait_error *err)
{
    char list[160] = "";

    for (int i = 0; words[i] != NULL; i++) {
        const size_t used = strlen(list);

        if (mask >> i & 1U)
            snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", words[i]);
    }
    return plait_fail(err, PLAIT_ERROR_RANGE, where,
                      "expected a value that %.60s supports (%s), found %s", whose, list,
                      words[found]);
}

static plait_status check_precision(const plait_problem *problem, plait_error *err)
{
    const int precision = (int)problem->job.precision;
    const unsigned able = problem->runtime->can.precision;
    const plait_release *since;

    for (int g = 0; g < plait_cluster_groups(problem->cluster, problem->job.gpus); g++) {
        const plait_accelerator *const gpu = problem->cluster->group[g].accelerator;
        unsigned mask = 0;

        for (int p = 0; p < PLAIT_PRECISIONS; p++)
            mask |= (unsigned)plait_accelerator_runs(gpu, PLAIT_KERNEL_PRECISION + p) << p;
        if (!(mask >> precision & 1U))
            return fail_unsupported("--precision", plait_precision_name, mask, gpu->name, precision,
                                    err);
    }
    if (able >> precision & 1U)
        return PLAIT_OK;
    since = runtime_brought(problem->runtime, PLAIT_FEATURE_PRECISION, precision);
    return since != NULL
               ? plait_fail(
                     err, PLAIT_ERROR_RANGE, "--precision",
                     "expected a precision that %.60s supports, found %s, which %.40s introduced",
                     problem->runtime->name, plait_precision_name[precision], since->name)
               : fail_unsupported("--precision", plait_precision_name, able, problem->runtime->name,
                                  precision, err);
}

static bool is_mixed(const plait_problem *problem)
{
    return !plait_cluster_priced(problem->cluster, problem->job.gpus, NULL, 0);
}

/* Sets the band of the problem, and the support of its runtime by measured runs. */
static plait_status resolve_band(plait_arena *arena, plait_problem *out, plait_error *err)
{
    plait_runtime *const runtime = plait_arena_alloc(arena, 1, sizeof *runtime);
    plait_evidence evidence;

    PLAIT_TRY(plait_check_allocated(runtime, err));
    *runtime = *out->runtime;
    PLAIT_TRY(plait_evidence_find(arena, &evidence, err));
    if (!runtime->frontier)
        plait_evidence_support(&evidence, out, NULL, &runtime->support);
    out->runtime = runtime;
    const plait_regime regime = plait_regime_of(out);
    PLAIT_TRY(plait_evidence_band(&evidence, &regime, NULL, arena, &out->band, err));
    PLAIT_TRY(plait_evidence_memory_band(&evidence, &regime, NULL, arena, &out->memory_band, err));
    return plait_evidence_tie(&evidence, &regime, arena, &out->band.tie, err);
}

plait_status problem_error_parts(const plait_problem *problem, plait_arena *arena,
                                 plait_error_parts *out, plait_error *err)
{
    const plait_regime regime = plait_regime_of(problem);
    plait_evidence evidence;

    PLAIT_TRY(plait_evidence_find(arena, &evidence, err));
    return plait_evidence_parts(&evidence, &regime, &problem->band, NULL, arena, out, err);
}

plait_status problem_resolve(const problem_flags *flags, const opt_operands *operands,
                             const plans_entry *file, plait_arena *arena, plait_problem *out,
                             plait_error *err)
{
    int precision = file != NULL && file->precision >= 0 ? file->precision : PLAIT_BF16;
    plait_job *const job = &out->job;
    char why[256];
    plait_model *model;

    plait_problem_init(out);
    const char *const name = operands->text[0];
    if (name == NULL && file != NULL && file->model != NULL) {
        out->model = file->model;
    } else {
        if (name == NULL)
            return plait_fail(
                err, PLAIT_ERROR_SCHEMA, "MODEL",
                "expected a name that `plait models` lists, or a file, found nothing");
        model = plait_arena_alloc(arena, 1, sizeof *model);
        PLAIT_TRY(plait_check_allocated(model, err));
        PLAIT_TRY(problem_find_model(name, flags->assume_llama, flags->quiet, arena, model, err));
        out->model = model;
    }
    PLAIT_TRY(resolve_cluster(operands->text[1], flags, file, arena, out, err));
    job->seq = flags->seq > 0 || file == NULL ? flags->seq : file->seq;
    job->document = flags->document > 0 || file == NULL ? flags->document : file->document;
    if (file != NULL && flags->document == 0)
        job->documents = file->documents;
    job->images = flags->images > 0 || file == NULL ? flags->images : file->images;
    job->image_tokens =
        flags->image_tokens > 0 || file == NULL ? flags->image_tokens : file->image_tokens;
    job->gbs = flags->gbs > 0 || file == NULL ? flags->gbs : file->gbs;
    if (job->seq == 0 || job->gbs == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, job->seq == 0 ? "--seq" : "--gbs",
                          "expected the %s, found nothing",
                          job->seq == 0 ? "tokens of one sequence" : "sequences of one step");
    if (job->document > job->seq)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--document",
                          "expected at most the %d tokens of a sequence, found %d", job->seq,
                          job->document);
    if (file != NULL)
        job->tuning = file->tuning;
    PLAIT_TRY(tuning_flags_resolve(&flags->tuning, out->model, arena, job, err));
    PLAIT_TRY(resolve_runtime(flags, file, arena, out, err));
    if (flags->precision != NULL)
        PLAIT_TRY(
            problem_word("--precision", flags->precision, plait_precision_name, &precision, err));
    job->precision = (plait_precision)precision;
    PLAIT_TRY(check_precision(out, err));
    // Check that the GPUs have a price before anything is searched. (rule P4)
    if (!out->runtime->can.stages_differ &&
        !plait_cluster_priced(out->cluster, job->gpus, why, sizeof why))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--gpus",
                          "expected GPUs that the cost model supports, found: %s", why);
    if (!is_mixed(out) && !plan_experts_run(out, &(plan_reason){why, sizeof why}))
        return plait_fail(err, PLAIT_ERROR_RANGE, out->cluster->name,
                          "expected a cluster that can run %.60s, found: %s", out->model->name,
                          why);
    if (file != NULL && file->risk > 0.0)
        out->risk = file->risk;
    if (flags->risk != NULL &&
        (!text_parse_number(flags->risk, &out->risk) || !plans_risk_is_sensible(out->risk)))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--risk",
                          "expected a probability from 0.001 to 0.5, found '%.40s'", flags->risk);
    if (!flags->quiet && out->model->max_seq > 0 && job->seq > out->model->max_seq)
        print_warning("--seq: %d tokens exceed %d, the published context length of %s", job->seq,
                      out->model->max_seq, out->model->name);
    return is_mixed(out) ? PLAIT_OK : resolve_band(arena, out, err); // no mixed run was measured
}

plait_status problem_for_runtime(const plait_problem *problem, const char *runtime,
                                 plait_arena *arena, plait_problem *out, plait_error *err)
{
    const problem_flags flags = {.runtime = runtime};
    plans_entry stated = plans_unknown("");

    *out = *problem;
    if (problem->runtime->imbalance_stated)
        stated.imbalance = problem->runtime->factor.ep_imbalance;
    stated.natural_routing = problem->runtime->natural_routing;
    stated.frontier = problem->runtime->frontier;
    PLAIT_TRY(resolve_runtime(&flags, &stated, arena, out, err));
    return is_mixed(out) ? PLAIT_OK : resolve_band(arena, out, err);
}

plait_status problem_for_size(const plait_problem *problem, int gpus, int gbs, plait_arena *arena,
                              plait_problem *out, plait_error *err)
{
    plait_cluster *const cluster = plait_arena_alloc(arena, 1, sizeof *cluster);

    PLAIT_TRY(plait_check_allocated(cluster, err));
    *cluster = *problem->cluster;
    *out = *problem;
    out->cluster = cluster;
    out->job.gpus = gpus;
    out->job.gbs = gbs;
    PLAIT_TRY(plait_cluster_take(cluster, gpus, err));
    const plait_regime before = plait_regime_of(problem), now = plait_regime_of(out);
    const bool same =
        plait_regime_scale(now.gpus) == plait_regime_scale(before.gpus) && now.rack == before.rack;
    return is_mixed(out) || same ? PLAIT_OK : resolve_band(arena, out, err);
}

char *problem_text(const plait_problem *problem, const problem_flags *flags,
                   const opt_operands *operands, plait_arena *arena)
{
    const struct {
        const char *name;
        const char *value;
    } words[] = {{"precision", flags->precision},
                 {"runtime", flags->runtime},
                 {"risk", flags->risk},
                 {"imbalance", flags->imbalance},
                 {"job", flags->tuning.job},
                 {"lora-targets", flags->tuning.targets},
                 {"frozen-format", flags->tuning.format},
                 {"freeze", flags->tuning.freeze},
                 {"reference", flags->tuning.reference},
                 {"teacher", flags->tuning.teacher},
                 {"lengths", flags->tuning.lengths}};
    text_builder out;

    text_builder_init(&out, arena);
    for (int i = 0; i < operands->count; i++) {
        shell_append_word(&out, operands->text[i]);
        text_append_char(&out, ' ');
    }
    text_append_printf(&out, "--seq %d --gbs %d", problem->job.seq, problem->job.gbs);
    if (flags->document > 0)
        text_append_printf(&out, " --document %d", flags->document);
    if (flags->images > 0)
        text_append_printf(&out, " --images %d", flags->images);
    if (flags->image_tokens > 0)
        text_append_printf(&out, " --image-tokens %d", flags->image_tokens);
    if (flags->gpus > 0)
        text_append_printf(&out, " --gpus %d", flags->gpus);
    if (flags->tuning.rank > 0)
        text_append_printf(&out, " --lora-rank %d", flags->tuning.rank);
    if (flags->tuning.teacher_gpus > 0)
        text_append_printf(&out, " --teacher-gpus %d", flags->tuning.teacher_gpus);
    if (flags->tuning.padding)
        text_append(&out, " --padding");
    if (flags->tuning.balance)
        text_append(&out, " --balance");
    if (flags->frontier)
        text_append(&out, " --frontier");
    if (flags->assume_llama)
        text_append(&out, " --assume-llama");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].value == NULL)
            continue;
        text_append_printf(&out, " --%s ", words[i].name);
        shell_append_word(&out, words[i].value);
    }
    return text_builder_finish(&out, NULL);
}
