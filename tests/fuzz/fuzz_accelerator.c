/* fuzz_accelerator.c - any bytes as an accelerator file; what it accepts can be written */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdint.h>

#include "io/cluster/cluster_file.h"
#include "plait/cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const plait_accelerator *a, plait_arena *arena)
{
    const char *text;
    json_writer json;
    plait_error err;
    plait_accelerator again;
    size_t length;

    assert(a->sms >= 1 && a->gpus_per_node >= 1 && a->scale_up_domain >= 1);
    assert(isfinite(a->memory_bytes) && a->memory_bytes > 0.0);
    for (int p = 0; p < PLAIT_PRECISIONS; p++)
        assert(isfinite(a->peak_flops_per_s[p]) && a->gemm[p].emax > 0.0 && a->gemm[p].emax <= 1.0);

    json_writer_init(&json, arena);
    accelerator_write(&json, a);
    assert(json_writer_finish(&json, &text, &length, &err) == PLAIT_OK);
    assert(plait_accelerator_parse(text, length, "written", arena, &again, &err) == PLAIT_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    plait_accelerator accelerator;

    assert(arena != NULL);
    if (plait_accelerator_parse((const char *)data, size, "input", arena, &accelerator, &err) ==
        PLAIT_OK)
        check(&accelerator, arena);
    else
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    plait_arena_free(arena);
    return 0;
}
