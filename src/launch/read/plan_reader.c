/* plan_reader.c - a plan on its way in, out of flags */
#include "launch/read/plan_reader.h"

void import_give(plan_reader *in, const char *key)
{
    in->out->given |= PLAIT_KEY_BIT(plait_key_find(key));
}

void import_give_plain(plans_entry *out)
{
    for (int k = 0; k < PLAIT_KEYS; k++) {
        if (out->given & PLAIT_KEY_BIT(k) || plait_keys[k].plain < 0)
            continue;
        plait_key_put(&out->degrees, (plait_key_id)k, plait_keys[k].plain);
        out->given |= PLAIT_KEY_BIT(k);
    }
}

void import_warn(plan_reader *in, const char *sentence)
{
    text_append_printf(in->warnings, "%s%s", in->warnings->length > 0 ? "\n" : "", sentence);
}
