/* family.c - helpers of all families */
#include "calibrate/family.h"

void family_subject_init(const plait_accelerator *accelerator, family_subject *out)
{
    *out = (family_subject){.accelerator = *accelerator, .scale = 1.0};
    out->domain = (plait_cluster){
        .name = accelerator->name,
        .source = "",
        .groups = 1,
        .group[0] = {.accelerator = &out->accelerator,
                     .gpus_per_node = accelerator->scale_up_domain,
                     .nodes = 1},
        .levels = 1,
        .level[0] = {.name = "",
                     .kind = accelerator->scale_up_full ? PLAIT_LEVEL_FULL : PLAIT_LEVEL_SWITCH,
                     .gpus = accelerator->scale_up_domain,
                     .link = {.bytes_per_s = accelerator->scale_up_bytes_per_s},
                     .efficiency = 1.0,
                     .oversubscription = 1.0},
        .gpus = accelerator->scale_up_domain,
        .host_speed = 1.0,
    };
}

/* FNV-1a over the integer parts, so that the held-out set is the same on every machine. */
uint64_t family_mix(const double *number, int count)
{
    uint64_t mix = 14695981039346656037u;

    for (int i = 0; i < count; i++) {
        uint64_t bits = (uint64_t)number[i];
        for (int byte = 0; byte < 8; byte++, bits >>= 8)
            mix = (mix ^ (bits & 0xff)) * 1099511628211u;
    }
    return mix ^ (mix >> 29);
}
