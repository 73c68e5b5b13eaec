/* fuzz_rl_import.c - any bytes as a script of verl or a YAML of NeMo-RL; counts of a job are bounded */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "launch/rl_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *const arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    const char *warning = NULL;
    rl_imported in;

    assert(arena != NULL);
    if (size > 0 &&
        rl_import((plait_rl_framework)(data[0] % PLAIT_RL_FRAMEWORKS), (const char *)data + 1,
                  size - 1, "fuzz", NULL, arena, &in, &warning, &err) == PLAIT_OK) {
        assert(warning != NULL && in.not_read != NULL && in.runtime != NULL);
        assert(in.prompts >= 0 && in.generations >= 0 && in.longest_answer >= 0);
        assert(in.train_gpus <= PLAIT_MAX_GPUS && in.degrees.tp >= 1 && in.worker.tp >= 1);
    } else if (size > 0) {
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    }
    plait_arena_free(arena);
    return 0;
}
