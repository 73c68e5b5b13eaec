/* test_launch_torchtitan.c - a plan as torchtitan's recipe, arguments and TOML, and back */
#include <stdio.h>
#include <string.h>

#include "support/assert_near.h"
#include "support/must.h"
#include "launch/import.h"
#include "launch/read/plan_reader.h"
#include "plait/data.h"
#include "plait/search.h"
#include "launch/torchtitan/torchtitan.h"

static plait_arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = plait_arena_new();
    return arena == NULL;
}

static int teardown(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

// ---- a plan and its files --------------------------------------------------------------------

typedef struct world {
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_plan plan;
    plait_cost cost;
    plait_launch launch;
    plait_launch_folder folder;
} world;

/* 16 sequences of 4096 tokens on 16 H200. */
static void make(world *w, const char *model)
{
    plait_error err;

    memset(w, 0, sizeof *w);
    must(plait_model_find(model, arena, &w->model, NULL, &err), &err);
    must(plait_cluster_find("h200-141gb-sxm:2x8", arena, &w->cluster, &err), &err);
    must(plait_runtime_find("torchtitan", arena, &w->runtime, &err), &err);
    w->cluster.gpus = 16;
    w->problem = (plait_problem){
        .model = &w->model,
        .cluster = &w->cluster,
        .runtime = &w->runtime,
        .job = {.seq = 4096, .gbs = 16, .gpus = 16},
    };
    w->launch = (plait_launch){.problem = &w->problem, .plan = &w->plan, .cost = &w->cost};
}

/* "tp=2 pp=4"; what is not given is completed as eval does. */
static void plan(world *w, const char *keys)
{
    plait_degrees d = plait_degrees_init();
    plait_key_set given = 0;
    plait_error err;
    char key[24], value[64];
    int length = 0;

    for (; sscanf(keys, " %23[^=]=%63s%n", key, value, &length) == 2; keys += length) {
        must(plait_degrees_set(&d, key, value, &err), &err);
        given |= PLAIT_KEY_BIT(plait_key_find(key));
    }
    d.dp = plait_degrees_dp(w->problem.job.gpus, d.tp, d.pp, d.cp);
    must(plait_degrees_complete(&w->problem, given | PLAIT_KEY_BIT(PLAIT_KEY_DP), &d, arena, &err),
         &err);
    must(plait_plan_expand(&w->problem, &d, arena, &w->plan, &err), &err);
    must(plait_plan_evaluate(&w->problem, &w->plan, NULL, arena, &w->cost, &err), &err);
}

static void render(world *w, const char *model, const char *keys)
{
    plait_error err;

    make(w, model);
    plan(w, keys);
    must(plait_launch_render(&w->launch, PLAIT_LAUNCH_TORCHTITAN, arena, &w->folder, &err), &err);
}

static const char *text_of(const world *w, const char *name)
{
    for (int f = 0; f < w->folder.files; f++)
        if (strcmp(w->folder.file[f].name, name) == 0)
            return w->folder.file[f].text;
    return NULL;
}

static void assert_says(const world *w, const char *name, const char *what)
{
    const char *const text = text_of(w, name);

    if (text == NULL || strstr(text, what) == NULL)
        fail_msg("%s does not say '%s':\n%s", name, what, text != NULL ? text : "(no file)");
}

// ---- out ---------------------------------------------------------------------------------------

/* 16 GPUs / (tp 2, pp 2) = dp 4; 2 sequences a microbatch, 16 / (4 2) = 2 of them. */
static void test_recipe__says_degrees_and_tokens(void **state)
{
    world w;

    (void)state;
    render(&w, "llama-3.1-8b", "tp=2 pp=2 mbs=2 zero=2 recompute=full split=even");
    assert_says(&w, "recipe.py", "model_registry(\n        \"8B\",");
    assert_says(&w, "recipe.py", "data_parallel_replicate_degree=1,");
    assert_says(&w, "recipe.py", "data_parallel_shard_degree=4,");
    assert_says(&w, "recipe.py", "fsdp_reshard_after_forward=\"never\",");
    assert_says(&w, "recipe.py", "num_pp_microbatches=2,");
    assert_says(&w, "recipe.py", "module_fqns_per_model_part=model_parts([16, 16]),");
    assert_says(&w, "recipe.py", "num_tokens_per_microbatch_per_dp_rank=8192,");
    assert_says(&w, "recipe.py", "num_tokens_per_train_step=65536,");
    assert_says(&w, "recipe.py", "activation_checkpoint=FullAC.Config(),");
    assert_says(&w, "args.sh", "--module llama3\n--config llama3_8b\n");
    assert_says(&w, "args.sh", "\nactivation-checkpoint:full\n");
    assert_says(&w, "config.toml", "local_batch_size = 4\nglobal_batch_size = 16\n");
}

/* A shard of 4 ranks of dp 8 x cp 2: 2 data ranks by 2 context ranks, 4 replicas of it. */
static void test_shards__leave_context_ranks_out(void **state)
{
    world w;

    (void)state;
    render(&w, "llama-3.1-8b", "cp=2 shard_group=4 zero=3");
    assert_says(&w, "args.sh", "--parallelism.data_parallel_replicate_degree 4\n");
    assert_says(&w, "args.sh", "--parallelism.data_parallel_shard_degree 2\n");
    assert_says(&w, "args.sh", "--parallelism.fsdp_reshard_after_forward always\n");
}

/* 32 + 1 + 1 = 34 units over 4 stages: 9 9 8 8, less the embedding and the head. */
static void test_deal__is_the_clients_own(void **state)
{
    static const int by_hand[] = {8, 9, 8, 7};
    int counts[4];

    (void)state;
    assert_true(titan_divide_layers(32, 4, (titan_weights){1, 1, 0}, counts));
    assert_memory_equal(counts, by_hand, sizeof counts);
    assert_false(titan_divide_layers(2, 4, (titan_weights){1, 1, 0}, counts) &&
                 counts[0] > 0); // a stage of the embedding alone
    assert_false(titan_divide_layers(4, 4, (titan_weights){2, 0, 0}, counts));
}

/* Chunks of 11 layers need a number of layers a stage: ceil(32 / 11) = 3 chunks are not 2 a rank. */
static void test_split__that_no_flag_gives_comes_from_the_recipe(void **state)
{
    world w;

    (void)state;
    render(&w, "llama-3.1-8b", "pp=4 vpp=5 schedule=interleaved split=spread");
    assert_says(&w, "recipe.py",
                "model_parts([2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1])");
    assert_says(&w, "args.sh", "--module recipe\n--config plan\n");
    assert_says(&w, "args.sh", "# plait: vpp 5\n# plait: split spread\n");
}

static void test_flavour__is_known_by_sizes_not_by_name(void **state)
{
    plait_model model;
    plait_error err;

    (void)state;
    must(plait_model_find("llama-3.1-70b", arena, &model, NULL, &err), &err);
    model.name = "something else";
    assert_string_equal(titan_flavour_of(&model)->name, "70B");
    model.vocab++;
    assert_null(titan_flavour_of(&model));
    model.vocab--;
    model.numerics.rope = (plait_rope){.kind = PLAIT_ROPE_PLAIN, .base = 500000.0};
    assert_null(titan_flavour_of(&model)); // Llama 3 before its positions were scaled
}

/* Where our numbers inside differ from torchtitan's (Llama-3.2's scaling, Qwen3-235B's base), the model
 * is no flavour. */
static void test_flavours__are_models_of_plait(void **state)
{
    int known = 0;

    (void)state;
    for (const titan_flavour *f = titan_flavours; f->name != NULL; f++) {
        plait_model model;
        plait_error err;

        if (plait_model_find(f->model, arena, &model, NULL, &err) != PLAIT_OK)
            continue;
        const titan_flavour *const found = titan_flavour_of(&model);
        assert_true(found == NULL || found == f);
        known += found != NULL;
    }
    assert_int_equal(known, 15);
}

static void test_model__that_is_no_flavour_is_put_together(void **state)
{
    world w;

    (void)state;
    render(&w, "mixtral-8x7b", "ep=8 zero=3");
    assert_says(&w, "recipe.py", "Qwen3Model.Config(");
    assert_says(&w, "recipe.py", "num_experts=8,");
    assert_says(&w, "recipe.py", "moe_layers = [True] * 32\n");
    assert_null(text_of(&w, "config.toml")); // those versions have flavours only
}

/* Kimi K2's positions and router, where a model file knows them. */
static void test_model__is_built_with_what_is_known_of_it(void **state)
{
    world w;
    plait_error err;

    (void)state;
    make(&w, "kimi-k2");
    w.model.numerics.rope = (plait_rope){.kind = PLAIT_ROPE_YARN, .base = 5e4, .factor = 32.0};
    w.model.numerics.router =
        (plait_router){.score = PLAIT_ROUTER_SIGMOID, .normalised = true, .scale = 2.827};
    plan(&w, "ep=16 zero=3 recompute=full");
    w.cost.verdict = PLAIT_FITS; // on more GPUs than these
    must(plait_launch_render(&w.launch, PLAIT_LAUNCH_TORCHTITAN, arena, &w.folder, &err), &err);
    assert_says(&w, "recipe.py", "theta=50000,\n    scaling=\"yarn\",\n    rope_factor=32,\n");
    assert_says(&w, "recipe.py", "score_func=\"sigmoid\",\n            route_norm=True,\n");
    assert_says(&w, "recipe.py", "route_scale=2.827,\n");
    assert_says(&w, "recipe.py", "moe_layers = [False] * 1 + [True] * 60\n");
}

static void test_names__survive_python(void **state)
{
    text_builder out;

    (void)state;
    text_builder_init(&out, arena);
    titan_append_quoted("a \"b\" c\\d\n", &out);
    assert_string_equal(text_builder_finish(&out, NULL), "\"a \\\"b\\\" c\\\\d\\u000a\"");
}

// ---- refused -----------------------------------------------------------------------------------

static void assert_rule(world *w, const char *keys, const char *rule)
{
    plait_degrees d = plait_degrees_init();
    plait_error err;
    char key[24], value[64], why[256], wanted[16];
    int length = 0;
    bool shard_group = false;

    d.zero = 3;
    d.cp_comm = PLAIT_CP_ALLGATHER;
    d.attention = PLAIT_ATTENTION_FLASH2;
    for (; sscanf(keys, " %23[^=]=%63s%n", key, value, &length) == 2; keys += length) {
        must(plait_degrees_set(&d, key, value, &err), &err);
        shard_group = shard_group || strcmp(key, "shard_group") == 0;
    }
    d.dp = plait_degrees_dp(w->problem.job.gpus, d.tp, d.pp, d.cp);
    if (!shard_group)
        d.shard_group = d.dp * d.cp;
    assert_int_equal(plait_degrees_check(&w->problem, &d, why, sizeof why), PLAIT_INVALID);
    snprintf(wanted, sizeof wanted, "rule %s)", rule);
    if (strstr(why, wanted) == NULL)
        fail_msg("%s: expected rule %s, found '%s'", keys, rule, why);
}

static void test_rules__refuse_what_the_client_would(void **state)
{
    world w;

    (void)state;
    make(&w, "llama-3.1-8b");
    assert_rule(&w, "tp=16 sp=1", "T1");
    assert_rule(&w, "cp=4 shard_group=2", "T6");
    w.problem.job.gbs = 18; // 9 microbatches over 4 stages: 2 rounds, which do not divide 9
    assert_rule(&w, "pp=4 vpp=2 schedule=interleaved tp=4 sp=1 mbs=2", "T8");
    w.problem.job.gbs = 16;
    assert_rule(&w, "cp=2 attention=flash3", "T9");
    make(&w, "mixtral-8x7b");
    assert_rule(&w, "tp=2 sp=1 ep=1 etp=1", "T7");
    make(&w, "deepseek-v3");
    assert_rule(&w, "pp=2 ep=8 split=spread", "T10");
    make(&w, "llama-3.2-3b");
    assert_rule(&w, "pp=2", "T3");
}

static void assert_model_rule(const char *model, const char *rule)
{
    plait_runtime runtime;
    plait_model m;
    plait_error err;
    char why[256];

    must(plait_runtime_find("torchtitan-eager", arena, &runtime, &err), &err);
    must(plait_model_find(model, arena, &m, NULL, &err), &err);
    assert_int_equal(plait_model_check(&runtime, &m, why, sizeof why), rule == NULL);
    if (rule != NULL && strstr(why, rule) == NULL)
        fail_msg("%s: expected rule %s, found '%s'", model, rule, why);
}

static void test_models__that_cannot_be_built_are_refused(void **state)
{
    static const char *const built[] = {"llama-2-70b", "mixtral-8x22b",   "kimi-k2",
                                        "deepseek-v2", "qwen3-235b-a22b", "gpt-oss-120b"};

    (void)state;
    for (size_t i = 0; i < sizeof built / sizeof *built; i++)
        assert_model_rule(built[i], NULL);
    assert_model_rule("mamba-1.4b", "L1");
    assert_model_rule("gpt3-175b", "TM2");
    assert_model_rule("qwen2.5-7b", "TM3");
    assert_model_rule("llama-4-scout", "TM4");
}

// ---- back --------------------------------------------------------------------------------------

static plans_entry import(const char *text, const char **warning)
{
    plans_entry entry;
    plait_error err;

    must(launch_import(PLAIT_LAUNCH_TORCHTITAN, text, strlen(text), "file", NULL, arena, &entry,
                       warning, &err),
         &err);
    return entry;
}

static void assert_same_plan(const world *w, const char *name)
{
    const char *warning;
    const plans_entry entry = import(text_of(w, name), &warning);
    char mine[96], its[96];

    for (int k = 0; k < PLAIT_KEYS; k++) {
        assert_true((entry.given & PLAIT_KEY_BIT(k)) || plait_keys[k].numerics ||
                    k == PLAIT_KEY_PLACEMENT || k == PLAIT_KEY_POST_VALIDATION ||
                    k == PLAIT_KEY_FUSED_GROUPED_MLP ||
                    k == PLAIT_KEY_CUDA_GRAPH); // given by plait import itself
        plait_degrees_get(&w->plan.degrees, (plait_key_id)k, mine, sizeof mine);
        plait_degrees_get(&entry.degrees, (plait_key_id)k, its, sizeof its);
        if (strcmp(mine, its) != 0)
            fail_msg("%s: %s is %s, read back as %s", name, plait_keys[k].name, mine, its);
    }
    assert_string_equal(warning, "");
    assert_int_equal(entry.seq, w->problem.job.seq);
    assert_int_equal(entry.gbs, w->problem.job.gbs);
    assert_int_equal(entry.gpus, w->problem.job.gpus);
    assert_int_equal(entry.precision, w->problem.job.precision);
    assert_string_equal(entry.runtime, w->runtime.name);
    assert_string_equal(entry.model->name, w->model.name);
}

static void test_plans__come_back_as_they_were(void **state)
{
    static const char *const plans[][2] = {
        {"llama-3.1-8b", "tp=2 pp=2 mbs=2 zero=2 recompute=full split=even"},
        {"llama-3.1-8b", "pp=2 split=both recompute=sac"},
        {"llama-3.1-8b", "pp=2 vpp=3 schedule=interleaved split=spread"},
        {"llama-3.1-8b", "cp=4 shard_group=8 zero=3 recompute=none"},
        {"llama-3.1-8b", "zero=3 recompute=full offload=params"},
        {"qwen3-30b-a3b", "ep=8 zero=3 recompute=full"},
        {"gpt-oss-20b", "ep=4 pp=2 zero=3 recompute=full schedule=gpipe"},
        {"llama-3.1-8b", "tp=4 zero=3 recompute=full tp_comm_overlap=1"},
    };
    static const char *const names[] = {"recipe.py", "args.sh", "config.toml"};

    (void)state;
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
        world w;

        render(&w, plans[p][0], plans[p][1]);
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            if (text_of(&w, names[n]) != NULL)
                assert_same_plan(&w, names[n]);
    }
}

