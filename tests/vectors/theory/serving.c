/* serving.c - messages of a request, cached keys, steps that decode */
#include "plait/serve.h"
#include "vectors/theory/theory.h"
#include "plait/lowlevel/block.h"

// ---- messages --------------------------------------------------------------------------------

/* What requests of 16-bit numbers send; inputs that a vector does not name have no part in it. */
static plait_serve_volume volume_of(const json_cursor *in, int tp, int pp)
{
    static plain_model llama;
    const int hidden = integer_or(in, "h", 4096);
    const int layers = integer_or(in, "L", 32);
    const plait_serve_request request = {.sequences = 1,
                                         .prompt_tokens = integer_or(in, "Sp", 128),
                                         .output_tokens = integer_or(in, "Sd", 128),
                                         .tp = tp,
                                         .pp = pp,
                                         .element_bytes = number_or(in, "b", 2.0)};
    plait_serve_volume volume;
    plait_error err;

    make_llama(&llama, layers, hidden, 4 * hidden,
               (plait_attention){.heads = 8, .kv_heads = 8, .head_dim = hidden / 8});
    llama.model.vocab = integer_or(in, "v", 128256);
    must(plait_serve_volume_of(&llama.model, request, &volume, &err), &err);
    return volume;
}

static double inf_tp(const json_cursor *in)
{
    return volume_of(in, integer(in, "t"), 1).bytes[PLAIT_SERVE_PUBLISHED];
}

static double inf_pp(const json_cursor *in)
{
    return volume_of(in, 1, integer(in, "p")).bytes[PLAIT_SERVE_PUBLISHED];
}

static double published(const plait_serve_volume *volume, plait_serve_call call)
{
    return volume->line[PLAIT_SERVE_PREFILL][call].bytes[PLAIT_SERVE_PUBLISHED] +
           volume->line[PLAIT_SERVE_DECODE][call].bytes[PLAIT_SERVE_PUBLISHED];
}

static double inf_hybrid(const json_cursor *in)
{
    static const char *const parts[] = {"allreduce", "allgather", "gather", "p2p", "total", NULL};
    static const plait_serve_call calls[] = {PLAIT_SERVE_all_reduce, PLAIT_SERVE_all_gather,
                                             PLAIT_SERVE_gather, PLAIT_SERVE_send};
    const plait_serve_volume volume = volume_of(in, integer(in, "t"), integer(in, "p"));
    const int part = word(in, "part", parts);

    return part == 4 ? volume.bytes[PLAIT_SERVE_PUBLISHED] : published(&volume, calls[part]);
}

/* Tables III to VI; those of tensor parallelism hold for any t above one. */
static double inf_count(const json_cursor *in)
{
    static const char *const whats[] = {"tp_allreduce",  "hyb_allreduce", "gather",
                                        "hyb_allgather", "p2p",           NULL};
    static const plait_serve_call calls[] = {PLAIT_SERVE_all_reduce, PLAIT_SERVE_all_reduce,
                                             PLAIT_SERVE_gather, PLAIT_SERVE_all_gather,
                                             PLAIT_SERVE_send};
    static const char *const stages[] = {"prefill", "decode", NULL};
    const int what = word(in, "what", whats);
    const plait_serve_volume volume = volume_of(in, 2, integer(in, "p"));
    const plait_serve_line *line = volume.line[word(in, "stage", stages)];
    const int64_t embeddings = what < 2 ? line[PLAIT_SERVE_embedding].count : 0;

    return (double)(line[calls[what]].count + embeddings);
}

static double inf_msg(const json_cursor *in)
{
    const int phase = integer(in, "tokens") > 1 ? PLAIT_SERVE_PREFILL : PLAIT_SERVE_DECODE;
    const plait_serve_volume volume = volume_of(in, 2, 1);

    assert_int_equal(volume.line[phase][PLAIT_SERVE_all_reduce].rows, integer(in, "tokens"));
    return volume.line[phase][PLAIT_SERVE_all_reduce].message_bytes;
}

static double inf_shard(const json_cursor *in)
{
    const plait_serve_volume volume = volume_of(in, integer(in, "t"), 1);

    return (double)volume.line[PLAIT_SERVE_DECODE][PLAIT_SERVE_gather].columns;
}

