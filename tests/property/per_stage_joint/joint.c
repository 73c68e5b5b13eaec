/*
 * joint.c - S.25 as rows and columns
 *
 *     of a stage   its layers, how many with each choice, its passes, what it rebuilds
 *     of C.73      sums and maxima of the stages so far, the longest way there (G) and back (H)
 */
#include "joint.h"

#include <math.h>

#include "plait/units.h"
#include "support/milp.h"
#include "costmodel/api.h"

/*
 * Columns of a stage, after `choices` counts and as many switches that are 1 if the choice is used.
 */
enum { LAYERS, FORWARD, BACKWARD, SUM_F, SUM_B, MOST_F, MOST_B, THERE, BACK, LIVE, COLUMNS };

/* Rows of a stage at most, but for two a choice. */
enum { ROWS = 16 };

typedef struct joint_work {
    const per_stage_point *point;
    int stages, choices, microbatches;
    double unit_s;                       /* seconds of one unit in the program */
    const plait_stage_base *empty, *one; /* [stages] with no layer, and with one */
    const double *in_flight;             /* [stages] */
    milp_column *column;
    milp_row *row;
    milp_term *term;
    milp_problem problem;
    int terms;
} joint_work;

// ---- columns -------------------------------------------------------------------------------

static int whole_at(const joint_work *w)
{
    return w->stages * (2 * w->choices + COLUMNS); // the last: the pipeline
}

static int count_at(const joint_work *w, int s, int c)
{
    return s * (2 * w->choices + COLUMNS) + c;
}

static int used_at(const joint_work *w, int s, int c)
{
    return count_at(w, s, w->choices + c);
}

static int at(const joint_work *w, int s, int which)
{
    return count_at(w, s, 2 * w->choices) + which;
}

/* True if layers of the point may have choice c. */
static bool is_open(const joint_work *w, int c)
{
    const plait_choice *const choice = &w->point->input->choice[c];

    return w->point->cost[c].forward_s < HUGE_VAL &&
           (choice->offload_acts == w->point->degrees->offload_acts ||
            choice->recompute.kind == PLAIT_RECOMPUTE_FULL);
}

static void fill_columns(joint_work *w)
{
    const int layers = w->point->input->problem->model->layers;

    for (int s = 0; s < w->stages; s++) {
        for (int c = 0; c < w->choices; c++) {
            const double most = is_open(w, c) ? layers : 0.0;
            w->column[count_at(w, s, c)] = (milp_column){0.0, most, 0.0, true};
            w->column[used_at(w, s, c)] = (milp_column){0.0, 1.0, 0.0, true};
        }
        for (int i = 0; i < COLUMNS; i++)
            w->column[at(w, s, i)] = (milp_column){0.0, HUGE_VAL, 0.0, false};
        w->column[at(w, s, LIVE)].low = w->empty[s].cost.load.live_bytes / PLAIT_GIB;
    }
    w->column[whole_at(w)] = (milp_column){0.0, HUGE_VAL, 1.0, false};
    w->problem.columns = whole_at(w) + 1;
}

// ---- rows ----------------------------------------------------------------------------------

static void begin_row(joint_work *w, double low, double high)
{
    w->row[w->problem.rows++] = (milp_row){low, high, 0, w->term + w->terms};
}

static void add(joint_work *w, int column, double factor)
{
    w->term[w->terms++] = (milp_term){column, factor};
    w->row[w->problem.rows - 1].terms++;
}

/* column[a] >= column[b] */
static void at_least(joint_work *w, int a, int b)
{
    begin_row(w, 0.0, HUGE_VAL);
    add(w, a, 1.0);
    add(w, b, -1.0);
}

/* A pass of a stage: its ends and its layers. */
static void add_pass(joint_work *w, int s, int which, double ends_s, bool backward)
{
    begin_row(w, ends_s / w->unit_s, ends_s / w->unit_s);
    add(w, at(w, s, which), 1.0);
    for (int c = 0; c < w->choices; c++) {
        const plait_layer_cost *const one = &w->point->cost[c];
        if (is_open(w, c))
            add(w, count_at(w, s, c), -(backward ? one->backward_s : one->forward_s) / w->unit_s);
    }
}

