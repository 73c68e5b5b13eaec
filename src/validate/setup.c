/* setup.c - convert a row of a file of runs to a problem: cluster, runtime, job */
#include "validate/setup.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/data/data.h"
#include "io/runtime/runtime_file.h"

/* ---- the cache of named files ---- */

typedef struct library_item {
    struct library_item *next;
    library_kind kind;
    const char *name;
    const void *value; /* NULL: loading failed with `err` */
    plait_error err;   /* valid if value is NULL */
} library_item;

static plait_status load_value(library *shelf, library_kind kind, const char *name, void *value,
                               plait_error *err)
{
    if (value == NULL)
        return plait_fail_nomem(err);
    if (data_is_path(name)) // a cell of a table must not open other files
        return plait_fail(err, PLAIT_ERROR_RANGE, name, "expected a name, found a path");
    switch (kind) {
    case LIBRARY_CLUSTER:
        return plait_cluster_synthetic(name, shelf->arena, value, err);
    case LIBRARY_ACCELERATOR:
        return plait_accelerator_find(name, shelf->arena, value, err);
    case LIBRARY_RUNTIME:
        return runtime_find_of_run(name, shelf->arena, value, err);
    default:
        return plait_model_find(name, shelf->arena, value, NULL, err);
    }
}

static plait_status find_item(library *shelf, library_kind kind, const char *name,
                              library_item **out, plait_error *err)
{
    static const size_t size[LIBRARY_KINDS] = {sizeof(plait_cluster), sizeof(plait_accelerator),
                                               sizeof(plait_runtime), sizeof(plait_model)};
    library_item *item = shelf->first;

    while (item != NULL && (item->kind != kind || strcmp(item->name, name) != 0))
        item = item->next;
    if (item == NULL) {
        item = plait_arena_alloc(shelf->arena, 1, sizeof *item);
        PLAIT_TRY(plait_check_allocated(item, err));
        *item = (library_item){
            .next = shelf->first, .kind = kind, .name = plait_arena_text(shelf->arena, name)};
        PLAIT_TRY(plait_check_allocated(item->name, err));
        void *const value = plait_arena_alloc(shelf->arena, 1, size[kind]);
        const plait_status status = load_value(shelf, kind, item->name, value, &item->err);
        PLAIT_TRY(faults_only(status, &item->err, err));
        item->value = status == PLAIT_OK ? value : NULL;
        shelf->first = item;
    }
    if (item->value == NULL)
        return plait_fail(err, item->err.status, item->err.where, "%s", item->err.message);
    *out = item;
    return PLAIT_OK;
}

const void *library_find(library *shelf, library_kind kind, const char *name, plait_error *err)
{
    library_item *item = NULL;

    return find_item(shelf, kind, name, &item, err) == PLAIT_OK ? item->value : NULL;
}

/* ---- notes ---- */

void setup_note(setup *at, const char *fmt, ...)
{
    char phrase[320];
    va_list args;

    va_start(args, fmt);
    text_format_list(phrase, sizeof phrase, fmt, args);
    va_end(args);
    if (at->note.length > 0)
        text_append(&at->note, "; ");
    text_append(&at->note, phrase);
}

bool setup_same_job(const plait_run *a, const plait_run *b)
{
    return strcmp(a->model, b->model) == 0 && a->layers == b->layers &&
           strcmp(a->accelerator, b->accelerator) == 0 && a->nic_gbps == b->nic_gbps &&
           a->gpus == b->gpus && a->gpus_per_node == b->gpus_per_node && a->seq_len == b->seq_len &&
           a->gbs == b->gbs && strcmp(a->precision, b->precision) == 0 &&
           setup_has_word(a, "no-mtp") == setup_has_word(b, "no-mtp");
}

/* Returns the next word of a note, or NULL. Blanks, commas and semicolons separate words. */
static const char *next_word(const char *text, size_t *length)
{
    static const char between[] = " \t,;";

    text += strspn(text, between);
    *length = strcspn(text, between);
    return *length > 0 ? text : NULL;
}

