/*
 * import.c - Galvatron's strategy as a plan
 *
 * Lists of tp, data parallelism and checkpoints may differ from layer to layer: stages then list what each of
 * their layers has, and the plan has the tp of the vocabulary and the usual data parallelism. Other lists must be
 * the same for all layers. What plait noted beside the strategy is read too.
 */
#include "launch/galvatron/galvatron.h"

#include <stdio.h>
#include <string.h>

#include "base/saturating.h"
#include "io/json/json.h"
#include "plan/layout.h"
#include "launch/write/notes.h"
#include "launch/read/notes_read.h"
#include "launch/read/plan_reader.h"
#include "base/shell_word.h"
#include "launch/read/split_read.h"
#include "launch/read/stages_read.h"
#include "base/text.h"

enum { MOST = 1 << 20, CHUNKS_MOST = 1 << 24 };

typedef struct strategy_reader {
    const json_cursor *root;
    plait_arena *arena;
    plans_entry *out;
    text_builder *warnings;
    int gpus; /* 0: not known */
    int layers;
    int layers_of[PLAIT_MAX_LAYERS];  /* each stage */
    bool refined;                     /* layers choose for themselves ... */
    int checkpoint[PLAIT_MAX_LAYERS]; /* ... which are run again */
    bool cuts;                        /* layers have a tp or a data parallelism of their own ... */
    int tp[PLAIT_MAX_LAYERS], sharded[PLAIT_MAX_LAYERS]; /* ... these */
} strategy_reader;

static void give(plans_entry *out, plait_key_id key, int value)
{
    plait_key_put(&out->degrees, key, value);
    out->given |= PLAIT_KEY_BIT(key);
}

/* ---- lists ---- */

/* "8,8,8"; *count is 0 where the key is not given. */
static plait_status read_list(const strategy_reader *in, const char *key, int low,
                              int value[PLAIT_MAX_LAYERS], int *count, plait_error *err)
{
    const char *text;

    *count = 0;
    if (!json_has(in->root, key))
        return PLAIT_OK;
    PLAIT_TRY(json_string(in->root, key, in->arena, &text, err));
    for (char *at = (char *)text, *next; at != NULL; at = next) {
        next = text_cut(at, ',');
        at += strspn(at, " ");
        if (*count == PLAIT_MAX_LAYERS || !text_parse_int(at, low, MOST, &value[*count]))
            return json_fail_key(in->root, key, PLAIT_ERROR_RANGE, err,
                                 "expected at most %d numbers from %d on, commas between them, "
                                 "found \"%.40s\"",
                                 PLAIT_MAX_LAYERS, low, at);
        (*count)++;
    }
    return PLAIT_OK;
}

static plait_status read_layer_list(const strategy_reader *in, const char *key, int low,
                                    int value[PLAIT_MAX_LAYERS], int *count, plait_error *err)
{
    PLAIT_TRY(read_list(in, key, low, value, count, err));
    return *count == 0 || *count == in->layers
               ? PLAIT_OK
               : json_fail_key(in->root, key, PLAIT_ERROR_RANGE, err,
                               "expected numbers of %d layers, found %d", in->layers, *count);
}

/* The number that all layers have; `otherwise` where the key is not given. */
static plait_status read_same(const strategy_reader *in, const char *key, int low, int otherwise,
                              int *out, plait_error *err)
{
    int value[PLAIT_MAX_LAYERS], count;

    PLAIT_TRY(read_layer_list(in, key, low, value, &count, err));
    for (int l = 1; l < count; l++)
        if (value[l] != value[0])
            return json_fail_key(in->root, key, PLAIT_ERROR_RANGE, err,
                                 "expected the same for all layers, found %d beside %d at layer %d",
                                 value[l], value[0], l);
    *out = count > 0 ? value[0] : otherwise;
    return PLAIT_OK;
}

/* ---- degrees ---- */

static bool all_same(const int *value, int count)
{
    for (int l = 1; l < count; l++)
        if (value[l] != value[0])
            return false;
    return true;
}

