/* test_launch_import.c - Megatron-LM's arguments as a plan: scripts, and JSON of parsed arguments */
#include <stdio.h>
#include <string.h>

#include "support/arena_fixture.h"
#include "launch/import.h"
#include "launch/megatron/megatron.h"
#include "support/must.h"

static const char *warning;

static plans_entry import(const char *text, int gpus)
{
    const launch_call call = {.gpus = gpus};
    plans_entry out;
    plait_error err;

    must(launch_import(PLAIT_LAUNCH_MEGATRON, text, strlen(text), "args.sh", &call, arena, &out,
                       &warning, &err),
         &err);
    return out;
}

static void assert_refused(const char *text, const char *where, const char *message)
{
    plans_entry out;
    plait_error err;

    assert_int_not_equal(launch_import(PLAIT_LAUNCH_MEGATRON, text, strlen(text), "args.sh", NULL,
                                       arena, &out, &warning, &err),
                         PLAIT_OK);
    assert_string_equal(err.where, where);
    assert_string_equal(err.message, message);
}

static bool given(const plans_entry *entry, const char *key)
{
    return (entry->given & PLAIT_KEY_BIT(plait_key_find(key))) != 0;
}

static void test_defaults__are_one_gpu_of_everything(void **state)
{
    const plans_entry out = import("--train-iters 1", 0);

    (void)state;
    assert_int_equal(out.degrees.tp, 1);
    assert_int_equal(out.degrees.recompute.kind, PLAIT_RECOMPUTE_NONE);
    assert_int_equal(out.degrees.zero, 0);
    assert_int_equal(out.degrees.grad_sync, PLAIT_SYNC_SHIFTED);
    assert_false(given(&out, "mbs"));
    assert_false(given(&out, "dp"));
    assert_null(out.model);
    assert_int_equal(out.gpus, 0);
    assert_int_equal(out.precision, -1);
}

/* 64 GPUs / (tp 8 pp 2) = dp 4. */
static void test_dp__follows_from_the_gpus(void **state)
{
    const plans_entry out =
        import("--tensor-model-parallel-size 8 --pipeline-model-parallel-size 2", 64);

    (void)state;
    assert_int_equal(out.degrees.dp, 4);
    assert_int_equal(out.degrees.shard_group, 4);
    assert_true(given(&out, "dp"));
    assert_int_equal(import("torchrun --nnodes 4 --nproc_per_node=8 x.py --bf16", 0).gpus, 32);
    assert_int_equal(import("# plait: gpus 16\n--bf16", 0).gpus, 16);
    assert_int_equal(import("{\"world_size\": 24}", 0).gpus, 24);
}

static void test_expert_tensor_parallelism__is_tp_when_absent(void **state)
{
    (void)state;
    assert_int_equal(import("--tensor-model-parallel-size 4", 0).degrees.etp, 4);
    assert_int_equal(
        import("--tensor-model-parallel-size 4 --expert-tensor-parallel-size 1", 0).degrees.etp, 1);
}

static void test_recomputation__in_each_of_its_forms(void **state)
{
    plait_recompute found;

    (void)state;
    found = import("--recompute-activations", 0).degrees.recompute;
    assert_int_equal(found.kind, PLAIT_RECOMPUTE_SELECTIVE);
    found = import("--recompute-granularity selective --recompute-modules mlp moe_act", 0)
                .degrees.recompute;
    assert_int_equal(found.kind, PLAIT_RECOMPUTE_MODULES);
    assert_int_equal(found.modules, 1 << PLAIT_MODULE_mlp | 1 << PLAIT_MODULE_moe_act);
    found = import("--recompute-granularity full --recompute-method uniform "
                   "--recompute-num-layers 1",
                   0)
                .degrees.recompute;
    assert_int_equal(found.kind, PLAIT_RECOMPUTE_FULL);
    assert_int_equal(found.layers, 0);
    found = import("--recompute-granularity full --recompute-method block "
                   "--recompute-num-layers 0",
                   0)
                .degrees.recompute;
    assert_int_equal(found.kind, PLAIT_RECOMPUTE_NONE);
}

/* Two layers of each of three chunks: six of the stage. */
static void test_blocks_of_recomputation__are_of_a_chunk(void **state)
{
    const plans_entry out = import("--num-virtual-stages-per-pipeline-rank 3 "
                                   "--pipeline-model-parallel-size 2 --recompute-granularity full "
                                   "--recompute-method block --recompute-num-layers 2",
                                   0);

    (void)state;
    assert_int_equal(out.degrees.vpp, 3);
    assert_int_equal(out.degrees.schedule, PLAIT_INTERLEAVED);
    assert_int_equal(out.degrees.recompute.layers, 6);
}

#define SIZES                                                                                      \
    "--num-layers 10 --hidden-size 512 --num-attention-heads 8 --vocab-size 1000 "                 \
    "--max-position-embeddings 128 --seq-length 128 "

/* 30 layers and both ends over 4 stages are 8 a stage: chunks of 4, 2 and 1. */
static void test_layers_of_a_chunk__count_the_ends_where_the_split_does(void **state)
{
    static const struct {
        int each, vpp;
    } cases[] = {{8, 1}, {4, 2}, {2, 4}, {1, 8}};
    char text[512];

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        snprintf(text, sizeof text,
                 "--num-layers 30 --pipeline-model-parallel-size 4 "
                 "--num-layers-per-virtual-pipeline-stage %d "
                 "--account-for-embedding-in-pipeline-split "
                 "--account-for-loss-in-pipeline-split",
                 cases[c].each);
        assert_int_equal(import(text, 0).degrees.vpp, cases[c].vpp);
        assert_string_equal(
            warning,
            "neither --bf16 nor --fp16 is given, and plait does not price training in fp32\n"
            "the model is unknown; give it with --model, or add to the file: --hidden-size, "
            "--num-attention-heads, --vocab-size or a known tokenizer");
    }
    assert_int_equal(import("--num-layers 94 --pipeline-model-parallel-size 32 "
                            "--num-layers-per-virtual-pipeline-stage 1 "
                            "--account-for-embedding-in-pipeline-split "
                            "--account-for-loss-in-pipeline-split",
                            0)
                         .degrees.vpp,
                     3);
}

/* MTP layers are none of those that Megatron-LM divides. */
static void test_layers_of_a_chunk__leave_mtp_out(void **state)
{
    (void)state;
    assert_int_equal(import("--num-layers 8 --mtp-num-layers 1 --pipeline-model-parallel-size 2 "
                            "--num-layers-per-virtual-pipeline-stage 2",
                            0)
                         .degrees.vpp,
                     2);
}

/* Layers of a chunk and chunks of a rank say the same plan, whichever ends the split counts. */
static void test_layers_of_a_chunk__say_what_their_number_says(void **state)
{
    static const char *const ends[] = {"", "--account-for-embedding-in-pipeline-split ",
                                       "--account-for-loss-in-pipeline-split ",
                                       ("--account-for-embedding-in-pipeline-split "
                                        "--account-for-loss-in-pipeline-split ")};
    static const int counted[] = {0, 1, 1, 2};
    char text[512];

    (void)state;
    for (int pp = 2; pp <= 8; pp *= 2)
        for (int vpp = 2; vpp <= 4; vpp++)
            for (int each = 1; each <= 3; each++)
                for (int e = 0; e < 4; e++) {
                    const int layers = pp * vpp * each - counted[e];
                    const char *const sizes =
                        "%s--hidden-size 512 --num-attention-heads 8 --vocab-size 1000 "
                        "--num-layers %d --pipeline-model-parallel-size %d %s %d";
                    plait_degrees one, other;
                    int counts[PLAIT_MAX_LAYERS];

                    snprintf(text, sizeof text, sizes, ends[e], layers, pp,
                             "--num-layers-per-virtual-pipeline-stage", each);
                    const plans_entry by_layers = import(text, 0);
                    one = by_layers.degrees;
                    assert_true(plait_split_layers(by_layers.model, &one, counts));
                    snprintf(text, sizeof text, sizes, ends[e], layers, pp,
                             "--num-virtual-stages-per-pipeline-rank", vpp);
                    other = import(text, 0).degrees;
                    assert_int_equal(one.vpp, vpp);
                    assert_int_equal(other.vpp, vpp);
                    assert_int_equal(one.schedule, PLAIT_INTERLEAVED);
                    assert_int_equal(one.split.kind, other.split.kind);
                }
}

