/* report_serve_origin.c - names the origin of the constants of each part of a decode step */
#include <stdio.h>

#include "report/report_private.h"
#include "report/report_serve.h"

void report_serve_origins(const plait_serve_options *q, const plait_serve_plan *plan,
                          plait_step_origin out[PLAIT_STEP_PARTS])
{
    const plait_serving serving = {.model = q->model,
                                   .cluster = q->cluster,
                                   .worker = plan->worker[plan->disaggregated],
                                   .weights = plan->weights,
                                   .kv = plan->kv,
                                   .lora_adapters = q->load.lora_adapters,
                                   .lora_rank = q->load.lora_rank};

    plait_step_origins(&serving, plan->engine, out);
}

const char *report_serve_origin(const plait_step_origin *origin, char text[REPORT_ORIGIN_SIZE])
{
    const bool both = origin->hardware != PLAIT_ORIGIN_NONE && origin->engine != PLAIT_ORIGIN_NONE;

    snprintf(text, REPORT_ORIGIN_SIZE, "%s%s%s",
             origin->hardware != PLAIT_ORIGIN_NONE ? plait_origin_name[origin->hardware] : "",
             both ? ", " : "",
             origin->engine != PLAIT_ORIGIN_NONE ? plait_origin_name[origin->engine] : "");
    return text;
}

bool report_serve_lacks(const plait_serve_options *q, const plait_serve_plan *plan,
                        char text[REPORT_LACKS_SIZE])
{
    static const char *const number[] = {
#define X(field, key, unit, least, most, assumed) key,
        PLAIT_ENGINE_NUMBERS(X)
#undef X
    };
    static const double least_share = 0.01; // chosen
    plait_step_origin origin[PLAIT_STEP_PARTS];
    double step_s = 0.0;

    report_serve_origins(q, plan, origin);
    text[0] = '\0';
    for (int p = 0; p < PLAIT_STEP_PARTS; p++)
        step_s += plan->service.parts[p];
    for (int p = 0; p < PLAIT_STEP_PARTS; p++) {
        const char *before = " (";

        if (plan->service.parts[p] < least_share * step_s || plait_origin_is_measured(&origin[p]))
            continue;
        report_append(text, REPORT_LACKS_SIZE, "%s%s", text[0] != '\0' ? "; " : "",
                      plait_step_part_name[p]);
        if (origin[p].hardware == PLAIT_ORIGIN_DATA_SHEET) {
            report_append(text, REPORT_LACKS_SIZE, "%sdata sheet", before);
            before = ", ";
        }
        for (int n = 0; n < PLAIT_ENGINE_NUMBER_COUNT; n++)
            if (origin[p].undetermined >> n & 1u) {
                report_append(text, REPORT_LACKS_SIZE, "%s%s", before, number[n]);
                before = ", ";
            }
        report_append(text, REPORT_LACKS_SIZE, ")");
    }
    return text[0] != '\0';
}
