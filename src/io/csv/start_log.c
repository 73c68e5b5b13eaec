/* start_log.c - reads the figures of memory that serving engines print when they start */
#include "io/csv/start_log.h"

#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"
#include "io/csv/log_text.h"
#include "plait/units.h"

// ---- text without colours ----------------------------------------------------------------------

/*
 * Copies a log without the sequences that colour it: ESC [ parameters letter. Terminals also print
 * them without the escape byte's effect, as "^[[0;36m".
 */
static char *without_colours(const char *text, size_t length, plait_arena *arena, size_t *out)
{
    char *const plain = plait_arena_alloc(arena, length + 1, 1);
    size_t used = 0;

    for (size_t i = 0; plain != NULL && i < length; i++) {
        const bool caret = text[i] == '^' && i + 2 < length && text[i + 1] == '[';
        size_t at = i + 1 + caret;

        if ((text[i] == '\x1b' || caret) && at < length && text[at] == '[') {
            do
                at++;
            while (at < length && ((text[at] >= '0' && text[at] <= '9') || text[at] == ';'));
            if (at < length && ((text[at] | 32) >= 'a' && (text[at] | 32) <= 'z')) {
                i = at;
                continue;
            }
        }
        plain[used++] = text[i];
    }
    if (plain != NULL)
        plain[used] = '\0';
    *out = used;
    return plain;
}

// ---- keys of a configuration -------------------------------------------------------------------

static bool is_part_of_word(char c)
{
    return text_is_alphanumeric(c) || c == '_';
}

/* Finds the value of a key such as tp_size=8, tp_size='8' or 'tp_size': 8; empty if it is missing. */
static log_text value_of(log_text line, const char *key)
{
    const size_t length = strlen(key);
    log_text rest = line;

    for (const char *at; (at = log_text_after(rest, key)) != NULL; rest.at = at) {
        const char *const before = at - length;

        if (before > line.at && is_part_of_word(before[-1]))
            continue;
        while (at < line.end && (*at == '\'' || *at == '"'))
            at++;
        if (at >= line.end || (*at != '=' && *at != ':'))
            continue;
        for (at++; at < line.end && *at == ' '; at++)
            ;
        const bool quoted = at < line.end && (*at == '\'' || *at == '"');
        const char *const start = at + quoted;
        const char *end = start;
        while (end < line.end && (quoted ? *end != at[0] : strchr(",)}] ", *end) == NULL))
            end++;
        return (log_text){start, end};
    }
    return (log_text){line.end, line.end};
}

static void keep_text(log_text line, const char *key, plait_arena *arena, const char **out)
{
    enum { LONGEST = 200 };
    const log_text value = value_of(line, key);
    const size_t length = (size_t)(value.end - value.at);
    char *copy;

    if (*out != NULL || length == 0 || length > LONGEST ||
        (length == 4 && memcmp(value.at, "None", 4) == 0))
        return;
    copy = plait_arena_alloc(arena, length + 1, 1);
    if (copy == NULL)
        return;
    memcpy(copy, value.at, length);
    copy[length] = '\0';
    text_make_plain(copy, length);
    *out = copy;
}

static void keep_number(log_text line, const char *key, double most, double *out)
{
    const log_text value = value_of(line, key);
    char digits[32] = "";
    double number;

    if (*out > 0.0 || value.end - value.at >= (ptrdiff_t)sizeof digits)
        return;
    memcpy(digits, value.at, (size_t)(value.end - value.at));
    if (text_parse_number(digits, &number) && number > 0.0 && number <= most)
        *out = number;
}

static void keep_count(log_text line, const char *key, int *out)
{
    double number = *out;

    keep_number(line, key, 65536.0, &number);
    *out = (int)number;
}

static bool is_true(log_text line, const char *key)
{
    const log_text value = value_of(line, key);

    return value.end - value.at == 4 && memcmp(value.at, "True", 4) == 0;
}

static void keep_cache_format(log_text line, start_log *out)
{
    const log_text value = value_of(line, "kv_cache_dtype");

    if (log_text_after(value, "fp8") != NULL)
        out->fp8_cache = true;
}

// ---- figures -----------------------------------------------------------------------------------

