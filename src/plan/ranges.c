/* ranges.c - checks that each value of degrees and of plans is within its range */
#include "plan/ranges.h"

// ---- a point -------------------------------------------------------------------------------

static int count_of(const char *const *words)
{
    int count = 0;

    while (words[count])
        count++;
    return count;
}

bool recompute_has_values(plait_recompute r)
{
    return r.kind < PLAIT_RECOMPUTE_KINDS && r.layers >= 0 && r.layers <= PLAIT_MAX_LAYERS &&
           r.modules >> PLAIT_MODULES == 0 && (r.kind != PLAIT_RECOMPUTE_MODULES || r.modules > 0);
}

/* Returns whether a key can be 0: dp and shard_group, if the degrees do not divide the GPUs. */
static bool may_be_none(const plait_degrees *d, plait_key_id key)
{
    return d->dp == 0 && (key == PLAIT_KEY_DP || key == PLAIT_KEY_SHARD_GROUP);
}

static bool key_has_value(const plait_degrees *d, plait_key_id key)
{
    const plait_key *const row = &plait_keys[key];
    const int value = plait_key_value(d, key);

    switch (row->kind) {
    case PLAIT_KEY_OF_RECOMPUTE:
        return recompute_has_values(d->recompute);
    case PLAIT_KEY_OF_SPLIT:
        return d->split.kind < PLAIT_SPLITS &&
               (d->split.kind != PLAIT_SPLIT_FIRST_LAST ||
                (d->split.first >= 1 && d->split.first <= PLAIT_MAX_LAYERS && d->split.last >= 1 &&
                 d->split.last <= PLAIT_MAX_LAYERS));
    case PLAIT_KEY_WORD:
        return value < count_of(row->words);
    default:
        return value <= row->high && (value >= row->low || (value == 0 && may_be_none(d, key)));
    }
}

plait_status degrees_check_ranges(const plait_degrees *d, plait_error *err)
{
    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key *const row = &plait_keys[k];

        if (key_has_value(d, (plait_key_id)k))
            continue;
        return row->words ? plait_fail(err, PLAIT_ERROR_RANGE, row->name,
                                       "expected an existing value, found %d",
                                       plait_key_value(d, (plait_key_id)k))
                          : plait_fail(err, PLAIT_ERROR_RANGE, row->name,
                                       "expected an integer from %d to %d, found %d", row->low,
                                       row->high, plait_key_value(d, (plait_key_id)k));
    }
    return PLAIT_OK;
}

// ---- a plan --------------------------------------------------------------------------------

static bool chunk_has_values(const plait_chunk *chunk)
{
    return chunk->first >= 0 && chunk->first <= chunk->last && chunk->last <= PLAIT_MAX_LAYERS &&
           chunk->mtp >= 0 && chunk->mtp <= PLAIT_MAX_LAYERS;
}

/* Returns whether a stage has its lists; a stage without layers needs no list of choices. */
static bool stage_has_lists(const plait_stage *stage)
{
    if (stage->chunks < 0 || stage->chunks > PLAIT_MAX_LAYERS || stage->layers < 0 ||
        stage->layers > PLAIT_MAX_LAYERS || (stage->chunks > 0 && !stage->chunk) ||
        (stage->layers > 0 && !stage->recompute))
        return false;
    for (int c = 0; c < stage->chunks; c++)
        if (!chunk_has_values(&stage->chunk[c]))
            return false;
    for (int i = 0; i < stage->layers; i++)
        if (!recompute_has_values(stage->recompute[i]))
            return false;
    return true;
}

plait_status plan_check_ranges(const plait_plan *plan, plait_error *err)
{
    PLAIT_TRY(degrees_check_ranges(&plan->degrees, err));
    if (plan->stages < 0 || plan->stages > PLAIT_MAX_LAYERS || (plan->stages > 0 && !plan->stage))
        return plait_fail(err, PLAIT_ERROR_RANGE, "stages",
                          "expected a list of at most %d, found %d", PLAIT_MAX_LAYERS,
                          plan->stages);
    for (int s = 0; s < plan->stages; s++) {
        PLAIT_TRY(degrees_check_ranges(&plan->stage[s].degrees, err));
        if (!stage_has_lists(&plan->stage[s]))
            return plait_fail(
                err, PLAIT_ERROR_RANGE, "stages",
                "expected valid chunks and recomputation choices in stage %d, found other lists",
                s);
    }
    return PLAIT_OK;
}

bool range_check_passed(plait_status status, const plait_error *found, const plan_reason *why)
{
    return status == PLAIT_OK || fail_because(why, "%s: %s", found->where, found->message);
}
