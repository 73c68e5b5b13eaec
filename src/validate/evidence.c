/* evidence.c - read and write the file with ratios of measured over predicted values */
#include "plait/validate.h"

#include <string.h>

#include "io/csv/csv_table.h"
#include "plait/data.h"
#include "base/text.h"

const char *const plait_narrowest_name[PLAIT_NARROWESTS + 1] = {"fp16", "bf16", "fp8", "fp4", NULL};

/* Indices of the columns. */
enum {
    TITLE_OF,
    TITLE_SOURCE,
    TITLE_SWEEP,
    TITLE_RUNTIME,
    TITLE_RULES,
    TITLE_NARROWEST,
    TITLE_GPUS,
    TITLE_EXPERTS,
    TITLE_CALIBRATED,
    TITLE_TRAITS, /* the first of all traits */
    TITLE_LEFT_OUT = TITLE_TRAITS + PLAIT_TRAITS,
    TITLE_SHIPPED,
    TITLE_RACK,
    TITLE_JOB,
    TITLE_PLAN,
    TITLES
};

static const char *const titles[TITLES + 1] = {
    [TITLE_OF] = "of",
    [TITLE_SOURCE] = "source",
    [TITLE_SWEEP] = "sweep",
    [TITLE_RUNTIME] = "runtime",
    [TITLE_RULES] = "rules",
    [TITLE_NARROWEST] = "narrowest",
    [TITLE_GPUS] = "gpus",
    [TITLE_EXPERTS] = "experts",
    [TITLE_CALIBRATED] = "calibrated",
    [TITLE_TRAITS] = "tp",
    "pp",
    "vpp",
    "mbs",
    "zero3",
    "recompute",
    [TITLE_LEFT_OUT] = "left_out",
    [TITLE_SHIPPED] = "shipped",
    [TITLE_RACK] = "rack",
    [TITLE_JOB] = "job",
    [TITLE_PLAN] = "plan",
};

/* Values of column `of`, which is the quantity of a row: step time or memory. */
static const char *const subjects[] = {"step", "memory", NULL};
enum { OF_STEP, OF_MEMORY, SUBJECTS };

static plait_status int_of(const csv_table *table, size_t row, int column, int min, int max,
                           int *out, plait_error *err)
{
    *out = min;
    return csv_table_int(table, row, column, min, max, out, err);
}

/* Reads a ratio of measured over predicted, and clamps it to the range 1/1000 to 1000. */
static plait_status ratio_of(const csv_table *table, size_t row, int column, double *out,
                             plait_error *err)
{
    *out = 1.0;
    return csv_table_number(table, row, column, 1e-3, 1e3, out, err);
}

static plait_status read_row(const csv_table *table, size_t row, const int column[TITLES],
                             plait_evidence_row *out, plait_error *err)
{
    int narrowest = PLAIT_NARROWEST_BF16, rules = PLAIT_RULES_GENERIC, experts, calibrated, rack;

    out->source = csv_table_text(table, row, column[TITLE_SOURCE]);
    out->sweep = csv_table_text(table, row, column[TITLE_SWEEP]);
    out->regime.runtime = csv_table_text(table, row, column[TITLE_RUNTIME]);
    PLAIT_TRY(csv_table_word(table, row, column[TITLE_RULES], plait_rules_name, &rules, err));
    PLAIT_TRY(
        csv_table_word(table, row, column[TITLE_NARROWEST], plait_narrowest_name, &narrowest, err));
    PLAIT_TRY(int_of(table, row, column[TITLE_GPUS], 1, 1 << 24, &out->regime.gpus, err));
    PLAIT_TRY(int_of(table, row, column[TITLE_EXPERTS], 0, 1, &experts, err));
    PLAIT_TRY(int_of(table, row, column[TITLE_CALIBRATED], 0, 1, &calibrated, err));
    for (int t = 0; t < PLAIT_TRAITS; t++)
        PLAIT_TRY(int_of(table, row, column[TITLE_TRAITS + t], 0, 1 << 24, &out->trait[t], err));
    PLAIT_TRY(int_of(table, row, column[TITLE_RACK], 0, 1, &rack, err));
    out->job = csv_table_text(table, row, column[TITLE_JOB]);
    out->plan = csv_table_text(table, row, column[TITLE_PLAN]);
    PLAIT_TRY(ratio_of(table, row, column[TITLE_LEFT_OUT], &out->left_out, err));
    PLAIT_TRY(ratio_of(table, row, column[TITLE_SHIPPED], &out->shipped, err));
    out->regime.rules = (plait_rules)rules;
    out->regime.narrowest = (plait_narrowest)narrowest;
    out->regime.experts = experts == 1;
    out->regime.calibrated = calibrated == 1;
    out->regime.rack = rack == 1;
    return PLAIT_OK;
}