static void test_asynchronous_tensors__are_an_option_of_their_release(void **state)
{
#define FULL "[activation_checkpoint]\nmode = \"full\"\n"
    static const char eager[] =
        "[parallelism]\ntensor_parallel_degree = 8\n"
        "enable_async_tensor_parallel = true\n[compile]\nenable = false\n" FULL;
    static const char old[] = "[training]\ncompile = true\ntensor_parallel_degree = 8\n"
                              "[experimental]\nenable_async_tensor_parallel = true\n" FULL;
    static const char async[] = "[parallelism]\ntensor_parallel_degree = 8\n"
                                "enable_async_tensor_parallel = true\n[compile]\nenable = true\n";
    static const struct {
        const char *list;
        bool model;
    } components[] = {
        {"", true},
        {"components = [\"loss\"]", false},
        {"components = []", false},
        {"components = ['loss', 'model']", true},
    };
    const char *warning;
    world w;

    (void)state;
    render(&w, "llama-3.1-8b", "tp=8 tp_comm_overlap=1 recompute=full");
    assert_says(&w, "args.sh", "--compile.enable_async_tensor_parallel\n");
    assert_says(&w, "recipe.py", "enable_async_tensor_parallel=True,");
    assert_says(&w, "config.toml", "\nenable_async_tensor_parallel = true\n");
    render(&w, "llama-3.1-8b", "tp=8 tp_comm_overlap=0 recompute=full");
    assert_says(&w, "args.sh", "--compile.no-enable_async_tensor_parallel\n");
    assert_null(strstr(text_of(&w, "config.toml"), "async"));
    assert_true(import(old, &warning).degrees.switches.tp_comm_overlap);
    assert_string_equal(warning, "");
    assert_false(import(eager, &warning).degrees.switches.tp_comm_overlap);
    assert_string_equal(warning,
                        "asynchronous tensor parallelism needs torch.compile of the model; "
                        "the plan is priced without it");
    // 16 GPUs; torchtitan raises unless the model is among the compiled components
    for (size_t c = 0; c < sizeof components / sizeof *components; c++) {
        const char *const text =
            plait_arena_printf(arena, "%s%s\n" FULL, async, components[c].list);
        const plans_entry entry = import(text, &warning);
        assert_int_equal(entry.degrees.switches.tp_comm_overlap, components[c].model);
        assert_string_equal(entry.runtime, components[c].model ? "torchtitan" : "torchtitan-eager");
        assert_int_equal(warning[0] == '\0', components[c].model);
    }
    assert_true(import("torchrun --nproc_per_node 8 -m torchtitan.train "
                       "--parallelism.tensor_parallel_degree 8 --compile.enable "
                       "--compile.enable_async_tensor_parallel --compile.components loss model\n",
                       &warning)
                    .degrees.switches.tp_comm_overlap);
#undef FULL
}

