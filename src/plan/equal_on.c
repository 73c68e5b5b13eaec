/* equal_on.c - compares plans on chosen keys; ZeRO and recomputation are compared by class */
#include "plait/degrees.h"

/*
 * Returns the class of a recompute choice: 0 for nothing, 1 for parts of layers, 2 for whole
 * layers.
 */
static int recompute_class(const plait_degrees *d)
{
    switch ((plait_recompute_kind)d->recompute.kind) {
    case PLAIT_RECOMPUTE_NONE:
        return 0;
    case PLAIT_RECOMPUTE_FULL:
        return 2;
    default:
        return 1;
    }
}

static int class_of(const plait_degrees *d, plait_key_id key)
{
    switch (key) {
    case PLAIT_KEY_ZERO:
        return d->zero == 3;
    case PLAIT_KEY_RECOMPUTE:
        return recompute_class(d);
    default:
        return plait_key_value(d, key);
    }
}

bool plait_degrees_equal_on(plait_key_set keys, const plait_degrees *a, const plait_degrees *b)
{
    for (int key = 0; key < PLAIT_KEYS; key++)
        if ((keys & PLAIT_KEY_BIT(key)) &&
            class_of(a, (plait_key_id)key) != class_of(b, (plait_key_id)key))
            return false;
    return true;
}

const char *const plait_trait_name[PLAIT_TRAITS + 1] = {"tp",    "pp",        "vpp", "mbs",
                                                        "zero3", "recompute", NULL};

void plait_traits_of(const plait_degrees *d, int trait[PLAIT_TRAITS])
{
    static const plait_key_id key[PLAIT_TRAITS] = {
        [PLAIT_TRAIT_TP] = PLAIT_KEY_TP,      [PLAIT_TRAIT_PP] = PLAIT_KEY_PP,
        [PLAIT_TRAIT_VPP] = PLAIT_KEY_VPP,    [PLAIT_TRAIT_MBS] = PLAIT_KEY_MBS,
        [PLAIT_TRAIT_ZERO3] = PLAIT_KEY_ZERO, [PLAIT_TRAIT_RECOMPUTE] = PLAIT_KEY_RECOMPUTE,
    };

    for (int t = 0; t < PLAIT_TRAITS; t++)
        trait[t] = class_of(d, key[t]);
}

plait_key_set plait_distinct_keys(void)
{
    return PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) |
           PLAIT_KEY_BIT(PLAIT_KEY_VPP) | PLAIT_KEY_BIT(PLAIT_KEY_CP) |
           PLAIT_KEY_BIT(PLAIT_KEY_EP) | PLAIT_KEY_BIT(PLAIT_KEY_MBS) |
           PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE) | PLAIT_KEY_BIT(PLAIT_KEY_ZERO);
}
