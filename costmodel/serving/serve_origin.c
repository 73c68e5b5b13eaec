/* serve_origin.c - the origin of the constants of each part of a decoding step (C.362) */
#include "plait/serve.h"
#include "costmodel/serving/serve_grid.h"

#define X(constant, word) word,
const char *const plait_origin_name[] = {PLAIT_ORIGIN_LIST(X) NULL};
#undef X

static plait_origin hardware_of(bool measured)
{
    return measured ? PLAIT_ORIGIN_KERNEL_TABLE : PLAIT_ORIGIN_DATA_SHEET;
}

/* Returns the origin of a part that multiplies kernel times by the engine's numbers, or adds them. */
static plait_step_origin origin_of(plait_origin hardware, const plait_engine *engine,
                                   unsigned numbers)
{
    plait_step_origin out = {.hardware = hardware, .engine = PLAIT_ORIGIN_NONE};

    for (int n = 0; n < PLAIT_ENGINE_NUMBER_COUNT; n++)
        if ((numbers >> n & 1u) && !engine->determined[n])
            out.undetermined |= 1u << n;
    if (numbers != 0)
        out.engine = out.undetermined == 0 ? PLAIT_ORIGIN_FITTED : PLAIT_ORIGIN_DEFAULT;
    return out;
}

void plait_step_origins(const plait_serving *serving, const plait_engine *engine,
                        plait_step_origin out[PLAIT_STEP_PARTS])
{
    enum {
        LINEAR = 1 << PLAIT_ENGINE_linear,
        COMPUTE = 1 << PLAIT_ENGINE_compute,
        ATTENTION = 1 << PLAIT_ENGINE_attention,
        REDUCE = 1 << PLAIT_ENGINE_reduce_s,
        HOST = 1 << PLAIT_ENGINE_layer_s | 1 << PLAIT_ENGINE_step_s | 1 << PLAIT_ENGINE_sequence_s
    };
    const plait_accelerator *gpu = serving->cluster->group[0].accelerator;
    const plait_precision narrow = serve_format_of(gpu, serving->model, serving->weights).precision;
    const bool four_bits = serving->weights >= PLAIT_WEIGHT_NVFP4;
    const unsigned experts = 1u << (four_bits ? PLAIT_ENGINE_experts_4bit : PLAIT_ENGINE_experts);
    bool moe = false;

    for (int k = 0; k < serving->model->kinds; k++)
        moe = moe || serving->model->kind[k].ffn == PLAIT_FFN_MOE;
    // With experts a four-bit format applies to the experts only, and attention stays in 16 bits.
    const plait_precision dense = four_bits && moe ? PLAIT_BF16 : narrow;
    const plait_origin products = hardware_of(gpu->gemm[dense].measured);
    const bool prompts = gpu->attention[PLAIT_ATTENTION_FUSED].measured;

    out[PLAIT_STEP_linear] = origin_of(products, engine, LINEAR | COMPUTE);
    out[PLAIT_STEP_experts] =
        origin_of(hardware_of(gpu->grouped[narrow].measured), engine, experts);
    out[PLAIT_STEP_decode_attention] =
        origin_of(hardware_of(gpu->decode[serving->kv].measured), engine, ATTENTION);
    out[PLAIT_STEP_prompt_attention] = origin_of(hardware_of(prompts), engine, COMPUTE);
    out[PLAIT_STEP_reduce] =
        origin_of(hardware_of(gpu->collective[PLAIT_ALL_REDUCE].measured), engine, REDUCE);
    out[PLAIT_STEP_exchange] =
        origin_of(hardware_of(gpu->collective[PLAIT_ALL_TO_ALL].measured), engine, 0);
    out[PLAIT_STEP_stages] = origin_of(PLAIT_ORIGIN_DATA_SHEET, engine, 0);
    out[PLAIT_STEP_head] = origin_of(hardware_of(gpu->gemm[PLAIT_BF16].measured), engine, LINEAR);
    out[PLAIT_STEP_launch] =
        origin_of(PLAIT_ORIGIN_NONE, engine, HOST | (moe ? 1u << PLAIT_ENGINE_moe_layer_s : 0));
}

bool plait_origin_is_measured(const plait_step_origin *origin)
{
    return origin->hardware == PLAIT_ORIGIN_KERNEL_TABLE || origin->engine == PLAIT_ORIGIN_FITTED;
}
