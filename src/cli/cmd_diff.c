/*
 * cmd_diff.c - plait diff: prints the differences between two files of one kind, which it detects
 * from their keys
 */
#include <math.h>
#include <string.h>

#include "io/cluster/cluster_file.h"
#include "cli/command.h"
#include "io/data/data.h"
#include "base/status.h"
#include "report/lines.h"
#include "io/model/model_file.h"
#include "plait/data.h"
#include "io/plans/plans.h"
#include "report/report_answers.h"
#include "base/text.h"

typedef struct diff_values {
    bool json, exit_code;
} diff_values;

static const opt options[] = {
    OPT_OF_FLAG(diff_values, json, "json", "one JSON document on standard output"),
    OPT_OF_FLAG(diff_values, exit_code, "exit-code", "exit with status 1 when A and B differ"),
    OPT_END,
};

typedef enum diff_kind {
    DIFF_SERVE,
    DIFF_PLANS,
    DIFF_CAPACITY,
    DIFF_ACCURACY,
    DIFF_ACCELERATOR,
    DIFF_RUNTIME,
    DIFF_CLUSTER,
    DIFF_MODEL,
    DIFF_KINDS
} diff_kind;

/*
 * The kinds of files, checked in this order: a file has the first kind whose keys it contains. A
 * file without any of these keys is read as a model.
 */
static const struct {
    const char *name;
    const char *keys[2];
} kinds[DIFF_KINDS] = {
    [DIFF_SERVE] = {"deployments", {"plans", "model_file"}},
    [DIFF_PLANS] = {"plans", {"plans", "job"}},
    [DIFF_CAPACITY] = {"capacity", {"asked", "rows"}},
    [DIFF_ACCURACY] = {"accuracy", {"summary", "rows"}},
    [DIFF_ACCELERATOR] = {"accelerator", {"peak_tflops", "memory"}},
    [DIFF_RUNTIME] = {"runtime", {"can", "overlap"}},
    [DIFF_CLUSTER] = {"cluster", {"levels", NULL}},
    [DIFF_MODEL] = {"model", {NULL, NULL}},
};

/* ---- one of the two files ---- */

typedef struct side {
    const char *name; /* name or path on the command line */
    const char *path;
    diff_kind kind;
    json_document doc;
    bool loaded;
    double params, active;
    plans_entry *entry;
    int entries;
    double *step_s; /* [entries] step times of the plans */
} side;

/*
 * Resolve the name of a model, a cluster, an accelerator or a runtime; any other operand is a path.
 */
static plait_status find_side(const char *name, plait_arena *arena, side *out, plait_error *err)
{
    static const plait_data_kind where[] = {PLAIT_DATA_MODELS, PLAIT_DATA_CLUSTERS,
                                            PLAIT_DATA_ACCELERATORS, PLAIT_DATA_RUNTIMES};
    const char *path;
    plait_error inner;

    out->name = out->path = name;
    const bool named = !data_is_path(name) || data_is_hub_id(name);
    for (size_t i = 0; named && i < sizeof where / sizeof *where; i++) {
        const plait_status status = plait_data_find(where[i], name, arena, &path, &inner);
        if (status == PLAIT_OK) {
            out->path = path;
            return PLAIT_OK;
        }
        PLAIT_TRY(faults_only(status, &inner, err));
        if (data_is_hub_id(name)) // other kinds would read it as a path
            return plait_fail(err, inner.status, inner.where, "%s", inner.message);
    }
    return PLAIT_OK;
}

/*
 * Replace the document by one in which every default is written out, so that a missing key equals
 * its default.
 */
