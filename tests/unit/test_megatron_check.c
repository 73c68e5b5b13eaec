/* test_megatron_check.c - the rule checker of launches refuses what Megatron-LM would */
#include <stdio.h>
#include <string.h>

#include "support/assert_near.h"
#include "support/megatron_check.h"

/* 8 layers, 16 heads in 4 groups; 16 GPUs: tp 2, pp 2, dp 4; 8 microbatches. */
static const char dense[] = "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
                            "--num-layers 8\n"
                            "--hidden-size 1024\n"
                            "--ffn-hidden-size 4096\n"
                            "--num-attention-heads 16\n"
                            "--group-query-attention\n"
                            "--num-query-groups 4\n"
                            "--seq-length 2048\n"
                            "--max-position-embeddings 4096\n"
                            "--position-embedding-type rope\n"
                            "--disable-bias-linear\n"
                            "--swiglu\n"
                            "--tensor-model-parallel-size 2\n"
                            "--sequence-parallel\n"
                            "--pipeline-model-parallel-size 2\n"
                            "--micro-batch-size 1\n"
                            "--global-batch-size 32\n"
                            "--use-distributed-optimizer\n"
                            "--overlap-grad-reduce\n"
                            "--overlap-param-gather\n"
                            "--bf16\n"
                            "--lr 0.0001\n"
                            "--train-iters 10\n"
                            "--mock-data\n";

/* The same with 8 experts in all layers but the first, ep 2, etp 2. */
static const char experts[] = "--num-experts 8\n"
                              "--moe-ffn-hidden-size 512\n"
                              "--moe-layer-freq '([0]+[1]*7)'\n"
                              "--moe-shared-expert-intermediate-size 512\n"
                              "--moe-router-topk 2\n"
                              "--moe-router-load-balancing-type none\n"
                              "--moe-grouped-gemm\n"
                              "--moe-token-dispatcher-type alltoall\n"
                              "--expert-model-parallel-size 2\n"
                              "--expert-tensor-parallel-size 2\n";

static const char latent[] = "~--group-query-attention\n"
                             "~--num-query-groups\n"
                             "--multi-latent-attention\n"
                             "--kv-lora-rank 512\n"
                             "--rope-type rope\n"
                             "--no-rope-fusion\n";

/* Mamba-2 of 32 heads in 8 groups. */
static const char hybrid[] = "~--num-layers\n"
                             "--hybrid-layer-pattern 'M*M-|M*M-'\n";

#define HYBRID_EXPERTS                                                                             \
    "--hybrid-layer-pattern 'M*E-|M*E-'\n--num-experts 8\n--moe-router-load-balancing-type none\n" \
    "--moe-token-dispatcher-type alltoall\n--moe-grouped-gemm\n"
#define GRAPHS "--cuda-graph-impl local\n--cuda-graph-modules "

static const char two_chunks[] = "--num-virtual-stages-per-pipeline-rank 2\n";

static const char fsdp[] = "~export\n"
                           "--use-megatron-fsdp\n"
                           "--ckpt-format fsdp_dtensor\n"
                           "--no-gradient-accumulation-fusion\n";

/* ---- launches from parts ---- */

enum { TEXT_SIZE = 8192 };

/* Where the line begins that starts with the same word; NULL: there is none. */
static char *line_like(char *text, const char *line)
{
    const size_t length = strcspn(line, " \n");

    for (char *at = text; *at != '\0'; at += strcspn(at, "\n") + 1)
        if (strncmp(at, line, length) == 0 && strcspn(at, " \n") == length)
            return at;
    return NULL;
}

static void insert(char *at, const char *line)
{
    const size_t length = strcspn(line, "\n") + 1;

    memmove(at + length, at, strlen(at) + 1);
    memcpy(at, line, length);
}

/* Lines take the place of those of the same flag; "~--flag" takes it away. */
static void change(char *text, const char *lines)
{
    for (const char *line = lines; *line != '\0'; line += strcspn(line, "\n") + 1) {
        const bool away = *line == '~';
        char *const old = line_like(text, away ? line + 1 : line);
        if (old != NULL) {
            const char *const rest = old + strcspn(old, "\n") + 1;
            memmove(old, rest, strlen(rest) + 1);
        }
        if (!away)
            insert(strncmp(line, "export", 6) == 0 ? text : text + strlen(text), line);
    }
}

