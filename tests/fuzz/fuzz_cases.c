/* fuzz_cases.c - any bytes as a published system; what it accepts can be asked of eval row by row */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdint.h>

#include "io/plans/cases.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const case_study *study)
{
    assert(study->rows >= 1 && study->name != NULL && study->source != NULL);
    for (int r = 0; r < study->rows; r++) {
        const case_row *const row = &study->row[r];
        plait_degrees degrees = plait_degrees_init();

        assert(row->model != NULL && row->cluster != NULL && row->runtime != NULL);
        assert(row->rl != NULL || (row->seq >= 1 && row->gbs >= 1));
        assert(row->gpus >= 1 && row->against < r);
        assert(row->sync_stages == 0 || (row->sync_stages >= 2 && row->against >= 0));
        for (int k = 0; k < PLAIT_KEYS; k++)
            assert(row->key[k] == NULL ||
                   plait_degrees_set(&degrees, plait_keys[k].name, row->key[k], NULL) == PLAIT_OK);
        for (int f = 0; f < CASE_FIGURES; f++)
            assert(!isinf(row->published[f]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    case_study study;

    assert(arena != NULL);
    if (cases_parse((const char *)data, size, "input", arena, &study, &err) == PLAIT_OK)
        check(&study);
    else
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    plait_arena_free(arena);
    return 0;
}