/* Megatron-LM's own result counts before what it came from. */
static void test_parsed_chunks__count_before_layers_of_a_chunk(void **state)
{
    (void)state;
    assert_int_equal(import("{\"num_layers\": 8, \"pipeline_model_parallel_size\": 2, "
                            "\"virtual_pipeline_model_parallel_size\": 4, "
                            "\"num_layers_per_virtual_pipeline_stage\": 2}",
                            0)
                         .degrees.vpp,
                     4);
}

/* Megatron-LM takes one way to divide the layers, and no remainder beside an end that is given. */
static void test_splits_that_megatron_refuses__are_refused(void **state)
{
    (void)state;
    assert_refused(SIZES "--pipeline-model-parallel-size 2 "
                         "--num-layers-per-virtual-pipeline-stage 1 "
                         "--num-virtual-stages-per-pipeline-rank 5",
                   "args.sh: num_layers_per_virtual_pipeline_stage",
                   "expected one way to divide the layers, since Megatron-LM rejects two, found "
                   "also --num-virtual-stages-per-pipeline-rank");
    assert_refused(SIZES "--pipeline-model-parallel-size 2 "
                         "--pipeline-model-parallel-layout 'Et*5|t*5L' "
                         "--account-for-loss-in-pipeline-split",
                   "args.sh: pipeline_model_parallel_layout",
                   "expected one way to divide the layers, since Megatron-LM rejects two, found "
                   "also an embedding or loss that counts as a layer");
    assert_refused(SIZES "--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 4 "
                         "--account-for-loss-in-pipeline-split",
                   "args.sh: account_for_embedding_in_pipeline_split",
                   "expected one way to divide the layers, since Megatron-LM rejects two, found "
                   "also a number of layers for the first or last stage");
    assert_refused(SIZES "--pipeline-model-parallel-size 2 --no-overlap-p2p-communication "
                         "--num-layers-per-virtual-pipeline-stage 1",
                   "args.sh: no_overlap_p2p_communication",
                   "expected more than 2 stages without overlap of their messages, found 2 with 5 "
                   "chunks each");
    assert_refused(SIZES "--pipeline-model-parallel-size 3 --decoder-last-pipeline-num-layers 3",
                   "args.sh: decoder_last_pipeline_num_layers",
                   "expected a number of layers that leaves a multiple of 2, the other stages, out "
                   "of 10 layers, found 3");
}

static void test_chunks_that_do_not_divide__are_refused(void **state)
{
    (void)state;
    assert_refused("--num-layers 30 --pipeline-model-parallel-size 4 "
                   "--num-layers-per-virtual-pipeline-stage 3 "
                   "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split",
                   "args.sh: num_layers_per_virtual_pipeline_stage",
                   "expected chunks that divide 32 layers (with embedding and loss) evenly over 4 "
                   "stages, found 3 layers per chunk");
    assert_refused(
        "--num-layers 30 --pipeline-model-parallel-size 4 "
        "--num-layers-per-virtual-pipeline-stage 4",
        "args.sh: num_layers_per_virtual_pipeline_stage",
        "expected chunks that divide 30 layers evenly over 4 stages, found 4 layers per chunk");
    assert_refused("--num-layers 30 --pipeline-model-parallel-size 4 "
                   "--num-layers-per-virtual-pipeline-stage 1 "
                   "--decoder-first-pipeline-num-layers 6",
                   "args.sh: num_layers_per_virtual_pipeline_stage",
                   "expected --num-virtual-stages-per-pipeline-rank if the first or last stage has "
                   "its own number of layers, found 1 layers per chunk");
}

/* Without layers there are no chunks to count, unless the caller gives the model. */
static void test_chunks_of_an_unknown_model__are_said_or_given(void **state)
{
    static const char text[] = "--pipeline-model-parallel-size 2 --bf16 "
                               "--num-layers-per-virtual-pipeline-stage 2";
    const plait_model model = {.name = "given", .layers = 12};
    const launch_call call = {.model = &model};
    launch_flags flags = {.file = "args.sh", .arena = arena, .launch = -1};
    text_builder warnings;
    plans_entry out = plans_unknown("args.sh");
    plait_error err;

    (void)state;
    assert_int_equal(import(text, 0).degrees.vpp, 1);
    assert_string_equal(warning,
                        "the number of layers is unknown, so one chunk per rank is assumed");
    text_builder_init(&warnings, arena);
    must(flags_read(text, strlen(text), "args.sh", NULL, arena, &flags, &err), &err);
    must(megatron_import_flags(&flags, text, strlen(text), &call, &warnings, &out, &err), &err);
    assert_int_equal(out.degrees.vpp, 3);
}

static void test_layouts__are_the_split_that_deals_the_same(void **state)
{
    plans_entry out;

    (void)state;
    out = import(SIZES "--pipeline-model-parallel-size 4 "
                       "--pipeline-model-parallel-layout 'Et*3|t*3|tt|ttL'",
                 0);
    assert_int_equal(out.degrees.split.kind, PLAIT_SPLIT_LAYOUT); // no flag of Megatron spreads
    out = import(SIZES "--pipeline-model-parallel-size 2 "
                       "--pipeline-model-parallel-layout 'Ett|t*3|t*3|ttL'",
                 0);
    assert_int_equal(out.degrees.split.kind, PLAIT_SPLIT_BOTH);
    assert_int_equal(out.degrees.vpp, 2);
    out = import(SIZES "--pipeline-model-parallel-size 3 "
                       "--pipeline-model-parallel-layout 'Et|t*8|tL'",
                 0);
    assert_int_equal(out.degrees.split.kind, PLAIT_SPLIT_FIRST_LAST);
    assert_int_equal(out.degrees.split.first, 1);
}

/* No word deals 1, 5, 1 and 3 layers, nor an end in a chunk of its own: the layout does. */
static void test_odd_layouts__stay_as_they_are(void **state)
{
    plans_entry out = import(SIZES "--pipeline-model-parallel-size 2 "
                                   "--pipeline-model-parallel-layout 'Et|t*5|t|t*3L'",
                             0);

    (void)state;
    assert_int_equal(out.degrees.split.kind, PLAIT_SPLIT_LAYOUT);
    assert_string_equal(out.degrees.split.layout, "Et|t*5|t|t*3L");
    assert_int_equal(out.degrees.vpp, 2);
    assert_null(strstr(warning, "split"));
    out = import(SIZES "--pipeline-model-parallel-size 3 "
                       "--pipeline-model-parallel-layout 'Et*5|t*5|L'",
                 0);
    assert_string_equal(out.degrees.split.layout, "Et*5|t*5|L");
}

static void test_layouts_of_other_models__leave_the_split_open_and_say_so(void **state)
{
    const plans_entry out = import(SIZES "--pipeline-model-parallel-size 2 "
                                         "--pipeline-model-parallel-layout 'Et*5|t*4L'",
                                   0);

    (void)state;
    assert_false(given(&out, "split"));
    assert_non_null(strstr(warning, "split is left unset"));
}