typedef struct launch_case {
    const char *rule; /* NULL: nothing is wrong */
    const char *part; /* changes that make another good launch */
    const char *lines;
} launch_case;

static void check(const launch_case *c, int world, int arch)
{
    char text[TEXT_SIZE];
    megatron_finding found;

    snprintf(text, sizeof text, "# a comment, 'unfinished\n%s", dense);
    if (c->part != NULL)
        change(text, c->part);
    change(text, c->lines);
    megatron_check(text, world, arch, &found);
    if (c->rule == NULL && found.rule != NULL)
        fail_msg("refused by %s, %s:\n%s", found.rule, found.sentence, text);
    if (c->rule != NULL && (found.rule == NULL || strcmp(found.rule, c->rule) != 0))
        fail_msg("%s expected, found %s, %s:\n%s", c->rule, found.rule ? found.rule : "nothing",
                 found.rule ? found.sentence : "", text);
}

static void check_all(const launch_case *cases, size_t count, int world, int arch)
{
    for (size_t i = 0; i < count; i++)
        check(&cases[i], world, arch);
}

#define CHECK_ALL(cases, world, arch) check_all(cases, sizeof(cases) / sizeof *(cases), world, arch)

/* ---- what is right ---- */

static void test_launches__that_are_right_pass(void **state)
{
    static const launch_case cases[] = {
        {NULL, NULL, ""},
        {NULL, experts, ""},
        {NULL, latent, ""},
        {NULL, two_chunks, ""},
        {NULL, fsdp, ""},
        {NULL, NULL, "~--sequence-parallel\n"},
        {NULL, NULL, "~export\n--tensor-model-parallel-size 1\n~--sequence-parallel\n"},
        {NULL, NULL, "--num-layers-per-virtual-pipeline-stage 2\n"},
        {NULL, NULL, "--pipeline-model-parallel-layout 'Et*2|t*2|(t|)tt*2L'\n"},
        {NULL, NULL, "--pipeline-model-parallel-layout 'Et*5|t*3mL'\n--mtp-num-layers 1\n"},
        {NULL, NULL, "--decoder-first-pipeline-num-layers 3\n"},
        {NULL, NULL,
         "--decoder-first-pipeline-num-layers 3\n--decoder-last-pipeline-num-layers 5\n"},
        {NULL, two_chunks,
         "--decoder-first-pipeline-num-layers 2\n--decoder-last-pipeline-num-layers 6\n"},
        {NULL, NULL, "--num-layers 7\n--account-for-loss-in-pipeline-split\n"},
        {NULL, two_chunks,
         "--num-layers 6\n--account-for-loss-in-pipeline-split\n"
         "--account-for-embedding-in-pipeline-split\n"},
        {NULL, NULL, "--context-parallel-size 2\n--cp-comm-type a2a\n"},
        {NULL, NULL, "--context-parallel-size 2\n--cp-comm-type all_gather\n"},
        {NULL, latent, "--attention-backend flash\n--flash-attention-version 3\n"},
        {NULL, NULL,
         "--recompute-granularity full\n--recompute-method block\n--recompute-num-layers 2\n"},
        {NULL, experts,
         "--recompute-granularity selective\n--recompute-modules layernorm moe_act\n"},
        {NULL, experts, "--expert-tensor-parallel-size 1\n--expert-model-parallel-size 8\n"},
        {NULL, experts, "--num-distributed-optimizer-instances 2\n"},
        {NULL, experts, "--use-tp-pp-dp-mapping\n--expert-tensor-parallel-size 1\n"},
        {NULL, latent, "--rope-type yarn\n~--no-rope-fusion\n"},
    };

    (void)state;
    CHECK_ALL(cases, 16, 9);
}

/* Copies and kernels of Blackwell overlap without being told to stand in one queue. */
static void test_launches__need_one_connection_before_blackwell(void **state)
{
    static const launch_case before[] = {{"V32", NULL, "~export\n"}};
    static const launch_case after[] = {{NULL, NULL, "~export\n"}, {NULL, NULL, ""}};

    (void)state;
    CHECK_ALL(before, 16, 8);
    CHECK_ALL(before, 16, 9);
    CHECK_ALL(after, 16, 10);
}

static void test_launches__fit_their_number_of_gpus(void **state)
{
    static const launch_case odd[] = {{"V1", NULL, ""}};
    static const launch_case large[] = {{"V7", NULL, ""}, {NULL, NULL, "--global-batch-size 48\n"}};

    (void)state;
    CHECK_ALL(odd, 18, 9);
    CHECK_ALL(large, 24, 9);
}

