/* test_support.c - measured runs of techniques: their counts, prices and searches (C.345) */
#include <stdio.h>
#include <string.h>

#include "costmodel/api.h"
#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "support/must.h"
#include "support/world.h"
#include "plait/cost.h"
#include "plait/validate.h"
#include "search/nested.h"

/* Kinds of measured jobs: experts on Hopper in nodes of 8, and those that differ in one property. */
typedef enum measured_kind { ALIKE, DENSE, OLDER, IN_RACKS } measured_kind;

/* A measured step of Megatron on 64 GPUs. */
typedef struct measured {
    const char *source;
    const char *job;
    const char *plan;
    measured_kind kind;
} measured;

static plait_evidence evidence_of(const measured *row, size_t count)
{
    const char *text = "of,source,sweep,runtime,rules,narrowest,gpus,experts,calibrated,left_out,"
                       "shipped,rack,job,plan\n";
    plait_evidence evidence;
    plait_error err;

    for (size_t i = 0; i < count; i++)
        text = plait_arena_printf(arena, "%sstep,%s,,megatron,megatron,%s,64,%d,1,1,1,%d,%s,%s\n",
                                  text, row[i].source, row[i].kind == OLDER ? "bf16" : "fp8",
                                  row[i].kind != DENSE, row[i].kind == IN_RACKS, row[i].job,
                                  row[i].plan);
    must(plait_evidence_parse(text, strlen(text), "evidence.csv", arena, &evidence, &err), &err);
    return evidence;
}

#define EVIDENCE(...)                                                                              \
    evidence_of((const measured[]){__VA_ARGS__},                                                   \
                sizeof((const measured[]){__VA_ARGS__}) / sizeof(measured))

static const plait_regime moe_on_hopper = {.runtime = "megatron",
                                           .rules = PLAIT_RULES_MEGATRON,
                                           .narrowest = PLAIT_NARROWEST_FP8,
                                           .gpus = 64,
                                           .experts = true,
                                           .calibrated = true};

// ---- counts --------------------------------------------------------------------------------

static void assert_counts(const plait_evidence *evidence, plait_key_id key, int value,
                          const char *without, int rows, int sources, int jobs)
{
    const plait_value_evidence found =
        plait_evidence_of_value(evidence, &moe_on_hopper, key, value, without);

    assert_int_equal(found.rows, rows);
    assert_int_equal(found.sources, sources);
    assert_int_equal(found.jobs, jobs);
}

/* Three of six rows with DeepEP are experts on Hopper in nodes of 8: two sources, two jobs. */
static void test_counts__are_of_rows_of_the_same_kind(void **state)
{
    const plait_evidence evidence =
        EVIDENCE({"a", "m1/h100/bf16", "dispatcher=deepep", ALIKE},
                 {"a", "m1/h100/bf16", "dispatcher=deepep schedule=1f1b", ALIKE},
                 {"b", "m2/h100/bf16", "schedule=1f1b dispatcher=deepep", ALIKE},
                 {"c", "m3/h100/bf16", "dispatcher=alltoall", ALIKE},
                 {"d", "m4/h100/bf16", "dispatcher=deepep", DENSE},
                 {"e", "m5/a100/bf16", "dispatcher=deepep", OLDER},
                 {"f", "m6/gb200/bf16", "dispatcher=deepep", IN_RACKS});

    (void)state;
    assert_counts(&evidence, PLAIT_KEY_DISPATCHER, PLAIT_DISPATCH_DEEPEP, NULL, 3, 2, 2);
    assert_counts(&evidence, PLAIT_KEY_DISPATCHER, PLAIT_DISPATCH_DEEPEP, "b", 2, 1, 1);
    assert_counts(&evidence, PLAIT_KEY_DISPATCHER, PLAIT_DISPATCH_HYBRIDEP, NULL, 0, 0, 0);
}

static void test_counts__are_of_whole_values(void **state)
{
    const plait_evidence evidence =
        EVIDENCE({"a", "m1/h100/bf16", "dispatcher=deepep-fp8 ep_overlap=pairs", ALIKE},
                 {"b", "m2/h100/bf16", "ep_overlap=pairs-delayed-wgrad", ALIKE});

    (void)state;
    assert_counts(&evidence, PLAIT_KEY_DISPATCHER, PLAIT_DISPATCH_DEEPEP, NULL, 0, 0, 0);
    assert_counts(&evidence, PLAIT_KEY_DISPATCHER, PLAIT_DISPATCH_DEEPEP_FP8, NULL, 1, 1, 1);
    assert_counts(&evidence, PLAIT_KEY_EP_OVERLAP, PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD, NULL, 1, 1,
                  1);
}

