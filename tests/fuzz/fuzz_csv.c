/* fuzz_csv.c - any bytes as a table, as measured runs and as evidence; what is accepted is whole */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/csv/csv_table.h"
#include "plait/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Pricing takes a while, a fuzzer has none to waste. */
enum { MOST_RUNS = 8, MOST_STAGES = 256 };

static void check_table(const csv_table *table)
{
    assert(table->columns > 0 && table->title[table->columns] == NULL);
    for (size_t c = 0; c < table->columns; c++)
        assert(csv_table_column(table, table->title[c]) == (int)c);
    for (size_t row = 0; row < table->rows; row++) {
        assert(table->line[row] > (row > 0 ? table->line[row - 1] : 1));
        for (size_t c = 0; c < table->columns; c++)
            assert(csv_table_text(table, row, (int)c) != NULL);
    }
}

static void check_runs(const plait_runs *runs, plait_arena *arena)
{
    plait_validation validation;
    plait_error err;

    for (size_t i = 0; i < runs->count; i++)
        if (runs->run[i].pp > MOST_STAGES)
            return;
    if (runs->count > MOST_RUNS)
        return;
    assert(plait_validate(runs, arena, &validation, &err) == PLAIT_OK);
    for (size_t i = 0; i < runs->count; i++) {
        const plait_run_price *const price = &validation.price[i];

        assert(price->note != NULL);
        assert(price->priced ? isfinite(price->cost.step_s) && price->cost.step_s > 0.0
                             : price->note[0] != '\0');
    }
}

static void check_evidence(const plait_evidence *evidence, plait_arena *arena)
{
    const plait_regime regime = {
        "megatron", PLAIT_RULES_MEGATRON, PLAIT_NARROWEST_FP8, 64, false, true, false};
    plait_error err;
    plait_band band;
    double tie;

    if (plait_evidence_band(evidence, &regime, NULL, arena, &band, &err) != PLAIT_OK ||
        plait_evidence_tie(evidence, &regime, arena, &tie, &err) != PLAIT_OK)
        abort();
    assert(isfinite(band.low) && isfinite(band.high) && band.low <= band.high);
    assert(band.high <= 0.0 || (band.low < 1.0 && band.high > 1.0));
    assert(isfinite(tie) && (tie >= 1.0 || !(tie > 0.0)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    csv_table table;
    plait_runs runs;
    plait_evidence evidence;

    assert(arena != NULL);
    if (csv_table_parse((const char *)data, size, "input", arena, &table, &err) == PLAIT_OK)
        check_table(&table);
    else
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    if (plait_runs_parse((const char *)data, size, "input", arena, &runs, &err) == PLAIT_OK)
        check_runs(&runs, arena);
    else
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    if (plait_evidence_parse((const char *)data, size, "input", arena, &evidence, &err) == PLAIT_OK)
        check_evidence(&evidence, arena);
    plait_arena_free(arena);
    return 0;
}
