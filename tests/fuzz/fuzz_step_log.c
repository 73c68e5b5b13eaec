/* fuzz_step_log.c - any bytes as a log; what is read from it is a time or a rate */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdint.h>

#include "io/csv/step_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    step_log log;

    assert(arena != NULL);
    if (step_log_parse((const char *)data, size, "run.log", arena, &log, &err) == PLAIT_OK) {
        assert(log.software != NULL && log.steps > 0);
        assert(isfinite(log.step_s) && isfinite(log.tokens_per_s) && isfinite(log.sequences_per_s));
        assert(log.step_s > 0.0 || log.tokens_per_s > 0.0 || log.sequences_per_s > 0.0);
    } else {
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    }
    plait_arena_free(arena);
    return 0;
}
