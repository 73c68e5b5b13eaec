/*
 * test_launch.c - what a search finds for Megatron-LM is a launch that Megatron-LM takes
 *
 * Random questions: a model that it can build, GPUs of several generations, sizes, formats, and
 * limits that lead the search into corners. The best plans of each are written as launch files,
 * and args.sh is judged by a checker that shares nothing with what wrote it. FlagScale's YAML is the
 * same arguments, and judged so. What a target can read comes back as the same plan at the same price.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/assert_near.h"
#include "support/megatron_check.h"
#include "support/must.h"
#include "plait/data.h"
#include "plait/launch.h"
#include "plait/search.h"
#include "support/read_back.h"
#include "support/few_draws.h"
#include "base/text.h"
#include "launch/target.h"

enum { DRAWS_EACH = 8, TOP = 3 };

// ---- random numbers (splitmix64) -----------------------------------------------------------

static uint64_t random_state = 20260822;

static uint64_t random_bits(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0 .. below - 1 */
static int random_below(int below)
{
    return (int)(random_bits() % (uint64_t)below);
}

static bool once_in(int times)
{
    return random_below(times) == 0;
}

#define ANY_OF(list) ((list)[random_below((int)(sizeof(list) / sizeof *(list)))])

// ---- models --------------------------------------------------------------------------------

static plait_arena *models_arena;
static plait_model buildable[PLAIT_MAX_LAYERS];
static int models;

/* Megatron-LM scans in chunks of 128 tokens, and other chunks have another price. */
static bool scans_otherwise(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_MAMBA && model->kind[k].mamba.chunk != 128)
            return true;
    return false;
}

static int find_models(void **state)
{
    const char *const *names;
    plait_runtime runtime;
    plait_error err;
    size_t count;

    (void)state;
    models_arena = plait_arena_new();
    assert_non_null(models_arena);
    must(plait_runtime_find("megatron", models_arena, &runtime, &err), &err);
    must(plait_data_list(PLAIT_DATA_MODELS, models_arena, &names, &count, &err), &err);
    assert_true(count <= sizeof buildable / sizeof *buildable);
    for (size_t i = 0; i < count; i++) {
        must(plait_model_find(names[i], models_arena, &buildable[models], NULL, &err), &err);
        models += plait_model_check(&runtime, &buildable[models], NULL, 0) &&
                  !scans_otherwise(&buildable[models]);
    }
    return 0;
}

static int forget_models(void **state)
{
    (void)state;
    plait_arena_free(models_arena);
    return 0;
}

// ---- questions -----------------------------------------------------------------------------

typedef struct generation {
    const char *accelerator;
    int arch; /* major compute capability */
} generation;

typedef struct question {
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_search_options options;
    const char *accelerator, *limits;
    int arch;
} question;

/* What the emitter has words for, though the profiles that ship do not use it. */
static void widen(plait_runtime *runtime)
{
    runtime->can.takes[PLAIT_KEY_SPLIT] |= 1u << PLAIT_SPLIT_SPREAD;
    runtime->can.takes[PLAIT_KEY_ZERO] |= 1u << 2 | 1u << 3;
    runtime->can.takes[PLAIT_KEY_CUDA_GRAPH] = 1u << PLAIT_GRAPH_NONE; // as with FSDP
    runtime->file = "widened.json"; // no profile that has a name can this
}

static void draw_megatron(question *q, plait_arena *arena)
{
    plait_error err;

    must(plait_runtime_find(once_in(3) ? "megatron-no-overlap" : "megatron", arena, &q->runtime,
                            &err),
         &err);
    if (once_in(8) || strncmp(q->limits, "wide:", 5) == 0)
        widen(&q->runtime);
}