/* The tp of the vocabulary, where layers have another; sizes of Ulysses they have in common. */
static plait_status read_tp(strategy_reader *in, int ulysses, int *tp, plait_error *err)
{
    int count;

    PLAIT_TRY(read_layer_list(in, "tp_sizes_enc", 1, in->tp, &count, err));
    if (ulysses > 0)
        return read_same(in, "tp_sizes_enc", 1, 1, tp, err);
    *tp = all_same(in->tp, count) ? in->tp[0] : 1;
    PLAIT_TRY(json_int_optional(in->root, "vtp", 1, MOST, tp, err));
    in->cuts = !all_same(in->tp, count) || *tp != in->tp[0];
    return PLAIT_OK;
}

static plait_status read_tensor(strategy_reader *in, plait_error *err)
{
    plans_entry *const out = in->out;
    int tp, cp, ulysses, consecutive, ep, etp;

    PLAIT_TRY(read_same(in, "cp_sizes_enc", 1, 1, &cp, err));
    PLAIT_TRY(read_same(in, "use_sp", 0, 0, &ulysses, err));
    PLAIT_TRY(read_tp(in, ulysses, &tp, err));
    PLAIT_TRY(read_same(in, "tp_consecutive_flags", 0, 1, &consecutive, err));
    PLAIT_TRY(read_same(in, "ep_sizes_enc", 1, 1, &ep, err));
    PLAIT_TRY(read_same(in, "tp_of_ep_sizes_enc", 1, 1, &etp, err));
    if (consecutive != 1)
        return json_fail_key(in->root, "tp_consecutive_flags", PLAIT_ERROR_RANGE, err,
                             "expected 1: ranks side by side, found %d", consecutive);
    if (ulysses > 0 && cp > 1)
        return json_fail_key(in->root, "cp_sizes_enc", PLAIT_ERROR_RANGE, err,
                             "expected 1 beside use_sp, found %d", cp);
    give(out, PLAIT_KEY_TP, ulysses > 0 ? 1 : tp);
    give(out, PLAIT_KEY_CP, ulysses > 0 ? tp : cp);
    give(out, PLAIT_KEY_CP_COMM, ulysses > 0 && tp > 1 ? PLAIT_CP_A2A : PLAIT_CP_P2P);
    give(out, PLAIT_KEY_SP, ulysses == 0 && tp > 1);
    give(out, PLAIT_KEY_EP, ep);
    give(out, PLAIT_KEY_ETP, etp);
    give(out, PLAIT_KEY_ORDER, PLAIT_ORDER_TP_CP_DP_PP);
    return PLAIT_OK;
}

static plait_status read_shards(strategy_reader *in, plait_error *err)
{
    static const char *const types[] = {"ddp", "zero2", "zero3", NULL};
    static const int stages[] = {0, 2, 3};
    int type = 0, count;

    if (json_has(in->root, "default_dp_type"))
        PLAIT_TRY(json_word(in->root, "default_dp_type", types, &type, err));
    PLAIT_TRY(read_layer_list(in, "dp_types_enc", 0, in->sharded, &count, err));
    const bool all = count > 0 && in->sharded[0] > 0 && all_same(in->sharded, count);
    int vocabulary = all;
    PLAIT_TRY(json_int_optional(in->root, "embed_sdp", 0, MOST, &vocabulary, err));
    PLAIT_TRY(json_int_optional(in->root, "vocab_sdp", 0, MOST, &vocabulary, err));
    in->cuts = in->cuts || !all_same(in->sharded, count) || (all && vocabulary == 0);
    give(in->out, PLAIT_KEY_ZERO, all && vocabulary > 0 ? 3 : stages[type]);
    return PLAIT_OK;
}

/* ---- the pipeline ---- */

/* Layers of each stage; what no division says, the last stage takes. */
static plait_status read_stages(strategy_reader *in, plait_error *err)
{
    int pp, stages, sum = 0;

    PLAIT_TRY(json_int(in->root, "pp_deg", 1, in->layers, &pp, err));
    PLAIT_TRY(read_list(in, "pp_division", 1, in->layers_of, &stages, err));
    for (int s = 0; stages == 0 && s < pp; s++)
        in->layers_of[s] = s < pp - 1 ? in->layers / pp : in->layers - s * (in->layers / pp);
    for (int s = 0; s < (stages > 0 ? stages : pp); s++)
        sum += in->layers_of[s];
    if ((stages > 0 && stages != pp) || sum != in->layers)
        return json_fail_key(in->root, "pp_division", PLAIT_ERROR_RANGE, err,
                             "expected layers of %d stages, %d in all, found %d of %d", pp,
                             in->layers, sum, stages > 0 ? stages : pp);
    give(in->out, PLAIT_KEY_PP, pp);
    give(in->out, PLAIT_KEY_VPP, 1);
    return PLAIT_OK;
}

