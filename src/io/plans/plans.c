/* plans.c - reads documents of plans */
#include "io/plans/tuning_json.h"
#include "io/plans/plans.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "io/cluster/cluster_file.h"
#include "io/data/data.h"
#include "io/file.h"
#include "io/model/model_file.h"
#include "io/plans/plans_json.h"

/* Valid members of a plan besides its keys. Others are refused, since they may be misspelt keys. */
static const char *const also[] = {
    "rank",
    "verdict",
    "risk",
    "why",
    "gbs",
    "microbatches",
    "precision",
    "runtime",
    "settings",
    "stages",
    "step_s",
    "step_low_s",
    "step_high_s",
    "tokens_per_s_per_gpu",
    "model_tflops_per_gpu",
    "mfu",
    "hfu",
    "mfu_square",
    "hfu_square",
    "cost_usd",
    "energy_j",
    "time",
    "memory",
    "communication",
    "network_s",
    "variants",
    "fused",
};

plans_entry plans_unknown(const char *where)
{
    return (plans_entry){
        .where = where, .rank = 1, .precision = -1, .degrees = plait_degrees_init()};
}

/* ---- degrees ---- */

plait_status plans_read_value(const json_cursor *at, plait_arena *arena, const char **text,
                              plait_error *err)
{
    int number;

    if (json_is_string(at))
        return json_as_string(at, arena, text, err);
    PLAIT_TRY(json_as_int(at, 0, INT_MAX, &number, err));
    *text = plait_arena_printf(arena, "%d", number);
    return *text != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

plait_status plans_read_key(const json_cursor *plan, plait_key_id key, plait_arena *arena,
                            plait_degrees *degrees, plait_key_set *given, plait_error *err)
{
    const char *const name = plait_keys[key].name;
    const char *text;
    json_cursor at;
    plait_error inner;

    PLAIT_TRY(json_value_optional(plan, name, &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(plans_read_value(&at, arena, &text, err));
    if (plait_degrees_set(degrees, name, text, &inner) != PLAIT_OK)
        return json_fail(&at, inner.status, err, "%s", inner.message);
    *given |= PLAIT_KEY_BIT(key);
    return PLAIT_OK;
}

static bool same_axes(const plait_axis *a, const int *b)
{
    for (int i = 0; i < PLAIT_AXES; i++)
        if ((int)a[i] != b[i])
            return false;
    return true;
}

/* Reads the order of the axes, innermost first: ["tp", "cp", "dp", "pp"]. */
static plait_status read_order(const json_cursor *plan, plans_entry *out, plait_error *err)
{
    json_cursor axes, at;
    int axis[PLAIT_AXES], count = 0;

    PLAIT_TRY(json_array_optional(plan, "order", &axes, err));
    if (json_is_null(&axes))
        return PLAIT_OK;
    if (json_count(&axes) != PLAIT_AXES)
        return json_fail(&axes, PLAIT_ERROR_SCHEMA, err, "expected %d axes, found %zu", PLAIT_AXES,
                         json_count(&axes));
    for (bool more = json_first(&axes, &at); more; more = json_next(&at))
        PLAIT_TRY(json_as_word(&at, plait_axis_name, &axis[count++], err));
    for (int order = 0; order < PLAIT_ORDERS; order++) {
        if (!same_axes(plait_order_axes((plait_order)order), axis))
            continue;
        out->degrees.order = (unsigned char)order;
        out->given |= PLAIT_KEY_BIT(PLAIT_KEY_ORDER);
        return PLAIT_OK;
    }
    return json_fail(&axes, PLAIT_ERROR_RANGE, err,
                     "expected the order tp, cp, dp, pp or tp, cp, pp, dp, found another");
}

static plait_status check_same(const json_cursor *plan, const char *key, int of_job,
                               plait_error *err)
{
    int found = of_job;

    PLAIT_TRY(json_int_optional(plan, key, 1, INT_MAX, &found, err));
    if (of_job > 0 && found != of_job)
        return json_fail_key(plan, key, PLAIT_ERROR_RANGE, err,
                             "expected %d as in the job, found %d", of_job, found);
    return PLAIT_OK;
}

/* Checks members that repeat values of the job or follow from the job and the degrees. */
static plait_status check_job(const json_cursor *plan, plait_arena *arena, const plans_entry *out,
                              plait_error *err)
{
    const plait_key_set of_batch = PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) |
                                   PLAIT_KEY_BIT(PLAIT_KEY_CP) | PLAIT_KEY_BIT(PLAIT_KEY_MBS);
    plait_degrees d = out->degrees;
    const char *runtime = out->runtime;
    int dp;

    PLAIT_TRY(check_same(plan, "gbs", out->gbs, err));

    int found = out->precision;
    PLAIT_TRY(json_word_optional(plan, "precision", plait_precision_name, &found, err));
    if (out->precision >= 0 && found != out->precision)
        return json_fail_key(plan, "precision", PLAIT_ERROR_RANGE, err,
                             "expected %s as in the job, found %s",
                             plait_precision_name[out->precision], plait_precision_name[found]);
    PLAIT_TRY(json_string_optional(plan, "runtime", arena, &runtime, err));
    if (out->runtime != NULL && strcmp(file_base_name(runtime), file_base_name(out->runtime)) != 0)
        return json_fail_key(plan, "runtime", PLAIT_ERROR_RANGE, err,
                             "expected %.80s as in the job, found %.80s", out->runtime, runtime);
    d.dp = out->gpus > 0 ? plait_degrees_dp(out->gpus, d.tp, d.pp, d.cp) : 0;
    dp = d.dp;
    PLAIT_TRY(json_int_optional(plan, "dp", 0, PLAIT_MAX_GPUS, &dp, err));
    const bool known = (out->given & of_batch) == of_batch && out->gbs > 0 && d.dp > 0 &&
                       dp == d.dp; // a wrong dp is reported by plait_plan_check()

    return check_same(plan, "microbatches", known ? plait_degrees_microbatches(&d, out->gbs) : 0,
                      err);
}

plait_status plans_read_plan(const json_cursor *plan, plait_arena *arena, plans_entry *out,
                             plait_error *err)
{
    enum { ALSO = sizeof also / sizeof *also };
    const char *names[PLAIT_KEYS + ALSO + 1];
    double world;

    for (int key = 0; key < PLAIT_KEYS; key++)
        names[key] = plait_keys[key].name;
    for (int i = 0; i < ALSO; i++)
        names[PLAIT_KEYS + i] = also[i];
    names[PLAIT_KEYS + ALSO] = NULL;
    PLAIT_TRY(json_keys_among(plan, names, err));
    for (int key = 0; key < PLAIT_KEYS; key++)
        if (key != PLAIT_KEY_DP && key != PLAIT_KEY_ORDER) // dp is derived, order is a list
            PLAIT_TRY(
                plans_read_key(plan, (plait_key_id)key, arena, &out->degrees, &out->given, err));
    PLAIT_TRY(read_order(plan, out, err));
    PLAIT_TRY(plans_read_stages(plan, arena, out, err));
    PLAIT_TRY(check_job(plan, arena, out, err));

    // In a file without a job, the number of GPUs follows from the degrees.
    const plait_key_set all =
        PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) | PLAIT_KEY_BIT(PLAIT_KEY_CP);
    int dp = 0;
    PLAIT_TRY(json_int_optional(plan, "dp", 0, PLAIT_MAX_GPUS, &dp, err));
    world = (double)dp * out->degrees.tp * out->degrees.pp * out->degrees.cp;
    if (out->gpus == 0 && (out->given & all) == all && world <= PLAIT_MAX_GPUS)
        out->gpus = (int)world;
    return PLAIT_OK;
}

/* ---- model, cluster and job ---- */

bool plans_risk_is_sensible(double risk)
{
    return risk >= 0.001 && risk <= 0.5;
}

bool plans_imbalance_is_sensible(double imbalance)
{
    return imbalance >= 1.0 && imbalance <= 100.0;
}

static plait_status read_job(const json_cursor *root, plait_arena *arena, plans_entry *out,
                             plait_error *err)
{
    static const char *const keys[] = {"seq",  "document",  "documents", "images",  "image_tokens",
                                       "gbs",  "gpus",      "precision", "runtime", "attention",
                                       "risk", "imbalance", "frontier",  "tuning",  NULL};
    const char *runtime = NULL;
    json_cursor at, value;
    const char *word;

    out->precision = -1;
    PLAIT_TRY(json_object_optional(root, "job", &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(json_keys_among(&at, keys, err));
    PLAIT_TRY(json_int_optional(&at, "seq", 1, PLAIT_MAX_SEQ, &out->seq, err));
    PLAIT_TRY(json_int_optional(&at, "document", 1, out->seq > 0 ? out->seq : PLAIT_MAX_SEQ,
                                &out->document, err));
    PLAIT_TRY(documents_read_json(&at, arena, &out->documents, err));
    PLAIT_TRY(json_int_optional(&at, "images", 0, PLAIT_MAX_SEQ, &out->images, err));
    PLAIT_TRY(json_int_optional(&at, "image_tokens", 0, PLAIT_MAX_SEQ, &out->image_tokens, err));
    PLAIT_TRY(json_int_optional(&at, "gbs", 1, PLAIT_MAX_GBS, &out->gbs, err));
    PLAIT_TRY(json_int_optional(&at, "gpus", 1, PLAIT_MAX_GPUS, &out->gpus, err));
    PLAIT_TRY(json_word_optional(&at, "precision", plait_precision_name, &out->precision, err));
    PLAIT_TRY(json_string_optional(&at, "runtime", arena, &runtime, err));
    if (runtime != NULL) {
        out->runtime = data_named_in(root->key, runtime, arena);
        PLAIT_TRY(plait_check_allocated(out->runtime, err));
    }
    PLAIT_TRY(json_number_optional(&at, "risk", JSON_POSITIVE, &out->risk, err));
    if (out->risk > 0.0 && !plans_risk_is_sensible(out->risk))
        return json_fail_key(&at, "risk", PLAIT_ERROR_RANGE, err,
                             "expected a probability from 0.001 to 0.5, found %g", out->risk);
    PLAIT_TRY(json_value_optional(&at, "imbalance", &value, err));
    if (!json_is_null(&value)) {
        if (!json_is_string(&value)) {
            PLAIT_TRY(json_number(&at, "imbalance", JSON_POSITIVE, &out->imbalance, err));
            if (!plans_imbalance_is_sensible(out->imbalance))
                return json_fail(&value, PLAIT_ERROR_RANGE, err,
                                 "expected a number from 1 to 100, found %g", out->imbalance);
        } else {
            PLAIT_TRY(json_as_string(&value, arena, &word, err));
            out->natural_routing = text_equal(word, PLANS_NATURAL_ROUTING);
            if (!out->natural_routing)
                return json_fail(&value, PLAIT_ERROR_RANGE, err,
                                 "expected a number from 1 to 100 or "
                                 "\"" PLANS_NATURAL_ROUTING "\", found \"%.40s\"",
                                 word);
        }
    }

    PLAIT_TRY(json_bool_optional(&at, "frontier", &out->frontier, err));
    PLAIT_TRY(tuning_read_json(&at, &out->tuning, err));

    // Older documents have the attention kernel in the job; a kernel in the plan overrides it.
    int kernel = -1;
    PLAIT_TRY(json_word_optional(&at, "attention", plait_attention_kernel_name, &kernel, err));
    if (kernel < 0)
        return PLAIT_OK;
    plait_key_put(&out->degrees, PLAIT_KEY_ATTENTION, kernel);
    out->given |= PLAIT_KEY_BIT(PLAIT_KEY_ATTENTION);
    return PLAIT_OK;
}

plait_status plans_read_question(const json_cursor *root, plait_arena *arena, plans_entry *out,
                                 plait_error *err)
{
    plait_model *model = plait_arena_alloc(arena, 1, sizeof *model);
    json_cursor at;

    PLAIT_TRY(plait_check_allocated(model, err));
    PLAIT_TRY(json_object_optional(root, "model", &at, err));
    if (!json_is_null(&at)) {
        PLAIT_TRY(model_read_plait(&at, arena, model, err));
        out->model = model;
    }

    plait_cluster *cluster = plait_arena_alloc(arena, 1, sizeof *cluster);
    PLAIT_TRY(plait_check_allocated(cluster, err));
    PLAIT_TRY(json_object_optional(root, "cluster", &at, err));
    if (!json_is_null(&at)) {
        PLAIT_TRY(cluster_read(&at, arena, cluster, err));
        out->cluster = cluster;
    }
    return read_job(root, arena, out, err);
}

/* ---- one plan ---- */

/* Reads the rank of a plan, whose default is its position in the list. */
static plait_status rank_of(const json_cursor *plan, int *rank, plait_error *err)
{
    *rank = plan->index < INT_MAX ? (int)plan->index + 1 : INT_MAX;
    PLAIT_TRY(json_as_object(plan, err));
    return json_int_optional(plan, "rank", 1, INT_MAX, rank, err);
}

static plait_status find_plan(const json_cursor *plans, int rank, json_cursor *plan,
                              plait_error *err)
{
    int found, last = 0;

    if (json_count(plans) == 0)
        return json_fail(plans, PLAIT_ERROR_RANGE, err, "expected a plan, found none");
    for (bool more = json_first(plans, plan); more; more = json_next(plan)) {
        PLAIT_TRY(rank_of(plan, &found, err));
        if (found == rank || rank == 0)
            return PLAIT_OK;
        last = found > last ? found : last;
    }
    return json_fail(plans, PLAIT_ERROR_RANGE, err, "expected a plan number from 1 to %d, found %d",
                     last, rank);
}

typedef struct plan_choice {
    int rank; /* rank of the plan to find; 0: the recommended plan, else the first */
    plans_entry *entry;
} plan_choice;

static const char *const root_keys[] = {
    "plait",       "model",    "cluster",  "job",     "search",
    "plans",       "front",    "tight",    "closest", "closest_proven",
    "relaxations", "explain",  "warnings", "refusal", "fewer_gpus",
    "idle_groups", "tries",    "command",  "routing", "recommended",
    "nearest_run", "by_model", NULL};

static plait_status read_root(const json_cursor *root, plait_arena *arena, void *choice,
                              plait_error *err)
{
    const plan_choice *const wanted = choice;
    plans_entry *const out = wanted->entry;
    json_cursor plans, plan;

    PLAIT_TRY(json_keys_among(root, root_keys, err));
    int rank = wanted->rank;

    PLAIT_TRY(json_array(root, "plans", &plans, err));
    if (rank == 0)
        PLAIT_TRY(json_int_optional(root, "recommended", 1, INT_MAX, &rank, err));
    PLAIT_TRY(find_plan(&plans, rank, &plan, err));
    PLAIT_TRY(rank_of(&plan, &out->rank, err));
    out->where = plait_arena_printf(arena, "%s:/plans/%zu", root->key, plan.index);
    PLAIT_TRY(plait_check_allocated(out->where, err));
    PLAIT_TRY(plans_read_question(root, arena, out, err));
    return plans_read_plan(&plan, arena, out, err);
}

plait_status plans_parse(const char *text, size_t length, const char *name, int rank,
                         plait_arena *arena, plans_entry *out, plait_error *err)
{
    *out = (plans_entry){.degrees = plait_degrees_init()};
    return json_parse(text, length, name, read_root, arena, &(plan_choice){rank, out}, err);
}

plait_status plans_load(const char *path, plait_arena *arena, plans_entry *out, plait_error *err)
{
    char *file = plait_arena_text(arena, path);
    int rank;

    *out = (plans_entry){.degrees = plait_degrees_init()};
    PLAIT_TRY(plait_check_allocated(file, err));

    // "plans.json:3" means plan 3 of plans.json, unless a file has that name.
    char *const colon = strrchr(file, ':');
    rank = 0;
    if (colon != NULL && access(file, F_OK) != 0) {
        *colon = '\0';
        if (!text_parse_int(colon + 1, 1, INT_MAX, &rank)) {
            if (access(file, F_OK) == 0)
                return plait_fail(err, PLAIT_ERROR_RANGE, file,
                                  "expected a plan number of at least 1, found \"%.60s\"",
                                  colon + 1);
            *colon = ':';
        }
    }
    return json_load(file, read_root, arena, &(plan_choice){rank, out}, err);
}

/* ---- all plans ---- */

typedef struct plan_list {
    const char *key; /* member that contains the plans */
    plans_entry *entry;
    int count;
} plan_list;

static plait_status read_all(const json_cursor *root, plait_arena *arena, void *list,
                             plait_error *err)
{
    plan_list *const out = list;
    plans_entry question = {.degrees = plait_degrees_init()};
    json_cursor plans, plan;

    PLAIT_TRY(json_keys_among(root, root_keys, err));
    if (!json_has(root, out->key))
        return PLAIT_OK;
    PLAIT_TRY(json_array(root, out->key, &plans, err));
    PLAIT_TRY(plans_read_question(root, arena, &question, err));
    out->entry = plait_arena_alloc(arena, json_count(&plans) + 1, sizeof *out->entry);
    PLAIT_TRY(plait_check_allocated(out->entry, err));
    for (bool more = json_first(&plans, &plan); more; more = json_next(&plan)) {
        plans_entry *const entry = &out->entry[out->count++];

        *entry = question;
        PLAIT_TRY(rank_of(&plan, &entry->rank, err));
        entry->where = plait_arena_printf(arena, "%s:/%s/%zu", root->key, out->key, plan.index);
        PLAIT_TRY(plait_check_allocated(entry->where, err));
        PLAIT_TRY(plans_read_plan(&plan, arena, entry, err));
    }
    return PLAIT_OK;
}

plait_status plans_load_list(const char *path, const char *key, plait_arena *arena,
                             const plans_entry **out, int *count, plait_error *err)
{
    plan_list list = {.key = key};
    const plait_status status = json_load(path, read_all, arena, &list, err);

    *out = list.entry;
    *count = list.count;
    return status;
}

static plait_status read_command(const json_cursor *root, plait_arena *arena, void *command,
                                 plait_error *err)
{
    return json_has(root, "command") ? json_string(root, "command", arena, command, err) : PLAIT_OK;
}

plait_status plans_load_command(const char *path, plait_arena *arena, const char **command,
                                plait_error *err)
{
    *command = NULL;
    return json_load(path, read_command, arena, command, err);
}

/* ---- plans to try ---- */

typedef struct plans_tries {
    int capacity, count;
    int *rank;
} plans_tries;

static plait_status read_tries(const json_cursor *root, plait_arena *arena, void *out,
                               plait_error *err)
{
    static const char *const keys[] = {"rank", "expected_regret", NULL};
    plans_tries *const list = out;
    json_cursor tries, entry;

    (void)arena;
    if (!json_has(root, "tries"))
        return json_fail(root, PLAIT_ERROR_SCHEMA, err,
                         "expected plans to try, as `plait search --try N -o FILE` writes them, "
                         "found none");
    PLAIT_TRY(json_array(root, "tries", &tries, err));
    for (bool more = json_first(&tries, &entry); more; more = json_next(&entry)) {
        PLAIT_TRY(json_keys_among(&entry, keys, err));
        if (list->count == list->capacity)
            return json_fail(&entry, PLAIT_ERROR_RANGE, err,
                             "expected at most %d plans, found more", list->capacity);
        PLAIT_TRY(json_int(&entry, "rank", 1, INT_MAX, &list->rank[list->count++], err));
    }
    return PLAIT_OK;
}

plait_status plans_tried(const char *path, int capacity, int rank[], int *count, plait_arena *arena,
                         plait_error *err)
{
    plans_tries tries = {.capacity = capacity, .rank = rank};
    const plait_status status = json_load(path, read_tries, arena, &tries, err);

    *count = tries.count;
    return status;
}
