/* rules_deepspeed.c - what DeepSpeed's engine refuses */
#include <stddef.h>

#include "rules.h"

static bool pipeline_keeps_gradients(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->pp == 1 || d->zero <= 1;
}

const plan_rule rules_deepspeed[] = {
    {"D1", "the pipeline engine needs ZeRO 0 or 1", pipeline_keeps_gradients},
    {NULL, NULL, NULL},
};
