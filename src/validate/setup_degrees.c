/* setup_degrees.c - the plan of a row */
#include <string.h>

#include "plait/runtime.h"
#include "validate/setup.h"
#include "plan/layout.h"
#include "plan/split.h"

static int or_one(int degree)
{
    return degree > 0 ? degree : 1;
}

/* ---- keys that a row may omit ---- */

static void set_key(plait_key_id key, int value, plait_degrees *d, plait_key_set *given)
{
    plait_key_put(d, key, value);
    *given |= PLAIT_KEY_BIT(key);
}

/* Keys that NVIDIA's published recipes (perf_recipes, recipes) set for a model in all its runs. */
static const struct {
    const char *framework, *model;
    plait_key_id key;
    int value;
} recipes[] = {
    // _enable_deepseek_precision_aware_optimizer
    {"Megatron-Bridge", "deepseek-v3", PLAIT_KEY_OPTIMIZER_STATE, PLAIT_STATE_BF16},
};

/* Sets the keys in the row's notes, which override the software's defaults. */
static plait_status set_noted_keys(setup *at, plait_degrees *d, plait_key_set *given,
                                   plait_error *err)
{
    static const struct {
        const char *word;
        plait_key_id key;
    } noted[] = {
        {"grad-sync", PLAIT_KEY_GRAD_SYNC},
        {"grad-reduce", PLAIT_KEY_GRAD_REDUCE},
        {"optimizer-state", PLAIT_KEY_OPTIMIZER_STATE},
        {"dispatcher", PLAIT_KEY_DISPATCHER},
        {"reshard", PLAIT_KEY_RESHARD},
        {"scatter", PLAIT_KEY_SCATTER},
    };
    char text[24];

    for (size_t f = 0; f < sizeof noted / sizeof *noted; f++) {
        if (!setup_value(at->run, noted[f].word, text, sizeof text))
            continue;
        PLAIT_TRY(plait_degrees_set(d, plait_keys[noted[f].key].name, text, err));
        *given |= PLAIT_KEY_BIT(noted[f].key);
    }
    if (setup_has_word(at->run, "fp8-params"))
        set_key(PLAIT_KEY_FP8_PARAMS, 1, d, given);
    if (setup_has_word(at->run, "ulysses"))
        set_key(PLAIT_KEY_CP_COMM, PLAIT_CP_A2A, d, given);
    if (setup_has_word(at->run, "ring"))
        set_key(PLAIT_KEY_CP_COMM, PLAIT_CP_P2P, d, given);
    if (setup_has_word(at->run, "fused-grouped-mlp"))
        set_key(PLAIT_KEY_FUSED_GROUPED_MLP, 1, d, given);
    if (setup_has_word(at->run, "fp8-attention"))
        set_key(PLAIT_KEY_FP8_ATTENTION, 1, d, given);
    if (setup_has_word(at->run, "async-tp") || setup_has_word(at->run, "tp-comm-overlap"))
        set_key(PLAIT_KEY_TP_COMM_OVERLAP, 1, d, given);
    // Every kind of CUDA graph but that of the whole iteration leaves out experts.
    if (setup_value(at->run, "cuda-graph", text, sizeof text))
        set_key(PLAIT_KEY_CUDA_GRAPH,
                strcmp(text, "full_iteration") == 0 ? PLAIT_GRAPH_FULL : PLAIT_GRAPH_LAYERS, d,
                given);
    // The token exchange overlaps with computation in pairs of microbatches.
    if (setup_has_word(at->run, "ep-overlap"))
        set_key(PLAIT_KEY_EP_OVERLAP,
                setup_has_word(at->run, "delayed-wgrad") ? PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD
                                                         : PLAIT_EP_OVERLAP_PAIRS,
                d, given);
    return PLAIT_OK;
}

/* ---- layers to stages ---- */

static bool split_works(const plait_model *model, plait_degrees *d, plait_split_kind kind)
{
    int counts[PLAIT_MAX_LAYERS];

    if ((int64_t)d->pp * d->vpp > PLAIT_MAX_LAYERS)
        return false;
    if (kind == PLAIT_SPLIT_FIRST_LAST)
        return split_first_last(model, d->pp, d->vpp, &d->split) &&
               plait_split_layers(model, d, counts);
    d->split = (plait_split){.kind = (unsigned char)kind};
    return plait_split_layers(model, d, counts);
}

/*
 * Sets the layout of Megatron-Bridge's recipes for layers that do not divide: each chunk has as
 * many layers as if modules of multi-token prediction and the loss were layers too, and the last
 * chunks have the rest. NULL in d->split.layout when out of memory.
 */
static bool balanced_layout_works(setup *at, const plait_model *model, plait_degrees *d)
{
    const int count = d->pp * d->vpp;
    const int each = (model->layers + model->mtp_layers + 1 + count - 1) / count;
    plait_chunk chunks[PLAIT_MAX_LAYERS] = {0};
    char text[PLAIT_VALUE_SIZE];
    int next = 0;

    if ((int64_t)d->pp * d->vpp > PLAIT_MAX_LAYERS || count == 1)
        return false;
    for (int c = 0; c < count; c++) {
        chunks[c].first = next;
        next = next + each < model->layers ? next + each : model->layers;
        chunks[c].last = next;
    }
    chunks[0].embedding = chunks[count - 1].loss = true;
    chunks[count - 1].mtp = model->mtp_layers;
    if (next < model->layers || !layout_write(chunks, count, text))
        return false;
    d->split =
        (plait_split){.kind = PLAIT_SPLIT_LAYOUT, .layout = plait_arena_text(at->arena, text)};
    return d->split.layout != NULL;
}

