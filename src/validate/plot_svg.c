/*
 * plot_svg.c - plot predicted against measured step times as SVG, one panel per source
 *
 *     predicted |       . /        Both axes are logarithmic and have the same range, so that a
 *               |    . ' /         perfect prediction lies on the diagonal, and the dashed lines
 *               |  . /'            beside it, 10 % off, are parallel to it.
 *               +------------ measured
 */
#include "plait/validate.h"

#include <math.h>

#include "validate/sums.h"
#include "base/text.h"

enum {
    PANEL = 250, /* side of the square; all lengths are in pixels */
    LEFT = 62,   /* margin for the labels of the vertical axis */
    ABOVE = 44,  /* margin for the title */
    BELOW = 50,  /* margin for the labels of the horizontal axis */
    BESIDE = 18, /* margin on the right */
    HEAD = 40,   /* height of the drawing's title */
    PER_ROW = 3  /* panels per row */
};

static const char *const style =
    "<style>text{font:12px sans-serif;fill:#222}.title{font-weight:bold}.small{font-size:11px}"
    ".frame{fill:none;stroke:#888}.grid{stroke:#e4e4e4}.exact{stroke:#222}"
    ".tenth{stroke:#888;stroke-dasharray:4 3}.run{fill:#0b62a4;fill-opacity:.45}</style>\n";

/* ---- text ---- */

static void append_escaped(text_builder *out, const char *text)
{
    for (; *text != '\0'; text++)
        text_append(out, *text == '<'   ? "&lt;"
                         : *text == '>' ? "&gt;"
                         : *text == '&' ? "&amp;"
                                        : (char[]){*text, '\0'});
}

