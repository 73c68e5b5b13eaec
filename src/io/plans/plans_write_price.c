/* plans_write_price.c - writes the price of a plan as JSON */
#include "io/plans/plans_json.h"

#include "plait/lowlevel/fuse.h"

void plans_write_memory(json_writer *json, const plait_memory *memory)
{
    json_member_object(json, "memory");
    json_member_number(json, "peak_bytes", memory->peak_bytes);
    json_member_number(json, "low_bytes", memory->low_bytes);
    json_member_number(json, "high_bytes", memory->high_bytes);
    json_member_number(json, "capacity_bytes", memory->capacity_bytes);
    json_member_number(json, "allocated_bytes", memory->allocated_bytes);
    json_member_number(json, "reserved_bytes", memory->reserved_bytes);
#define X(name, equation, what) json_member_number(json, #name "_bytes", memory->name##_bytes);
    PLAIT_MEMORY_TERMS(X)
#undef X
    if (memory->host_bytes > 0.0) {
        json_member_number(json, "host_bytes", memory->host_bytes);
        if (memory->host_capacity_bytes > 0.0)
            json_member_number(json, "host_capacity_bytes", memory->host_capacity_bytes);
        else
            json_member_null(json, "host_capacity_bytes");
    }
    json_end_object(json);
}

void plans_write_volume(json_writer *json, const plait_volume *volume)
{
    json_begin_object(json);
    json_member_string(json, "what", volume->what);
    json_member_string(json, "term", volume->term);
    json_member_string(json, "group", plait_axis_name[volume->axis]);
    json_member_int64(json, "ranks", volume->ranks);
    json_member_number(json, "count", volume->count);
    json_member_number(json, "bytes", volume->bytes);
    json_member_number(json, "seconds", volume->seconds);
    json_member_number(json, "exposed_s", volume->exposed_s);
    json_end_object(json);
}

void plans_write_price(json_writer *json, const plait_cost *cost)
{
    json_member_number(json, "risk", cost->risk);
    json_member_number(json, "step_s", cost->step_s);
    json_member_number(json, "step_low_s", cost->step_low_s);
    json_member_number(json, "step_high_s", cost->step_high_s);
    json_member_number(json, "tokens_per_s_per_gpu", cost->tokens_per_s_per_gpu);
    json_member_number(json, "model_tflops_per_gpu", cost->model_flops_per_s * 1e-12);
    json_member_number(json, "mfu", cost->mfu);
    json_member_number(json, "hfu", cost->hfu);
    json_member_number(json, "mfu_square", cost->mfu_square);
    json_member_number(json, "hfu_square", cost->hfu_square);
    json_member_number(json, "cost_usd", cost->cost_usd);
    json_member_number(json, "energy_j", cost->energy_j);
    json_member_object(json, "time");
#define X(name, equation, what) json_member_number(json, #name "_s", cost->step.name##_s);
    PLAIT_STEP_TERMS(X)
#undef X
    json_end_object(json);
    plans_write_memory(json, &cost->memory);
    json_member_array(json, "communication");
    for (int v = 0; v < cost->volumes; v++)
        plans_write_volume(json, &cost->volume[v]);
    json_end_array(json);
    json_member_number(json, "network_s", cost->network_s);

    // Only plans that fuse communication have this list.
    if (cost->fuses) {
        json_member_array(json, "fused");
        for (int r = 0; r < PLAIT_FUSION_RULES; r++) {
            const plait_fused *fused = &cost->fused[r];
            json_begin_object(json);
            json_member_string(json, "rule", plait_fusion_rules[r].name);
            json_member_string(json, "decision", plait_fusion_fate_name[fused->fate]);
            json_member_number(json, "calls", fused->calls);
            json_member_number(json, "before_bytes", fused->before_bytes);
            json_member_number(json, "after_bytes", fused->after_bytes);
            json_member_number(json, "before_s", fused->before_s);
            json_member_number(json, "after_s", fused->after_s);
            json_end_object(json);
        }
        json_end_array(json);
    }
}