static void test_counts__of_pairs_contain_delayed_weight_gradients(void **state)
{
    const plait_evidence evidence =
        EVIDENCE({"a", "m1/h100/bf16", "ep_overlap=pairs", ALIKE},
                 {"b", "m2/h100/bf16", "ep_overlap=pairs-delayed-wgrad", ALIKE},
                 {"c", "m3/h100/bf16", "ep_overlap=none", ALIKE});

    (void)state;
    assert_counts(&evidence, PLAIT_KEY_EP_OVERLAP, PLAIT_EP_OVERLAP_PAIRS, NULL, 2, 2, 2);
}

/* The price of a schedule follows from other terms. */
static void test_counts__of_schedules_are_of_all_rows(void **state)
{
    const plait_evidence evidence =
        EVIDENCE({"a", "m1/a100/bf16", "schedule=interleaved", DENSE},
                 {"b", "m2/gb200/mxfp8", "schedule=interleaved", IN_RACKS});

    (void)state;
    assert_counts(&evidence, PLAIT_KEY_SCHEDULE, PLAIT_INTERLEAVED, NULL, 2, 2, 2);
}

// ---- support -------------------------------------------------------------------------------

static void load(world *w, const char *model, const char *cluster, int gpus,
                 plait_precision precision)
{
    world_make(w, model, "megatron", cluster,
               (plait_job){.seq = 4096, .gbs = 64, .gpus = gpus, .precision = precision}, arena);
}

static plait_support support_of(const plait_problem *problem, plait_evidence evidence)
{
    plait_support support;

    plait_evidence_support(&evidence, problem, NULL, &support);
    return support;
}

/* u(1) = n0 / (1 + n0) and u(2) = n0 / (2 + n0). */
static void test_unearned_shares__shrink_with_jobs(void **state)
{
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-h100", 16, PLAIT_BF16);
    const plait_support one =
        support_of(&w.problem, EVIDENCE({"a", "m1/h100/bf16", "dispatcher=deepep", ALIKE}));
    const plait_support two =
        support_of(&w.problem, EVIDENCE({"a", "m1/h100/bf16", "dispatcher=deepep", ALIKE},
                                        {"a", "m2/h100/bf16", "dispatcher=deepep", ALIKE},
                                        {"b", "m2/h100/bf16", "dispatcher=deepep", ALIKE}));
    const double of_one = one.unearned[PLAIT_KEY_DISPATCHER][PLAIT_DISPATCH_DEEPEP];
    const double half_at = of_one / (1.0 - of_one);

    assert_true(one.judged);
    assert_true(half_at > 0.0);
    assert_near_relative(two.unearned[PLAIT_KEY_DISPATCHER][PLAIT_DISPATCH_DEEPEP],
                         half_at / (2.0 + half_at), 1e-12);
    assert_near(one.unearned[PLAIT_KEY_DISPATCHER][PLAIT_DISPATCH_HYBRIDEP], 1.0, 0.0);
    assert_true(one.unmeasured[PLAIT_KEY_DISPATCHER] >> PLAIT_DISPATCH_HYBRIDEP & 1u);
    assert_false(one.unmeasured[PLAIT_KEY_DISPATCHER] >> PLAIT_DISPATCH_DEEPEP & 1u);
}

/* One row of something else: all techniques are unmeasured, but no default. */
static void test_defaults__are_never_unmeasured(void **state)
{
    const plait_degrees one = plait_degrees_init();
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-b200", 16, PLAIT_MXFP8);
    const plait_support support = support_of(&w.problem, EVIDENCE({"a", "m/h100/bf16", "", OLDER}));

    assert_true(support.judged);
    assert_true(support.unmeasured[PLAIT_KEY_CUDA_GRAPH] >> PLAIT_GRAPH_LAYERS & 1u);
    for (int k = 0; k < PLAIT_KEYS; k++) {
        const int usual[] = {plait_keys[k].absent_value, w.runtime.defaults.key[k],
                             plait_key_default(&w.problem, &one, (plait_key_id)k)};

        if (!plait_evidence_judges((plait_key_id)k))
            assert_int_equal(support.unmeasured[k], 0);
        for (int i = 0; plait_evidence_judges((plait_key_id)k) && i < 3; i++) {
            if (usual[i] < 0 || usual[i] >= PLAIT_SUPPORT_VALUES)
                continue; // the profile states none, or it is not one of the list
            assert_false(support.unmeasured[k] >> usual[i] & 1u);
            assert_near(support.unearned[k][usual[i]], 0.0, 0.0);
        }
    }
}