static void draw_cluster(question *q, plait_arena *arena)
{
    static const generation generations[] = {
        {"a100-40gb-sxm", 8},  {"a100-80gb-sxm", 8}, {"h100-80gb-sxm", 9},   {"h800-80gb-sxm", 9},
        {"h200-141gb-sxm", 9}, {"h20-96gb-sxm", 9},  {"b200-180gb-sxm", 10}, {"b300-288gb-sxm", 10},
    };
    static const int nodes[] = {1, 1, 2, 2, 3, 4, 4, 6, 8, 8, 9, 12, 16, 16, 32, 64};
    const generation chosen = ANY_OF(generations);
    char shape[64];
    plait_error err;

    snprintf(shape, sizeof shape, "%s:%dx8", chosen.accelerator, ANY_OF(nodes));
    must(plait_cluster_find(shape, arena, &q->cluster, &err), &err);
    q->accelerator = plait_arena_text(arena, shape);
    assert_non_null(q->accelerator);
    q->arch = chosen.arch;
}

/* A format that the GPU has a rate for, more often bf16 than another one. */
static plait_precision draw_precision(const question *q)
{
    const plait_accelerator *const gpu = q->cluster.group[0].accelerator;
    const plait_precision drawn = (plait_precision)random_below(PLAIT_PRECISIONS);

    if (strncmp(q->limits, "fp8_attention", 13) == 0 && gpu->peak_flops_per_s[PLAIT_MXFP8] > 0.0)
        return PLAIT_MXFP8;
    return once_in(2) || gpu->peak_flops_per_s[drawn] <= 0.0 ? PLAIT_BF16 : drawn;
}

/* One kernel alone, now and then: a search leaves the slower ones out. */
static void draw_attention(question *q)
{
    unsigned *const takes = &q->runtime.can.takes[PLAIT_KEY_ATTENTION];
    const int drawn = random_below(PLAIT_ATTENTION_KERNELS);

    if (!once_in(4) || !(*takes >> drawn & 1u))
        return;
    *takes = 1u << drawn;
    q->runtime.defaults.key[PLAIT_KEY_ATTENTION] = drawn;
}

static void draw_job(question *q, const plait_model *model)
{
    static const int sequences[] = {1024, 2048, 4096, 4096, 6144, 8192};
    static const int batches[] = {16, 24, 64, 96, 128, 240, 256, 512};
    int gpus = 0, seq = ANY_OF(sequences);

    for (int g = 0; g < q->cluster.groups; g++)
        gpus += q->cluster.group[g].nodes * q->cluster.group[g].gpus_per_node;
    if (model->learned_positions > 0 && seq > model->learned_positions)
        seq = model->learned_positions;
    q->problem = (plait_problem){
        .model = model,
        .cluster = &q->cluster,
        .runtime = &q->runtime,
        .job = {.seq = seq, .gbs = ANY_OF(batches), .gpus = gpus, .precision = draw_precision(q)},
    };
    draw_attention(q);
}

