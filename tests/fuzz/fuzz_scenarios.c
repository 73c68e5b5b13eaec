/* fuzz_scenarios.c - any bytes as a file of scenarios; what is accepted has the scenarios that it counts */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <unistd.h>

#include "cli/sweep.h"
#include "support/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const sweep_entry *entry)
{
    int64_t count = 1;

    for (int a = 0; a < entry->axes; a++) {
        const sweep_axis *const axis = &entry->axis[a];

        assert(axis->name[0] != '\0' && axis->key[0] != '\0' && axis->values > 0);
        for (int v = 0; v < axis->values; v++)
            assert(axis->value[v] != NULL);
        count *= axis->values;
    }
    assert(entry->count == count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *const arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    char path[32];
    const int file = memory_file(data, size, path);
    sweep s;

    assert(arena != NULL);
    if (sweep_load(path, arena, &s, &err) == PLAIT_OK) {
        int64_t first = 0;

        for (int e = 0; e < s.entries; e++) {
            assert(s.entry[e].first == first);
            check_entry(&s.entry[e]);
            first += s.entry[e].count;
        }
        assert(s.count == first && first > 0 && first <= SWEEP_MOST);
    } else {
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    }
    close(file);
    plait_arena_free(arena);
    return 0;
}
