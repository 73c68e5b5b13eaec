/* timeline.c - writes a simulated step as a trace for Chrome and Perfetto, and as an SVG */
#include "report/timeline.h"

#include "io/json/json_write.h"
#include "report/units.h"

static const char *const kind_name[PLAIT_ACTION_KINDS] = {
    [PLAIT_ACTION_FORWARD] = "forward",
    [PLAIT_ACTION_BACKWARD] = "backward",
    [PLAIT_ACTION_INPUT] = "input gradient",
    [PLAIT_ACTION_WEIGHT] = "weight gradient",
};

static const char *const tail_name[PLAIT_TAIL_KINDS] = {
    [PLAIT_TAIL_REDUCE] = "gradient reduction",
    [PLAIT_TAIL_OPTIMIZER] = "optimizer",
    [PLAIT_TAIL_GATHER] = "parameter gather",
};

/* ---- a trace ---- */

/* Begins an event with a start and a duration ("complete" event), in microseconds. */
static void begin_event(json_writer *json, const char *name, const char *category, int rank,
                        double begin_s, double end_s)
{
    json_begin_object(json);
    JSON_STRINGS(json, {"name", name}, {"cat", category}, {"ph", "X"});
    JSON_NUMBERS(json, {"pid", 0}, {"tid", rank}, {"ts", begin_s * 1e6},
                 {"dur", (end_s - begin_s) * 1e6});
}

static void write_name(json_writer *json, const char *what, int rank, int thread)
{
    char name[48];

    snprintf(name, sizeof name, "stage %d%s", rank, what);
    json_begin_object(json);
    JSON_STRINGS(json, {"name", "thread_name"}, {"ph", "M"});
    JSON_NUMBERS(json, {"pid", 0}, {"tid", thread});
    json_member_object(json, "args");
    json_member_string(json, "name", name);
    json_end_object(json);
    json_end_object(json);
}

plait_status timeline_trace(const plait_timeline *line, plait_arena *arena, const char **text,
                            size_t *length, plait_error *err)
{
    enum { MOST_TRACED = 1000000 }; // events, about 250 MB
    json_writer json;

    if (line->pipeline.events > MOST_TRACED)
        return plait_fail(err, PLAIT_ERROR_RANGE, NULL,
                          "expected at most %d actions, found %d; a smaller --gbs gives the same "
                          "pipeline with fewer microbatches",
                          MOST_TRACED, line->pipeline.events);
    json_writer_init(&json, arena);
    json_begin_object(&json);
    json_member_string(&json, "displayTimeUnit", "ms");
    json_member_array(&json, "traceEvents");
    for (int rank = 0; rank < line->ranks; rank++)
        write_name(&json, "", rank, rank);
    for (int rank = 0; rank < line->ranks; rank++)
        write_name(&json, ", gradients and parameters", rank, line->ranks + rank);
    for (int e = 0; e < line->pipeline.events; e++) {
        const plait_sim_event *const event = &line->pipeline.event[e];
        const plait_action *const action = &event->action;
        char name[48];

        begin_event(&json, plait_action_text(action, name, sizeof name), kind_name[action->kind],
                    event->rank, event->begin_s, event->end_s);
        json_member_object(&json, "args");
        JSON_NUMBERS(&json, {"chunk", action->stage}, {"microbatch", action->microbatch});
        if (action->paired) {
            const plait_sim_exchange *const exchange = &line->exchange[action->stage];
            const bool forward = action->kind == PLAIT_ACTION_FORWARD;

            json_member_bool(&json, "paired", true);
            json_member_number(
                &json, "dispatch_us",
                1e6 * (forward ? exchange->forward_dispatch_s : exchange->backward_dispatch_s));
            json_member_number(
                &json, "combine_us",
                1e6 * (forward ? exchange->forward_combine_s : exchange->backward_combine_s));
        }
        json_end_object(&json);
        json_end_object(&json);
    }
    for (int e = 0; e < line->tails; e++) {
        const plait_tail_event *const event = &line->tail[e];
        const bool computes = event->kind == PLAIT_TAIL_OPTIMIZER;

        begin_event(&json, tail_name[event->kind], computes ? "optimizer" : "dp_comm",
                    event->rank + (computes ? 0 : line->ranks), event->begin_s, event->end_s);
        if (event->stage >= 0) {
            json_member_object(&json, "args");
            json_member_int64(&json, "chunk", event->stage);
            json_end_object(&json);
        }
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}

/* ---- a drawing ---- */

enum {
    LEFT = 64,
    WIDTH = 1080,
    ROW = 22,
    TOP = 34,
    LEGEND = 30,
    LANE = 5, /* height of a rank's communication at the bottom of its row */
    NARROWEST_LABEL = 14,
    MOST_DRAWN = 50000
};

static const char *const kind_colour[PLAIT_ACTION_KINDS] = {
    [PLAIT_ACTION_FORWARD] = "#7fa8d8",
    [PLAIT_ACTION_BACKWARD] = "#e3a857",
    [PLAIT_ACTION_INPUT] = "#e3a857",
    [PLAIT_ACTION_WEIGHT] = "#9fc59a",
};
static const char *const sync_colour = "#b9a3d0", *const optimizer_colour = "#c9c9c9";

typedef struct drawing {
    text_builder out;
    double scale; /* scale in pixels per second */
} drawing;

/* Draws a box that starts `top` pixels below the top of the rank's row. */
static void draw_box(drawing *draw, int rank, double begin_s, double end_s, int top, int height,
                     const char *colour)
{
    text_append_printf(&draw->out,
                       "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>\n",
                       LEFT + begin_s * draw->scale, TOP + rank * ROW + top,
                       (end_s - begin_s) * draw->scale, height, colour);
}

static void draw_text(drawing *draw, double x, int y, const char *anchor, const char *text)
{
    text_append_printf(&draw->out, "<text x=\"%.2f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y,
                       anchor, text);
}

static void draw_legend(drawing *draw, bool split, int y)
{
    const struct {
        const char *what, *colour;
        bool shown;
    } entries[] = {
        {"forward", kind_colour[PLAIT_ACTION_FORWARD], true},
        {split ? "backward, input gradient" : "backward", kind_colour[PLAIT_ACTION_BACKWARD], true},
        {"weight gradient", kind_colour[PLAIT_ACTION_WEIGHT], split},
        {"gradients, parameters", sync_colour, true},
        {"optimizer", optimizer_colour, true},
    };
    int x = LEFT;

    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        if (!entries[i].shown)
            continue;
        text_append_printf(&draw->out,
                           "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", x,
                           y - 10, entries[i].colour);
        draw_text(draw, x + 18, y, "start", entries[i].what);
        x += 190;
    }
}