/* Corners; most keep the space small. Those that begin with "wide:" need a wider profile. */
static const char *const corners[] = {
    "tp=..8,mbs=..2",
    "tp=..4,pp=2..8,mbs=1",
    "tp=2..8,cp=1,mbs=1",
    "pp=2..,split=even,mbs=1",
    "pp=2..8,split=both,mbs=1",
    "pp=2..8,split=loss,mbs=1",
    "pp=2..8,split=embedding,mbs=1",
    "wide:pp=2..4,split=spread,mbs=1",
    "pp=4,vpp=2..,schedule=interleaved,mbs=1",
    "pp=2,vpp=3..,schedule=interleaved,mbs=1",
    "cp=2..4,cp_comm=p2p,mbs=1",
    "cp=2..4,cp_comm=a2a,mbs=1",
    "cp=2..8,cp_comm=allgather,tp=..2,mbs=1",
    "tp=2,etp=1,mbs=1",
    "tp=4,etp=2,mbs=1",
    "tp=2..4,ep=4..,mbs=1",
    "ep=2..8,tp=1,mbs=1",
    "recompute=full,mbs=..2",
    "recompute=full:1,pp=2..8,mbs=1",
    "recompute=full:4,pp=2..4,schedule=interleaved,mbs=1",
    "recompute=selective,mbs=..2",
    "recompute=none,tp=2..8,mbs=1",
    "recompute=modules:layernorm,mbs=1",
    "recompute=modules:layernorm+moe_act,mbs=1",
    "recompute=modules:mla_up_proj+layernorm,mbs=1",
    "recompute=modules:mlp,mbs=1",
    "recompute=modules:shared_experts,mbs=1",
    "order=tp-cp-pp-dp,pp=2..4,mbs=1",
    "order=tp-cp-pp-dp,pp=2,tp=2,ep=2..,mbs=1",
    "zero=0,mbs=1",
    "zero=1,grad_sync=shifted,mbs=1",
    "wide:zero=2,cp=1,mbs=1",
    "wide:zero=3,pp=1,mbs=1",
    "shard_group=2,mbs=1",
    "shard_group=4,tp=..2,mbs=1",
    "sp=0,tp=2..4,mbs=1",
    "sp=1,tp=2..8,mbs=1",
    "cuda_graph=layers,mbs=..2",
    "cuda_graph=layers,ep=2..8,tp=1,dispatcher=alltoall,mbs=1",
    "cuda_graph=full_iteration,mbs=..2",
    "fused_grouped_mlp=1,ep=2..8,tp=1,mbs=1",
    "cuda_graph=full_iteration,dispatcher=hybridep,fused_grouped_mlp=1,tp=1,mbs=1",
    "fp8_attention=1,tp=..2,mbs=1",
    "tp_comm_overlap=1,tp=2..8,mbs=1",
    "tp_comm_overlap=0,sp=1,tp=2..8,mbs=1",
    "permute_fusion=0,tp=..2,mbs=1",
    "router_fusion=0,tp=..2,mbs=1",
    "gather_with_step=1,pp=2..4,mbs=1",
};

/* First and last stages that leave the middle ones a whole number of layers. */
static const char *uneven_ends(const plait_model *model, plait_arena *arena)
{
    const int pp = 2 << random_below(3);
    const int middle = model->layers / pp + random_below(2);
    const int ends = model->layers - (pp - 2) * middle;
    const int first = ends > 1 ? 1 + random_below(ends - 1) : 1;

    return plait_arena_printf(arena, "pp=%d,split=first-last:%d,%d,mbs=1", pp, first,
                              ends > first ? ends - first : 1);
}

/* Layers of chunks that no word deals: the second has three more than the third. */
static void draw_counts(int layers, int chunks, int *count)
{
    for (int c = 0; c < chunks; c++)
        count[c] = layers / chunks + (c < layers % chunks);
    for (int moved = 0; moved < chunks; moved++) {
        const int from = random_below(chunks), to = random_below(chunks);
        const int some = count[from] > 0;
        count[from] -= some;
        count[to] += some;
    }
    for (int from = 0; count[1] < count[2] + 3; from = (from + 1) % chunks)
        if (from != 1 && count[from] > 0) {
            count[from]--;
            count[1]++;
        }
}

/* Modules go with the loss, or where no layer follows into the chunk before. */
static const char *layout_of_counts(const plait_model *model, const int *count, int chunks,
                                    plait_arena *arena)
{
    const int modules = count[chunks - 1] == 0 && once_in(2) ? chunks - 2 : chunks - 1;
    text_builder out;

    text_builder_init(&out, arena);
    for (int c = 0; c < chunks; c++) {
        text_append(&out, c == 0 ? "E" : "|");
        if (count[c] > 0)
            text_append_printf(&out, "t*%d", count[c]);
        if (c == modules && model->mtp_layers > 0)
            text_append_printf(&out, "m*%d", model->mtp_layers);
    }
    text_append_char(&out, 'L');
    return text_builder_finish(&out, NULL);
}

