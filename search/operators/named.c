/*
 * named.c - named layouts, as sets of strategies (S.50)
 *
 * A named layout gives each axis of the mesh a role, which restricts how operators may use the
 * axis. The best layout of a name is the optimum of the program with only these strategies.
 *
 *     role                  operators with heads or ffn     experts                others
 *     data parallel         batch or sequence               batch or sequence      batch or sequence
 *     TP                    heads, ffn                      ffn, or experts        replicate
 *     TP+SP                 heads, ffn                      ffn, or experts        batch or sequence
 *     Ulysses               attention: heads                batch or sequence      batch or sequence
 *                           others: batch or sequence
 *     expert parallel       batch or sequence               experts                batch or sequence
 *
 * "others" are norms, residual sums, routers and latents. With ZeRO-3 in the name all large weights
 * are sharded. Without it each weight is replicated, with its optimizer state replicated or sharded
 * (ZeRO-1).
 */
#include <stdio.h>
#include <string.h>

#include "search/operators/layer_graph.h"

typedef enum role {
    ROLE_DATA,
    ROLE_TENSOR,
    ROLE_TENSOR_SEQUENCE,
    ROLE_ULYSSES,
    ROLE_EXPERT,
    ROLES
} role;

/** One named layout. */
typedef struct named {
    role role[PLAIT_MESH_AXES];
    bool zero3;
    bool whole_experts; /* tensor-parallel ranks divide the experts, not their widths */
} named;

static bool deals_tokens(plait_use use)
{
    return use == PLAIT_USE_BATCH || use == PLAIT_USE_SEQUENCE;
}

/*
 * Returns whether the ranks divide the experts. Tokens reach them by an all-to-all, or the dispatch
 * takes all tokens on each rank (C.151).
 */
static bool deals_experts(const node *n, plait_use use)
{
    const bool end = n->part == PLAIT_PART_dispatch || n->part == PLAIT_PART_combine;

    return use == PLAIT_USE_EXPERTS || (end && deals_tokens(use));
}

static bool role_allows(const named *as, const node *n, role r, plait_use use)
{
    switch (r) {
    case ROLE_TENSOR:
    case ROLE_TENSOR_SEQUENCE:
        if (n->expert && as->whole_experts)
            return deals_experts(n, use);
        if (node_cut(n) != PLAIT_USE_REPLICATE)
            return use == node_cut(n);
        return r == ROLE_TENSOR ? use == PLAIT_USE_REPLICATE : deals_tokens(use);
    case ROLE_ULYSSES: // cut by heads in attention, optionally in adjacent operators
        return (n->kind != NODE_CORE && deals_tokens(use)) ||
               (n->kind != NODE_PRODUCT && n->place.makes == PLAIT_DIM_HEADS &&
                use == PLAIT_USE_OUT);
    case ROLE_EXPERT:
        return n->expert ? deals_experts(n, use) : deals_tokens(use);
    default:
        return deals_tokens(use);
    }
}

/* Weights below 1 % of the layer, such as norms and routers, may have any home under ZeRO-3. */
static bool is_small(const layer_graph *g, const node *n)
{
    double params = 0.0;

    for (int i = 0; i < g->nodes; i++)
        params += g->node[i].params;
    return n->params < params / 100.0;
}

/*
 * Returns the homes that a weight may have in this named layout, as bits; 0 if the layout excludes
 * the strategy.
 */
static unsigned homes_in(const void *context, const layer_graph *g, const node *n,
                         const strategy *s)
{
    const named *as = context;

    for (int a = 0; a < g->mesh.axes; a++)
        if (g->mesh.size[a] > 1 && !role_allows(as, n, as->role[a], s->use[a]))
            return 0;
    if (as->zero3 && s->homes > 1)
        return is_small(g, n) ? ~0u : 1u << PLAIT_WEIGHT_ZERO3;
    return 1u << PLAIT_WEIGHT_WHOLE | 1u << PLAIT_WEIGHT_ZERO1;
}

/*
 * Advances to the next named layout, in a fixed order. Returns false after the last. Axes of one
 * rank and models without experts have fewer roles.
 */
static bool next_named(const layer_graph *g, named *as)
{
    const bool moe = g->layer->ffn == PLAIT_FFN_MOE;
    const int roles = moe ? ROLES : ROLE_EXPERT;

    as->zero3 = !as->zero3;
    if (as->zero3)
        return true;
    if (moe) {
        as->whole_experts = !as->whole_experts;
        if (as->whole_experts)
            return true;
    }
    for (int a = 0; a < g->mesh.axes; a++) {
        as->role[a] = (role)((int)as->role[a] + 1);
        if (g->mesh.size[a] > 1 && (int)as->role[a] < roles)
            return true;
        as->role[a] = ROLE_DATA;
    }
    return false;
}

plait_status named_best(const layer_graph *g, double *const *tables, double limit_bytes,
                        plait_arena *arena, assignment *out, plait_error *err)
{
    named as = {.zero3 = false};

    *out = (assignment){.step_s = 0.0};
    do {
        const plait_arena_mark mark = plait_arena_save(arena);
        assembly *a = plait_arena_alloc(arena, 1, sizeof *a);
        program_answer answer = {.feasible = false};
        bool any;

        PLAIT_TRY(plait_check_allocated(a, err));
        PLAIT_TRY(assemble(g, tables, homes_in, &as, limit_bytes, arena, a, &any, err));
        if (any)
            PLAIT_TRY(program_solve(&a->program, 1 << 16, arena, &answer, err));
        if (answer.feasible && (out->step_s <= 0.0 || answer.choice.time_s < out->step_s))
            *out = assignment_of(a, &answer.choice);
        plait_arena_rewind(arena, mark);
    } while (next_named(g, &as));
    return PLAIT_OK;
}

/* Writes a name such as "data parallel 0, TP+SP 1, ZeRO-3". */
static void write_name(const layer_graph *g, const named *as, bool replicas, char *name,
                       size_t size)
{
    static const char *const words[ROLES] = {"data parallel", "TP", "TP+SP", "Ulysses",
                                             "expert parallel"};
    size_t used = 0;

    for (int r = 0; r < ROLES; r++) {
        bool said = false;
        for (int a = 0; a < g->mesh.axes && used < size; a++) {
            if (g->mesh.size[a] == 1 || (int)as->role[a] != r)
                continue;
            used += (size_t)snprintf(name + used, size - used, "%s%s %d", said || !used ? "" : ", ",
                                     said ? "" : words[r], a);
            said = true;
        }
    }
    if (used == 0)
        snprintf(name, size, "one GPU");
    else if (as->zero3 && replicas && used < size)
        snprintf(name + used, size - used, ", ZeRO-3");
}

void named_of(const layer_graph *g, const assignment *a, char *name, size_t size)
{
    named as = {.zero3 = false};
    bool belongs, replicas = false;

    name[0] = '\0';
    for (int i = 0; i < g->nodes; i++)
        replicas = replicas || g->node[i].strategy[a->strategy[i]].homes > 1;
    do {
        belongs = true;
        for (int i = 0; i < g->nodes && belongs; i++)
            belongs =
                homes_in(&as, g, &g->node[i], &g->node[i].strategy[a->strategy[i]]) >> a->home[i] &
                1u;
        if (belongs)
            write_name(g, &as, replicas, name, size);
    } while (!belongs && next_named(g, &as));
}
