/*
 * timeline_text.c - draws a simulated step in letters: one line per rank, columns of equal time
 *
 *     rank 0  FFFF....BBFBBF ... BBFBB.BBRRO
 *
 * The letter of a column is that of the activity that takes most of its time. If a step is too
 * long, only its beginning and its end are drawn, with columns that are narrow enough to show
 * warm-up and cool-down.
 */
#include <math.h>
#include <string.h>

#include "report/lines.h"
#include "report/timeline.h"
#include "report/units.h"

enum {
    MOST_COLUMNS = 80, /* number of columns; fewer if lines are narrower (lines.h) */
    LEAST_COLUMNS = 12,
    BESIDE = 25, /* width of the texts "  rank 0   " and "  busy 99.9 %" */
    DOTS = 4,    /* width of " .. " between the two ends of a step */
    MOST_RANKS = 8,
    SHOWN_AT_AN_END = 4 /* ranks drawn at each end if there are more than MOST_RANKS */
};

enum { IDLE, FORWARD, BACKWARD, INPUT, WEIGHT, PAIR, REDUCE, OPTIMIZER, GATHER, LETTERS };
static const char letter[LETTERS + 1] = ".FBIWPROG";
static const char *const letter_means[LETTERS] = {
    [IDLE] = "idle",
    [FORWARD] = "forward",
    [BACKWARD] = "backward",
    [INPUT] = "input gradient",
    [WEIGHT] = "weight gradient",
    [PAIR] = "overlapped forward and backward",
    [REDUCE] = "gradient reduction",
    [OPTIMIZER] = "optimizer",
    [GATHER] = "parameter gather",
};

/* The part of a step that the columns show: the whole step, or `half` columns from each end. */
typedef struct window {
    double column_s;
    double end_s; /* time at which the last event ends */
    int columns;  /* number of letters in a line */
    int half;
    bool split;
} window;

typedef struct line_shares {
    double s[MOST_COLUMNS][LETTERS];
} line_shares;

// ---- choice of the columns -----------------------------------------------------------------

static double shortest_forward_s(const plait_sim_result *pipeline)
{
    double shortest_s = HUGE_VAL;

    for (int e = 0; e < pipeline->events; e++) {
        const plait_sim_event *event = &pipeline->event[e];
        if (event->action.kind == PLAIT_ACTION_FORWARD && event->end_s > event->begin_s)
            shortest_s = fmin(shortest_s, event->end_s - event->begin_s);
    }
    return shortest_s;
}

/*
 * Returns the longer of warm-up, which ends when all ranks have begun, and cool-down, which begins
 * when the first rank ends.
 */
static double longer_end_s(const plait_timeline *line)
{
    double begun_s = 0.0, done_s = line->end_s;

    for (int r = 0; r < line->ranks; r++) {
        const plait_sim_rank *rank = &line->pipeline.rank[r];
        if (rank->count == 0)
            continue;
        begun_s = fmax(begun_s, line->pipeline.event[rank->first].begin_s);
        done_s = fmin(done_s, line->pipeline.event[rank->first + rank->count - 1].end_s);
    }
    return fmax(begun_s, line->end_s - done_s);
}

static int columns_of(FILE *out)
{
    const int room = (int)lines_width(out) - BESIDE;

    return room == -BESIDE || room > MOST_COLUMNS ? MOST_COLUMNS
           : room < LEAST_COLUMNS                 ? LEAST_COLUMNS
                                                  : room;
}

static window window_of(const plait_timeline *line, int columns)
{
    const int half = (columns - DOTS) / 2;
    const double all_s = line->end_s / columns;
    const double fine_s =
        fmax(shortest_forward_s(&line->pipeline), 1.25 * longer_end_s(line) / half);

    if (fine_s >= all_s)
        return (window){all_s, line->end_s, columns, half, false};
    return (window){fine_s, line->end_s, 2 * half, half, true};
}

static double column_begin_s(const window *shown, int column)
{
    if (!shown->split || column < shown->half)
        return column * shown->column_s;
    return shown->end_s - (2 * shown->half - column) * shown->column_s;
}

// ---- one rank ------------------------------------------------------------------------------

static void add_between(const window *shown, int first, int end, int what, double begin_s,
                        double end_s, double sign, line_shares *shares)
{
    const double from_s = column_begin_s(shown, first);
    const double last = floor((end_s - from_s) / shown->column_s);
    const double start = floor((begin_s - from_s) / shown->column_s);

    for (int c = start > 0.0 ? first + (int)fmin(start, MOST_COLUMNS) : first;
         c < end && c - first <= last; c++) {
        const double at_s = column_begin_s(shown, c);
        const double inside_s = fmin(end_s, at_s + shown->column_s) - fmax(begin_s, at_s);
        if (inside_s > 0.0)
            shares->s[c][what] += sign * inside_s;
    }
}

static void add_span(const window *shown, int what, double begin_s, double end_s, double sign,
                     line_shares *shares)
{
    const int middle = shown->split ? shown->half : shown->columns;

    add_between(shown, 0, middle, what, begin_s, end_s, sign, shares);
    if (shown->split)
        add_between(shown, shown->half, shown->columns, what, begin_s, end_s, sign, shares);
}

static int letter_of(const plait_action *action)
{
    static const int of_kind[PLAIT_ACTION_KINDS] = {
        [PLAIT_ACTION_FORWARD] = FORWARD,
        [PLAIT_ACTION_BACKWARD] = BACKWARD,
        [PLAIT_ACTION_INPUT] = INPUT,
        [PLAIT_ACTION_WEIGHT] = WEIGHT,
    };

    return action->paired ? PAIR : of_kind[action->kind];
}

