/*
 * test_launch_hybrid.c - models of Mamba-2 layers and of layers with one part: Megatron-LM's pattern
 * of layers, back to the same model, and the refusals of formats that cannot state a part
 */
#include <string.h>

#include "plait/plan.h"
#include "plait/serve.h"
#include "launch/import.h"
#include "support/launched_fixture.h"
#include "support/megatron_check.h"
#include "support/read_back.h"

static const launched_usual usual = {"llama-3.2-3b", "megatron", 64, PLAIT_LAUNCH_MEGATRON};

#define MAMBA(inner, heads, groups)                                                                \
    "\"mamba\": {\"inner\": " #inner ", \"heads\": " #heads ", \"groups\": " #groups               \
    ", \"state\": 128, \"conv\": 4, \"chunk\": 128}"
#define ATTENTION                                                                                  \
    "\"attention\": {\"heads\": 32, \"kv_heads\": 2, \"head_dim\": 128, \"rotary\": false}"
#define EXPERTS(more)                                                                              \
    "\"moe\": {\"experts\": 128, \"topk\": 6, \"width\": 1856, \"shared_width\": 3712, "           \
    "\"gated\": false, \"router_bias\": true" more "}"
#define HEAD(numerics)                                                                             \
    "{\"name\": \"it\", \"source\": \"s\", \"hidden\": 2688, \"vocab\": 131072, "                  \
    "\"max_seq\": 8192, \"norm\": \"rms\", \"numerics\": {" numerics "}, \"kinds\": "

/* Nemotron 3 Nano: 52 layers of one part each, MEMEM*E.. */
#define NANO(more_kinds, more)                                                                     \
    HEAD("\"activation\": \"relu2\", \"norm_eps\": 1e-5, \"init_std\": 0.0173, \"router\": "       \
         "{\"score\": \"sigmoid\", \"normalised\": true, \"correction_bias\": true, "              \
         "\"scale\": 2.5, \"aux_loss\": 0.0001}")                                                  \
    "{\"M\": {" MAMBA(4096, 64, 8) "}, \"E\": {" EXPERTS(                                          \
        "") "}, \"A\": {" ATTENTION "}" more_kinds "}, \"layers\": ["                              \
            "{\"pattern\": [\"M\", \"E\", \"M\", \"E\", \"M\", \"A\", \"E\"], \"count\": 5}, "     \
            "{\"pattern\": [\"M\", \"E\", \"M\", \"E\", \"M\", \"E\", \"M\", \"A\", \"E\"]}, "     \
            "{\"pattern\": [\"M\", \"E\"], \"count\": 4}]" more "}"
#define NANO_PATTERN "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"

/* As in Granite 4: 20 layers of a mixer and a feed-forward part, every fifth with attention. */
#define GRANITE                                                                                    \
    HEAD("\"activation\": \"silu\", \"norm_eps\": 1e-5, \"init_std\": 0.02")                       \
    "{\"M\": {" MAMBA(5376, 84,                                                                    \
                      4) ", \"mlp\": {\"width\": 8192}}, \"A\": {" ATTENTION                       \
                         ", \"mlp\": {\"width\": 8192}}}, \"layers\": "                            \
                         "[{\"pattern\": [\"M\", \"M\", \"M\", \"M\", \"A\"], \"count\": 4}]}"

/* Layers of one part, of which some are experts and some are a dense MLP. */
#define DENSE_AND_EXPERTS                                                                          \
    HEAD("\"activation\": \"relu2\", \"norm_eps\": 1e-5, \"router\": "                             \
         "{\"score\": \"sigmoid\", \"normalised\": true, \"correction_bias\": true}")              \
    "{\"M\": {" MAMBA(4096, 64, 8) "}, \"E\": {" EXPERTS(                                          \
        "") "}, \"A\": {" ATTENTION "}, \"D\": {\"mlp\": {\"width\": 8192, \"gated\": false}}}, "  \
            "\"layers\": [{\"pattern\": [\"M\", \"E\", \"A\", \"D\"], \"count\": 4}]}"

static void take(const char *text)
{
    plait_error err;

    must(plait_model_parse(text, strlen(text), "model.json", arena, &it.model, NULL, &err), &err);
}

static const char *warning;

