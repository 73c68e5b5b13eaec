/* fuzz_torchtitan.c - any bytes through the readers of torchtitan's configs */
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is known of a plan has a text that can be set again. */
static void check(const plans_entry *entry)
{
    plait_degrees copy = plait_degrees_init();
    char text[128];
    plait_error err;

    assert(entry->seq >= 0 && entry->gbs >= 0 && entry->gpus >= 0);
    assert(entry->precision >= -1 && entry->precision < PLAIT_PRECISIONS);
    for (const char *const *key = plait_degrees_keys; *key != NULL; key++) {
        plait_degrees_get(&entry->degrees, *key, text, sizeof text);
        assert(plait_degrees_set(&copy, *key, text, &err) == PLAIT_OK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *const arena = plait_arena_new();
    const char *warning = NULL;
    plans_entry entry;
    plait_error err;

    if (arena == NULL)
        return 0;
    if (target_torchtitan.import((const char *)data, size, "fuzz", arena, &entry, &warning, &err) ==
        PLAIT_OK) {
        check(&entry);
        assert(warning != NULL);
    } else {
        assert(err.message[0] != '\0' && err.where[0] != '\0');
    }
    plait_arena_free(arena);
    return 0;
}