/* Keeps the larger or the smaller of the figures after a mark. */
static void keep_figure(log_text line, const char *mark, double unit, bool smallest, double *out)
{
    const double number = unit * log_number_after(line, mark);

    if (!isnan(number) && number <= 1e15 &&
        (*out == 0.0 || (smallest ? number < *out : number > *out)))
        *out = number;
}

static void read_vllm(log_text line, plait_arena *arena, start_log *out)
{
    const char *const engine = log_text_after(line, "LLM engine (v");

    if (engine != NULL) {
        const char *const end = memchr(engine, ')', (size_t)(line.end - engine));
        const char *const config = log_text_after(line, "with config:");

        if (out->version == NULL && end != NULL && end - engine < 60) {
            char *const version = plait_arena_alloc(arena, (size_t)(end - engine) + 1, 1);

            if (version != NULL) {
                memcpy(version, engine, (size_t)(end - engine));
                version[end - engine] = '\0';
                text_make_plain(version, (size_t)(end - engine));
                out->version = version;
            }
        }
        if (config != NULL) {
            const log_text from = {config, line.end};

            keep_text(from, "model", arena, &out->model);
            keep_text(from, "quantization", arena, &out->quantization);
            keep_number(from, "max_seq_len", 1e9, &out->request_tokens);
            keep_count(from, "tensor_parallel_size", &out->tp);
            keep_count(from, "pipeline_parallel_size", &out->pp);
            keep_count(from, "data_parallel_size", &out->dp);
            keep_cache_format(from, out);
        }
    }
    if (log_text_after(line, "non-default args:") != NULL) {
        keep_text(line, "model", arena, &out->model);
        keep_number(line, "gpu_memory_utilization", 1.0, &out->memory_fraction);
        keep_number(line, "max_num_seqs", 1e9, &out->max_sequences);
        keep_number(line, "max_num_batched_tokens", 1e9, &out->chunk_tokens);
        keep_number(line, "max_model_len", 1e9, &out->request_tokens);
        keep_count(line, "tensor_parallel_size", &out->tp);
        keep_count(line, "pipeline_parallel_size", &out->pp);
        keep_count(line, "data_parallel_size", &out->dp);
        out->expert_parallel = out->expert_parallel || is_true(line, "enable_expert_parallel");
        keep_cache_format(line, out);
    }
    if (log_text_after(line, "current --gpu-memory-utilization") != NULL)
        keep_number(line, "gpu-memory-utilization", 1.0, &out->memory_fraction);
    if (log_text_after(line, "hunked prefill is enabled with ") != NULL && out->chunk_tokens == 0.0)
        keep_figure(line, "max_num_batched_tokens=", 1.0, false, &out->chunk_tokens);
    if (log_text_after(line, "Using FlashInfer for top-p & top-k sampling") != NULL)
        out->sampler = START_SAMPLER_FLASHINFER;
    if (log_text_after(line, "PyTorch-native implementation of top-p & top-k sampling") != NULL ||
        log_text_after(line, "sampling is available but disabled by default") != NULL)
        out->sampler = START_SAMPLER_NATIVE;
    keep_figure(line, "Model loading took", PLAIT_GIB, false, &out->weight_bytes);
    keep_figure(line, "torch peak memory increase:", PLAIT_GIB, false, &out->activation_bytes);
    keep_figure(line, "Available KV cache memory:", PLAIT_GIB, true, &out->cache_bytes);
    keep_figure(line, "GPU KV cache size:", 1.0, true, &out->cache_tokens);
    if (log_text_after(line, "Maximum concurrency for") != NULL) {
        keep_figure(line, "Maximum concurrency for", 1.0, true, &out->request_tokens);
        keep_figure(line, "tokens per request:", 1.0, true, &out->concurrency);
    }
}

