/* fuzz_runtime.c - any bytes as a runtime profile; what it accepts can run at least one plan */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "plait/runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const plait_runtime *r)
{
    assert(r->can.most[PLAIT_KEY_TP] >= 1 && r->can.most[PLAIT_KEY_VPP] >= 1);
    assert(r->can.takes[PLAIT_KEY_ZERO] != 0 && r->can.takes[PLAIT_KEY_SCHEDULE] != 0 &&
           r->can.takes[PLAIT_KEY_SPLIT] != 0 && r->can.takes[PLAIT_KEY_ORDER] != 0);
    assert(r->can.takes[PLAIT_KEY_ZERO] >> r->defaults.key[PLAIT_KEY_ZERO] & 1u);
    assert(r->can.takes[PLAIT_KEY_ATTENTION] >> r->defaults.key[PLAIT_KEY_ATTENTION] & 1u);
    assert(r->can.module_sets >= 0 && r->can.module_sets <= PLAIT_MAX_MODULE_SETS);
    assert(r->factor.gemm > 0.0 && r->keep.reserved_ratio >= 1.0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    plait_runtime runtime;

    assert(arena != NULL);
    if (plait_runtime_parse((const char *)data, size, "input", arena, &runtime, &err) == PLAIT_OK)
        check(&runtime);
    else
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    plait_arena_free(arena);
    return 0;
}
