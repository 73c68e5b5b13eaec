/* calibrate_evidence.c - `plait calibrate --evidence`: what predictions are worth, source by source */
#include "cli/calibrate_evidence.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "calibrate/cross.h"
#include "report/lines.h"
#include "report/report_validate.h"

static void show_progress(const char *source, const char *runtime)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "leaving out %s, fitting %s\n", source, runtime);
}

plait_status calibrate_evidence(const char *runs, const opt_operands *operands,
                                const calibrate_sink *sink, plait_arena *arena, plait_error *err)
{
    plait_evidence evidence;
    plait_runs measured;
    const char *text;
    size_t length;

    if (operands->count > 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, operands->text[0],
                          "expected no other file beside --evidence, found one");
    PLAIT_TRY(plait_runs_load(runs, arena, &measured, err));
    PLAIT_TRY(cross_predict(&measured, show_progress, arena, &evidence, err));
    PLAIT_TRY(report_left_out(&evidence, sink->print ? stderr : lines_out(), arena, err));
    PLAIT_TRY(plait_evidence_text(&evidence, arena, &text, &length, err));
    return command_deliver(text, length, sink->path, sink->print, err);
}
