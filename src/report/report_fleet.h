/* report_fleet.h - the fleet that serves the requests of a day, for people and for machines */
#pragma once

#include <stdio.h>

#include "plait/serve.h"

typedef struct report_fleet {
    const plait_serve_question *question;
    const plait_fleet_ask *ask;
    const plait_fleet_answer *answer;
} report_fleet;

/** Parts of it: what was asked, and the fleet in some lines; without one, what stands in its way. */
void report_fleet_question(const report_fleet *report, FILE *out);
void report_fleet_answer(const report_fleet *report, FILE *out);

/** A figure of both ways to pay: what it is, and its key. */
typedef struct report_fleet_total {
    const char *what, *key;
    double value[PLAIT_FLEET_MODES];
} report_fleet_total;

enum { REPORT_FLEET_TOTALS = 5 };

void report_fleet_totals(const report_fleet *report, report_fleet_total out[REPORT_FLEET_TOTALS]);

/** "tp 8", "tp 4 : dp 8 ep 8": workers without their number. */
void report_fleet_workers(const plait_fleet *fleet, char text[160]);

/** "9", "3 : 12": how many of each role. */
void report_fleet_counts(const plait_fleet *fleet, const plait_fleet_hour *hour, char text[48]);

/** What a fleet has that the first has not: "+5.0 %, 1 node more". */
void report_fleet_lacks(const report_fleet *report, int rank, char text[160]);

/** The question, the fleet, its hours, the runners-up. */
PLAIT_MUST_CHECK plait_status report_fleet_print(const report_fleet *report, FILE *out,
                                                 plait_error *err);

/** The document of `plait capacity --serve --json`. *text lives in `arena`. */
PLAIT_MUST_CHECK plait_status json_fleet(const report_fleet *report, plait_arena *arena,
                                         const char **text, size_t *length, plait_error *err);