/* ---- what is wrong ---- */

static void test_launches__that_the_parser_refuses(void **state)
{
    static const launch_case cases[] = {
        {"flags", NULL, "--tensor-parallel-size 2\n"},
        {"flags", NULL, "--num_layers 8\n"},
        {"flags", NULL, "--rotary-base 10000.0\n"},
        {"flags", NULL, "--rotary-base 1e6\n"},
        {"flags", NULL, "--lr fast\n"},
        {"flags", NULL, "--normalization rmsnorm\n"},
        {"flags", NULL, "--attention-backend flash2\n"},
        {"flags", NULL, "--swiglu true\n"},
        {"flags", NULL, "--num-layers\n"},
        {"flags", NULL, "--hidden-size 1024 2048\n"},
        {"flags", NULL, "--save it's\n"},
        {"flags", NULL, "--save $HOME/a\n"},
        {"flags", experts, "--moe-layer-freq ([0]+[1]*7)\n"},
        {"flags", experts, "--moe-layer-freq '([0]+[1]*6)'\n"},
        {"flags", experts, "--moe-layer-freq '([0]+[1]*7'\n"},
        {"flags", NULL, "--pipeline-model-parallel-layout 'Et*4|t*4x'\n"},
        {"flags", NULL, "--pipeline-model-parallel-layout 'tE|t*7L'\n"},
    };

    (void)state;
    CHECK_ALL(cases, 16, 9);
}

static void test_launches__that_validation_refuses(void **state)
{
    static const launch_case cases[] = {
        {"V1", NULL, "--pipeline-model-parallel-size 3\n"},
        {"V5", NULL, "~--micro-batch-size\n"},
        {"V5", NULL, "--global-batch-size 0\n"},
        {"V7", NULL, "--micro-batch-size 3\n"},
        {"V7", NULL, "--eval-global-batch-size 6\n"},
        {"V8", two_chunks, "--num-layers-per-virtual-pipeline-stage 2\n"},
        {"V8", two_chunks, "--pipeline-model-parallel-layout 'Et*2|t*2|t*2|t*2L'\n"},
        {"V9", NULL, "--pipeline-model-parallel-layout 'Et*3|t*3|t*2L'\n"},
        {"V10", NULL, "--num-layers-per-virtual-pipeline-stage 3\n"},
        {"V10", NULL,
         "--num-layers-per-virtual-pipeline-stage 2\n--decoder-first-pipeline-num-layers 4\n"},
        {"V11", NULL, "--num-layers 7\n"},
        {"V11", NULL, "--account-for-loss-in-pipeline-split\n"},
        {"V12", two_chunks, "--no-overlap-p2p-communication\n"},
        {"V12", two_chunks, "--pipeline-model-parallel-size 1\n"},
        {"V13", NULL, "~--overlap-grad-reduce\n"},
        {"V13", NULL, "~--use-distributed-optimizer\n"},
        {"V16", fsdp, "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"},
        {"V16", fsdp, "~--ckpt-format\n"},
        {"V16", NULL, "--ckpt-format fsdp_dtensor\n"},
        {"V16", fsdp, "--optimizer muon\n"},
        {"V16", fsdp, "--megatron-fsdp-version 2\n"},
        {"V19", NULL,
         "--fp8-format e4m3\n--fp8-param-gather\n~--use-distributed-optimizer\n"
         "~--overlap-param-gather\n"},
        {"V19", NULL, "--fp8-param-gather\n"},
        {"V20", NULL, "--fp8-format e4m3\n--fp4-format e2m1\n"},
        {"V20", NULL, "--fp4-param-gather\n"},
        {"V21", NULL, "--fp16\n"},
        {"V21", NULL, "--main-grads-dtype bf16\n"},
        {"V22", NULL, "--train-samples 1000\n"},
        {"V22", NULL, "--lr-warmup-fraction 0.1\n--lr-warmup-iters 5\n"},
        {"V23", NULL, "~--max-position-embeddings\n"},
        {"V24", NULL, "--num-attention-heads 12\n"},
        {"V25", NULL, "--context-parallel-size 2\n--seq-length 2050\n~--sequence-parallel\n"},
        {"V26", NULL, "--max-position-embeddings 1024\n"},
        {"V27", NULL, "--min-lr 0.1\n"},
        {"V29", NULL, "--distribute-saved-activations\n"},
        {"V30", NULL, "--recompute-granularity selective\n--recompute-method block\n"},
        {"V31", NULL, "--tp-comm-overlap\n~--sequence-parallel\n"},
        {"V32", NULL, "~export\n"},
        {"V32", NULL, "~export\n--tensor-model-parallel-size 1\n--context-parallel-size 2\n"},
        {"V35", NULL, "--expert-model-parallel-size 2\n"},
        {"V35", experts, "--expert-model-parallel-size 3\n"},
        {"V36", NULL, "--cross-entropy-loss-fusion\n--cross-entropy-fusion-impl te\n"},
        {"V37", NULL, "--data-path /data\n"},
        {"V38", NULL, "--multi-latent-attention\n"},
        {"V39", NULL, "--optimizer-cpu-offload\n"},
        {"V43", NULL, "--mtp-num-layers 1\n--position-embedding-type yarn\n"},
    };

    (void)state;
    CHECK_ALL(cases, 16, 9);
}

