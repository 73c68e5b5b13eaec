/* fuzz_rl_log.c - any bytes as a log of reinforcement learning; its figures are positive or NaN */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdint.h>

#include "io/csv/rl_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    rl_log log;

    assert(arena != NULL);
    if (rl_log_parse((const char *)data, size, "run.log", arena, &log, &err) == PLAIT_OK) {
        assert(log.steps > 0 && log.used > 0 && log.used <= log.steps);
        assert(log.step_s > 0.0 && isfinite(log.step_s));
        assert(log.phase_s[PLAIT_RL_rollout] > 0.0 || log.phase_s[PLAIT_RL_wait] > 0.0);
        for (int p = 0; p < PLAIT_RL_PHASES; p++)
            assert(isnan(log.phase_s[p]) || (log.phase_s[p] > 0.0 && isfinite(log.phase_s[p])));
    } else {
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    }
    plait_arena_free(arena);
    return 0;
}