static plait_status normalise_document(side *s, plait_arena *arena, plait_error *err)
{
    plait_model model;
    plait_cluster cluster;
    plait_accelerator accelerator;
    const char *text, *warning;
    json_writer json;
    size_t length;

    json_writer_init(&json, arena);
    if (s->kind == DIFF_MODEL) {
        PLAIT_TRY(plait_model_load(s->path, arena, &model, &warning, err));
        s->params = plait_model_params(&model).total;
        s->active = plait_model_params(&model).active;
        model_write(&json, &model);
    } else if (s->kind == DIFF_CLUSTER) {
        PLAIT_TRY(plait_cluster_load(s->path, arena, &cluster, err));
        cluster_write(&json, &cluster);
    } else {
        PLAIT_TRY(plait_accelerator_load(s->path, arena, &accelerator, err));
        accelerator_write(&json, &accelerator);
    }
    PLAIT_TRY(json_writer_finish(&json, &text, &length, err));
    json_document_free(&s->doc);
    s->loaded = false;
    PLAIT_TRY(json_document_parse(text, length, s->path, arena, &s->doc, err));
    s->loaded = true;
    return PLAIT_OK;
}

static plait_status read_steps(side *s, plait_arena *arena, plait_error *err)
{
    const json_cursor root = json_document_root(&s->doc);
    const plans_entry *entry;
    json_cursor plans, plan;
    int i = 0;

    PLAIT_TRY(plans_load_list(s->path, "plans", arena, &entry, &s->entries, err));
    s->entry = plait_arena_alloc(arena, (size_t)s->entries + 1, sizeof *s->entry);
    PLAIT_TRY(plait_check_allocated(s->entry, err));
    if (s->entries > 0)
        memcpy(s->entry, entry, (size_t)s->entries * sizeof *entry);
    for (int e = 0; e < s->entries;
         e++) { // set dp, which follows from the other degrees and is not stored
        plait_degrees *const d = &s->entry[e].degrees;
        const int dp = plait_degrees_dp(s->entry[e].gpus, d->tp, d->pp, d->cp);

        d->dp = dp > 0 ? dp : d->dp;
    }
    s->step_s = plait_arena_alloc(arena, (size_t)s->entries + 1, sizeof *s->step_s);
    PLAIT_TRY(plait_check_allocated(s->step_s, err));
    PLAIT_TRY(json_array(&root, "plans", &plans, err));
    for (bool more = json_first(&plans, &plan); more && i < s->entries; more = json_next(&plan)) {
        s->step_s[i] = (double)NAN;
        PLAIT_TRY(json_number_optional(&plan, "step_s", JSON_ANY, &s->step_s[i++], err));
    }
    return PLAIT_OK;
}

static plait_status load_side(const char *name, plait_arena *arena, side *out, plait_error *err)
{
    PLAIT_TRY(find_side(name, arena, out, err));
    PLAIT_TRY(json_document_read(out->path, arena, &out->doc, err));
    out->loaded = true;
    const json_cursor root = json_document_root(&out->doc);

    PLAIT_TRY(json_as_object(&root, err));
    while (out->kind < DIFF_MODEL &&
           !(json_has(&root, kinds[out->kind].keys[0]) &&
             (kinds[out->kind].keys[1] == NULL || json_has(&root, kinds[out->kind].keys[1]))))
        out->kind++;
    if (out->kind == DIFF_PLANS)
        return read_steps(out, arena, err);
    return out->kind == DIFF_MODEL || out->kind == DIFF_CLUSTER || out->kind == DIFF_ACCELERATOR
               ? normalise_document(out, arena, err)
               : PLAIT_OK;
}

/* ---- comparison of the rankings ---- */

/* Return the index of the plan with these degrees, or -1. */
static int index_of(const side *in, const plait_degrees *degrees)
{
    for (int i = 0; i < in->entries; i++) {
        int k = 0;

        while (k < PLAIT_KEYS && plait_key_same(&in->entry[i].degrees, degrees, (plait_key_id)k))
            k++;
        if (k == PLAIT_KEYS)
            return i;
    }
    return -1;
}