/* C.241: the peak of a stage. Its bytes without activations are linear in its layers. */
static void add_memory(joint_work *w, int s)
{
    const double empty_bytes = w->empty[s].bytes;
    const double of_layer = w->one[s].bytes - empty_bytes;
    const double scale = w->point->input->problem->runtime->keep.fragmentation;

    begin_row(w, -HUGE_VAL,
              (w->point->input->capacity_bytes * (1.0 - 1e-12) - empty_bytes) / PLAIT_GIB);
    add(w, at(w, s, LAYERS), of_layer / PLAIT_GIB);
    add(w, at(w, s, LIVE), scale);
    for (int c = 0; c < w->choices; c++)
        if (is_open(w, c))
            add(w, count_at(w, s, c),
                scale * w->in_flight[s] * w->point->cost[c].saved_bytes / PLAIT_GIB);
}

/* Choices that are used, and the bytes that they rebuild. */
static void add_used(joint_work *w, int s)
{
    const double layers = w->point->input->problem->model->layers;

    for (int c = 0; c < w->choices; c++) {
        if (!is_open(w, c) || w->point->cost[c].live_bytes <= 0.0)
            continue;
        begin_row(w, -HUGE_VAL, 0.0);
        add(w, count_at(w, s, c), 1.0);
        add(w, used_at(w, s, c), -layers);
        begin_row(w, 0.0, HUGE_VAL);
        add(w, at(w, s, LIVE), 1.0);
        add(w, used_at(w, s, c), -w->point->cost[c].live_bytes / PLAIT_GIB);
    }
}

/* sum[s] = sum[s - 1] + pass[s], and most[s] the largest pass so far. */
static void add_sums(joint_work *w, int s, int pass, int sum, int most)
{
    begin_row(w, 0.0, 0.0);
    add(w, at(w, s, sum), 1.0);
    add(w, at(w, s, pass), -1.0);
    if (s > 0)
        add(w, at(w, s - 1, sum), -1.0);
    at_least(w, at(w, s, most), at(w, s, pass));
    if (s > 0)
        at_least(w, at(w, s, most), at(w, s - 1, most));
}

static int ahead_of(const joint_work *w, int s)
{
    const int behind = w->stages - 1 - s;

    return behind < w->microbatches - 1 ? behind : w->microbatches - 1;
}

/* -G_s, or -H_s: both sums and the forwards ahead, each as long as the longest. */
static void add_turn(joint_work *w, int s, int most)
{
    add(w, at(w, s, SUM_F), -1.0);
    add(w, at(w, s, SUM_B), -1.0);
    add(w, at(w, s, most), -ahead_of(w, s));
}

/* turn[s] = the largest G_t, or H_t, of t >= s. */
static void add_way(joint_work *w, int s, int way, int most)
{
    begin_row(w, 0.0, HUGE_VAL);
    add(w, at(w, s, way), 1.0);
    add_turn(w, s, most);
    if (s + 1 < w->stages)
        at_least(w, at(w, s, way), at(w, s + 1, way));
}

/* The pipeline's row of stage s without its turns: T - (m - 2 - w)(f + b) + what lies before s. */
static void begin_chain(joint_work *w, int s)
{
    const double rounds = w->microbatches - 2.0 - ahead_of(w, s);

    begin_row(w, 0.0, HUGE_VAL);
    add(w, whole_at(w), 1.0);
    add(w, at(w, s, FORWARD), -rounds);
    add(w, at(w, s, BACKWARD), -rounds);
    if (s > 0) {
        add(w, at(w, s - 1, SUM_F), 1.0);
        add(w, at(w, s - 1, SUM_B), 1.0);
    }
}

/* C.73: if a stage has one round only, one of the two turns is at it. */
static void add_chains(joint_work *w, int s)
{
    begin_chain(w, s);
    add(w, at(w, s, BACK), -1.0);
    if (ahead_of(w, s) < w->microbatches - 1) {
        add(w, at(w, s, THERE), -1.0);
        return;
    }
    add_turn(w, s, MOST_F);
    begin_chain(w, s);
    add(w, at(w, s, THERE), -1.0);
    add_turn(w, s, MOST_B);
}

