/* report_fleet.h - prints the fleet that serves the requests of a day, as text and as JSON */
#pragma once

#include <stdio.h>

#include "io/json/json_write.h"
#include "plait/serve.h"

typedef struct report_fleet {
    const plait_serve_options *question;
    const plait_fleet_options *ask;
    const plait_fleet_answer *answer;
} report_fleet;

/** Print the question, and the fleet or the reason why none is found. */
void report_fleet_question(const report_fleet *report, FILE *out);
void report_fleet_answer(const report_fleet *report, FILE *out);

/** One figure of the fleet in both payment modes, with its title and its JSON key. */
typedef struct report_fleet_total {
    const char *what, *key;
    double value[PLAIT_FLEET_MODES];
} report_fleet_total;

enum { REPORT_FLEET_TOTALS = 5 };

void report_fleet_totals(const report_fleet *report, report_fleet_total out[REPORT_FLEET_TOTALS]);

/** Writes the degrees of the workers, without their number: "tp 8", "tp 4 : dp 8 ep 8". */
void report_fleet_workers(const plait_fleet *fleet, char text[160]);

/** Writes the number of workers of each role: "9", "3 : 12". */
void report_fleet_counts(const plait_fleet *fleet, const plait_fleet_hour *hour, char text[48]);

/** Writes how a fleet differs from the first one: "+5.0 %, +1 node; decode binds". */
void report_fleet_lacks(const report_fleet *report, int rank, char text[160]);

/** Prints the question, the fleet, its hours and other fleets. */
PLAIT_MUST_CHECK plait_status report_fleet_print(const report_fleet *report, FILE *out,
                                                 plait_error *err);

/** Writes the document of `plait capacity --serve --json`. */
void json_fleet(json_writer *json, const report_fleet *report);