bool setup_has_word(const plait_run *run, const char *word)
{
    size_t length;

    for (const char *at = run->notes; (at = next_word(at, &length)) != NULL; at += length)
        if (length == strlen(word) && strncmp(at, word, length) == 0)
            return true;
    return false;
}

bool setup_value(const plait_run *run, const char *key, char *text, size_t size)
{
    const size_t key_length = strlen(key);
    size_t length;

    for (const char *at = run->notes; (at = next_word(at, &length)) != NULL; at += length) {
        if (length <= key_length || strncmp(at, key, key_length) != 0 || at[key_length] != '=')
            continue;
        snprintf(text, size, "%.*s", (int)(length - key_length - 1), at + key_length + 1);
        return true;
    }
    return false;
}

/* ---- cluster ---- */

static plait_status setup_cluster(setup *at, plait_problem *out, plait_error *err)
{
    const plait_run *const run = at->run;
    plait_cluster *cluster = plait_arena_alloc(at->arena, 1, sizeof *cluster);
    const plait_accelerator *accelerator;
    const plait_cluster *whole;
    char text[200], number[TEXT_NUMBER_SIZE];
    int node = run->gpus_per_node;

    PLAIT_TRY(plait_check_allocated(cluster, err));
    if (strpbrk(run->accelerator, ":,") != NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "accelerator",
                          "expected a name that `plait clusters` lists, found \"%.60s\"",
                          run->accelerator);
    if (node <= 0) {
        accelerator = library_find(at->shelf, LIBRARY_ACCELERATOR, run->accelerator, err);
        if (accelerator == NULL)
            return err->status;
        node = accelerator->gpus_per_node;
        setup_note(at, "gpus_per_node not given, assumed %d", node);
    }
    snprintf(text, sizeof text, "%.120s:%dx%d%s%s", run->accelerator, (run->gpus + node - 1) / node,
             node, run->nic_gbps > 0.0 ? ",nic=" : "",
             run->nic_gbps > 0.0 ? text_number(run->nic_gbps, number) : "");
    whole = library_find(at->shelf, LIBRARY_CLUSTER, text, err);
    if (whole == NULL)
        return err->status;
    *cluster = *whole;
    PLAIT_TRY(plait_cluster_take(cluster, run->gpus, err));
    out->cluster = cluster;
    return PLAIT_OK;
}

/* ---- job ---- */

plait_status setup_need(int number, const char *title, plait_error *err)
{
    if (number > 0)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_SCHEMA, title, "expected a number, found nothing");
}

plait_status setup_word(const char *title, const char *word, const char *const *words, int *out,
                        plait_error *err)
{
    *out = text_index(word, words);
    if (*out < 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, title, "expected a known %s, found \"%.60s\"",
                          title, word);
    return PLAIT_OK;
}

plait_status setup_problem(setup *at, plait_problem *out, plait_error *err)
{
    const plait_run *const run = at->run;
    int precision = PLAIT_BF16;

    PLAIT_TRY(setup_need(run->seq_len, "seq_len", err));
    PLAIT_TRY(setup_need(run->gbs, "gbs", err));
    PLAIT_TRY(setup_need(run->gpus, "gpus", err));
    PLAIT_TRY(setup_cluster(at, out, err));
    PLAIT_TRY(setup_runtime(at, &out->runtime, err));
    // The cost model has no kernel rates for attention with sinks.
    for (int k = 0; k < out->model->kinds; k++)
        if (out->model->kind[k].mixer == PLAIT_MIXER_ATTENTION &&
            out->model->kind[k].attention.sinks) {
            setup_note(at, "attention sinks are not modelled");
            at->unmodelled = true;
            break;
        }
    if (run->precision[0] != '\0')
        PLAIT_TRY(setup_word("precision", run->precision, plait_precision_name, &precision, err));
    out->job = (plait_job){.tuning = run->tuning,
                           .seq = run->seq_len,
                           .document = run->document,
                           .gbs = run->gbs,
                           .gpus = run->gpus,
                           .precision = (plait_precision)precision};
    return PLAIT_OK;
}
