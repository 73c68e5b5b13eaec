/* import.c - reads a plan from a runtime's launch config */
#include "launch/import.h"

#include <stdio.h>
#include <string.h>

#include "base/saturating.h"
#include "io/plans/plans_json.h"
#include "launch/target.h"
#include "base/text.h"

const char *const *launch_import_names(void)
{
    static const char *names[PLAIT_LAUNCH_TARGETS + 1];
    int count = 0;

    for (int t = 0; t < PLAIT_LAUNCH_TARGETS; t++)
        if (launch_target_at((plait_launch_target)t)->import != NULL)
            names[count++] = plait_launch_target_name[t];
    return names;
}

plait_status launch_read_log(const char *text, size_t length, const char *name,
                             plait_launch_target *target, plait_arena *arena, const char **config,
                             plait_error *err)
{
    char *const log = plait_arena_alloc(arena, length + 1, 1), *to = log, *found = NULL;

    PLAIT_TRY(plait_check_allocated(log, err));
    memcpy(log, text, length);
    log[length] = '\0';
    // remove colour codes ("\x1b[32m") and zero bytes
    for (const char *at = log; at < log + length; at++)
        if (*at == '\x1b')
            at += 1 + strspn(at + 1, "[0123456789;?");
        else if (*at != '\0')
            *to++ = *at == '\r' ? '\n' : *at;
    *to = '\0';
    for (int t = 0; t < PLAIT_LAUNCH_TARGETS && found == NULL; t++) {
        launch_log_reader *const read = launch_target_at((plait_launch_target)t)->read_log;

        if (read == NULL || (*target != PLAIT_LAUNCH_TARGETS && (int)*target != t))
            continue;
        PLAIT_TRY(read(log, name, arena, &found, err));
        if (found != NULL)
            *target = (plait_launch_target)t;
    }
    if (found != NULL)
        text_make_lines_plain(found);
    *config = found;
    return PLAIT_OK;
}

/*
 * Set the GPUs that the caller gives; a shard group of all replicas still spans all replicas
 * afterwards.
 */
static void take_gpus(int gpus, plans_entry *out)
{
    plait_degrees *const d = &out->degrees;
    const plait_key_set bit = PLAIT_KEY_BIT(PLAIT_KEY_SHARD_GROUP);
    const bool all = !(out->given & bit) || d->shard_group == saturating_mul(d->dp, d->cp);

    if (gpus > 0)
        out->gpus = gpus;
    // dp follows from the GPUs once the other degrees are known
    const plait_key_set others =
        PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) | PLAIT_KEY_BIT(PLAIT_KEY_CP);
    const bool known = out->gpus > 0 && (out->given & others) == others;

    d->dp = known ? plait_degrees_dp(out->gpus, d->tp, d->pp, d->cp) : 0;
    out->given &= ~PLAIT_KEY_BIT(PLAIT_KEY_DP);
    if (d->dp > 0)
        out->given |= PLAIT_KEY_BIT(PLAIT_KEY_DP);
    if (gpus == 0 || !all || d->dp == 0)
        return;
    d->shard_group = d->dp * d->cp;
    out->given |= bit;
}

/*
 * Write the plan and read it back, so that a model that plait would reject in a plan's file is
 * rejected here, where the message can name the config.
 */
static plait_status check_readable(const plans_entry *entry, plait_arena *arena, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    plans_entry again;
    const char *text;
    char where[256];
    size_t length;
    plait_error inner;

    PLAIT_TRY(plans_write(entry, arena, &text, &length, err));
    const plait_status status = plans_parse(text, length, "", 1, arena, &again, &inner);
    if (status != PLAIT_OK) {
        snprintf(where, sizeof where, "%.120s: %.120s", entry->where,
                 inner.where[0] == ':' ? inner.where + 1 : inner.where);
        return plait_fail(err, status, where, "%s", inner.message);
    }
    plait_arena_rewind(arena, mark);
    return PLAIT_OK;
}

plait_status launch_import(plait_launch_target target, const char *text, size_t length,
                           const char *name, const launch_call *call, plait_arena *arena,
                           plans_entry *out, const char **warning, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);

    *out = plans_unknown(name);
    // a run.sh that launch wrote reads its arguments from another file, so run.sh itself contains
    // none
    static const size_t before = sizeof LAUNCH_READS_FROM - 1;
    const char *const end = text + length;

    for (const char *line = text, *stop; line < end; line = stop < end ? stop + 1 : end) {
        stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop != NULL ? stop : end;
        if ((size_t)(stop - line) <= before || memcmp(line, LAUNCH_READS_FROM, before) != 0)
            continue;
        const size_t width = (size_t)(stop - line) - before - 1; // without the quote
        return plait_fail(err, PLAIT_ERROR_SCHEMA, name,
                          "expected the arguments of a run, found its start script: import %.*s "
                          "from the same folder",
                          (int)(width < 80 ? width : 80), line + before);
    }
    if (!launch_target_at(target)->tunes)
        PLAIT_TRY(other_jobs_refuse(text, length, name, call, arena, err));
    plait_arena_rewind(arena, mark);
    text_builder warnings;

    text_builder_init(&warnings, arena);
    PLAIT_TRY(
        launch_target_at(target)->import(text, length, name, call, arena, out, &warnings, err));
    *warning = text_builder_finish(&warnings, NULL);
    PLAIT_TRY(plait_check_allocated(*warning, err));
    // a model's name from a script may contain any characters: make the name plain
    if (out->model != NULL && !text_is_plain(out->model->name)) {
        plait_model *const model = plait_arena_alloc(arena, 1, sizeof *model);
        PLAIT_TRY(plait_check_allocated(model, err));
        *model = *out->model;
        model->name = text_plain(arena, model->name);
        out->model = model;
        PLAIT_TRY(plait_check_allocated(model->name, err));
    }
    // no config gives the first two keys: ranks are placed side by side, x first, since that only
    // numbers the ranks; and in every runtime all ranks wait before the optimizer. Only Megatron-LM
    // has the graphs and kernels of the others
    static const plait_key_id constant[] = {PLAIT_KEY_PLACEMENT,         PLAIT_KEY_POST_VALIDATION,
                                            PLAIT_KEY_CUDA_GRAPH,        PLAIT_KEY_FP8_ATTENTION,
                                            PLAIT_KEY_FUSED_GROUPED_MLP, PLAIT_KEY_TP_COMM_OVERLAP,
                                            PLAIT_KEY_PERMUTE_FUSION,    PLAIT_KEY_ROUTER_FUSION,
                                            PLAIT_KEY_GATHER_WITH_STEP,  PLAIT_KEY_BUCKET};

    for (size_t k = 0; k < sizeof constant / sizeof *constant; k++) {
        if (!(out->given & PLAIT_KEY_BIT(constant[k])))
            plait_key_put(&out->degrees, constant[k], 0);
        out->given |= PLAIT_KEY_BIT(constant[k]);
    }
    take_gpus(call != NULL ? call->gpus : 0, out);
    return check_readable(out, arena, err);
}
