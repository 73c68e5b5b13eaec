/* test_pipelining.c - the CSV that PyTorch's pipeline runtime loads, and what is around it */
#include <stdio.h>
#include <string.h>

#include "support/arena_fixture.h"
#include "support/launched.h"
#include "support/must.h"

static plait_launch_folder folder_of(const launched_case *of)
{
    launched_plan made;
    plait_launch_folder folder;
    plait_error err;

    launched_make(of, arena, &made);
    must(plait_launch_render(&made.launch, PLAIT_LAUNCH_PIPELINING, arena, &folder, &err), &err);
    return folder;
}

/* Two stages, gbs 8 over dp 2 with mbs 1: four microbatches, as test_schedule_actions.c draws. */
static void test_schedule__of_two_stages_by_hand(void **state)
{
    static const launched_case two = {
        "gpt2-large", "h100-80gb-sxm:1x8", "megatron", 8, 1024, 8, "tp=2 pp=2 mbs=1 schedule=1f1b"};
    const plait_launch_folder folder = folder_of(&two);

    (void)state;
    assert_string_equal(launched_file(&folder, "schedule.csv"),
                        "0F0,0F1,0B0,0F2,0B1,0F3,0B2,0B3\n"
                        "1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n");
}

/* Chunks in pipeline order: stage 2 is the second chunk of rank 0. */
static void test_script__lists_the_modules_of_each_stage(void **state)
{
    static const launched_case four = {"llama-3.2-3b",
                                       "h100-80gb-sxm:1x8",
                                       "megatron",
                                       8,
                                       4096,
                                       16,
                                       "pp=2 vpp=2 mbs=1 split=even"};
    const plait_launch_folder folder = folder_of(&four);
    const char *const script = launched_file(&folder, "pipeline.py");

    (void)state;
    assert_non_null(strstr(script, "MESH = {\"pp\": 2, \"dp\": 4, \"cp\": 1, \"tp\": 1}\n"));
    assert_non_null(strstr(script,
                           "STAGES = [\n"
                           "    [\"tok_embeddings\", \"layers.0\", \"layers.1\", \"layers.2\", "
                           "\"layers.3\", \"layers.4\", \"layers.5\", \"layers.6\"],\n"
                           "    [\"layers.7\", "));
    assert_non_null(strstr(script, "\"layers.27\", \"norm\", \"output\"],\n]\n"));
    assert_non_null(strstr(script, "MICROBATCHES = 4\nMICROBATCH = 1  # sequences\n"));
}

static void test_what_starts_it__comes_along(void **state)
{
    static const launched_case two = {"gpt2-large",     "h100-80gb-sxm:1x8", "megatron", 8, 1024, 8,
                                      "tp=2 pp=2 mbs=1"};
    const plait_launch_folder folder = folder_of(&two);

    (void)state;
    assert_non_null(strstr(launched_file(&folder, "run.sh"), "\"$here/pipeline.py\" \"$@\""));
    assert_non_null(launched_file(&folder, "submit.sbatch"));
    assert_non_null(launched_file(&folder, "pytorchjob.yaml"));
}

static void assert_refused(const launched_case *of, const char *message)
{
    launched_plan made;
    plait_launch_folder folder;
    plait_error err;

    launched_make(of, arena, &made);
    assert_int_equal(
        plait_launch_render(&made.launch, PLAIT_LAUNCH_PIPELINING, arena, &folder, &err),
        PLAIT_ERROR_RANGE);
    assert_string_equal(err.message, message);
}

static void test_what_pytorch_has_no_words_for__is_refused(void **state)
{
    static const launched_case one = {
        "gpt2-large", "h100-80gb-sxm:1x8", "megatron", 8, 1024, 16, ""};
    static const launched_case both_ends = {"deepseek-v2-lite",
                                            "h800",
                                            "deepseek",
                                            32,
                                            4096,
                                            64,
                                            "ep=8 pp=4 schedule=dualpipe split=spread"};

    (void)state;
    assert_refused(
        &one,
        "expected a plan that pipelining can run, found: pp 1, which needs no pipeline schedule");
    assert_refused(&both_ends, "expected a plan that pipelining can run, found: a schedule with "
                               "each stage on two ranks; PyTorch supports one");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule__of_two_stages_by_hand),
        cmocka_unit_test(test_script__lists_the_modules_of_each_stage),
        cmocka_unit_test(test_what_starts_it__comes_along),
        cmocka_unit_test(test_what_pytorch_has_no_words_for__is_refused),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
