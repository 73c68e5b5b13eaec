/* points.c - read measured times: tables of kernels, recognised by their columns, and logs */
#include "calibrate/points.h"

#include <stdio.h>
#include <string.h>

#include "plait/units.h"

#include "base/text.h"
#include "io/csv/csv_table.h"
#include "io/file.h"

enum { MOST_COLUMNS = 8 };

void points_init(point_list *list, plait_arena *arena)
{
    *list = (point_list){.arena = arena};
}

plait_status points_add(point_list *list, const point *added, plait_error *err)
{
    if (list->count == list->room) {
        const size_t room = list->room > 0 ? 2 * list->room : 256;
        point *grown = plait_arena_alloc(list->arena, room, sizeof *grown);

        PLAIT_TRY(plait_check_allocated(grown, err));
        if (list->count > 0)
            memcpy(grown, list->point, list->count * sizeof *grown);
        list->point = grown;
        list->room = room;
    }
    list->point[list->count++] = *added;
    return PLAIT_OK;
}

/* A row to read, and the arena for its texts. */
typedef struct table_row {
    const csv_table *table;
    size_t row;
    plait_arena *arena;
} table_row;

typedef plait_status read_row(const table_row *at, point_kind kind, point_list *list,
                              plait_error *err);

/* ---- cells ---- */

static const char *text_of(const table_row *at, const char *title)
{
    return csv_table_text(at->table, at->row, csv_table_column(at->table, title));
}

static plait_status number_of(const table_row *at, const char *title, double least, double most,
                              double *out, plait_error *err)
{
    const int column = csv_table_column(at->table, title);
    char where[200];

    if (csv_table_text(at->table, at->row, column)[0] == '\0') {
        snprintf(where, sizeof where, "%.120s:%d:%.60s", at->table->name, at->table->line[at->row],
                 title);
        return plait_fail(err, PLAIT_ERROR_SCHEMA, where, "expected a number, found nothing");
    }
    return csv_table_number(at->table, at->row, column, least, most, out, err);
}

static plait_status count_of(const table_row *at, const char *title, double *out, plait_error *err)
{
    return number_of(at, title, 1.0, 1e9, out, err);
}

static plait_status microseconds_of(const table_row *at, const char *title, double *out,
                                    plait_error *err)
{
    PLAIT_TRY(number_of(at, title, 1e-3, 1e12, out, err));
    *out *= PLAIT_US;
    return PLAIT_OK;
}

/* Returns the plait_precision for bf16, half, fp8_block or another name in a table; -1: unknown. */
static int precision_of(const table_row *at, const char *title)
{
    const char *word = text_of(at, title);

    if (text_equal(word, "half") || text_equal(word, "float16"))
        return PLAIT_FP16;
    if (text_equal(word, "bfloat16") || word[0] == '\0')
        return PLAIT_BF16;
    return text_index(word, plait_precision_name);
}

/*
 * Like precision_of(), but returns bf16 for fp16, since the same units run both at the same rate.
 */
static int matrix_precision_of(const table_row *at)
{
    const int precision = precision_of(at, "dtype");

    return precision == PLAIT_FP16 ? PLAIT_BF16 : precision;
}

