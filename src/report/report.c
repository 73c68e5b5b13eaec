/*
 * report.c - prints the parts that several reports share: prices, the question, degrees, terms,
 * notes on constants
 */
#include "report/report.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "report/report_private.h"
#include "report/report_table.h"
#include "plan/documents.h"
#include "plan/model_queries.h"
#include "report/units.h"

void report_append(char *text, size_t size, const char *fmt, ...)
{
    const size_t used = strlen(text);
    va_list args;

    va_start(args, fmt);
    text_format_list(text + used, size - used, fmt, args);
    va_end(args);
}

plait_status report_price(const plait_problem *problem, const plait_plan *plan, int rank,
                          plait_arena *arena, report_plan *out, plait_error *err)
{
    *out = (report_plan){.rank = rank, .degrees = plan->degrees};
    PLAIT_TRY(plait_plan_evaluate(problem, plan, NULL, arena, &out->cost, err));
    out->verdict = out->cost.verdict;
    memcpy(out->why, out->cost.why, sizeof out->why);
    if (out->verdict == PLAIT_INVALID)
        out->cost = (plait_cost){0};
    else
        out->plan = *plan;
    return PLAIT_OK;
}

plait_status report_price_degrees(const plait_problem *problem, const plait_degrees *degrees,
                                  int rank, plait_arena *arena, report_plan *out, plait_error *err)
{
    plait_plan plan;

    *out = (report_plan){.rank = rank, .degrees = *degrees};
    out->verdict = plait_degrees_check(problem, degrees, out->why, sizeof out->why);
    if (out->verdict == PLAIT_INVALID)
        return PLAIT_OK;
    PLAIT_TRY(plait_plan_expand(problem, degrees, arena, &plan, err));
    return report_price(problem, &plan, rank, arena, out, err);
}

/* ---- routing of experts ---- */

/*
 * Range of the fullest rank's tokens over the mean with natural routing (C.62), from few sources.
 */
static const double natural_least = 1.0, natural_most = 5.0;

static plait_status price_uneven(const plait_problem *problem, const plait_plan *plan,
                                 double imbalance, plait_arena *arena, plait_cost *out,
                                 plait_error *err)
{
    plait_runtime *runtime = plait_arena_alloc(arena, 1, sizeof *runtime);
    plait_problem uneven = *problem;

    PLAIT_TRY(plait_check_allocated(runtime, err));
    *runtime = *problem->runtime;
    runtime->factor.ep_imbalance = imbalance;
    uneven.runtime = runtime;
    return plait_plan_evaluate(&uneven, plan, NULL, arena, out, err);
}

plait_status report_natural(const plait_problem *problem, plait_arena *arena, report_plan *plan,
                            plait_error *err)
{
    plait_cost even, uneven;

    if (plan->verdict == PLAIT_INVALID || problem->runtime->imbalance_stated ||
        !model_has_experts(problem->model) || plan->degrees.ep == 1)
        return PLAIT_OK;
    PLAIT_TRY(price_uneven(problem, &plan->plan, natural_least, arena, &even, err));
    PLAIT_TRY(price_uneven(problem, &plan->plan, natural_most, arena, &uneven, err));
    if (uneven.step_s <= even.step_s) // capacity limits spread tokens evenly
        return PLAIT_OK;
    plan->natural_low_s = isfinite(even.step_low_s) ? even.step_low_s : even.step_s;
    plan->natural_high_s = isfinite(uneven.step_high_s) ? uneven.step_high_s : uneven.step_s;
    if (problem->runtime->natural_routing) {
        plan->cost.step_low_s = plan->natural_low_s;
        plan->cost.step_high_s = plan->natural_high_s;
    }
    return PLAIT_OK;
}

void report_routing(const plait_problem *problem, const report_plan *plan, FILE *out)
{
    const double imbalance = problem->runtime->factor.ep_imbalance;
    const double effective = model_imbalance(problem->model, imbalance, plan->degrees.ep);
    char low[UNITS_SIZE], high[UNITS_SIZE];

    if (problem->runtime->imbalance_stated && model_has_experts(problem->model)) {
        if (plan->degrees.ep == 1)
            fputs(
                "routing: the requested imbalance has no effect: with ep 1 every rank computes all "
                "experts\n",
                out);
        else if (effective < imbalance)
            fprintf(
                out,
                "routing: the fullest of %d expert ranks receives %g times the mean; the number "
                "of experts, top-k and capacity do not allow the requested %g\n",
                plan->degrees.ep, effective, imbalance);
        else
            fprintf(out,
                    "routing: the fullest of %d expert ranks receives %g times the mean, as "
                    "requested\n",
                    plan->degrees.ep, effective);
    }
    if (plan->natural_high_s > 0.0 && problem->runtime->natural_routing)
        fprintf(out,
                "routing: natural; the band assumes %g to %g times the mean on the fullest of %d "
                "expert ranks, the step time assumes %g; --imbalance X sets a measured value\n",
                natural_least, model_imbalance(problem->model, natural_most, plan->degrees.ep),
                plan->degrees.ep, effective);
    else if (plan->natural_high_s > 0.0)
        fprintf(
            out,
            "routing: assumed balanced (forced, or tokens dropped): the fullest of %d expert ranks "
            "receives %g times the mean; with natural routing a step takes %s to %s; --imbalance X "
            "sets a measured value\n",
            plan->degrees.ep, effective, units_seconds(plan->natural_low_s, low),
            units_seconds(plan->natural_high_s, high));
}

