/* serve_space.c - lists the workers of a search (S.98) */
#include "search/serving/serve_space.h"

#include <string.h>

#include "plait/lowlevel/block.h"
#include "plan/model_queries.h"

void serve_candidate_fill(const plait_serving *serving, const plait_load *load,
                          serve_candidate *out)
{
    out->serving = *serving;
    out->serving.lora_adapters = load->lora_adapters;
    out->serving.lora_rank = load->lora_rank;
    out->reason = plait_step_table_fill(&out->serving, &out->table);
    if (out->reason == NULL)
        out->memory = plait_serve_memory_of(&out->serving, plait_load_whole(load));
}

/*
 * True if engines can express ep: it is 1 or the number of ranks, or, without data-parallel
 * attention, any smaller degree.
 */
static bool is_usual(plait_worker w)
{
    const int ranks = w.tp * w.dp_attention;

    return w.ep == 1 || w.ep == ranks || (w.dp_attention == 1 && w.ep <= ranks);
}

/*
 * Advances to the next worker of at most `gpus` GPUs, in a fixed order. Returns false after the
 * last.
 */
static bool next_worker(plait_worker *w, bool experts, int gpus)
{
    do {
        if (experts && w->ep * 2 <= w->tp * w->dp_attention)
            w->ep *= 2;
        else if (experts && w->dp_attention * 2 * w->tp * w->pp <= gpus)
            *w = (plait_worker){w->tp, w->pp, w->dp_attention * 2, 1};
        else if (w->pp * 2 * w->tp <= gpus && w->pp < PLAIT_SERVE_MAX_STAGES)
            *w = (plait_worker){w->tp, w->pp * 2, 1, 1};
        else if (w->tp * 2 <= gpus)
            *w = (plait_worker){w->tp * 2, 1, 1, 1};
        else
            return false;
    } while (!is_usual(*w));
    return true;
}

static bool is_any(int asked, int degree)
{
    return asked == 0 || asked == degree;
}

/*
 * True if the worker has the required degrees and its tensor ranks span at most two scale-up
 * domains; more domains would only add latency.
 */
static bool is_sane(const plait_serve_options *q, plait_worker w)
{
    const int domain = q->cluster->level[0].gpus;

    return w.tp <= PLAIT_SERVE_MAX_DOMAINS * (domain > 0 ? domain : 8) &&
           w.tp * w.dp_attention <= q->gpus && is_any(q->only.tp, w.tp) &&
           is_any(q->only.pp, w.pp) && is_any(q->only.ep, w.ep) &&
           is_any(q->only.dp_attention, w.dp_attention);
}

static int64_t count_workers(const plait_serve_options *q, bool experts)
{
    plait_worker w = {1, 1, 1, 1};
    int64_t count = 0;

    do
        count += is_sane(q, w);
    while (next_worker(&w, experts, q->gpus));
    return count * (PLAIT_WEIGHT_FORMATS * PLAIT_KV_FORMATS);
}

static void add_candidates(const plait_serve_options *q, plait_worker w, serve_candidate *list,
                           int *count, int64_t *cut, int64_t *large)
{
    plait_serving serving = {.model = q->model,
                             .cluster = q->cluster,
                             .worker = w,
                             .lora_adapters = q->load.lora_adapters,
                             .lora_rank = q->load.lora_rank};

    for (int f = 0; f < PLAIT_WEIGHT_FORMATS; f++)
        for (int kv = 0; kv < PLAIT_KV_FORMATS; kv++) {
            if (!(q->weights >> f & 1u) || !(q->kv >> kv & 1u))
                continue;
            serve_candidate *c = &list[*count];
            serving.weights = (plait_weight_format)f;
            serving.kv = (plait_kv_format)kv;
            c->serving = serving;
            c->memory = plait_serve_memory_of(&serving, plait_load_whole(&q->load));
            if (c->memory.weights >= c->memory.all) {
                (*large)++;
                continue;
            }
            c->reason = plait_step_table_fill(&serving, &c->table);
            if (c->reason != NULL)
                (*cut)++;
            else
                (*count)++;
        }
}

plait_status serve_space_fill(const plait_serve_options *q, plait_arena *arena,
                              serve_candidate **out, int *count, int64_t *cut, int64_t *large,
                              plait_error *err)
{
    const bool experts = model_has_experts(q->model);
    plait_worker w = {1, 1, 1, 1};

    *count = 0;
    *cut = *large = 0;
    *out = plait_arena_alloc(arena, (size_t)count_workers(q, experts) + 1, sizeof **out);
    PLAIT_TRY(plait_check_allocated(*out, err));
    do
        if (is_sane(q, w))
            add_candidates(q, w, *out, count, cut, large);
    while (next_worker(&w, experts, q->gpus));
    return PLAIT_OK;
}
