/*
 * test_megatron_arguments.c - one table writes Megatron-LM's arguments and reads them
 *
 * Each row is given a value that is not its default, written, and read back: as a script has it,
 * in its two forms, and as parsed arguments have it. And each row is of use: some launch says it, or
 * it changes what some script is read as.
 */
#include <stddef.h>
#include <string.h>

#include "support/arena_fixture.h"
#include "launch/megatron/arguments.h"
#include "launch/import.h"
#include "launch/megatron/megatron.h"
#include "support/must.h"
#include "plait/data.h"
#include "io/plans/plans_json.h"

/* ---- values ---- */

/* What no argument has as its default, and no bounds leave out. */
static const char *other_value(const argument_row *row)
{
    switch (row->kind) {
    case ARGUMENT_SWITCH:
        return strcmp(row->absent, "true") == 0 ? "false" : "true";
    case ARGUMENT_INT:
        return "3";
    case ARGUMENT_NUMBER:
        return "0.375";
    case ARGUMENT_WHOLE:
        return "3000000";
    case ARGUMENT_WORD:
        return "it's \"gpt2\"";
    case ARGUMENT_WORDS:
        return "moe_act layernorm";
    case ARGUMENT_LIST:
        return "([0]*3+[1])*2";
    }
    return NULL;
}

static megatron_args with_other(const argument_row *row)
{
    megatron_args args;

    megatron_args_init(&args);
    assert_true(megatron_argument_set(row, other_value(row), &args));
    return args;
}

static void assert_same(const megatron_args *a, const megatron_args *b, const char *text)
{
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++)
        if (!megatron_argument_same(row, a, b))
            fail_msg("%s is another after reading %s", row->name, text);
}

static megatron_args read(const char *text)
{
    launch_flags flags;
    megatron_args args;
    plait_error err;

    must(flags_read(text, strlen(text), "args.sh", NULL, arena, &flags, &err), &err);
    megatron_args_init(&args);
    must(megatron_args_parse(&flags, &args, &err), &err);
    return args;
}

/* Lines of a flag and its value, with `between` between the two. */
static const char *written(const megatron_args *args, char between)
{
    launch_args list;
    text_builder text;

    args_init(&list, arena);
    list.between = between;
    megatron_args_append(args, &list);
    text_builder_init(&text, arena);
    args_append_shell(&list, &text);
    return text_builder_finish(&text, NULL);
}

static const char *as_json(const argument_row *row)
{
    const char *const value = other_value(row);
    const bool bare = row->kind < ARGUMENT_WORD;

    if (row->kind == ARGUMENT_WORDS)
        return plait_arena_printf(arena, "{\"%s\": [\"moe_act\", \"layernorm\"]}", row->name);
    if (row->kind == ARGUMENT_WORD)
        return plait_arena_printf(arena, "{\"%s\": \"it's \\\"gpt2\\\"\"}", row->name);
    return plait_arena_printf(arena, bare ? "{\"%s\": %s}" : "{\"%s\": \"%s\"}", row->name, value);
}

/* ---- both ways ---- */

static void test_each_argument__survives_writing_and_reading(void **state)
{
    (void)state;
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++) {
        const megatron_args args = with_other(row);
        const char *const script = written(&args, ' ');
        const megatron_args back = read(script), parsed = read(as_json(row));

        assert_same(&args, &back, script);
        assert_same(&args, &parsed, as_json(row));
        if (row->kind != ARGUMENT_WORDS) { // of which a shell makes several words
            const megatron_args joined = read(written(&args, '='));
            assert_same(&args, &joined, written(&args, '='));
        }
    }
}

static void test_all_arguments_at_once__survive(void **state)
{
    megatron_args args, back;

    (void)state;
    megatron_args_init(&args);
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++)
        assert_true(megatron_argument_set(row, other_value(row), &args));
    back = read(written(&args, ' '));
    assert_same(&args, &back, "all of them");
}

