/*
 * strategy.c - how an operator may use each axis of the mesh, and the resulting layouts of its
 * tensors
 *
 *     S.45      use         input             output     weight [in, out]
 *               replicate   whole             whole      whole
 *               batch       cut               cut        whole; its gradient is summed
 *               sequence    cut               cut        whole; its gradient is summed
 *               in          cut in width      partial    cut in `in`
 *               out         whole (gradient   cut in     cut in `out`
 *                           partial)          width
 *               experts     cut in experts    cut        cut in experts
 *
 * An operator without a weight keeps its width, so `out` cuts both input and output. With `experts`
 * the dispatch takes all tokens along the axis and leaves each rank those of its experts; the
 * output of the combine is a partial sum. If instead the tokens are cut and then the experts, the
 * conversion between the two is an all-to-all.
 */
#include <string.h>

#include "search/operators/layer_graph.h"

plait_use node_cut(const node *n)
{
    const bool makes_cut = n->place.makes > PLAIT_DIM_HIDDEN;
    const bool takes_cut = n->place.takes > PLAIT_DIM_HIDDEN;

    if (makes_cut)
        return PLAIT_USE_OUT;
    return takes_cut && n->kind == NODE_PRODUCT ? PLAIT_USE_IN : PLAIT_USE_REPLICATE;
}

// ---- possible strategies -------------------------------------------------------------------

static bool heads_divide(const plait_layer *layer, plait_mixer_kind mixer, int ways)
{
    switch (mixer) {
    case PLAIT_MIXER_ATTENTION:
        return layer->attention.heads % ways == 0 &&
               (layer->attention.kv_heads % ways == 0 || ways % layer->attention.kv_heads == 0);
    case PLAIT_MIXER_MLA:
        return layer->mla.heads % ways == 0;
    case PLAIT_MIXER_DELTA_NET:
        return layer->delta_net.value_heads % ways == 0 && layer->delta_net.key_heads % ways == 0;
    case PLAIT_MIXER_MAMBA:
        return layer->mamba.inner % ways == 0 && layer->mamba.heads % ways == 0 &&
               layer->mamba.groups % ways == 0;
    case PLAIT_MIXER_CONV:
        return layer->conv.width % ways == 0 && layer->conv.blocks % ways == 0;
    default:
        return false;
    }
}

static int ffn_width(const plait_layer *layer, plait_part part)
{
    if (layer->ffn == PLAIT_FFN_MLP)
        return layer->mlp.width;
    return part == PLAIT_PART_shared ? layer->moe.shared_width : layer->moe.width;
}

/*
 * Returns whether `ways` ranks can cut a width (a plait_dim) evenly. A WHOLE width cannot be cut.
 */
static bool width_divides(const layer_graph *g, const node *n, int width, int ways)
{
    switch ((plait_dim)width) {
    case PLAIT_DIM_HIDDEN:
        return g->problem->model->hidden % ways == 0;
    case PLAIT_DIM_HEADS:
        return heads_divide(g->layer, g->layer->mixer, ways) &&
               (g->layer->second_mixer == PLAIT_MIXER_NONE ||
                heads_divide(g->layer, g->layer->second_mixer, ways));
    case PLAIT_DIM_FFN:
        return ffn_width(g->layer, n->part) % ways == 0;
    default:
        return ways == 1;
    }
}

/*
 * Returns whether an operator can use the axes in this way: every cut must divide its dimension.
 * (C.16)
 */
static bool is_possible(const layer_graph *g, const node *n, const plait_use *use)
{
    const int batch = mesh_ways(&g->mesh, use, PLAIT_USE_BATCH);
    const int sequence = mesh_ways(&g->mesh, use, PLAIT_USE_SEQUENCE);
    const int in = mesh_ways(&g->mesh, use, PLAIT_USE_IN);
    const int out = mesh_ways(&g->mesh, use, PLAIT_USE_OUT);
    const int experts = mesh_ways(&g->mesh, use, PLAIT_USE_EXPERTS);
    const bool sums = n->kind == NODE_PRODUCT;

    if ((int64_t)g->sequences % batch != 0 || g->problem->job.seq % sequence != 0)
        return false;
    if (mesh_axes(&g->mesh, use, PLAIT_USE_IN) &&
        (!sums || !width_divides(g, n, n->place.takes, in)))
        return false;
    if (mesh_axes(&g->mesh, use, PLAIT_USE_OUT) &&
        (n->place.makes == PLAIT_DIM_WHOLE || !width_divides(g, n, n->place.makes, out)))
        return false;
    return !mesh_axes(&g->mesh, use, PLAIT_USE_EXPERTS) ||
           (n->expert && g->layer->moe.experts % experts == 0);
}

/*
 * Advances to the next combination of uses. Returns false after the last. Axes of one rank are
 * always REPLICATE.
 */
static bool next_use(const plait_mesh *mesh, plait_use *use)
{
    for (int a = 0; a < mesh->axes; a++) {
        if (mesh->size[a] > 1 && ++use[a] < PLAIT_USES)
            return true;
        use[a] = PLAIT_USE_REPLICATE;
    }
    return false;
}

plait_status strategies_list(layer_graph *g, plait_arena *arena, plait_error *err)
{
    for (int i = 0; i < g->nodes; i++) {
        node *n = &g->node[i];
        plait_use use[PLAIT_MESH_AXES] = {PLAIT_USE_REPLICATE};
        n->strategy = plait_arena_alloc(arena, MOST_STRATEGIES, sizeof *n->strategy);
        PLAIT_TRY(plait_check_allocated(n->strategy, err));
        do {
            if (is_possible(g, n, use))
                memcpy(n->strategy[n->strategies++].use, use, sizeof use);
        } while (next_use(&g->mesh, use));
    }
    price_operators(g);
    for (int i = 0; i < g->nodes; i++)
        for (int s = 0; s < g->node[i].strategies; s++)
            price_weight(g, &g->node[i], &g->node[i].strategy[s]);
    return PLAIT_OK;
}

// ---- layouts of tensors --------------------------------------------------------------------

spread input_spread(const node *n, const strategy *s)
{
    static const lie lies[PLAIT_USES] = {LIE_WHOLE, LIE_BATCH, LIE_SEQUENCE,
                                         LIE_WIDTH, LIE_WIDTH, LIE_EXPERTS};
    spread in;

    for (int a = 0; a < PLAIT_MESH_AXES; a++) {
        const plait_use use = s->use[a];
        const bool copies = (use == PLAIT_USE_OUT && n->kind == NODE_PRODUCT) ||
                            (use == PLAIT_USE_EXPERTS && n->part == PLAIT_PART_dispatch);
        in.lie[a] = (unsigned char)(copies ? LIE_COPY : lies[use]);
    }
    return in;
}

spread output_spread(const node *n, const strategy *s)
{
    static const lie lies[PLAIT_USES] = {LIE_WHOLE,   LIE_BATCH, LIE_SEQUENCE,
                                         LIE_PARTIAL, LIE_WIDTH, LIE_EXPERTS};
    spread out;

    for (int a = 0; a < PLAIT_MESH_AXES; a++) {
        const bool sums = s->use[a] == PLAIT_USE_EXPERTS && n->part == PLAIT_PART_combine;
        out.lie[a] = (unsigned char)(sums ? LIE_PARTIAL : lies[s->use[a]]);
    }
    return out;
}

spread spread_replace(spread of, lie from, lie to)
{
    for (int a = 0; a < PLAIT_MESH_AXES; a++)
        if (of.lie[a] == from)
            of.lie[a] = (unsigned char)to;
    return of;
}
