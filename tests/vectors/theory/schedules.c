/* schedules.c - bubbles and memory of schedules */
#include "support/assert_near.h"
#include "plait/lowlevel/simulate.h"
#include "vectors/theory/theory.h"

/* Ranks all alike, one microbatch of which takes f and b. */
static double even_pipeline_s(plait_schedule schedule, int ranks, int microbatches, int chunks,
                              double f_s, double b_s)
{
    const plait_chunk_time chunk = {f_s / chunks, b_s / chunks, 0.0};
    const plait_rank_run run = {ranks, {f_s, b_s, 0.0}, chunk, chunk};
    const plait_pipeline_load load = {
        .ranks = ranks, .chunks = chunks, .microbatches = microbatches, .runs = 1, .run = &run};

    assert_true(plait_pipeline_exact(schedule, &load));
    return plait_pipeline_s(schedule, &load);
}

/* Idle over busy time of one device. */
static double idle_ratio(int stages, int microbatches, int chunks)
{
    return even_pipeline_s(chunks > 1 ? PLAIT_INTERLEAVED : PLAIT_1F1B, stages, microbatches,
                           chunks, 0.25, 0.75) /
               microbatches -
           1.0;
}

static plait_sim_result simulated_stages(plait_pipeline_shape shape, const plait_sim_stage *stage,
                                         double pair_share)
{
    plait_rank_actions *actions =
        plait_arena_alloc(theory_arena, (size_t)shape.ranks, sizeof *actions);
    const plait_sim sim = {.ranks = shape.ranks,
                           .stages = shape.ranks * shape.chunks,
                           .microbatches = shape.microbatches,
                           .actions = actions,
                           .stage = stage,
                           .pair_share = pair_share};
    plait_sim_result result;
    plait_error err;

    assert_non_null(actions);
    must(plait_schedule_actions(&shape, theory_arena, actions, &err), &err);
    must(plait_simulate(&sim, theory_arena, &result, &err), &err);
    return result;
}

/* F, I and W of one action each; pair_s: what a forward and a backward take at once, 0: apart. */
static plait_sim_result simulated(plait_pipeline_shape shape, double f_s, double i_s, double w_s,
                                  double pair_s)
{
    const int stages = shape.ranks * shape.chunks;
    plait_sim_stage *stage = plait_arena_alloc(theory_arena, (size_t)stages, sizeof *stage);

    assert_non_null(stage);
    for (int s = 0; s < stages; s++)
        stage[s] = (plait_sim_stage){.forward_s = f_s, .input_s = i_s, .weight_s = w_s};
    return simulated_stages(shape, stage, pair_s / (f_s + i_s + w_s));
}

static double most_idle_s(plait_pipeline_shape shape, const plait_sim_result *result)
{
    double idle_s = 0.0;

    for (int rank = 0; rank < shape.ranks; rank++)
        idle_s = fmax(idle_s, result->rank[rank].idle_s);
    return idle_s;
}

/* Gradients of every stage: inside its last backward, or behind it. */
static double sim_with_gradients(plait_pipeline_shape shape, const json_cursor *in)
{
    const bool shifts = flag_or(in, "shift", false);
    plait_sim_stage *stage = plait_arena_alloc(theory_arena, (size_t)shape.ranks, sizeof *stage);
    double *g_s = plait_arena_alloc(theory_arena, (size_t)shape.ranks, sizeof *g_s);
    double end_s = 0.0;
    json_cursor list, g;

    assert_true(stage != NULL && g_s != NULL);
    assert_int_equal(json_array(in, "g", &list, NULL), PLAIT_OK);
    assert_int_equal(json_count(&list), shape.ranks);
    for (bool more = json_first(&list, &g); more; more = json_next(&g)) {
        assert_int_equal(json_as_number(&g, JSON_POSITIVE, &g_s[g.index], NULL), PLAIT_OK);
        stage[g.index] = (plait_sim_stage){.forward_s = number(in, "f"),
                                           .input_s = number(in, "b"),
                                           .reduce_s = shifts ? 0.0 : g_s[g.index]};
    }
    const plait_sim_result result = simulated_stages(shape, stage, 0.0);
    for (int rank = 0; rank < shape.ranks; rank++) {
        const plait_sim_rank *const own = &result.rank[rank];
        const double last_s = result.event[own->first + own->count - 1].end_s;
        end_s = fmax(end_s, last_s + (shifts ? g_s[rank] : 0.0));
    }
    return end_s;
}

