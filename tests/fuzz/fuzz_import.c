/* fuzz_import.c - any bytes through the readers of launch configs; what they accept can be written and read */
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "import.h"
#include "plans_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A key that one of the two does not know is known by neither. */
static void check_same(const plans_entry *a, const plans_entry *b)
{
    char text[128], again[128];

    assert(a->seq == b->seq && a->gbs == b->gbs && a->gpus == b->gpus);
    assert(a->precision == b->precision && a->attention == b->attention);
    for (const char *const *key = plait_degrees_keys; *key != NULL; key++) {
        if (strcmp(*key, "dp") != 0 && strcmp(*key, "fusion") != 0)
            assert((a->given & plans_key_bit(*key)) == (b->given & plans_key_bit(*key)));
        if (a->given & plans_key_bit(*key) & b->given)
            assert(strcmp(plait_degrees_get(&a->degrees, *key, text, sizeof text),
                          plait_degrees_get(&b->degrees, *key, again, sizeof again)) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const plait_launch_target target = size > 0 ? data[0] % PLAIT_LAUNCH_TARGETS : 0;
    plait_arena *const arena = plait_arena_new();
    const char *warning, *text;
    plans_entry entry, again;
    size_t length;
    plait_error err;

    if (arena != NULL && size > 0 && launch_imports(target) &&
        launch_import(target, (const char *)data + 1, size - 1, "fuzz", 0, arena, &entry, &warning,
                      &err) == PLAIT_OK) {
        assert(warning != NULL);
        assert(plans_write(&entry, arena, &text, &length, &err) == PLAIT_OK);
        assert(plans_parse(text, length, "again", 1, arena, &again, &err) == PLAIT_OK);
        check_same(&entry, &again);
    }
    plait_arena_free(arena);
    return 0;
}