/* G1 says V1 again, and 1 microbatch is there whenever B1 holds and the batch is positive. */
static void test_launches__whose_batches_or_groups_do_not_divide(void **state)
{
    static const launch_case cases[] = {
        {"B1", NULL, "--global-batch-size 30\n--eval-global-batch-size 32\n"},
        {"B2", NULL,
         "--global-batch-size 3\n--eval-global-batch-size 32\n"
         "--decrease-batch-size-if-needed\n"},
        {"G2", experts, "--expert-tensor-parallel-size 3\n"},
        {"G2", experts, "--expert-tensor-parallel-size 2\n--expert-model-parallel-size 8\n"},
        {"G5", experts, "--use-tp-pp-dp-mapping\n"},
        {"G5", NULL, "--use-tp-pp-dp-mapping\n--context-parallel-size 2\n"},
        {"G6", NULL, "--num-distributed-optimizer-instances 3\n"},
        {"G6", experts, "--num-distributed-optimizer-instances 4\n"},
    };

    (void)state;
    CHECK_ALL(cases, 16, 9);
}

static void test_launches__whose_configuration_is_refused(void **state)
{
    static const launch_case cases[] = {
        {"C1", NULL, "--num-attention-heads 15\n--num-query-groups 5\n--kv-channels 64\n"},
        {"C2", NULL, "--num-query-groups 3\n"},
        {"C3", NULL, "--pipeline-model-parallel-layout 'Et*4|t*3L'\n"},
        {"C3", NULL, "--pipeline-model-parallel-layout 't*4|t*4L'\n"},
        {"C3", NULL, "--pipeline-model-parallel-layout 'Et*4|t*4mL'\n"},
        {"C3", NULL, "--pipeline-model-parallel-layout 'Et*4|t*4L'\n--mtp-num-layers 1\n"},
        {"C3", NULL,
         "--pipeline-model-parallel-layout 'Et*4|t*2|t*2m|L'\n--mtp-num-layers 1\n"
         "--pipeline-model-parallel-size 4\n~--group-query-attention\n"
         "--decoder-first-pipeline-num-layers 4\n"},
        {"C3", NULL,
         "--pipeline-model-parallel-layout 'Et*4|t*4L'\n"
         "--account-for-loss-in-pipeline-split\n"},
        {"C4", NULL, "--decoder-first-pipeline-num-layers 8\n"},
        {"C4", NULL,
         "--decoder-first-pipeline-num-layers 3\n--decoder-last-pipeline-num-layers 4\n"},
        {"C4", NULL,
         "--decoder-first-pipeline-num-layers 4\n--account-for-loss-in-pipeline-split\n"},
        {"C4", two_chunks, "--decoder-first-pipeline-num-layers 3\n"},
        {"C4", NULL, "--pipeline-model-parallel-size 4\n--decoder-first-pipeline-num-layers 1\n"},
        {"C5", two_chunks,
         "--num-layers 5\n--account-for-loss-in-pipeline-split\n"
         "--account-for-embedding-in-pipeline-split\n"},
        {"C5", two_chunks, "--num-layers 5\n--account-for-loss-in-pipeline-split\n"},
        {"C6", NULL, "--recompute-granularity full\n"},
        {"C6", NULL, "--recompute-granularity full\n--recompute-method uniform\n"},
        {"C6", NULL, "--recompute-granularity selective\n--recompute-num-layers 2\n"},
        {"C6", NULL, "--recompute-granularity selective\n--recompute-modules attention\n"},
        {"C6", experts,
         "--recompute-granularity selective\n--recompute-modules moe_act\n"
         "~--moe-grouped-gemm\n"},
        {"C6", NULL, "--recompute-granularity selective\n--recompute-modules mla_up_proj\n"},
        {"C6", experts,
         "--recompute-granularity selective\n--recompute-modules shared_experts\n"
         "--moe-shared-expert-overlap\n"},
        {"C6", NULL,
         "--recompute-granularity selective\n--recompute-modules layernorm\n"
         "--fp8-format hybrid\n"},
        {"C10", NULL, "--moe-ffn-hidden-size 512\n"},
        {"C11", experts, "~--disable-bias-linear\n"},
        {"C12", experts, "--moe-enable-deepep\n"},
        {"C12", experts, "--moe-shared-expert-overlap\n~--moe-token-dispatcher-type\n"},
        {"C12", experts,
         "--moe-router-padding-for-quantization\n--moe-token-dispatcher-type allgather\n"},
        {"C13", experts, "--moe-pad-expert-input-to-capacity\n"},
        {"C13", experts,
         "--moe-expert-capacity-factor 1.5\n--moe-router-load-balancing-type sinkhorn\n"},
        {"C14", experts, "--moe-router-enable-expert-bias\n"},
        {"C15", experts, "--moe-router-topk 1\n"},
        {"C16", experts, "--moe-router-group-topk 2\n"},
        {"C16", experts, "--moe-router-num-groups 3\n--moe-router-group-topk 2\n"},
        {"C16", experts, "--moe-router-num-groups 4\n--moe-router-group-topk 5\n"},
        {"C17", experts, "--moe-aux-loss-coeff 0.1 0.01\n"},
        {"C17", experts, "--moe-router-load-balancing-type aux_loss seq_aux_loss\n"},
        {"C18", experts, "--overlap-moe-expert-parallel-comm\n"},
        {"C18", experts,
         "--overlap-moe-expert-parallel-comm\n--num-virtual-stages-per-pipeline-rank 2\n"
         "--recompute-granularity selective\n--recompute-modules moe\n"},
        {"C19", experts, "--delay-wgrad-compute\n"},
        {"C20", NULL, "--defer-embedding-wgrad-compute\n--pipeline-model-parallel-size 1\n"},
        {"C20", NULL, "--defer-embedding-wgrad-compute\n--no-gradient-accumulation-fusion\n"},
        {"C21", NULL, "--context-parallel-size 2\n--cp-comm-type p2p a2a\n"},
        {"C25", latent, "~--no-rope-fusion\n"},
        {"C25", latent, "--rotary-interleaved\n"},
        {"C26", NULL, "--rope-type yarn\n"},
    };

    (void)state;
    CHECK_ALL(cases, 16, 9);
}