static const char *layout(const plait_model *model, plait_arena *arena)
{
    const int pp = 2 << random_below(3), vpp = pp == 2 ? 2 : 1 + random_below(3);
    int count[PLAIT_MAX_LAYERS];

    if (model->layers < pp * vpp + 3)
        return "pp=1";
    draw_counts(model->layers, pp * vpp, count);
    if (once_in(3)) { // the loss stands alone
        count[pp * vpp - 2] += count[pp * vpp - 1];
        count[pp * vpp - 1] = 0;
    }
    return plait_arena_printf(arena, "pp=%d,vpp=%d,mbs=1,split=layout:%s", pp, vpp,
                              layout_of_counts(model, count, pp * vpp, arena));
}

static const char *draw_limits(const plait_model *model, plait_arena *arena)
{
    return once_in(15)  ? uneven_ends(model, arena)
           : once_in(8) ? layout(model, arena)
                        : ANY_OF(corners);
}

/** A target, and questions for it. */
typedef struct launch_subject {
    plait_launch_target target;
    const char *runtime; /* NULL: one of Megatron-LM's */
    const char *file;    /* that reads back */
    int wanted;          /* questions with plans */
    const char *(*limits)(const plait_model *model, plait_arena *arena);
} launch_subject;

static void draw(const launch_subject *subject, question *q, plait_arena *arena)
{
    const plait_model *model = &buildable[random_below(models)];
    plait_error err;

    if (subject->runtime != NULL)
        must(plait_runtime_find(subject->runtime, arena, &q->runtime, &err), &err);
    while (subject->runtime != NULL && !plait_model_check(&q->runtime, model, NULL, 0))
        model = &buildable[random_below(models)];
    q->limits = subject->limits(model, arena);
    assert_non_null(q->limits);
    if (subject->runtime == NULL)
        draw_megatron(q, arena);
    draw_cluster(q, arena);
    draw_job(q, model);
    plait_search_options_init(&q->options);
    q->options.top = TOP;
    q->limits += strncmp(q->limits, "wide:", 5) == 0 ? 5 : 0;
    must(plait_search_limit(&q->options, q->limits, &err), &err);
}

// ---- answers -------------------------------------------------------------------------------

/* Words that some launch must have had, or the draws are not what they are meant to be. */
static const char *const expected[] = {
    "CUDA_DEVICE_MAX_CONNECTIONS=1",
    "--sequence-parallel",
    "--num-virtual-stages-per-pipeline-rank",
    "--decoder-first-pipeline-num-layers",
    "--account-for-embedding-in-pipeline-split",
    "--account-for-loss-in-pipeline-split",
    "--pipeline-model-parallel-layout",
    "|L'", // the loss alone
    "--use-tp-pp-dp-mapping",
    "--cp-comm-type p2p",
    "--cp-comm-type all_gather",
    "--cp-comm-type a2a",
    "--moe-token-dispatcher-type alltoall",
    "--moe-token-dispatcher-type flex",
    "--moe-layer-freq",
    "--moe-shared-expert-intermediate-size",
    "--multi-latent-attention",
    "--hybrid-layer-pattern",
    "--mamba-num-heads",
    "--window-attn-skip-freq",
    "--recompute-granularity selective",
    "--recompute-method uniform",
    "--recompute-method block",
    "--recompute-modules layernorm",
    "--recompute-modules mlp",
    "--use-distributed-optimizer",
    "--num-distributed-optimizer-instances",
    "--data-parallel-sharding-strategy optim_grads\n",
    "--data-parallel-sharding-strategy optim_grads_params",
    "--overlap-param-gather",
    "--tp-comm-overlap",
    "--fp16",
    "--fp8-recipe tensorwise",
    "--fp8-recipe blockwise",
    "--fp8-recipe mxfp8",
    "--fp4-format",
    "--attention-backend unfused",
    "--flash-attention-version 2",
    "--flash-attention-version 3",
    "--cuda-graph-modules attn mlp\n",
    "--cuda-graph-modules attn moe_router",
    "--cuda-graph-impl full_iteration",
    "--use-transformer-engine-op-fuser",
    "# plait: fp8_attention 1",
};

enum { EXPECTED = sizeof expected / sizeof *expected };

