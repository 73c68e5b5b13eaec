/* everything.c - software that can run whatever has a price */
#include "support/everything.h"

plait_capabilities everything_can(int most, int most_vpp)
{
    plait_capabilities can = {.etp = true,
                              .hsdp = true,
                              .full_layers = true,
                              .recompute_by = PLAIT_BY_LAYER,
                              .offload_by = PLAIT_BY_STAGE,
                              .precision = 63};

    for (int key = 0; key < PLAIT_KEYS; key++)
        if (plait_keys[key].kind == PLAIT_KEY_NUMBER)
            can.most[key] = plait_keys[key].limit_name != NULL ? most : plait_keys[key].high;
        else
            can.takes[key] = plait_key_all((plait_key_id)key);
    can.most[PLAIT_KEY_VPP] = most_vpp;
    return can;
}

void everything_allow(plait_runtime *runtime)
{
    static const plait_key_id free[] = {PLAIT_KEY_ZERO, PLAIT_KEY_SCHEDULE, PLAIT_KEY_GRAD_SYNC,
                                        PLAIT_KEY_SPLIT};

    runtime->name = "everything";
    runtime->rules = PLAIT_RULES_GENERIC;
    runtime->can.recompute_by = PLAIT_BY_LAYER;
    runtime->can.offload_by = PLAIT_BY_STAGE;
    for (size_t k = 0; k < sizeof free / sizeof *free; k++)
        runtime->can.takes[free[k]] = plait_key_all(free[k]);
}