/* L2 is out of reach: the rules before it leave a layer to every chunk that counts an end. */
static void test_launches__whose_layers_or_microbatches_do_not_fit(void **state)
{
    static const launch_case cases[] = {
        {"L1", two_chunks, "--num-layers 6\n"},
        {"L1", two_chunks, "--num-layers 9\n"},
        {"L3", NULL,
         "--pipeline-model-parallel-size 1\n--decoder-first-pipeline-num-layers 3\n"
         "--decoder-last-pipeline-num-layers 5\n"},
        {"S1", two_chunks, "--global-batch-size 4\n"},
        {"S1", two_chunks, "--microbatch-group-size-per-virtual-pipeline-stage 1\n"},
        {"S1", two_chunks, "--microbatch-group-size-per-virtual-pipeline-stage 9\n"},
        {"S2", two_chunks, "--global-batch-size 36\n"},
        {"S2", two_chunks, "--microbatch-group-size-per-virtual-pipeline-stage 7\n"},
    };

    (void)state;
    CHECK_ALL(cases, 16, 9);
}

/* F7 says V35 again. */
static void test_launches__that_fail_in_the_first_forward_pass(void **state)
{
    static const launch_case cases[] = {
        {"F1", experts, "~--sequence-parallel\n"},
        {"F2", NULL, "--ffn-hidden-size 4095\n"},
        {"F2", experts, "--ffn-hidden-size 4095\n"},
        {"F3", experts, "--moe-ffn-hidden-size 511\n"},
        {"F4", experts, "--moe-shared-expert-intermediate-size 511\n"},
        {"F5", NULL, "--seq-length 2049\n"},
        {"F6", NULL,
         "--cp-comm-type a2a\n--context-parallel-size 4\n--pipeline-model-parallel-size 1\n"},
        {"F6", NULL, "--cp-comm-type allgather\n--context-parallel-size 2\n"},
        {"F6", latent,
         "--cp-comm-type all_gather\n--context-parallel-size 2\n"
         "--experimental-attention-variant dsa\n"},
        {"F9", NULL, "--attention-backend unfused\n--context-parallel-size 2\n"},
        {"F9", NULL, "--attention-backend flash\n--softmax-type learnable\n"},
        {"F9", latent, "--attention-backend flash\n--flash-attention-version 2\n"},
        {"F8", experts, "--moe-router-topk 9\n"},
    };

    (void)state;
    CHECK_ALL(cases, 16, 9);
}