static void test_other_names__are_the_same_argument(void **state)
{
    (void)state;
    assert_false(read("--disable-bias-linear").add_bias_linear);
    assert_false(read("{\"add_bias_linear\": false}").add_bias_linear);
    assert_true(read("{\"disable_bias_linear\": false}").add_bias_linear);
    assert_true(read("--use-custom-fsdp").use_megatron_fsdp);
    assert_near(read("{\"layernorm_epsilon\": 0.5}").norm_epsilon, 0.5, 0);
    assert_string_equal(read("--fp8-format e4m3").fp8, "e4m3");
    assert_int_equal(read("torchrun --nproc_per_node=4 x.py").gpus_per_node, 4);
}

/* A list of words ends at the next flag, and so does a script's flag at the program behind it. */
static void test_lists__are_one_text(void **state)
{
    (void)state;
    assert_string_equal(read("{\"moe_layer_freq\": [0, 1, 1]}").moe_layer_freq, "[0,1,1]");
    assert_string_equal(read("--moe-layer-freq 2 pretrain_gpt.py").moe_layer_freq, "2");
    assert_string_equal(read("--recompute-modules mlp moe --bf16").recompute_modules, "mlp moe");
}

static void test_values_that_cannot_be__are_refused_unless_no_plan_hangs_on_them(void **state)
{
    static const char text[] = "--kv-channels wide";
    launch_flags flags;
    megatron_args args;
    plait_error err;

    (void)state;
    must(flags_read(text, strlen(text), "args.sh", NULL, arena, &flags, &err), &err);
    megatron_args_init(&args);
    assert_int_equal(megatron_args_parse(&flags, &args, &err), PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "args.sh: kv_channels");
    assert_string_equal(err.message, "expected an integer from 1 to 16384, found \"wide\"");
    assert_int_equal(read("--train-iters many --eval-iters 5").eval_iters, 5);
}

/* ---- the table ---- */

static void test_names__are_distinct_and_found(void **state)
{
    (void)state;
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++) {
        assert_ptr_equal(megatron_argument(row->field), row);
        for (const argument_row *other = megatron_arguments; other < row; other++) {
            assert_string_not_equal(row->name, other->name);
            assert_true(row->flag == NULL || strcmp(row->flag, other->name) != 0);
            assert_true(other->flag == NULL || strcmp(row->name, other->flag) != 0);
        }
    }
}

static size_t size_of(const argument_row *row)
{
    return row->kind == ARGUMENT_SWITCH ? sizeof(bool)
           : row->kind == ARGUMENT_INT  ? sizeof(int)
           : row->kind < ARGUMENT_WORD  ? sizeof(double)
                                        : sizeof(const char *);
}

/* Inside a struct; on 32-bit x86 that of a double is less than its size. */
static size_t alignment_of(const argument_row *row)
{
    struct placed {
        char first;
        double number;
    };

    return size_of(row) == sizeof(double) && row->kind < ARGUMENT_WORD
               ? offsetof(struct placed, number)
               : size_of(row);
}

/* Each field begins where the one of the row before ends, but for its alignment. */
static void test_every_field__has_a_row_in_the_same_order(void **state)
{
    size_t at = 0;

    (void)state;
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++) {
        const size_t align = alignment_of(row);

        at = (at + align - 1) / align * align;
        if (row->field != at)
            fail_msg("before %s stands a field without a row, or another order", row->name);
        at += size_of(row);
    }
    assert_true(offsetof(megatron_args, core) - at < sizeof(int));
}

static void test_defaults__are_within_bounds(void **state)
{
    const megatron_args args = read("");

    (void)state;
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++) {
        megatron_args same = args;

        assert_true(row->absent == NULL || megatron_argument_set(row, row->absent, &same));
        assert_true(megatron_argument_same(row, &args, &same));
    }
    assert_int_equal(args.num_layers, 0);
    assert_int_equal(args.kv_lora_rank, 32);
    assert_near(args.hidden_dropout, 0.1, 0);
    assert_true(args.add_bias_linear);
    assert_null(args.fp8);
}

/* ---- what is said ---- */

static bool says(const megatron_args *args, const char *line)
{
    return strstr(written(args, ' '), line) != NULL;
}

