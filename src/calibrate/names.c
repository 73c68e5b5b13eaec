/*
 * names.c - names of accelerators in measurements, points to exclude, accelerators that share a die
 */
#include "calibrate/points.h"

#include "base/text.h"

static const struct measured_name {
    const char *measured;
    const char *accelerator;
} known[] = {
    {"a100_sxm", "a100-80gb-sxm"},
    {"a100", "a100-80gb-sxm"},
    {"a100_dgx", "a100-80gb-sxm"},
    {"a100_pcie80", "a100-80gb-pcie"},
    {"h100_sxm", "h100-80gb-sxm"},
    {"h100", "h100-80gb-sxm"},
    {"h100_dgx", "h100-80gb-sxm"},
    {"h200_sxm", "h200-141gb-sxm"},
    {"b200_sxm", "b200-180gb-sxm"},
    {"b200", "b200-180gb-sxm"},
    {"b300_sxm", "b300-288gb-sxm"},
    {"gb200", "gb200-nvl72"},
    {"gb300", "gb300-nvl72"},
    {"l40s", "l40s-48gb"},
    {"rtx_pro_6000_server", "rtx-pro-6000-96gb"},
    // Names of drivers, as in torch.cuda.get_device_name and the rank lines of nccl-tests.
    {"Tesla V100-SXM2-16GB", "v100-16gb-sxm"},
    {"Tesla V100-SXM2-32GB", "v100-32gb-sxm"},
    {"NVIDIA A100-SXM4-40GB", "a100-40gb-sxm"},
    {"NVIDIA A100-SXM4-80GB", "a100-80gb-sxm"},
    {"NVIDIA A100 80GB PCIe", "a100-80gb-pcie"},
    {"NVIDIA A800-SXM4-80GB", "a800-80gb-sxm"},
    {"NVIDIA H100 80GB HBM3", "h100-80gb-sxm"},
    {"NVIDIA H100 PCIe", "h100-80gb-pcie"},
    {"NVIDIA H800", "h800-80gb-sxm"},
    {"NVIDIA H200", "h200-141gb-sxm"},
    {"NVIDIA H20", "h20-96gb-sxm"},
    {"NVIDIA B200", "b200-180gb-sxm"},
    {"NVIDIA B300 SXM6 AC", "b300-288gb-sxm"},
    {"NVIDIA GB200", "gb200-nvl72"},
    {"NVIDIA GB300", "gb300-nvl72"},
    {"NVIDIA L40S", "l40s-48gb"},
    {"NVIDIA GeForce RTX 4090", "rtx-4090-24gb"},
    {"AMD Instinct MI300X", "mi300x-192gb"},
};

const char *names_accelerator(const char *measured)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_equal(measured, known[i].measured))
            return known[i].accelerator;
    return NULL;
}

bool names_match(const point *p, const char *accelerator)
{
    const char *const name = names_accelerator(p->measured);

    return p->measured[0] == '\0' || text_equal(name != NULL ? name : p->measured, accelerator);
}

bool names_measured(const char *accelerator)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_equal(accelerator, known[i].accelerator))
            return true;
    return names_stand_in(accelerator, true) != NULL;
}

/*
 * Known faults of aiconfigurator's tables: The NCCL measurements on L40S are from a machine without
 * peer-to-peer (1 to 2 GB/s at 8 GPUs). One shape of the expert tables, 16 experts of width 8192,
 * is off by a factor of three on H100. On Blackwell, block-scaled products in long loops ran an
 * older kernel than the bursts with which they are compared. On A100, TensorRT-LLM's attention
 * reaches 0.49 of the peak, while cuDNN's reaches 0.55 in published training runs.
 */
bool names_exclude(const point *p)
{
    const bool aic = text_starts_with(p->source, "aic:");

    switch (p->kind) {
    case POINT_COLLECTIVE:
        return aic && text_equal(p->measured, "l40s");
    case POINT_EXPERTS:
        return aic && p->experts.width == 8192.0 && p->experts.experts == 16.0;
    case POINT_ATTENTION:
        return aic && p->block == PLAIT_ATTENTION_FUSED && text_equal(p->measured, "a100_sxm");
    case POINT_SUSTAINED:
        return aic && p->gemm.precision == PLAIT_FP8_BLOCK && !text_equal(p->measured, "h200_sxm");
    default:
        return false;
    }
}

/*
 * Accelerators with the same die have the same kernel constants, and accelerators with the same
 * links have the same link constants.
 */
static const struct stand_in {
    const char *name;
    const char *kernels;
    const char *links;
} stand_ins[] = {
    {"a100-40gb-sxm", "a100-80gb-sxm", "a100-80gb-sxm"},
    {"a100-80gb-pcie", "a100-80gb-sxm", NULL},
    {"a800-80gb-sxm", "a100-80gb-sxm", NULL},
    {"h100-96gb-hbm2e", "h100-80gb-sxm", "h100-80gb-sxm"},
    {"h800-80gb-sxm", "h100-80gb-sxm", NULL},
    {"h20-96gb-sxm", NULL, "h100-80gb-sxm"},
};

const char *names_stand_in(const char *name, bool kernels)
{
    for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++)
        if (text_equal(name, stand_ins[i].name))
            return kernels ? stand_ins[i].kernels : stand_ins[i].links;
    return NULL;
}