static void assert_unjudged(const plait_support *support)
{
    assert_false(support->judged);
    for (int k = 0; k < PLAIT_KEYS; k++) {
        assert_int_equal(support->unmeasured[k], 0);
        for (int value = 0; value < PLAIT_SUPPORT_VALUES; value++)
            assert_near(support->unearned[k][value], 0.0, 0.0);
    }
}

static void test_support__of_uncalibrated_software_is_all_0(void **state)
{
    plait_support support;
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-h100", 16, PLAIT_BF16);
    support = support_of(&w.problem, (plait_evidence){0});
    assert_unjudged(&support);
    w.runtime.calibrated = false;
    support = support_of(&w.problem, EVIDENCE({"a", "m/h100/bf16", "dispatcher=deepep", ALIKE}));
    assert_unjudged(&support);
}

/* "tp=2 pp=4" with dp, shards and other keys as the software has them. */
static plait_degrees point(const world *w, const char *keys)
{
    plait_degrees d = plait_degrees_init();
    plait_key_set given = 0;
    plait_error err;

    while (*keys) {
        char key[24], value[64];
        int length = 0;

        assert_int_equal(sscanf(keys, " %23[^=]=%63s%n", key, value, &length), 2);
        must(plait_degrees_set(&d, key, value, &err), &err);
        for (int k = 0; k < PLAIT_KEYS; k++)
            if (strcmp(plait_keys[k].name, key) == 0)
                given |= PLAIT_KEY_BIT(k);
        keys += length;
    }
    plait_degrees_fill(&w->problem, given, &d);
    return d;
}

static void test_words__are_those_of_techniques_that_apply(void **state)
{
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-h100", 16, PLAIT_BF16);
    const plait_degrees experts = point(&w, "ep=8 dispatcher=deepep cuda_graph=layers");
    const plait_degrees pipeline = point(&w, "pp=2 schedule=1f1b");
    const char *const words = plait_evidence_words(&w.problem, &experts, arena);
    const char *const others = plait_evidence_words(&w.problem, &pipeline, arena);

    assert_non_null(strstr(words, "dispatcher=deepep"));
    assert_non_null(strstr(words, "cuda_graph=layers"));
    assert_null(strstr(words, "cp_comm"));
    assert_null(strstr(words, "ep=8"));
    assert_null(strstr(others, "dispatcher"));
    assert_non_null(strstr(others, "schedule=1f1b"));

    // Evidence with the words of a plan counts for its techniques.
    const plait_evidence evidence = EVIDENCE({"a", "m/h100/bf16", words, ALIKE});
    assert_counts(&evidence, PLAIT_KEY_CUDA_GRAPH, PLAIT_GRAPH_LAYERS, NULL, 1, 1, 1);
    assert_counts(&evidence, PLAIT_KEY_DISPATCHER, PLAIT_DISPATCH_DEEPEP, NULL, 1, 1, 1);
}

// ---- prices --------------------------------------------------------------------------------

static plait_cost price(const world *w, const char *keys)
{
    const plait_degrees d = point(w, keys);
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    must(plait_plan_expand(&w->problem, &d, arena, &plan, &err), &err);
    must(plait_plan_evaluate(&w->problem, &plan, NULL, arena, &cost, &err), &err);
    if (cost.verdict == PLAIT_INVALID)
        fail_msg("%s: %s", keys, cost.why);
    return cost;
}

static double step_of(const world *w, const char *keys)
{
    return price(w, keys).step_s;
}

/* Both steps as priced, and the step with the technique if runs support none or half of its gain. */
static void assert_earned(world *w, const char *without, const char *with, plait_key_id key,
                          int value)
{
    const double off = step_of(w, without), on = step_of(w, with);
    double *const unearned = &w->runtime.support.unearned[key][value];

    if (!(on < 0.999 * off))
        fail_msg("%s takes %g s, %s %g s", with, on, without, off);
    *unearned = 1.0;
    assert_near_relative(step_of(w, with), off, 1e-9);
    *unearned = 0.5;
    const double half = step_of(w, with);
    if (!(half > on && half < off))
        fail_msg("%s takes %g s, with half of its gain %g s, %s %g s", with, on, half, without,
                 off);
    *unearned = 0.0;
    assert_near_relative(step_of(w, with), on, 1e-12);
}

static void test_unsupported_dispatchers__cost_as_all_to_alls(void **state)
{
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-h100", 64, PLAIT_BF16);
    assert_earned(&w, "ep=32 dispatcher=alltoall", "ep=32 dispatcher=deepep", PLAIT_KEY_DISPATCHER,
                  PLAIT_DISPATCH_DEEPEP);
}

