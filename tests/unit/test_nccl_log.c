/* test_nccl_log.c - what nccl-tests prints */
#include <string.h>

#include "support/assert_near.h"
#include "calibrate/points.h"

static const char header[] =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us) "
    " (GB/s)  (GB/s)       \n";

static plait_arena *arena;
static point_list list;
static plait_error err;

static int begin(void **state)
{
    (void)state;
    arena = plait_arena_new();
    points_init(&list, arena);
    err = (plait_error){PLAIT_OK, "", ""};
    return arena == NULL;
}

static int end(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

static plait_status parse(const char *name, const char *text)
{
    return nccl_log_points(text, strlen(text), name, &list, &err);
}

/* A header, ranks on hosts as in "aabb", and rows. */
static const char *output(const char *hosts, const char *rows)
{
    const char *ranks = "";

    for (size_t r = 0; r < strlen(hosts); r++)
        ranks = plait_arena_printf(
            arena, "%s#  Rank %2zu Group  0 Pid  18%zu on   worker-%c device  %zu [0x8d] NVIDIA\n",
            ranks, r, r, hosts[r], r);
    return plait_arena_printf(arena, "# nThread 1 nGpus 1 minBytes 8\n#\n# Using devices\n%s%s%s",
                              ranks, header, rows);
}

static const char all_reduce_rows[] = "     1048576        262144     float     sum      -1    "
                                      "27.76   37.78   66.11      0    27.49\n"
                                      "    16777216       4194304     float     sum      -1   "
                                      "121.33  138.28  242.00      0   120.47\n";

/* 1 MiB in 27.76 us; 66.11 / 37.78 = 1.75 = 2 (8 - 1) / 8. */
static void test_nccl_log__reads_an_all_reduce_of_eight(void **state)
{
    (void)state;
    assert_int_equal(parse("log.txt", output("aaaaaaaa", all_reduce_rows)), PLAIT_OK);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.point[0].kind, POINT_COLLECTIVE);
    assert_int_equal(list.point[0].block, PLAIT_ALL_REDUCE);
    assert_int_equal(list.point[0].ranks, 8);
    assert_int_equal(list.point[0].nodes, 1);
    assert_near(list.point[0].bytes, 1048576.0, 0.0);
    assert_near(list.point[0].s, 27.76e-6, 1e-15);
}

static void test_nccl_log__counts_hosts(void **state)
{
    (void)state;
    assert_int_equal(parse("log.txt", output("aaaabbbb", all_reduce_rows)), PLAIT_OK);
    assert_int_equal(list.point[0].nodes, 2);
}

/* Without lines for ranks: 1.75 = 2 (n - 1) / n for n = 8. */
static void test_nccl_log__finds_the_ranks_of_a_sum_in_its_bandwidths(void **state)
{
    (void)state;
    assert_int_equal(parse("log.txt", output("", all_reduce_rows)), PLAIT_OK);
    assert_int_equal(list.point[1].ranks, 8);
}

static void test_nccl_log__takes_the_test_from_the_text_or_the_name_of_the_file(void **state)
{
    const char *rows = "    16777216        524288     float    none      -1    98.1   171.02  "
                       "149.64    N/A  97\n";
    const char *named =
        plait_arena_printf(arena, "$ ./build/all_gather_perf -b 8\n%s", output("aaaaaaaa", rows));

    (void)state;
    assert_int_equal(parse("log.txt", named), PLAIT_OK);
    assert_int_equal(list.point[0].block, PLAIT_ALL_GATHER);
    assert_int_equal(parse("runs/alltoall_perf.log", output("aaaaaaaa", rows)), PLAIT_OK);
    assert_int_equal(list.point[1].block, PLAIT_ALL_TO_ALL);
}

static void test_nccl_log__asks_for_the_name_of_a_test_that_does_not_sum(void **state)
{
    const char *rows = "    16777216   524288   float  none   -1    98.1   171.02  149.64   N/A\n";

    (void)state;
    assert_int_equal(parse("log.txt", output("aaaaaaaa", rows)), PLAIT_ERROR_SCHEMA);
    assert_string_equal(err.where, "log.txt");
    assert_non_null(strstr(err.message, "all_gather_perf"));
}

static void test_nccl_log__reads_several_tests_of_one_file(void **state)
{
    const char *text = plait_arena_printf(
        arena,
        "# Collective test starting: all_reduce_perf\n%s# Collective test concluded: "
        "all_reduce_perf\n# Collective test starting: reduce_scatter_perf\n%s",
        output("aaaaaaaa", all_reduce_rows),
        output("aaaa", "  1048576  65536  float  sum  -1  20.0  52.43  39.32  0\n"));

    (void)state;
    assert_int_equal(parse("log.txt", text), PLAIT_OK);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.point[1].block, PLAIT_ALL_REDUCE);
    assert_int_equal(list.point[2].block, PLAIT_REDUCE_SCATTER);
    assert_int_equal(list.point[2].ranks, 4);
}

