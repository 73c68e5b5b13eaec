/* serving_import.c - reads a serving worker from the command line of its engine */
#include "launch/serving_import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/read/flags.h"
#include "launch/read/plan_reader.h"
#include "shell/shell.h"
#include "base/text.h"

const char *const serving_import_name[] = {"vllm", "sglang", NULL};

/*
 * A flag and the value that it sets; "unpriced" if the flag changes the price and plait ignores it.
 */
typedef struct known_flag {
    const char *name;
    const char *what;
} known_flag;

static const known_flag vllm_flags[] = {
    {"tensor_parallel_size", "tp"},
    {"tp", "tp"},
    {"pipeline_parallel_size", "pp"},
    {"pp", "pp"},
    {"data_parallel_size", "dp"},
    {"dp", "dp"},
    {"enable_expert_parallel", "experts"},
    {"max_num_seqs", "batch"},
    {"max_num_batched_tokens", "chunk"},
    {"max_model_len", "context"},
    {"gpu_memory_utilization", "memory"},
    {"num_redundant_experts", "redundant"},
    {"eplb_config", "redundant"},
    {"kv_cache_dtype", "kv"},
    {"quantization", "weights"},
    {"q", "weights"},
    {"dtype", "dtype"},
    {"model", "model"},
    {"speculative_config", "drafts"},
    {"enforce_eager", "unpriced"}, // no CUDA graphs
    {"cpu_offload_gb", "unpriced"},
    {"decode_context_parallel_size", "unpriced"},
    {"enable_lora", "adapters by default: 1"},
    {"max_loras", "adapters"},
    {"max_lora_rank", "rank"},
    {NULL, NULL},
};

static const known_flag sglang_flags[] = {
    {"tp_size", "tp"},
    {"tp", "tp"},
    {"tensor_parallel_size", "tp"},
    {"pp_size", "pp"},
    {"pipeline_parallel_size", "pp"},
    {"dp_size", "dp"},
    {"dp", "dp"},
    {"data_parallel_size", "dp"},
    {"enable_dp_attention", "attention"},
    {"ep_size", "ep"},
    {"ep", "ep"},
    {"expert_parallel_size", "ep"},
    {"moe_a2a_backend", "a2a"},
    {"max_running_requests", "batch"},
    {"chunked_prefill_size", "chunk"},
    {"context_length", "context"},
    {"mem_fraction_static", "memory"},
    {"ep_num_redundant_experts", "redundant"},
    {"kv_cache_dtype", "kv"},
    {"quantization", "weights"},
    {"dtype", "dtype"},
    {"model_path", "model"},
    {"model", "model"},
    {"speculative_num_steps", "drafts"},
    {"disable_cuda_graph", "unpriced"},
    {"cpu_offload_gb", "unpriced"},
    {"enable_two_batch_overlap", "unpriced"},
    {"enable_lora", "adapters by default: 8"},
    {"max_loras_per_batch", "adapters"},
    {"max_lora_rank", "rank"},
    {NULL, NULL},
};

typedef struct reading {
    const launch_flags *flags;
    const known_flag *known;
    int tp, dp, ep;
    bool experts, attention, all_to_all;
    serving_import *out;
} reading;

static const char *word_of(const launch_flag *flag)
{
    return flag->values > 0 && shell_word_known(flag->value[0]) ? flag->value[0] : "";
}

/*
 * Returns the format for a word of --quantization; -1: other words leave the format to the
 * checkpoint.
 */
static int format_of(const char *word)
{
    static const struct {
        const char *word;
        plait_weight_format format;
    } words[] = {{"fp8", PLAIT_WEIGHT_FP8},         {"w8a8_fp8", PLAIT_WEIGHT_FP8},
                 {"modelopt", PLAIT_WEIGHT_FP8},    {"modelopt_fp4", PLAIT_WEIGHT_NVFP4},
                 {"nvfp4", PLAIT_WEIGHT_NVFP4},     {"mxfp4", PLAIT_WEIGHT_MXFP4},
                 {"awq", PLAIT_WEIGHT_INT4},        {"gptq", PLAIT_WEIGHT_INT4},
                 {"awq_marlin", PLAIT_WEIGHT_INT4}, {"gptq_marlin", PLAIT_WEIGHT_INT4}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, word) == 0)
            return (int)words[i].format;
    return -1;
}