static void append_line(text_builder *out, const char *class, double x1, double y1, double x2,
                        double y2)
{
    text_append_printf(out,
                       "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                       class, x1, y1, x2, y2);
}

/* ---- one panel ---- */

/* A square with the same logarithmic range on both axes. (x, y) is the lower left corner. */
typedef struct panel {
    text_builder *out;
    double x, y;
    double low, high; /* decimal logarithms of the range */
} panel;

static double panel_position(const panel *p, double log_s)
{
    return PANEL * (log_s - p->low) / (p->high - p->low);
}

/*
 * Draws ticks at 1 of each decade. A range below 2 decades also has ticks at 2 and 5, and a range
 * below 0.7 decades has ticks at 1 to 9.
 */
static void draw_ticks(const panel *p)
{
    const double range = p->high - p->low;

    for (int decade = (int)floor(p->low); decade <= (int)ceil(p->high); decade++)
        for (int digit = 1; digit <= 9; digit++) {
            const double seconds = digit * pow(10.0, decade);
            const double place = panel_position(p, log10(seconds));
            char text[24];

            if ((digit != 1 && range >= 0.7 && (range >= 2.0 || (digit != 2 && digit != 5))) ||
                place < 0.0 || place > PANEL)
                continue;
            text_format(text, sizeof text, "%.3g", seconds);
            append_line(p->out, "grid", p->x + place, p->y, p->x + place, p->y - PANEL);
            append_line(p->out, "grid", p->x, p->y - place, p->x + PANEL, p->y - place);
            text_append_printf(
                p->out,
                "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>"
                "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                p->x + place, p->y + 15.0, text, p->x - 5.0, p->y - place + 4.0, text);
        }
}

/* Draws the line predicted = factor * measured, clipped to the square. */
static void draw_diagonal(const panel *p, double factor, const char *class)
{
    const double shift = panel_position(p, p->low + log10(factor));
    const double first = fmax(0.0, -shift), last = fmin(PANEL, PANEL - shift);

    append_line(p->out, class, p->x + first, p->y - first - shift, p->x + last,
                p->y - last - shift);
}

static void draw_frame(const panel *p, const plait_error_group *group)
{
    text_append_printf(p->out, "<text class=\"title\" x=\"%.1f\" y=\"%.1f\">", p->x,
                       p->y - PANEL - 22.0);
    append_escaped(p->out, group->name);
    text_append_printf(
        p->out,
        "</text>\n<text class=\"small\" x=\"%.1f\" y=\"%.1f\">%zu rows, mean error "
        "%.1f %%, median %.1f %%</text>\n"
        "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>\n"
        "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">measured "
        "step time, s</text>\n"
        "<text class=\"small\" transform=\"translate(%.1f %.1f) rotate(-90)\" "
        "text-anchor=\"middle\">predicted step time, s</text>\n",
        p->x, p->y - PANEL - 7.0, group->errors.rows, 100.0 * group->errors.mape,
        100.0 * group->errors.median, p->x, p->y - PANEL, PANEL, PANEL, p->x + PANEL / 2.0,
        p->y + 32.0, p->x - LEFT + 14.0, p->y - PANEL / 2.0);
}

static void draw_panel(const plait_validation *v, const row_groups *groups, size_t g, panel p)
{
    const size_t *const row = groups->row[g];

    // The range covers all points with a margin, and at least a factor of two.
    p.low = HUGE_VAL;
    p.high = -HUGE_VAL;
    for (size_t i = 0; i < groups->size[g]; i++) {
        const double measured = log10(v->runs->run[row[i]].step_s);
        const double predicted = log10(v->price[row[i]].cost.step_s);

        p.low = fmin(fmin(p.low, measured), predicted);
        p.high = fmax(fmax(p.high, measured), predicted);
    }
    const double room = 0.06 + fmax(0.0, 0.18 - (p.high - p.low) / 2.0);
    p.low -= room;
    p.high += room;
    draw_ticks(&p);
    draw_frame(&p, &v->group[PLAIT_BY_SOURCE][g]);
    draw_diagonal(&p, 1.0, "exact");
    draw_diagonal(&p, 1.1, "tenth");
    draw_diagonal(&p, 1.0 / 1.1, "tenth");
    for (size_t i = 0; i < groups->size[g]; i++) {
        const plait_run *const run = &v->runs->run[row[i]];

        text_append_printf(p.out, "<circle class=\"run\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>",
                           p.x + panel_position(&p, log10(run->step_s)),
                           p.y - panel_position(&p, log10(v->price[row[i]].cost.step_s)));
        append_escaped(p.out, run->id);
        text_append_printf(p.out, ": %.4g s, predicted %.4g s</title></circle>\n", run->step_s,
                           v->price[row[i]].cost.step_s);
    }
}

/* ---- the whole drawing ---- */

plait_status plait_validation_plot(const plait_validation *v, plait_arena *arena, const char **text,
                                   size_t *length, plait_error *err)
{
    const int wide = LEFT + PANEL + BESIDE, high = ABOVE + PANEL + BELOW;
    row_groups groups;
    text_builder out;

    PLAIT_TRY(groups_of(v, row_source, arena, &groups, err));
    text_builder_init(&out, arena);
    const int width = PER_ROW * wide;
    const int height = HEAD + (int)((groups.count + PER_ROW - 1) / PER_ROW) * high;
    text_append_printf(&out,
                       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                       "viewBox=\"0 0 %d %d\">\n",
                       width, height, width, height);
    text_append(&out, style);
    text_append_printf(&out, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", width, height);
    text_append_printf(&out, "<text class=\"title\" x=\"%d\" y=\"24\">Step times of ", BESIDE);
    text_append_printf(&out, "%zu measured runs: ", v->timed_priced);
    text_append(&out, v->timed_priced > 0
                          ? "solid line: predicted equals measured; dashed: 10 % off"
                          : "nothing to draw");
    text_append(&out, "</text>\n");
    // These groups are those of v's errors by source, with equal indices g.
    for (size_t g = 0; g < groups.count; g++)
        draw_panel(v, &groups, g,
                   (panel){.out = &out,
                           .x = (double)(g % PER_ROW) * wide + LEFT,
                           .y = HEAD + (double)(g / PER_ROW) * high + ABOVE + PANEL});
    text_append(&out, "</svg>\n");
    *text = text_builder_finish(&out, length);
    return *text != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