static void test_defaults__are_said_where_they_matter(void **state)
{
    megatron_args args = read("");

    (void)state;
    assert_true(says(&args, "\n--normalization LayerNorm\n"));
    assert_false(says(&args, "--kv-lora-rank"));
    assert_false(says(&args, "--softmax-type"));
    args.multi_latent_attention = true;
    assert_true(says(&args, "\n--kv-lora-rank 32\n"));
    args.norm_epsilon = (double)NAN;
    assert_false(says(&args, "--norm-epsilon"));
}

static void test_groups__without_arguments_have_no_title(void **state)
{
    const megatron_args args = read("--num-experts 4"), dense = read("");

    (void)state;
    assert_true(says(&args, "\n# experts\n--num-experts 4\n"));
    assert_false(says(&dense, "# experts"));
    assert_false(says(&dense, "# not priced"));
}

/* Linear attention came with 0.16.0, the versions of flash attention with 0.19.0. */
static void test_release__is_the_newest_that_a_flag_needs(void **state)
{
    megatron_args args = read("");

    (void)state;
    assert_int_equal(megatron_args_since(&args), 8); // --rotary-base, said always
    args.linear_attention_freq = "2";
    assert_int_equal(megatron_args_since(&args), 16);
    args.flash_attention_version = 3;
    assert_int_equal(megatron_args_since(&args), 19);
}

/* ---- no row without use ---- */

enum { MOST_ROWS = 256 };

static bool used[MOST_ROWS];

static plait_degrees degrees_of(const char *words)
{
    char *const copy = plait_arena_text(arena, words);
    plait_degrees d = plait_degrees_init();
    plait_error err;

    for (char *key = copy, *next; key != NULL; key = next) {
        next = text_cut(key, ' ');
        const char *const value = text_cut(key, '=');
        must(plait_degrees_set(&d, key, value, &err), &err);
    }
    return d;
}

/* Its stages are dealt as evenly as can be, whatever split the arguments are to say. */
static plait_plan plan_of(const plait_problem *problem, const char *words)
{
    const plait_degrees d = degrees_of(words);
    plait_degrees spread = d;
    plait_plan plan;
    plait_error err;

    spread.split = (plait_split){.kind = PLAIT_SPLIT_SPREAD};
    must(plait_plan_expand(problem, &spread, arena, &plan, &err), &err);
    plan.degrees = d;
    return plan;
}

static void mark_said(const plait_problem *problem, const char *words, int kernel)
{
    plait_plan plan = plan_of(problem, words);
    megatron_args args;
    plait_error err;

    plan.degrees.attention = (unsigned char)kernel;
    must(megatron_args_of(problem, &plan, arena, &args, &err), &err);
    for (int r = 0; megatron_arguments[r].name != NULL; r++)
        used[r] = used[r] || megatron_args_is_written(&args, megatron_arguments[r].field);
}

/* A model in plans that between them have all that plans have. */
static void mark_launches(const plait_model *model, plait_runtime *runtime)
{
    static const char *const plans[] = {
        "tp=2 sp=1 tp_comm_overlap=1 pp=2 vpp=2 dp=4 shard_group=2 split=first-last:2,2 "
        "recompute=full:2",
        "cp=2 cp_comm=a2a ep=2 zero=3 split=both recompute=modules:mlp grad_sync=bucketed",
        "pp=2 vpp=2 zero=1 split=spread recompute=selective order=tp-cp-pp-dp grad_sync=bucketed",
        "pp=2 vpp=2 zero=1 grad_sync=bucketed gather_with_step=1",
        "pp=2 vpp=2 zero=2 split=even",
        "zero=1 grad_sync=bucketed grad_reduce=bf16 optimizer_state=bf16 fp8_params=1",
        "zero=1 grad_reduce=fp32 offload=optimizer offload_share=0.5",
        "ep=2 zero=1 dispatcher=hybridep ep_overlap=pairs-delayed-wgrad recompute=none",
        "zero=1 cp=4 cp_comm=a2a+p2p offload_acts=core_attn+attn_proj",
        "zero=1 cuda_graph=layers",
        "zero=1 ep=2 dispatcher=hybridep fused_grouped_mlp=1 cuda_graph=full_iteration "
        "offload_acts=core_attn",
    };
    static int drawn = 0;
    plait_cluster cluster;
    plait_error err;

    if (!plait_model_check(runtime, model, NULL, 0))
        return;
    must(plait_cluster_find("dgx-h100", arena, &cluster, &err), &err);
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++, drawn++) {
        plait_problem problem = {.model = model,
                                 .cluster = &cluster,
                                 .runtime = runtime,
                                 .job = {.seq = 4096, .gbs = 64, .gpus = 8}};

        problem.job.precision = (plait_precision)(drawn % PLAIT_PRECISIONS);
        mark_said(&problem, plans[p], drawn % PLAIT_ATTENTION_KERNELS);
    }
}

