/* plans_tries.c - which plans of a file of plans to try */
#include <limits.h>

#include "io/json/json.h"
#include "io/plans/plans.h"

typedef struct plans_tries {
    int most, count;
    int *rank;
} plans_tries;

static plait_status read_try(const json_cursor *entry, plans_tries *out, plait_error *err)
{
    static const char *const keys[] = {"rank", "expected_regret", NULL};

    PLAIT_TRY(json_keys_among(entry, keys, err));
    if (out->count == out->most)
        return json_fail(entry, PLAIT_ERROR_RANGE, err, "expected at most %d plans, found more",
                         out->most);
    return json_int(entry, "rank", 1, INT_MAX, &out->rank[out->count++], err);
}

static plait_status read_tries(const json_cursor *root, plait_arena *arena, void *out,
                               plait_error *err)
{
    json_cursor tries, entry;

    (void)arena;
    if (!json_has(root, "tries"))
        return json_fail(root, PLAIT_ERROR_SCHEMA, err,
                         "expected plans to try, as `plait search --try N -o FILE` writes them, "
                         "found none");
    PLAIT_TRY(json_array(root, "tries", &tries, err));
    for (bool more = json_first(&tries, &entry); more; more = json_next(&entry))
        PLAIT_TRY(read_try(&entry, out, err));
    return PLAIT_OK;
}

plait_status plans_tried(const char *path, int most, int rank[], int *count, plait_arena *arena,
                         plait_error *err)
{
    plans_tries tries = {.most = most, .rank = rank};
    const plait_status status = json_load(path, read_tries, arena, &tries, err);

    *count = tries.count;
    return status;
}
