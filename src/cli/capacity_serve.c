/*
 * capacity_serve.c - plait capacity --serve: reads the load of a day and prints the fleet that
 * serves it
 */
#include "cli/capacity_flags.h"

#include <string.h>

#include "cli/command.h"
#include "io/csv/csv_table.h"
#include "report/lines.h"
#include "base/magnitude.h"
#include "page/pages.h"
#include "report/report_fleet.h"

/* Default of --gpus if the cluster has no fixed size. */
static const char most_gpus[] = "65536";

static const double most_rate = 1e9; // in requests/s

static plait_status read_list(const char *text, plait_arena *arena, double rate[PLAIT_FLEET_HOURS],
                              plait_error *err)
{
    char *list = plait_arena_printf(arena, "%s", text);
    int count = 0;

    PLAIT_TRY(plait_check_allocated(list, err));
    for (char *at = list, *next; at != NULL; at = next, count++) {
        double found;

        next = strchr(at, ',');
        if (next != NULL)
            *next++ = '\0';
        if (!magnitude_parse(at, &found) || found < 0.0 || found > most_rate)
            return plait_fail(err, PLAIT_ERROR_RANGE, "--rates",
                              "expected requests a second from 0 to %g for hour %d, found '%.40s'",
                              most_rate, count, at);
        if (count < PLAIT_FLEET_HOURS)
            rate[count] = found;
    }
    if (count != PLAIT_FLEET_HOURS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--rates",
                          "expected a file, or %d numbers with commas between them, found %d",
                          PLAIT_FLEET_HOURS, count);
    return PLAIT_OK;
}

static plait_status read_file(const char *path, plait_arena *arena, double rate[PLAIT_FLEET_HOURS],
                              plait_error *err)
{
    static const char *const known[] = {"hour", "rate", NULL};
    bool seen[PLAIT_FLEET_HOURS] = {false};
    csv_table table;

    PLAIT_TRY(csv_table_read(path, arena, &table, err));
    PLAIT_TRY(csv_table_among(&table, known, err));
    for (int c = 0; known[c] != NULL; c++)
        if (csv_table_column(&table, known[c]) < 0)
            return plait_fail(err, PLAIT_ERROR_SCHEMA, path,
                              "expected the columns hour and rate, found no %s", known[c]);
    for (size_t row = 0; row < table.rows; row++) {
        const int hours = csv_table_column(&table, "hour"),
                  rates = csv_table_column(&table, "rate");
        int hour = -1;

        if (csv_table_text(&table, row, hours)[0] == '\0')
            return csv_table_fail(&table, row, hours, err, "an hour from 0 to 23");
        if (csv_table_text(&table, row, rates)[0] == '\0')
            return csv_table_fail(&table, row, rates, err, "requests a second");
        PLAIT_TRY(csv_table_int(&table, row, hours, 0, PLAIT_FLEET_HOURS - 1, &hour, err));
        if (seen[hour])
            return csv_table_fail(&table, row, hours, err, "each hour once");
        seen[hour] = true;
        PLAIT_TRY(csv_table_number(&table, row, rates, 0.0, most_rate, &rate[hour], err));
    }
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++)
        if (!seen[h])
            return plait_fail(err, PLAIT_ERROR_SCHEMA, path,
                              "expected the hours 0 to %d, found no hour %d", PLAIT_FLEET_HOURS - 1,
                              h);
    return PLAIT_OK;
}

static plait_status read_rates(const capacity_serve *flags, plait_arena *arena,
                               double rate[PLAIT_FLEET_HOURS], plait_error *err)
{
    double flat = 0.0;

    if ((flags->rates == NULL) == (flags->load.rate == NULL))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--rates",
                          "expected --rates or --rate, the requests a second, found %s",
                          flags->rates == NULL ? "neither" : "both");
    if (flags->rates != NULL)
        return flags->rates[strspn(flags->rates, "0123456789.,+-ekKMGB ")] == '\0'
                   ? read_list(flags->rates, arena, rate, err)
                   : read_file(flags->rates, arena, rate, err);
    PLAIT_TRY(magnitude_positive("--rate", flags->load.rate, "requests a second", &flat, err));
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++)
        rate[h] = flat;
    return PLAIT_OK;
}

const char *const capacity_serve_options[] = {"rates",
                                              "availability",
                                              "elastic",
                                              "input",
                                              "output-tokens",
                                              "isl",
                                              "osl",
                                              "lora-adapters",
                                              "turns",
                                              "prefix-hit",
                                              "rate",
                                              "prefix-cached",
                                              "ttft",
                                              "ttft-p95",
                                              "ttft-p99",
                                              "tpot",
                                              "tpot-p95",
                                              "tpot-p99",
                                              "engine",
                                              "weights",
                                              "kv",
                                              "speculate",
                                              "tp",
                                              "pp",
                                              "ep",
                                              "dp-attention",
                                              NULL};

plait_status capacity_serve_run(const capacity_serve *flags, const capacity_flags *run,
                                const opt_operands *operands, const char *output, bool json,
                                plait_arena *arena, bool *no, plait_error *err)
{
    plait_serve_options *const question = plait_arena_alloc(arena, 1, sizeof *question);
    plait_fleet_answer *const answer = plait_arena_alloc(arena, 1, sizeof *answer);
    plait_fleet_options ask;
    serve_flags load = flags->load;
    const report_fleet report = {.question = question, .ask = &ask, .answer = answer};
    json_writer document;
    page *made;

    PLAIT_TRY(plait_check_allocated(question && answer, err));
    plait_serve_options_init(question);
    plait_fleet_options_init(&ask);
    PLAIT_TRY(read_rates(flags, arena, ask.rate, err));
    PLAIT_TRY(capacity_flags_read_fleet(run, &ask.failures, &ask.usd_per_gpu_hour, err));
    if (flags->availability != NULL && (!magnitude_parse(flags->availability, &ask.available) ||
                                        ask.available <= 0.0 || ask.available >= 1.0))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--availability",
                          "expected a share above 0 and below 1, found '%.40s'",
                          flags->availability);
    if (flags->availability != NULL && ask.failures.spares >= 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--availability",
                          "expected --availability or --spares, found both");
    if (flags->elastic)
        ask.mode = PLAIT_FLEET_ELASTIC;
    load.gpus_else = most_gpus;
    PLAIT_TRY(serve_flags_question(&load, operands, arena, question, err));
    PLAIT_TRY(plait_fleet_find(question, &ask, arena, answer, err));
    *no = answer->fleets == 0;
    const bool paged = output != NULL && page_form_of(output) < PAGE_JSON;
    if (paged) {
        PLAIT_TRY(page_of_fleet(&report, operands->line, arena, &made, err));
        PLAIT_TRY(command_page_write(made, output, err));
    }
    if (json || (output != NULL && !paged)) {
        command_begin_json(&document, arena);
        json_fleet(&document, &report);
        PLAIT_TRY(command_deliver_json(&document, paged ? NULL : output, json, err));
    }
    return json ? PLAIT_OK : report_fleet_print(&report, lines_out(), err);
}