/* 10 layers over 3 stages, 2 in the first: 4 and 4 are left. */
static void test_first_stage_alone__leaves_the_rest_even(void **state)
{
    const plans_entry out =
        import(SIZES "--pipeline-model-parallel-size 3 --decoder-first-pipeline-num-layers 2", 0);

    (void)state;
    assert_int_equal(out.degrees.split.kind, PLAIT_SPLIT_FIRST_LAST);
    assert_int_equal(out.degrees.split.first, 2);
    assert_int_equal(out.degrees.split.last, 4);
}

static void test_models__have_megatrons_defaults(void **state)
{
    const plans_entry out = import(SIZES, 0);

    (void)state;
    assert_non_null(out.model);
    assert_int_equal(out.model->kinds, 1);
    assert_int_equal(out.model->learned_positions, 128);
    assert_int_equal(out.model->kind[0].mlp.width, 4 * 512);
    assert_true(out.model->kind[0].mlp.bias);
    assert_true(out.model->tied);
    assert_true(out.model->layer_norm);
    assert_true(out.model->dropout);
    assert_int_equal(out.model->kind[0].attention.kv_heads, 8);
}

/* SwiGLU without a width: 4 x 512 x 2/3 = 1365, in steps of 64: 1344. */
static void test_gated_mlps__keep_two_thirds(void **state)
{
    (void)state;
    assert_int_equal(import(SIZES "--swiglu", 0).model->kind[0].mlp.width, 1344);
}

static void test_group_query_attention_alone__is_multi_query(void **state)
{
    (void)state;
    assert_int_equal(import(SIZES "--group-query-attention", 0).model->kind[0].attention.kv_heads,
                     1);
    assert_int_equal(import(SIZES "--num-query-groups 2", 0).model->kind[0].attention.kv_heads, 8);
}

static void test_layer_lists__make_kinds(void **state)
{
    const plait_model *const model = import(SIZES "--num-experts 4 --moe-ffn-hidden-size 64 "
                                                  "--moe-layer-freq '([0]*2+[1]*8)'",
                                            0)
                                         .model;

    (void)state;
    assert_int_equal(model->kinds, 2);
    assert_int_equal(model->kind[model->layer_kind[1]].ffn, PLAIT_FFN_MLP);
    assert_int_equal(model->kind[model->layer_kind[2]].ffn, PLAIT_FFN_MOE);
    assert_int_equal(model->kind[1].moe.topk, 2);
}

static void test_parsed_arguments__say_the_same(void **state)
{
    const plans_entry out = import(
        "{\"num_layers\": 4, \"hidden_size\": 256, \"num_attention_heads\": 4, "
        "\"padded_vocab_size\": 512, \"max_position_embeddings\": 64, \"seq_length\": 64, "
        "\"add_bias_linear\": false, \"swiglu\": true, \"ffn_hidden_size\": 1024, "
        "\"tensor_model_parallel_size\": 2, \"sequence_parallel\": true, \"fp8\": \"e4m3\", "
        "\"fp8_recipe\": \"blockwise\", \"bf16\": true, \"use_distributed_optimizer\": true, "
        "\"overlap_grad_reduce\": true, \"attention_backend\": \"AttnBackend.flash\", "
        "\"virtual_pipeline_model_parallel_size\": null, \"recompute_modules\": [\"core_attn\"], "
        "\"recompute_granularity\": null, \"moe_layer_freq\": 1, \"world_size\": 8}",
        0);

    (void)state;
    assert_true(out.degrees.sp);
    assert_int_equal(out.degrees.dp, 4);
    assert_int_equal(out.degrees.zero, 1);
    assert_int_equal(out.degrees.grad_sync, PLAIT_SYNC_BUCKETED);
    assert_int_equal(out.precision, PLAIT_FP8_BLOCK);
    assert_int_equal(out.degrees.attention, PLAIT_ATTENTION_FLASH2);
    assert_int_equal(out.degrees.recompute.kind, PLAIT_RECOMPUTE_NONE);
    assert_string_equal(out.runtime, "megatron");
    assert_false(out.model->kind[0].mlp.bias);
    assert_int_equal(out.model->vocab, 512);
}

static void test_fsdp__is_zero_by_its_strategy(void **state)
{
    plans_entry out;

    (void)state;
    out = import("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads", 0);
    assert_int_equal(out.degrees.zero, 2);
    assert_string_equal(out.runtime, "megatron-fsdp");
    assert_int_equal(import("--use-torch-fsdp2", 0).degrees.zero, 3);
    assert_int_equal(
        import("--use-torch-fsdp2 --torch-fsdp2-no-reshard-after-forward", 0).degrees.zero, 2);
}

/* Somebody who edits a launch file edits its arguments, not the comments above them. */
static void test_arguments__win_over_notes(void **state)
{
    plans_entry out;

    (void)state;
    out = import("# plait: gpus 16\n# plait: runtime megatron\n# plait: attention fused\n"
                 "torchrun --nnodes 4 --nproc_per_node=8 x.py --use-megatron-fsdp "
                 "--attention-backend flash --flash-attention-version 3",
                 0);
    assert_int_equal(out.gpus, 32);
    assert_string_equal(out.runtime, "megatron-fsdp");
    assert_int_equal(out.degrees.zero, 3);
    assert_int_equal(out.degrees.attention, PLAIT_ATTENTION_FLASH3);
    out = import("# plait: runtime megatron\n# plait: recompute modules:mlp\n"
                 "# plait: attention flash\n--overlap-grad-reduce --attention-backend unfused "
                 "--recompute-granularity selective --recompute-modules core_attn",
                 0);
    assert_string_equal(out.runtime, "megatron");
    assert_int_equal(out.degrees.attention, PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL);
    assert_int_equal(out.degrees.recompute.modules, 1 << PLAIT_MODULE_core_attn);
}

/* What no argument contradicts: a profile of one's own, beside the file, the flash attention that a library has. */
static void test_notes__stand_where_arguments_are_coarser(void **state)
{
    plans_entry out;

    (void)state;
    out = import("# plait: runtime /home/me/mine.json\n# plait: attention flash\n"
                 "--use-megatron-fsdp --attention-backend flash",
                 0);
    assert_string_equal(out.runtime, "mine.json");
    assert_int_equal(out.degrees.attention, PLAIT_ATTENTION_FLASH);
    out = import("# plait: runtime megatron-2021\n# plait: attention fused\n--overlap-grad-reduce",
                 0);
    assert_string_equal(out.runtime, "megatron-2021");
    assert_int_equal(out.degrees.attention, PLAIT_ATTENTION_FUSED);
}

static void test_what_has_no_price__is_said(void **state)
{
    (void)state;
    import("--optimizer-cpu-offload --cpu-offloading-num-layers 2 --bf16", 0);
    assert_string_equal(warning, "options that the price ignores: cpu_offloading_num_layers");
    import("--bf16 --optimizer-cuda-graph --moe-shared-expert-overlap", 0);
    assert_string_equal(
        warning, "options that the price ignores: optimizer_cuda_graph, moe_shared_expert_overlap");
    import("{\"bf16\": true, \"cuda_graph_impl\": \"none\", \"use_sharp\": false}", 0);
    assert_string_equal(warning, "");
    import("--seq-length 65536 --bf16", 0);
    assert_non_null(strstr(warning, "attention masks"));
    import("--seq-length 65536 --bf16 --no-create-attention-mask-in-dataloader", 0);
    assert_string_equal(warning, "");
    import("--seq-length 4096 --bf16", 0); // 16 MiB
    assert_string_equal(warning, "");
}

/* ---- graphs, fused experts and 8-bit attention ---- */

#define EXPERTS                                                                                    \
    SIZES "--bf16 --num-experts 8 --expert-model-parallel-size 4 --expert-tensor-parallel-size 1 " \
          "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep "               \
          "--moe-router-force-load-balancing "
#define MXFP8 "--fp8-format e4m3 --fp8-recipe mxfp8 "