/*
 * Returns the value of a key, such as "\"num_speculative_tokens\":", in
 * '{"method":"mtp","num_speculative_tokens":2}', or a plain number; 0: not in 1 .. most.
 */
static int count_of(const char *word, const char *key, long most)
{
    const char *at = strstr(word, key);
    const long value = strtol(at != NULL ? at + strlen(key) : word, NULL, 10);

    return value >= 1 && value <= most ? (int)value : 0;
}

/* ---- flags ---- */

static const known_flag *find_flag(const known_flag *known, const char *name)
{
    while (known->name != NULL && strcmp(known->name, name) != 0)
        known++;
    return known->name != NULL ? known : NULL;
}

static plait_status read_share(const reading *r, const launch_flag *flag, double *out,
                               plait_error *err)
{
    char *end;
    const double value = strtod(word_of(flag), &end);

    if (*end != '\0' || !(value > 0.0 && value <= 1.0))
        return flags_fail(r->flags, flag->name, err,
                          "expected a share above 0 and at most 1, found \"%.40s\"", word_of(flag));
    *out = value;
    return PLAIT_OK;
}

static plait_status read_flag(reading *r, const launch_flag *flag, const char *what,
                              plait_error *err)
{
    const struct {
        const char *what;
        int *out;
    } counts[] = {{"tp", &r->tp},
                  {"pp", &r->out->worker.pp},
                  {"dp", &r->dp},
                  {"ep", &r->ep},
                  {"batch", &r->out->batch},
                  {"chunk", &r->out->chunk},
                  {"context", &r->out->context},
                  {"adapters", &r->out->lora_adapters},
                  {"rank", &r->out->lora_rank}};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (strcmp(what, counts[i].what) == 0) {
            static const long most = 1L << 24;
            char *end;
            if (flag->values < 1 || !shell_word_known(flag->value[0]))
                return flags_fail(
                    r->flags, flag->name, err,
                    "expected a number, found a value that is only known when the script runs");
            const long value = strtol(flag->value[0], &end, 10);
            if (*end != '\0' || value < 1 || value > most)
                return flags_fail(r->flags, flag->name, err,
                                  "expected an integer from 1 to %ld, found \"%.40s\"", most,
                                  flag->value[0]);
            *counts[i].out = (int)value;
            return PLAIT_OK;
        }
    int usual;
    if (strcmp(what, "experts") == 0)
        r->experts = true;
    else if (strcmp(what, "attention") == 0)
        r->attention = true;
    else if (strcmp(what, "a2a") == 0)
        r->all_to_all = strcmp(word_of(flag), "none") != 0;
    else if (strcmp(what, "kv") == 0)
        r->out->kv = strncmp(word_of(flag), "fp8", 3) == 0 ? PLAIT_KV_FP8
                     : strcmp(word_of(flag), "auto") == 0  ? -1
                                                           : PLAIT_KV_BF16;
    else if (strcmp(what, "weights") == 0)
        r->out->weights = format_of(word_of(flag));
    else if (strcmp(what, "dtype") == 0 && r->out->weights < 0)
        r->out->weights = strcmp(word_of(flag), "auto") != 0 ? PLAIT_WEIGHT_BF16 : -1;
    else if (sscanf(what, "adapters by default: %d", &usual) == 1)
        r->out->lora_adapters = r->out->lora_adapters > 0 ? r->out->lora_adapters : usual;
    else if (strcmp(what, "drafts") == 0)
        r->out->drafted = count_of(word_of(flag), "\"num_speculative_tokens\":", 16);
    else if (strcmp(what, "redundant") == 0)
        r->out->redundant = count_of(word_of(flag), "\"num_redundant_experts\":", 1 << 12);
    else if (strcmp(what, "memory") == 0)
        return read_share(r, flag, &r->out->memory, err);
    else if (strcmp(what, "model") == 0)
        r->out->checkpoint = word_of(flag);
    return PLAIT_OK;
}

