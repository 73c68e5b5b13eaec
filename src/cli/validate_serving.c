/* validate_serving.c - plait validate --serving: measured runs of serving against predictions */
#include "cli/validate_serving.h"

#include <stdio.h>

#include "cli/command.h"
#include "calibrate/engine_fit.h"
#include "report/lines.h"
#include "report/report_serve_runs.h"

plait_status validate_serving(const char *path, bool unseen, bool json, plait_arena *arena,
                              plait_error *err)
{
    plait_serve_validation *validation = plait_arena_alloc(arena, 1, sizeof *validation);
    plait_serve_runs runs;
    const char *text;
    size_t length;

    if (validation == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(plait_serve_runs_load(path, arena, &runs, err));
    if (unseen)
        PLAIT_TRY(engine_fit_unseen(&runs, arena, err));
    PLAIT_TRY(plait_serve_validate(&runs, arena, validation, err));
    if (!json)
        return report_serve_validation(validation, lines_out(), err);
    PLAIT_TRY(json_serve_validation(validation, arena, &text, &length, err));
    return command_deliver(text, length, NULL, true, err);
}