/* ---- the question ---- */

/* Returns the length of the product's name with its dash in a release: 5 for "core-v0.14.0". */
static size_t product_length(const plait_release *release)
{
    const char *const dash = strchr(release->name, '-');

    return dash != NULL ? (size_t)(dash - release->name) + 1 : 0;
}

/* Prints what a job trains, if that is not all parameters of pre-training. */
static void print_tuning(const plait_problem *problem, FILE *out)
{
    const plait_tuning *const tuning = &problem->job.tuning;
    char trained[UNITS_SIZE];

    if (tuning->kind == PLAIT_JOB_PRETRAIN && !plait_tuning_freezes(tuning))
        return;
    fprintf(out, "job %s: %s parameters are trained", plait_job_name[tuning->kind],
            units_count(plait_job_trained_params(problem->model, tuning), trained));
    if (tuning->rank > 0) {
        fprintf(out, ", adapters of rank %d on", tuning->rank);
        const char *before = " ";
        for (int t = 0; t < PLAIT_LORA_TARGETS; t++)
            if (tuning->targets >> t & 1u) {
                fprintf(out, "%s%s", before, plait_lora_target_name[t]);
                before = ", ";
            }
        fprintf(out, "; other weights in %s", plait_frozen_format_name[tuning->format]);
    }
    if (tuning->reference != PLAIT_REFERENCE_NONE)
        fprintf(out, "; %s: %s", tuning->kind == PLAIT_JOB_DISTILL ? "teacher" : "reference",
                plait_reference_name[tuning->reference]);
    if (tuning->reference_gpus > 0)
        fprintf(out, " on %d other GPUs, during the step", tuning->reference_gpus);
    fprintf(out, "\n");
}

/* Prints the images of a sequence and the encoders that read them; nothing for a model of text. */
static void report_images(const plait_problem *problem, FILE *out)
{
    const plait_job *const job = &problem->job;
    const plait_encoder *const vision = &problem->model->encoder[PLAIT_VISION];
    const double params = plait_model_params(problem->model).encoders;
    const bool trains = job->tuning.rank == 0;
    char text[UNITS_SIZE];

    if (params <= 0.0)
        return;
    if (job->images > 0)
        fprintf(out, "\n%d image%s of %.0f tokens in a sequence", job->images,
                job->images == 1 ? "" : "s",
                plait_job_patches(problem) / vision->patches_per_token);
    else
        fprintf(out, "\ntext alone");
    if (job->images == 0 && job->tuning.kind == PLAIT_JOB_PRETRAIN) {
        fprintf(out, ", without the encoders of %s parameters", units_count(params, text));
        return;
    }
    fprintf(out, "; encoders of %s parameters on the first stage", units_count(params, text));
    for (int f = PLAIT_FREEZE_VISION, frozen = 0; f <= PLAIT_FREEZE_PROJECTOR; f++) {
        const int modality = f - PLAIT_FREEZE_VISION;

        if (modality < PLAIT_MODALITIES && problem->model->encoder[modality].model == NULL)
            continue;
        if (!trains || job->tuning.frozen >> f & 1u)
            fprintf(out, "%s%s", frozen++ == 0 ? ", frozen: " : ", ", plait_freeze_name[f]);
    }
}