/* C.91 subtracts the most that any supported way to overlap pairs saves. */
static void test_bounds__hold_if_only_some_pairs_are_supported(void **state)
{
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-h100", 16, PLAIT_BF16);
    w.runtime.support.unearned[PLAIT_KEY_EP_OVERLAP][PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD] = 1.0;
    const plait_degrees d = point(&w, "ep=16 mbs=1 recompute=none");
    plait_table *const table = plait_table_new(&w.problem, arena);
    assert_non_null(table);
    const double bound_s = plait_pipeline_bound(table, &d).step_s;
    assert_true(bound_s <= step_of(&w, "ep=16 mbs=1 recompute=none ep_overlap=pairs"));
}

static void test_unsupported_pairs__hide_nothing(void **state)
{
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-h100", 16, PLAIT_BF16);
    assert_earned(&w, "ep=16 mbs=1 recompute=none", "ep=16 mbs=1 recompute=none ep_overlap=pairs",
                  PLAIT_KEY_EP_OVERLAP, PLAIT_EP_OVERLAP_PAIRS);
}

static void test_unsupported_graphs__launch_every_kernel(void **state)
{
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-b200", 16, PLAIT_BF16);
    assert_earned(&w, "ep=8 mbs=1", "ep=8 mbs=1 cuda_graph=layers", PLAIT_KEY_CUDA_GRAPH,
                  PLAIT_GRAPH_LAYERS);
    load(&w, "llama-3.1-8b", "dgx-b200", 16, PLAIT_BF16);
    assert_earned(&w, "tp=4 mbs=1", "tp=4 mbs=1 cuda_graph=full_iteration", PLAIT_KEY_CUDA_GRAPH,
                  PLAIT_GRAPH_FULL);
}

static void test_unsupported_8_bit_attention__runs_in_16_bits(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "dgx-b200", 16, PLAIT_MXFP8);
    assert_earned(&w, "attention=fused mbs=1", "attention=fused mbs=1 fp8_attention=1",
                  PLAIT_KEY_FP8_ATTENTION, 1);
}

static void test_unsupported_fused_experts__are_separate_kernels(void **state)
{
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-b200", 16, PLAIT_MXFP8);
    assert_earned(&w, "ep=8 mbs=4", "ep=8 mbs=4 fused_grouped_mlp=1", PLAIT_KEY_FUSED_GROUPED_MLP,
                  1);
}

/* The default is the kernels of the runs that the profile is fitted to, and no table shows it. */
static void test_fused_permutation_and_router__are_the_default(void **state)
{
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-h100", 16, PLAIT_BF16);
    const double usual = step_of(&w, "ep=8 mbs=1");
    assert_near_relative(step_of(&w, "ep=8 mbs=1 permute_fusion=1 router_fusion=1"), usual, 1e-12);
    assert_true(step_of(&w, "ep=8 mbs=1 permute_fusion=0") > 1.005 * usual);
    assert_true(step_of(&w, "ep=8 mbs=1 router_fusion=0") > 1.001 * usual);
    const double sent = step_of(&w, "ep=8 mbs=1 dispatcher=hybridep");
    assert_near_relative(step_of(&w, "ep=8 mbs=1 dispatcher=hybridep permute_fusion=0"), sent,
                         1e-12);
    plait_degrees d = point(&w, "ep=8 mbs=1");
    assert_true(d.switches.permute_fusion && d.switches.router_fusion);
    assert_false(plait_key_applies(&w.problem, &d, PLAIT_KEY_PERMUTE_FUSION));
    d.switches.permute_fusion = false;
    assert_true(plait_key_applies(&w.problem, &d, PLAIT_KEY_PERMUTE_FUSION));
    load(&w, "llama-3.1-8b", "dgx-h100", 16, PLAIT_BF16);
    assert_false(point(&w, "tp=2").switches.permute_fusion);
}

/* Half of a gather, of the first of two chunks, overlaps with the optimizer step of the other. */
static void test_unsupported_gathers_in_the_step__hide_nothing(void **state)
{
    static const char off[] = "pp=2 vpp=2 mbs=1 zero=1 grad_sync=bucketed";
    static const char on[] = "pp=2 vpp=2 mbs=1 zero=1 grad_sync=bucketed gather_with_step=1";
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "dgx-h100", 16, PLAIT_BF16);
    w.problem.job.gbs = 16;
    assert_earned(&w, off, on, PLAIT_KEY_GATHER_WITH_STEP, 1);
    const plait_cost with = price(&w, on), without = price(&w, off);
    const double hidden_s = without.step.dp_comm_s - with.step.dp_comm_s;
    assert_true(hidden_s > 0.0);
    assert_true(hidden_s <= 0.5 * without.step.optimizer_s * (1.0 + 1e-12));
    assert_near_relative(without.step_s - with.step_s, hidden_s, 1e-9);
}

