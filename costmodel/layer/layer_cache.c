/*
 * layer_cache.c - cache of prices that several rows share
 *
 * The rows of a search differ in few keys. So most products of a row have the price of a product in
 * an earlier row, and if only experts' degrees differ, so have all layers without experts. Each
 * cache is an array with one entry per hash; a later key replaces an earlier one. A cached price
 * equals the computed one bit by bit.
 *
 * The tables of all threads share the lower bounds of halves. Such an entry is never replaced, so a
 * thread reads it without a lock once its seconds are stored.
 */
#include "costmodel/layer/layer_ops.h"

#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "plan/documents.h"
#include "plan/model_queries.h"

/* Numbers of entries, powers of two, and entries in which a bound may be stored. */
enum { PRODUCTS = 8192, ROWS = 128, MIXERS = 2048, FFNS = 4096, MOST_BOUNDS = 1 << 18, TRIES = 8 };

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
    int tp;
    int cp, mbs; /* keys of a mixer only */
    int ep, etp; /* keys of an ffn only */
    int kernels; /* switches, and the attention kernel of a mixer; of CUDA graphs only whether a
                  * mixer's are of layers (C.347), an ffn's of a step (C.306) */
    unsigned short kind;
    unsigned char half; /* block_half */
    unsigned char placement, sp, grad_reduce;
    unsigned char cp_comm;    /* key of a mixer only */
    unsigned char dispatcher; /* key of an ffn only */
} half_key;

/* A lower bound of half a layer. `s` is EMPTY, then FILLING, then the seconds of `key`. */
typedef struct half_bound {
    half_key key;
    _Atomic double s;
} half_bound;

static const double EMPTY = 0.0, FILLING = -1.0;

struct plait_half_bounds {
    size_t count; /* a power of two */
    half_bound *bound;
};

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
    plait_half_bounds *bounds;             /* NULL: there are no lower bounds of halves */
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

void layer_cache_grow(layer_cache *cache, plait_arena *arena, plait_half_bounds *bounds)
{
    cache->bounds = bounds;
    cache->mixer = plait_arena_alloc(arena, MIXERS, sizeof *cache->mixer);
    cache->ffn = plait_arena_alloc(arena, FFNS, sizeof *cache->ffn);
    cache->arena = cache->mixer && cache->ffn ? arena : NULL;
}

bool layer_cache_has_bounds(const layer_cache *cache)
{
    return cache && cache->bounds;
}

int layer_cache_same_mixer(const layer_cache *cache, int kind)
{
    return cache->same_mixer[kind];
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

static half_key half_key_of(const layer_cache *cache, const layer_key *key, double seq, int kind,
                            block_half half)
{
    const bool mixer = half == BLOCK_MIXER;
    const bool experts = !mixer && cache->model->kind[kind].ffn == PLAIT_FFN_MOE;
    const plait_cuda_graph matters = mixer ? PLAIT_GRAPH_LAYERS : PLAIT_GRAPH_FULL;
    layer_key graphs = *key;
    if (graphs.switches.cuda_graph != matters)
        graphs.switches.cuda_graph = PLAIT_GRAPH_NONE;
    return (half_key){
        .tokens = mixer ? 0.0 : key->mbs * seq / key->cp,
        .tp = key->tp,
        .cp = mixer ? key->cp : 0,
        .mbs = mixer ? key->mbs : 0,
        .ep = experts ? key->ep : 0,
        .etp = experts ? key->etp : 0,
        .kernels = switches_word(&graphs) << 8 | (mixer ? key->attention : 0),
        .kind = (unsigned short)(mixer ? cache->same_mixer[kind] : kind),
        .half = (unsigned char)half,
        .placement = key->placement,
        .sp = key->sp,
        .grad_reduce = key->grad_reduce,
        .cp_comm = mixer ? key->cp_comm : 0,
        .dispatcher = experts ? key->dispatcher : 0,
    };
}

static uint64_t hash_of_half(const half_key *key)
{
    uint64_t word[sizeof *key / sizeof(uint64_t)];
    uint64_t hash = 0;

    memcpy(word, key, sizeof word);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        hash = hash_word(hash, word[i]);
    return hash;
}

half_slot *layer_cache_slot(layer_cache *cache, const layer_key *key, double seq, int kind,
                            block_half half, const priced_block **block)
{
    *block = NULL;
    if (!cache || !cache->arena)
        return NULL;
    const half_key of = half_key_of(cache, key, seq, kind, half);
    const uint64_t hash = hash_of_half(&of);
    half_slot *const place =
        half == BLOCK_MIXER ? &cache->mixer[hash % MIXERS] : &cache->ffn[hash % FFNS];
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

// ---- lower bounds of halves ----------------------------------------------------------------

plait_half_bounds *plait_half_bounds_new(int64_t rows, plait_arena *arena)
{
    plait_half_bounds *const bounds = plait_arena_alloc(arena, 1, sizeof *bounds);
    size_t count = 1024;

    // A mixer and an ffn for each row; half of the entries stay empty.
    while (count < MOST_BOUNDS && (int64_t)count < 4 * rows)
        count *= 2;
    if (!bounds)
        return NULL;
    bounds->count = count;
    bounds->bound = plait_arena_alloc(arena, count, sizeof *bounds->bound);
    return bounds->bound ? bounds : NULL;
}

double layer_cache_bound(layer_cache *cache, const plait_problem *problem, layer_row *row, int kind,
                         block_half half, half_bound_s *compute)
{
    const plait_half_bounds *const bounds = cache->bounds;
    const half_key key =
        half_key_of(cache, &row->key, document_tokens(&problem->job, row->key.mbs), kind, half);
    const uint64_t hash = hash_of_half(&key);
    half_bound *empty = NULL;

    for (size_t i = 0; i < TRIES && !empty; i++) {
        half_bound *const at = &bounds->bound[(hash + i) % bounds->count];
        const double s = atomic_load_explicit(&at->s, memory_order_acquire);
        if (s == EMPTY)
            empty = at;
        else if (s != FILLING && memcmp(&at->key, &key, sizeof key) == 0)
            return s;
    }
    const double s = compute(problem, row, kind, half);
    double expected = EMPTY;
    if (s > 0.0 && empty &&
        atomic_compare_exchange_strong_explicit(&empty->s, &expected, FILLING, memory_order_relaxed,
                                                memory_order_relaxed)) {
        empty->key = key;
        atomic_store_explicit(&empty->s, s, memory_order_release);
    }
    return s;
}
