/* space_values.c - the values of each key of the plan space */
#include "search/space/space_private.h"

#include <assert.h>
#include <string.h>

#include "plait/lowlevel/schedule.h"
#include "rules/plan_check.h"
#include "base/text.h"
#include "plan/model_queries.h"

// ---- numbers and words ---------------------------------------------------------------------

/*
 * Lists the divisors of `of` that the limits of a key allow, ascending. Each divisor i <= sqrt(of)
 * gives one entry at either end.
 */
static plait_status list_divisors(const plait_search_options *options, plait_key_id key, int of,
                                  plait_arena *arena, space_list *out, plait_error *err)
{
    int count = 0, kept = 0;

    for (int64_t i = 1; i * i <= of; i++)
        if (of % i == 0)
            count += i * i == of ? 1 : 2;
    int *value = plait_arena_alloc(arena, (size_t)count, sizeof *value);
    PLAIT_TRY(plait_check_allocated(value, err));
    int low = 0;
    int high = count;
    for (int64_t i = 1; i * i <= of; i++) {
        if (of % i != 0)
            continue;
        value[low++] = (int)i;
        if (i * i != of)
            value[--high] = (int)(of / i);
    }
    for (int i = 0; i < count; i++)
        if (limits_allow(options, key, value[i]))
            value[kept++] = value[i];
    *out = (space_list){kept, value};
    return PLAIT_OK;
}

/* Lists the divisors of any of the batches that the limits of mbs allow, ascending. */
static plait_status list_sizes(const plait_search_options *options, const int *gbs, int batches,
                               plait_arena *arena, space_list *out, plait_error *err)
{
    PLAIT_TRY(list_divisors(options, PLAIT_KEY_MBS, gbs[0], arena, out, err));
    for (int b = 1; b < batches; b++) {
        space_list more;

        PLAIT_TRY(list_divisors(options, PLAIT_KEY_MBS, gbs[b], arena, &more, err));
        int *const value =
            plait_arena_alloc(arena, (size_t)out->count + (size_t)more.count, sizeof *value);
        int count = 0;
        PLAIT_TRY(plait_check_allocated(value, err));
        for (int i = 0, k = 0; i < out->count || k < more.count;) {
            const int next = k == more.count || (i < out->count && out->value[i] < more.value[k])
                                 ? out->value[i]
                                 : more.value[k];
            i += i < out->count && out->value[i] == next;
            k += k < more.count && more.value[k] == next;
            value[count++] = next;
        }
        *out = (space_list){count, value};
    }
    return PLAIT_OK;
}

/*
 * Returns whether the limits allow a value. If the runtime offloads gradients with the optimizer, a
 * limit to `optimizer` also allows `gradients`.
 */
static bool allowed_by_word(const plan_space *space, plait_key_id key, int value)
{
    return limits_allow_value(space->options, key, value) ||
           (key == PLAIT_KEY_OFFLOAD && value == PLAIT_OFFLOAD_GRADIENTS &&
            plait_optimizer_takes_gradients(space->problem->runtime) &&
            limits_allow_value(space->options, key, PLAIT_OFFLOAD_OPTIMIZER));
}

/* Lists the values of a mask that the limits allow. */
static plait_status list_mask(const plan_space *space, unsigned mask, plait_key_id key,
                              plait_arena *arena, space_list *out, plait_error *err)
{
    int *value = plait_arena_alloc(arena, 32, sizeof *value);
    int count = 0;

    PLAIT_TRY(plait_check_allocated(value, err));
    for (int i = 0; i < 31; i++)
        if ((mask >> i & 1u) && allowed_by_word(space, key, i))
            value[count++] = i;
    *out = (space_list){count, value};
    return PLAIT_OK;
}

static bool is_limited(const plait_search_options *options, plait_key_id key)
{
    for (int i = 0; i < options->limits; i++)
        if (options->limit[i].key == key)
            return true;
    return false;
}

unsigned space_takes(const plan_space *space, plait_key_id key)
{
    const plait_runtime *const runtime = space->problem->runtime;
    const unsigned takes = runtime->can.takes[key];

    return is_limited(space->options, key) ? takes : takes & ~runtime->support.unmeasured[key];
}