static void assert_graph(const char *text, plait_cuda_graph graph, const char *expected)
{
    const plans_entry out = import(text, 0);

    assert_true(out.given & PLAIT_KEY_BIT(PLAIT_KEY_CUDA_GRAPH));
    if (out.degrees.switches.cuda_graph != graph)
        fail_msg("%s: graph %d", text, out.degrees.switches.cuda_graph);
    assert_string_equal(warning, expected);
}

/* The words of core 0.12, 0.15, 0.16 and 0.18, in this order. */
static void test_graphs_of_layers__have_the_words_of_their_release(void **state)
{
    (void)state;
    assert_graph(SIZES "--bf16", PLAIT_GRAPH_NONE, "");
    assert_graph(SIZES "--bf16 --enable-cuda-graph", PLAIT_GRAPH_LAYERS, "");
    assert_graph(SIZES "--bf16 --external-cuda-graph --cuda-graph-scope full", PLAIT_GRAPH_LAYERS,
                 "");
    assert_graph(SIZES "--bf16 --cuda-graph-impl local --cuda-graph-scope full", PLAIT_GRAPH_LAYERS,
                 "");
    assert_graph(EXPERTS "--cuda-graph-impl transformer_engine "
                         "--cuda-graph-scope attn moe_router moe_preprocess",
                 PLAIT_GRAPH_LAYERS, "");
    assert_graph(EXPERTS "--cuda-graph-impl transformer_engine "
                         "--cuda-graph-modules attn moe_router moe_preprocess",
                 PLAIT_GRAPH_LAYERS, "");
    // Megatron-Bridge's run_script.py, whose recipe has the experts
    assert_graph("--bf16 --cuda_graph_impl transformer_engine "
                 "--cuda_graph_scope attn,moe_router,moe_preprocess",
                 PLAIT_GRAPH_LAYERS, "");
    assert_graph("{\"bf16\": true, \"cuda_graph_impl\": \"transformer_engine\", "
                 "\"cuda_graph_modules\": [\"attn\", \"mlp\"]}",
                 PLAIT_GRAPH_LAYERS, "");
}

static void test_graphs_of_iterations__have_the_words_of_their_release(void **state)
{
    (void)state;
    assert_graph(SIZES "--bf16 --enable-cuda-graph --cuda-graph-scope full_iteration",
                 PLAIT_GRAPH_FULL, "");
    assert_graph(SIZES "--bf16 --cuda-graph-impl local --cuda-graph-scope full_iteration",
                 PLAIT_GRAPH_FULL, "");
    assert_graph(SIZES "--bf16 --cuda-graph-impl full_iteration", PLAIT_GRAPH_FULL, "");
    assert_graph(EXPERTS MXFP8 "--cuda-graph-impl full_iteration --use-transformer-engine-op-fuser "
                               "--moe-expert-rank-capacity-factor 1.5 --moe-paged-stash",
                 PLAIT_GRAPH_FULL, "");
}

static void test_other_graphs__become_the_nearest(void **state)
{
    (void)state;
    assert_graph(EXPERTS "--cuda-graph-impl transformer_engine --cuda-graph-modules attn",
                 PLAIT_GRAPH_LAYERS,
                 "graphs of attn alone are priced as graphs of all parts of layers but experts");
    assert_graph(EXPERTS "--cuda-graph-impl local", PLAIT_GRAPH_LAYERS,
                 "graphs that capture experts are priced as graphs of all parts of layers but "
                 "experts");
    assert_graph(EXPERTS "--cuda-graph-impl full_iteration", PLAIT_GRAPH_LAYERS,
                 "a graph of the whole iteration is priced with experts that use HybridEP and the "
                 "fused kernel only; the plan is priced with graphs of layers");
    assert_graph(SIZES "--bf16 --cuda-graph-impl full_iteration --recompute-granularity full",
                 PLAIT_GRAPH_NONE,
                 "CUDA graphs with full recomputation, or of routers with recomputation of moe, "
                 "are not priced; "
                 "the plan is priced without graphs");
    assert_graph(SIZES "--bf16 --cuda-graph-impl local --use-megatron-fsdp", PLAIT_GRAPH_NONE,
                 "the profile of this plan has no CUDA graphs; the plan is priced without them");
    assert_refused("--cuda-graph-impl all", "args.sh: cuda_graph_impl",
                   "expected none, local, transformer_engine or full_iteration, found \"all\"");
    assert_refused("--cuda-graph-impl", "args.sh: cuda_graph_impl", "expected a value, found none");
#define MODULES                                                                                    \
    "expected attn, mlp, moe, moe_router, moe_preprocess, mamba, full, full_iteration or "         \
    "full_iteration_inference, found "
    assert_refused(SIZES "--bf16 --cuda-graph-modules bogus", "args.sh: cuda_graph_modules",
                   MODULES "\"bogus\"");
    assert_refused(SIZES "--bf16 --cuda-graph-impl local --cuda-graph-scope attn,moe_routr",
                   "args.sh: cuda_graph_scope", MODULES "\"moe_routr\"");
#undef MODULES
}

static void test_fused_experts__need_their_format(void **state)
{
    (void)state;
    assert_true(import(EXPERTS MXFP8 "--use-transformer-engine-op-fuser", 0)
                    .degrees.switches.fused_grouped_mlp);
    assert_string_equal(warning, "");
    assert_false(
        import(EXPERTS "--use-transformer-engine-op-fuser", 0).degrees.switches.fused_grouped_mlp);
    assert_string_equal(warning, "--use-transformer-engine-op-fuser is priced with mxfp8 and "
                                 "expert-tensor-parallel size 1 only");
}

/* Only YAML and JSON have the option; args.sh of a launch has a note. */
static void test_attention_in_8_bits__is_an_option_or_a_note(void **state)
{
    plans_entry out;

    (void)state;
    out = import("{\"bf16\": true, \"fp8\": \"e4m3\", \"fp8_recipe\": \"mxfp8\", "
                 "\"fp8_dot_product_attention\": true}",
                 0);
    assert_true(out.degrees.switches.fp8_attention);
    assert_string_equal(warning, "");
    out = import("# plait: fp8_attention 1\n--bf16 " MXFP8, 0);
    assert_true(out.degrees.switches.fp8_attention);
    assert_string_equal(warning, "");
    out = import("{\"bf16\": true, \"fp8_dot_product_attention\": true}", 0);
    assert_false(out.degrees.switches.fp8_attention);
    assert_string_equal(warning, "fp8_dot_product_attention is priced with fused attention and a "
                                 "tensorwise or mxfp8 recipe only");
}

static void test_user_buffers__are_the_overlap_of_tensor_parallelism(void **state)
{
#define TENSORS SIZES "--bf16 --tensor-model-parallel-size 2 --sequence-parallel "
    (void)state;
    assert_true(import(TENSORS "--tp-comm-overlap", 0).degrees.switches.tp_comm_overlap);
    assert_string_equal(warning, "");
    const plans_entry out = import(TENSORS, 0);
    assert_false(out.degrees.switches.tp_comm_overlap);
    assert_true(out.given & PLAIT_KEY_BIT(PLAIT_KEY_TP_COMM_OVERLAP));
    assert_true(import("tp_comm_overlap: true\nbf16: true\ntensor_model_parallel_size: 2\n"
                       "sequence_parallel: true\n",
                       0)
                    .degrees.switches.tp_comm_overlap);
    assert_false(import(SIZES "--bf16 --tp-comm-overlap", 0).degrees.switches.tp_comm_overlap);
#undef TENSORS
}