static bool seen[EXPECTED];

static void look_for_words(const char *args)
{
    for (int w = 0; w < EXPECTED; w++)
        seen[w] = seen[w] || strstr(args, expected[w]) != NULL;
}

static const char *spelled(const question *q, const plait_degrees *d)
{
    static char text[768];
    const plait_job *const job = &q->problem.job;
    char value[96];
    int used = snprintf(text, sizeof text,
                        "%s on %s, %s, seq %d, gbs %d, %s (%s):", q->problem.model->name,
                        q->accelerator, q->runtime.name, job->seq, job->gbs,
                        plait_precision_name[job->precision], q->limits);

    for (int k = 0; k < PLAIT_KEYS; k++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %s=%s", plait_keys[k].name,
                         plait_degrees_get(d, (plait_key_id)k, value, sizeof value));
    return text;
}

static const char *file_named(const plait_launch_folder *folder, const char *name)
{
    for (int f = 0; f < folder->files; f++)
        if (strcmp(folder->file[f].name, name) == 0)
            return folder->file[f].text;
    fail_msg("no file %s", name);
    return "";
}

static int number_after(const char *text, const char *name)
{
    const char *const at = strstr(text, name);

    return at != NULL ? atoi(at + strlen(name)) : 0;
}

/* The blocks under `train:` as arguments: KEY: VALUE is --KEY VALUE, a list its words. */
static const char *arguments_of_yaml(const char *yaml, plait_arena *arena)
{
    const char *const train = strstr(yaml, "\ntrain:\n");
    char **const line = train != NULL ? text_split(arena, train, '\n', NULL) : NULL;
    char key[96], value[512];
    text_builder out;

    assert_non_null(line);
    text_builder_init(&out, arena);
    for (int l = 0; line[l] != NULL; l++) {
        if (sscanf(line[l], " %95[a-z_A-Z0-9]: %511[^\n]", key, value) != 2)
            continue;
        for (char *c = key; *c != '\0'; c++)
            *c = *c == '_' ? '-' : *c;
        const bool list = value[0] == '[';
        for (char *c = value; list && *c != '\0'; c++)
            *c = strchr("[],", *c) != NULL ? ' ' : *c;
        if (strcmp(key, "moe-router-padding-for-fp8") == 0)
            snprintf(key, sizeof key, "moe-router-padding-for-quantization");
        text_append_printf(&out, "--%s %s\n", key, strcmp(value, "true") == 0 ? "" : value);
    }
    return text_builder_finish(&out, NULL);
}

/* `export NAME=VALUE` of what stands under `envs:`, as args.sh has it. */
static const char *environment_of_yaml(const char *yaml)
{
    return strstr(yaml, "    CUDA_DEVICE_MAX_CONNECTIONS: \"1\"\n") != NULL
               ? "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
               : "";
}

/* args.sh, or the same of FlagScale's YAML; NULL: the target has no arguments of Megatron-LM. */
static const char *megatron_arguments(const launch_subject *subject, const char *text,
                                      plait_arena *arena)
{
    if (subject->target == PLAIT_LAUNCH_FLAGSCALE)
        return plait_arena_printf(arena, "%s%s", environment_of_yaml(text),
                                  arguments_of_yaml(text, arena));
    return subject->target == PLAIT_LAUNCH_MEGATRON ? text : NULL;
}

static void check_arguments(const question *q, const plait_degrees *d, const char *args)
{
    megatron_finding found;

    if (!megatron_check(args, q->problem.job.gpus, q->arch, &found))
        fail_msg("%s\nbreaks %s: %s\n%s", spelled(q, d), found.rule, found.sentence, args);
    look_for_words(args);
}

static void check_nodes(const question *q, const plait_launch_folder *folder)
{
    const char *const run = file_named(folder, "run.sh");
    const int nodes = number_after(run, "\nnodes=");

    if (nodes > 0)
        assert_int_equal(nodes * number_after(run, "\ngpus_per_node="), q->problem.job.gpus);
}