/* Returns the word after `vllm serve`; NULL: none. */
static const char *served_model(const shell_words *script)
{
    for (int c = 0; c < script->commands; c++) {
        const shell_command *command = &script->command[c];
        for (int w = command->first; w + 2 < command->first + command->count; w++)
            if (strcmp(script->word[w], "vllm") == 0 && strcmp(script->word[w + 1], "serve") == 0 &&
                !shell_is_option(script->word[w + 2]) && shell_word_known(script->word[w + 2]))
                return script->word[w + 2];
    }
    return NULL;
}

/*
 * vLLM accepts -tp 4. flags_read() skips options with one dash and several letters, so add them
 * here.
 */
static plait_status add_short_flags(launch_flags *flags, plait_error *err)
{
    static const char *const names[] = {"tp", "pp", "dp", "q", NULL};
    const shell_words *script = &flags->script;

    for (int c = 0; c < script->commands; c++) {
        const shell_command *command = &script->command[c];
        for (int w = command->first; w + 1 < command->first + command->count; w++) {
            const int n = script->word[w][0] == '-' ? text_index(script->word[w] + 1, names) : -1;
            if (n >= 0)
                PLAIT_TRY(flags_add(flags, names[n], script->word[w + 1], err));
        }
    }
    return PLAIT_OK;
}

static bool has_known(const reading *r)
{
    for (int f = 0; f < r->flags->count; f++)
        if (find_flag(r->known, r->flags->flag[f].name) != NULL)
            return true;
    return false;
}

plait_status serving_import_read(plait_engine_kind kind, const char *text, size_t length,
                                 const char *name, const launch_call *call, plait_arena *arena,
                                 serving_import *out, const char **warning, plait_error *err)
{
    launch_flags flags;
    text_builder warnings;
    import_list unpriced = {&warnings, "options that the price ignores", false};
    reading r = {.flags = &flags,
                 .known = kind == PLAIT_ENGINE_SGLANG ? sglang_flags : vllm_flags,
                 .tp = 1,
                 .dp = 1,
                 .ep = 1,
                 .out = out};

    *out = (serving_import){
        .kind = kind, .worker = {1, 1, 1, 1}, .replicas = 1, .weights = -1, .kv = -1};
    PLAIT_TRY(flags_read(text, length, name, call, arena, &flags, err));
    PLAIT_TRY(add_short_flags(&flags, err));
    out->checkpoint = served_model(&flags.script);
    if (out->checkpoint == NULL && !has_known(&r))
        return plait_fail(
            err, PLAIT_ERROR_SCHEMA, name,
            "expected a command that starts %s, found neither a model nor its arguments",
            plait_engine_name[kind]);
    text_builder_init(&warnings, arena);
    for (int f = 0; f < flags.count; f++) {
        launch_flag *const flag = &flags.flag[f];
        const known_flag *const known = find_flag(r.known, flag->name);

        flag->read = known != NULL;
        if (known == NULL)
            continue;
        if (strcmp(known->what, "unpriced") == 0 && !flags_value_is_off(word_of(flag)))
            import_list_add(&unpriced, flag->name);
        PLAIT_TRY(read_flag(&r, flag, known->what, err));
    }
    if (kind == PLAIT_ENGINE_SGLANG) {
        const int ranks = r.attention ? r.dp : 1;
        if (r.tp % ranks != 0)
            return flags_fail(
                r.flags, "dp_size", err,
                "expected a divisor of --tp-size %d with --enable-dp-attention, found %d", r.tp,
                ranks);
        out->worker.dp_attention = ranks;
        out->worker.tp = r.tp / ranks;
        out->replicas = r.attention ? 1 : r.dp;
        out->worker.ep = r.all_to_all ? r.tp : r.ep;
        if (out->batch > 0) // SGLang divides the limit among the attention ranks
            out->batch = out->batch > ranks ? out->batch / ranks : 1;
    } else {
        out->worker.tp = r.tp;
        out->worker.dp_attention = r.dp;
        out->worker.ep = r.experts ? r.tp * r.dp : 1;
    }
    out->not_read = flags_not_read(&flags);
    *warning = text_builder_finish(&warnings, NULL);
    return *warning != NULL && out->not_read != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