/* Off without the flags, as in Megatron-LM; a model without experts has none of these kernels. */
static void test_fused_experts_and_gathers__are_flags(void **state)
{
#define CHUNKS                                                                                     \
    SIZES "--bf16 --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2 "      \
          "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather "
    plans_entry out = import(EXPERTS, 0);

    (void)state;
    assert_false(out.degrees.switches.permute_fusion || out.degrees.switches.router_fusion);
    assert_true(out.given & PLAIT_KEY_BIT(PLAIT_KEY_PERMUTE_FUSION));
    out = import(EXPERTS "--moe-permute-fusion", 0);
    assert_true(out.degrees.switches.permute_fusion && !out.degrees.switches.router_fusion);
    out = import(EXPERTS "--moe-router-fusion", 0);
    assert_true(!out.degrees.switches.permute_fusion && out.degrees.switches.router_fusion);
    assert_string_equal(warning, "");
    out = import(SIZES "--bf16 --moe-permute-fusion", 0);
    assert_false(out.degrees.switches.permute_fusion);
    assert_false(import(CHUNKS, 0).degrees.gather_with_step);
    assert_true(
        import(CHUNKS "--overlap-param-gather-with-optimizer-step", 0).degrees.gather_with_step);
    assert_string_equal(warning, "");
    assert_false(import(SIZES "--bf16 --overlap-param-gather-with-optimizer-step", 0)
                     .degrees.gather_with_step);
    assert_non_null(strstr(warning, "optimizer-step needs the distributed optimizer; the plan is "
                                    "priced without it"));
    import(SIZES "--bf16 --pipeline-model-parallel-size 4 --use-distributed-optimizer "
                 "--overlap-grad-reduce --overlap-param-gather "
                 "--overlap-param-gather-with-optimizer-step",
           0);
    assert_non_null(strstr(warning, "needs several chunks on each of several stages"));
#undef CHUNKS
}

static void test_values_that_cannot_be__are_refused(void **state)
{
    (void)state;
    assert_refused("--tensor-model-parallel-size x", "args.sh: tensor_model_parallel_size",
                   "expected an integer from 1 to 1048576, found \"x\"");
    assert_refused("--cp-comm-type ring", "args.sh: cp_comm_type",
                   "expected p2p, allgather, a2a or a2a+p2p, found \"ring\"");
    assert_refused(SIZES "--moe-layer-freq '[1]*3' --num-experts 2", "args.sh: moe_layer_freq",
                   "expected a number, or a pattern for 10 layers, found \"[1]*3\"");
    assert_refused(SIZES "--group-query-attention --num-query-groups 3",
                   "args.sh: num_query_groups", "expected a divisor of the 8 heads, found \"3\"");
    assert_refused(SIZES "--experimental-attention-variant gated_delta_net "
                         "--linear-attention-freq 4 --linear-num-key-heads 5",
                   "args.sh: linear_num_key_heads",
                   "expected a divisor of the 32 heads, found \"5\"");
    assert_refused(SIZES "--num-attention-heads 7", "args.sh: hidden_size",
                   "expected a multiple of the 7 heads, or --kv-channels, found \"512\"");
    assert_refused(SIZES "--num-experts 8 --moe-router-num-groups 3 --moe-router-group-topk 1",
                   "args.sh: moe_router_num_groups",
                   "expected a divisor of the 8 experts, found 3");
    assert_refused(SIZES "--num-experts 8 --moe-router-num-groups 4",
                   "args.sh: moe_router_group_topk", "expected 1 to 4 groups, found 0");
    assert_refused("# plait: gpus many", "args.sh:1",
                   "expected an integer from 1 to 16777216, found \"many\"");
    assert_refused("{\"num_layers\": 01}", "args.sh:1:16",
                   "expected a number without leading zeros, found '0'");
}

/* ---- overrides of Megatron-Bridge ---- */

#define RECIPE "torchrun --nnodes 2 --nproc_per_node=8 scripts/training/run_recipe.py --recipe "
#define LEFT_TO_RECIPE "keys that the recipe sets and the overrides do not, left unset: "

static void test_overrides__are_arguments(void **state)
{
    const plans_entry out = import(
        RECIPE "llama31_70b_pretrain_config --seq_length 8192 ++model.tensor_model_parallel_size=4 "
               "model.sequence_parallel=true model.pipeline_model_parallel_size=4 "
               "model.virtual_pipeline_model_parallel_size=5 model.context_parallel_size=1 "
               "'model.recompute_modules=[\"layernorm\", \"mlp\"]' "
               "model.recompute_granularity=selective ddp.use_distributed_optimizer=true "
               "model.num_layers_in_first_pipeline_stage=null "
               "optimizer.use_precision_aware_optimizer=true "
               "optimizer.exp_avg_dtype=torch.bfloat16 optimizer.exp_avg_sq_dtype=torch.bfloat16 "
               "train.global_batch_size=64 train.global_batch_size=128 "
               "mixed_precision=bf16-mixed mixed_precision.grad_reduce_in_fp32=false "
               "model.tp_comm_overlap=false comm_overlap.tp_comm_overlap=true",
        0);
    const plait_degrees *const d = &out.degrees;

    (void)state;
    assert_string_equal(out.model->name, "llama-3.1-70b");
    assert_int_equal(out.gpus, 16);
    assert_int_equal(out.seq, 8192);
    assert_int_equal(out.gbs, 128);
    assert_int_equal(d->tp, 4);
    assert_int_equal(d->sp, 1);
    assert_int_equal(d->pp, 4);
    assert_int_equal(d->vpp, 5);
    assert_int_equal(d->dp, 1);
    assert_int_equal(d->zero, 1);
    assert_int_equal(d->recompute.modules, 1 << PLAIT_MODULE_layernorm | 1 << PLAIT_MODULE_mlp);
    assert_int_equal(d->optimizer_state, PLAIT_STATE_BF16);
    assert_int_equal(d->grad_reduce, PLAIT_STATE_BF16);
    assert_int_equal(out.precision, PLAIT_BF16);
    assert_true(d->switches.tp_comm_overlap);
    assert_string_equal(out.not_read, "");
    assert_string_equal(warning, LEFT_TO_RECIPE "shard_group, offload_acts, grad_sync, order");
    assert_false(given(&out, "grad_sync"));
}

/* The recipe, which the file does not contain, also has a pipeline. */
static void test_keys_without_an_override__are_those_of_the_recipe(void **state)
{
    plans_entry out = import(RECIPE "deepseek_v2_lite_pretrain_config "
                                    "model.expert_model_parallel_size=8 train.micro_batch_size=2 "
                                    "model.moe_token_dispatcher_type=flex "
                                    "model.moe_router_force_load_balancing=true",
                             0);

    (void)state;
    assert_int_equal(out.degrees.ep, 8);
    assert_int_equal(out.degrees.dispatcher, PLAIT_DISPATCH_DEEPEP);
    assert_int_equal(out.precision, -1);
    assert_false(given(&out, "tp"));
    assert_false(given(&out, "pp"));
    assert_false(given(&out, "dp"));
    assert_string_equal(warning, LEFT_TO_RECIPE
                        "tp, sp, pp, vpp, cp, cp_comm, etp, ep_overlap, zero, shard_group, "
                        "permute_fusion, router_fusion, "
                        "recompute, offload_acts, schedule, grad_sync, split, order, grad_reduce, "
                        "optimizer_state, fp8_params");
    assert_refused(RECIPE "x mixed_precision=bf16_with_fp9_mixed model.context_parallel_size=1",
                   "args.sh: mixed_precision",
                   "expected a precision of Megatron-Bridge such as bf16_mixed or "
                   "bf16_with_mxfp8_mixed, found \"bf16_with_fp9_mixed\"");
    import(RECIPE "x model.tensor_model_parallel_size=$1", 0);
    assert_non_null(strstr(warning, LEFT_TO_RECIPE "tp, "));
    assert_non_null(strstr(warning, "treated as not given: tensor_model_parallel_size $1"));
    assert_false(import(RECIPE "x model.tensor_model_parallel_size=2 model.sequence_parallel=true "
                               "model.tp_comm_overlap=true comm_overlap.tp_comm_overlap=false",
                        0)
                     .degrees.switches.tp_comm_overlap);
    // NeMo 1 has other keys in a section of the same name
    assert_refused("python megatron_gpt_pretraining.py --config-name x trainer.devices=8 "
                   "model.tensor_model_parallel_size=2",
                   "args.sh",
                   "expected a script, list, JSON or YAML with flags of Megatron-LM, such as "
                   "--num-layers 32, found no such flag");
}