/* Returns false if the target cannot express the plan. */
static bool check_launch(const launch_subject *subject, const question *q, const plait_degrees *d,
                         plait_arena *arena)
{
    plait_plan plan;
    plait_cost cost;
    plait_launch_folder folder;
    plait_error err;

    must(plait_plan_expand(&q->problem, d, arena, &plan, &err), &err);
    must(plait_plan_evaluate(&q->problem, &plan, NULL, arena, &cost, &err), &err);
    const plait_launch launch = {.problem = &q->problem, .plan = &plan, .cost = &cost};
    // a target may express fewer plans than the rules of its runtime allow
    const launch_target *const target = launch_target_at(subject->target);
    if (target->unsupported != NULL && target->unsupported(&q->problem, &plan) != NULL)
        return false;
    if (plait_launch_render(&launch, subject->target, arena, &folder, &err) != PLAIT_OK)
        fail_msg("%s\n%s", spelled(q, d), err.message);
    const char *const text = file_named(&folder, subject->file);
    const char *const args = megatron_arguments(subject, text, arena);
    if (args != NULL)
        check_arguments(q, d, args);
    if (subject->target != PLAIT_LAUNCH_COMPANION)
        check_nodes(q, &folder);
    // the reader of Megatron-LM also reads the overrides of Megatron-Bridge
    const plait_launch_target reader =
        subject->target == PLAIT_LAUNCH_MEGATRON_BRIDGE ? PLAIT_LAUNCH_MEGATRON : subject->target;
    if (launch_target_at(reader)->import == NULL)
        return true;
    const char *const difference = read_back_difference(&launch, reader, text, arena);
    if (difference != NULL)
        fail_msg("%s\nreads back with a difference: %s\n%s", spelled(q, d), difference, text);
    return true;
}

/* Plans of a random question; none when its limits leave none, or none that fits. */
static int check_draw(const launch_subject *subject, plait_arena *arena)
{
    question *const q = plait_arena_alloc(arena, 1, sizeof *q);
    plait_search_result result;
    plait_error err;
    int launches = 0;

    assert_non_null(q);
    draw(subject, q, arena);
    const plait_status status = plait_search(&q->problem, &q->options, arena, &result, &err);
    if (status == PLAIT_ERROR_RANGE)
        return 0;
    must(status, &err);
    for (int i = 0; i < result.plans; i++)
        launches += check_launch(subject, q, &result.plan[i].plan.degrees, arena);
    return launches;
}

static void check_subject(const launch_subject *subject)
{
    const int wanted = FEW_DRAWS ? subject->wanted / 12 : subject->wanted;
    int draws = 0, with_plans = 0, launches = 0;

    while (with_plans < wanted && draws < DRAWS_EACH * wanted) {
        plait_arena *const arena = plait_arena_new();
        assert_non_null(arena);
        const int plans = check_draw(subject, arena);
        plait_arena_free(arena);
        draws++;
        with_plans += plans > 0;
        launches += plans;
    }
    print_message("%s: %d questions, %d with plans, %d launches\n",
                  plait_launch_target_name[subject->target], draws, with_plans, launches);
    assert_true(with_plans >= wanted);
}

static void test_launches__of_what_a_search_finds_break_no_rule(void **state)
{
    (void)state;
    assert_true(models >= 20);
    check_subject(&(launch_subject){
        .target = PLAIT_LAUNCH_MEGATRON, .file = "args.sh", .wanted = 300, .limits = draw_limits});
    for (int w = 0; w < EXPECTED && !FEW_DRAWS; w++)
        if (!seen[w])
            fail_msg("no launch has %s", expected[w]);
}