/* A latency for each bucket: 1e7 elements instead of 5e8 are 50 times as many. */
static void test_small_buckets__take_longer(void **state)
{
    world w;

    (void)state;
    world_make(&w, "llama-3.1-8b", "deepspeed", "dgx-h100",
               (plait_job){.seq = 4096, .gbs = 64, .gpus = 16}, arena);
    const double usual = step_of(&w, "zero=1 mbs=1");
    assert_near_relative(step_of(&w, "zero=1 mbs=1 bucket=default"), usual, 1e-12);
    assert_true(step_of(&w, "zero=1 mbs=1 bucket=5e7") > 1.01 * usual);
    assert_true(step_of(&w, "zero=1 mbs=1 bucket=1e9") < usual);
    assert_near_relative(step_of(&w, "zero=3 mbs=1 bucket=1e7"), step_of(&w, "zero=3 mbs=1"),
                         1e-12);
}

static void load_torchtitan(world *w, const char *cluster)
{
    world_make(w, "llama-3.1-8b", "torchtitan", cluster,
               (plait_job){.seq = 4096, .gbs = 64, .gpus = 16}, arena);
}

static void test_unsupported_asynchronous_tensors__hide_nothing(void **state)
{
    world w;

    (void)state;
    load_torchtitan(&w, "dgx-h100");
    assert_earned(&w, "tp=8 mbs=1", "tp=8 mbs=1 tp_comm_overlap=1", PLAIT_KEY_TP_COMM_OVERLAP, 1);
}

/*
 * Megatron's share is fitted to runs with the overlap, and nothing hides without it; torchtitan's is
 * fitted to runs without it, and it has a second share.
 */
static void test_overlap_of_tensors__hides_what_the_profile_states(void **state)
{
    static const char with[] = "tp=8 mbs=1 tp_comm_overlap=1", without[] = "tp=8 mbs=1";
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "dgx-h100", 16, PLAIT_BF16);
    const double share = w.runtime.overlap.tp_exposed;
    double tp_s[2];

    assert_true(share < 1.0);
    tp_s[0] = price(&w, without).step.tp_comm_s;
    tp_s[1] = price(&w, with).step.tp_comm_s;
    assert_near_relative(tp_s[1], share * tp_s[0], 0.01); // the loss has collectives of its own
    w.runtime.overlap.tp_exposed = 1.2;
    assert_near_relative(price(&w, without).step.tp_comm_s, 1.2 * tp_s[0], 0.01);
    assert_near_relative(price(&w, with).step.tp_comm_s, 1.2 * tp_s[0], 0.01);
    load_torchtitan(&w, "dgx-h100");
    const plait_overlaps *const of_torchtitan = &w.runtime.overlap;
    assert_near_relative(price(&w, with).step.tp_comm_s / price(&w, without).step.tp_comm_s,
                         of_torchtitan->tp_exposed_overlapped / of_torchtitan->tp_exposed, 0.01);
}

// ---- the nearest measured run and the plan to run ------------------------------------------

/* The traits of these rows are 0, so that every plan differs in tp, pp, vpp and mbs. */
static void test_nearest_run__has_the_fewest_different_keys(void **state)
{
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-h100", 16, PLAIT_BF16);
    const plait_degrees d = point(&w, "ep=8 dispatcher=deepep cuda_graph=layers");
    const char *const words = plait_evidence_words(&w.problem, &d, arena);
    const plait_evidence other_model =
        EVIDENCE({"a", "mixtral-8x7b/h100-80gb-sxm/bf16", "dispatcher=alltoall", ALIKE},
                 {"b", "mixtral-8x7b/h100-80gb-sxm/bf16", words, ALIKE},
                 {"c", "qwen3-30b-a3b/gb200-nvl72/bf16", words, IN_RACKS});
    const plait_evidence same_model =
        EVIDENCE({"a", "mixtral-8x7b/h100-80gb-sxm/bf16", words, ALIKE},
                 {"b", "qwen3-30b-a3b/h100-80gb-sxm/bf16", words, ALIKE},
                 {"c", "qwen3-30b-a3b-more/h100-80gb-sxm/bf16", words, ALIKE});
    const plait_nearest_run other = plait_evidence_nearest(&other_model, &w.problem, &d);
    const plait_nearest_run same = plait_evidence_nearest(&same_model, &w.problem, &d);

    assert_string_equal(other.row->source, "b");
    assert_false(other.same_model);
    assert_false(other.differs &
                 (PLAIT_KEY_BIT(PLAIT_KEY_DISPATCHER) | PLAIT_KEY_BIT(PLAIT_KEY_CUDA_GRAPH)));
    assert_string_equal(same.row->source, "b");
    assert_true(same.same_model);
}

