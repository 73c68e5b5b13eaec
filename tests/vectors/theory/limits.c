/* limits.c - when communication binds, and experts */
#include "plait/lowlevel/limits.h"
#include "costmodel/stage/stage_cost.h"
#include "vectors/theory/theory.h"
#include "plait/lowlevel/block.h"

// ---- when communication binds, and gradients moved out of the last backward ---------------

static double sb_alpha(const json_cursor *in)
{
    return plait_limit_tokens(number(in, "C"), number(in, "W"));
}

static double sb_tp_max(const json_cursor *in)
{
    return plait_limit_tensor_ranks(number(in, "Fd"), number(in, "alpha"));
}

/* Two axes of links for the data, one for the tensor ranks. */
static double sb_mixed_min(const json_cursor *in)
{
    const double alpha = number(in, "alpha");

    return plait_limit_mixed_tokens(alpha / 2.0, alpha, number(in, "Fd"));
}

static double sb_xopt(const json_cursor *in)
{
    return plait_limit_mixed_shards(number(in, "B"), number(in, "Fd"), 2.0, number(in, "N"));
}

static double sb_moe_dp(const json_cursor *in)
{
    return plait_limit_data_tokens(number(in, "alpha"), 0, number(in, "E"), number(in, "k"));
}

static double sb_dp_small(const json_cursor *in)
{
    return plait_limit_data_tokens(number(in, "alpha"), integer(in, "X"), 1.0, 1.0);
}

static double sb_decode_tp(const json_cursor *in)
{
    return plait_limit_decode_ranks(number(in, "Fd"), number(in, "B"), number(in, "beta"));
}

static double sb_2dws_N(const json_cursor *in)
{
    return plait_limit_two_way_chips(number(in, "Fd"), number(in, "D"));
}

static double commshift_implied(const json_cursor *in)
{
    return plait_sync_share(integer(in, "p"), number(in, "speedup"));
}

/* Equal stages whose gradients take g[s] to reduce: the pipeline, and what of g the price exposes. */
static double commshift_time(const json_cursor *in)
{
    const int stages = integer(in, "p");
    const bool shifts = flag_or(in, "shift", false);
    const plait_degrees d = {
        .pp = stages, .zero = 0, .grad_sync = shifts ? PLAIT_SYNC_SHIFTED : PLAIT_SYNC_BULK};
    const plait_runtime runtime = paper();
    const plait_problem problem = {.runtime = &runtime};
    stage_cost cost[16] = {0};
    json_cursor list, g;

    assert_true(stages <= 16);
    assert_int_equal(json_array(in, "g", &list, NULL), PLAIT_OK);
    for (bool more = json_first(&list, &g); more; more = json_next(&g)) {
        assert_true(g.index < (size_t)stages);
        stage_cost *stage = &cost[g.index];
        stage->load =
            (stage_load){.index = (int)g.index, .count = 1, .backward_s = number(in, "b")};
        assert_int_equal(json_as_number(&g, JSON_POSITIVE, &stage->sync.reduce_s, NULL), PLAIT_OK);
    }
    return pipe_time(in) + sync_exposed_s(&problem, &d, cost, stages);
}

// ---- experts ----------------------------------------------------------------------------

static double expected_nodes(const json_cursor *in)
{
    return plait_reached_groups(number(in, "N"), number(in, "k"), number(in, "E"));
}

/*
 * Of one dispatch, what a rank sends to others. `E` counts ranks; `bytes` are those of an element, of
 * which a copy here has two.
 */
static double ep_a2a_bytes(const json_cursor *in)
{
    static plain_model gpt;
    const plait_runtime runtime = {.rules = PLAIT_RULES_GENERIC};
    const int ranks = integer(in, "E");
    const plait_shard shard = {.tp = 1, .cp = 1, .ep = ranks, .etp = 1, .runtime = &runtime};

    make_gpt(&gpt, 1, integer(in, "h"), 64);
    gpt.layer.ffn = PLAIT_FFN_MOE;
    gpt.layer.moe = (plait_moe){.experts = ranks, .topk = integer(in, "k"), .width = 1};
    const plait_op op = plait_block_exchange(&gpt.model, &gpt.layer, &shard,
                                             pass_over(PLAIT_FORWARD, 1.0, number(in, "tokens")),
                                             PLAIT_PART_dispatch);
    return plait_collective_sent_bytes(op.collective, ranks, op.bytes) * number(in, "bytes") / 2.0;
}

const theory_formula theory_limits[] = {
    {THEORY(sb_alpha)},
    {THEORY(sb_tp_max)},
    {THEORY(sb_mixed_min)},
    {THEORY(sb_xopt)},
    {THEORY(sb_moe_dp)},
    {THEORY(sb_dp_small)},
    {THEORY(sb_decode_tp)},
    {THEORY(sb_2dws_N)},
    {THEORY(commshift_time)},
    {THEORY(commshift_implied)},
    {THEORY(ep_a2a_bytes)},
    {THEORY(expected_nodes)},
    {NULL, NULL},
};