static plans_entry import(const char *text, const launch_call *call)
{
    plans_entry out;
    plait_error err;

    must(launch_import(PLAIT_LAUNCH_MEGATRON, text, strlen(text), "args.sh", call, arena, &out,
                       &warning, &err),
         &err);
    return out;
}

static void assert_refused(const char *text, const char *part)
{
    plans_entry out;
    plait_error err;

    assert_int_equal(launch_import(PLAIT_LAUNCH_MEGATRON, text, strlen(text), "args.sh", NULL,
                                   arena, &out, &warning, &err),
                     PLAIT_ERROR_RANGE);
    if (strstr(err.message, part) == NULL)
        fail_msg("expected \"%s\", found \"%s\"", part, err.message);
}

static void assert_same_layer(const plait_layer *a, const plait_layer *b)
{
    assert_int_equal(a->mixer, b->mixer);
    assert_int_equal(a->ffn, b->ffn);
    assert_int_equal(a->norms, b->norms);
    assert_memory_equal(&a->attention, &b->attention, sizeof a->attention);
    assert_memory_equal(&a->mamba, &b->mamba, sizeof a->mamba);
    assert_memory_equal(&a->mlp, &b->mlp, sizeof a->mlp);
    assert_memory_equal(&a->moe, &b->moe, sizeof a->moe);
}

/* Everything but the names of the kinds. */
static void assert_same_model(const plait_model *a, const plait_model *b)
{
    assert_non_null(b);
    assert_int_equal(a->layers, b->layers);
    for (int i = 0; i < a->layers; i++)
        assert_same_layer(&a->kind[a->layer_kind[i]], &b->kind[b->layer_kind[i]]);
    assert_int_equal(a->mtp_layers, b->mtp_layers);
    if (a->mtp_layers > 0)
        assert_same_layer(&a->kind[a->mtp_kind], &b->kind[b->mtp_kind]);
    assert_int_equal(a->hidden, b->hidden);
    assert_int_equal(a->vocab, b->vocab);
    assert_int_equal(a->tied, b->tied);
    assert_int_equal(a->numerics.activation, b->numerics.activation);
    assert_memory_equal(&a->numerics.router, &b->numerics.router, sizeof a->numerics.router);
}

/* Render a plan of a model and read it back: the model and the plan must be the same. */
static void assert_round_trip(const char *model, const char *keys, const char *pattern)
{
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    take(model);
    render(keys);
    const char *const quote = strpbrk(pattern, "*|") != NULL ? "'" : "";
    const char *const args = launched_text(&it, "args.sh");
    assert_says(
        &it, "args.sh",
        plait_arena_printf(arena, "--hybrid-layer-pattern %s%s%s\n", quote, pattern, quote));
    assert_same_model(&it.model, import(args, NULL).model);
    must(plait_plan_expand(&it.problem, &it.degrees, arena, &plan, &err), &err);
    must(plait_plan_evaluate(&it.problem, &plan, NULL, arena, &cost, &err), &err);
    const plait_launch launch = {.problem = &it.problem, .plan = &plan, .cost = &cost};
    const char *const difference = read_back_difference(&launch, usual.target, args, arena);
    if (difference != NULL)
        fail_msg("%s reads back with a difference: %s", keys, difference);
    megatron_finding found;
    if (!megatron_check(args, it.problem.job.gpus, 9, &found))
        fail_msg("%s breaks %s: %s", keys, found.rule, found.sentence);
}

static void test_layers_of_one_part__are_letters(void **state)
{
    (void)state;
    assert_round_trip(NANO("", ""), "tp=1 ep=8 etp=1 mbs=1 recompute=full", NANO_PATTERN);
    assert_says(&it, "args.sh",
                "--spec megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec\n"
                "--mamba-state-dim 128\n--mamba-head-dim 64\n--mamba-num-groups 8\n"
                "--mamba-num-heads 64\n");
    assert_says(&it, "args.sh", "--position-embedding-type none\n");
    assert_says(&it, "args.sh", "--squared-relu\n");
    assert_says(&it, "args.sh", "--recompute-method uniform\n--recompute-num-layers 1\n");
    assert_silent(&it, "args.sh", "--num-layers");
    assert_silent(&it, "args.sh", "--moe-layer-freq");
    assert_says(&it, "run.sh", "pretrain_hybrid.py");
    assert_silent(&it, "run.sh", "pretrain_gpt.py");
}

