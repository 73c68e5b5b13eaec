/*
 * test_starts.c - memory that serving engines printed when they started, and its prediction; the
 * errors are printed, and their medians are bounded
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "io/csv/csv_table.h"
#include "plait/data.h"
#include "plait/units.h"
#include "report/report_table.h"
#include "support/assert_near.h"
#include "validate/starts.h"

enum { MOST_ROWS = 400 };

typedef struct errors {
    double value[MOST_ROWS]; /* absolute relative errors */
    int count;
} errors;

typedef struct reader {
    csv_table table;
    size_t row;
    plait_arena *arena;
    plait_error err;
} reader;

static const char *text_of(const reader *r, const char *title)
{
    const int column = csv_table_column(&r->table, title);

    assert_true(column >= 0);
    return csv_table_text(&r->table, r->row, column);
}

/* Returns the number in a cell; 0 if it is empty. */
static double number_of(const reader *r, const char *title)
{
    const char *const text = text_of(r, title);
    double number = 0.0;

    if (text[0] != '\0')
        assert_true(text_parse_number(text, &number) && number > 0.0);
    return number;
}

static const char *word_of(const reader *r, const char *title)
{
    const char *const text = text_of(r, title);

    return text[0] != '\0' ? text : NULL;
}

static start_log log_of(const reader *r)
{
    static const char *const samplers[START_SAMPLERS + 1] = {"", "flashinfer", "native", NULL};
    const int kind = text_index(text_of(r, "engine"), plait_engine_name);
    const int sampler = text_index(text_of(r, "sampler"), samplers);

    assert_true(kind >= 0 && sampler >= 0);
    return (start_log){
        .kind = (plait_engine_kind)kind,
        .version = word_of(r, "version"),
        .model = text_of(r, "model"),
        .quantization = word_of(r, "quantization"),
        .tp = (int)number_of(r, "tp"),
        .pp = (int)number_of(r, "pp"),
        .dp = (int)number_of(r, "dp"),
        .fp8_cache = text_equal(text_of(r, "kv"), "fp8"),
        .sampler = (start_sampler)sampler,
        .memory_fraction = number_of(r, "memory_fraction"),
        .chunk_tokens = number_of(r, "max_num_batched_tokens"),
        .max_sequences = number_of(r, "max_num_seqs"),
        .request_tokens = number_of(r, "max_model_len"),
        .weight_bytes = number_of(r, "weights_gib") * PLAIT_GIB,
        .activation_bytes = number_of(r, "activation_gib") * PLAIT_GIB,
        .cache_bytes = number_of(r, "cache_gib") * PLAIT_GIB,
        .cache_tokens = number_of(r, "tokens"),
        .concurrency = number_of(r, "concurrency"),
    };
}

/* Appends predicted over measured to the table's row, and its error to the list. */
static void add_ratio(table *rows, double predicted, double measured, errors *to)
{
    if (measured > 0.0) {
        table_cell(rows, "%.3f", predicted / measured);
        to->value[to->count++] = fabs(predicted / measured - 1.0);
    } else {
        table_cell(rows, "-");
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_of(errors *of)
{
    assert_true(of->count > 0);
    qsort(of->value, (size_t)of->count, sizeof *of->value, compare);
    return 0.5 * (of->value[(of->count - 1) / 2] + of->value[of->count / 2]);
}

static void add_row(reader *r, table *rows, errors *weights, errors *cache, errors *tokens)
{
    const start_log log = log_of(r);
    plait_model *const model = plait_arena_alloc(r->arena, 1, sizeof *model);
    plait_cluster *const cluster = plait_arena_alloc(r->arena, 1, sizeof *cluster);
    const char *warning, *const gpu = text_of(r, "accelerator");
    char spec[128];
    start_prediction is;

    assert_true(model != NULL && cluster != NULL);
    snprintf(spec, sizeof spec, "%s:1x8", gpu);
    assert_int_equal(plait_model_find(log.model, r->arena, model, &warning, &r->err), PLAIT_OK);
    assert_int_equal(plait_cluster_find(spec, r->arena, cluster, &r->err), PLAIT_OK);
    const plait_status status =
        start_predict(&log, word_of(r, "profile"), model, cluster, r->arena, &is, &r->err);
    if (status != PLAIT_OK)
        fail_msg("%s: %s: %s", log.model, r->err.where, r->err.message);
    table_cell(rows, "%s", model->name);
    table_cell(rows, "%s", gpu);
    table_cell(rows, "%s", is.engine.name);
    table_cell(rows, "%d", log.tp);
    table_cell(rows, "%d", log.pp);
    add_ratio(rows, is.start.weight_bytes, log.weight_bytes, weights);
    add_ratio(rows, is.start.activation_bytes, log.activation_bytes, &(errors){.count = 0});
    add_ratio(rows, is.start.cache_bytes, log.cache_bytes, cache);
    add_ratio(rows, is.start.cache_tokens, log.cache_tokens, tokens);
    add_ratio(rows, is.start.concurrency, log.request_tokens > 0.0 ? log.concurrency : 0.0,
              &(errors){.count = 0});
}

static void test_starts__agree_with_what_engines_printed(void **state)
{
    static errors weights, cache, tokens;
    reader r = {.arena = plait_arena_new()};
    table *rows = table_new("model|accelerator|profile|>tp|>pp|>weights|>activations|>cache|"
                            ">tokens|>requests");

    (void)state;
    assert_non_null(r.arena);
    assert_int_equal(csv_table_read("tests/validation/starts.csv", r.arena, &r.table, &r.err),
                     PLAIT_OK);
    assert_true(r.table.rows >= 10 && r.table.rows <= MOST_ROWS);
    for (r.row = 0; r.row < r.table.rows; r.row++)
        add_row(&r, rows, &weights, &cache, &tokens);
    printf("predicted over measured\n");
    assert_int_equal(table_print(rows, 0, stdout, &r.err), PLAIT_OK);
    printf("median error: weights %.1f %% of %d, cache %.1f %% of %d, tokens %.1f %% of %d\n",
           100.0 * median_of(&weights), weights.count, 100.0 * median_of(&cache), cache.count,
           100.0 * median_of(&tokens), tokens.count);
    assert_true(median_of(&weights) <= 0.02);
    assert_true(median_of(&cache) <= 0.05);
    assert_true(median_of(&tokens) <= 0.05);
    plait_arena_free(r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts__agree_with_what_engines_printed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
