/* profile.c - fit the factors of a runtime profile to measured steps of that software */
#include "calibrate/profile.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "io/runtime/runtime_file.h"
#include "base/text.h"

/* Lower limit of the robust scale: repeats of one plan differ by some percent. */
static const double least_scale = 0.03;
/* Weight of the differences inside a sweep, on which the choice of a plan depends. **Chosen**. */
static const double sweep_weight = 4.0;

/*
 * Spread between releases of one piece of software, relative to the spread between software of one
 * family. The step time of one plan changed by 3.5 % from NeMo 25.01 to 25.03, and by as much from
 * Megatron-Bridge v0.3.0 to v0.4.0, which is a fifth of the family's spread. With half of the
 * family's spread, a fit would follow the errors of single models (docs/accuracy/fitting.md).
 */
static const double release_spread = 0.2;

/* The subject of the fit: a profile whose numbers replace the numbers of each run's profile. */
typedef struct profile_subject {
    plait_runtime runtime;
    plait_pipelines *pipelines;
    plait_arena *scratch;
} profile_subject;

static double step_s(const void *context, const void *what)
{
    const profile_subject *subject = context;

    return profile_step_s(&subject->runtime, what, subject->pipelines, subject->scratch);
}

/*
 * Lists the numbers to fit. For a variant, `software` is the fitted profile of its software; else
 * it is NULL. The fit starts at the parents and not at the numbers of the file, so a second fit has
 * the same result.
 */
static void choose_numbers(const profile_set *set, const profile_member *m,
                           const plait_runtime *software, profile_result *out)
{
    for (int k = 0; k < PLACES; k++) {
        const place *const at = &places[k];

        if (!m->line.has[k])
            continue;
        out->was[out->numbers] = place_value(&out->runtime, k);
        out->parent[out->numbers] = software != NULL
                                        ? place_value(software, k)
                                        : exp(hierarchy_parent(&set->families, &m->line, k));
        out->number[out->numbers++] = (fit_number){
            .key = at->key,
            .element = -1,
            .offset = offsetof(profile_subject, runtime) + at->offset,
            .unit = at->unit,
            .low = at->low * at->unit,
            .high = at->high * at->unit,
            .spread = software != NULL ? release_spread * set->families.spread[k]
                                       : hierarchy_spread(&set->families, &m->line, k),
            .scales = true,
        };
    }
}

/* Returns the mean error on the runs of the fit; NaN without runs. */
static double mean_error(const profile_subject *subject, const fit_point *point, size_t count)
{
    double sum = 0.0;
    int runs = 0;

    for (size_t i = 0; i < count; i++) {
        if (point[i].held_out)
            continue;
        sum += fabs(step_s(subject, point[i].what) / point[i].measured_s - 1.0);
        runs++;
    }
    return runs > 0 ? sum / runs : (double)NAN;
}

/* Fits the profile `was`. For a variant, `software` is its software's fitted profile; else NULL. */
static plait_status fit_subject(profile_subject *subject, const profile_set *set,
                                const profile_member *m, const plait_runtime *was,
                                const plait_runtime *software, int variant, plait_arena *arena,
                                profile_result *out, plait_error *err)
{
    fit_point *point = plait_arena_alloc(arena, m->runs + 1, sizeof *point);

    subject->runtime = *was;
    *out = (profile_result){.runtime = *was, .variant = variant};
    out->left_out = plait_arena_alloc(arena, m->runs + 1, sizeof *out->left_out);
    PLAIT_TRY(plait_check_allocated(point && out->left_out, err));
    for (size_t i = 0; i < m->runs; i++) {
        const plait_run_price *const run = m->run[i];
        // The fit of a variant uses only the runs of the variant's releases.
        const bool covered =
            out->variant == 0 ||
            runtime_variant_at(m->variant, m->variants, run->problem.runtime->date) == variant;

        point[i] = (fit_point){.what = run,
                               .measured_s = run->run->step_s,
                               .weight = 1.0,
                               .sweep = run->run->sweep,
                               .held_out = !profile_set_includes(set, run) || !covered};
        out->runs += !point[i].held_out;
        if (set->without != NULL && strcmp(run->run->source, set->without) == 0 && covered)
            out->left_out[out->left_outs++] =
                (profile_left_out){.run = run, .shipped_s = step_s(subject, run)};
    }
    choose_numbers(set, m, software, out);
    out->before = mean_error(subject, point, m->runs);
    for (int i = 0; i < out->numbers; i++) {
        const double value = fit_rounded(out->parent[i], out->number[i].unit);

        memcpy((char *)subject + out->number[i].offset, &value, sizeof value);
    }
    const fit_problem problem = {
        .subject = subject,
        .number = out->number,
        .numbers = out->numbers,
        .point = point,
        .points = (int)m->runs,
        .predict_s = step_s,
        .least_scale = least_scale,
        .sweep_weight = sweep_weight,
    };
    // Without runs the numbers stay at the parents.
    if (out->runs > 0 && out->numbers > 0)
        PLAIT_TRY(fit_run(&problem, arena, &out->errors, err));
    out->after = mean_error(subject, point, m->runs);
    for (size_t i = 0; i < out->left_outs; i++)
        out->left_out[i].step_s = step_s(subject, out->left_out[i].run);
    out->runtime = subject->runtime;
    return PLAIT_OK;
}

