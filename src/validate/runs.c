/* runs.c - read a file of measured runs */
#include "plait/validate.h"

#include <math.h>
#include <string.h>

#include "io/csv/csv_table.h"
#include "io/data/data.h"
#include "validate/setup.h"
#include "io/model/model_file.h"
#include "plait/units.h"

const char *const plait_run_outcome_name[PLAIT_RUN_OUTCOMES + 1] = {"ok", "oom", "crash", NULL};

const char *const plait_memory_scope_name[PLAIT_SCOPES + 1] = {
    "none", "max", "rank0", "last_rank", "reserved", "nvidia-smi", NULL,
};

const char *const plait_trust_name[PLAIT_TRUSTS + 1] = {
    "high", "medium", "noisy", "memory-only", "recompute-unknown", "vpp-unknown", "offload", NULL,
};

const char *const plait_run_key_name[PLAIT_RUN_KEYS + 1] = {"source", "sweep", "accelerator",
                                                            "layers", NULL};

static const char *const mlp_name[PLAIT_RUN_MLPS + 1] = {"swiglu", "gelu", "relu2", NULL};

/* ---- columns ---- */

typedef enum column_kind { COLUMN_TEXT, COLUMN_INT, COLUMN_NUMBER, COLUMN_WORD } column_kind;

/*
 * One column. `offset` is the offset of its field in plait_run; read_row() sets the fields of words
 * and of measured numbers without it.
 */
typedef struct run_column {
    const char *title;
    bool required;
    column_kind kind;
    size_t offset;
    int min;
    int max;
} run_column;

#define TEXT(name, required)                                                                       \
    {                                                                                              \
#name, required, COLUMN_TEXT, offsetof(plait_run, name), 0, 0                              \
    }
#define INT(name, required, min, max)                                                              \
    {                                                                                              \
#name, required, COLUMN_INT, offsetof(plait_run, name), min, max                           \
    }
#define APART(name, required, kind)                                                                \
    {                                                                                              \
#name, required, kind, 0, 0, 0                                                             \
    }

static const run_column columns[] = {
    TEXT(id, true),
    TEXT(source, true),
    TEXT(sweep, false),
    TEXT(model, true),
    INT(layers, true, 1, PLAIT_MAX_LAYERS),
    INT(hidden, true, 1, MODEL_MAX_HIDDEN),
    INT(heads, true, 1, MODEL_MAX_HEADS),
    INT(kv_heads, false, 1, MODEL_MAX_HEADS),
    INT(head_dim, false, 1, MODEL_MAX_HEAD_DIM),
    INT(ffn_hidden, true, 1, MODEL_MAX_WIDTH),
    APART(mlp, true, COLUMN_WORD),
    INT(vocab, true, 1, MODEL_MAX_VOCAB),
    INT(experts, false, 0, MODEL_MAX_EXPERTS),
    INT(topk, false, 0, MODEL_MAX_EXPERTS),
    INT(moe_ffn, false, 0, MODEL_MAX_WIDTH),
    INT(seq_len, true, 1, PLAIT_MAX_SEQ),
    TEXT(accelerator, true),
    APART(nic_gbps, false, COLUMN_NUMBER),
    INT(gpus, true, 1, PLAIT_MAX_GPUS),
    INT(gpus_per_node, false, 1, PLAIT_MAX_DEGREE),
    TEXT(framework, false),
    TEXT(runtime, true),
    TEXT(precision, true),
    INT(tp, true, 1, PLAIT_MAX_DEGREE),
    INT(pp, true, 1, PLAIT_MAX_DEGREE),
    INT(cp, false, 1, PLAIT_MAX_DEGREE),
    INT(ep, false, 1, PLAIT_MAX_DEGREE),
    INT(dp, false, 1, PLAIT_MAX_GPUS),
    INT(vpp, false, 1, PLAIT_MAX_DEGREE),
    INT(sp, false, 0, 1),
    INT(zero, false, 0, 3),
    INT(shard_group, false, 1, PLAIT_MAX_GPUS),
    INT(mbs, true, 1, PLAIT_MAX_DEGREE),
    INT(gbs, true, 1, PLAIT_MAX_GBS),
    TEXT(recompute, false),
    TEXT(attention, false),
    APART(outcome, true, COLUMN_WORD),
    APART(step_time_s, true, COLUMN_NUMBER),
    APART(mem_peak_gib, false, COLUMN_NUMBER),
    APART(mem_scope, false, COLUMN_WORD),
    APART(trust, false, COLUMN_WORD),
    TEXT(notes, false),
};

enum { COLUMNS = sizeof columns / sizeof *columns };

/* ---- rows ---- */

