/* releases.c - which releases of Megatron Core and Megatron-Bridge a launch is written for */
#include "launch/megatron/releases.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* 14 of "core-v0.14.0"; 0: the release is of another product. */
static int minor_of(const plait_release *release, const char *product)
{
    return text_starts_with(release->name, product) ? atoi(release->name + strlen(product)) : 0;
}

int megatron_core_of(const plait_runtime *runtime)
{
    int minor = 0;

    if (runtime->at == NULL)
        return MEGATRON_NEWEST;
    for (const plait_release *r = runtime->at; minor == 0 && r >= runtime->release; r--)
        minor = minor_of(r, "core-v0.");
    return minor > 0 ? minor : MEGATRON_NEWEST; // a profile of other names bounds no flags
}

int megatron_bridge_of(const plait_runtime *runtime)
{
    int minor = 0;

    if (runtime->at == NULL)
        return MEGATRON_NEWEST;
    for (const plait_release *r = runtime->at;
         minor == 0 && r < runtime->release + runtime->releases; r++)
        minor = minor_of(r, "bridge-v0.");
    return minor;
}
