/* reliability.c - mean times between failures and Young's interval */
#include "plait/lowlevel/goodput.h"
#include "vectors/theory/theory.h"

static double mtbf_hours(const json_cursor *in)
{
    return plait_mtbf_hours(number(in, "days"), number(in, "events"));
}

static double per_gpu_mtbf_years(const json_cursor *in)
{
    return plait_part_mtbf_years(number(in, "days"), number(in, "events"), number(in, "n"));
}

static double young_interval_s(const json_cursor *in)
{
    return plait_young_interval_s(number(in, "ckpt_s"), number(in, "mtbf_s"));
}

const theory_formula theory_reliability[] = {
    {THEORY(mtbf_hours)},
    {THEORY(per_gpu_mtbf_years)},
    {THEORY(young_interval_s)},
    {NULL, NULL},
};