/* Keys that the levels of the space name (space.h). All other keys are free. */
static const plait_key_set walked =
    PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_SP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) |
    PLAIT_KEY_BIT(PLAIT_KEY_VPP) | PLAIT_KEY_BIT(PLAIT_KEY_CP) | PLAIT_KEY_BIT(PLAIT_KEY_CP_COMM) |
    PLAIT_KEY_BIT(PLAIT_KEY_EP) | PLAIT_KEY_BIT(PLAIT_KEY_ETP) | PLAIT_KEY_BIT(PLAIT_KEY_DP) |
    PLAIT_KEY_BIT(PLAIT_KEY_ZERO) | PLAIT_KEY_BIT(PLAIT_KEY_SHARD_GROUP) |
    PLAIT_KEY_BIT(PLAIT_KEY_MBS) | PLAIT_KEY_BIT(PLAIT_KEY_ATTENTION) |
    PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE) | PLAIT_KEY_BIT(PLAIT_KEY_SCHEDULE) |
    PLAIT_KEY_BIT(PLAIT_KEY_FUSION) | PLAIT_KEY_BIT(PLAIT_KEY_SPLIT) |
    PLAIT_KEY_BIT(PLAIT_KEY_ORDER) | PLAIT_KEY_BIT(PLAIT_KEY_PLACEMENT) |
    PLAIT_KEY_BIT(PLAIT_KEY_DISPATCHER) | PLAIT_KEY_BIT(PLAIT_KEY_EP_OVERLAP) |
    PLAIT_KEY_BIT(PLAIT_KEY_OFFLOAD_ACTS) | PLAIT_KEY_BIT(PLAIT_KEY_FP8_ATTENTION) |
    PLAIT_KEY_BIT(PLAIT_KEY_FUSED_GROUPED_MLP) | PLAIT_KEY_BIT(PLAIT_KEY_TP_COMM_OVERLAP) |
    PLAIT_KEY_BIT(PLAIT_KEY_PERMUTE_FUSION) | PLAIT_KEY_BIT(PLAIT_KEY_ROUTER_FUSION) |
    PLAIT_KEY_BIT(PLAIT_KEY_CUDA_GRAPH);

/*
 * Returns whether a key keeps its default. A key with a limit does not. Another key does if no
 * profile can restrict it, if it changes the numerics of a step and the options do not allow
 * that, or if other values are for given configs only: gather_with_step, which no run states, and
 * bucket, of which larger ones take less time and memory that has no price.
 */
bool space_is_usual_only(const plan_space *space, plait_key_id key)
{
    const plait_key *const row = &plait_keys[key];

    if (is_limited(space->options, key))
        return false;
    return row->limit_name == NULL || (row->numerics && !space->options->allow_numerics) ||
           key == PLAIT_KEY_GATHER_WITH_STEP || key == PLAIT_KEY_BUCKET;
}

// ---- communication of experts --------------------------------------------------------------

/*
 * Returns the overlaps to search. Pairs with delayed weight gradients never take longer than pairs
 * without that earn no larger part of their gain, so the latter are searched only if a limit names
 * the key.
 */
static unsigned worthwhile_overlaps(const plan_space *space)
{
    const unsigned takes = space_takes(space, PLAIT_KEY_EP_OVERLAP);
    const unsigned delayed = 1u << PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD;
    const plait_runtime *const runtime = space->problem->runtime;
    const bool earns_no_less =
        plait_unearned(runtime, PLAIT_KEY_EP_OVERLAP, PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD) <=
        plait_unearned(runtime, PLAIT_KEY_EP_OVERLAP, PLAIT_EP_OVERLAP_PAIRS);

    if ((takes & delayed) && earns_no_less && !is_limited(space->options, PLAIT_KEY_EP_OVERLAP))
        return takes & ~(1u << PLAIT_EP_OVERLAP_PAIRS);
    return takes;
}

// ---- recomputation -------------------------------------------------------------------------

/*
 * Returns whether a set of modules is core_attn alone, which equals `selective`, and `selective` is
 * listed instead.
 */
static bool is_selective(const plait_search_options *options, const plait_capabilities *can,
                         unsigned modules)
{
    return modules == 1u << PLAIT_MODULE_core_attn &&
           (can->takes[PLAIT_KEY_RECOMPUTE] >> PLAIT_RECOMPUTE_SELECTIVE & 1u) &&
           limits_allow_text(options, PLAIT_KEY_RECOMPUTE, "selective");
}

/*
 * Adds a recompute choice with each set of activations that can be offloaded with it. The empty set
 * comes first.
 */