static plait_status name_of(const table_row *at, point *out, plait_error *err)
{
    const char *gpu = text_of(at, "gpu");

    out->measured = plait_arena_text(at->arena, gpu[0] != '\0' ? gpu : text_of(at, "node_type"));
    out->source = plait_arena_text(at->arena, text_of(at, "source"));
    return out->measured != NULL && out->source != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/* ---- products ---- */

static plait_status begin_product(const table_row *at, point_kind kind, int precision, point *out,
                                  plait_error *err)
{
    *out = (point){.kind = kind, .block = precision};
    out->gemm.precision = (plait_precision)precision;
    out->gemm.quantise = precision > PLAIT_FP16;
    return name_of(at, out, err);
}

/*
 * Reads a single product, a product in a long loop, a product of training, or a grouped product.
 * Layout TN is the forward product, NN the gradient of its input, NT the gradient of its weights.
 */
static plait_status read_product(const table_row *at, point_kind kind, point_list *list,
                                 plait_error *err)
{
    const int precision = matrix_precision_of(at);
    const bool weight = kind == POINT_LAYOUT && text_equal(text_of(at, "layout"), "NT");
    const bool grouped = kind == POINT_GROUPED;
    point p;

    // Training accumulates weight gradients in fp32, so skip those written in bf16.
    if (precision < 0 || (weight && !text_equal(text_of(at, "out_dtype"), "fp32")) ||
        (grouped && !text_equal(text_of(at, "stage"), "fwd")))
        return PLAIT_OK;
    PLAIT_TRY(begin_product(at, kind, precision, &p, err));
    p.gemm.batch = 1.0;
    p.gemm.weight_gradient = weight;
    if (grouped)
        PLAIT_TRY(count_of(at, "groups", &p.gemm.batch, err));
    PLAIT_TRY(count_of(at, grouped ? "m_per_group" : "m", &p.gemm.m, err));
    PLAIT_TRY(count_of(at, "n", &p.gemm.n, err));
    PLAIT_TRY(count_of(at, "k", &p.gemm.k, err));
    if (kind == POINT_SUSTAINED) {
        PLAIT_TRY(microseconds_of(at, "time_us_sustained", &p.s, err));
        PLAIT_TRY(microseconds_of(at, "time_us_burst", &p.beside_s, err));
    } else {
        PLAIT_TRY(microseconds_of(at, "time_us", &p.s, err));
    }
    return points_add(list, &p, err);
}

/*
 * Reads an expert layer, and skips rows that do not describe training: training has balanced loads,
 * gated experts without tensor parallelism, and no kernels for the few tokens of decoding.
 */
static plait_status read_experts(const table_row *at, point_kind kind, point_list *list,
                                 plait_error *err)
{
    const int precision = matrix_precision_of(at);
    const char *spread = text_of(at, "distribution"), *tp = text_of(at, "tp");
    const char *kernel = text_of(at, "kernel");
    point p;

    if (precision < 0 || (spread[0] != '\0' && !text_equal(spread, "balanced")) ||
        (tp[0] != '\0' && !text_equal(tp, "1")) || strstr(kernel, "nongated") != NULL ||
        strstr(kernel, "min_latency") != NULL)
        return PLAIT_OK;
    PLAIT_TRY(begin_product(at, kind, precision, &p, err));
    PLAIT_TRY(count_of(at, "tokens", &p.experts.tokens, err));
    PLAIT_TRY(count_of(at, "topk", &p.experts.topk, err));
    PLAIT_TRY(count_of(at, "hidden", &p.experts.hidden, err));
    PLAIT_TRY(count_of(at, "inter", &p.experts.width, err));
    PLAIT_TRY(count_of(at, "experts", &p.experts.experts, err));
    PLAIT_TRY(count_of(at, "ep", &p.experts.ranks, err));
    PLAIT_TRY(microseconds_of(at, "time_us", &p.s, err));
    return points_add(list, &p, err);
}

/* ---- attention ---- */

/*
 * Returns the attention kernel for a name in a table; -1: unknown. The kernels of TensorRT-LLM and
 * cuDNN are both PLAIT_ATTENTION_FUSED. FlashAttention-3 does not run on Blackwell, so vLLM's
 * kernel on Blackwell replaces it.
 */
static int kernel_of(const char *word)
{
    static const struct known_kernel {
        const char *word;
        plait_attention_kernel kernel;
    } known[] = {
        {"torch_flow", PLAIT_ATTENTION_FUSED},
        {"cuDNN", PLAIT_ATTENTION_FUSED},
        {"", PLAIT_ATTENTION_FUSED}, // tables of TransformerEngine have no kernel column
        {"flash_attn", PLAIT_ATTENTION_FLASH2},
        {"flash_attention", PLAIT_ATTENTION_FLASH2},
        {"FA2", PLAIT_ATTENTION_FLASH2},
        {"flash_attn_fa3", PLAIT_ATTENTION_FLASH3},
        {"fa3", PLAIT_ATTENTION_FLASH3},
        {"FA3", PLAIT_ATTENTION_FLASH3},
        {"flashinfer_trtllmprefill", PLAIT_ATTENTION_FLASH3},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_equal(word, known[i].word))
            return (int)known[i].kernel;
    return text_index(word, plait_attention_kernel_name);
}

static bool is_plain(const table_row *at, const char *title)
{
    const int precision = precision_of(at, title);

    return precision == PLAIT_BF16 || precision == PLAIT_FP16;
}

/*
 * Reads the work of an attention kernel's forward. A causal kernel computes the lower triangle of
 * the scores including the diagonal. Elements have 16 bits.
 */
static plait_status read_work(const table_row *at, plait_attention_work *work, plait_error *err)
{
    const bool full = text_equal(text_of(at, "causal"), "0");
    double kv_heads;

    PLAIT_TRY(count_of(at, "batch", &work->sequences, err));
    PLAIT_TRY(count_of(at, "seq", &work->query, err));
    PLAIT_TRY(count_of(at, "heads", &work->heads, err));
    PLAIT_TRY(count_of(at, "kv_heads", &kv_heads, err));
    PLAIT_TRY(count_of(at, "head_dim", &work->head_dim, err));
    work->ramp = work->query;
    work->flops = 2.0 * work->sequences * work->heads * work->head_dim * work->query *
                  (full ? 2.0 * work->query : work->query + 1.0);
    work->bytes = 4.0 * work->sequences * work->query * work->head_dim * (work->heads + kv_heads);
    return PLAIT_OK;
}

static plait_status read_attention(const table_row *at, point_kind kind, point_list *list,
                                   plait_error *err)
{
    point p = {.kind = kind, .block = kernel_of(text_of(at, "kernel"))};

    if (p.block < PLAIT_ATTENTION_FLASH || !is_plain(at, "dtype") || !is_plain(at, "kv_dtype"))
        return PLAIT_OK;
    PLAIT_TRY(name_of(at, &p, err));
    PLAIT_TRY(read_work(at, &p.attention, err));
    PLAIT_TRY(microseconds_of(at, "time_us", &p.s, err));
    // Skip wider heads: they run other kernels, for which the cost model has no rate.
    return p.attention.head_dim <= 256.0 ? points_add(list, &p, err) : PLAIT_OK;
}

/*
 * Most query heads per KV head. TensorRT-LLM has no special kernel for more, and then takes 30
 * times as long.
 */
static const double most_sharing_heads = 32.0;

static plait_status read_decode(const table_row *at, point_kind kind, point_list *list,
                                plait_error *err)
{
    const int format = text_index(text_of(at, "kv_dtype"), plait_kv_name);
    point p = {.kind = kind, .block = format};
    double keys, heads, width;

    if (format < 0)
        return PLAIT_OK;
    PLAIT_TRY(name_of(at, &p, err));
    PLAIT_TRY(count_of(at, "batch", &p.decode.sequences, err));
    PLAIT_TRY(count_of(at, "ctx_len", &keys, err));
    PLAIT_TRY(count_of(at, "heads", &heads, err));
    PLAIT_TRY(count_of(at, "kv_heads", &p.decode.kv_heads, err));
    PLAIT_TRY(count_of(at, "head_dim", &width, err));
    PLAIT_TRY(microseconds_of(at, "time_us", &p.s, err));
    p.decode.bytes = (format == PLAIT_KV_FP8 ? 2.0 : 4.0) * p.decode.sequences * keys *
                     p.decode.kv_heads * width;
    return heads <= most_sharing_heads * p.decode.kv_heads ? points_add(list, &p, err) : PLAIT_OK;
}

/* Returns whether two rows are equal except in pass, source and measured columns. */
static bool same_case(const csv_table *table, size_t a, size_t b)
{
    for (size_t c = 0; c < table->columns; c++) {
        const char *title = table->title[c];

        if (text_equal(title, "pass") || text_equal(title, "source") ||
            text_starts_with(title, "time") || text_starts_with(title, "tflops"))
            continue;
        if (!text_equal(csv_table_text(table, a, (int)c), csv_table_text(table, b, (int)c)))
            return false;
    }
    return true;
}

/*
 * Reads a backward pass, or both passes together, and the forward pass of the same case. Without a
 * measured forward pass, both passes together of a causal kernel are a point whose forward pass is
 * predicted: its beside_s is 0.
 */
static plait_status read_backward(const table_row *at, point_kind kind, point_list *list,
                                  plait_error *err)
{
    const char *pass = text_of(at, "pass");
    point p = {.kind = kind, .block = kernel_of(text_of(at, "kernel"))};
    table_row forward = *at;

    if (p.block < PLAIT_ATTENTION_FLASH || text_equal(pass, "fwd"))
        return PLAIT_OK;
    for (forward.row = 0; forward.row < at->table->rows; forward.row++)
        if (text_equal(text_of(&forward, "pass"), "fwd") &&
            same_case(at->table, at->row, forward.row))
            break;
    PLAIT_TRY(name_of(at, &p, err));
    PLAIT_TRY(microseconds_of(at, "time_us", &p.s, err));
    if (forward.row == at->table->rows) {
        if (!text_equal(pass, "fwd+bwd") || !text_equal(text_of(at, "causal"), "1"))
            return PLAIT_OK;
        PLAIT_TRY(read_work(at, &p.attention, err));
        return points_add(list, &p, err);
    }
    PLAIT_TRY(count_of(at, "seq", &p.attention.query, err));
    PLAIT_TRY(microseconds_of(&forward, "time_us", &p.beside_s, err));
    if (text_equal(pass, "fwd+bwd"))
        p.s -= p.beside_s;
    return p.s > 0.0 ? points_add(list, &p, err) : PLAIT_OK;
}

/* ---- memory, links ---- */

static plait_status read_memory(const table_row *at, point_kind kind, point_list *list,
                                plait_error *err)
{
    point p = {.kind = kind};

    PLAIT_TRY(name_of(at, &p, err));
    PLAIT_TRY(number_of(at, "approx_bytes", 1.0, 1e15, &p.bytes, err));
    PLAIT_TRY(microseconds_of(at, "time_us", &p.s, err));
    return points_add(list, &p, err);
}

static plait_status read_collective(const table_row *at, point_kind kind, point_list *list,
                                    plait_error *err)
{
    const char *const word = text_of(at, "collective");
    const bool send = text_equal(word, "send_recv") || text_equal(word, "sendrecv");
    const int op = text_equal(word, "alltoall") ? (int)PLAIT_ALL_TO_ALL
                   : send                       ? (int)PLAIT_P2P
                                                : text_index(word, plait_collective_name);
    double ranks, nodes = 1.0;
    point p = {.kind = op == PLAIT_P2P ? POINT_P2P : kind, .block = op};

    // Skip 8-bit reductions: they use other code paths than gradients.
    if (op < 0 || (op >= PLAIT_FITTED_COLLECTIVES && op != PLAIT_P2P) ||
        text_equal(text_of(at, "dtype"), "int8"))
        return PLAIT_OK;
    PLAIT_TRY(name_of(at, &p, err));
    PLAIT_TRY(number_of(at, "ranks", 2.0, 1e5, &ranks, err));
    PLAIT_TRY(number_of(at, "bytes", 1.0, 1e15, &p.bytes, err));
    PLAIT_TRY(microseconds_of(at, "time_us", &p.s, err));
    if (text_of(at, "nodes")[0] != '\0')
        PLAIT_TRY(number_of(at, "nodes", 1.0, 1e5, &nodes, err));
    p.nodes = (int)nodes;
    p.ranks = (int)ranks;
    return points_add(list, &p, err);
}

/* ---- files ---- */

/*
 * Kinds of tables. A table has the first kind of which it has all columns. `read` is NULL if no
 * constant is fitted to tables of that kind.
 */
static const struct table_kind {
    const char *column[MOST_COLUMNS];
    point_kind kind;
    read_row *read;
} kinds[] = {
    {{"m", "n", "k", "time_us_sustained", "time_us_burst"}, POINT_SUSTAINED, read_product},
    {{"m", "n", "k", "layout", "time_us"}, POINT_LAYOUT, read_product},
    {{"groups", "m_per_group", "n", "k", "stage", "time_us"}, POINT_GROUPED, read_product},
    {{"m", "n", "k", "time_us"}, POINT_GEMM, read_product},
    {{"tokens", "hidden", "inter", "topk", "experts", "ep", "time_us"},
     POINT_EXPERTS,
     read_experts},
    {{"pass", "batch", "seq", "time_us"}, POINT_BACKWARD, read_backward},
    {{"batch", "seq", "heads", "kv_heads", "head_dim", "time_us"}, POINT_ATTENTION, read_attention},
    {{"kv_dtype", "batch", "ctx_len", "heads", "kv_heads", "head_dim", "time_us"},
     POINT_DECODE,
     read_decode},
    {{"op", "approx_bytes", "time_us"}, POINT_MEMORY, read_memory},
    {{"collective", "ranks", "bytes", "time_us"}, POINT_COLLECTIVE, read_collective},
    {{"dispatch_us", "combine_us"}, POINT_KINDS, NULL},    // expert exchange
    {{"fraction_of_ceiling", "bytes"}, POINT_KINDS, NULL}, // ramps between nodes
    {{"bottleneck_GBps_logical"}, POINT_KINDS, NULL},      // published rates of expert exchange
};

plait_status points_parse(const char *text, size_t length, const char *name, plait_arena *arena,
                          point_list *list, plait_error *err)
{
    csv_table table;

    if (nccl_log_recognises(text, length))
        return nccl_log_points(text, length, name, list, err);
    PLAIT_TRY(csv_table_parse(text, length, name, arena, &table, err));
    for (const struct table_kind *kind = kinds; kind < kinds + sizeof kinds / sizeof *kinds;
         kind++) {
        int found = 0;

        while (found < MOST_COLUMNS && kind->column[found] != NULL &&
               csv_table_column(&table, kind->column[found]) >= 0)
            found++;
        if (found < MOST_COLUMNS && kind->column[found] != NULL)
            continue;
        for (size_t row = 0; kind->read != NULL && row < table.rows; row++)
            PLAIT_TRY(kind->read(&(table_row){&table, row, list->arena}, kind->kind, list, err));
        return PLAIT_OK;
    }
    return plait_fail(
        err, PLAIT_ERROR_SCHEMA, table.name,
        "expected the columns of a measurement table (gpu,dtype,m,n,k,time_us or those "
        "of another table in clusters/measurements), found others");
}

plait_status points_read(const char *path, plait_arena *arena, point_list *list, plait_error *err)
{
    const char *text;
    size_t length;

    PLAIT_TRY(file_read_all(path, CSV_MAX_BYTES, arena, &text, &length, err));
    return points_parse(text, length, path, arena, list, err);
}