/*
 * Returns the letter of a column. Gradient reduction is shown only where the rank computes for at
 * most half of the column or waits for the gradients.
 */
static char letter_at(const plait_timeline *line, const double s[LETTERS], double column_s)
{
    const bool waits = line->sync == PLAIT_SYNC_BULK && s[REDUCE] > 0.5 * column_s;
    double busy_s = 0.0;
    int most = IDLE;

    for (int what = FORWARD; what < LETTERS; what++) {
        if (what == REDUCE)
            continue;
        busy_s += s[what];
        if (s[what] > s[most] || most == IDLE)
            most = s[what] > 0.0 ? what : most;
    }
    if (waits || (busy_s <= 0.5 * column_s && s[REDUCE] > 0.5 * column_s))
        return letter[REDUCE];
    return letter[busy_s > 0.5 * column_s ? most : IDLE];
}

static void print_rank(const plait_timeline *line, int rank, const window *shown,
                       bool seen[LETTERS], FILE *out)
{
    const plait_sim_rank *of = &line->pipeline.rank[rank];
    char text[UNITS_SIZE];
    line_shares shares;
    static const int of_kind[PLAIT_TAIL_KINDS] = {
        [PLAIT_TAIL_REDUCE] = REDUCE,
        [PLAIT_TAIL_OPTIMIZER] = OPTIMIZER,
        [PLAIT_TAIL_GATHER] = GATHER,
    };

    memset(&shares, 0, sizeof shares);
    for (int e = of->first; e < of->first + of->count; e++) {
        const plait_sim_event *event = &line->pipeline.event[e];
        if (!event->action.paired || event->action.kind == PLAIT_ACTION_FORWARD)
            add_span(shown, letter_of(&event->action), event->begin_s, event->end_s, 1.0, &shares);
    }
    for (int e = 0; e < line->tails; e++)
        if (line->tail[e].rank == rank)
            add_span(shown, of_kind[line->tail[e].kind], line->tail[e].begin_s, line->tail[e].end_s,
                     1.0, &shares);
    fprintf(out, "  rank %-3d ", rank);
    for (int c = 0; c < shown->columns; c++) {
        const char drawn = letter_at(line, shares.s[c], shown->column_s);
        if (shown->split && c == shown->half)
            fputs(" .. ", out);
        fputc(drawn, out);
        seen[strchr(letter, drawn) - letter] = true;
    }
    fprintf(out, "  busy %s\n", units_percent(of->busy_s / line->step_s, text));
}

// ---- the drawing ---------------------------------------------------------------------------

void timeline_text(const plait_timeline *line, FILE *out)
{
    const window shown = window_of(line, columns_of(out));
    const bool all = line->ranks <= MOST_RANKS;
    bool seen[LETTERS] = {false};
    char text[UNITS_SIZE], left[UNITS_SIZE], right[UNITS_SIZE];

    for (int r = 0; r < line->ranks; r++) {
        if (all || r < SHOWN_AT_AN_END || r >= line->ranks - SHOWN_AT_AN_END) {
            print_rank(line, r, &shown, seen, out);
        } else if (r == SHOWN_AT_AN_END) {
            const int end = line->ranks - SHOWN_AT_AN_END;
            double least = 1.0, most = 0.0;
            char low[UNITS_SIZE], high[UNITS_SIZE];

            for (int hidden = r; hidden < end; hidden++) {
                const double busy = line->pipeline.rank[hidden].busy_s / line->step_s;
                least = fmin(least, busy);
                most = fmax(most, busy);
            }
            fprintf(out, "  ranks %d to %d not drawn, busy %s to %s\n", SHOWN_AT_AN_END, end - 1,
                    units_percent(least, low), units_percent(most, high));
        }
    }
    const char *const end = units_seconds(shown.end_s, right);
    if (!shown.split) {
        fprintf(out, "           0%*s\n", shown.columns - 1, end);
    } else {
        units_seconds(shown.half * shown.column_s, left);
        fprintf(out, "           0%*s", shown.half - 1, left);
        units_seconds(column_begin_s(&shown, shown.half), left);
        fprintf(out, "    %-*s%s\n", shown.half - (int)strlen(end), left, end);
    }
    fputs("  ", out);
    for (int what = 0; what < LETTERS; what++)
        if (seen[what])
            fprintf(out, "%c %s, ", letter[what], letter_means[what]);
    fprintf(out, "one column is %s\n", units_seconds(shown.column_s, text));
}

// ---- comparison with the price -------------------------------------------------------------

static void print_difference(const char *what, double s, double step_s, const char *why, FILE *out)
{
    char text[UNITS_SIZE];

    if (fabs(s) < 5e-4 * step_s)
        return;
    fprintf(out, "\n    %s %s%s: %s", what, s > 0.0 ? "+" : "-", units_seconds(fabs(s), text), why);
}

/*
 * Prints the differences between simulation and price: the price adds, for each term, the largest
 * time of any rank; the simulation uses each rank's own times.
 */
void timeline_against(const plait_timeline *line, const plait_cost *cost, FILE *out)
{
    const double priced_s = cost->step_s - cost->step.dp_comm_s - cost->step.optimizer_s;
    char simulated[UNITS_SIZE], price[UNITS_SIZE];

    fprintf(out, "step simulated chunk by chunk: %s, by the cost model: %s",
            units_seconds(line->step_s, simulated), units_seconds(cost->step_s, price));
    print_difference("pipeline", line->pipeline_s - priced_s, cost->step_s,
                     "each send and chunk is simulated, where the cost model has a closed form",
                     out);
    print_difference("gradients", line->sync_s - cost->step.dp_comm_s, cost->step_s,
                     "each rank starts when its own gradients are ready", out);
    fputc('\n', out);
}
