/* page_serve_read.c - reads the JSON document of plait serve for its page */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/json/json.h"
#include "page/page_serve.h"

static const double unknown = (double)NAN;

/* Reads an optional number in `unit`; NaN: null or missing. */
static plait_status read_value(const json_cursor *at, const char *key, double unit, double *out,
                               plait_error *err)
{
    *out = unknown;
    PLAIT_TRY(json_number_optional(at, key, JSON_NON_NEGATIVE, out, err));
    *out *= unit;
    return PLAIT_OK;
}

typedef struct value {
    const char *key;
    double unit;
    double *out;
} value;

static plait_status read_values(const json_cursor *at, const value *values, size_t count,
                                plait_error *err)
{
    for (size_t i = 0; i < count; i++)
        PLAIT_TRY(read_value(at, values[i].key, values[i].unit, values[i].out, err));
    return PLAIT_OK;
}

#define COUNT_OF(list) (sizeof(list) / sizeof *(list))

// ---- a deployment --------------------------------------------------------------------------

/* Appends the workers of a role, "2 x tp 4 ep 8", after a colon if it is the second one. */
static plait_status read_role(const json_cursor *role, char text[160], plait_error *err)
{
    static const struct {
        const char *key, *word;
    } degrees[] = {{"tp", "tp"}, {"pp", "pp"}, {"dp_attention", "dp"}, {"ep", "ep"}};
    size_t at = strlen(text);
    int count = 1;

    if (at > 0)
        at += (size_t)snprintf(text + at, 160 - at, " : ");
    PLAIT_TRY(json_int_optional(role, "count", 1, 1 << 24, &count, err));
    if (count > 1)
        at += (size_t)snprintf(text + at, 160 - at, "%d x ", count);
    for (size_t d = 0; d < COUNT_OF(degrees) && at < 160; d++) {
        int degree = 1;
        PLAIT_TRY(json_int_optional(role, degrees[d].key, 1, 1 << 24, &degree, err));
        if (d == 0 || degree > 1)
            at += (size_t)snprintf(text + at, 160 - at, "%s%s %d", d > 0 ? " " : "",
                                   degrees[d].word, degree);
    }
    return PLAIT_OK;
}

