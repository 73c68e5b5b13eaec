/* asked.c - the plan that eval and explain are asked about */
#include "asked.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

/* One flag: the key of plait_degrees_set, the flag's name, what was given. */
typedef struct degree_flag {
    const char *key;
    const char *flag;
    const char *text;
} degree_flag;

#define X(name, flag, value, help) +1
enum { DEGREE_FLAGS = 0 ASKED_DEGREES(X) };
#undef X

static void flag_list(const asked_flags *flags, degree_flag list[DEGREE_FLAGS])
{
    int count = 0;

#define X(name, flag, value, help) list[count++] = (degree_flag){#name, "--" flag, flags->name};
    ASKED_DEGREES(X)
#undef X
}

bool asked_any(const asked_flags *flags)
{
    degree_flag list[DEGREE_FLAGS];

    flag_list(flags, list);
    for (int i = 0; i < DEGREE_FLAGS; i++)
        if (list[i].text != NULL)
            return true;
    return flags->plan != NULL;
}

/* ---- degrees ---- */

/* The error of a value names the flag, not the key. */
static plait_status set_flags(const asked_flags *flags, plait_degrees *degrees,
                              unsigned long *given, plait_error *err)
{
    degree_flag list[DEGREE_FLAGS];
    plait_error inner;

    flag_list(flags, list);
    for (int i = 0; i < DEGREE_FLAGS; i++) {
        if (list[i].text == NULL || strcmp(list[i].key, "microbatches") == 0)
            continue;
        if (plait_degrees_set(degrees, list[i].key, list[i].text, &inner) != PLAIT_OK)
            return plait_fail(err, inner.status, list[i].flag, "%s", inner.message);
        *given |= plans_key_bit(list[i].key);
    }
    return PLAIT_OK;
}

/*
 * What the file has as it would be filled in anyway is not held on to when a flag changes the
 * plan: a shard group of all replicas stays one of all replicas.
 */
static void loosen(const plans_entry *file, const asked_flags *flags, unsigned long *given)
{
    const plait_degrees *const d = &file->degrees;
    const bool usual_etp = d->ep == 1 && (d->etp == d->tp || d->etp == 1);

    *given &= ~plans_key_bit("shard_group");
    if (d->sp == (d->tp > 1))
        *given &= ~plans_key_bit("sp");
    if (flags->tp != NULL && usual_etp)
        *given &= ~plans_key_bit("etp");
    if (flags->vpp != NULL)
        *given &= ~plans_key_bit("schedule");
    if (flags->pp != NULL || flags->vpp != NULL)
        *given &= ~plans_key_bit("split");
}

static bool changes_plan(const asked_flags *flags)
{
    asked_flags without_plan = *flags;

    without_plan.plan = NULL;
    return asked_any(&without_plan) || flags->problem.gpus > 0;
}

/* --microbatches M stands for the mbs that makes M of them. */
static plait_status set_microbatches(const asked_flags *flags, const plait_problem *problem,
                                     plait_degrees *degrees, int *asked_for, unsigned long *given,
                                     plait_error *err)
{
    *asked_for = 0;
    if (flags->microbatches == NULL)
        return PLAIT_OK;
    if (!text_parse_int(flags->microbatches, 1, 1 << 24, asked_for))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--microbatches",
                          "expected an integer of at least 1, found \"%.60s\"",
                          flags->microbatches);
    if (flags->mbs == NULL && degrees->dp > 0) {
        const int mbs = problem->job.gbs / degrees->dp / *asked_for;

        degrees->mbs = mbs > 0 ? mbs : 1;
        *given |= plans_key_bit("mbs");
    }
    return PLAIT_OK;
}

static void check_microbatches(const plait_problem *problem, int asked_for, report_plan *plan)
{
    const int found = plait_degrees_microbatches(&plan->degrees, problem->job.gbs);

    if (asked_for == 0 || plan->verdict == PLAIT_INVALID || found == asked_for)
        return;
    plan->verdict = PLAIT_INVALID;
    snprintf(plan->why, sizeof plan->why,
             "dp %d x mbs %d makes %d microbatches of %d sequences, not %d", plan->degrees.dp,
             plan->degrees.mbs, found, problem->job.gbs, asked_for);
    plan->plan = (plait_plan){0};
    plan->cost = (plait_cost){0};
}

/* For a plan that cannot run: what the answer shows beside the degrees that were asked for. */
static void fill_in_plainly(const plait_problem *problem, unsigned long given, plait_degrees *d)
{
    const plait_runtime_defaults *const usual = &problem->runtime->defaults;

    if (!(given & plans_key_bit("sp")))
        d->sp = d->tp > 1;
    if (!(given & plans_key_bit("etp")))
        d->etp = d->tp;
    if (!(given & plans_key_bit("zero")))
        d->zero = (unsigned char)usual->zero;
    if (!(given & plans_key_bit("shard_group")))
        d->shard_group = d->dp * d->cp;
    if (!(given & plans_key_bit("cp_comm")))
        d->cp_comm = (unsigned char)usual->cp_comm;
    if (!(given & plans_key_bit("grad_sync")))
        d->grad_sync = (unsigned char)usual->grad_sync;
    if (!(given & plans_key_bit("schedule")))
        d->schedule = d->vpp > 1 ? PLAIT_INTERLEAVED : PLAIT_1F1B;
}