static double sim_pipe(const json_cursor *in)
{
    static const char *const words[] = {"gpipe", "1f1b", "inter", NULL};
    static const plait_schedule schedules[] = {PLAIT_GPIPE, PLAIT_1F1B, PLAIT_INTERLEAVED};
    const int v = integer_or(in, "v", 1);
    const plait_pipeline_shape shape = {schedules[word(in, "kind", words)], integer(in, "p"), v,
                                        integer(in, "m")};

    if (json_has(in, "g"))
        return sim_with_gradients(shape, in);
    return simulated(shape, number(in, "f") / v, number(in, "b") / v, 0.0, 0.0).pipeline_s;
}

/* Idle time of the rank that idles most, between its first action and its last. */
static double split_idle_s(plait_schedule schedule, int ranks, int microbatches,
                           const json_cursor *in, double input_s)
{
    const plait_pipeline_shape shape = {schedule, ranks, 1, microbatches};
    const plait_sim_result result =
        simulated(shape, number(in, "F_"), input_s, number(in, "W_"), 0.0);

    return most_idle_s(shape, &result);
}

static const char *const zb_words[] = {"1f1b", "zbh1", "zbh2", NULL};
static const plait_schedule zb_schedules[] = {PLAIT_1F1B, PLAIT_ZB_H1, PLAIT_ZB_H2};

static double sim_zb_idle(const json_cursor *in)
{
    return split_idle_s(zb_schedules[word(in, "sched", zb_words)], integer(in, "p"),
                        integer(in, "m"), in, number(in, "B_"));
}

/* In a long step. B is the input gradient. */
static double zb_bubble(const json_cursor *in)
{
    const int p = integer(in, "p");

    return split_idle_s(zb_schedules[word(in, "sched", zb_words)], p, 4 * p, in, number(in, "B_"));
}

/* B is here the whole backward, and FB what a pair takes; idle until the last rank ends. */
static double dual_idle_s(const json_cursor *in, int microbatches)
{
    const plait_pipeline_shape shape = {PLAIT_DUALPIPE, integer(in, "P"), 1, microbatches};
    const double w_s = number(in, "W_");
    const plait_sim_result result =
        simulated(shape, number(in, "F_"), number(in, "B_") - w_s, w_s, number(in, "FB"));
    double idle_s = 0.0;

    for (int rank = 0; rank < shape.ranks; rank++)
        idle_s = fmax(idle_s, result.pipeline_s - result.rank[rank].busy_s);
    return idle_s;
}

static double sim_dualpipe_bubble(const json_cursor *in)
{
    return dual_idle_s(in, integer(in, "M"));
}

/* DualPipe's README compares it with 1F1B and with ZB-H1, there ZB1P. */
static double dualpipe_bubble(const json_cursor *in)
{
    static const char *const words[] = {"1f1b", "zb1p", "dualpipe", NULL};
    const int schedule = word(in, "sched", words);
    const int p = integer(in, "P");

    return schedule == 2 ? dual_idle_s(in, 4 * p)
                         : split_idle_s(zb_schedules[schedule], p, 4 * p, in,
                                        number(in, "B_") - number(in, "W_"));
}

static double bubble_ratio(const json_cursor *in)
{
    return idle_ratio(integer(in, "p"), integer(in, "m"), integer_or(in, "v", 1));
}

static double bubble_frac(const json_cursor *in)
{
    const double ratio = bubble_ratio(in);

    return ratio / (1.0 + ratio);
}

static double layerwise_util(const json_cursor *in)
{
    return 1.0 / even_pipeline_s(PLAIT_NAIVE, integer(in, "n"), 1, 1, 0.25, 0.75);
}

/* Without chunks GPipe and 1F1B take the same time. */
double pipe_time(const json_cursor *in)
{
    const int p = integer(in, "p"), m = integer(in, "m"), v = integer_or(in, "v", 1);
    const double f = number(in, "f"), b = number(in, "b");

    if (v > 1)
        return even_pipeline_s(PLAIT_INTERLEAVED, p, m, v, f, b);
    assert_near_relative(even_pipeline_s(PLAIT_GPIPE, p, m, 1, f, b),
                         even_pipeline_s(PLAIT_1F1B, p, m, 1, f, b), 1e-12);
    return even_pipeline_s(PLAIT_1F1B, p, m, 1, f, b);
}

const theory_formula theory_schedules[] = {
    {THEORY(bubble_ratio)}, {THEORY(sim_pipe)},
    {THEORY(sim_zb_idle)},  {THEORY(sim_dualpipe_bubble)},
    {THEORY(zb_bubble)},    {THEORY(dualpipe_bubble)},
    {THEORY(bubble_frac)},  {THEORY(layerwise_util)},
    {THEORY(pipe_time)},    {NULL, NULL},
};