/* 52 layers on 2 x 2 chunks are 13 a chunk. */
static void test_chunks__are_parted_by_bars(void **state)
{
    (void)state;
    assert_round_trip(NANO("", ""), "tp=1 pp=2 vpp=2 ep=8 etp=1 mbs=1 recompute=full",
                      "MEMEM*EMEMEM*|EMEMEM*EMEMEM|*EMEMEM*EMEME|MEM*EMEMEMEME");
    assert_silent(&it, "args.sh", "--num-virtual-stages");
    assert_round_trip(NANO("", ""),
                      "tp=1 pp=2 ep=8 etp=1 mbs=1 recompute=full split=first-last:20,32",
                      "MEMEM*EMEMEM*EMEMEM*|EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME");
    assert_silent(&it, "args.sh", "--decoder-first");
}

/* A layer is two letters, also at the end of a stage, and a unit of recomputation has both. */
static void test_layers_of_two_parts__are_pairs(void **state)
{
    (void)state;
    assert_round_trip(GRANITE, "tp=4 pp=2 mbs=1 recompute=full",
                      "M-M-M-M-*-M-M-M-M-*-|M-M-M-M-*-M-M-M-M-*-");
    assert_says(&it, "args.sh", "--recompute-num-layers 2\n");
    assert_round_trip(GRANITE, "tp=4 pp=2 vpp=2 mbs=1 recompute=full:4",
                      "M-M-M-M-*-|M-M-M-M-*-|M-M-M-M-*-|M-M-M-M-*-");
    assert_says(&it, "args.sh", "--recompute-method block\n--recompute-num-layers 4\n");
    assert_round_trip(GRANITE, "tp=4 pp=2 mbs=1 recompute=none split=layout:E|t*20L",
                      "|M-M-M-M-*-M-M-M-M-*-M-M-M-M-*-M-M-M-M-*-");
}

static void test_further_predictions__have_a_pattern(void **state)
{
    (void)state;
    assert_round_trip(NANO(", \"next\": {\"like\": \"A\", \"norms\": 2, " EXPERTS("") "}",
                           ", \"mtp\": {\"kind\": \"next\", \"count\": 2}"),
                      "tp=1 pp=2 ep=8 etp=1 mbs=1 recompute=full split=even",
                      "MEMEM*EMEMEM*EMEMEM*EMEMEM|*EMEMEM*EMEMEMEM*EMEMEMEME/*E/*E");
    assert_says(&it, "args.sh", "--mtp-num-layers 2\n");
}

static void test_latent_experts__have_their_width(void **state)
{
    (void)state;
    assert_round_trip(
        HEAD(
            "\"activation\": \"relu2\", \"norm_eps\": 1e-5, \"router\": {\"score\": "
            "\"sigmoid\", \"normalised\": true, \"correction_bias\": true, "
            "\"scale\": 2.5}") "{\"M\": {" MAMBA(4096, 64,
                                                 8) "}, \"E\": {" EXPERTS(", "
                                                                          "\"latent\""
                                                                          ": 512") "}"
                                                                                   "}"
                                                                                   ","
                                                                                   " "
                                                                                   "\"layers\": "
                                                                                   "[{\"pattern\": "
                                                                                   "[\"M\", \"M\", "
                                                                                   "\"E\"], "
                                                                                   "\"count\": "
                                                                                   "4}]}",
        "tp=1 ep=8 etp=1 mbs=1 recompute=none", "MMEMMEMMEMME");
    assert_says(&it, "args.sh", "--moe-latent-size 512\n");
    assert_says(&it, "args.sh", "--num-attention-heads 64\n--kv-channels 64\n");
}

static void test_graphs__capture_mamba_layers(void **state)
{
    (void)state;
    take(NANO("", ""));
    render("tp=1 ep=8 etp=1 mbs=1 recompute=none cuda_graph=layers zero=1");
    assert_says(&it, "args.sh", "--cuda-graph-modules attn moe_router moe_preprocess mamba\n");
    import(launched_text(&it, "args.sh"), NULL);
    assert_null(strstr(warning, "graphs of"));
    // with experts TransformerConfig allows no graphs of an MLP unless --moe-layer-freq has a 0
    take(DENSE_AND_EXPERTS);
    render("tp=1 ep=8 etp=1 mbs=1 recompute=none cuda_graph=layers zero=1");
    assert_says(&it, "args.sh", "--cuda-graph-modules attn moe_router moe_preprocess mamba\n");
    import(launched_text(&it, "args.sh"), NULL);
    assert_null(strstr(warning, "graphs of"));
    take(GRANITE);
    render("tp=4 mbs=1 recompute=none cuda_graph=layers zero=1");
    assert_says(&it, "args.sh", "--cuda-graph-modules attn mlp mamba\n");
    import("--hybrid-layer-pattern M*-- --cuda-graph-impl transformer_engine --hidden-size 256 "
           "--num-attention-heads 4 --vocab-size 512 --cuda-graph-modules attn mlp",
           NULL);
    assert_non_null(strstr(warning, "graphs of attn mlp alone are priced"));
}