/* Fill in what is not given, and price. Degrees that do not make up the world are an answer. */
static plait_status complete(asked *out, plait_degrees degrees, plait_arena *arena,
                             plait_error *err)
{
    const plait_problem *const problem = &out->problem;
    const int dp = plait_degrees_dp(problem->job.gpus, degrees.tp, degrees.pp, degrees.cp);

    if (dp > 0 && dp == degrees.dp)
        PLAIT_TRY(plait_degrees_complete(problem, out->given, &degrees, arena, err));
    else
        fill_in_plainly(problem, out->given, &degrees);
    return report_price(problem, &degrees, out->file != NULL ? out->file->rank : 1, arena,
                        &out->plan, err);
}

static void derive_dp(const plait_problem *problem, unsigned long given, plait_degrees *degrees)
{
    if (!(given & plans_key_bit("dp")))
        degrees->dp = plait_degrees_dp(problem->job.gpus, degrees->tp, degrees->pp, degrees->cp);
}

static plait_status load(const char *path, plait_arena *arena, const plans_entry **out,
                         plait_error *err)
{
    plans_entry *entry = plait_arena_alloc(arena, 1, sizeof *entry);

    if (entry == NULL)
        return plait_fail_nomem(err);
    *out = entry;
    return plans_load(path, arena, entry, err);
}

plait_status asked_resolve(const asked_flags *flags, const opt_operands *operands,
                           plait_arena *arena, asked *out, plait_error *err)
{
    plait_degrees degrees = plait_degrees_init();
    int microbatches;

    *out = (asked){0};
    if (flags->plan != NULL)
        PLAIT_TRY(load(flags->plan, arena, &out->file, err));
    PLAIT_TRY(problem_resolve(&flags->problem, operands, out->file, arena, &out->problem, err));
    if (out->file != NULL) {
        degrees = out->file->degrees;
        out->given = out->file->given;
        if (changes_plan(flags))
            loosen(out->file, flags, &out->given);
    }
    PLAIT_TRY(set_flags(flags, &degrees, &out->given, err));
    derive_dp(&out->problem, out->given, &degrees);
    PLAIT_TRY(set_microbatches(flags, &out->problem, &degrees, &microbatches, &out->given, err));
    PLAIT_TRY(complete(out, degrees, arena, err));
    check_microbatches(&out->problem, microbatches, &out->plan);
    return PLAIT_OK;
}

plait_status asked_versus(const char *path, const plait_problem *problem, plait_arena *arena,
                          asked *out, plait_error *err)
{
    static const opt_operands nothing = {0};
    const problem_flags no_flags = {0};
    plans_entry *entry = plait_arena_alloc(arena, 1, sizeof *entry);
    plait_degrees degrees;

    if (entry == NULL)
        return plait_fail_nomem(err);
    *out = (asked){.file = entry};
    PLAIT_TRY(plans_load(path, arena, entry, err));
    if (entry->model == NULL)
        entry->model = problem->model;
    if (entry->cluster == NULL)
        entry->cluster = problem->cluster;
    if (entry->runtime == NULL)
        entry->runtime = problem->runtime->name;
    entry->seq = entry->seq > 0 ? entry->seq : problem->job.seq;
    entry->gbs = entry->gbs > 0 ? entry->gbs : problem->job.gbs;
    entry->gpus = entry->gpus > 0 ? entry->gpus : problem->job.gpus;
    PLAIT_TRY(problem_resolve(&no_flags, &nothing, entry, arena, &out->problem, err));
    degrees = entry->degrees;
    out->given = entry->given;
    derive_dp(&out->problem, out->given, &degrees);
    return complete(out, degrees, arena, err);
}

/* ---- a plan as flags ---- */

static bool same_key(const plait_degrees *a, const plait_degrees *b, const char *key)
{
    char a_text[96], b_text[96];

    return strcmp(plait_degrees_get(a, key, a_text, sizeof a_text),
                  plait_degrees_get(b, key, b_text, sizeof b_text)) == 0;
}

/* Keys that completion would fill in otherwise are added until it gives the same plan. */
static plait_status keys_needed(const plait_problem *problem, const plait_degrees *degrees,
                                plait_arena *arena, unsigned long *given, plait_error *err)
{
    unsigned long before;
    plait_error ignored;

    *given = plans_key_bit("tp") | plans_key_bit("pp");
    do {
        plait_degrees filled = *degrees;

        before = *given;
        if (plait_degrees_complete(problem, *given, &filled, arena, &ignored) != PLAIT_OK)
            return PLAIT_OK;
        for (const char *const *key = plait_degrees_keys; *key != NULL; key++)
            if (!same_key(&filled, degrees, *key))
                *given |= plans_key_bit(*key);
    } while (*given != before);
    (void)err;
    return PLAIT_OK;
}

static void append_flag(text_builder *out, const char *key, const plait_degrees *degrees)
{
    char text[96], flag[32];

    snprintf(flag, sizeof flag, "%s", key);
    for (char *c = flag; *c != '\0'; c++)
        if (*c == '_')
            *c = '-';
    text_append_printf(out, "%s--%s %s", out->length > 0 ? " " : "", flag,
                       plait_degrees_get(degrees, key, text, sizeof text));
}

plait_status asked_text(const plait_problem *problem, const plait_degrees *degrees,
                        plait_arena *arena, const char **text, plait_error *err)
{
    text_builder out;
    unsigned long given;

    PLAIT_TRY(keys_needed(problem, degrees, arena, &given, err));
    text_builder_init(&out, arena);
    for (const char *const *key = plait_degrees_keys; *key != NULL; key++)
        if ((given & plans_key_bit(*key)) && strcmp(*key, "dp") != 0)
            append_flag(&out, *key, degrees);
    *text = text_builder_finish(&out, NULL);
    return *text != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