static void test_nccl_log__passes_over_tests_without_constants(void **state)
{
    const char *text = plait_arena_printf(arena, "# Collective test starting: broadcast_perf\n%s",
                                          output("aaaaaaaa", all_reduce_rows));

    (void)state;
    assert_int_equal(parse("log.txt", text), PLAIT_OK);
    assert_int_equal(list.count, 0);
}

static void test_nccl_log__passes_over_what_mpirun_puts_before_a_line(void **state)
{
    const char *text = plait_arena_printf(
        arena, "%s[1,0]<stdout>:  4096  1024  float  sum  -1  20.0  0.20  0.36  0\n",
        output("aaaaaaaa", ""));

    (void)state;
    assert_int_equal(parse("all_reduce_perf.log", text), PLAIT_OK);
    assert_int_equal(list.count, 1);
    assert_near(list.point[0].bytes, 4096.0, 0.0);
}

/* 0 bytes, no time, words: no rows. A file without any is refused. */
static void test_nccl_log__refuses_an_output_without_rows(void **state)
{
    const char *rows =
        "       0       0     float     sum      -1     5.70    0.00    0.00      0\n"
        "    1024     256     float     sum      -1      N/A    0.00    0.00      0\n";

    (void)state;
    assert_int_equal(parse("log.txt", output("aaaaaaaa", rows)), PLAIT_ERROR_SCHEMA);
    assert_non_null(strstr(err.message, "rows of times"));
}

/* A job that was killed leaves half a row: 3 + 8 + 2 lines come before it. */
static void test_nccl_log__refuses_half_a_row_and_says_where(void **state)
{
    (void)state;
    assert_int_equal(parse("log.txt", output("aaaaaaaa", "  1048576  262144  float  sum  -1  27.")),
                     PLAIT_ERROR_SYNTAX);
    assert_string_equal(err.where, "log.txt:14");
    assert_non_null(strstr(err.message, "a time and two bandwidths"));
}

/* What NCCL and others print between the rows is theirs. */
static void test_nccl_log__passes_over_lines_of_others(void **state)
{
    const char *text = plait_arena_printf(
        arena, "%s\nnode-1:880:880 [1] NCCL INFO comm 0x55ba65ac2bd0 rank 1 nranks 2\n1 2 3\n",
        output("aaaaaaaa", all_reduce_rows));

    (void)state;
    assert_int_equal(parse("log.txt", text), PLAIT_OK);
    assert_int_equal(list.count, 2);
}

static void test_nccl_log__says_which_accelerator_it_is_if_the_driver_does(void **state)
{
    static const char rank[] = "#  Rank  0 Group  0 Pid 7 on node-1 device  0 [0x8d] NVIDIA H200\n"
                               "#  Rank  1 Group  0 Pid 7 on node-1 device  1 [0x8e] NVIDIA H200\n";

    (void)state;
    assert_int_equal(
        parse("log.txt", plait_arena_printf(arena, "%s%s%s", rank, header, all_reduce_rows)),
        PLAIT_OK);
    assert_string_equal(list.point[0].measured, "NVIDIA H200");
    assert_int_equal(parse("log.txt", output("aa", all_reduce_rows)), PLAIT_OK);
    assert_string_equal(list.point[2].measured, ""); // "NVIDIA" alone is any
}

static void test_nccl_log__is_told_from_a_table(void **state)
{
    const char table[] = "node_type,collective,ranks,bytes,algbw,busbw,redop\n";
    const char *log = output("aa", all_reduce_rows);

    (void)state;
    assert_true(nccl_log_recognises(log, strlen(log)));
    assert_false(nccl_log_recognises(table, strlen(table)));
    assert_false(nccl_log_recognises("", 0));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_nccl_log__##name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(reads_an_all_reduce_of_eight),
        TEST(counts_hosts),
        TEST(finds_the_ranks_of_a_sum_in_its_bandwidths),
        TEST(takes_the_test_from_the_text_or_the_name_of_the_file),
        TEST(asks_for_the_name_of_a_test_that_does_not_sum),
        TEST(reads_several_tests_of_one_file),
        TEST(passes_over_tests_without_constants),
        TEST(passes_over_what_mpirun_puts_before_a_line),
        TEST(refuses_an_output_without_rows),
        TEST(refuses_half_a_row_and_says_where),
        TEST(passes_over_lines_of_others),
        TEST(says_which_accelerator_it_is_if_the_driver_does),
        TEST(is_told_from_a_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