static void fill_rows(joint_work *w)
{
    const int layers = w->point->input->problem->model->layers;

    for (int s = 0; s < w->stages; s++) {
        begin_row(w, 0.0, 0.0);
        add(w, at(w, s, LAYERS), -1.0);
        for (int c = 0; c < w->choices; c++)
            add(w, count_at(w, s, c), 1.0);
        add_pass(w, s, FORWARD, w->empty[s].cost.load.forward_s, false);
        add_pass(w, s, BACKWARD, w->empty[s].cost.load.backward_s, true);
        add_memory(w, s);
        add_used(w, s);
        add_sums(w, s, FORWARD, SUM_F, MOST_F);
        add_sums(w, s, BACKWARD, SUM_B, MOST_B);
        add_way(w, s, THERE, MOST_F);
        add_way(w, s, BACK, MOST_B);
        add_chains(w, s);
    }
    begin_row(w, layers, layers);
    for (int s = 0; s < w->stages; s++)
        add(w, at(w, s, LAYERS), 1.0);
}

// ---- the program ---------------------------------------------------------------------------

/* The bases of every stage without a layer and with one. */
static plait_status fill_bases(joint_work *w, plait_arena *arena, plait_error *err)
{
    const plait_degrees *const d = w->point->degrees;
    const size_t stages = (size_t)w->stages;
    plait_stage_base *const empty = plait_arena_alloc(arena, stages, sizeof *empty);
    plait_stage_base *const one = plait_arena_alloc(arena, stages, sizeof *one);
    double *const in_flight = plait_arena_alloc(arena, stages, sizeof *in_flight);

    if (!empty || !one || !in_flight)
        return plait_fail_nomem(err);
    for (int s = 0; s < w->stages; s++) {
        const bool last = s == w->stages - 1;
        const int mtp = last ? w->point->input->problem->model->mtp_layers : 0;
        plait_chunk chunk = {0, 0, s == 0, last, mtp};

        empty[s] = plait_stage_base_of(w->point->input->table, d, s, &chunk, d, &in_flight[s]);
        chunk.last = 1;
        one[s] = plait_stage_base_of(w->point->input->table, d, s, &chunk, d, &in_flight[s]);
    }
    w->empty = empty;
    w->one = one;
    w->in_flight = in_flight;
    return PLAIT_OK;
}

static plait_status make_room(joint_work *w, plait_arena *arena, plait_error *err)
{
    const size_t stages = (size_t)w->stages, choices = (size_t)w->choices;
    const size_t rows = stages * (2 * choices + ROWS) + 1;

    w->column = plait_arena_alloc(arena, stages * (2 * choices + COLUMNS) + 1, sizeof *w->column);
    w->row = plait_arena_alloc(arena, rows, sizeof *w->row);
    w->term = plait_arena_alloc(arena, rows * 8 + stages * 5 * choices, sizeof *w->term);
    if (!w->column || !w->row || !w->term)
        return plait_fail_nomem(err);
    w->problem.column = w->column;
    w->problem.row = w->row;
    return PLAIT_OK;
}

/* Seconds of the slowest choice, which makes the program's numbers about one. */
static double unit_of(const joint_work *w)
{
    double unit_s = 0.0;

    for (int c = 0; c < w->choices; c++)
        if (is_open(w, c))
            unit_s = fmax(unit_s, w->point->cost[c].forward_s + w->point->cost[c].backward_s);
    return unit_s > 0.0 ? unit_s : 1.0;
}

static plait_status take_layers(const joint_work *w, const double *x, plait_arena *arena,
                                joint_result *out, plait_error *err)
{
    int *const layers = plait_arena_alloc(arena, (size_t)w->stages, sizeof *layers);

    if (layers == NULL)
        return plait_fail_nomem(err);
    for (int s = 0; s < w->stages; s++)
        layers[s] = (int)llround(x[at(w, s, LAYERS)]);
    out->layers = layers;
    return PLAIT_OK;
}

plait_status joint_solve(const per_stage_point *point, plait_arena *arena, joint_result *out,
                         plait_error *err)
{
    const plait_degrees *const d = point->degrees;
    joint_work w = {
        .point = point,
        .stages = d->pp,
        .choices = point->input->choices,
        .microbatches = plait_degrees_microbatches(d, point->input->problem->job.gbs),
    };

    w.unit_s = unit_of(&w);
    PLAIT_TRY(fill_bases(&w, arena, err));
    PLAIT_TRY(make_room(&w, arena, err));
    fill_columns(&w);
    fill_rows(&w);
    const milp_result result = milp_solve(&w.problem, arena);
    *out = (joint_result){.pipeline_s = result.objective * w.unit_s};
    return result.x ? take_layers(&w, result.x, arena, out, err) : PLAIT_OK;
}