/* torchrun 2 x 8; what no flag says stays open. */
static void test_command__of_a_user_is_read(void **state)
{
    const char *warning;
    const plans_entry entry =
        import("torchrun --nnodes 2 --nproc-per-node=8 -m torchtitan.train \\\n"
               "  --module llama3 --config llama3_70b --parallelism.tensor_parallel_degree=4 \\\n"
               "  --training.max_context_length 4_096 --training.no-disable-cuda-graphs\n",
               &warning);

    (void)state;
    assert_int_equal(entry.gpus, 16);
    assert_int_equal(entry.seq, 4096);
    assert_int_equal(entry.gbs, 0);
    assert_int_equal(entry.degrees.tp, 4);
    assert_string_equal(entry.model->name, "llama-3.1-70b");
    assert_false(entry.given & (PLAIT_KEY_BIT(PLAIT_KEY_PP) | PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE)));
    assert_string_equal(warning, "CUDA graphs are not priced");
    import("torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config llama3_8b "
           "--parallelism.expert_parallel_comm_backend deepep\n",
           &warning);
    assert_string_equal(warning, "the token dispatcher is priced as the standard dispatcher");
}

/* 8 * 2048 tokens of 2048 a sequence; TrainingConfig of another function is not another plan. */
static void test_recipe__of_a_user_is_read(void **state)
{
    const char *warning;
    const plans_entry entry =
        import("from torchtitan.trainer import Trainer\n\n"
               "def mine():\n    \"\"\"training=TrainingConfig(steps=1)\"\"\"\n"
               "    config = Trainer.Config(\n"
               "        training=TrainingConfig(\n"
               "            num_tokens_per_microbatch_per_dp_rank=8 * 2048,  # a comment\n"
               "            max_context_length=2048,\n        ),\n"
               "        activation_checkpoint=None,\n    )\n"
               "    config.parallelism.pipeline_parallel_degree = 4\n"
               "    config.parallelism.module_fqns_per_model_part = [\n"
               "        ['tok_embeddings', 'layers.0'], ['layers.1'], ['layers.2'],\n"
               "        ['layers.3', 'norm', 'lm_head']]\n"
               "    return config\n",
               &warning);

    (void)state;
    assert_int_equal(entry.degrees.mbs, 8);
    assert_int_equal(entry.degrees.pp, 4);
    assert_true(entry.given & PLAIT_KEY_BIT(PLAIT_KEY_VPP));
    assert_true(entry.given & PLAIT_KEY_BIT(PLAIT_KEY_SPLIT));
    assert_int_equal(entry.degrees.vpp, 1);
    assert_int_equal(entry.degrees.split.kind, PLAIT_SPLIT_EVEN);
    assert_int_equal(entry.degrees.recompute.kind, PLAIT_RECOMPUTE_NONE);
    assert_int_equal(entry.precision, PLAIT_BF16);
    assert_string_equal(entry.runtime, "torchtitan-eager");
}