/* ---- flags ---- */

static void test_flags_that_are_not_read__are_listed_beside_the_warnings(void **state)
{
    (void)state;
    assert_string_equal(import("--bf16 --lr 1e-4 --frobnicate 3 --no-such-thing", 0).not_read,
                        "frobnicate, no_such_thing");
    assert_string_equal(warning, "");
    assert_string_equal(import("--bf16 --data-path $1 --tp-comm-overlap-cfg y", 0).not_read,
                        "data_path, tp_comm_overlap_cfg");
    assert_string_equal(warning, "");
    assert_string_equal(import("{\"bf16\": true, \"onnx_safe\": null, \"seed\": 1234}", 0).not_read,
                        "seed");
}

static void test_files_that_say_nothing__are_refused(void **state)
{
    (void)state;
    assert_refused("", "args.sh",
                   "expected a script, list, JSON or YAML with flags of Megatron-LM, such as "
                   "--num-layers 32, found no such flag");
    assert_refused("echo hello\nls --color", "args.sh",
                   "expected a script, list, JSON or YAML with flags of Megatron-LM, such as "
                   "--num-layers 32, found no such flag");
}

static void test_the_launch__is_the_command_that_counts(void **state)
{
    plans_entry out;

    (void)state;
    out = import("python prepare.py --micro-batch-size 7 --odd\n"
                 "torchrun --nproc_per_node 8 pretrain_gpt.py --bf16 --micro-batch-size 2 --fp16\n"
                 "echo --micro-batch-size 9",
                 0);
    assert_int_equal(out.degrees.mbs, 2);
    assert_int_equal(out.gpus, 8);
    assert_null(strstr(warning, "odd"));
}

static void test_flags_of_2021__mean_todays(void **state)
{
    plans_entry out;

    (void)state;
    out = import("--model-parallel-size 8 --batch-size 4 --checkpoint-activations --fp16 "
                 "--DDP-impl local",
                 16);
    assert_int_equal(out.degrees.tp, 8);
    assert_int_equal(out.degrees.mbs, 4);
    assert_int_equal(out.gbs, 8); // 4 on each of 16 / 8 replicas
    assert_int_equal(out.degrees.recompute.kind, PLAIT_RECOMPUTE_FULL);
    assert_string_equal(out.runtime, "megatron-2021");
    assert_string_equal(warning, "");
    out = import("--checkpoint-activations --DDP-impl local --overlap-grad-reduce --fp16", 0);
    assert_string_equal(out.runtime, "megatron-2021");
    out = import(
        "--activations-checkpoint-method block --activations-checkpoint-num-layers 3 --fp16", 0);
    assert_int_equal(out.degrees.recompute.layers, 3);
    assert_int_equal(import("--DDP-impl torch --fp16", 0).degrees.grad_sync, PLAIT_SYNC_BUCKETED);
}

static void test_deepspeeds_engine__shards_by_its_stage(void **state)
{
    plans_entry out;

    (void)state;
    out = import("--deepspeed --zero-stage 3 --fp16 --no-pipeline-parallel "
                 "--pipeline-model-parallel-size 4 --partition-activations",
                 0);
    assert_int_equal(out.degrees.zero, 3);
    assert_int_equal(out.degrees.pp, 1);
    assert_string_equal(out.runtime, "deepspeed");
    assert_string_equal(warning, "options that the price ignores: partition_activations");
    out = import("--deepspeed --zero-stage 0 --bf16", 0);
    assert_int_equal(out.degrees.zero, 1); // BF16_Optimizer
    assert_string_equal(out.runtime, "megatron-deepspeed");
    out = import("--deepspeed --zero-stage 3 --tensor-model-parallel-size 2 --fp16", 0);
    assert_string_equal(out.runtime, "megatron-fsdp");
    assert_non_null(strstr(warning, "no DeepSpeed profile supports these degrees"));
    out = import("--deepspeed --ds-sequence-parallel-size 4 --fp16", 0);
    assert_int_equal(out.degrees.cp, 4);
    assert_int_equal(out.degrees.cp_comm, PLAIT_CP_A2A);
}

static void test_deepspeeds_json__is_read_where_the_script_makes_it(void **state)
{
    plans_entry out;

    (void)state;
    out = import("C=./ds.$JOB.json\ncat <<EOT >$C\n{\"train_micro_batch_size_per_gpu\": 2,\n"
                 "\"train_batch_size\": $B, \"zero_optimization\": {\"stage\": 2},\n"
                 "\"fp16\": {\"enabled\": true}}\nEOT\n"
                 "deepspeed --num_gpus 4 pretrain_gpt.py --deepspeed --deepspeed_config $C",
                 0);
    assert_int_equal(out.degrees.zero, 2);
    assert_int_equal(out.degrees.mbs, 2);
    assert_int_equal(out.gbs, 8);
    assert_int_equal(out.precision, PLAIT_FP16);
    assert_string_equal(warning, "");
    import("--deepspeed --deepspeed_config elsewhere.json --fp16", 0);
    assert_non_null(strstr(warning, "neither in the script nor in its folder"));
}

/* 10 layers and the two ends are 12 on 4 stages; 10 alone are dealt as they go. */
static void test_deepspeeds_pipeline__deals_what_its_method_names(void **state)
{
    (void)state;
    assert_int_equal(import(SIZES "--deepspeed --pipeline-model-parallel-size 4 --bf16 "
                                  "--pp-partition-method 'type:transformer|embedding'",
                            0)
                         .degrees.split.kind,
                     PLAIT_SPLIT_BOTH);
    assert_int_equal(
        import(SIZES "--deepspeed --pipeline-model-parallel-size 4 --bf16", 0).degrees.split.kind,
        PLAIT_SPLIT_SPREAD);
}

/* Every second layer of Megatron-DeepSpeed has experts, and a token goes to one of them. */
static void test_experts_of_deepspeed__are_in_every_second_layer(void **state)
{
    const plait_model *model;

    (void)state;
    model =
        import(SIZES "--deepspeed --num-experts 8 --moe-expert-parallel-size 4 --bf16", 0).model;
    assert_int_equal(model->kinds, 2);
    assert_int_equal(model->kind[model->layer_kind[0]].ffn, PLAIT_FFN_MLP);
    assert_int_equal(model->kind[model->layer_kind[1]].ffn, PLAIT_FFN_MOE);
    assert_int_equal(model->kind[model->layer_kind[1]].moe.topk, 1);
    model = import(SIZES "--deepspeed --num-experts 1 --bf16", 0).model;
    assert_int_equal(model->kinds, 1);
    assert_int_equal(model->kind[0].ffn, PLAIT_FFN_MLP);
}

#define UNTOLD "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --bf16 "