static void test_nearest_run__is_of_the_same_software(void **state)
{
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-h100", 16, PLAIT_BF16);
    const plait_degrees d = point(&w, "ep=8");
    const plait_evidence evidence =
        EVIDENCE({"a", "qwen3-30b-a3b/h100-80gb-sxm/bf16", "dispatcher=alltoall", ALIKE});

    w.runtime.name = "another";
    assert_null(plait_evidence_nearest(&evidence, &w.problem, &d).row);
}

/* A plan with a layout is the fastest; of two others within 1 %, one offloads. */
static void test_recommended_plan__is_the_simplest_of_equals(void **state)
{
    plait_ranked plan[4] = {0};
    plait_search_result result = {.plans = 4, .plan = plan};
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "dgx-h100", 16, PLAIT_BF16);
    for (int i = 0; i < 4; i++) {
        plan[i].plan.degrees = point(&w, "tp=2 pp=2");
        plan[i].price.peak_bytes = 1e9;
    }
    plan[0].objective = 1.0;
    plan[0].plan.degrees.split = (plait_split){.kind = PLAIT_SPLIT_LAYOUT, .layout = "Et|tL"};
    plan[1].objective = 1.004;
    plan[1].plan.degrees.offload_acts = 1;
    plan[2].objective = 1.009;
    plan[3].objective = 1.02;
    plan[3].price.peak_bytes = 1.0;
    assert_int_equal(plait_search_recommended(&w.problem, &result), 2);
    plan[2].objective = 1.011;
    assert_int_equal(plait_search_recommended(&w.problem, &result), 1);
    plan[1].objective = 1.011;
    assert_int_equal(plait_search_recommended(&w.problem, &result), 0);
    result.plans = 0;
    assert_int_equal(plait_search_recommended(&w.problem, &result), -1);
}

// ---- searches ------------------------------------------------------------------------------

enum { MANY = 40 };

static plait_search_result refined(world *w, const char *limits, plait_refine refine)
{
    plait_search_result result;
    plait_error err;

    world_limit(w, limits);
    w->options.top = MANY;
    w->options.refine = refine;
    must(plait_search(&w->problem, &w->options, arena, &result, &err), &err);
    assert_true(result.plans > 0);
    return result;
}

static plait_search_result searched(world *w, const char *limits)
{
    return refined(w, limits, PLAIT_REFINE_NONE);
}

static void refuse_evidence(world *w, plait_key_id key, unsigned values)
{
    w->runtime.support.judged = true;
    w->runtime.support.unmeasured[key] = values;
}

/* The best plan is that of software without these dispatchers. */
static void test_a_search__leaves_unmeasured_techniques_out(void **state)
{
    const unsigned relayed = 1u << PLAIT_DISPATCH_DEEPEP | 1u << PLAIT_DISPATCH_DEEPEP_FP8 |
                             1u << PLAIT_DISPATCH_HYBRIDEP;
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-h100", 64, PLAIT_BF16);
    const plait_search_result all = searched(&w, "tp=1,pp=1,ep=32");
    assert_int_not_equal(all.plan[0].plan.degrees.dispatcher, PLAIT_DISPATCH_ALLTOALL);
    assert_false(all.unmeasured);

    refuse_evidence(&w, PLAIT_KEY_DISPATCHER, relayed);
    const plait_search_result supported = searched(&w, "tp=1,pp=1,ep=32");
    for (int i = 0; i < supported.plans; i++)
        assert_int_equal(supported.plan[i].plan.degrees.dispatcher, PLAIT_DISPATCH_ALLTOALL);
    assert_false(supported.unmeasured);

    w.runtime.support = (plait_support){.judged = false};
    w.runtime.can.takes[PLAIT_KEY_DISPATCHER] &= ~relayed;
    const plait_search_result unable = searched(&w, "tp=1,pp=1,ep=32");
    assert_near_relative(supported.plan[0].price.step_s, unable.plan[0].price.step_s, 1e-12);
}