void report_question(const plait_problem *problem, FILE *out)
{
    const plait_job *const job = &problem->job;
    const plait_cluster *const cluster = problem->cluster;
    const plait_params params = plait_model_params(problem->model);
    char text[UNITS_SIZE], documents[80] = "";

    if (job->documents.padded)
        snprintf(documents, sizeof documents, ", %.0f on average, padded",
                 plait_job_tokens(job) * job->seq / (job->gbs * plait_job_unit_tokens(job)));
    else if (job->document > 0)
        snprintf(documents, sizeof documents, " in documents of %d%s", job->document,
                 job->documents.balanced ? ", balanced between ranks" : "");
    fprintf(out, "%s, %s parameters", problem->model->name, units_count(params.total, text));
    if (params.active < params.total * 0.999)
        fprintf(out, " (%s active)", units_count(params.active, text));
    fprintf(out, " on %d GPU%s of %s", job->gpus, job->gpus == 1 ? "" : "s", cluster->name);
    for (int g = 0; g < plait_cluster_groups(cluster, job->gpus); g++) {
        const plait_node_group *const group = &cluster->group[g];

        fprintf(out, "%s%s, %d a node", g == 0 ? " (" : "; ", group->accelerator->name,
                group->gpus_per_node);
    }
    fputc(')', out);
    fprintf(out, "\n%s tokens a step: %d %s%s of %s%d%s; %s, ",
            units_count(plait_job_tokens(job), text), job->gbs,
            job->tuning.kind == PLAIT_JOB_DPO ? "pair" : "sequence", job->gbs == 1 ? "" : "s",
            job->documents.padded ? "up to " : "", job->seq, documents,
            plait_precision_name[job->precision]);
    const plait_runtime *const runtime = problem->runtime;
    const bool newest =
        runtime->until == 0 &&
        (runtime->at == NULL || runtime->at + 1 == runtime->release + runtime->releases);
    fprintf(out, "runtime %s", runtime->name);
    if (runtime->date != 0) {
        fputs(" (", out);
        if (runtime->at != NULL) {
            const plait_release *base = runtime->at, *const first = &runtime->release[0];
            const char *const number = runtime->name + strlen(plait_runtime_software(runtime)) + 1;

            fputs(runtime->at->name, out);
            while (product_length(base) != product_length(first) ||
                   strncmp(base->name, first->name, product_length(first)) != 0)
                base--;
            if (base != runtime->at)
                fprintf(out, " with %s", base->name);
            for (size_t i = 0; strchr(runtime->name, '@') != NULL && i < runtime->releases; i++) {
                const plait_release *const other = &runtime->release[i];

                if (other != runtime->at &&
                    strcmp(other->name + product_length(other), number) == 0)
                    fprintf(out, ", not %s", other->name); // another product has the same version
            }
        }
        if (runtime->until > 0)
            fprintf(out, "%sreleases up to %02d.%02d", runtime->at != NULL ? ", profile of " : "",
                    runtime->until / 100, runtime->until % 100);
        else if (newest)
            fprintf(out, "%sthe newest", runtime->at != NULL ? ", " : "");
        fputc(')', out);
    }
    report_images(problem, out);
    fputc('\n', out);
    print_tuning(problem, out);
}

/*
 * Prints the keys with numbers on one line and the keys with words on the next, without keys that
 * follow from others.
 */
void report_degrees(const plait_problem *problem, const plait_degrees *degrees, FILE *out)
{
    const int microbatches = plait_degrees_microbatches(degrees, problem->job.gbs);
    const char *between = "";
    char text[96];

    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_id key = (plait_key_id)k;

        if (plait_keys[k].words != NULL || !plait_key_applies(problem, degrees, key))
            continue;
        fprintf(out, "%s%s %d", between, plait_keys[k].title, plait_key_value(degrees, key));
        between = ", ";
    }
    if (microbatches > 0)
        fprintf(out, "%smicrobatches %d", between, microbatches);
    if (problem->job.documents.padded) {
        const double real = plait_job_tokens(&problem->job) /
                            (problem->job.gbs * plait_job_unit_tokens(&problem->job));
        const document_load load = document_load_of(&problem->job, degrees->mbs);

        fprintf(out, "; %s of the computed tokens are padding",
                units_percent(1.0 - real * problem->job.seq / load.tokens, text));
    }
    fputc('\n', out);
    between = "";
    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key *const row = &plait_keys[k];

        if (row->words == NULL || (row->matters != NULL && !row->matters(problem, degrees)) ||
            (row->numerics && !plait_key_applies(problem, degrees, (plait_key_id)k)))
            continue;
        fprintf(out, "%s%s %s", between, row->name,
                plait_degrees_get(degrees, (plait_key_id)k, text, sizeof text));
        between = ", ";
    }
    fputc('\n', out);
}

/* ---- terms ---- */

