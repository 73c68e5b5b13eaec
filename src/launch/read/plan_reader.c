/* plan_reader.c - a plan on its way in, out of flags */
#include "plan_reader.h"

void import_give(plan_reader *in, const char *key)
{
    in->out->given |= PLAIT_KEY_BIT(plait_key_find(key));
}

void import_warn(plan_reader *in, const char *sentence)
{
    text_append_printf(in->warnings, "%s%s", in->warnings->length > 0 ? "\n" : "", sentence);
}