/* List the plans of the second file in its order, then those that occur only in the first file. */
static plait_status match_plans(const side pair[2], plait_arena *arena, report_diff *out,
                                plait_error *err)
{
    const side *const a = &pair[0], *const b = &pair[1];
    diff_plan *plan =
        plait_arena_alloc(arena, (size_t)a->entries + (size_t)b->entries, sizeof *plan);

    PLAIT_TRY(plait_check_allocated(plan, err));
    out->plan = plan;
    for (int i = 0; i < b->entries; i++) {
        const int j = index_of(a, &b->entry[i].degrees);

        plan[out->plans++] =
            (diff_plan){.degrees = b->entry[i].degrees,
                        .rank = {j >= 0 ? a->entry[j].rank : 0, b->entry[i].rank},
                        .step_s = {j >= 0 ? a->step_s[j] : (double)NAN, b->step_s[i]}};
    }
    for (int j = 0; j < a->entries; j++)
        if (index_of(b, &a->entry[j].degrees) < 0)
            plan[out->plans++] = (diff_plan){.degrees = a->entry[j].degrees,
                                             .rank = {a->entry[j].rank, 0},
                                             .step_s = {a->step_s[j], (double)NAN}};
    return PLAIT_OK;
}

/* ---- the answer ---- */

static plait_status compare_sides(const diff_values *flags, const opt_operands *operands,
                                  side pair[2], plait_arena *arena, bool *no, plait_error *err)
{
    report_diff diff = {0};
    json_writer json;

    for (int i = 0; i < 2; i++)
        PLAIT_TRY(load_side(operands->text[i], arena, &pair[i], err));
    static const char *const names[] = {"=id",     "=name",    "=what",     "source",
                                        "runtime", "software", "mem_scope", "cluster",
                                        "gpus",    "sweep",    NULL};
    const json_cursor a = json_document_root(&pair[0].doc), b = json_document_root(&pair[1].doc);
    if (pair[0].kind != pair[1].kind)
        return plait_fail(err, PLAIT_ERROR_RANGE, pair[1].name,
                          "expected a file of type %s like %.80s, found type %s",
                          kinds[pair[0].kind].name, pair[0].name, kinds[pair[1].kind].name);
    for (int i = 0; i < 2; i++) {
        diff.name[i] = text_plain(arena, pair[i].name);
        PLAIT_TRY(plait_check_allocated(diff.name[i], err));
        diff.params[i] = pair[i].params;
        diff.active[i] = pair[i].active;
    }
    diff.kind = kinds[pair[0].kind].name;
    PLAIT_TRY(json_diff(&a, &b, names, arena, &diff.changes, err));
    PLAIT_TRY(diff.changes.count > 0 ? match_plans(pair, arena, &diff, err) : PLAIT_OK);
    *no = flags->exit_code && diff.changes.count > 0;
    if (!flags->json)
        return report_diff_print(&diff, lines_out(), err);
    command_begin_json(&json, arena);
    json_diff_document(&json, &diff);
    return command_deliver_json(&json, NULL, true, err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    side pair[2] = {{.loaded = false}, {.loaded = false}};
    plait_status status;

    if (operands->count < 2)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, operands->count == 0 ? "A" : "B",
                          "expected two files or names to compare, found %s",
                          operands->count == 0 ? "nothing" : "one");
    status = compare_sides(values, operands, pair, arena, no, err);
    for (int i = 0; i < 2; i++)
        if (pair[i].loaded)
            json_document_free(&pair[i].doc);
    return status;
}

const command command_diff = {
    .usage = {.command = "diff",
              .synopsis = "A B",
              .summary =
                  "List the differences of two answers, models, clusters or accuracy reports.",
              .about = "A and B are files that search, eval, serve, capacity --json or validate "
                       "--json wrote, or files\nor names of models, clusters, accelerators or "
                       "runtimes. Both must be of the same kind.",
              .max_operands = 2,
              .operand = {OPT_NAMES(PLAIT_DATA_MODELS), OPT_NAMES(PLAIT_DATA_MODELS)},
              .options = options},
    .values_size = sizeof(diff_values),
    .run = run,
};