static void add_recompute(const plait_problem *problem, const plait_search_options *options,
                          plait_recompute choice, space_choice *list, int *count)
{
    const plan_space space = {.problem = problem, .options = options};
    const unsigned sets = space_takes(&space, PLAIT_KEY_OFFLOAD_ACTS);
    plait_degrees probe = plait_degrees_init();
    char text[96];

    probe.recompute = choice;
    plait_degrees_get(&probe, PLAIT_KEY_RECOMPUTE, text, sizeof text);
    if (!limits_allow_text(options, PLAIT_KEY_RECOMPUTE, text))
        return;
    for (int set = 0; set < PLAIT_OFFLOAD_SETS; set++)
        if ((sets >> set & 1u) &&
            (plait_offload_searched((unsigned char)set) ||
             is_limited(options, PLAIT_KEY_OFFLOAD_ACTS)) &&
            limits_allow_value(options, PLAIT_KEY_OFFLOAD_ACTS, set) &&
            offload_inputs_exist(problem, (unsigned char)set) &&
            recompute_keeps_inputs((unsigned char)set, choice))
            list[(*count)++] = (space_choice){choice, (unsigned char)set};
}

/* Restricts full:N to the limits: a limit on recompute allows one N or none. */
static void limit_full_layers(const plait_search_options *options, space_recompute *out)
{
    for (int i = 0; i < options->limits; i++) {
        if (options->limit[i].key != PLAIT_KEY_RECOMPUTE)
            continue;
        int layers;
        const char *value = options->limit[i].value;
        if (text_starts_with(value, "full:") &&
            text_parse_int(value + strlen("full:"), 1, PLAIT_MAX_LAYERS, &layers))
            out->low = out->high = layers;
        else
            out->full_layers = false;
    }
}

/* Lists the choices that are legal in the class of the point `probe`. */
static plait_status list_legal(const plait_problem *problem, plait_degrees *probe,
                               plait_arena *arena, space_recompute *out, plait_error *err)
{
    space_choice *legal = plait_arena_alloc(arena, (size_t)out->count + 1, sizeof *legal);
    space_choice_list *const list = &out->of[space_class_of(probe)];

    PLAIT_TRY(plait_check_allocated(legal, err));
    for (int i = 0; i < out->count; i++) {
        probe->recompute = out->value[i].recompute;
        probe->offload_acts = out->value[i].offload_acts;
        if (plan_recompute_legal(problem, probe, &no_reason))
            legal[list->count++] = out->value[i];
    }
    list->value = legal;
    return PLAIT_OK;
}

/*
 * Lists the kinds of the runtime, with the sets of modules that the model has. full:N is stored as
 * a range.
 */
plait_status space_list_recompute(const plait_problem *problem, const plait_search_options *options,
                                  plait_arena *arena, space_recompute *out, plait_error *err)
{
    const plait_capabilities *can = &problem->runtime->can;
    const size_t most = (PLAIT_RECOMPUTE_KINDS + PLAIT_MAX_MODULE_SETS) * PLAIT_OFFLOAD_SETS;
    space_choice *value = plait_arena_alloc(arena, most, sizeof *value);
    int count = 0;

    PLAIT_TRY(plait_check_allocated(value, err));
    for (int kind = 0; kind < PLAIT_RECOMPUTE_KINDS; kind++) {
        if (!(can->takes[PLAIT_KEY_RECOMPUTE] >> kind & 1u))
            continue;
        if (kind != PLAIT_RECOMPUTE_MODULES) {
            add_recompute(problem, options, (plait_recompute){.kind = (unsigned char)kind}, value,
                          &count);
            continue;
        }
        for (int s = 0; s < can->module_sets; s++)
            if (modules_save(problem, can->module_set[s]) &&
                !is_selective(options, can, can->module_set[s]))
                add_recompute(
                    problem, options,
                    (plait_recompute){.kind = (unsigned char)kind, .modules = can->module_set[s]},
                    value, &count);
    }
    *out = (space_recompute){
        .count = count,
        .value = value,
        // rule M27: the first layers of all chunks need equally many parts
        .full_layers =
            can->full_layers &&
            (!model_is_hybrid(problem->model) || model_layer_parts(problem->model) > 0) &&
            (can->takes[PLAIT_KEY_RECOMPUTE] >> PLAIT_RECOMPUTE_FULL & 1u) &&
            limits_allow_value(options, PLAIT_KEY_OFFLOAD_ACTS, 0),
        .low = 1,
        .high = PLAIT_MAX_LAYERS,
    };
    limit_full_layers(options, out);
    plait_degrees probe = plait_degrees_init();

    for (int fused = 0; fused < 2; fused++) {
        probe.switches = (plait_switches){.fused_grouped_mlp = fused != 0};
        PLAIT_TRY(list_legal(problem, &probe, arena, out, err));
        probe.ep_overlap = PLAIT_EP_OVERLAP_PAIRS;
        PLAIT_TRY(list_legal(problem, &probe, arena, out, err));
        probe.switches.cuda_graph = PLAIT_GRAPH_LAYERS;
        PLAIT_TRY(list_legal(problem, &probe, arena, out, err));
        probe.ep_overlap = PLAIT_EP_OVERLAP_NONE;
        PLAIT_TRY(list_legal(problem, &probe, arena, out, err));
        probe.switches.cuda_graph = PLAIT_GRAPH_FULL;
        PLAIT_TRY(list_legal(problem, &probe, arena, out, err));
    }
    return PLAIT_OK;
}