static void test_a_recipe__gets_the_pattern(void **state)
{
    plait_error err;

    (void)state;
    take(NANO("", ""));
    it.model.name = "nemotron-3-nano";
    must(launched_render(&it, "tp=1 pp=2 ep=8 etp=1 mbs=1 recompute=full",
                         PLAIT_LAUNCH_MEGATRON_BRIDGE, arena, &err),
         &err);
    assert_says(&it, "overrides.sh",
                "model.hybrid_layer_pattern=\"MEMEM*EMEMEM*EMEMEM*EMEMEM|"
                "*EMEMEM*EMEMEMEM*EMEMEMEME\"");
    assert_says(&it, "run.sh", "recipe=${RECIPE:-nemotron_3_nano_pretrain_config}\n");
    assert_int_not_equal(launched_render(&it, "tp=1 pp=2 vpp=2 ep=8 etp=1 mbs=1 recompute=full",
                                         PLAIT_LAUNCH_MEGATRON_BRIDGE, arena, &err),
                         PLAIT_OK);
    assert_non_null(strstr(err.message, "several chunks per rank of a hybrid"));
}

// ---- files of users --------------------------------------------------------------------------

#define SIZES                                                                                      \
    "--hidden-size 1024 --num-attention-heads 16 --group-query-attention --num-query-groups 8 "    \
    "--vocab-size 50000 --seq-length 1024 --max-position-embeddings 1024 "

/* 2 x 1024 / 64 = 32 heads of Mamba. */
static void test_files__may_have_older_names_and_defaults(void **state)
{
    (void)state;
    const plans_entry older = import(SIZES "--hybrid-override-pattern M-M-M*-M- --is-hybrid-model "
                                           "--pipeline-model-parallel-size 3 --num-layers 9",
                                     NULL);
    assert_int_equal(older.model->layers, 9);
    assert_int_equal(older.model->kind[0].mamba.heads, 32);
    assert_int_equal(older.model->kind[0].mamba.inner, 2048);
    assert_int_equal(older.degrees.split.kind, PLAIT_SPLIT_EVEN);
    const plans_entry next = import(SIZES "--hybrid-override-pattern M-M-*- --mtp-num-layers 2 "
                                          "--mtp-hybrid-override-pattern *-",
                                    NULL);
    assert_int_equal(next.model->layers, 3);
    assert_int_equal(next.model->mtp_layers, 2);
    assert_int_equal(next.model->kind[next.model->mtp_kind].mixer, PLAIT_MIXER_ATTENTION);
    assert_int_equal(next.model->kind[next.model->mtp_kind].ffn, PLAIT_FFN_MLP);
    assert_string_equal(next.not_read, "");
    const plans_entry deltas =
        import(SIZES "--hybrid-layer-pattern 'G-G-|*-G-' --linear-num-value-heads 16 "
                     "--pipeline-model-parallel-size 2",
               NULL);
    assert_int_equal(deltas.model->layers, 4);
    assert_int_equal(deltas.model->kind[0].mixer, PLAIT_MIXER_DELTA_NET);
    assert_int_equal(deltas.model->kind[0].ffn, PLAIT_FFN_MLP);
    // a letter that plait does not have
    assert_null(import(SIZES "--hybrid-layer-pattern MXM", NULL).model);
    assert_non_null(strstr(warning, "--hybrid-layer-pattern of known letters"));
    assert_null(import(SIZES "--hybrid-layer-pattern M-/MM-", NULL).model);
    assert_non_null(strstr(warning, "--hybrid-layer-pattern with MTP modules of one letter"));
    assert_null(
        import(SIZES "--hybrid-layer-pattern MM --spec a.b gated_delta_product_stack_spec", NULL)
            .model);
    assert_non_null(strstr(warning, "add to the file: --spec of Mamba-2 layers"));
    assert_null(import(SIZES "--num-layers 8 --hybrid-attention-ratio 0.25", NULL).model);
    assert_non_null(strstr(warning, "add to the file: --hybrid-layer-pattern in the place of"));
}

