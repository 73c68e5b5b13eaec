/* serve_values.c - checks the values of serving problems and of deployments */
#include "plan/serve_values.h"

#include "base/number_range.h"
#include "plait/degrees.h"
#include "plan/problem_parts.h"

enum { MOST_DRAFT = 64 };

static bool is_amount(double number)
{
    return number >= 0.0 && number <= 1e12;
}

// ---- a serving problem ---------------------------------------------------------------------

static bool load_is_valid(const plait_load *load)
{
    return (unsigned)load->kind < PLAIT_LOAD_KINDS && is_amount(load->input) &&
           is_amount(load->output) && is_amount(load->cached) &&
           (load->cached == 0.0 || load->cached < load->input) && is_amount(load->concurrency) &&
           is_amount(load->rate) && load->accept >= 0.0 && load->accept <= 1.0 &&
           load->draft >= 0 && load->draft <= MOST_DRAFT && is_amount(load->draft_layers) &&
           load->lora_adapters >= 0 && load->lora_adapters <= PLAIT_MAX_LORA &&
           load->lora_rank >= 0 && load->lora_rank <= PLAIT_MAX_LORA &&
           (load->lengths == NULL ||
            (load->lengths->count > 0 && load->lengths->request != NULL &&
             is_amount(load->lengths->context) && is_amount(load->lengths->longest)));
}

/*
 * Limits for values set through the API; files have tighter limits. The limits exclude values that
 * would make a price undefined.
 */
#define RANGED_TYPE plait_engine
static const number_range engine_numbers[] = {
#define X(field, word, unit, low, high, assumed)                                                   \
    NUMBER_WITHIN(field, NUMBER_TINY, NUMBER_MOST, (low) == 0.0),
    PLAIT_ENGINE_NUMBERS(X)
#undef X
        NUMBER_RATE(chunk_tokens),
    NUMBER_RATE(max_sequences),
    NUMBER_WITHIN(memory_fraction, NUMBER_TINY, 1.0, false),
    NUMBER_AMOUNT(graph_bytes),
    NUMBER_RATE(block_tokens),
    NUMBER_AMOUNT(poll_steps),
    NUMBER_AMOUNT(gather_steps),
    NUMBER_AMOUNT(host_cache_bytes),
    NUMBER_AMOUNT(logit_bytes),
    NUMBER_AMOUNT(outside_bytes),
    NUMBER_AMOUNT(group_bytes),
    NUMBER_RATE(band[PLAIT_SERVE_TTFT][0]),
    NUMBER_RATE(band[PLAIT_SERVE_TTFT][1]),
    NUMBER_RATE(band[PLAIT_SERVE_TPOT][0]),
    NUMBER_RATE(band[PLAIT_SERVE_TPOT][1]),
    NUMBER_RATE(band[PLAIT_SERVE_RATE][0]),
    NUMBER_RATE(band[PLAIT_SERVE_RATE][1]),
};
#undef RANGED_TYPE

static plait_status check_engine(const plait_engine *engine, plait_error *err)
{
    if (!engine || (unsigned)engine->kind >= PLAIT_ENGINES || !engine->name)
        return plait_fail(err, PLAIT_ERROR_RANGE, "engine",
                          "expected a valid engine profile, found another");
    return numbers_check("engine", engine, engine_numbers,
                         sizeof engine_numbers / sizeof *engine_numbers, err);
}

const char *const plait_serve_limit_flag[] = {
#define X(flag, name) flag,
    PLAIT_SERVE_LIMIT_LIST(X)
#undef X
        NULL};

void plait_serve_limits_asked(const plait_serve_options *q, double seconds[PLAIT_SERVE_LIMITS])
{
#define X(flag, name) seconds[PLAIT_SERVE_LIMIT_##name] = q->name##_s;
    PLAIT_SERVE_LIMIT_LIST(X)
#undef X
}

void plait_serve_options_init(plait_serve_options *question)
{
    *question = (plait_serve_options){0};
}

plait_status serve_check_question(const plait_serve_options *q, plait_error *err)
{
    if (!q)
        return plait_fail(err, PLAIT_ERROR_RANGE, "question", "expected options, found NULL");
    PLAIT_TRY(model_check_parts(q->model, err));
    PLAIT_TRY(cluster_check_parts(q->cluster, err));
    if (q->engines < 0 || q->engines > PLAIT_ENGINES)
        return plait_fail(err, PLAIT_ERROR_RANGE, "engine", "expected at most %d, found %d",
                          PLAIT_ENGINES, q->engines);
    for (int e = 0; e < q->engines; e++)
        PLAIT_TRY(check_engine(q->engine[e], err));
    if (q->gpus > PLAIT_MAX_GPUS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "gpus", "expected at most %d, found %d",
                          PLAIT_MAX_GPUS, q->gpus);
    if (q->weights >> PLAIT_WEIGHT_FORMATS != 0 || q->kv >> PLAIT_KV_FORMATS != 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "weights",
                          "expected formats of serve.h, found others");
    double asked[PLAIT_SERVE_LIMITS];
    bool amounts = true;

    plait_serve_limits_asked(q, asked);
    for (int l = 0; l < PLAIT_SERVE_LIMITS; l++)
        amounts = amounts && is_amount(asked[l]);
    if (!load_is_valid(&q->load) || !amounts || !is_amount(q->chunk_tokens) ||
        !is_amount(q->max_model_len))
        return plait_fail(err, PLAIT_ERROR_RANGE, "load",
                          "expected a load and limits of 0 or more, found others");
    return PLAIT_OK;
}