static plait_status read_schedule(strategy_reader *in, plait_error *err)
{
    static const char *const types[] = {"gpipe", "pipedream_flush", NULL};
    int type = 0;

    if (json_has(in->root, "pipeline_type"))
        PLAIT_TRY(json_word(in->root, "pipeline_type", types, &type, err));
    give(in->out, PLAIT_KEY_SCHEDULE,
         type == 0 && in->out->degrees.pp > 1 ? PLAIT_GPIPE : PLAIT_1F1B);
    return PLAIT_OK;
}

static int ones(const int *flag, int count)
{
    int first = 0;

    while (first < count && flag[first] > 0)
        first++;
    return first;
}

/* The most first layers of a stage that are run again. */
static int longest_run(const strategy_reader *in, const int *flag)
{
    int most = 0;

    for (int s = 0, first = 0; s < in->out->degrees.pp; first += in->layers_of[s++]) {
        const int here = ones(flag + first, in->layers_of[s]);
        most = here > most ? here : most;
    }
    return most;
}

/* Are those of each stage its first `most` layers? */
static bool are_first(const strategy_reader *in, const int *flag, int most)
{
    for (int s = 0, first = 0; s < in->out->degrees.pp; first += in->layers_of[s++])
        for (int l = 0; l < in->layers_of[s]; l++)
            if ((flag[first + l] > 0) != (l < most))
                return false;
    return true;
}

/* full:N, all of it, or none: N first layers of each stage that has so many; else layer by layer. */
static plait_status read_checkpoints(strategy_reader *in, plait_error *err)
{
    plait_recompute *const recompute = &in->out->degrees.recompute;
    int count, most;

    PLAIT_TRY(read_layer_list(in, "checkpoint", 0, in->checkpoint, &count, err));
    most = longest_run(in, in->checkpoint);
    in->refined = !are_first(in, in->checkpoint, most);
    *recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_NONE};
    if (!in->refined && most > 0) {
        recompute->kind = PLAIT_RECOMPUTE_FULL;
        recompute->layers = (short)(ones(in->checkpoint, in->layers) < in->layers ? most : 0);
    }
    in->out->given |= PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE);
    return PLAIT_OK;
}

static plait_status list_layers(strategy_reader *in, const plait_chunk *chunks, plait_error *err)
{
    plait_recompute choice[PLAIT_MAX_LAYERS] = {{0}};
    plait_cut cut[PLAIT_MAX_LAYERS];

    for (int l = 0; l < in->layers; l++) {
        const int zero = in->sharded[l] > 0 ? 3 : in->out->degrees.zero;

        cut[l] = (plait_cut){.tp = (short)in->tp[l], .zero = (unsigned char)zero};
        if (in->checkpoint[l] > 0)
            choice[l].kind = PLAIT_RECOMPUTE_FULL;
    }
    return in->refined || in->cuts
               ? stages_list(chunks, choice, in->cuts ? cut : NULL, in->arena, in->out, err)
               : PLAIT_OK;
}

/* ---- the batch ---- */

static plait_status read_batch(strategy_reader *in, int *chunks, plait_error *err)
{
    const plait_degrees *const d = &in->out->degrees;
    const int dp = in->gpus > 0 ? plait_degrees_dp(in->gpus, d->tp, d->pp, d->cp) : 0;
    int gbs;

    PLAIT_TRY(json_int(in->root, "global_bsz", 1, CHUNKS_MOST, &gbs, err));
    PLAIT_TRY(json_int(in->root, "chunks", 1, CHUNKS_MOST, chunks, err));
    in->out->gbs = gbs;
    if (in->gpus == 0)
        return PLAIT_OK;
    if (dp == 0)
        return json_fail_key(in->root, "pp_deg", PLAIT_ERROR_RANGE, err,
                             "expected tp pp cp that divides %d GPUs, found %d x %d x %d", in->gpus,
                             d->tp, d->pp, d->cp);
    if (gbs % dp != 0 || gbs / dp % *chunks != 0)
        return json_fail_key(in->root, "chunks", PLAIT_ERROR_RANGE, err,
                             "expected chunks that divide the %d sequences of each of %d replicas, "
                             "found %d",
                             gbs / dp, dp, *chunks);
    give(in->out, PLAIT_KEY_MBS, gbs / dp / *chunks);
    give(in->out, PLAIT_KEY_SHARD_GROUP, product(dp, d->cp));
    return PLAIT_OK;
}

