/* state.c - bytes of state per parameter, from the profile and the formats of a plan */
#include <math.h>

#include "plait/runtime.h"

/* Returns the bytes of one value in a format of state. */
double plait_state_format_bytes(unsigned char format)
{
    static const double bytes[PLAIT_STATE_FORMATS] = {
        [PLAIT_STATE_FP32] = 4.0,
        [PLAIT_STATE_BF16] = 2.0,
        [PLAIT_STATE_FP16] = 2.0,
        [PLAIT_STATE_FP8] = 1.0,
    };

    return format < PLAIT_STATE_FORMATS ? bytes[format] : (double)NAN;
}

double plait_quantised_bytes(plait_precision precision)
{
    switch (precision) {
    case PLAIT_FP8:
        return 1.0;
    case PLAIT_FP8_BLOCK: // one fp32 scale per 128 values
        return 1.0 + 4.0 / 128.0;
    case PLAIT_MXFP8: // one scale of one byte per 32 values
        return 1.0 + 1.0 / 32.0;
    case PLAIT_NVFP4: // 4 bits, and one scale of one byte per 16 values
        return 0.5 + 1.0 / 16.0;
    default:
        return 2.0;
    }
}

/*
 * Returns the number of copies of a weight. Forward reads a weight along its rows, backward along
 * its columns. With one scale per tensor, Blackwell reads one copy in both directions, and Hopper
 * drops the transposed copy after each backward. Block scales are valid in one direction only, so
 * Transformer Engine keeps two copies.
 */
static double weight_copies(plait_precision precision)
{
    return precision == PLAIT_FP8 ? 1.0 : 2.0;
}

/*
 * Adds the state of parameters of products in 8 or 4 bits. Software either keeps and gathers these
 * parameters in the narrow format, with master weights in the optimizer, or keeps them in 16 bits,
 * with narrow copies from the first microbatch until the end of the step. Software that converts
 * parameters for each product keeps no copies.
 */
static void narrow_weights(const plait_problem *problem, const plait_degrees *d,
                           plait_state_bytes *state)
{
    const plait_precision precision = problem->job.precision;
    const double copies = weight_copies(precision) * plait_quantised_bytes(precision);

    if (precision < PLAIT_FP8 || !problem->runtime->keep.quantised_inputs)
        return;
    if (!d->fp8_params) {
        state->replicated += d->zero < 3 ? copies : 0.0;
        return;
    }
    state->weight = copies;
    state->gather = plait_quantised_bytes(precision);
}

/*
 * Bytes of a weight that is not trained (C.412): in the format of the job's adapters, or as in
 * training, but no wider than 16 bits. Frozen bf16 weights of products in 8 bits also have the
 * copies of `replicated`.
 */
static double frozen_bytes(const plait_problem *problem, const plait_state_bytes *state)
{
    const plait_tuning *const tuning = &problem->job.tuning;
    const double bytes = plait_frozen_format_bytes(tuning->format);
    const double copies = state->replicated - problem->runtime->state.replicated;

    return tuning->format == PLAIT_FROZEN_BF16 ? bytes + copies : bytes;
}

/*
 * C.81: gradients stay in the buffer that is reduced, but shards of fp32 parameters have fp32
 * gradients. The size of the moments depends on their format. If the optimizer is on the host, only
 * the reduction buffer stays on the device.
 */
plait_state_bytes plait_state_of(const plait_problem *problem, const plait_degrees *d)
{
    const plait_runtime *const runtime = problem->runtime;
    plait_state_bytes state = runtime->state;
    const double moments = 2.0 * (4.0 - plait_state_format_bytes(d->optimizer_state));

    if (d->grad_reduce != runtime->defaults.key[PLAIT_KEY_GRAD_REDUCE]) {
        state.gradient_reduce = plait_state_format_bytes(d->grad_reduce);
        if (state.weight < 4.0)
            state.gradient = state.gradient_reduce;
    }
    state.optimizer = fmax(0.0, state.optimizer - moments);
    state.step_bytes = fmax(0.0, state.step_bytes - 2.0 * moments);
    state.optimizer *= 1.0 - plait_offload_share_of(d);
    narrow_weights(problem, d, &state);
    state.frozen = frozen_bytes(problem, &state);
    return state;
}

/*
 * The optimizer step on the host reads gradients in fp32, for any format of the reduction, in
 * addition to master weights and moments. DeepSpeed 0.19.6 (zero/stage3.py) keeps such a copy
 * of each sub-group, and `grad_partitions_flat_buffer` in the format of the reduction.
 * Megatron-Core's HybridDeviceOptimizer copies gradients to fp32 buffers. FSDP2's sharded
 * parameters and gradients are in fp32 already.
 */
double plait_host_param_bytes(const plait_problem *problem, const plait_degrees *d)
{
    const double share = plait_offload_share_of(d);
    plait_degrees device = *d;

    device.offload = PLAIT_OFFLOAD_NONE;
    const plait_state_bytes state = plait_state_of(problem, &device);
    const double arrived =
        plait_gradients_offloaded(d) && state.gradient < 4.0 ? state.gradient : 0.0;
    return share * (state.optimizer + 4.0 + arrived) +
           (d->offload == PLAIT_OFFLOAD_PARAMS ? state.weight : 0.0);
}