// ---- redundant experts ---------------------------------------------------------------------

plait_status serve_set_redundant(plait_model *model, int redundant, const char *where,
                                 plait_arena *arena, plait_error *err)
{
    plait_layer *const kind = plait_arena_alloc(arena, (size_t)model->kinds, sizeof *kind);
    bool experts = false;

    PLAIT_TRY(plait_check_allocated(kind, err));
    for (int k = 0; k < model->kinds; k++) {
        kind[k] = model->kind[k];
        if (kind[k].ffn != PLAIT_FFN_MOE)
            continue;
        kind[k].moe.redundant = redundant;
        experts = true;
    }
    if (!experts)
        return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected a model with experts, found %s",
                          model->name);
    model->kind = kind;
    return PLAIT_OK;
}

int serve_redundant(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].ffn == PLAIT_FFN_MOE)
            return model->kind[k].moe.redundant;
    return 0;
}

// ---- a deployment --------------------------------------------------------------------------

static bool is_degree(int degree)
{
    return degree >= 1 && degree <= PLAIT_MAX_DEGREE;
}

/* The bounds also keep products of degrees from overflowing. */
static bool worker_is_valid(plait_worker w)
{
    return is_degree(w.tp) && is_degree(w.pp) && is_degree(w.dp_attention) && is_degree(w.ep) &&
           (double)w.tp * w.pp * w.dp_attention <= PLAIT_MAX_GPUS;
}

static bool workers_are_valid(const plait_serve_plan *plan)
{
    for (int r = 0; r <= plan->disaggregated; r++)
        if (!worker_is_valid(plan->worker[r]) || plan->count[r] < 1 ||
            plan->count[r] > PLAIT_MAX_GPUS / plan->replicas)
            return false;
    return true;
}

plait_status serve_check_plan(const plait_serve_plan *plan, plait_error *err)
{
    if (!plan)
        return plait_fail(err, PLAIT_ERROR_RANGE, "plan", "expected a plan, found NULL");
    PLAIT_TRY(check_engine(plan->engine, err));
    if ((unsigned)plan->weights >= PLAIT_WEIGHT_FORMATS || (unsigned)plan->kv >= PLAIT_KV_FORMATS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "weights",
                          "expected formats of serve.h, found others");
    if (plan->replicas < 1 || plan->replicas > PLAIT_MAX_GPUS || !workers_are_valid(plan))
        return plait_fail(err, PLAIT_ERROR_RANGE, "workers",
                          "expected replicas, workers and degrees of 1 or more, found others");
    return is_amount(plan->chunk_tokens) && is_amount(plan->batch_cap)
               ? PLAIT_OK
               : plait_fail(err, PLAIT_ERROR_RANGE, "batch",
                            "expected chunk_tokens and batch_cap of 0 or more, found others");
}

// ---- a simulation --------------------------------------------------------------------------

static bool pool_is_valid(const plait_pool *pool)
{
    return pool->table && pool->workers >= 1 && pool->workers <= PLAIT_MAX_GPUS &&
           is_amount(pool->chunk_tokens) && is_amount(pool->max_sequences) &&
           is_amount(pool->kv_tokens) && is_amount(pool->poll_steps) &&
           is_amount(pool->gather_steps);
}

static bool pools_are_valid(const plait_deployment *d)
{
    return d->replicas >= 1 && pool_is_valid(&d->pool[0]) &&
           (!d->disaggregated || pool_is_valid(&d->pool[1])) &&
           (double)d->replicas *
                   (d->pool[0].workers + (d->disaggregated ? d->pool[1].workers : 0)) <=
               PLAIT_MAX_GPUS;
}

plait_status serve_check_simulation(const plait_deployment *d, const plait_load *load,
                                    const plait_serve_sim_options *draws, plait_error *err)
{
    if (!d || !pools_are_valid(d))
        return plait_fail(err, PLAIT_ERROR_RANGE, "deployment",
                          "expected valid workers with a step table, found others");
    PLAIT_TRY(check_engine(d->engine, err));
    if (!load_is_valid(load) || !(load->spread >= 0.0 && load->spread <= 1.0))
        return plait_fail(err, PLAIT_ERROR_RANGE, "load",
                          "expected a load of 0 or more, found another");
    return draws->requests >= 1 && draws->warmup_requests >= 0 && is_amount(draws->burst)
               ? PLAIT_OK
               : plait_fail(err, PLAIT_ERROR_RANGE, "draws",
                            "expected at least one request, found %d", draws->requests);
}
