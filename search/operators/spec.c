/*
 * spec.c - layouts of an operator's tensors as text: "[S0,R,R] x [R,S1] -> [S0,R,S1]" (S.45)
 *
 * The dimensions are [sequences, tokens, width], or [experts, sequences, tokens, width] for tokens
 * routed to experts; the weight of a product is [in, out]. S01 is a dimension cut by axes 0 and 1;
 * R is a dimension that is not cut. P1 after the brackets is a partial sum over axis 1.
 */
#include <stdio.h>

#include "search/operators/layer_graph.h"

#define SPEC_ADD(...)                                                                              \
    used += used < PLAIT_SPEC_CHARS                                                                \
                ? (size_t)snprintf(spec + used, PLAIT_SPEC_CHARS - used, __VA_ARGS__)              \
                : 0

/* Appends a letter and the numbers of the axes, such as "S01". Returns the new length. */
static size_t add_axes(char *spec, size_t used, char letter, unsigned axes)
{
    SPEC_ADD("%c", letter);
    for (int a = 0; a < PLAIT_MESH_AXES; a++)
        if (axes >> a & 1u)
            SPEC_ADD("%d", a);
    return used;
}

static size_t add_cut(char *spec, size_t used, unsigned axes)
{
    return add_axes(spec, used, axes ? 'S' : 'R', axes);
}

static unsigned axes_that(spread of, lie which, int axes)
{
    unsigned set = 0;

    for (int a = 0; a < axes; a++)
        set |= (unsigned)(of.lie[a] == which) << a;
    return set;
}

static size_t add_tensor(char *spec, size_t used, spread of, bool routed, int axes)
{
    static const lie order[] = {LIE_EXPERTS, LIE_BATCH, LIE_SEQUENCE, LIE_WIDTH};
    const unsigned partial = axes_that(of, LIE_PARTIAL, axes);

    for (int i = routed ? 0 : 1; i < 4; i++) {
        SPEC_ADD("%s", i == (routed ? 0 : 1) ? "[" : ",");
        used = add_cut(spec, used, axes_that(of, order[i], axes));
    }
    SPEC_ADD("]");
    return partial ? add_axes(spec, used, 'P', partial) : used;
}

void strategy_spec(const plait_mesh *mesh, const node *n, const strategy *s,
                   char spec[PLAIT_SPEC_CHARS])
{
    size_t used = 0;

    used = add_tensor(spec, used, input_spread(n, s), n->expert && n->part != PLAIT_PART_dispatch,
                      mesh->axes);
    if (n->kind == NODE_PRODUCT) {
        SPEC_ADD(" x [");
        if (n->expert) {
            used = add_cut(spec, used, mesh_axes(mesh, s->use, PLAIT_USE_EXPERTS));
            SPEC_ADD(",");
        }
        used = add_cut(spec, used, mesh_axes(mesh, s->use, PLAIT_USE_IN));
        SPEC_ADD(",");
        used = add_cut(spec, used, mesh_axes(mesh, s->use, PLAIT_USE_OUT));
        SPEC_ADD("]");
    }
    SPEC_ADD(" -> ");
    add_tensor(spec, used, output_spread(n, s), n->expert && n->part != PLAIT_PART_combine,
               mesh->axes);
}
