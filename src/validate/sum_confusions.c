/* sum_confusions.c - confusion matrices of predicted and real out-of-memory failures */
#include "validate/groups.h"
#include "validate/statistics.h"
#include "validate/sums.h"

static bool key_known(const plait_validation *v, size_t row, const char **name, const char **scope)
{
    const plait_run *const run = &v->runs->run[row];

    *name = run->source;
    *scope = NULL;
    return v->price[row].priced && row_plan_is_known(run) && run->recompute[0] != '\0' &&
           run->trust != PLAIT_TRUST_OFFLOAD;
}

static void count_confusion(const plait_validation *v, size_t row, plait_confusion *out)
{
    const bool failed = v->runs->run[row].outcome != PLAIT_RUN_OK;
    const bool predicted = v->price[row].verdict == PLAIT_OUT_OF_MEMORY;

    out->true_positives += failed && predicted;
    out->false_negatives += failed && !predicted;
    out->false_positives += !failed && predicted;
    out->true_negatives += !failed && !predicted;
    out->tight += !failed && v->price[row].verdict == PLAIT_TIGHT;
}

plait_status sum_confusions(plait_validation *v, plait_arena *arena, plait_error *err)
{
    plait_confusion *confusion;
    row_groups groups;

    PLAIT_TRY(groups_of(v, key_known, arena, &groups, err));
    confusion = plait_arena_alloc(arena, groups.count, sizeof *confusion);
    PLAIT_TRY(plait_check_allocated(confusion, err));
    for (size_t g = 0; g < groups.count; g++) {
        plait_confusion of_group = {.source = groups.name[g]};

        for (size_t i = 0; i < groups.size[g]; i++) {
            count_confusion(v, groups.row[g][i], &of_group);
            count_confusion(v, groups.row[g][i], &v->confusion_total);
        }
        of_group.balanced_accuracy = statistics_balanced_accuracy(&of_group);
        confusion[v->confusions++] = of_group;
    }
    v->confusion = confusion;
    v->confusion_total.balanced_accuracy = statistics_balanced_accuracy(&v->confusion_total);
    return PLAIT_OK;
}