static bool has_weight_actions(const plait_sim_result *pipeline)
{
    for (int e = 0; e < pipeline->events; e++)
        if (pipeline->event[e].action.kind == PLAIT_ACTION_WEIGHT)
            return true;
    return false;
}

plait_status timeline_svg(const plait_timeline *line, plait_arena *arena, const char **text,
                          size_t *length, plait_error *err)
{
    const int height = TOP + line->ranks * ROW + LEGEND;
    drawing draw = {.scale = WIDTH / line->end_s};
    char time[UNITS_SIZE], title[96];

    if (line->pipeline.events > MOST_DRAWN)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, NULL,
            "expected at most %d actions to draw, found %d; write a .json file instead", MOST_DRAWN,
            line->pipeline.events);

    text_builder_init(&draw.out, arena);
    text_append_printf(&draw.out,
                       "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                       "font-family=\"sans-serif\" font-size=\"11\">\n"
                       "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                       LEFT + WIDTH + 16, height);
    snprintf(title, sizeof title, "%s, a step of %s", plait_schedule_name[line->schedule],
             units_seconds(line->step_s, time));
    draw_text(&draw, LEFT, TOP - 12, "start", title);
    for (int rank = 0; rank < line->ranks; rank++) {
        char name[32];
        snprintf(name, sizeof name, "stage %d", rank);
        draw_text(&draw, LEFT - 8, TOP + rank * ROW + ROW - 7, "end", name);
    }
    for (int e = 0; e < line->pipeline.events; e++) {
        const plait_sim_event *const event = &line->pipeline.event[e];
        const double width = (event->end_s - event->begin_s) * draw.scale;
        const bool below = event->action.paired && event->action.kind != PLAIT_ACTION_FORWARD;
        char number[16];

        draw_box(&draw, event->rank, event->begin_s, event->end_s, below ? (ROW - 2) / 2 : 0,
                 event->action.paired ? (ROW - 2) / 2 : ROW - 2, kind_colour[event->action.kind]);
        if (width >= NARROWEST_LABEL && !event->action.paired) {
            snprintf(number, sizeof number, "%d", event->action.microbatch);
            draw_text(&draw, LEFT + event->begin_s * draw.scale + width / 2.0,
                      TOP + event->rank * ROW + ROW - 7, "middle", number);
        }
    }
    for (int e = 0; e < line->tails; e++) {
        const plait_tail_event *const event = &line->tail[e];

        if (event->kind == PLAIT_TAIL_OPTIMIZER)
            draw_box(&draw, event->rank, event->begin_s, event->end_s, 0, ROW - 2,
                     optimizer_colour);
        else
            draw_box(&draw, event->rank, event->begin_s, event->end_s, ROW - 2 - LANE, LANE,
                     sync_colour);
    }
    draw_legend(&draw, has_weight_actions(&line->pipeline), height - 10);
    text_append(&draw.out, "</svg>\n");
    *text = text_builder_finish(&draw.out, length);
    return *text != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