/* Faster plans than the best supported one have techniques that no measured run supports. */
static void test_a_search__finds_no_unmeasured_plan_below_a_limit(void **state)
{
    plait_ranked best;
    plait_error err;
    world w;
    bool fits;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-h100", 64, PLAIT_BF16);
    const double any_s = searched(&w, "tp=1,pp=1,ep=32").plan[0].price.step_s;
    refuse_evidence(&w, PLAIT_KEY_DISPATCHER,
                    1u << PLAIT_DISPATCH_DEEPEP | 1u << PLAIT_DISPATCH_HYBRIDEP);
    const double supported_s = searched(&w, "tp=1,pp=1,ep=32").plan[0].price.step_s;
    assert_true(any_s < supported_s);

    must(search_best_plan_below(&w.problem, &w.options, SEARCH_RANKING, supported_s * 0.999, arena,
                                &fits, &best, &err),
         &err);
    assert_false(fits);
    must(search_best_plan_below(&w.problem, &w.options, SEARCH_RANKING, supported_s * 1.001, arena,
                                &fits, &best, &err),
         &err);
    assert_true(fits);
    assert_near(best.price.step_s, supported_s, 0.0);
}

static void test_a_search__takes_what_a_limit_names(void **state)
{
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-h100", 64, PLAIT_BF16);
    refuse_evidence(&w, PLAIT_KEY_DISPATCHER,
                    1u << PLAIT_DISPATCH_DEEPEP | 1u << PLAIT_DISPATCH_HYBRIDEP);
    refuse_evidence(&w, PLAIT_KEY_CUDA_GRAPH, 1u << PLAIT_GRAPH_LAYERS | 1u << PLAIT_GRAPH_FULL);
    const plait_search_result found = searched(&w, "tp=1,pp=1,ep=32,dispatcher=deepep");

    assert_false(found.unmeasured);
    for (int i = 0; i < found.plans; i++) {
        assert_int_equal(found.plan[i].plan.degrees.dispatcher, PLAIT_DISPATCH_DEEPEP);
        assert_int_equal(found.plan[i].plan.degrees.switches.cuda_graph, PLAIT_GRAPH_NONE);
    }
}

/* Two chunks per rank need a schedule that interleaves them: no other plan is legal. */
static void test_a_search__uses_unmeasured_techniques_rather_than_none(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "dgx-h100", 16, PLAIT_BF16);
    refuse_evidence(&w, PLAIT_KEY_SCHEDULE, 1u << PLAIT_INTERLEAVED);
    assert_true(searched(&w, "pp=2,vpp=2").unmeasured);
    assert_false(searched(&w, "pp=2").unmeasured);
}

/* 126 layers leave 4 of 130 chunks empty: no other plan is legal. */
static void test_a_search__leaves_no_chunk_empty_rather_than_none(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-405b", "dgx-h100", 416, PLAIT_BF16);
    w.problem.job.gbs = 416;
    const plait_search_result free = refined(&w, "tp=8,pp=13,vpp=10,cp=1", PLAIT_REFINE_LAYOUTS);

    assert_false(free.unmeasured);
    w.runtime.support.judged = true;
    const plait_search_result judged = refined(&w, "tp=8,pp=13,vpp=10,cp=1", PLAIT_REFINE_LAYOUTS);

    assert_true(judged.unmeasured);
    assert_near(judged.plan[0].price.step_s, free.plan[0].price.step_s, 0.0);
}

/* The one layout without empty chunks is E|(t|)*61m|L, which seeds reach by shifting items. */
static void test_a_search__finds_layouts_that_fill_all_chunks(void **state)
{
    world w;

    (void)state;
    load(&w, "deepseek-v3", "dgx-h100", 1024, PLAIT_BF16);
    w.problem.job.gbs = 1024;
    w.runtime.support.judged = true;
    const plait_search_result found =
        refined(&w, "tp=2,pp=16,vpp=4,ep=32,cp=1", PLAIT_REFINE_LAYOUTS);

    assert_false(found.unmeasured);
    assert_string_equal(found.plan[0].plan.degrees.split.layout, "E|(t|)*61m|L");
}

static double peak_of(const world *w, const char *keys)
{
    const plait_degrees d = point(w, keys);
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    must(plait_plan_expand(&w->problem, &d, arena, &plan, &err), &err);
    must(plait_plan_evaluate(&w->problem, &plan, NULL, arena, &cost, &err), &err);
    return cost.memory.peak_bytes;
}

/* Memory for the plan with offloaded activations only: half way between both peaks. */
static void test_a_search__offloads_unmeasured_rather_than_not_fit(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "dgx-h100", 32, PLAIT_BF16);
    const double kept = peak_of(&w, "mbs=1 recompute=none");
    const double offloaded = peak_of(&w, "mbs=1 recompute=none offload_acts=core_attn+attn_proj");

    assert_true(offloaded < 0.97 * kept);
    for (int i = 0; i < 3; i++)
        w.gpu.memory_bytes +=
            0.5 * (kept + offloaded) - plait_capacity_bytes(&w.problem, w.problem.risk);
    refuse_evidence(&w, PLAIT_KEY_OFFLOAD_ACTS, w.runtime.can.takes[PLAIT_KEY_OFFLOAD_ACTS] & ~1u);
    const plait_search_result found = searched(&w, "tp=1,pp=1,cp=1,mbs=1,recompute=none");

    assert_true(found.unmeasured);
    assert_true(found.plan[0].plan.degrees.offload_acts > 0);
}