static void test_hybrids__are_divided_by_their_pattern(void **state)
{
    static const launch_case cases[] = {
        {NULL, hybrid, ""},
        {NULL, hybrid, "--hybrid-layer-pattern 'M*|M-|M*|M-/*-/*-'\n"},
        {NULL, hybrid, "--hybrid-layer-pattern 'M*M-M*'\n--decoder-first-pipeline-num-layers 2\n"},
        {"flags", hybrid, "--hybrid-layer-pattern 'M*MX|M*M-'\n"},
        {"flags", hybrid, "--hybrid-layer-pattern 'M*|M+'\n"},
        {"flags", hybrid, "--hybrid-layer-pattern 'M*|M-/*-/M-'\n"},
        {"V48", hybrid, "--num-virtual-stages-per-pipeline-rank 2\n"},
        {"V48", hybrid, "--decoder-first-pipeline-num-layers 3\n"},
        {"V49", hybrid, "--hybrid-layer-pattern 'M*|M-|M*'\n"},
        {"V11", hybrid, "--hybrid-layer-pattern 'M*M-M'\n"},
        {"V43", hybrid,
         "--hybrid-layer-pattern 'M*|M-/*-'\n--position-embedding-type learned_absolute\n"},
    };

    (void)state;
    CHECK_ALL(cases, 16, 9);
}

static void test_layers_of_hybrids__are_refused(void **state)
{
    static const launch_case cases[] = {
        {NULL, hybrid, HYBRID_EXPERTS},
        {NULL, hybrid, GRAPHS "attn mlp mamba\n"},
        {NULL, hybrid, HYBRID_EXPERTS GRAPHS "attn moe_router mamba\n"},
        {"C27", hybrid, HYBRID_EXPERTS GRAPHS "attn mlp moe_router mamba\n"},
        {"C31", hybrid, "--hybrid-layer-pattern 'M*E-|M*E-'\n"},
        {"C32", hybrid, "--mamba-num-groups 7\n"},
        {"C32", hybrid, "--mamba-num-heads 12\n"},
        {"C32", hybrid, "--mamba-num-groups 1\n"},
        {"C32", hybrid,
         "--mamba-num-heads 8\n--context-parallel-size 8\n"
         "--hybrid-layer-pattern 'M-M-'\n--pipeline-model-parallel-size 1\n"},
        {NULL, hybrid, "--mamba-num-heads 40\n"},
        {"C32", hybrid, "--mamba-num-heads 40\n--fp8-format hybrid\n"},
        {"F2", hybrid, "--ffn-hidden-size 4095\n"},
        {NULL, hybrid, "--hybrid-layer-pattern 'M*|M*'\n--ffn-hidden-size 4095\n"},
    };

    (void)state;
    CHECK_ALL(cases, 16, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launches__that_are_right_pass),
        cmocka_unit_test(test_launches__need_one_connection_before_blackwell),
        cmocka_unit_test(test_launches__fit_their_number_of_gpus),
        cmocka_unit_test(test_launches__that_the_parser_refuses),
        cmocka_unit_test(test_launches__that_validation_refuses),
        cmocka_unit_test(test_launches__whose_batches_or_groups_do_not_divide),
        cmocka_unit_test(test_launches__whose_configuration_is_refused),
        cmocka_unit_test(test_launches__whose_layers_or_microbatches_do_not_fit),
        cmocka_unit_test(test_launches__that_fail_in_the_first_forward_pass),
        cmocka_unit_test(test_hybrids__are_divided_by_their_pattern),
        cmocka_unit_test(test_layers_of_hybrids__are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