/* Megatron-LM gives each stage equally many letters, or the first and the last their own number. */
static void test_patterns_without_bars__are_divided_by_letters(void **state)
{
    (void)state;
    const plans_entry ends = import(SIZES "--hybrid-layer-pattern MMM*- "
                                          "--pipeline-model-parallel-size 2 "
                                          "--decoder-first-pipeline-num-layers 1",
                                    NULL);
    assert_int_equal(ends.degrees.split.first, 1);
    assert_int_equal(ends.degrees.split.last, 4);
    const plans_entry pairs = import(SIZES "--hybrid-layer-pattern M-M-*-M- "
                                           "--pipeline-model-parallel-size 2 "
                                           "--decoder-first-pipeline-num-layers 2",
                                     NULL);
    assert_int_equal(pairs.model->layers, 4);
    assert_int_equal(pairs.degrees.split.first, 1);
    assert_int_equal(pairs.degrees.split.last, 3);
    // a stage of three letters ends inside a pair, so letters are layers
    const plans_entry halves = import(SIZES "--hybrid-layer-pattern M-M-*- "
                                            "--pipeline-model-parallel-size 2",
                                      NULL);
    assert_int_equal(halves.model->layers, 6);
    assert_int_equal(halves.degrees.split.kind, PLAIT_SPLIT_EVEN);
    assert_refused(SIZES "--hybrid-layer-pattern M-M-*-/*- --pipeline-model-parallel-size 4",
                   "expected | between the stages, or letters that 4 stages share evenly, found 6 "
                   "letters");
    assert_refused(SIZES "--hybrid-layer-pattern M-M-*- --pipeline-model-parallel-size 4 "
                         "--decoder-first-pipeline-num-layers 2",
                   "evenly after those of the first or last stage, found 6 letters");
}

/* The letters are counted by the layers of the model that the caller names. */
static void test_a_named_model__has_the_layers_of_the_pattern(void **state)
{
    (void)state;
    take(GRANITE);
    const launch_call call = {.model = &it.model, .gpus = 8};
    const plans_entry out = import("--hybrid-layer-pattern "
                                   "'M-M-M-M-*-M-M-M-M-*-M-M-|M-M-*-M-M-M-M-*-' "
                                   "--pipeline-model-parallel-size 2",
                                   &call);
    assert_int_equal(out.degrees.split.kind, PLAIT_SPLIT_FIRST_LAST);
    assert_int_equal(out.degrees.split.first, 12);
    assert_false(
        import("--hybrid-layer-pattern 'MMM|MMM' --pipeline-model-parallel-size 2", &call).given &
        PLAIT_KEY_BIT(PLAIT_KEY_SPLIT));
}

// ---- refusals ----------------------------------------------------------------------------------

static void assert_model_refused(const char *runtime, const char *part)
{
    plait_runtime r;
    plait_error err;
    char why[256];

    must(plait_runtime_find(runtime, arena, &r, &err), &err);
    assert_false(plait_model_check(&r, &it.model, why, sizeof why));
    if (strstr(why, part) == NULL)
        fail_msg("%s: expected \"%s\", found \"%s\"", runtime, part, why);
}

#define ONE(kind)                                                                                  \
    HEAD("\"activation\": \"silu\"")                                                               \
    "{\"k\": {" kind "}}, \"layers\": [{\"kind\": \"k\", \"count\": 4}]"
#define MLP ", \"mlp\": {\"width\": 8192}"