/* 50257 in steps of 128 x 2 = 256: 197 of them, 50432. */
static void test_vocabularies__are_those_of_tokenizers_padded(void **state)
{
    (void)state;
    assert_int_equal(import(UNTOLD "--tokenizer-type GPT2BPETokenizer "
                                   "--tensor-model-parallel-size 2",
                            0)
                         .model->vocab,
                     50432);
    assert_int_equal(import(UNTOLD "--vocab-file $DATA/gpt2-vocab.json", 0).model->vocab, 50304);
    assert_int_equal(import(UNTOLD "--tokenizer-model meta-llama/Llama-3.1-8B", 0).model->vocab,
                     128256);
    assert_int_equal(import(UNTOLD "--tokenizer-name-or-path bigscience/tokenizer "
                                   "--pad-vocab-size-to 250880",
                            0)
                         .model->vocab,
                     250880);
    assert_int_equal(import(UNTOLD "--vocab-size 1000", 0).model->vocab, 1024);
    assert_int_equal(import("# plait: model mine\n" UNTOLD "--vocab-size 1000", 0).model->vocab,
                     1000);
    assert_int_equal(
        import(UNTOLD "--patch-tokenizer-type Qwen2Tokenizer --extra-vocab-size 293", 0)
            .model->vocab,
        151936);
}

static void test_models_that_are_not_known__say_what_is_missing(void **state)
{
    (void)state;
    assert_null(import(UNTOLD "--tokenizer-model ./tokenizer.model", 0).model);
    assert_string_equal(warning, "the model is unknown; give it with --model, or add to the file: "
                                 "--vocab-size or a known tokenizer");
    import("--num-layers $2 --hidden-size 64 --vocab-size 10 --num-attention-heads 4 --bf16", 0);
    assert_string_equal(
        warning, "the model is unknown; give it with --model, or add to the file: --num-layers\n"
                 "values set outside the file, treated as not given: --num-layers $2");
}

static void test_gpus__are_those_of_the_launcher(void **state)
{
    (void)state;
    assert_int_equal(
        import("#SBATCH --nodes=24\n#SBATCH --gres=gpu:a100:8\nsrun x.py --bf16", 0).gpus, 192);
    assert_int_equal(import("#SBATCH -N 2\n#SBATCH --gpus-per-node 4\nG=8\nsrun bash -c "
                            "'torchrun --nnodes $SLURM_NNODES --nproc_per_node $G x.py --bf16'",
                            0)
                         .gpus,
                     16);
    assert_int_equal(import("deepspeed --num_nodes 3 --num_gpus 8 x.py --bf16", 0).gpus, 24);
    assert_int_equal(import("torchrun --nproc_per_node 8 x.py --bf16", 0).gpus, 8);
    assert_int_equal(import("NNODES=2\nGPUS_PER_NODE=4\nx.py --bf16", 0).gpus, 8);
    assert_int_equal(import("deepspeed x.py --bf16", 0).gpus, 0);
}

static void test_quoted_lists__lose_their_quotes(void **state)
{
    (void)state;
    assert_int_equal(import("A=\"--moe-layer-freq '([0]*1+[1]*9)' --num-experts 4\"\n"
                            "x.py " SIZES "$A",
                            0)
                         .model->kinds,
                     2);
}

static void test_doubtful_flags__say_what_they_hang_on(void **state)
{
    (void)state;
    import("if [ $3 = true ]; then A=\"--sequence-parallel --save x\"; fi\nx.py --bf16 $A", 0);
    assert_string_equal(warning, "options that depend on values from outside the file, treated as "
                                 "not given: --sequence-parallel ($3)");
}

static void test_holes__are_said(void **state)
{
    static const char *const scripts[][2] = {
        {"x.py --bf16 $EXTRA_ARGS", "$EXTRA_ARGS"},
        {"x.py --bf16 $(python gen.py)", "$(python gen.py)"},
        {"x.py $FIRST --bf16", "$FIRST"},
        {"x.py --micro-batch-size 2 $MORE --bf16", "$MORE"},
        {"mapfile -t A <args.txt\nx.py --bf16 \"${A[@]}\"", "mapfile -t A <args.txt"},
        {"while read -r l; do A+=($l); done <args.txt\nx.py --bf16 \"${A[@]}\"", "read -r l"},
        {"while read l; do eval \"A+=($l\"$'\\n'\")\"; done\nx.py --bf16 ${A[@]}", "read l"},
    };
    char expected[160];

    (void)state;
    for (size_t s = 0; s < sizeof scripts / sizeof *scripts; s++) {
        import(scripts[s][0], 0);
        snprintf(expected, sizeof expected,
                 "arguments from outside the file, treated as not given: %s", scripts[s][1]);
        assert_string_equal(warning, expected);
    }
    import("x.py --bf16 \"$@\"", 0);
    assert_string_equal(warning, "");
}

/* An option in a branch may override the one that is given in any case. */
static void test_options_given_twice__are_told_where_one_is_doubtful(void **state)
{
    (void)state;
    import("A=\"--tensor-model-parallel-size 2\"\nif [ $1 = x ]; then\n"
           "A+=\" --tensor-model-parallel-size 4\"; fi\nx.py --bf16 $A",
           0);
    assert_string_equal(warning, "options that a value from outside the file may override: "
                                 "--tensor-model-parallel-size ($1)");
}

static void test_values_that_a_loop_sets__are_not_given(void **state)
{
    const plans_entry out = import("TP=1\nfor i in 1 2; do TP=$((TP * 2)); done\nx.py --bf16 "
                                   "--tensor-model-parallel-size $TP",
                                   0);

    (void)state;
    assert_int_equal(out.degrees.tp, 1);
    assert_string_equal(warning, "values set outside the file, treated as not given: "
                                 "--tensor-model-parallel-size for i in 1 2");
}

#define LAUNCH "torchrun x.py --bf16 --tensor-model-parallel-size "

static void test_launches__are_counted_and_the_one_taken_is_told(void **state)
{
    (void)state;
    assert_int_equal(import(LAUNCH "2\npython prepare.py --seed 1\n" LAUNCH "4", 0).degrees.tp, 4);
    assert_string_equal(warning,
                        "the script has 2 commands that start training; the one on line 3 is read");
    assert_int_equal(import("f() {\n" LAUNCH "2\n}\nf\nexit 0\n" LAUNCH "4", 0).degrees.tp, 2);
    assert_string_equal(warning, "");
    import("while true; do\n " LAUNCH "2 \\\n --seed 1\ndone\nf() {\n\n" LAUNCH "4\n}\nf", 0);
    assert_string_equal(warning,
                        "the script has 2 commands that start training; the one on line 2 is read");
}

static void test_launches_behind_exit__are_told(void **state)
{
    (void)state;
    assert_int_equal(import("exit 0\n" LAUNCH "2", 0).degrees.tp, 2);
    assert_string_equal(warning, "the script exits before it starts training");
    import("[ -d x ] || exit 1\n(exit)\nif [ -d y ]; then exit; fi\n" LAUNCH "2", 0);
    assert_string_equal(warning, "");
}

static void test_variables_that_stand_for_a_launch__are_told(void **state)
{
    (void)state;
    assert_int_equal(import("\nM=\"--bf16 --tensor-model-parallel-size 2\"\ncat >run.sh <<'END'\n"
                            "torchrun x.py $M\nEND\n",
                            0)
                         .degrees.tp,
                     2);
    assert_string_equal(
        warning,
        "no command of the script starts training; options are read from the value of M (line 2)");
}

#define ADAM_ON_HOST "x.py --bf16 --optimizer-cpu-offload "

static void test_a_part_of_offload__is_in_tenths(void **state)
{
    (void)state;
    assert_int_equal(import(ADAM_ON_HOST, 0).degrees.offload, PLAIT_OFFLOAD_OPTIMIZER);
    assert_int_equal(import(ADAM_ON_HOST, 0).degrees.offload_share, 0);
    assert_int_equal(
        import(ADAM_ON_HOST "--optimizer-offload-fraction 0.5", 0).degrees.offload_share, 5);
    assert_string_equal(warning, "");
    assert_int_equal(
        import(ADAM_ON_HOST "--optimizer-offload-fraction 0.75", 0).degrees.offload_share, 7);
    assert_string_equal(warning, "--optimizer-offload-fraction is priced in tenths, rounded down");
    assert_int_equal(import(ADAM_ON_HOST "--optimizer-offload-fraction 0.05", 0).degrees.offload,
                     PLAIT_OFFLOAD_NONE);
}

