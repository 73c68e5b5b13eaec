/* fuzz_import.c - any bytes through the readers of launch configs; what they accept can be written and read */
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "launch/import.h"
#include "io/plans/plans_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A key that one of the two does not know is known by neither. */
static void check_same(const plans_entry *a, const plans_entry *b)
{
    assert(a->seq == b->seq && a->gbs == b->gbs && a->gpus == b->gpus);
    assert(a->precision == b->precision);
    for (int k = 0; k < PLAIT_KEYS; k++) {
        if (k != PLAIT_KEY_DP)
            assert((a->given & PLAIT_KEY_BIT(k)) == (b->given & PLAIT_KEY_BIT(k)));
        if (a->given & PLAIT_KEY_BIT(k) & b->given)
            assert(plait_key_same(&a->degrees, &b->degrees, (plait_key_id)k));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_launch_target target = size > 0 ? data[0] % PLAIT_LAUNCH_TARGETS : 0;
    plait_arena *const arena = plait_arena_new();
    const char *warning, *text, *log = NULL;
    const char *config = (const char *)data + 1;
    plans_entry entry, again;
    size_t length, config_length = size - 1;
    plait_error err;

    if (arena != NULL && size > 0 &&
        launch_read_log(config, config_length, "fuzz", &target, arena, &log, &err) == PLAIT_OK &&
        log != NULL) {
        config = log;
        config_length = strlen(log);
    }
    if (arena != NULL && size > 0 &&
        text_index(plait_launch_target_name[target], launch_import_names()) >= 0 &&
        launch_import(target, config, config_length, "fuzz", NULL, arena, &entry, &warning, &err) ==
            PLAIT_OK) {
        assert(warning != NULL);
        assert(plans_write(&entry, arena, &text, &length, &err) == PLAIT_OK);
        assert(plans_parse(text, length, "again", 1, arena, &again, &err) == PLAIT_OK);
        check_same(&entry, &again);
    }
    plait_arena_free(arena);
    return 0;
}