// ---- all keys ------------------------------------------------------------------------------

static plait_status list_free_key(plan_space *space, plait_key_id key, plait_arena *arena,
                                  plait_error *err)
{
    assert(space->free_keys < SPACE_FREE_KEYS);
    space_free_key *const out = &space->free_key[space->free_keys++];

    out->key = key;
    out->usual_only = space_is_usual_only(space, key);
    PLAIT_TRY(
        list_mask(space, space->problem->runtime->can.takes[key], key, arena, &out->idle, err));
    return list_mask(space, space_takes(space, key), key, arena, &out->values, err);
}

plait_status space_list_values(plan_space *space, const int *gbs, int batches, plait_arena *arena,
                               plait_error *err)
{
    const plait_problem *problem = space->problem;
    const plait_search_options *options = space->options;
    const plait_capabilities *can = &problem->runtime->can;

    const plait_key_id no_key = PLAIT_KEYS;

    PLAIT_TRY(list_divisors(options, no_key, problem->job.gpus, arena, &space->divisors, err));
    PLAIT_TRY(list_sizes(options, gbs, batches, arena, &space->microbatch, err));
    PLAIT_TRY(
        list_mask(space, can->takes[PLAIT_KEY_ZERO], PLAIT_KEY_ZERO, arena, &space->zero, err));
    PLAIT_TRY(list_mask(space, space_takes(space, PLAIT_KEY_SCHEDULE), PLAIT_KEY_SCHEDULE, arena,
                        &space->schedules, err));
    PLAIT_TRY(list_mask(space, space_takes(space, PLAIT_KEY_ORDER), PLAIT_KEY_ORDER, arena,
                        &space->orders, err));
    PLAIT_TRY(list_mask(space, worthwhile_overlaps(space), PLAIT_KEY_EP_OVERLAP, arena,
                        &space->ep_overlaps, err));
    // List the dispatchers that differ only in seconds. An all-gather also needs a buffer, so it is
    // listed only if the runtime has no other dispatcher. A dispatch in 8 bits changes numerics.
    const unsigned takes = space_takes(space, PLAIT_KEY_DISPATCHER);
    const unsigned narrow = space->options->allow_numerics ? 0 : 1u << PLAIT_DISPATCH_DEEPEP_FP8;
    const unsigned worthwhile = takes & ~(1u << PLAIT_DISPATCH_ALLGATHER | narrow);
    PLAIT_TRY(list_mask(
        space,
        is_limited(space->options, PLAIT_KEY_DISPATCHER) || worthwhile == 0 ? takes : worthwhile,
        PLAIT_KEY_DISPATCHER, arena, &space->dispatchers, err));
    // Whether `reshard` and `fp8_params` have an effect or a default depends on `offload`.
    PLAIT_TRY(list_free_key(space, PLAIT_KEY_OFFLOAD, arena, err));
    for (int k = 0; k < PLAIT_KEYS; k++)
        if (k != PLAIT_KEY_OFFLOAD && !(walked & PLAIT_KEY_BIT(k)))
            PLAIT_TRY(list_free_key(space, (plait_key_id)k, arena, err));
    return space_list_recompute(problem, options, arena, &space->recompute, err);
}
