/*
 * layer_pair.c - the forward of one microbatch, overlapped with the backward of another
 *
 * Both passes share two streams, layer by layer, in the order of Megatron-Core's combined 1F1B (f:
 * the forward of one microbatch, b: the backward of the other; front: all but the routed experts):
 *
 *     communication   combine b | dispatch f, then dispatch b          | combine f
 *     computation     front f   | experts b, (weights b,) experts f    | front b
 *
 * The communication of a slot takes SMs from its computation. (C.156)
 */
#include <string.h>

#include "costmodel/layer/layer_row.h"
#include "base/numbers.h"

double dispatcher_sms(plait_dispatcher dispatcher)
{
    static const double sms[PLAIT_DISPATCHERS] = {
        [PLAIT_DISPATCH_ALLTOALL] = 24.0, [PLAIT_DISPATCH_ALLGATHER] = 24.0,
        [PLAIT_DISPATCH_DEEPEP] = 20.0,   [PLAIT_DISPATCH_DEEPEP_FP8] = 20.0,
        [PLAIT_DISPATCH_HYBRIDEP] = 16.0,
    };

    return sms[dispatcher];
}

double sms_share(const plait_problem *problem, int dispatcher)
{
    const plait_accelerator *gpu = plait_cluster_accelerator(problem->cluster, 0);

    return smaller(1.0, dispatcher_sms((plait_dispatcher)dispatcher) / gpu->sms);
}

// ---- one pass ------------------------------------------------------------------------------

/* Routed experts and the permutation of their rows; shared experts run before the dispatch. */
static bool is_of_experts(const plait_op *op)
{
    return op->part == PLAIT_PART_expert_fc1 || op->part == PLAIT_PART_expert_act ||
           op->part == PLAIT_PART_expert_fc2 || op->part == PLAIT_PART_combine ||
           (op->kind == PLAIT_OP_COLLECTIVE && op->axis == PLAIT_AXIS_ETP);
}

layer_role layer_role_of(const plait_op *op)
{
    const bool travels = op->kind == PLAIT_OP_COLLECTIVE && op->axis == PLAIT_AXIS_EP;

    if (travels)
        return op->part == PLAIT_PART_dispatch ? LAYER_DISPATCH : LAYER_COMBINE;
    return is_of_experts(op) ? LAYER_EXPERTS : LAYER_FRONT;
}

void layer_pass_add(layer_pass *pass, layer_role role, double s)
{
    switch (role) {
    case LAYER_FRONT:
        pass->front += s;
        break;
    case LAYER_EXPERTS:
        pass->experts += s;
        break;
    case LAYER_DISPATCH:
        pass->dispatch += s;
        break;
    case LAYER_COMBINE:
        pass->combine += s;
        break;
    }
}

// ---- two passes ----------------------------------------------------------------------------

/* Seconds of communication that overlaps computation on the remaining SMs. */
static double beside(double comm_s, double compute_s, double sms)
{
    return larger(comm_s, compute_s + sms * comm_s);
}

/*
 * The middle slot. Tokens arrive during the experts' backward. Its gradients are sent after it,
 * during the experts' forward, and also during the weight gradients if those are delayed.
 */
static double middle_s(const layer_pass *f, const layer_pass *b, bool delayed, double sms)
{
    const double inputs_s = b->experts - (delayed ? b->weights : 0.0);
    const double computed_s = larger(f->dispatch, b->experts) + f->experts;
    const double sent_s = larger(f->dispatch, inputs_s) + b->dispatch;

    return larger(larger(computed_s, sent_s),
                  b->experts + f->experts + sms * (f->dispatch + b->dispatch));
}

static double pair_s(const layer_pass *f, const layer_pass *b, bool delayed, double sms)
{
    return beside(b->combine, f->front, sms) + middle_s(f, b, delayed, sms) +
           beside(f->combine, b->front, sms);
}

static double alone_s(const layer_pass *pass)
{
    return pass->front + pass->experts + pass->dispatch + pass->combine;
}

void layer_pair(const layer_pass *f, const layer_pass *b, double sms,
                double saved_s[PLAIT_EP_OVERLAPS])
{
    memset(saved_s, 0, PLAIT_EP_OVERLAPS * sizeof *saved_s);
    if (f->dispatch + f->combine <= 0.0)
        return;
    for (int how = PLAIT_EP_OVERLAP_PAIRS; how < PLAIT_EP_OVERLAPS; how++)
        saved_s[how] =
            larger(0.0, alone_s(f) + alone_s(b) -
                            pair_s(f, b, how == PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD, sms));
}
