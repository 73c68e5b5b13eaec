/* tables.c - read tables of measured kernels, recognised by their columns */
#include "calibrate/tables.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

#include "plait/units.h"

#include "base/text.h"

enum { MOST_COLUMNS = 8 };

/* A row to read, and the arena for its texts. */
typedef struct table_row {
    const csv_table *table;
    size_t row;
    plait_arena *arena;
} table_row;

typedef plait_status read_row(const table_row *at, point_list *list, plait_error *err);

/* ---- cells ---- */

static const char *text_of(const table_row *at, const char *title)
{
    return csv_table_text(at->table, at->row, csv_table_column(at->table, title));
}

static plait_status fail_empty(const table_row *at, const char *title, plait_error *err)
{
    char where[200];

    snprintf(where, sizeof where, "%.120s:%d:%.60s", at->table->name, at->table->line[at->row],
             title);
    return plait_fail(err, PLAIT_ERROR_SCHEMA, where, "expected a number, found nothing");
}

static plait_status number_of(const table_row *at, const char *title, double least, double most,
                              double *out, plait_error *err)
{
    const int column = csv_table_column(at->table, title);

    if (csv_table_text(at->table, at->row, column)[0] == '\0')
        return fail_empty(at, title, err);
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

/* fp16 runs on the units of bf16, at the same rate. */
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

static plait_status read_shape(const table_row *at, plait_gemm *out, plait_error *err)
{
    PLAIT_TRY(count_of(at, "m", &out->m, err));
    PLAIT_TRY(count_of(at, "n", &out->n, err));
    PLAIT_TRY(count_of(at, "k", &out->k, err));
    out->batch = 1.0;
    return PLAIT_OK;
}

static plait_status begin_product(const table_row *at, point_kind kind, int precision, point *out,
                                  plait_error *err)
{
    *out = (point){.kind = kind, .block = precision};
    PLAIT_TRY(name_of(at, out, err));
    out->gemm.precision = (plait_precision)precision;
    out->gemm.quantise = precision > PLAIT_FP16;
    return PLAIT_OK;
}

static plait_status read_gemm(const table_row *at, point_list *list, plait_error *err)
{
    const int precision = matrix_precision_of(at);
    point p;

    if (precision < 0)
        return PLAIT_OK;
    PLAIT_TRY(begin_product(at, POINT_GEMM, precision, &p, err));
    PLAIT_TRY(read_shape(at, &p.gemm, err));
    PLAIT_TRY(microseconds_of(at, "time_us", &p.s, err));
    return points_add(list, &p, err);
}

static plait_status read_sustained(const table_row *at, point_list *list, plait_error *err)
{
    const int precision = matrix_precision_of(at);
    point p;

    if (precision < 0)
        return PLAIT_OK;
    PLAIT_TRY(begin_product(at, POINT_SUSTAINED, precision, &p, err));
    PLAIT_TRY(read_shape(at, &p.gemm, err));
    PLAIT_TRY(microseconds_of(at, "time_us_sustained", &p.s, err));
    PLAIT_TRY(microseconds_of(at, "time_us_burst", &p.beside_s, err));
    return points_add(list, &p, err);
}

/*
 * Layout TN is the forward product, NN the gradient of its input, NT the gradient of its weights.
 */
static plait_status read_layout(const table_row *at, point_list *list, plait_error *err)
{
    const int precision = matrix_precision_of(at);
    const char *layout = text_of(at, "layout");
    const bool weight = text_equal(layout, "NT");
    point p;

    // Training accumulates weight gradients in fp32, so skip those written in bf16.
    if (precision < 0 || (weight && !text_equal(text_of(at, "out_dtype"), "fp32")))
        return PLAIT_OK;
    PLAIT_TRY(begin_product(at, POINT_LAYOUT, precision, &p, err));
    PLAIT_TRY(read_shape(at, &p.gemm, err));
    PLAIT_TRY(microseconds_of(at, "time_us", &p.s, err));
    p.gemm.weight_gradient = weight;
    return points_add(list, &p, err);
}

static plait_status read_grouped(const table_row *at, point_list *list, plait_error *err)
{
    const int precision = matrix_precision_of(at);
    point p;

    if (precision < 0 || !text_equal(text_of(at, "stage"), "fwd"))
        return PLAIT_OK;
    PLAIT_TRY(begin_product(at, POINT_GROUPED, precision, &p, err));
    PLAIT_TRY(count_of(at, "groups", &p.gemm.batch, err));
    PLAIT_TRY(count_of(at, "m_per_group", &p.gemm.m, err));
    PLAIT_TRY(count_of(at, "n", &p.gemm.n, err));
    PLAIT_TRY(count_of(at, "k", &p.gemm.k, err));
    PLAIT_TRY(microseconds_of(at, "time_us", &p.s, err));
    return points_add(list, &p, err);
}

/*
 * Accepts rows of kernels that training uses: balanced loads, gated experts without tensor
 * parallelism, no kernels for the few tokens of decoding.
 */
static bool trains_experts(const table_row *at)
{
    const char *spread = text_of(at, "distribution"), *tp = text_of(at, "tp");
    const char *kernel = text_of(at, "kernel");

    return (spread[0] == '\0' || text_equal(spread, "balanced")) &&
           (tp[0] == '\0' || text_equal(tp, "1")) && strstr(kernel, "nongated") == NULL &&
           strstr(kernel, "min_latency") == NULL;
}

static plait_status read_experts(const table_row *at, point_list *list, plait_error *err)
{
    const int precision = matrix_precision_of(at);
    point p;

    if (precision < 0 || !trains_experts(at))
        return PLAIT_OK;
    PLAIT_TRY(begin_product(at, POINT_EXPERTS, precision, &p, err));
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
 * Returns the kernel for a name in a table; -1: unknown. TensorRT-LLM's and cuDNN's kernels count
 * as one kind, fused. FlashAttention-3 does not run on Blackwell, so vLLM's kernel there stands in
 * for it.
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

/* Causal kernels compute the lower triangle with its diagonal. Elements have 16 bits. */
static plait_status read_attention_work(const table_row *at, const char *width,
                                        plait_attention_work *out, plait_error *err)
{
    const bool full = text_equal(text_of(at, "causal"), "0");
    double kv_heads;

    PLAIT_TRY(count_of(at, "batch", &out->sequences, err));
    PLAIT_TRY(count_of(at, "seq", &out->query, err));
    PLAIT_TRY(count_of(at, "heads", &out->heads, err));
    PLAIT_TRY(count_of(at, "kv_heads", &kv_heads, err));
    PLAIT_TRY(count_of(at, width, &out->head_dim, err));
    out->ramp = out->query;
    out->flops = 2.0 * out->sequences * out->heads * out->head_dim * out->query *
                 (full ? 2.0 * out->query : out->query + 1.0);
    out->bytes = 4.0 * out->sequences * out->query * out->head_dim * (out->heads + kv_heads);
    return PLAIT_OK;
}

static plait_status read_attention(const table_row *at, point_list *list, plait_error *err)
{
    point p = {.kind = POINT_ATTENTION, .block = kernel_of(text_of(at, "kernel"))};

    if (p.block < PLAIT_ATTENTION_FLASH || !is_plain(at, "dtype") || !is_plain(at, "kv_dtype"))
        return PLAIT_OK;
    PLAIT_TRY(name_of(at, &p, err));
    PLAIT_TRY(read_attention_work(at, "head_dim", &p.attention, err));
    PLAIT_TRY(microseconds_of(at, "time_us", &p.s, err));
    // Skip wider heads: they run other kernels, for which the cost model has no rate.
    return p.attention.head_dim <= 256.0 ? points_add(list, &p, err) : PLAIT_OK;
}

/* Most query heads per KV head; TensorRT-LLM has no kernel for more, and takes 30 times as long. */
static const double most_sharing_heads = 32.0;

static plait_status read_decode(const table_row *at, point_list *list, plait_error *err)
{
    const int format = text_index(text_of(at, "kv_dtype"), plait_kv_name);
    point p = {.kind = POINT_DECODE, .block = format};
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

/* Returns whether two rows differ only in the pass, the source and the measured columns. */
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

static bool find_forward(const table_row *at, table_row *out)
{
    *out = *at;
    for (out->row = 0; out->row < at->table->rows; out->row++)
        if (text_equal(text_of(out, "pass"), "fwd") && same_case(at->table, at->row, out->row))
            return true;
    return false;
}

/* Reads a backward pass, or both passes together, and the forward pass of the same case. */
static plait_status read_backward(const table_row *at, point_list *list, plait_error *err)
{
    const char *pass = text_of(at, "pass");
    point p = {.kind = POINT_BACKWARD, .block = kernel_of(text_of(at, "kernel"))};
    table_row forward;

    if (p.block < PLAIT_ATTENTION_FLASH || text_equal(pass, "fwd") || !find_forward(at, &forward))
        return PLAIT_OK;
    PLAIT_TRY(name_of(at, &p, err));
    PLAIT_TRY(count_of(at, "seq", &p.attention.query, err));
    PLAIT_TRY(microseconds_of(at, "time_us", &p.s, err));
    PLAIT_TRY(microseconds_of(&forward, "time_us", &p.beside_s, err));
    if (text_equal(pass, "fwd+bwd"))
        p.s -= p.beside_s;
    return p.s > 0.0 ? points_add(list, &p, err) : PLAIT_OK;
}

/* ---- memory, links ---- */

static plait_status read_memory(const table_row *at, point_list *list, plait_error *err)
{
    point p = {.kind = POINT_MEMORY};

    PLAIT_TRY(name_of(at, &p, err));
    PLAIT_TRY(number_of(at, "approx_bytes", 1.0, 1e15, &p.bytes, err));
    PLAIT_TRY(microseconds_of(at, "time_us", &p.s, err));
    return points_add(list, &p, err);
}

/* Returns the collective for its name in a table, such as alltoall or send_recv; -1: unknown. */
static int collective_of(const char *word)
{
    if (text_equal(word, "alltoall"))
        return PLAIT_ALL_TO_ALL;
    if (text_equal(word, "send_recv") || text_equal(word, "sendrecv"))
        return PLAIT_P2P;
    return text_index(word, plait_collective_name);
}

/* Reads the number of nodes; 1 if the table has none. */
static plait_status nodes_of(const table_row *at, int *out, plait_error *err)
{
    double nodes = 1.0;

    if (text_of(at, "nodes")[0] != '\0')
        PLAIT_TRY(number_of(at, "nodes", 1.0, 1e5, &nodes, err));
    *out = (int)nodes;
    return PLAIT_OK;
}

static plait_status read_collective(const table_row *at, point_list *list, plait_error *err)
{
    const int op = collective_of(text_of(at, "collective"));
    double ranks;
    point p = {.block = op};

    // Skip 8-bit reductions: they use other code paths than gradients.
    if (op < 0 || (op >= PLAIT_FITTED_COLLECTIVES && op != PLAIT_P2P) ||
        text_equal(text_of(at, "dtype"), "int8"))
        return PLAIT_OK;
    p.kind = op == PLAIT_P2P ? POINT_P2P : POINT_COLLECTIVE;
    PLAIT_TRY(name_of(at, &p, err));
    PLAIT_TRY(number_of(at, "ranks", 2.0, 1e5, &ranks, err));
    PLAIT_TRY(number_of(at, "bytes", 1.0, 1e15, &p.bytes, err));
    PLAIT_TRY(microseconds_of(at, "time_us", &p.s, err));
    PLAIT_TRY(nodes_of(at, &p.nodes, err));
    p.ranks = (int)ranks;
    return points_add(list, &p, err);
}

/* ---- kinds ---- */

/*
 * A table is of the first kind whose columns it has. `read` is NULL if no constant is fitted to it.
 */
static const struct table_kind {
    const char *column[MOST_COLUMNS];
    read_row *read;
} kinds[] = {
    {{"m", "n", "k", "time_us_sustained", "time_us_burst"}, read_sustained},
    {{"m", "n", "k", "layout", "time_us"}, read_layout},
    {{"groups", "m_per_group", "n", "k", "stage", "time_us"}, read_grouped},
    {{"m", "n", "k", "time_us"}, read_gemm},
    {{"tokens", "hidden", "inter", "topk", "experts", "ep", "time_us"}, read_experts},
    {{"pass", "batch", "seq", "time_us"}, read_backward},
    {{"batch", "seq", "heads", "kv_heads", "head_dim", "time_us"}, read_attention},
    {{"kv_dtype", "batch", "ctx_len", "heads", "kv_heads", "head_dim", "time_us"}, read_decode},
    {{"op", "approx_bytes", "time_us"}, read_memory},
    {{"collective", "ranks", "bytes", "time_us"}, read_collective},
    {{"dispatch_us", "combine_us"}, NULL},    // expert exchange
    {{"fraction_of_ceiling", "bytes"}, NULL}, // ramps between nodes
    {{"bottleneck_GBps_logical"}, NULL},      // published rates of expert exchange
};

static bool has_columns(const csv_table *table, const struct table_kind *kind)
{
    for (int i = 0; i < MOST_COLUMNS && kind->column[i] != NULL; i++)
        if (csv_table_column(table, kind->column[i]) < 0)
            return false;
    return true;
}

plait_status tables_points(const csv_table *table, point_list *list, plait_error *err)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (!has_columns(table, &kinds[k]))
            continue;
        for (size_t row = 0; kinds[k].read != NULL && row < table->rows; row++)
            PLAIT_TRY(kinds[k].read(&(table_row){table, row, list->arena}, list, err));
        return PLAIT_OK;
    }
    return plait_fail(
        err, PLAIT_ERROR_SCHEMA, table->name,
        "expected the columns of a measurement table (gpu,dtype,m,n,k,time_us or those "
        "of another table in clusters/measurements), found others");
}