static void test_toml__of_a_user_is_read(void **state)
{
    const char *warning;
    const plans_entry entry = import("[model]\nname = \"llama3\"\nflavor = \"405B\"\n"
                                     "converters = [\"float8\"] # in eight bits\n"
                                     "[training]\nlocal_batch_size = 2\nseq_len = 8192\n"
                                     "[parallelism]\ntensor_parallel_degree = 8\n"
                                     "pipeline_parallel_degree = 1\n",
                                     &warning);

    (void)state;
    assert_int_equal(entry.precision, PLAIT_FP8);
    assert_int_equal(entry.degrees.mbs, 2);
    assert_int_equal(entry.degrees.zero, 3);
    assert_string_equal(entry.model->name, "llama-3.1-405b");
    assert_string_equal(
        warning,
        "plait cannot express recomputation of every second layer; recompute is left unset");
}

static void test_recipes_of_float8__are_priced_as_rowwise(void **state)
{
#define FP8(section, recipe)                                                                       \
    "[model]\nconverters = [\"quantize.linear.float8\"]\n[" section "]\n"                          \
    "recipe_name = \"" recipe "\"\n[activation_checkpoint]\nmode = \"full\"\n"
    const char *warning;

    (void)state;
    import(FP8("quantize.linear.float8", "rowwise"), &warning);
    assert_string_equal(warning, "");
    import(FP8("quantize.linear.float8", "rowwise_with_gw_hp"), &warning);
    assert_string_equal(warning, "the float8 recipe rowwise_with_gw_hp is priced as rowwise");
    import(FP8("float8", "tensorwise"), &warning);
    assert_string_equal(warning, "the float8 recipe tensorwise is priced as rowwise");
#undef FP8
}

