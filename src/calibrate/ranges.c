/* ranges.c - physical bounds of each fitted constant */
#include "calibrate/ranges.h"

#include <assert.h>
#include <string.h>

#include "plait/units.h"

/* The quantity that bounds are multiples of: the unit, or a rate of the accelerator. */
typedef enum range_of { OF_UNIT, OF_WIRE, OF_MEMORY } range_of;

typedef struct range {
    const char *section;
    const char *key;
    double unit;
    double low, high;
    bool scales;
    range_of of;
} range;

/*
 * Shares of a peak are at most 1. Shares of the HBM rate may exceed 1 a little, since small
 * operands stay in a cache. A tile may be faster than the 256x128 one, so r128 may exceed 1. No
 * ring exceeds its wire rate; a switch that reduces sends each byte once, and `nvls_gb_per_s`
 * counts bytes of the buffer. A local copy reads and writes, so it has half of the HBM rate, or
 * several times the HBM rate from a cache. A backward pass of attention has 2.5 times the products
 * of the forward pass.
 */
static const range ranges[] = {
    {"gemm", "emax", 1.0, 0.1, 1.0, false, OF_UNIT},
    {"gemm", "k0", 1.0, 0.0, 2000.0, false, OF_UNIT},
    {"gemm", "q", 1.0, 0.0, 1.0, false, OF_UNIT},
    {"gemm", "r128", 1.0, 0.2, 1.3, false, OF_UNIT},
    {"gemm", "r64", 1.0, 0.1, 1.3, false, OF_UNIT},
    {"gemm", "r32", 1.0, 0.05, 1.1, false, OF_UNIT},
    {"gemm", "eb", 1.0, 0.2, 1.15, false, OF_UNIT},
    {"gemm", "t0_us", PLAIT_US, 0.3, 40.0, true, OF_UNIT},
    {"gemm", "p", 1.0, 1.2, 16.0, true, OF_UNIT},
    {"gemm", "cq", 1.0, 0.0, 8.0, false, OF_UNIT},
    {"grouped_gemm", "emax", 1.0, 0.1, 1.0, false, OF_UNIT},
    {"grouped_gemm", "rs", 1.0, 0.3, 1.0, false, OF_UNIT},
    {"grouped_gemm", "k0", 1.0, 0.0, 2500.0, false, OF_UNIT},
    {"grouped_gemm", "eb", 1.0, 0.2, 1.15, false, OF_UNIT},
    {"grouped_gemm", "t0_us", PLAIT_US, 1.0, 200.0, true, OF_UNIT},
    {"grouped_gemm", "permute_passes", 1.0, 0.0, 10.0, false, OF_UNIT},
    {"attention", "e", 1.0, 0.05, 1.0, false, OF_UNIT},
    {"attention", "s0", 1.0, 0.0, 4000.0, false, OF_UNIT},
    {"attention", "q", 1.0, 0.0, 1.0, false, OF_UNIT},
    {"attention", "t0_us", PLAIT_US, 0.3, 80.0, true, OF_UNIT},
    {"attention", "backward_ratio", 1.0, 1.5, 5.0, true, OF_UNIT},
    {"attention_decode", "eb", 1.0, 0.1, 1.15, false, OF_UNIT},
    {"attention_decode", "few", 1.0, 0.01, 30.0, true, OF_UNIT},
    {"attention_decode", "t0_us", PLAIT_US, 0.5, 80.0, true, OF_UNIT},
    {"memory_op", "fraction", 1.0, 0.1, 1.2, false, OF_UNIT},
    {"memory_op", "t0_us", PLAIT_US, 0.2, 20.0, true, OF_UNIT},
    {"sustained", "bf16", 1.0, 0.5, 1.05, false, OF_UNIT},
    {"sustained", "fp8", 1.0, 0.5, 1.05, false, OF_UNIT},
    {"wgrad_ratio", "wgrad_ratio", 1.0, 0.8, 1.6, true, OF_UNIT},
    {"collectives", "a_us", PLAIT_US, 0.5, 400.0, true, OF_UNIT},
    {"collectives", "b_us", PLAIT_US, 0.01, 100.0, true, OF_UNIT},
    {"collectives", "bus_gb_per_s", PLAIT_GB, 1e-4, 1.0, true, OF_WIRE},
    {"collectives", "local_gb_per_s", PLAIT_GB, 0.02, 4.0, true, OF_MEMORY},
    {"collectives", "nvls_a_us", PLAIT_US, 5.0, 200.0, true, OF_UNIT},
    {"collectives", "nvls_gb_per_s", PLAIT_GB, 0.05, 1.0, true, OF_WIRE},
    {"p2p", "latency_us", PLAIT_US, 0.5, 100.0, true, OF_UNIT},
    {"p2p", "bandwidth_gb_per_s", PLAIT_GB, 0.005, 1.0, true, OF_WIRE},
    {"network", "latency_us", PLAIT_US, 0.1, 200.0, true, OF_UNIT},
    {"network", "efficiency", 1.0, 0.02, 1.0, false, OF_UNIT},
    {"network", "ramp_mb", PLAIT_MB, 0.005, 20.0, true, OF_UNIT},
};

static double base_of(const range *r, const plait_accelerator *accelerator)
{
    return r->of == OF_WIRE     ? accelerator->scale_up_bytes_per_s
           : r->of == OF_MEMORY ? accelerator->hbm_bytes_per_s
                                : r->unit;
}

static const range *find_range(const char *section, const char *key)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (strcmp(ranges[i].section, section) == 0 && strcmp(ranges[i].key, key) == 0)
            return &ranges[i];
    return NULL;
}

fit_number range_number(const char *section, const char *key, size_t offset,
                        const plait_accelerator *accelerator)
{
    const range *const r = find_range(section, key);

    assert(r != NULL); // every constant has a range
    const double base = base_of(r, accelerator);
    return (fit_number){
        .key = r->key,
        .element = -1,
        .offset = offset,
        .unit = r->unit,
        .low = r->low * base,
        .high = r->high * base,
        .scales = r->scales,
    };
}
