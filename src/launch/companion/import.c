/*
 * import.c - reads a plan from launch.json
 *
 * The reader takes the problem and the degrees from the file. It writes the ranks, stages, layers
 * and actions that follow from them again, and the file must agree. It does not read the price.
 */
#include "launch/companion/companion.h"

#include <limits.h>

#include "base/status.h"
#include "io/json/json.h"
#include "launch/target.h"
#include "rules/plan_check.h"
#include "plait/runtime.h"
#include "io/plans/plans_json.h"
#include "plan/split.h"

/* ---- problem and degrees ---- */

/* ---- parts that follow from the degrees ---- */

static bool stages_choose(const plans_entry *entry)
{
    for (int s = 0; s < entry->stages; s++)
        if (entry->stage[s].recomputes > 0 || entry->stage[s].owns != 0 ||
            entry->stage[s].cut != NULL)
            return true;
    return false;
}

/*
 * Lay out the stages as the file lists them if the split is a layout or a stage has choices of its
 * own, else as the split gives them.
 */
static plait_status plan_of(const plans_entry *entry, const plait_problem *problem,
                            plait_arena *arena, plait_plan *out, plait_error *err)
{
    char why[256] = "";
    const plan_reason reason = {why, sizeof why};

    if (entry->degrees.split.kind != PLAIT_SPLIT_LAYOUT && !stages_choose(entry))
        return plait_plan_expand(problem, &entry->degrees, arena, out, err);
    PLAIT_TRY(plans_plan(entry, &entry->degrees, false, arena, out, err));
    if (!plan_stages_agree(problem, out, &reason))
        return plait_fail(err, PLAIT_ERROR_RANGE, "stages",
                          "expected stages that match the plan, found: %s", why);
    return PLAIT_OK;
}

/* Each member of `expected` must be equal in `found`, the root of the file. */
static plait_status compare_members(const json_cursor *expected, plait_arena *arena, void *found,
                                    plait_error *err)
{
    json_cursor here, there;

    (void)arena;
    for (bool more = json_first(expected, &there); more; more = json_next(&there)) {
        PLAIT_TRY(json_value(found, there.key, &here, err));
        PLAIT_TRY(json_same(&here, &there, err));
    }
    return PLAIT_OK;
}

static plait_status check_plan(json_cursor *root, const json_cursor *degrees,
                               const plans_entry *entry, plait_arena *arena, plait_error *err)
{
    plait_error inner;
    const char *text;
    size_t length;

    // check first that the degrees give whole numbers of ranks, chunks and microbatches
    const plait_degrees *const d = &entry->degrees;
    const int64_t chunks = (int64_t)d->pp * d->vpp;
    const int64_t replicas = (int64_t)d->dp * d->cp;
    const char *wrong = NULL;
    if (entry->gpus > LAUNCH_MAX_RANKS)
        wrong = "at most 262144 GPUs";
    else if (d->dp < 1)
        wrong = "tp x pp x cp that divides the GPUs";
    else if (plait_degrees_microbatches(d, entry->gbs) < 1)
        wrong = "dp x mbs that divides gbs";
    else if (replicas * d->tp % ((int64_t)d->etp * d->ep) != 0)
        wrong = "etp x ep that divides tp x cp x dp";
    else if (d->shard_group < 1 || replicas % d->shard_group != 0)
        wrong = "shard_group that divides dp x cp";
    else if (chunks > split_most_chunks(entry->model->layers, (plait_split_kind)d->split.kind) ||
             chunks > PLAIT_MAX_LAYERS)
        wrong = "pp x vpp within the number of chunks that the split supports";
    if (wrong != NULL)
        return json_fail(degrees, PLAIT_ERROR_RANGE, err, "expected %s, found other values", wrong);
    // check that the file lists all ranks before the expected groups are listed
    const int gpus = entry->gpus;
    json_cursor groups, list, group;
    size_t ranks = 0;

    PLAIT_TRY(json_object(root, "groups", &groups, err));
    PLAIT_TRY(json_array(&groups, launch_group_name[LAUNCH_GROUP_tp], &list, err));
    for (bool more = json_first(&list, &group); more; more = json_next(&group))
        ranks += json_count(&group);
    if (ranks != (size_t)gpus)
        return json_fail(&list, PLAIT_ERROR_RANGE, err,
                         "expected groups with %d ranks in total, found %zu", gpus, ranks);
    const plait_runtime runtime = {.name = entry->runtime};
    const plait_problem problem = {
        .model = entry->model,
        .runtime = &runtime,
        .job = {.seq = entry->seq,
                .gbs = entry->gbs,
                .gpus = entry->gpus,
                .precision = (plait_precision)entry->precision},
    };
    plait_plan plan;
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    plait_status status = plan_of(entry, &problem, arena, &plan, &inner);
    if (status == PLAIT_OK)
        status = companion_write_plan(&json, &problem, &plan, arena, &inner);
    if (status == PLAIT_OK) {
        json_end_object(&json);
        status = json_writer_finish(&json, &text, &length, &inner);
    }
    if (status != PLAIT_OK) {
        PLAIT_TRY(faults_only(inner.status, &inner, err));
        return json_fail(degrees, inner.status, err, "%s", inner.message);
    }
    return json_parse(text, length, "expected", compare_members, arena, root, err);
}

static plait_status read_root(const json_cursor *root, plait_arena *arena, void *entry,
                              plait_error *err)
{
    static const char *const keys[] = {
        "format", "version", "plait",    "model",    "cluster",   "job",       "degrees",  "groups",
        "stages", "layers",  "schedule", "settings", "gradients", "operators", "expected", NULL};
    plans_entry *const out = entry;
    json_cursor degrees, here = *root;

    PLAIT_TRY(json_keys_among(root, keys, err));
    static const char *const formats[] = {COMPANION_FORMAT, NULL};
    int ignored;

    PLAIT_TRY(json_word(root, "format", formats, &ignored, err));
    PLAIT_TRY(json_int(root, "version", COMPANION_VERSION, COMPANION_VERSION, &ignored, err));
    PLAIT_TRY(plans_read_question(root, arena, out, err));
    const struct {
        const char *key;
        bool given;
    } parts[] = {
        {"model", out->model != NULL},
        {"cluster", out->cluster != NULL},
        {"job", out->seq > 0 && out->gbs > 0 && out->gpus > 0 && out->runtime != NULL &&
                    out->precision >= 0},
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!parts[i].given)
            return json_fail_key(root, parts[i].key, PLAIT_ERROR_SCHEMA, err,
                                 "expected a complete object, found nothing or null");
    PLAIT_TRY(json_object(root, "degrees", &degrees, err));
    PLAIT_TRY(plans_read_plan(&degrees, arena, out, err));
    PLAIT_TRY(plans_read_stages(root, arena, out, err));
    out->degrees.dp =
        plait_degrees_dp(out->gpus, out->degrees.tp, out->degrees.pp, out->degrees.cp);
    PLAIT_TRY(check_plan(&here, &degrees, out, arena, err));
    out->rank = 1;
    out->where = plait_arena_printf(arena, "%s:/degrees", root->key);
    return out->where != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

plait_status companion_import(const char *text, size_t length, const char *name,
                              const launch_call *call, plait_arena *arena, plans_entry *out,
                              text_builder *warnings, plait_error *err)
{
    (void)call;
    *out = plans_unknown(name);
    (void)warnings; // the file holds nothing that plait cannot price
    return json_parse(text, length, name, read_root, arena, out, err);
}