// ---- techniques without measured runs ------------------------------------------------------

static plait_by_model by_model(const world *w, const plait_search_result *found)
{
    plait_by_model out;
    plait_error err;

    must(plait_search_by_model(&w->problem, &w->options, &found->plan[0], arena, &out, &err), &err);
    return out;
}

/* Only the claims of unmeasured values count in full. */
static void test_the_model_alone__claims_unmeasured_techniques(void **state)
{
    const unsigned relayed = 1u << PLAIT_DISPATCH_DEEPEP | 1u << PLAIT_DISPATCH_HYBRIDEP;
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-h100", 64, PLAIT_BF16);
    refuse_evidence(&w, PLAIT_KEY_DISPATCHER, relayed);
    w.runtime.support.unearned[PLAIT_KEY_DISPATCHER][PLAIT_DISPATCH_DEEPEP] = 1.0;
    w.runtime.support.unearned[PLAIT_KEY_DISPATCHER][PLAIT_DISPATCH_HYBRIDEP] = 1.0;
    const plait_search_result found = searched(&w, "tp=1,pp=1,ep=32,ep_overlap=none");
    const plait_by_model alone = by_model(&w, &found);

    assert_true(alone.step_s < 0.99 * found.plan[0].price.step_s);
    assert_int_equal(alone.changed, PLAIT_KEY_BIT(PLAIT_KEY_DISPATCHER));
    assert_true(relayed >> alone.degrees.dispatcher & 1u);

    const plait_search_result limited =
        searched(&w, "tp=1,pp=1,ep=32,ep_overlap=none,dispatcher=alltoall");
    assert_int_equal(by_model(&w, &limited).changed, 0);
}

static void test_the_model_alone__changes_nothing_without_evidence(void **state)
{
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "dgx-h100", 64, PLAIT_BF16);
    const plait_search_result found = searched(&w, "tp=1,pp=1,ep=32,dispatcher=alltoall");
    w.options.limits = 0;
    const plait_by_model alone = by_model(&w, &found);

    assert_int_equal(alone.changed, 0);
    assert_near(alone.step_s, found.plan[0].price.step_s, 0.0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_counts__are_of_rows_of_the_same_kind),
        TEST(test_counts__are_of_whole_values),
        TEST(test_counts__of_pairs_contain_delayed_weight_gradients),
        TEST(test_counts__of_schedules_are_of_all_rows),
        TEST(test_unearned_shares__shrink_with_jobs),
        TEST(test_defaults__are_never_unmeasured),
        TEST(test_support__of_uncalibrated_software_is_all_0),
        TEST(test_words__are_those_of_techniques_that_apply),
        TEST(test_unsupported_dispatchers__cost_as_all_to_alls),
        TEST(test_bounds__hold_if_only_some_pairs_are_supported),
        TEST(test_unsupported_pairs__hide_nothing),
        TEST(test_unsupported_graphs__launch_every_kernel),
        TEST(test_unsupported_8_bit_attention__runs_in_16_bits),
        TEST(test_unsupported_fused_experts__are_separate_kernels),
        TEST(test_fused_permutation_and_router__are_the_default),
        TEST(test_unsupported_gathers_in_the_step__hide_nothing),
        TEST(test_small_buckets__take_longer),
        TEST(test_unsupported_asynchronous_tensors__hide_nothing),
        TEST(test_overlap_of_tensors__hides_what_the_profile_states),
        TEST(test_a_search__leaves_no_chunk_empty_rather_than_none),
        TEST(test_a_search__finds_layouts_that_fill_all_chunks),
        TEST(test_the_model_alone__claims_unmeasured_techniques),
        TEST(test_the_model_alone__changes_nothing_without_evidence),
        TEST(test_nearest_run__has_the_fewest_different_keys),
        TEST(test_nearest_run__is_of_the_same_software),
        TEST(test_recommended_plan__is_the_simplest_of_equals),
        TEST(test_a_search__leaves_unmeasured_techniques_out),
        TEST(test_a_search__finds_no_unmeasured_plan_below_a_limit),
        TEST(test_a_search__takes_what_a_limit_names),
        TEST(test_a_search__uses_unmeasured_techniques_rather_than_none),
        TEST(test_a_search__offloads_unmeasured_rather_than_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
