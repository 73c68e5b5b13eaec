/*
 * layer_cache.c - cache of prices that several rows share
 *
 * The rows of a search differ in few keys. So most products of a row have the price of a product in
 * an earlier row, and if only experts' degrees differ, so have all layers without experts. Each
 * cache is an array with one entry per hash; a later key replaces an earlier one. A cached price
 * equals the computed one bit by bit.
 */
#include "costmodel/layer/layer_ops.h"

#include <string.h>

#include "base/hash.h"
#include "plan/model_queries.h"

enum { PRODUCTS = 8192, ROWS = 128, MIXERS = 4096, FFNS = 16384 }; /* powers of two */

/* The fields of an operator on which the price of a product depends. */
typedef struct product_key {
    double m, n, k, batch, flops, quantised, misaligned, accumulated;
    int kind, layout, matrix_precision, valid;
} product_key;

typedef struct cached_product {
    product_key key;
    double s; /* seconds of one repetition */
} cached_product;

typedef struct cached_row {
    bool valid;
    layer_key key;
    layer_price price[ROW_PRICES];
} cached_row;

/*
 * The keys on which the price of half a layer depends; keys that do not matter for it are 0. The
 * struct has no padding, since memcmp compares it.
 */
typedef struct half_key {
    double tokens; /* tokens of a rank and microbatch; 0 for a mixer */
    int kind, tp, sp, placement, grad_reduce;
    int kernels;             /* switches, and the attention kernel of a mixer; of CUDA graphs only
                              * whether a mixer's are of layers (C.347), an ffn's of a step (C.306) */
    int cp, mbs, cp_comm;    /* keys of a mixer only */
    int ep, etp, dispatcher; /* keys of an ffn only */
} half_key;

struct half_slot {
    half_key key;
    bool valid;
    int capacity;        /* number of operators that fit after the block */
    priced_block *block; /* NULL: empty */
};

struct layer_cache {
    const plait_model *model;
    plait_arena *arena; /* storage for halves; NULL: halves are not cached */
    cached_product product[PRODUCTS];
    int same_mixer[PLAIT_MAX_LAYER_KINDS]; /* first kind with the same mixer */
    half_slot *mixer, *ffn;                /* NULL: halves are not cached */
    cached_row *row;                       /* NULL: rows share no parts */
};

layer_cache *layer_cache_new(const plait_problem *problem, plait_arena *arena)
{
    layer_cache *cache = plait_arena_alloc(arena, 1, sizeof *cache);

    if (!cache)
        return NULL;
    cache->model = problem->model;
    for (int k = 0; k < problem->model->kinds; k++)
        cache->same_mixer[k] = model_first_with_mixer(problem->model, k);
    if (!model_has_experts(problem->model))
        return cache;
    cache->row = plait_arena_alloc(arena, ROWS, sizeof *cache->row);
    return cache->row ? cache : NULL;
}

void layer_cache_grow(layer_cache *cache, plait_arena *arena)
{
    cache->mixer = plait_arena_alloc(arena, MIXERS, sizeof *cache->mixer);
    cache->ffn = plait_arena_alloc(arena, FFNS, sizeof *cache->ffn);
    cache->arena = cache->mixer && cache->ffn ? arena : NULL;
}

bool layer_cache_has_halves(const layer_cache *cache)
{
    return cache && cache->arena;
}

static int switches_word(const layer_key *key)
{
    const plait_switches *const s = &key->switches;

    return s->cuda_graph | s->fp8_attention << 2 | s->fused_grouped_mlp << 3 |
           s->tp_comm_overlap << 4 | s->permute_fusion << 5 | s->router_fusion << 6;
}

// ---- products ------------------------------------------------------------------------------