#define INPUTS_ON_HOST "x.py --bf16 --fine-grained-activation-offloading --offload-modules "

static void test_offloaded_modules__are_the_largest_set_within(void **state)
{
    (void)state;
    assert_string_equal(plait_offload_acts_name[import(INPUTS_ON_HOST "attn_proj core_attn", 0)
                                                    .degrees.offload_acts],
                        "core_attn+attn_proj");
    assert_string_equal(warning, "");
    assert_string_equal(plait_offload_acts_name[import(INPUTS_ON_HOST "expert_fc1 mlp_norm", 0)
                                                    .degrees.offload_acts],
                        "expert_fc1");
    assert_string_equal(warning,
                        "some modules of --offload-modules are priced as staying on the device");
    assert_refused(INPUTS_ON_HOST "gdp_qkv", "args.sh: offload_modules",
                   "expected modules that plait can price as offloaded, found \"gdp_qkv\"");
}

static void test_parameters_in_four_bits__have_a_flag_of_their_own(void **state)
{
    (void)state;
    assert_int_equal(
        import("x.py --bf16 --fp4-format e2m1 --fp4-param-gather", 0).degrees.fp8_params, 1);
    assert_int_equal(
        import("x.py --bf16 --fp4-format e2m1 --fp8-param-gather", 0).degrees.fp8_params, 0);
}

/* 4 nodes of 8, 32 tasks, and 2 nodes that srun takes of 8. */
static void test_gpus__are_those_of_srun(void **state)
{
    (void)state;
    assert_int_equal(import("srun -N4 torchrun --nproc_per_node 8 x.py --bf16", 0).gpus, 32);
    assert_int_equal(import("srun -N 4 --gpus-per-node=8 python x.py --bf16", 0).gpus, 32);
    assert_int_equal(import("srun -n 32 --ntasks-per-node=8 python x.py --bf16", 0).gpus, 32);
    assert_int_equal(
        import("#SBATCH --nodes=8\n#SBATCH --gpus-per-node=h100:4\nsrun -N2 python x.py --bf16", 0)
            .gpus,
        8);
    assert_int_equal(import("#SBATCH --ntasks=1 --gres=gpu:8\n"
                            "torchrun --nproc_per_node 8 x.py --bf16",
                            0)
                         .gpus,
                     8);
}

static void test_gpus__of_as_many_nodes_as_there_are_are_not_known(void **state)
{
    (void)state;
    assert_int_equal(import("torchrun --nnodes 2:4 --nproc_per_node 8 x.py --bf16", 0).gpus, 0);
    assert_non_null(strstr(warning, "--nnodes 2:4"));
}

static void test_sourced_files__are_warned_of_once(void **state)
{
    const char *found;

    (void)state;
    import("source env.sh\nsource more.sh\ntorchrun x.py --bf16", 0);
    found = strstr(warning, "is not read: source env.sh");
    assert_non_null(found);
    assert_null(strstr(found + 1, "is not read"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults__are_one_gpu_of_everything),
        cmocka_unit_test(test_dp__follows_from_the_gpus),
        cmocka_unit_test(test_expert_tensor_parallelism__is_tp_when_absent),
        cmocka_unit_test(test_recomputation__in_each_of_its_forms),
        cmocka_unit_test(test_blocks_of_recomputation__are_of_a_chunk),
        cmocka_unit_test(test_layers_of_a_chunk__count_the_ends_where_the_split_does),
        cmocka_unit_test(test_layers_of_a_chunk__leave_mtp_out),
        cmocka_unit_test(test_layers_of_a_chunk__say_what_their_number_says),
        cmocka_unit_test(test_parsed_chunks__count_before_layers_of_a_chunk),
        cmocka_unit_test(test_chunks_that_do_not_divide__are_refused),
        cmocka_unit_test(test_splits_that_megatron_refuses__are_refused),
        cmocka_unit_test(test_chunks_of_an_unknown_model__are_said_or_given),
        cmocka_unit_test(test_layouts__are_the_split_that_deals_the_same),
        cmocka_unit_test(test_odd_layouts__stay_as_they_are),
        cmocka_unit_test(test_layouts_of_other_models__leave_the_split_open_and_say_so),
        cmocka_unit_test(test_first_stage_alone__leaves_the_rest_even),
        cmocka_unit_test(test_models__have_megatrons_defaults),
        cmocka_unit_test(test_gated_mlps__keep_two_thirds),
        cmocka_unit_test(test_group_query_attention_alone__is_multi_query),
        cmocka_unit_test(test_layer_lists__make_kinds),
        cmocka_unit_test(test_parsed_arguments__say_the_same),
        cmocka_unit_test(test_fsdp__is_zero_by_its_strategy),
        cmocka_unit_test(test_arguments__win_over_notes),
        cmocka_unit_test(test_notes__stand_where_arguments_are_coarser),
        cmocka_unit_test(test_what_has_no_price__is_said),
        cmocka_unit_test(test_graphs_of_layers__have_the_words_of_their_release),
        cmocka_unit_test(test_graphs_of_iterations__have_the_words_of_their_release),
        cmocka_unit_test(test_other_graphs__become_the_nearest),
        cmocka_unit_test(test_fused_experts__need_their_format),
        cmocka_unit_test(test_attention_in_8_bits__is_an_option_or_a_note),
        cmocka_unit_test(test_user_buffers__are_the_overlap_of_tensor_parallelism),
        cmocka_unit_test(test_fused_experts_and_gathers__are_flags),
        cmocka_unit_test(test_values_that_cannot_be__are_refused),
        cmocka_unit_test(test_overrides__are_arguments),
        cmocka_unit_test(test_keys_without_an_override__are_those_of_the_recipe),
        cmocka_unit_test(test_flags_that_are_not_read__are_listed_beside_the_warnings),
        cmocka_unit_test(test_files_that_say_nothing__are_refused),
        cmocka_unit_test(test_the_launch__is_the_command_that_counts),
        cmocka_unit_test(test_flags_of_2021__mean_todays),
        cmocka_unit_test(test_deepspeeds_engine__shards_by_its_stage),
        cmocka_unit_test(test_deepspeeds_json__is_read_where_the_script_makes_it),
        cmocka_unit_test(test_deepspeeds_pipeline__deals_what_its_method_names),
        cmocka_unit_test(test_experts_of_deepspeed__are_in_every_second_layer),
        cmocka_unit_test(test_vocabularies__are_those_of_tokenizers_padded),
        cmocka_unit_test(test_models_that_are_not_known__say_what_is_missing),
        cmocka_unit_test(test_gpus__are_those_of_the_launcher),
        cmocka_unit_test(test_quoted_lists__lose_their_quotes),
        cmocka_unit_test(test_doubtful_flags__say_what_they_hang_on),
        cmocka_unit_test(test_holes__are_said),
        cmocka_unit_test(test_options_given_twice__are_told_where_one_is_doubtful),
        cmocka_unit_test(test_values_that_a_loop_sets__are_not_given),
        cmocka_unit_test(test_launches__are_counted_and_the_one_taken_is_told),
        cmocka_unit_test(test_launches_behind_exit__are_told),
        cmocka_unit_test(test_variables_that_stand_for_a_launch__are_told),
        cmocka_unit_test(test_a_part_of_offload__is_in_tenths),
        cmocka_unit_test(test_offloaded_modules__are_the_largest_set_within),
        cmocka_unit_test(test_parameters_in_four_bits__have_a_flag_of_their_own),
        cmocka_unit_test(test_gpus__are_those_of_srun),
        cmocka_unit_test(test_gpus__of_as_many_nodes_as_there_are_are_not_known),
        cmocka_unit_test(test_sourced_files__are_warned_of_once),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