/* Corners of what Galvatron's lists say. */
static const char *galvatron_limits(const plait_model *model, plait_arena *arena)
{
    static const char *const galvatron_corners[] = {
        "tp=..8,mbs=..2",
        "pp=2..8,mbs=1",
        "pp=2..8,schedule=gpipe,split=spread,mbs=1",
        "pp=2..8,split=both,mbs=1",
        "cp=2..4,cp_comm=p2p,mbs=1",
        "cp=2..4,cp_comm=a2a,tp=1,mbs=1",
        "zero=3,grad_sync=shifted,scatter=step,mbs=1",
        "zero=2,grad_sync=bucketed,mbs=..2",
        "zero=0,mbs=1",
        "recompute=full,mbs=..2",
        "recompute=full:3,pp=2..4,mbs=1",
        "ep=2..8,mbs=1",
        "grad_reduce=fp32,mbs=1",
        "sp=0,tp=2..4,mbs=1",
    };

    if (once_in(10))
        return uneven_ends(model, arena);
    return once_in(8) && model->layers > 12
               ? plait_arena_printf(arena, "pp=4,mbs=1,split=layout:Et*2|t*5|t|t*%dL",
                                    model->layers - 8)
               : ANY_OF(galvatron_corners);
}

/* Corners of DeepSpeed's pipeline engine, whose chunks are stages. */
static const char *deepspeed_limits(const plait_model *model, plait_arena *arena)
{
    static const char *const deepspeed_corners[] = {
        "pp=2..8,split=even,mbs=1",
        "pp=2..8,split=both,mbs=1",
        "pp=2..8,split=spread,mbs=1",
        "recompute=full,pp=2..4,mbs=..2",
        "grad_reduce=bf16,mbs=1",
        "zero=0,grad_reduce=fp16,mbs=1",
        "tp=2..8,mbs=..2",
        "pp=1,tp=..8",
    };
    const int uneven = model->layers / 4;

    return once_in(3) && uneven > 1
               ? plait_arena_printf(arena, "pp=4,mbs=1,split=layout:Et*%d|t*%d|t*%d|t*%dL",
                                    uneven - 1, uneven + 1, uneven, model->layers - 3 * uneven)
               : ANY_OF(deepspeed_corners);
}

/* Corners of MaxText's mesh. */
static const char *maxtext_limits(const plait_model *model, plait_arena *arena)
{
    static const char *const maxtext_corners[] = {
        "tp=..8,mbs=..2",          "pp=2..8,schedule=gpipe,mbs=1",
        "cp=2..4,mbs=1",           "zero=1,mbs=..2",
        "zero=3,cp=1..2,mbs=1",    "recompute=selective,mbs=1",
        "ep=2..8,mbs=1",           "ep=2..4,tp=2..4,mbs=1",
        "attention=unfused,mbs=1", "pp=2..4,schedule=gpipe,order=tp-cp-pp-dp,mbs=1",
    };

    (void)model;
    (void)arena;
    return ANY_OF(maxtext_corners);
}

static void test_launches__of_other_targets(void **state)
{
    static const launch_subject subjects[] = {
        {PLAIT_LAUNCH_MEGATRON_BRIDGE, NULL, "overrides.sh", 150, draw_limits},
        {PLAIT_LAUNCH_FLAGSCALE, "flagscale", "plan.yaml", 60, draw_limits},
        {PLAIT_LAUNCH_GALVATRON, "galvatron", "strategy.json", 60, galvatron_limits},
        {PLAIT_LAUNCH_MINDSPEED, "mindspeed", "args.sh", 60, draw_limits},
        {PLAIT_LAUNCH_MAXTEXT, "maxtext", "config.yml", 60, maxtext_limits},
        {PLAIT_LAUNCH_DEEPSPEED_PIPELINE, "megatron-deepspeed", "args.sh", 60, deepspeed_limits},
        {PLAIT_LAUNCH_COMPANION, "companion", "launch.json", 6, layout},
    };

    (void)state;
    for (size_t s = 0; s < sizeof subjects / sizeof *subjects; s++)
        check_subject(&subjects[s]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launches__of_what_a_search_finds_break_no_rule),
        cmocka_unit_test(test_launches__of_other_targets),
    };

    return cmocka_run_group_tests(tests, find_models, forget_models);
}
