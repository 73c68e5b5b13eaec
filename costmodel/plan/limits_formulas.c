/*
 * limits_formulas.c - limits at which communication takes as long as the compute that hides it
 *
 * C is the FLOP/s of a GPU and W the bytes/s of a link.
 */
#include <math.h>

#include "base/numbers.h"
#include "plait/lowlevel/limits.h"
#include "costmodel/network/topology.h"

/*
 * C.125: reducing and gathering P parameters in 16 bits takes 4 P / W seconds, and the backward of
 * T tokens takes 4 P T / C seconds. The two are equal at T = C / W.
 */
double plait_limit_tokens(double flops_per_s, double bytes_per_s)
{
    return flops_per_s / bytes_per_s;
}

/*
 * C.126: each of n ranks sends (n - 1) / n of its bytes. An expert computes k / E of the tokens,
 * with k chosen of E experts.
 */
double plait_limit_data_tokens(double tokens, int ranks, double experts, double topk)
{
    const double few = ranks > 0 ? (ranks - 1.0) / ranks : 1.0;

    return tokens * few * experts / topk;
}

/*
 * C.127: on t ranks, a token sends D values while its matrix products take D F / t, so t is at most
 * F / tokens (C.125).
 */
double plait_limit_tensor_ranks(double width, double tokens)
{
    return width / tokens;
}

/*
 * C.128: on N ranks, weights are exchanged over X = N / Y ranks and activations over Y. The sum of
 * both times is smallest if they are equal.
 */
double plait_limit_mixed_tokens(double data_tokens, double tensor_tokens, double width)
{
    return 4.0 * data_tokens * tensor_tokens / width;
}

/* C.129: X that minimises the times of C.128, for a batch of B tokens. */
double plait_limit_mixed_shards(double batch_tokens, double width, double links, double chips)
{
    return sqrt(batch_tokens / width * links * chips);
}

/*
 * C.130: a copy of a token takes 2 h bytes to its expert and 2 h bytes back (hidden width h). An
 * expert of width F with `matrices` matrices computes 2 matrices h F FLOPs for each of k copies.
 */
double plait_limit_expert_width(double tokens, double copies, double topk, double matrices)
{
    return copies / topk * (2.0 / matrices) * tokens;
}

/* C.131: layers whose compute takes as long as the send of a chunk. */
double plait_limit_chunk_layers(double tokens, double send_bytes_per_token,
                                double layer_flops_per_token)
{
    return send_bytes_per_token / layer_flops_per_token * tokens;
}

/*
 * C.132: attention of a rank's T queries to T keys takes 4 T^2 a D FLOPs (a heads of width D).
 * Meanwhile the rank sends T keys and values of kv heads to the next rank, 4 T kv D bytes.
 */
double plait_limit_ring_tokens(double tokens, int heads, int kv_heads)
{
    return tokens * kv_heads / heads;
}

/* C.134: maximum ranks of tensor parallelism in decoding; beta is HBM over network bandwidth. */
double plait_limit_decode_ranks(double width, double batch, double beta)
{
    return width / (batch * beta);
}

/* C.135: chips above which 2D-sharded weights send less than 1D-sharded weights. */
double plait_limit_two_way_chips(double width, double hidden)
{
    return 32.0 * width / hidden * (3.0 / 4.0) * (3.0 / 4.0);
}

/* C.136: g / T, which solves (T + p g) / (T + g) = 1 + gain for p stages. */
double plait_sync_share(int stages, double gain)
{
    const double left = stages - 1.0 - gain;

    return left > 0.0 ? gain / left : (double)NAN;
}

/* ---- rates of links ---- */

/*
 * Share of a GPU's bandwidth at level l that a group can use. On a grid of links, a group can use
 * the axes along which it lies.
 */
static double level_share(const plait_route *route, int l, int units)
{
    const plait_level *const level = &route->cluster->level[l];
    const link_kind *const kind = link_kind_of(level);
    int axes = 0, used = 0;

    if (kind->share)
        return kind->share(route->cluster, l, units);
    if (!plait_level_is_grid(level))
        return 1.0;
    for (int a = 0; a < PLAIT_MAX_SIDES; a++) {
        axes += level->side[a] > 1;
        used += route->axis[l][a] > 1;
    }
    return axes > 0 && used > 0 ? (double)used / axes : 1.0;
}

/*
 * C.133: at each level, units (groups of GPUs joined by the level below) exchange the parts that
 * they do not have, and all GPUs of a unit send at the same time (C.45).
 */
double plait_route_wire_bytes_per_s(const plait_route *route)
{
    int degree[PLAIT_MAX_LEVELS];
    double bytes_per_s[PLAIT_MAX_LEVELS];
    int below = 1;

    for (int l = 0; l < route->levels; l++) {
        const plait_level *const level = &route->cluster->level[l];

        degree[l] = (route->joined[l] + below - 1) / below;
        bytes_per_s[l] = below * level->link.bytes_per_s * level_share(route, l, degree[l]) /
                         (level->oversubscription > 1.0 ? level->oversubscription : 1.0);
        below = route->joined[l];
    }
    return plait_tree_all_gather_bytes_per_s(degree, bytes_per_s, route->levels);
}