/* Reads the rows into two lists, one per subject. */
static plait_status read_table(const csv_table *table, plait_arena *arena, plait_evidence *out,
                               plait_error *err)
{
    plait_evidence_row *row[SUBJECTS];
    size_t count[SUBJECTS] = {0};
    int column[TITLES];

    PLAIT_TRY(csv_table_among(table, titles, err));
    // Older files lack columns of traits and plans. All plans then have the same value of the trait,
    // and support no technique.
    for (int i = 0; i < TITLES; i++) {
        column[i] = csv_table_column(table, titles[i]);
        if (column[i] < 0 && text_index(titles[i], plait_trait_name) < 0 &&
            strcmp(titles[i], "rack") != 0 && strcmp(titles[i], "job") != 0 &&
            strcmp(titles[i], "plan") != 0)
            return plait_fail(err, PLAIT_ERROR_SCHEMA, table->name,
                              "expected a column \"%s\", found none", titles[i]);
    }
    for (int s = 0; s < SUBJECTS; s++)
        if ((row[s] = plait_arena_alloc(arena, table->rows + 1, sizeof **row)) == NULL)
            return plait_fail_nomem(err);
    for (size_t i = 0; i < table->rows; i++) {
        int of = OF_STEP;

        PLAIT_TRY(csv_table_word(table, i, column[TITLE_OF], subjects, &of, err));
        PLAIT_TRY(read_row(table, i, column, &row[of][count[of]++], err));
    }
    *out = (plait_evidence){count[OF_STEP], row[OF_STEP], count[OF_MEMORY], row[OF_MEMORY]};
    return PLAIT_OK;
}

plait_status plait_evidence_load(const char *path, plait_arena *arena, plait_evidence *out,
                                 plait_error *err)
{
    csv_table table;

    PLAIT_TRY(csv_table_read(path, arena, &table, err));
    return read_table(&table, arena, out, err);
}

plait_status plait_evidence_parse(const char *text, size_t length, const char *name,
                                  plait_arena *arena, plait_evidence *out, plait_error *err)
{
    csv_table table;

    PLAIT_TRY(csv_table_parse(text, length, name, arena, &table, err));
    return read_table(&table, arena, out, err);
}

plait_status plait_evidence_find(plait_arena *arena, plait_evidence *out, plait_error *err)
{
    const char *path;

    *out = (plait_evidence){0};
    PLAIT_TRY(plait_data_file("clusters/evidence.csv", arena, &path, err));
    return path != NULL ? plait_evidence_load(path, arena, out, err) : PLAIT_OK;
}

/* ---- writing ---- */

/* Appends a quoted cell (RFC 4180) and a comma. */
static void append_cell(text_builder *out, const char *text)
{
    text_append_char(out, '"');
    for (; *text != '\0'; text++)
        text_append(out, *text == '"' ? "\"\"" : (char[]){*text, '\0'});
    text_append(out, "\",");
}

static void append_rows(text_builder *out, const char *of, const plait_evidence_row *row,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        text_append_printf(out, "%s,", of);
        append_cell(out, row[i].source);
        append_cell(out, row[i].sweep);
        append_cell(out, row[i].regime.runtime);
        text_append_printf(out, "%s,%s,%d,%d,%d,", plait_rules_name[row[i].regime.rules],
                           plait_narrowest_name[row[i].regime.narrowest], row[i].regime.gpus,
                           row[i].regime.experts, row[i].regime.calibrated);
        for (int t = 0; t < PLAIT_TRAITS; t++)
            text_append_printf(out, "%d,", row[i].trait[t]);
        text_append_printf(out, "%.4g,%.4g,%d,%s,%s\n", row[i].left_out, row[i].shipped,
                           row[i].regime.rack, row[i].job, row[i].plan);
    }
}

plait_status plait_evidence_text(const plait_evidence *evidence, plait_arena *arena,
                                 const char **text, size_t *length, plait_error *err)
{
    text_builder out;

    text_builder_init(&out, arena);
    for (int i = 0; titles[i] != NULL; i++)
        text_append_printf(&out, "%s%s", i > 0 ? "," : "", titles[i]);
    text_append_char(&out, '\n');
    append_rows(&out, subjects[OF_STEP], evidence->row, evidence->count);
    append_rows(&out, subjects[OF_MEMORY], evidence->memory, evidence->memories);
    *text = text_builder_finish(&out, length);
    return *text != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