static void mark_shipped_models(plait_runtime *runtime)
{
    const char *const *names;
    plait_model model;
    plait_error err;
    size_t count;

    must(plait_data_list(PLAIT_DATA_MODELS, arena, &names, &count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        must(plait_model_find(names[i], arena, &model, NULL, &err), &err);
        mark_launches(&model, runtime);
    }
}

/* Older spellings of what plans have. */
static void mark_release(const char *name, const char *words)
{
    plait_cluster cluster;
    plait_runtime runtime;
    plait_model model;
    plait_error err;

    must(plait_runtime_find(name, arena, &runtime, &err), &err);
    must(plait_model_find("qwen3-30b-a3b", arena, &model, NULL, &err), &err);
    must(plait_cluster_find("dgx-h100", arena, &cluster, &err), &err);
    const plait_problem problem = {
        .model = &model,
        .cluster = &cluster,
        .runtime = &runtime,
        .job = {.seq = 4096, .gbs = 64, .gpus = 8, .precision = PLAIT_FP8}};

    mark_said(&problem, words, PLAIT_ATTENTION_FUSED);
}

static plait_status import(const char *script, plans_entry *out, const char **warning,
                           plait_error *err)
{
    return launch_import(PLAIT_LAUNCH_MEGATRON, script, strlen(script), "args.sh", NULL, arena, out,
                         warning, err);
}

/* What a script is read as: the plan, the model and what is said of both. */
static const char *imported(const char *script)
{
    plans_entry entry;
    const char *warning, *text;
    size_t length;
    plait_error err;

    if (import(script, &entry, &warning, &err) != PLAIT_OK)
        return plait_arena_printf(arena, "%s: %s", err.where, err.message);
    must(plans_write(&entry, arena, &text, &length, &err), &err);
    return plait_arena_printf(arena, "%s\n%s", warning, text);
}

static bool changes(const argument_row *row, const char *script)
{
    megatron_args args = read(script);
    const char *const before = imported(written(&args, ' '));

    assert_true(megatron_argument_set(row, other_value(row), &args));
    return strcmp(imported(written(&args, ' ')), before) != 0;
}

#define SIZES                                                                                      \
    "--num-layers 12 --hidden-size 512 --num-attention-heads 8 --padded-vocab-size 1024 "          \
    "--max-position-embeddings 128 --seq-length 128 --position-embedding-type rope --bf16 "

static const char *const scripts[] = {
    SIZES "--pipeline-model-parallel-size 2 --nnodes 2 --nproc_per_node 4 --use-torch-fsdp2",
    SIZES "--experimental-attention-variant gdn --linear-attention-freq 2",
    SIZES "--disable-bias-linear --num-experts 4 --moe-expert-capacity-factor 1.5 "
          "--moe-pad-expert-input-to-capacity",
    SIZES "--multi-latent-attention --disable-bias-linear --num-experts 4 "
          "--moe-shared-expert-intermediate-size 64 "
          "--dsa-indexer-n-heads 2 --dsa-indexer-head-dim 64 --dsa-indexer-topk 32",
    SIZES "--bf16 --grad-reduce-in-bf16 --use-distributed-optimizer --overlap-grad-reduce "
          "--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16",
    SIZES "--fp16 --accumulate-allreduce-grads-in-fp32 --optimizer-cpu-offload",
    SIZES "--bf16 --fp4-format e2m1 --recompute-granularity full",
    SIZES "--bf16 --fp8-format e4m3 --fp8-recipe mxfp8 --fp8-param-gather "
          "--overlap-param-gather --reuse-grad-buf-for-mxfp8-param-ag",
    "--num-layers 12 --hidden-size 512 --num-attention-heads 8 --vocab-size 1000 --bf16 "
    "--num-experts 4 --expert-interval 2 --deepspeed --zero-stage 2 "
    "--pipeline-model-parallel-size 2",
    "--num-layers 12 --hidden-size 512 --num-attention-heads 8",
    SIZES "--deepspeed --pipeline-model-parallel-size 2 --pp-partition-method "
          "'type:transformer|embedding'",
    SIZES "--hybrid-layer-pattern M-M-M-M-M-*-M-M-M-M-M-*- --mamba-num-heads 16 "
          "--disable-bias-linear",
};

static void mark_script(const char *script, plait_runtime *runtime)
{
    const char *warning;
    plans_entry entry;
    plait_error err;

    must(import(script, &entry, &warning, &err), &err);
    if (entry.model != NULL)
        mark_launches(entry.model, runtime);
    for (int r = 0; megatron_arguments[r].name != NULL; r++)
        used[r] = used[r] || changes(&megatron_arguments[r], script);
}

/* Forced balance is a stated imbalance of 1, natural routing a word and a warning, a capacity neither. */
static void test_routing__is_read_or_warned_of(void **state)
{
#define EXPERTS SIZES "--num-experts 4 --disable-bias-linear --expert-model-parallel-size 2 "
    const char *const forced = imported(EXPERTS "--moe-router-force-load-balancing");
    const char *const natural = imported(EXPERTS);
    const char *const capped = imported(EXPERTS "--moe-expert-capacity-factor 1.0");

    (void)state;
    assert_non_null(strstr(forced, "\"imbalance\": 1"));
    assert_null(strstr(forced, "routing is natural"));
    assert_non_null(strstr(natural, "\"imbalance\": \"natural\""));
    assert_non_null(strstr(natural, "routing is natural (no --moe-router-force-load-balancing)"));
    assert_null(strstr(capped, "routing is natural"));
    assert_null(strstr(imported(SIZES), "routing is natural"));
#undef EXPERTS
}

static void test_every_row__is_said_by_a_launch_or_changes_what_is_read(void **state)
{
    plait_runtime runtime;
    plait_error err;
    int rows = 0;

    (void)state;
    must(plait_runtime_find("megatron", arena, &runtime, &err), &err);
    while (megatron_arguments[rows].name != NULL)
        rows++;
    assert_true(rows <= MOST_ROWS);
    mark_shipped_models(&runtime);
    mark_release("megatron@25.09", "ep=2 zero=1 dispatcher=deepep grad_sync=bucketed");
    mark_release("megatron@core-v0.17.0", "ep=2 zero=1 dispatcher=hybridep cuda_graph=layers");
    for (size_t s = 0; s < sizeof scripts / sizeof *scripts; s++)
        mark_script(scripts[s], &runtime);
    for (int r = 0; r < rows; r++)
        if (!used[r])
            fail_msg("%s is neither said by a launch nor read by an import",
                     megatron_arguments[r].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_argument__survives_writing_and_reading),
        cmocka_unit_test(test_all_arguments_at_once__survive),
        cmocka_unit_test(test_other_names__are_the_same_argument),
        cmocka_unit_test(test_lists__are_one_text),
        cmocka_unit_test(test_values_that_cannot_be__are_refused_unless_no_plan_hangs_on_them),
        cmocka_unit_test(test_names__are_distinct_and_found),
        cmocka_unit_test(test_every_field__has_a_row_in_the_same_order),
        cmocka_unit_test(test_defaults__are_within_bounds),
        cmocka_unit_test(test_defaults__are_said_where_they_matter),
        cmocka_unit_test(test_groups__without_arguments_have_no_title),
        cmocka_unit_test(test_release__is_the_newest_that_a_flag_needs),
        cmocka_unit_test(test_routing__is_read_or_warned_of),
        cmocka_unit_test(test_every_row__is_said_by_a_launch_or_changes_what_is_read),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