static plait_status read_workers(const json_cursor *at, plait_arena *arena, const char **out,
                                 plait_error *err)
{
    json_cursor workers, role;
    char text[160] = "";

    PLAIT_TRY(json_object(at, "workers", &workers, err));
    if (json_count(&workers) < 1 || json_count(&workers) > 2)
        return json_fail(&workers, PLAIT_ERROR_SCHEMA, err, "expected one or two roles, found %zu",
                         json_count(&workers));
    for (bool more = json_first(&workers, &role); more; more = json_next(&role)) {
        PLAIT_TRY(json_as_object(&role, err));
        PLAIT_TRY(read_role(&role, text, err));
    }
    *out = plait_arena_text(arena, text);
    return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

static plait_status read_parts(const json_cursor *at, plait_arena *arena, page_serve_plan *out,
                               plait_error *err)
{
    json_cursor parts, part;

    PLAIT_TRY(json_object_optional(at, "step_ms", &parts, err));
    for (bool more = json_first(&parts, &part); more; more = json_next(&part)) {
        page_serve_part *const next = &out->part[out->parts];
        double ms;

        if (out->parts == PAGE_SERVE_PARTS)
            return json_fail(&parts, PLAIT_ERROR_RANGE, err, "expected at most %d parts, found %zu",
                             PAGE_SERVE_PARTS, json_count(&parts));
        PLAIT_TRY(json_as_number(&part, JSON_NON_NEGATIVE, &ms, err));
        next->seconds = ms * 1e-3;
        next->name = plait_arena_text(arena, part.key);
        PLAIT_TRY(plait_check_allocated(next->name, err));
        out->parts++;
    }
    return PLAIT_OK;
}

static plait_status read_plan(const json_cursor *at, plait_arena *arena, page_serve_plan *out,
                              plait_error *err)
{
    const value values[] = {
        {"rank", 1.0, &out->rank},
        {"replicas", 1.0, &out->replicas},
        {"gpus", 1.0, &out->gpus},
        {"concurrency", 1.0, &out->concurrency},
        {"running", 1.0, &out->running},
        {"ttft_ms", 1e-3, &out->ttft_s},
        {"ttft_low_ms", 1e-3, &out->ttft_low_s},
        {"ttft_high_ms", 1e-3, &out->ttft_high_s},
        {"ttft_p99_ms", 1e-3, &out->ttft_p99_s},
        {"tpot_ms", 1e-3, &out->tpot_s},
        {"tpot_low_ms", 1e-3, &out->tpot_low_s},
        {"tpot_high_ms", 1e-3, &out->tpot_high_s},
        {"e2e_ms", 1e-3, &out->e2e_s},
        {"out_tok_s", 1.0, &out->tokens_per_s},
        {"out_tok_s_gpu", 1.0, &out->tokens_per_s_gpu},
        {"usd_per_mtok", 1.0, &out->usd_per_mtok},
        {"joules_per_tok", 1.0, &out->joules_per_tok},
    };

    *out = (page_serve_plan){.profile = "-", .binds = "-"};
    PLAIT_TRY(json_as_object(at, err));
    PLAIT_TRY(json_string(at, "engine", arena, &out->engine, err));
    PLAIT_TRY(json_string_optional(at, "profile", arena, &out->profile, err));
    PLAIT_TRY(json_string(at, "mode", arena, &out->mode, err));
    PLAIT_TRY(json_string(at, "weights", arena, &out->weights, err));
    PLAIT_TRY(json_string(at, "kv", arena, &out->kv, err));
    PLAIT_TRY(json_string_optional(at, "binds", arena, &out->binds, err));
    PLAIT_TRY(read_workers(at, arena, &out->workers, err));
    PLAIT_TRY(read_values(at, values, COUNT_OF(values), err));
    return read_parts(at, arena, out, err);
}

static plait_status read_plans(const json_cursor *root, const char *key, plait_arena *arena,
                               page_serve_plan **out, int *count, plait_error *err)
{
    json_cursor list, at;

    *count = 0;
    PLAIT_TRY(json_array_optional(root, key, &list, err));
    if (json_count(&list) > PAGE_SERVE_PLANS)
        return json_fail(&list, PLAIT_ERROR_RANGE, err,
                         "expected at most %d deployments, found %zu", PAGE_SERVE_PLANS,
                         json_count(&list));
    *out = plait_arena_alloc(arena, json_count(&list) + 1, sizeof **out);
    PLAIT_TRY(plait_check_allocated(*out, err));
    for (bool more = json_first(&list, &at); more; more = json_next(&at))
        PLAIT_TRY(read_plan(&at, arena, &(*out)[(*count)++], err));
    return PLAIT_OK;
}

// ---- the rest ------------------------------------------------------------------------------

static plait_status read_point(const json_cursor *at, page_serve_point *out, plait_error *err)
{
    const value values[] = {
        {"load", 1.0, &out->load},
        {"rate", 1.0, &out->rate},
        {"ttft_ms", 1e-3, &out->ttft_s},
        {"ttft_p99_ms", 1e-3, &out->ttft_p99_s},
        {"tpot_ms", 1e-3, &out->tpot_s},
        {"running", 1.0, &out->running},
        {"out_tok_s", 1.0, &out->tokens_per_s},
    };

    PLAIT_TRY(json_as_object(at, err));
    return read_values(at, values, COUNT_OF(values), err);
}

static plait_status read_curve(const json_cursor *root, plait_arena *arena, page_serve *out,
                               plait_error *err)
{
    json_cursor list, at;

    PLAIT_TRY(json_array_optional(root, "load_curve", &list, err));
    if (json_count(&list) > PAGE_SERVE_POINTS)
        return json_fail(&list, PLAIT_ERROR_RANGE, err, "expected at most %d loads, found %zu",
                         PAGE_SERVE_POINTS, json_count(&list));
    out->point = plait_arena_alloc(arena, json_count(&list) + 1, sizeof *out->point);
    PLAIT_TRY(plait_check_allocated(out->point, err));
    for (bool more = json_first(&list, &at); more; more = json_next(&at))
        PLAIT_TRY(read_point(&at, &out->point[out->points++], err));
    return PLAIT_OK;
}

static plait_status read_seen(const json_cursor *at, const char *key, page_serve_seen *out,
                              plait_error *err)
{
    json_cursor seen;
    const value values[] = {
        {"mean", 1e-3, &out->mean_s}, {"p50", 1e-3, &out->p50_s}, {"p99", 1e-3, &out->p99_s}};

    PLAIT_TRY(json_object(at, key, &seen, err));
    return read_values(&seen, values, COUNT_OF(values), err);
}

static plait_status read_simulated(const json_cursor *root, page_serve *out, plait_error *err)
{
    json_cursor at;

    out->requests = unknown;
    PLAIT_TRY(json_object_optional(root, "simulated", &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(read_value(&at, "requests", 1.0, &out->requests, err));
    PLAIT_TRY(read_seen(&at, "ttft_ms", &out->ttft, err));
    PLAIT_TRY(read_seen(&at, "tpot_ms", &out->tpot, err));
    return read_seen(&at, "e2e_ms", &out->e2e, err);
}

static plait_status read_root(const json_cursor *root, plait_arena *arena, void *to,
                              plait_error *err)
{
    page_serve *const out = to;
    json_cursor job;
    const value values[] = {
        {"input", 1.0, &out->input},     {"output", 1.0, &out->output},
        {"rate", 1.0, &out->rate},       {"concurrency", 1.0, &out->concurrency},
        {"gpus", 1.0, &out->gpus},       {"ttft_ms", 1e-3, &out->ttft_s},
        {"tpot_ms", 1e-3, &out->tpot_s},
    };

    *out = (page_serve){0};
    PLAIT_TRY(json_string(root, "model", arena, &out->model, err));
    PLAIT_TRY(json_string(root, "cluster", arena, &out->cluster, err));
    PLAIT_TRY(json_object(root, "job", &job, err));
    PLAIT_TRY(read_values(&job, values, COUNT_OF(values), err));
    PLAIT_TRY(read_plans(root, "plans", arena, &out->plan, &out->plans, err));
    PLAIT_TRY(read_plans(root, "front", arena, &out->at_front, &out->front, err));
    PLAIT_TRY(read_curve(root, arena, out, err));
    if (out->plans == 0)
        return json_fail_key(
            root, "plans", PLAIT_ERROR_RANGE, err,
            "expected a deployment that meets all limits, found none; `plait serve` "
            "prints the closest plan");
    return read_simulated(root, out, err);
}

plait_status page_serve_read(const char *path, plait_arena *arena, page_serve *out,
                             plait_error *err)
{
    return json_load(path, read_root, arena, out, err);
}

/* Stores whether the job has tokens in and out, as only documents of plait serve have. */
static plait_status read_kind(const json_cursor *root, plait_arena *arena, void *to,
                              plait_error *err)
{
    json_cursor job;

    (void)arena;
    PLAIT_TRY(json_object(root, "job", &job, err));
    *(bool *)to = json_has(&job, "input") && json_has(&job, "output");
    return PLAIT_OK;
}

plait_status page_serve_is(const char *path, plait_arena *arena, bool *is, plait_error *err)
{
    plait_error inner;

    *is = false;
    return faults_only(json_load(path, read_kind, arena, is, &inner), &inner, err);
}