/* As train_configs of 2024 had it: degrees, batch and compiler among [training], float8 by a switch. */
static void test_toml__of_the_first_releases_is_read(void **state)
{
    const char *warning;
    const plans_entry entry = import("[model]\nname = \"llama3\"\nflavor = \"8B\"\n"
                                     "norm_type = \"rmsnorm\"\n"
                                     "[training]\nbatch_size = 2\nseq_len = 8192\n"
                                     "warmup_steps = 200\ndata_parallel_replicate_degree = 2\n"
                                     "data_parallel_shard_degree = 4\ntensor_parallel_degree = 8\n"
                                     "compile = true\n"
                                     "[experimental]\ncontext_parallel_degree = 1\n"
                                     "pipeline_parallel_degree = 1\n"
                                     "[activation_checkpoint]\nmode = \"selective\"\n"
                                     "selective_ac_option = \"op\"\n"
                                     "[float8]\nenable_float8_linear = true\n"
                                     "enable_fsdp_float8_all_gather = false\n",
                                     &warning);

    (void)state;
    assert_string_equal(warning, "");
    assert_string_equal(entry.runtime, "torchtitan");
    assert_string_equal(entry.model->name, "llama-3.1-8b");
    assert_int_equal(entry.precision, PLAIT_FP8);
    assert_int_equal(entry.gpus, 64);
    assert_int_equal(entry.gbs, 16);
    assert_int_equal(entry.degrees.tp, 8);
    assert_int_equal(entry.degrees.dp, 8);
    assert_int_equal(entry.degrees.shard_group, 4);
    assert_int_equal(entry.degrees.mbs, 2);
}