static void read_sglang(log_text line, plait_arena *arena, start_log *out)
{
    if (log_text_after(line, "server_args=ServerArgs(") != NULL) {
        keep_text(line, "model_path", arena, &out->model);
        keep_text(line, "quantization", arena, &out->quantization);
        keep_number(line, "mem_fraction_static", 1.0, &out->memory_fraction);
        keep_number(line, "context_length", 1e9, &out->request_tokens);
        keep_count(line, "tp_size", &out->tp);
        keep_count(line, "pp_size", &out->pp);
        keep_count(line, "dp_size", &out->dp);
        keep_count(line, "ep_size", &out->ep);
        out->dp_attention = out->dp_attention || is_true(line, "enable_dp_attention");
        keep_cache_format(line, out);
    }
    if (log_text_after(line, "Load weight end.") != NULL) {
        keep_figure(line, "mem usage=", PLAIT_GIB, false, &out->weight_bytes);
        keep_text(line, "quant", arena, &out->quantization);
    }
    // A draft model of speculative decoding prints its own line later.
    if (log_text_after(line, "KV Cache is allocated.") != NULL && out->cache_tokens == 0.0) {
        double keys = 0.0, values = 0.0;

        keep_figure(line, "#tokens:", 1.0, true, &out->cache_tokens);
        keep_figure(line, "K size:", PLAIT_GIB, true, &keys);
        keep_figure(line, "V size:", PLAIT_GIB, true, &values);
        if (keys + values == 0.0)
            keep_figure(line, "KV size:", PLAIT_GIB, true, &keys);
        out->cache_bytes = keys + values;
    }
    if (log_text_after(line, "Memory pool end.") != NULL)
        keep_figure(line, "avail mem=", PLAIT_GIB, true, &out->free_bytes);
    if (log_text_after(line, "max_total_num_tokens=") != NULL) {
        double tokens = 0.0;

        keep_figure(line, "max_total_num_tokens=", 1.0, true, &tokens);
        if (tokens > 0.0)
            out->cache_tokens = tokens;
        keep_number(line, "chunked_prefill_size", 1e9, &out->chunk_tokens);
        keep_number(line, "context_len", 1e9, &out->request_tokens);
    }
}

static void read_trtllm(log_text line, start_log *out)
{
    if (log_text_after(line, "in paged KV cache (") == NULL)
        return;
    keep_figure(line, "Allocated", PLAIT_GIB, true, &out->cache_bytes);
    keep_figure(line, "in paged KV cache (", 1.0, true, &out->cache_tokens);
}

// ---- the whole log -----------------------------------------------------------------------------

/* Returns the engine of the first line with a figure that only this engine prints. */
static bool find_engine(log_text log, plait_engine_kind *out)
{
    static const struct {
        const char *mark;
        plait_engine_kind kind;
    } marks[] = {{"GPU KV cache size:", PLAIT_ENGINE_VLLM},
                 {"Available KV cache memory:", PLAIT_ENGINE_VLLM},
                 {"max_total_num_tokens=", PLAIT_ENGINE_SGLANG},
                 {"KV Cache is allocated.", PLAIT_ENGINE_SGLANG},
                 {"in paged KV cache (", PLAIT_ENGINE_TRTLLM}};
    log_text line;

    while (log_next_line(&log, &line))
        for (size_t m = 0; m < sizeof marks / sizeof *marks; m++)
            if (!isnan(log_number_after(line, marks[m].mark)) ||
                (marks[m].kind == PLAIT_ENGINE_SGLANG &&
                 !isnan(log_number_after(line, "KV Cache is allocated. #tokens:")))) {
                *out = marks[m].kind;
                return true;
            }
    return false;
}

plait_status start_log_parse(const char *text, size_t length, const char *name, plait_arena *arena,
                             start_log *out, plait_error *err)
{
    size_t used;
    const char *const plain = without_colours(text, length, arena, &used);
    log_text log, line;

    *out = (start_log){0};
    PLAIT_TRY(plait_check_allocated(plain, err));
    log = (log_text){plain, plain + used};
    if (!find_engine(log, &out->kind))
        return plait_fail(err, PLAIT_ERROR_SCHEMA, name,
                          "expected the log of a server's start with the size of its KV cache, "
                          "found none");
    while (log_next_line(&log, &line)) {
        if (out->kind == PLAIT_ENGINE_VLLM)
            read_vllm(line, arena, out);
        else if (out->kind == PLAIT_ENGINE_SGLANG)
            read_sglang(line, arena, out);
        else
            read_trtllm(line, out);
    }
    if (out->concurrency == 0.0 && out->request_tokens > 0.0 && out->cache_tokens > 0.0)
        out->concurrency = out->cache_tokens / out->request_tokens;
    return PLAIT_OK;
}