void report_step_term_list(const plait_step_time *step, report_term term[PLAIT_STEP_TERM_COUNT])
{
    int count = 0;

#define X(name, equation, what)                                                                    \
    term[count++] = (report_term){#name, equation, what, step->name##_s};
    PLAIT_STEP_TERMS(X)
#undef X
}

void report_memory_term_list(const plait_memory *memory, report_term term[PLAIT_MEMORY_TERM_COUNT])
{
    int count = 0;

#define X(name, equation, what)                                                                    \
    term[count++] = (report_term){#name, equation, what, memory->name##_bytes};
    PLAIT_MEMORY_TERMS(X)
#undef X
}

report_term report_largest_overhead(const plait_step_time *step)
{
    static const char *const arithmetic[] = {"matmul", "attention", "memory_ops", NULL};
    report_term term[PLAIT_STEP_TERM_COUNT];
    report_term largest = {"none", "", "", 0.0};

    report_step_term_list(step, term);
    for (int i = 0; i < PLAIT_STEP_TERM_COUNT; i++)
        if (text_index(term[i].name, arithmetic) < 0 && term[i].value > largest.value)
            largest = term[i];
    return largest;
}

/* ---- notes on the constants ---- */

/* Appends ", name" unless the constants were measured. */
static void note_default(bool measured, const char *name, char *list, size_t size)
{
    if (!measured)
        report_append(list, size, "%s%s", list[0] != '\0' ? ", " : "", name);
}

/* Lists the values of a plan whose gains the price leaves out, since no run supports them (C.345). */
static void note_unearned(const plait_problem *problem, const plait_degrees *degrees, FILE *out)
{
    const plait_support *const support = &problem->runtime->support;
    char list[240] = "", value[PLAIT_VALUE_SIZE];

    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_id key = (plait_key_id)k;

        if ((PLAIT_EARNING_KEYS & PLAIT_KEY_BIT(key)) && plait_key_applies(problem, degrees, key) &&
            (support->unmeasured[key] >> plait_key_value(degrees, key) & 1u))
            report_append(list, sizeof list, "%s%s %s", list[0] != '\0' ? ", " : "",
                          plait_keys[key].name,
                          plait_degrees_get(degrees, key, value, sizeof value));
    }
    if (list[0] != '\0')
        fprintf(out,
                "note: no comparable measured run has %s; the price contains no gain of them, "
                "--frontier prices their gains in full\n",
                list);
}

void report_confidence(const plait_problem *problem, const plait_degrees *degrees, FILE *out)
{
    for (int g = 0; g < plait_cluster_groups(problem->cluster, problem->job.gpus); g++) {
        const plait_accelerator *const accelerator = problem->cluster->group[g].accelerator;
        const plait_precision precision = problem->job.precision;
        char list[160] = "";

        note_default(accelerator->gemm[precision].measured, "matrix products", list, sizeof list);
        if (degrees != NULL && degrees->attention >= PLAIT_ATTENTION_FLASH)
            note_default(accelerator->attention[degrees->attention].measured, "attention", list,
                         sizeof list);
        if (model_has_experts(problem->model))
            note_default(accelerator->grouped[precision].measured, "matrix products of experts",
                         list, sizeof list);
        note_default(accelerator->memory_op_measured, "memory-bound kernels", list, sizeof list);
        if (problem->job.gpus > 1)
            note_default(accelerator->collective[PLAIT_ALL_REDUCE].measured, "collectives", list,
                         sizeof list);
        if (list[0] != '\0')
            fprintf(out, "note: constants of %s that are defaults, not measured: %s\n",
                    accelerator->name, list);
    }
    if (!problem->runtime->calibrated)
        fprintf(out, "note: the factors of runtime %s are not fitted to measured steps\n",
                problem->runtime->name);
    if (degrees != NULL) {
        static const plait_key_id keys[] = {
            PLAIT_KEY_RESHARD,   PLAIT_KEY_SCATTER,         PLAIT_KEY_QUANTISE,
            PLAIT_KEY_OFFLOAD,   PLAIT_KEY_OFFLOAD_ACTS,    PLAIT_KEY_FUSION,
            PLAIT_KEY_PLACEMENT, PLAIT_KEY_POST_VALIDATION,
        };
        const bool schedule = degrees->pp > 1 && degrees->schedule >= PLAIT_ZB_H1;
        char list[160] = "";

        note_default(!schedule, plait_schedule_name[degrees->schedule], list, sizeof list);
        note_default(degrees->cp_comm != PLAIT_CP_A2A_P2P || degrees->cp == 1, "cp_comm a2a+p2p",
                     list, sizeof list);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            note_default(!plait_key_applies(problem, degrees, keys[k]), plait_keys[keys[k]].name,
                         list, sizeof list);
        if (list[0] != '\0')
            fprintf(out, "note: priced by theory only, not covered by measured runs: %s\n", list);
        note_unearned(problem, degrees, out);
    }
}

void report_relaxations(const plait_relaxation *relaxation, int count, FILE *out)
{
    char step[UNITS_SIZE], memory[UNITS_SIZE];

    for (int i = 0; i < count; i++)
        fprintf(out, "  %s: step %s, %s\n", relaxation[i].change,
                units_seconds(relaxation[i].best.price.step_s, step),
                units_gib(relaxation[i].best.price.peak_bytes, memory));
}