static void test_import__refuses_with_the_place(void **state)
{
    static const char *const bad[][2] = {
        {"--parallelism.tensor_parallel_degree eight", "tensor_parallel_degree"},
        {"--training.max_context_length 99999999999999999999", "max_context_length"},
        {"[training]\nseq_len 8192\n", "neither a section nor KEY = VALUE"},
        {"[training]\ndataset = \"c4\n", "not closed"},
        {"[parallelism]\nenable_async_tensor_parallel = \"yes\"\n",
         "expected true or false for parallelism.enable_async_tensor_parallel, found \"yes\""},
        {"[compile]\nenable = 1\n", "expected true or false for compile.enable, found 1"},
        {"[parallelism]\nenable_sequence_parallel = \"false\"\n", "enable_sequence_parallel"},
        {"[training]\nenable_cpu_offload = [true]\n", "enable_cpu_offload, found [true]"},
        {"--compile.enable maybe --module llama3\n", "compile.enable, found maybe"},
        {"# plait: attention fast\n--module llama3\n", "expected one of unfused"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        plans_entry entry;
        const char *warning;
        plait_error err;

        assert_int_not_equal(launch_import(PLAIT_LAUNCH_TORCHTITAN, bad[i][0], strlen(bad[i][0]),
                                           "file", NULL, arena, &entry, &warning, &err),
                             PLAIT_OK);
        if (strstr(err.message, bad[i][1]) == NULL || strncmp(err.where, "file", 4) != 0)
            fail_msg("%s: %s", err.where, err.message);
    }
}

static void test_notes__fill_only_what_is_unknown(void **state)
{
    static const char text[] = "# plait: gpus 64\n# plait: tp 4\n# plait: cp 2\n"
                               "# plait: model ../../etc/passwd\n# plait: weather fine\n";
    plans_entry entry = {.precision = -1, .degrees = plait_degrees_init()};
    plait_error err;

    (void)state;
    entry.degrees.tp = 8;
    entry.given = PLAIT_KEY_BIT(PLAIT_KEY_TP);
    must(notes_read(text, strlen(text), "file", arena, &entry, &err), &err);
    assert_int_equal(entry.gpus, 64);
    assert_int_equal(entry.degrees.tp, 8);
    assert_int_equal(entry.degrees.cp, 2);
    assert_null(entry.model);
}

/* 2 sequences on each of 128 / tp 8 = 16 replicas. */
static void test_tomls__have_the_clients_own_values(void **state)
{
    static const char text[] = "[model]\nname = \"llama3\"\nflavor = \"405B\"\n[training]\n"
                               "local_batch_size = 2\nseq_len = 8192\nglobal_batch_size = -1\n"
                               "[parallelism]\ntensor_parallel_degree = 8\nodd = 1\n"
                               "[activation_checkpoint]\nmode = \"full\"\n"
                               "[metrics]\nlog_freq = 1\n[strange]\nkey = 2\n";
    const launch_call call = {.gpus = 128};
    const char *warning;
    plans_entry entry;
    plait_error err;

    (void)state;
    must(launch_import(PLAIT_LAUNCH_TORCHTITAN, text, strlen(text), "file", &call, arena, &entry,
                       &warning, &err),
         &err);
    assert_int_equal(entry.gbs, 32);
    assert_int_equal(entry.degrees.dp, 16);
    assert_int_equal(entry.degrees.pp, 1);
    assert_string_equal(warning, "");
    assert_string_equal(entry.not_read, "parallelism.odd, metrics.log_freq, strange.key");
}

static void test_files_that_say_nothing__are_refused(void **state)
{
    const char *warning;
    plans_entry entry;
    plait_error err;

    (void)state;
    assert_int_equal(launch_import(PLAIT_LAUNCH_TORCHTITAN, "echo a", 6, "file", NULL, arena,
                                   &entry, &warning, &err),
                     PLAIT_ERROR_SCHEMA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recipe__says_degrees_and_tokens),
        cmocka_unit_test(test_shards__leave_context_ranks_out),
        cmocka_unit_test(test_deal__is_the_clients_own),
        cmocka_unit_test(test_split__that_no_flag_gives_comes_from_the_recipe),
        cmocka_unit_test(test_flavour__is_known_by_sizes_not_by_name),
        cmocka_unit_test(test_flavours__are_models_of_plait),
        cmocka_unit_test(test_model__that_is_no_flavour_is_put_together),
        cmocka_unit_test(test_model__is_built_with_what_is_known_of_it),
        cmocka_unit_test(test_names__survive_python),
        cmocka_unit_test(test_rules__refuse_what_the_client_would),
        cmocka_unit_test(test_models__that_cannot_be_built_are_refused),
        cmocka_unit_test(test_plans__come_back_as_they_were),
        cmocka_unit_test(test_asynchronous_tensors__are_an_option_of_their_release),
        cmocka_unit_test(test_command__of_a_user_is_read),
        cmocka_unit_test(test_recipe__of_a_user_is_read),
        cmocka_unit_test(test_toml__of_a_user_is_read),
        cmocka_unit_test(test_recipes_of_float8__are_priced_as_rowwise),
        cmocka_unit_test(test_toml__of_the_first_releases_is_read),
        cmocka_unit_test(test_import__refuses_with_the_place),
        cmocka_unit_test(test_notes__fill_only_what_is_unknown),
        cmocka_unit_test(test_tomls__have_the_clients_own_values),
        cmocka_unit_test(test_files_that_say_nothing__are_refused),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