/*
 * Chooses the split of layers into stages. Software that can balance by cost always does so. Other
 * software splits evenly if the number of layers divides, and otherwise counts embedding and head
 * as layers, or uses a layout. If none of the software's splits works, the run existed
 * nevertheless: count embedding and head as layers, or else split as evenly as whole layers allow.
 */
static void choose_split(setup *at, const plait_problem *problem, plait_degrees *d)
{
    static const plait_split_kind order[] = {
        PLAIT_SPLIT_COST, PLAIT_SPLIT_EVEN,   PLAIT_SPLIT_BOTH,       PLAIT_SPLIT_EMBEDDING,
        PLAIT_SPLIT_LOSS, PLAIT_SPLIT_LAYOUT, PLAIT_SPLIT_FIRST_LAST, PLAIT_SPLIT_SPREAD};
    static const plait_split_kind last_resort[] = {PLAIT_SPLIT_BOTH, PLAIT_SPLIT_SPREAD};
    const unsigned can = problem->runtime->can.takes[PLAIT_KEY_SPLIT];

    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if ((can >> order[i] & 1U) &&
            (order[i] == PLAIT_SPLIT_LAYOUT ? balanced_layout_works(at, problem->model, d)
                                            : split_works(problem->model, d, order[i])))
            return;
    for (size_t i = 0; i < sizeof last_resort / sizeof *last_resort; i++)
        if (split_works(problem->model, d, last_resort[i])) {
            setup_note(at, "%d layers over %d chunks, assumed split %s", problem->model->layers,
                       d->pp * d->vpp, plait_split_name[last_resort[i]]);
            return;
        }
}

plait_status setup_degrees(setup *at, const plait_problem *problem, plait_degrees *out,
                           plait_error *err)
{
    const plait_run *const run = at->run;
    plait_degrees d = plait_degrees_init();
    plait_key_set given = 0;
    int kernel = problem->runtime->defaults.key[PLAIT_KEY_ATTENTION], etp;
    char text[24];

    if (run->attention[0] == '\0')
        setup_note(at, "attention kernel not published, assumed %s",
                   plait_attention_kernel_name[kernel]);
    else
        PLAIT_TRY(
            setup_word("attention", run->attention, plait_attention_kernel_name, &kernel, err));
    if (kernel == PLAIT_ATTENTION_UNFUSED && setup_has_word(run, "fused-softmax"))
        kernel = PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL;
    set_key(PLAIT_KEY_ATTENTION, kernel, &d, &given);
    PLAIT_TRY(setup_need(run->tp, "tp", err));
    PLAIT_TRY(setup_need(run->pp, "pp", err));
    PLAIT_TRY(setup_need(run->mbs, "mbs", err));
    set_key(PLAIT_KEY_TP, run->tp, &d, &given);
    set_key(PLAIT_KEY_PP, run->pp, &d, &given);
    set_key(PLAIT_KEY_CP, or_one(run->cp), &d, &given);
    set_key(PLAIT_KEY_VPP, or_one(run->vpp), &d, &given);
    set_key(PLAIT_KEY_EP, or_one(run->ep), &d, &given);
    set_key(PLAIT_KEY_MBS, run->mbs, &d, &given);
    if (run->dp > 0)
        set_key(PLAIT_KEY_DP, run->dp, &d, &given);
    // Set sequence parallelism only if the software can also run without it.
    if (run->sp >= 0 && (problem->runtime->can.takes[PLAIT_KEY_SP] & 1U))
        set_key(PLAIT_KEY_SP, run->tp > 1 && run->sp == 1, &d, &given);
    if (run->experts > 1 && setup_value(run, "etp", text, sizeof text)) {
        if (!text_parse_int(text, 1, 1 << 20, &etp))
            return plait_fail(err, PLAIT_ERROR_RANGE, "notes",
                              "expected etp=N, found \"etp=%.20s\"", text);
        set_key(PLAIT_KEY_ETP, etp, &d, &given);
    }
    // ZeRO stage 0 shards nothing, so it has no shard group.
    set_key(PLAIT_KEY_ZERO,
            run->zero >= 0 ? run->zero : problem->runtime->defaults.key[PLAIT_KEY_ZERO], &d,
            &given);
    if (run->shard_group > 0 && d.zero > 0)
        set_key(PLAIT_KEY_SHARD_GROUP, run->shard_group, &d, &given);
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (text_starts_with(run->framework, recipes[i].framework) &&
            text_starts_with(run->model, recipes[i].model))
            set_key(recipes[i].key, recipes[i].value, &d, &given);
    PLAIT_TRY(set_noted_keys(at, &d, &given, err));
    plait_degrees_fill(problem, given, &d);
    if (run->recompute[0] != '\0') {
        PLAIT_TRY(plait_degrees_set(&d, "recompute", run->recompute, err));
    } else {
        setup_note(at, "recompute not published, assumed none");
        d.recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_NONE};
    }
    choose_split(at, problem, &d);
    *out = d;
    return PLAIT_OK;
}
