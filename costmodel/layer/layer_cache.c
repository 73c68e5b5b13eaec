/*
 * layer_cache.c - cache of the parts of rows that other rows share, to the bit
 *
 * Rows of a search differ in few keys: most products were priced in an earlier row, and so were
 * layers without experts if only experts' degrees change. Each cache is an array with one entry per
 * hash; a later key replaces an earlier one.
 */
#include "costmodel/layer/layer_cache.h"

#include <string.h>

#include "base/hash.h"
#include "plan/model_queries.h"

enum { PRODUCTS = 8192, ROWS = 128, MIXERS = 4096, FFNS = 16384 }; /* powers of two */

/* The fields of an operator that the price of a product depends on. */
typedef struct product_key {
    double m, n, k, batch, flops, quantised, misaligned, accumulated;
    plait_op_kind kind;
    plait_pass_kind layout;
    int matrix_precision;
    int known;
} product_key;

typedef struct known_product {
    product_key key;
    double s; /* seconds of one repetition */
} known_product;

typedef struct known_row {
    bool known;
    layer_key key;
    layer_price price[ROW_PRICES];
} known_row;

/*
 * The keys that half a layer depends on; all others are 0. The struct has no padding, since memcmp
 * compares it.
 */
typedef struct half_key {
    double tokens; /* tokens of a rank and microbatch, for an ffn only */
    int kind, tp, sp, placement, grad_reduce;
    int cp, mbs, cp_comm, attention; /* keys of a mixer only */
    int ep, etp, dispatcher;         /* keys of an ffn only */
} half_key;

struct half_slot {
    half_key key;
    bool known;
    int room;            /* capacity for operators, which follow the block */
    priced_block *block; /* NULL: empty */
};

struct layer_cache {
    const plait_model *model;
    plait_arena *arena; /* storage for halves; NULL: halves are not cached */
    known_product product[PRODUCTS];
    int same_mixer[PLAIT_MAX_LAYER_KINDS]; /* first kind with the same mixer */
    half_slot *mixer, *ffn;                /* NULL: halves are not cached */
    known_row *row;                        /* NULL: rows share no parts */
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

// ---- products ------------------------------------------------------------------------------

static product_key product_key_of(const plait_op *op)
{
    return (product_key){op->m,
                         op->n,
                         op->k,
                         op->batch,
                         op->flops,
                         op->quantised,
                         op->misaligned,
                         op->accumulated,
                         op->kind,
                         op->layout,
                         op->matrix_precision,
                         true};
}

/* The shape distinguishes nearly all products. */
static uint64_t product_hash(const product_key *key)
{
    const double shape[] = {key->m, key->n, key->k, key->batch};
    uint64_t word[sizeof shape / sizeof *shape];
    uint64_t hash = (uint64_t)key->layout;

    memcpy(word, shape, sizeof word);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        hash = hash_word(hash, word[i]);
    return hash;
}

static double product_s(layer_cache *cache, const plait_kernel_context *context, const plait_op *op)
{
    const product_key key = product_key_of(op);
    known_product *const known = &cache->product[product_hash(&key) % PRODUCTS];

    if (memcmp(&known->key, &key, sizeof key) != 0) {
        plait_op one = *op;
        one.count = 1.0;
        *known = (known_product){key, plait_op_s(context, &one)};
    }
    return op->count * known->s;
}

double cached_op_s(layer_cache *cache, const plait_kernel_context *context, const plait_op *op)
{
    if (cache && (op->kind == PLAIT_OP_GEMM || op->kind == PLAIT_OP_GROUPED_GEMM))
        return product_s(cache, context, op);
    return plait_op_s(context, op);
}

// ---- parts without experts -----------------------------------------------------------------

bool price_ignores_experts(const plait_model *model, int r)
{
    return r == ROW_EMBEDDING || r == ROW_HEAD ||
           (r < model->kinds && model->kind[r].ffn != PLAIT_FFN_MOE);
}

static uint64_t row_hash(const layer_key *key)
{
    const int words[] = {key->tp,        key->cp,     key->mbs,       key->sp,         key->cp_comm,
                         key->placement, key->fusion, key->attention, key->grad_reduce};

    return hash_ints(0, words, sizeof words / sizeof *words);
}

layer_price *layer_cache_prices(layer_cache *cache, const layer_key *key, bool *known)
{
    layer_key shared = *key;

    if (!cache || !cache->row)
        return NULL;
    shared.ep = shared.etp = 1;
    shared.dispatcher = 0;
    known_row *const row = &cache->row[row_hash(&shared) % ROWS];
    *known = row->known && layer_key_same(row->key, shared);
    row->known = true;
    row->key = shared;
    return row->price;
}

// ---- halves of layers ----------------------------------------------------------------------

static half_key half_key_of(const layer_cache *cache, const layer_key *key, double seq, int kind,
                            block_half half)
{
    half_key of = {.kind = kind,
                   .tp = key->tp,
                   .sp = key->sp,
                   .placement = key->placement,
                   .grad_reduce = key->grad_reduce};

    if (half == BLOCK_MIXER) {
        of.kind = cache->same_mixer[kind];
        of.cp = key->cp;
        of.mbs = key->mbs;
        of.cp_comm = key->cp_comm;
        of.attention = key->attention;
        return of;
    }
    of.tokens = key->mbs * seq / key->cp;
    if (cache->model->kind[kind].ffn != PLAIT_FFN_MOE)
        return of;
    of.ep = key->ep;
    of.etp = key->etp;
    of.dispatcher = key->dispatcher;
    return of;
}

static uint64_t half_hash(const half_key *key)
{
    const int words[] = {key->kind,    key->tp, key->sp,  key->cp,         key->mbs,
                         key->cp_comm, key->ep, key->etp, key->dispatcher, key->attention};
    uint64_t hash;

    memcpy(&hash, &key->tokens, sizeof hash);
    return hash_ints(hash, words, sizeof words / sizeof *words);
}

half_slot *layer_cache_slot(layer_cache *cache, const layer_key *key, double seq, int kind,
                            block_half half)
{
    if (!layer_cache_has_halves(cache))
        return NULL;
    const half_key of = half_key_of(cache, key, seq, kind, half);
    half_slot *const place = half == BLOCK_MIXER ? &cache->mixer[half_hash(&of) % MIXERS]
                                                 : &cache->ffn[half_hash(&of) % FFNS];

    place->known = place->known && memcmp(&place->key, &of, sizeof of) == 0;
    place->key = of;
    return place;
}

const priced_block *cached_half(const half_slot *place)
{
    return place->known ? place->block : NULL;
}

/* Makes sure that an entry has capacity for a block and its operators. */
static bool has_room(layer_cache *cache, half_slot *place, int ops)
{
    if (place->room >= ops)
        return true;
    place->block =
        plait_arena_alloc(cache->arena, 1, sizeof *place->block + (size_t)ops * sizeof(priced_op));
    place->room = place->block ? ops : 0;
    return place->block != NULL;
}

void cache_half(layer_cache *cache, half_slot *place, const priced_block *block)
{
    const int forward = block->forward.ops, backward = block->backward.ops;

    if (!has_room(cache, place, forward + backward))
        return;
    priced_op *const op = (priced_op *)(place->block + 1);
    *place->block = *block;
    place->block->forward.op = memcpy(op, block->forward.op, (size_t)forward * sizeof *op);
    place->block->backward.op =
        memcpy(op + forward, block->backward.op, (size_t)backward * sizeof *op);
    place->known = true;
}