// ---- cached keys ---------------------------------------------------------------------------

/* Bytes a token of all layers on one rank. */
static double cached(plain_model *plain, double element_bytes)
{
    const plait_runtime runtime = paper();
    const plait_shard shard = shard_alone(&runtime);
    plait_block block;

    plait_block_describe(&plain->model, &plain->layer, &shard, pass_over(PLAIT_DECODE, 1.0, 1.0),
                         &block);
    return block.cache.width * element_bytes * plain->model.layers;
}

static double kv_gqa(const json_cursor *in)
{
    static plain_model llama;
    const int heads = integer(in, "kv"), width = integer(in, "d");

    make_llama(&llama, integer(in, "L"), heads * width, 4 * heads * width,
               (plait_attention){.heads = heads, .kv_heads = heads, .head_dim = width});
    return cached(&llama, number_or(in, "bytes", 2.0));
}

static double kv_mla(const json_cursor *in)
{
    static plain_model llama;

    make_llama(&llama, integer(in, "L"), 1024, 4096, (plait_attention){.heads = 8});
    llama.layer.mixer = PLAIT_MIXER_MLA;
    llama.layer.mla = (plait_mla){.heads = 8,
                                  .kv_rank = integer(in, "dc"),
                                  .nope_dim = 128,
                                  .rope_dim = integer(in, "dr"),
                                  .v_dim = 128};
    return cached(&llama, number_or(in, "bytes", 2.0));
}

static double kv_total(const json_cursor *in)
{
    return plait_serve_cached_bytes(number(in, "per_token"), number(in, "tokens"),
                                    number_or(in, "batch", 1.0));
}

static double max_batch(const json_cursor *in)
{
    return plait_serve_most_sequences(number(in, "hbm"), number(in, "params_bytes"),
                                      number(in, "kv_bytes"));
}

static double evict_rate(const json_cursor *in)
{
    return plait_serve_evicted_tokens(number(in, "B"), number(in, "P"), number(in, "G"));
}

// ---- seconds -------------------------------------------------------------------------------

static double decode_step_general(const json_cursor *in)
{
    return plait_serve_decode_s(number(in, "batch"), number(in, "kv_bytes"),
                                number_or(in, "params", 0.0), number(in, "param_bytes"),
                                number(in, "bw"), number_or(in, "flops", 0.0));
}

/* Where a source leaves multiplications out, its vectors name no params. */
static double decode_step(const json_cursor *in)
{
    return decode_step_general(in);
}

static double decode_tput(const json_cursor *in)
{
    return plait_serve_tokens_per_s(number(in, "batch"), decode_step(in));
}

static double prefill_time(const json_cursor *in)
{
    return plait_serve_prefill_s(number(in, "params"), number(in, "tokens"),
                                 number(in, "n") * number(in, "flops") * number(in, "mfu"));
}

static double disagg_ratio(const json_cursor *in)
{
    return plait_serve_prefill_servers(number(in, "prefill_s"), number(in, "batch"),
                                       number(in, "step_s"), number(in, "out"));
}

static double ep_decode_comm(const json_cursor *in)
{
    return plait_serve_exchange_s(number(in, "tokens"), number(in, "copies"), number(in, "h"),
                                  number_or(in, "b_disp", 1.0), number_or(in, "b_comb", 2.0),
                                  number(in, "bw"));
}

const theory_formula theory_serving[] = {
    {THEORY(inf_tp)},         {THEORY(inf_pp)},
    {THEORY(inf_hybrid)},     {THEORY(inf_count)},
    {THEORY(inf_msg)},        {THEORY(inf_shard)},
    {THEORY(kv_gqa)},         {THEORY(kv_mla)},
    {THEORY(kv_total)},       {THEORY(max_batch)},
    {THEORY(evict_rate)},     {THEORY(decode_step)},
    {THEORY(decode_tput)},    {THEORY(decode_step_general)},
    {THEORY(prefill_time)},   {THEORY(disagg_ratio)},
    {THEORY(ep_decode_comm)}, {NULL, NULL},
};
