/* fuzz_companion.c - any bytes through the reader of launch.json; what it accepts makes up its ranks */
#undef NDEBUG
#include <assert.h>

#include "launch/companion/companion.h"
#include "launch/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The plan expands, and each of its group kinds parts the ranks. */
static void check(const plans_entry *entry, plait_arena *arena)
{
    const plait_degrees *const d = &entry->degrees;
    const plait_problem problem = {
        .model = entry->model, .job = {.seq = entry->seq, .gbs = entry->gbs, .gpus = entry->gpus}};
    launch_group_list list;
    plait_plan plan;
    plait_error err;

    assert(entry->model != NULL && entry->cluster != NULL && entry->runtime != NULL);
    assert((int64_t)d->tp * d->cp * d->dp * d->pp == entry->gpus);
    assert(plait_degrees_microbatches(d, entry->gbs) > 0);
    assert(plait_plan_expand(&problem, d, arena, &plan, &err) == PLAIT_OK);
    for (int kind = 0; kind < LAUNCH_GROUP_KINDS; kind++) {
        assert(launch_groups(d, (launch_group)kind, arena, &list, &err) == PLAIT_OK);
        assert(kind == LAUNCH_GROUP_embedding || list.groups * list.ranks == entry->gpus);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    plans_entry entry;
    const char *warning;

    assert(arena != NULL);
    if (launch_import(PLAIT_LAUNCH_COMPANION, (const char *)data, size, "input", NULL, arena,
                      &entry, &warning, &err) == PLAIT_OK)
        check(&entry, arena);
    else
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    plait_arena_free(arena);
    return 0;
}