static plait_status read_row(const csv_table *table, size_t row, plait_arena *arena, plait_run *out,
                             plait_error *err)
{
    int mlp = PLAIT_RUN_SWIGLU, outcome = PLAIT_RUN_OK, scope = PLAIT_SCOPE_NONE;
    int trust = PLAIT_TRUST_HIGH;
    double peak_gib = (double)NAN;
    const struct {
        const char *title;
        const char *const *words;
        int *index;
    } words[] = {{"mlp", mlp_name, &mlp},
                 {"outcome", plait_run_outcome_name, &outcome},
                 {"mem_scope", plait_memory_scope_name, &scope},
                 {"trust", plait_trust_name, &trust}};
    const struct {
        const char *title;
        double min, max, *number;
    } numbers[] = {{"nic_gbps", 1e-3, 1e6, &out->nic_gbps},
                   {"step_time_s", 1e-6, 1e9, &out->step_s},
                   {"mem_peak_gib", 1e-9, 1e9, &peak_gib}};

    *out = (plait_run){.line = table->line[row], .sp = -1, .zero = -1, .step_s = (double)NAN};
    for (const run_column *column = columns; column < columns + COLUMNS; column++) {
        char *const field = (char *)out + column->offset;
        const int at = csv_table_column(table, column->title);

        if (column->kind == COLUMN_TEXT) {
            const char *const text = csv_table_text(table, row, at);

            memcpy(field, &text, sizeof text);
        } else if (column->kind == COLUMN_INT) {
            int number;

            memcpy(&number, field, sizeof number);
            PLAIT_TRY(csv_table_int(table, row, at, column->min, column->max, &number, err));
            memcpy(field, &number, sizeof number);
        }
    }
    // Replace the runtime name of an earlier version by today's name and a note on gradient
    // synchronisation.
    const runtime_alias *const alias = runtime_alias_find(out->runtime);
    if (alias != NULL) {
        out->runtime = alias->runtime;
        out->notes = plait_arena_printf(arena, "grad-sync=%s %s",
                                        plait_grad_sync_name[alias->grad_sync], out->notes);
        PLAIT_TRY(plait_check_allocated(out->notes, err));
    }
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        PLAIT_TRY(csv_table_word(table, row, csv_table_column(table, words[w].title),
                                 words[w].words, words[w].index, err));
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        PLAIT_TRY(csv_table_number(table, row, csv_table_column(table, numbers[n].title),
                                   numbers[n].min, numbers[n].max, numbers[n].number, err));
    out->mlp = (plait_run_mlp)mlp;
    out->outcome = (plait_run_outcome)outcome;
    out->scope = (plait_memory_scope)scope;
    out->trust = (plait_trust)trust;
    out->peak_bytes = peak_gib * PLAIT_GIB;
    return PLAIT_OK;
}

/* ---- a row that a program made ---- */

/* Returns whether a figure is valid: positive and finite, or NaN if it was not measured. */
static bool is_measured(double figure)
{
    return isnan(figure) || (figure > 0.0 && isfinite(figure));
}

plait_status runs_check_row(const plait_run *run, plait_error *err)
{
    for (const run_column *column = columns; column < columns + COLUMNS; column++) {
        const char *const field = (const char *)run + column->offset;
        const char *text = "";
        int number = 0;

        if (column->kind == COLUMN_TEXT)
            memcpy(&text, field, sizeof text);
        else if (column->kind == COLUMN_INT)
            memcpy(&number, field, sizeof number);
        if (text == NULL || (number != 0 && (number < column->min || number > column->max) &&
                             (number != -1 || column->min != 0)))
            return plait_fail(
                err, PLAIT_ERROR_RANGE, column->title,
                "expected a value within the limits of a file of runs, found another");
    }
    if ((unsigned)run->mlp > PLAIT_RUN_RELU2 || (unsigned)run->outcome >= PLAIT_RUN_OUTCOMES ||
        (unsigned)run->scope >= PLAIT_SCOPES || (unsigned)run->trust >= PLAIT_TRUSTS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "run",
                          "expected valid mlp, outcome, scope and trust, found others");
    if (!is_measured(run->step_s) || !is_measured(run->peak_bytes) || !(run->nic_gbps >= 0.0))
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "run",
            "expected step_s and peak_bytes above 0 (NaN if not measured) and nic_gbps of "
            "0 or more, found others");
    return PLAIT_OK;
}

/* ---- a file ---- */

static plait_status read_rows(const csv_table *table, plait_arena *arena, plait_runs *out,
                              plait_error *err)
{
    plait_run *run = plait_arena_alloc(arena, table->rows, sizeof *run);
    const char *known[COLUMNS + 1] = {NULL};

    for (size_t c = 0; c < COLUMNS; c++)
        known[c] = columns[c].title;
    PLAIT_TRY(csv_table_among(table, known, err));
    for (size_t c = 0; c < COLUMNS; c++)
        if (columns[c].required && csv_table_column(table, columns[c].title) < 0)
            return plait_fail(err, PLAIT_ERROR_SCHEMA, table->name,
                              "expected a column \"%s\", found none", columns[c].title);
    PLAIT_TRY(plait_check_allocated(run, err));
    for (size_t row = 0; row < table->rows; row++)
        PLAIT_TRY(read_row(table, row, arena, &run[row], err));
    *out = (plait_runs){.name = table->name, .count = table->rows, .run = run};
    return PLAIT_OK;
}

plait_status plait_runs_load(const char *path, plait_arena *arena, plait_runs *out,
                             plait_error *err)
{
    csv_table table;

    PLAIT_TRY(csv_table_read(path, arena, &table, err));
    return read_rows(&table, arena, out, err);
}

plait_status plait_runs_parse(const char *text, size_t length, const char *name, plait_arena *arena,
                              plait_runs *out, plait_error *err)
{
    csv_table table;

    PLAIT_TRY(csv_table_parse(text, length, name, arena, &table, err));
    return read_rows(&table, arena, out, err);
}

bool plait_run_timed(const plait_run *run)
{
    return isfinite(run->step_s) && run->outcome == PLAIT_RUN_OK &&
           (run->trust == PLAIT_TRUST_HIGH || run->trust == PLAIT_TRUST_MEDIUM);
}
