/* fuzz_family.c - any bytes as a family of accelerators; what it accepts can stand in for fits */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdint.h>

#include "io/cluster/cluster_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const accelerator_family *family)
{
    plait_accelerator a = {.hbm_bytes_per_s = 3e12,
                           .scale_up_bytes_per_s = 4e11,
                           .power_w = 700.0,
                           .scale_up_pcie = true};

    for (int p = 0; p < PLAIT_PRECISIONS; p++) {
        a.gemm[p] = accelerator_default_gemm(family, (plait_precision)p, a.gemm);
        a.grouped[p] = accelerator_default_grouped(family, (plait_precision)p, &a);
        assert(a.gemm[p].emax > 0.0 && a.gemm[p].emax <= 1.0 && isfinite(a.gemm[p].cq));
        assert(a.grouped[p].emax > 0.0 && a.grouped[p].emax <= 1.0 && isfinite(a.grouped[p].t0_s));
    }
    for (int k = 0; k < PLAIT_ATTENTION_KERNELS; k++)
        assert(accelerator_default_attention(family, (plait_attention_kernel)k).e[1] > 0.0);
    for (int op = 0; op < PLAIT_FITTED_COLLECTIVES; op++)
        assert(
            isfinite(accelerator_default_collective(family, (plait_collective_op)op, &a).b_s[2]));
    a.scale_up_pcie = false;
    accelerator_default_scalars(family, &a);
    assert(isfinite(a.idle_w) && a.p2p.bytes_per_s <= a.scale_up_bytes_per_s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    accelerator_family family;

    assert(arena != NULL);
    if (accelerator_family_parse((const char *)data, size, "input", arena, &family, &err) ==
        PLAIT_OK)
        check(&family);
    else
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    plait_arena_free(arena);
    return 0;
}