/* ---- the vocabulary, which plait cuts as it cuts layers ---- */

static plait_status check_vocabulary(strategy_reader *in, plait_error *err)
{
    const plait_degrees *const d = &in->out->degrees;
    const bool ulysses = d->cp > 1 && d->cp_comm == PLAIT_CP_A2A;
    const struct {
        const char *key;
        int priced;
    } rows[] = {{"vtp", ulysses ? d->cp : d->tp},
                {"vsp", ulysses},
                {"vcp", ulysses ? 1 : d->cp},
                {"vocab_sdp", d->zero == 3},
                {"embed_sdp", d->zero == 3}};
    int found;

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        found = rows[r].priced;
        PLAIT_TRY(json_int_optional(in->root, rows[r].key, 0, MOST, &found, err));
        if (found != rows[r].priced)
            text_append_printf(in->warnings, "%s%s %d: the vocabulary is priced as the layers, %d",
                               in->warnings->length > 0 ? "\n" : "", rows[r].key, found,
                               rows[r].priced);
    }
    return PLAIT_OK;
}

/* ---- what plait noted ---- */

static plait_status note_of(const json_cursor *at, text_builder *notes, plait_error *err)
{
    const char *word;
    double number;
    char digits[TEXT_NUMBER_SIZE];

    if (json_is_number(at)) {
        PLAIT_TRY(json_as_number(at, JSON_ANY, &number, err));
        notes_append_one(at->key, text_number(number, digits), notes);
        return PLAIT_OK;
    }
    PLAIT_TRY(json_as_string(at, notes->arena, &word, err));
    if (text_equal(at->key, "model"))
        word = shell_quoted(word, notes->arena);
    if (word == NULL)
        return plait_fail_nomem(err);
    notes_append_one(at->key, word, notes);
    return PLAIT_OK;
}

static plait_status read_notes(strategy_reader *in, plait_error *err)
{
    json_cursor noted, at;
    text_builder notes;
    size_t length;

    PLAIT_TRY(json_object_optional(in->root, "plait", &noted, err));
    if (json_is_null(&noted))
        return PLAIT_OK;
    text_builder_init(&notes, in->arena);
    for (bool more = json_first(&noted, &at); more; more = json_next(&at))
        PLAIT_TRY(note_of(&at, &notes, err));
    const char *const text = text_builder_finish(&notes, &length);
    return text != NULL ? notes_read(text, length, in->root->key, in->arena, in->out, err)
                        : plait_fail_nomem(err);
}

/* Notes that stand above what the strategy alone would mean, and what follows from one of them. */
static void settle(strategy_reader *in, int chunks)
{
    plans_entry *const out = in->out;

    if (!(out->given & PLAIT_KEY_BIT(PLAIT_KEY_GRAD_SYNC))) // async_grad_reduce is on unless told
        give(out, PLAIT_KEY_GRAD_SYNC, chunks > 1 ? PLAIT_SYNC_SHIFTED : PLAIT_SYNC_BUCKETED);
    give(out, PLAIT_KEY_SCATTER,
         out->degrees.zero >= 2 && out->degrees.grad_sync == PLAIT_SYNC_SHIFTED
             ? PLAIT_SCATTER_STEP
             : PLAIT_SCATTER_MICROBATCH);
    import_give_plain(out);
    if (out->runtime == NULL)
        out->runtime = "galvatron";
}

/* ---- the split ---- */

