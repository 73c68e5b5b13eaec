/* server_log.c - compares the start log of a serving engine with the prediction */
#include "cli/server_log.h"

#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/problem.h"
#include "io/csv/start_log.h"
#include "io/file.h"
#include "plait/data.h"
#include "report/lines.h"
#include "report/report_serve.h"
#include "validate/starts.h"

enum { SERVER_LOG_MAX_BYTES = 64 << 20 };

/*
 * Find the model that a log names, a Hub id or a folder. Names of fine-tuned or quantized models
 * have more parts than the model's; the last ones are dropped until a name is found. A distilled
 * model has the shapes of another model than the one that it is named after.
 */
static plait_status find_logged_model(const char *served, plait_arena *arena, plait_model *out,
                                      bool *found, plait_error *err)
{
    enum { MOST_CUTS = 5 };
    const char *const last = strrchr(served, '/');
    char *const name = plait_arena_text(arena, last != NULL ? last + 1 : served);
    plait_error inner;

    *found = false;
    PLAIT_TRY(plait_check_allocated(name, err));
    for (char *c = name; *c != '\0'; c++)
        *c = text_lower(*c);
    if (strstr(name, "distill") != NULL)
        return PLAIT_OK;
    for (int cut = 0; cut <= MOST_CUTS && !*found && name[0] != '\0'; cut++) {
        const plait_status status = problem_find_model(name, false, true, arena, out, &inner);
        char *const part = strrchr(name, '-');

        *found = status == PLAIT_OK;
        PLAIT_TRY(faults_only(status, &inner, err));
        if (part == NULL)
            break;
        if (!*found)
            *part = '\0';
    }
    return PLAIT_OK;
}

static plait_status predict(const start_log *log, const server_log_flags *flags, plait_arena *arena,
                            report_start *report, plait_error *err)
{
    plait_model *const model = plait_arena_alloc(arena, 1, sizeof *model);
    plait_cluster *const cluster = plait_arena_alloc(arena, 1, sizeof *cluster);
    start_prediction *const is = plait_arena_alloc(arena, 1, sizeof *is);
    bool found = flags->model != NULL;

    PLAIT_TRY(plait_check_allocated(model && cluster && is, err));
    if (flags->model != NULL)
        PLAIT_TRY(problem_find_model(flags->model, flags->assume_llama, false, arena, model, err));
    else if (log->model != NULL)
        PLAIT_TRY(find_logged_model(log->model, arena, model, &found, err));
    if (!found || flags->cluster == NULL) {
        report->missing = found ? "--cluster CLUSTER adds the predicted figures"
                                : "--model MODEL and --cluster CLUSTER add the predicted figures";
        return PLAIT_OK;
    }
    PLAIT_TRY(plait_cluster_find(flags->cluster, arena, cluster, err));
    PLAIT_TRY(start_predict(log, NULL, model, cluster, arena, is, err));
    report->predicted = &is->start;
    report->serving = &is->serving;
    report->engine = &is->engine;
    return PLAIT_OK;
}

plait_status server_log_report(const char *path, const server_log_flags *flags, plait_arena *arena,
                               bool *is_server, plait_error *err)
{
    start_log *const log = plait_arena_alloc(arena, 1, sizeof *log);
    const char *text;
    plait_error inner;
    json_writer json;
    size_t length;
    bool whole;

    PLAIT_TRY(plait_check_allocated(log, err));
    *is_server = false;
    PLAIT_TRY(file_read_start(path, SERVER_LOG_MAX_BYTES, arena, &text, &length, &whole, err));
    const plait_status status = start_log_parse(text, length, path, arena, log, &inner);
    PLAIT_TRY(faults_only(status, &inner, err));
    if (status != PLAIT_OK)
        return PLAIT_OK;
    report_start report = {.file = text_plain(arena, path),
                           .kind = log->kind,
                           .version = log->version,
                           .served = log->model,
                           .measured = {.weight_bytes = log->weight_bytes,
                                        .activation_bytes = log->activation_bytes,
                                        .cache_bytes = log->cache_bytes,
                                        .cache_tokens = log->cache_tokens,
                                        .request_tokens = log->request_tokens,
                                        .concurrency = log->concurrency,
                                        .free_bytes = log->free_bytes}};
    PLAIT_TRY(plait_check_allocated(report.file, err));
    *is_server = true;
    PLAIT_TRY(predict(log, flags, arena, &report, err));
    if (!flags->json)
        return report_start_log(&report, lines_out(), err);
    command_begin_json(&json, arena);
    json_start_log(&json, &report);
    return command_deliver_json(&json, NULL, true, err);
}
