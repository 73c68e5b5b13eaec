/* explain_communication.c - what one GPU sends in a step, and what of it was fused */
#include "report/explain.h"
#include "report/report_table.h"
#include "report/units.h"
#include "plait/lowlevel/fuse.h"

/* ---- communication ---- */

/* Calls that hide behind compute still meet each other on the network. */
static void explain_network(const plait_cost *cost, FILE *out)
{
    char seconds[UNITS_SIZE], share[UNITS_SIZE];

    if (cost->network_s <= 0.0)
        return;
    fprintf(out, "  the network: %s one behind the other, %s of the step (C.311)%s\n",
            units_seconds(cost->network_s, seconds),
            units_percent(cost->network_s / cost->step_s, share),
            cost->network_s > cost->step_s ? ": more than it has, so calls delay each other" : "");
}

plait_status explain_communication(const plait_cost *cost, FILE *out, plait_error *err)
{
    static const table_column columns[] = {
        {"what", TABLE_LEFT},     {"group", TABLE_LEFT},    {"ranks", TABLE_RIGHT},
        {"calls", TABLE_RIGHT},   {"buffer", TABLE_RIGHT},  {"time", TABLE_RIGHT},
        {"exposed", TABLE_RIGHT}, {"of step", TABLE_RIGHT}, {"in term", TABLE_LEFT}};
    char text[UNITS_SIZE];
    table *rows;

    if (cost->volumes == 0)
        return PLAIT_OK;
    explain_heading("Communication of one GPU of the slowest stage, a step:", out);
    rows = table_new(columns, 9);
    for (int v = 0; v < cost->volumes; v++) {
        const plait_volume *const volume = &cost->volume[v];

        table_cell(rows, "%s", volume->what);
        table_cell(rows, "%s", plait_axis_name[volume->axis]);
        table_cell(rows, "%d", volume->ranks);
        table_cell(rows, "%s", units_count(volume->count, text));
        table_cell(rows, "%s", units_bytes(volume->bytes, text));
        table_cell(rows, "%s", units_seconds(volume->seconds, text));
        table_cell(rows, "%s", units_seconds(volume->exposed_s, text));
        table_cell(rows, "%s", units_percent(volume->exposed_s / cost->step_s, text));
        table_cell(rows, "%s", volume->term);
    }
    PLAIT_TRY(table_print(rows, 2, out, err));
    explain_network(cost, out);
    return PLAIT_OK;
}

/* ---- fused communication ---- */

static bool is_counted(const plait_fused *fused)
{
    return fused->fate == PLAIT_FUSED || fused->fate == PLAIT_DECLINED;
}

static plait_status print_counted(const plait_cost *cost, FILE *out, plait_error *err)
{
    static const table_column columns[] = {{"rule", TABLE_LEFT},      {"calls", TABLE_RIGHT},
                                           {"sent", TABLE_RIGHT},     {"fused", TABLE_RIGHT},
                                           {"time", TABLE_RIGHT},     {"fused", TABLE_RIGHT},
                                           {"decision", TABLE_RIGHT}, {"what is done", TABLE_LEFT}};
    char text[UNITS_SIZE];
    table *rows = table_new(columns, 8);

    for (int r = 0; r < PLAIT_FUSION_RULES; r++) {
        const plait_fused *const fused = &cost->fused[r];

        if (!is_counted(fused))
            continue;
        table_cell(rows, "%s", plait_fusion_rules[r].name);
        table_cell(rows, "%s", units_count(fused->calls, text));
        table_cell(rows, "%s", units_bytes(fused->before_bytes, text));
        table_cell(rows, "%s", units_bytes(fused->after_bytes, text));
        table_cell(rows, "%s", units_seconds(fused->before_s, text));
        table_cell(rows, "%s", units_seconds(fused->after_s, text));
        table_cell(rows, "%s", plait_fusion_fate_name[fused->fate]);
        table_cell(rows, "%s", plait_fusion_rules[r].does);
    }
    return table_print(rows, 2, out, err);
}

/* "  already so by sp: TP+SP, SP+EP+SP", where there is any. */
static void print_fate(const plait_cost *cost, plait_fusion_fate fate, const char *says, FILE *out)
{
    const char *between = says;

    for (int r = 0; r < PLAIT_FUSION_RULES; r++) {
        if (cost->fused[r].fate != fate)
            continue;
        fprintf(out, "%s %s", between, plait_fusion_rules[r].name);
        between = ",";
    }
    if (between != says)
        fputc('\n', out);
}

/* C.142, C.143: what `auto` did about each transition, and why not. */
plait_status explain_fused(const plait_cost *cost, FILE *out, plait_error *err)
{
    bool any = false;

    if (!cost->fuses)
        return PLAIT_OK;
    for (int r = 0; r < PLAIT_FUSION_RULES; r++)
        any = any || is_counted(&cost->fused[r]);
    explain_heading(
        "Fused communication, as sent by one GPU of the slowest stage a step, hidden or not:", out);
    if (any)
        PLAIT_TRY(print_counted(cost, out, err));
    print_fate(cost, PLAIT_DECLINED,
               "  declined, since it would take longer, or the step would:", out);
    print_fate(cost, PLAIT_FUSED_ALREADY, "  sp 1 has it already:", out);
    print_fate(cost, PLAIT_NO_TRANSITION, "  this plan has no such transition:", out);
    return PLAIT_OK;
}