static plait_status read_split(strategy_reader *in, plait_error *err)
{
    const plait_model layers = {.layers = in->layers};
    const plait_model *const known = in->out->model;
    plait_degrees *const d = &in->out->degrees;
    plait_chunk *const chunks = plait_arena_alloc(in->arena, (size_t)d->pp, sizeof *chunks);
    char layout[PLAIT_VALUE_SIZE];

    if (chunks == NULL)
        return plait_fail_nomem(err);
    if (known != NULL && (known->layers != in->layers || known->mtp_layers > 0))
        return json_fail_key(in->root, "tp_sizes_enc", PLAIT_ERROR_RANGE, err,
                             "expected a number for each of %d layers of %.60s, found %d",
                             known->layers, known->name, in->layers);
    plait_chunks_deal(&layers, in->layers_of, d->pp, chunks);
    PLAIT_TRY(list_layers(in, chunks, err));
    if (in->out->given & PLAIT_KEY_BIT(PLAIT_KEY_SPLIT) && split_deals(&layers, d, chunks))
        return PLAIT_OK; // of several splits that deal so the one that was noted
    if (!layout_write(chunks, d->pp, layout))
        return json_fail_key(in->root, "pp_division", PLAIT_ERROR_RANGE, err,
                             "expected stages that a layout of %d letters says, found more",
                             PLAIT_VALUE_SIZE - 1);
    d->split = split_of_chunks(&layers, d, chunks, plait_arena_text(in->arena, layout), true);
    in->out->given |= PLAIT_KEY_BIT(PLAIT_KEY_SPLIT);
    return d->split.kind != PLAIT_SPLIT_LAYOUT || d->split.layout != NULL ? PLAIT_OK
                                                                          : plait_fail_nomem(err);
}

/* ---- the file ---- */

static plait_status read_strategy(strategy_reader *in, plait_error *err)
{
    static const char *const keys[] = {"world_size",
                                       "pp_deg",
                                       "tp_sizes_enc",
                                       "cp_sizes_enc",
                                       "use_sp",
                                       "dp_types_enc",
                                       "tp_of_ep_sizes_enc",
                                       "tp_consecutive_flags",
                                       "ep_sizes_enc",
                                       "checkpoint",
                                       "global_bsz",
                                       "chunks",
                                       "pp_division",
                                       "vtp",
                                       "default_dp_type",
                                       "pipeline_type",
                                       "vsp",
                                       "vcp",
                                       "vocab_sdp",
                                       "embed_sdp",
                                       "plait",
                                       NULL};
    int sizes[PLAIT_MAX_LAYERS], chunks, gpus = 0;

    PLAIT_TRY(json_keys_among(in->root, keys, err));
    PLAIT_TRY(json_int_optional(in->root, "world_size", 1, CHUNKS_MOST, &gpus, err));
    in->gpus = in->gpus > 0 ? in->gpus : gpus;
    in->out->gpus = in->gpus;
    PLAIT_TRY(read_list(in, "tp_sizes_enc", 1, sizes, &in->layers, err));
    if (in->layers == 0)
        return json_fail_key(in->root, "tp_sizes_enc", PLAIT_ERROR_SCHEMA, err,
                             "expected a number for each layer, found none");
    PLAIT_TRY(read_tensor(in, err));
    PLAIT_TRY(read_shards(in, err));
    PLAIT_TRY(read_stages(in, err));
    PLAIT_TRY(read_schedule(in, err));
    PLAIT_TRY(read_checkpoints(in, err));
    PLAIT_TRY(read_batch(in, &chunks, err));
    PLAIT_TRY(check_vocabulary(in, err));
    in->out->given &= ~PLAIT_KEY_BIT(PLAIT_KEY_SP); // a note says whether it is off
    PLAIT_TRY(read_notes(in, err));
    in->out->given |= PLAIT_KEY_BIT(PLAIT_KEY_SP);
    settle(in, chunks);
    return read_split(in, err);
}

static plait_status read_root(const json_cursor *root, plait_arena *arena, void *reader,
                              plait_error *err)
{
    strategy_reader *const in = reader;

    (void)arena;
    in->root = root;
    return read_strategy(in, err);
}

plait_status galvatron_import(const char *text, size_t length, const char *name,
                              const launch_call *call, plait_arena *arena, plans_entry *out,
                              const char **warning, plait_error *err)
{
    text_builder warnings;
    strategy_reader in = {
        .arena = arena, .out = out, .warnings = &warnings, .gpus = call != NULL ? call->gpus : 0};

    text_builder_init(&warnings, arena);
    PLAIT_TRY(json_parse(text, length, name, read_root, arena, &in, err));
    *warning = text_builder_finish(&warnings, NULL);
    return *warning != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