plait_status profile_fit(const profile_set *set, const char *name, int variant, plait_arena *arena,
                         profile_result *out, plait_error *err)
{
    const profile_member *const m = profile_set_find(set, name);
    profile_subject subject = {.pipelines = set->pipelines, .scratch = plait_arena_new()};
    char month[RUNTIME_MONTH_SIZE];
    plait_runtime software, was;
    plait_status status;

    PLAIT_TRY(plait_check_allocated(subject.scratch, err));
    status = fit_subject(&subject, set, m, &m->runtime, NULL, 0, arena, out, err);
    if (status == PLAIT_OK && variant > 0) {
        software = out->runtime;
        status = runtime_find_dated(name, runtime_month(variant, month), false, arena, &was, err);
        if (status == PLAIT_OK)
            status = fit_subject(&subject, set, m, &was, &software, variant, arena, out, err);
    }
    plait_arena_free(subject.scratch);
    return status;
}

double profile_number(const profile_result *result, int i)
{
    double value;

    memcpy(&value,
           (const char *)&result->runtime +
               (result->number[i].offset - offsetof(profile_subject, runtime)),
           sizeof value);
    return value;
}

// ---- the file ------------------------------------------------------------------------------

static const char *source_of(const profile_result *result, plait_arena *arena)
{
    const char *const family = result->runtime.family;
    text_builder text;

    text_builder_init(&text, arena);
    if (result->runs > 0)
        text_append_printf(&text,
                           "fitted with tp_exposed and dp_exposed to the %zu trusted runs of this "
                           "software in tests/validation/runs.csv, mean error %.1f %%",
                           result->runs, 100.0 * result->after);
    else
        text_append(&text, "no trusted run of this software in tests/validation/runs.csv");
    text_append(&text, "; numbers that no run determines (determined_by) come from ");
    if (family[0] != '\0')
        text_append_printf(&text, "the family %s", family);
    else
        text_append(&text, "all software");
    text_append(&text, "; nic applies in addition to the cluster's efficiency, hop_us in addition "
                       "to its latency; ");
    if (result->runtime.factor.host_expert_s > 0.0)
        text_append(&text, "host_experts, host_expert_us: C.305; host_backward");
    else
        text_append(&text, "host_experts, host_backward");
    text_append(&text, " from an earlier fit to published training runs");
    return text_builder_finish(&text, NULL);
}

/* Writes "determined_by": the source of each number. */
static bool set_sources(const profile_result *result, json_tree *tree, const char *source)
{
    json_tree *const by = json_tree_set_object(tree, "determined_by");

    if (by == NULL)
        return false;
    for (int i = 0; i < result->numbers; i++) {
        const bool determined = result->runs > 0 && result->number[i].determined;

        if (!determined && result->variant > 0)
            continue;
        if (!json_tree_set_text(by, result->number[i].key,
                                plait_number_source_name[determined ? PLAIT_NUMBER_OF_RUNS
                                                                    : PLAIT_NUMBER_OF_FAMILY]))
            return false;
    }
    return json_tree_set_text(by, "source", source);
}

static plait_status apply_whole(const profile_result *result, json_tree *tree, plait_arena *arena,
                                plait_error *err)
{
    for (int k = 0; k < PLACES; k++) {
        json_tree *block = json_tree_member(tree, places[k].block);
        const double value = place_value(&result->runtime, k);

        if (value <= 0.0 || block == NULL)
            continue;
        if (!json_tree_set_number(block, places[k].key, fit_rounded(value / places[k].unit, 1.0)))
            return plait_fail_nomem(err);
    }
    json_tree *factors = json_tree_member(tree, "factors");
    const char *source = source_of(result, arena);
    if (source == NULL || (factors != NULL && !json_tree_set_text(factors, "source", source)) ||
        !set_sources(result, tree,
                     "plait calibrate: runs of this software, or the expectation from its "
                     "family for numbers that they do not determine"))
        return plait_fail_nomem(err);
    return PLAIT_OK;
}

plait_status profile_apply(const profile_result *result, json_tree *tree, plait_arena *arena,
                           plait_error *err)
{
    const char *const software = plait_runtime_software(&result->runtime);
    const char *const source =
        plait_arena_printf(arena,
                           "plait calibrate: fitted to the %zu trusted runs of these releases in "
                           "tests/validation/runs.csv, mean error %.1f %%; numbers that they "
                           "do not determine are those of %s",
                           result->runs, 100.0 * result->after, software);

    if (result->variant == 0)
        return apply_whole(result, tree, arena, err);
    PLAIT_TRY(plait_check_allocated(source, err));
    for (int i = 0; i < result->numbers; i++) {
        const fit_number *const n = &result->number[i];
        const place *at = places;
        json_tree *block;

        while (strcmp(at->key, n->key) != 0)
            at++;
        block = json_tree_member(tree, at->block);
        if (result->runs == 0 || !n->determined) {
            // Remove a number that the variant's runs do not determine, so that the software's
            // number applies.
            if (block != NULL)
                json_tree_remove(block, n->key);
            continue;
        }
        block = json_tree_enter(tree, at->block);
        PLAIT_TRY(plait_check_allocated(block, err));
        PLAIT_TRY(plait_check_allocated(
            json_tree_set_number(block, n->key,
                                 fit_rounded(profile_number(result, i) / n->unit, 1.0)),
            err));
    }
    return set_sources(result, tree, source) ? PLAIT_OK : plait_fail_nomem(err);
}