static void test_formats__refuse_what_they_cannot_state(void **state)
{
    static const char *const runtimes[] = {"torchtitan", "maxtext",   "galvatron",
                                           "mindspeed",  "flagscale", "megatron-deepspeed"};
    static const struct {
        const char *model, *part;
        bool megatron; /* whether Megatron-LM can state it */
    } rows[] = {
        {ONE(MAMBA(4096, 64, 8) MLP) "}", "no Mamba-2 layers", true},
        {ONE("\"mlp\": {\"width\": 8192}") "}", "no layers of a mixer or a feed-forward part alone",
         true},
        {ONE(ATTENTION ", " EXPERTS(", \"latent\": 512")) "}", "no latent experts", true},
        {ONE(ATTENTION ", " EXPERTS(", \"zero_experts\": 64")) "}",
         "no experts without computation", false},
        {ONE("\"conv\": {\"width\": 2688, \"kernel\": 3}" MLP) "}", "no convolution layers", false},
        {ONE("\"mamba\": {\"inner\": 4096, \"state\": 16, \"conv\": 4, \"dt_rank\": 128}" MLP) "}",
         "no Mamba layers", false},
        {ONE(ATTENTION MLP) ", \"residual\": {\"streams\": 4}}", "no residual streams", false},
        {ONE(ATTENTION MLP) ", \"residual\": {\"block\": 2}}", "no attention residuals", false},
        {ONE(ATTENTION MLP ", \"laurel_rank\": 64") "}", "no low-rank residual branches", false},
    };

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        take(rows[r].model);
        for (size_t s = 0; s < sizeof runtimes / sizeof *runtimes; s++)
            assert_model_refused(runtimes[s], rows[r].part);
        if (!rows[r].megatron)
            assert_model_refused("megatron", rows[r].part);
    }
    take(ONE(MAMBA(4096, 64, 8) MLP) "}");
    assert_model_refused("megatron@core-v0.17.0", "core-v0.18.0 or later");
}

static void test_hybrids__have_rules_of_megatron(void **state)
{
    plait_error err;

    (void)state;
    take(ONE(MAMBA(4096, 64, 8) ", \"mlp\": {\"width\": 8192, \"gated\": false}") "}");
    assert_model_refused("megatron", "rule MM7");
    take(HEAD("\"activation\": \"silu\"") "{\"M\": {" MAMBA(
        4096, 64, 8) "}, \"A\": {\"attention\": "
                     "{\"heads\": 32, \"kv_heads\": 2, \"head_dim\": 128, \"qk_norm\": true}}}, "
                     "\"layers\": [{\"pattern\": [\"M\", \"A\"]}]}");
    assert_model_refused("megatron", "rule MM10");
    take(NANO("", ""));
    assert_int_not_equal(
        launched_render(&it, "tp=16 sp=1 ep=4 etp=1 mbs=1", usual.target, arena, &err), PLAIT_OK);
    assert_non_null(strstr(err.message, "groups of Mamba heads"));
    assert_int_not_equal(
        launched_render(&it, "tp=1 ep=8 etp=1 pp=2 vpp=2 mbs=1 ep_overlap=pairs dispatcher=deepep",
                        usual.target, arena, &err),
        PLAIT_OK);
    assert_non_null(strstr(err.message, "rule M24"));
}

/* 64 heads in 8 groups; one group is repeated on further ranks. */
static void test_engines__need_whole_groups_or_one(void **state)
{
    const plait_load load = {.input = 1024.0, .output = 128.0};
    const plait_worker wide = {.tp = 16, .pp = 1, .ep = 1, .dp_attention = 1};

    (void)state;
    for (int engine = PLAIT_ENGINE_VLLM; engine <= PLAIT_ENGINE_SGLANG; engine++) {
        take(NANO("", ""));
        assert_non_null(strstr(
            plait_serve_rule_broken((plait_engine_kind)engine, &it.model, &load, wide), "Mamba-2"));
        take(ONE(MAMBA(4096, 64, 1) MLP) "}");
        assert_null(plait_serve_rule_broken((plait_engine_kind)engine, &it.model, &load,
                                            (plait_worker){2, 1, 1, 1}));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_layers_of_one_part__are_letters),
        TEST(test_chunks__are_parted_by_bars),
        TEST(test_layers_of_two_parts__are_pairs),
        TEST(test_further_predictions__have_a_pattern),
        TEST(test_latent_experts__have_their_width),
        TEST(test_graphs__capture_mamba_layers),
        TEST(test_a_recipe__gets_the_pattern),
        TEST(test_files__may_have_older_names_and_defaults),
        TEST(test_patterns_without_bars__are_divided_by_letters),
        TEST(test_a_named_model__has_the_layers_of_the_pattern),
        TEST(test_formats__refuse_what_they_cannot_state),
        TEST(test_hybrids__have_rules_of_megatron),
        TEST(test_engines__need_whole_groups_or_one),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