/* The hash covers layout and shape only, since nearly all different products differ in these. */
double cached_op_s(layer_cache *cache, const plait_kernel_context *context, const plait_op *op)
{
    if (!cache || (op->kind != PLAIT_OP_GEMM && op->kind != PLAIT_OP_GROUPED_GEMM))
        return plait_op_s(context, op);
    const double shape[] = {op->m, op->n, op->k, op->batch};
    const product_key key = {.m = op->m,
                             .n = op->n,
                             .k = op->k,
                             .batch = op->batch,
                             .flops = op->flops,
                             .quantised = op->quantised,
                             .misaligned = op->misaligned,
                             .accumulated = op->accumulated,
                             .kind = (int)op->kind,
                             .layout = (int)op->layout,
                             .matrix_precision = op->matrix_precision,
                             .valid = true};
    uint64_t word[sizeof shape / sizeof *shape];
    uint64_t hash = (uint64_t)key.layout;

    memcpy(word, shape, sizeof word);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        hash = hash_word(hash, word[i]);
    cached_product *const cached = &cache->product[hash % PRODUCTS];
    if (memcmp(&cached->key, &key, sizeof key) != 0) {
        plait_op one = *op;
        one.count = 1.0;
        *cached = (cached_product){key, plait_op_s(context, &one)};
    }
    return op->count * cached->s;
}

// ---- parts without experts -----------------------------------------------------------------

layer_price *layer_cache_prices(layer_cache *cache, const layer_key *key, bool *cached)
{
    const int words[] = {key->tp,          key->cp,           key->mbs,    key->sp,
                         key->cp_comm,     key->placement,    key->fusion, key->attention,
                         key->grad_reduce, switches_word(key)};
    layer_key shared = *key;

    if (!cache || !cache->row)
        return NULL;
    shared.ep = shared.etp = 1;
    shared.dispatcher = 0;
    cached_row *const row = &cache->row[hash_ints(0, words, sizeof words / sizeof *words) % ROWS];
    *cached = row->valid && layer_key_same(row->key, shared);
    row->valid = true;
    row->key = shared;
    return row->price;
}

// ---- halves of layers ----------------------------------------------------------------------

half_slot *layer_cache_slot(layer_cache *cache, const layer_key *key, double seq, int kind,
                            block_half half, const priced_block **block)
{
    const bool mixer = half == BLOCK_MIXER;

    *block = NULL;
    if (!layer_cache_has_halves(cache))
        return NULL;
    const bool experts = !mixer && cache->model->kind[kind].ffn == PLAIT_FFN_MOE;
    const plait_cuda_graph matters = mixer ? PLAIT_GRAPH_LAYERS : PLAIT_GRAPH_FULL;
    layer_key graphs = *key;
    if (graphs.switches.cuda_graph != matters)
        graphs.switches.cuda_graph = PLAIT_GRAPH_NONE;
    const half_key of = {
        .tokens = mixer ? 0.0 : key->mbs * seq / key->cp,
        .kind = mixer ? cache->same_mixer[kind] : kind,
        .tp = key->tp,
        .sp = key->sp,
        .placement = key->placement,
        .grad_reduce = key->grad_reduce,
        .cp = mixer ? key->cp : 0,
        .mbs = mixer ? key->mbs : 0,
        .cp_comm = mixer ? key->cp_comm : 0,
        .kernels = switches_word(&graphs) << 8 | (mixer ? key->attention : 0),
        .ep = experts ? key->ep : 0,
        .etp = experts ? key->etp : 0,
        .dispatcher = experts ? key->dispatcher : 0,
    };
    const int words[] = {of.kind,    of.tp, of.sp,  of.cp,         of.mbs,
                         of.cp_comm, of.ep, of.etp, of.dispatcher, of.kernels};
    uint64_t hash;

    memcpy(&hash, &of.tokens, sizeof hash);
    hash = hash_ints(hash, words, sizeof words / sizeof *words);
    half_slot *const place = mixer ? &cache->mixer[hash % MIXERS] : &cache->ffn[hash % FFNS];
    place->valid = place->valid && memcmp(&place->key, &of, sizeof of) == 0;
    place->key = of;
    *block = place->valid ? place->block : NULL;
    return place;
}

void cache_half(layer_cache *cache, half_slot *place, const priced_block *block)
{
    const int forward = block->forward.ops, backward = block->backward.ops;
    const int ops = forward + backward;

    if (place->capacity < ops) {
        place->block = plait_arena_alloc(cache->arena, 1,
                                         sizeof *place->block + (size_t)ops * sizeof(priced_op));
        place->capacity = place->block ? ops : 0;
    }
    if (!place->block)
        return;
    priced_op *const op = (priced_op *)(place->block + 1);
    *place->block = *block;
    place->block->forward.op = memcpy(op, block->forward.op, (size_t)forward * sizeof *op);
    place->block->backward.op =
        memcpy(op + forward, block->backward.op, (size_t)backward * sizeof *op);
    place->valid = true;
}
