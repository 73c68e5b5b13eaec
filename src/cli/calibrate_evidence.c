/* calibrate_evidence.c - `plait calibrate --evidence`: what predictions are worth, source by source */
#include "calibrate_evidence.h"

#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "cross.h"
#include "report_validate.h"
#include "text.h"

static void show_progress(const char *source, const char *runtime)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "leaving out %s, fitting %s\n", source, runtime);
}

plait_status calibrate_evidence(const char *runs, const opt_operands *operands, const char *output,
                                plait_arena *arena, plait_error *err)
{
    const bool print = output != NULL && text_equal(output, "-");
    plait_evidence evidence;
    plait_runs measured;
    const char *text;
    size_t length;

    if (operands->count > 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, operands->text[0],
                          "expected no other file beside --evidence, found one");
    PLAIT_TRY(plait_runs_load(runs, arena, &measured, err));
    PLAIT_TRY(cross_predict(&measured, show_progress, arena, &evidence, err));
    PLAIT_TRY(report_left_out(&evidence, print ? stderr : stdout, arena, err));
    text = cross_text(&evidence, arena, &length);
    if (text == NULL)
        return plait_fail_nomem(err);
    return command_deliver(text, length, print ? NULL : output, print, err);
}
