/* units.c - writes quantities in units that keep numbers short */
#include "report/units.h"

#include <math.h>
#include <stdio.h>

#include "plait/units.h"

/* One unit of an ascending scale: its name and its size in base units. */
typedef struct units_step {
    const char *name;
    double size;
} units_step;

static char *not_a_number(char text[UNITS_SIZE])
{
    snprintf(text, UNITS_SIZE, "-");
    return text;
}

/*
 * Returns the number of decimals that leaves three digits after rounding: 9.996 is written as 10.0.
 */
static int decimals_of(double value)
{
    const double size = fabs(value);

    if (size < 0.9995)
        return 3;
    if (size < 9.995)
        return 2;
    return size < 99.95 ? 1 : 0;
}

/*
 * Returns the largest unit that is at most the value; a value that rounds to 1000 of a unit gets
 * the next unit.
 */
static const units_step *step_of(const units_step *ladder, int steps, double value)
{
    const units_step *step = ladder;

    for (int i = 1; i < steps; i++)
        if (fabs(value) >= ladder[i].size * 0.9995)
            step = &ladder[i];
    return step;
}

static char *on_ladder(const units_step *ladder, int steps, double value, const char *unit,
                       char text[UNITS_SIZE])
{
    const units_step *step = step_of(ladder, steps, value);
    const double scaled = value / step->size;
    const char *blank = step->name[0] != '\0' || unit[0] != '\0' ? " " : "";

    if (fabs(scaled) >= 999999.5) // no larger unit exists
        snprintf(text, UNITS_SIZE, "%.3g%s%s%s", scaled, blank, step->name, unit);
    else
        snprintf(text, UNITS_SIZE, "%.*f%s%s%s", value == 0.0 ? 0 : decimals_of(scaled), scaled,
                 blank, step->name, unit);
    return text;
}

char *units_gib(double bytes, char text[UNITS_SIZE])
{
    if (!isfinite(bytes))
        return not_a_number(text);
    snprintf(text, UNITS_SIZE, "%.1f GiB", bytes / PLAIT_GIB);
    return text;
}

char *units_bytes(double bytes, char text[UNITS_SIZE])
{
    static const units_step ladder[] = {
        {"B", 1.0}, {"KiB", PLAIT_KIB}, {"MiB", PLAIT_MIB}, {"GiB", PLAIT_GIB}};
    const units_step *step;

    if (!isfinite(bytes))
        return not_a_number(text);
    step = step_of(ladder, 4, bytes);
    snprintf(text, UNITS_SIZE, "%.*f %s", step == ladder ? 0 : 1, bytes / step->size, step->name);
    return text;
}

char *units_seconds(double seconds, char text[UNITS_SIZE])
{
    static const units_step ladder[] = {
        {"us", PLAIT_US}, {"ms", PLAIT_MS}, {"s", 1.0}, {"h", PLAIT_HOUR}, {"y", 365.0 * PLAIT_DAY},
    };

    if (!isfinite(seconds))
        return not_a_number(text);
    if (seconds == 0.0)
        return on_ladder(ladder + 2, 1, seconds, "", text);
    return on_ladder(ladder, 5, seconds, "", text);
}

char *units_latency(double seconds, char text[UNITS_SIZE])
{
    if (!isfinite(seconds))
        return not_a_number(text);
    if (seconds >= 10.0)
        snprintf(text, UNITS_SIZE, "%.1f s", seconds);
    else
        snprintf(text, UNITS_SIZE, seconds < 0.1 ? "%.1f ms" : "%.0f ms", seconds * 1e3);
    return text;
}

char *units_count(double count, char text[UNITS_SIZE])
{
    static const units_step ladder[] = {{"", 1.0}, {"k", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}};

    if (!isfinite(count))
        return not_a_number(text);
    if (count == floor(count) && fabs(count) < 1e4) {
        snprintf(text, UNITS_SIZE, "%.0f", count);
        return text;
    }
    return on_ladder(ladder, 5, count, "", text);
}

char *units_percent(double share, char text[UNITS_SIZE])
{
    if (!isfinite(share))
        return not_a_number(text);
    snprintf(text, UNITS_SIZE, "%.1f %%", 100.0 * share);
    return text;
}

char *units_signed_percent(double share, char text[UNITS_SIZE])
{
    snprintf(text, UNITS_SIZE, "%+.1f %%", 100.0 * share);
    return text;
}

char *units_number(double number, char text[UNITS_SIZE])
{
    snprintf(text, UNITS_SIZE, number >= 100.0 && number < 1e12 ? "%.0f" : "%.3g", number);
    return text;
}

char *units_rate(double per_s, const char *unit, char text[UNITS_SIZE])
{
    static const units_step ladder[] = {{"", 1.0},  {"k", 1e3},  {"M", 1e6},
                                        {"G", 1e9}, {"T", 1e12}, {"P", 1e15}};

    if (!isfinite(per_s))
        return not_a_number(text);
    return on_ladder(ladder, 6, per_s, unit, text);
}

const char *cell_text(const table_value *of, char text[VALUE_SIZE])
{
    if (of->text != NULL)
        return of->text;
    if (isnan(of->number))
        return "-";
    if (of->unit != NULL)
        return units_rate(of->number, of->unit, text);
    if (of->written != NULL)
        return of->written(of->number, text);
    snprintf(text, VALUE_SIZE, of->format, of->number);
    return text;
}
