/* test_shell_bash.c - what bash does with a script, and the reader says too, or says it is not known */
#include <string.h>

#include "support/arena_fixture.h"
#include "support/must.h"
#include "support/shell_fixture.h"
#include "shell/shell.h"

/* ---- how commands end ---- */

/* bash says 8 and 2; of what a program answers nobody knows. */
static void test_programs__may_fail_and_what_is_set_behind_them_is_not_known(void **state)
{
    (void)state;
    assert_string_equal(value("A=2; command -v slurm >/dev/null && A=8"), "?");
    assert_string_equal(value("A=2; make || A=8"), "?");
    assert_string_equal(value("A=2; ! make && A=8"), "?");
    assert_string_equal(value("A=2; B=$(hostname) || A=8"), "?");
    assert_string_equal(value("A=2; make && { A=8; }"), "?");
    assert_string_equal(value("A=2; make && false || A=8"), "8");
    assert_string_equal(value("A=2; mkdir -p x && cd x && A=8"), "?");
    assert_string_equal(value("A=2; cd x || A=8"), "?");
    assert_string_equal(value("A=2; if cd x; then A=8; fi"), "?");
    assert_string_equal(value("A=2; ! { false; } && A=8"), "8");
    assert_string_equal(value("A=2; ! true | false && A=8"), "?");
}

/* Behind a program a launch is one; behind a condition it is in doubt. */
static void test_launches__behind_a_program_are_sure(void **state)
{
    static const char script[] = "make && run 1\nmake || run 2\n[ -d x ] && run 3\n"
                                 "false && (run 4)\ncd x && (run 5)";
    shell_words found;
    plait_error err;

    (void)state;
    must(shell_read(&(shell_source){.text = script, .length = strlen(script), .name = "s.sh"},
                    arena, &found, &err),
         &err);
    assert_int_equal(found.commands, 7); // make, 1, make, 2, 3, cd, 5
    assert_false(found.command[1].doubtful);
    assert_true(found.command[3].doubtful);
    assert_true(found.command[4].doubtful);
    assert_string_equal(found.word[found.count - 1], "5");
}

static void test_answers__of_commands_are_known_if_they_are_zero(void **state)
{
    (void)state;
    assert_string_equal(value("[ 4 -ge 8 ]; A=$?"), "?");
    assert_string_equal(value("false; A=$?"), "?");
    assert_string_equal(value("A=2; [ 4 -ge 8 ]; if [ $? -ne 0 ]; then A=8; fi"), "?");
    assert_string_equal(value("A=2; grep -q x f; [ $? = 0 ] && A=8"), "?");
    assert_string_equal(value("[ x -eq 1 ]; A=$?"), "?");
    assert_string_equal(value("if false; then :; fi; A=$?"), "0");
    assert_string_equal(value("set -o pipefail; make | true; A=$?"), "?");
}

static void test_functions_that_return__may_end_there(void **state)
{
    (void)state;
    assert_string_equal(value("A=2; big() { return 1; }; big || A=8"), "?");
    assert_string_equal(value("big() { return 3; }; big; A=$?"), "?");
    assert_string_equal(value("A=2; big() { [ $1 -ge 8 ]; }; big 9 && A=8"), "8");
    assert_string_equal(
        value("A=2; big() { if [ $1 -ge 8 ]; then return 0; fi; return 1; }; big 9 && A=8"), "?");
    assert_string_equal(value("A=2; big() { [ -d x ] && return 1; true; }; big && A=8"), "?");
    assert_string_equal(value("A=2; f() { { B=1; }; A=4; }; (f)"), "2");
    assert_string_equal(value("A=2; (f() { A=4; }); f"), "?");
    assert_string_equal(value("A=2; if false; then f() { A=4; }; fi; f"), "2");
}

/* ---- what is not read ---- */

static void test_sourced_files__leave_what_was_set_unknown(void **state)
{
    (void)state;
    assert_string_equal(value("A=2; source env.sh"), "?");
    assert_string_equal(value("A=2; [ -f env.sh ] && . env.sh"), "?");
    assert_string_equal(value("A=2; if [ -f env.sh ]; then . env.sh; fi"), "?");
    assert_string_equal(value("A=2; . <(echo A=8)"), "?");
    assert_string_equal(value("A=2; source /dev/stdin <<< A=8"), "?");
    assert_string_equal(value("source env.sh; A=${A:-4}"), "?");
    assert_string_equal(value("source env.sh; A=2"), "2");
    assert_string_equal(value("source env.sh; unset A; A=${A:-4}"), "4");
    assert_string_equal(value("A=2; source venv/bin/activate; B=${B:-4}"), "2");
    assert_string_equal(value("A=2; (source env.sh)"), "2");
    assert_string_equal(value("A=2; for i in 1 2; do source env.sh; done"), "?");
}

static void test_sourced_files__are_named(void **state)
{
    static const char script[] = "source /etc/profile\n. env.sh && run\nsource more.sh";
    shell_words found;
    plait_error err;

    (void)state;
    must(shell_read(&(shell_source){.text = script, .length = strlen(script), .name = "s.sh"},
                    arena, &found, &err),
         &err);
    assert_string_equal(found.sourced, ". env.sh ");
}

static void test_texts_that_are_not_known__may_set_anything(void **state)
{
    (void)state;
    assert_string_equal(value("A=2; export $(cat .env | xargs)"), "?");
    assert_string_equal(value("A=2; eval \"$(cat .env)\""), "?");
    assert_string_equal(value("A=2; eval $(python conf.py)"), "?");
    assert_string_equal(value("A=2; while IFS== read -r k v; do export \"$k=$v\"; done < .env"),
                        "?");
    assert_string_equal(value("A=2; B=$(hostname); export \"B=$B\""), "2");
    assert_string_equal(value("A=2; select A in 4; do break; done"), "?");
    assert_string_equal(value("A=2; declare -n r=A; r=8"), "?");
}

static void test_assignments__may_be_made_of_words(void **state)
{
    (void)state;
    assert_string_equal(value("A=2; for kv in A=8; do export \"$kv\"; done"), "8");
    assert_string_equal(value("A=2; k=A; declare \"$k=8\""), "8");
    assert_string_equal(value("A=2; k=A; export $k=8"), "8");
    assert_string_equal(value("A=2; f() { export $1=$2; }; f A 8"), "8");
    assert_string_equal(value("A=2; command eval A=8"), "?");
    assert_string_equal(value("A=2; builtin export A=8"), "?");
    assert_string_equal(value("f() { declare A; A=8; }; A=2; f"), "2");
    assert_string_equal(value(": ${A:=8}"), "8");
    assert_string_equal(value("A=2; bash -c 'A=8'"), "2");
    assert_string_equal(value("declare -i A=2+3"), "?");
}

/* ---- patterns ---- */

static void test_patterns_with_brackets__are_not_known(void **state)
{
    (void)state;
    assert_string_equal(value("A=2; case 8b in [78]b) A=8 ;; esac"), "?");
    assert_string_equal(value("A=2; case 3 in [1-4]) A=8 ;; esac"), "?");
    assert_string_equal(value("A=2; case ab in [!b]b) A=8 ;; esac"), "?");
    assert_string_equal(value("A=2; case b in [^b]) A=8 ;; esac"), "?");
    assert_string_equal(value("A=2; case ] in []x]) A=8 ;; esac"), "?");
    assert_string_equal(value("A=2; case [ in [) A=8 ;; esac"), "?");
    assert_string_equal(value("A=2; [[ llama-70b == *-7[0-9]b ]] && A=8"), "?");
    assert_string_equal(value("A=2; [[ llama-70b != *-7[0-9]b ]] && A=8"), "?");
    assert_string_equal(value("A=2; [[ 7 == [[:digit:]] ]] && A=8"), "?");
    assert_string_equal(value("A=2; [[ 7 == [[.7.]] ]] && A=8"), "?");
}

/* Of a loop with one round what stands behind a break is not run. */
static void test_loops_of_one_round__may_be_left(void **state)
{
    (void)state;
    assert_string_equal(value("A=2; for i in 5; do A=$i; break; A=9; done"), "?");
    assert_string_equal(value("A=2; for i in 5; do true && continue; A=9; done"), "?");
    assert_string_equal(value("for i in 5; do break; done; A=9"), "9");
}

static void test_pipes__stand_as_a_whole_behind_a_condition(void **state)
{
    (void)state;
    assert_string_equal(value("A=2; false && true | true && A=8"), "2");
    assert_string_equal(value("A=2; [[ 08 -eq 8 ]] 2>/dev/null && A=8"), "?");
    assert_string_equal(value("A=2; case '' in $Z) ;; esac; B=; case '' in $B) A=8 ;; esac"), "8");
}

static void test_patterns__in_quotes_are_texts(void **state)
{
    (void)state;
    assert_string_equal(value("A=2; [[ 7b == \"7*\" ]] && A=8"), "2");
    assert_string_equal(value("A=2; case '7*' in '7*') A=8 ;; esac"), "8");
    assert_string_equal(value("A=2; case 7b in $B) A=8 ;; esac"), "?");
    assert_string_equal(value("A=2; case 7b in @(7b|8b)) A=8 ;; esac"), "?");
    assert_string_equal(value("A=2; shopt -s nocasematch; [[ B == b ]] && A=8"), "?");
}

/* ---- words of bash ---- */

/* bash -c takes one word: more of them are its $0, $1 and on. */
static void test_lists_in_quotes__are_one_word_or_many(void **state)
{
    (void)state;
    assert_string_equal(words("B=(--a 1)\nbash -c \"run ${B[*]} -x\""), "bash|-c|run|--a|1|-x");
    assert_string_equal(words("B=(--a 1)\nbash -c \"run ${B[@]} -x\""), "bash|-c|run|--a");
    assert_string_equal(words("set -- --a 1\nbash -c \"run $*\""),
                        "set|--|--a|1|bash|-c|run|--a|1");
    assert_string_equal(words("bash -c 'run $0 $1' 4 5"), "bash|-c|run|?|5");
    assert_string_equal(value("B=(1 2); IFS=,; A=\"${B[*]}\"; unset IFS"), "?");
}

static void test_elements_that_are_set__make_the_array_unknown(void **state)
{
    (void)state;
    assert_string_equal(words("B=(--a 8 --b 2); B[1]=4; run \"${B[@]}\""), "run|?");
    assert_string_equal(words("i=1; B=(1 2); B[i+1]=3; run \"${B[@]}\""), "run|?");
    assert_string_equal(value("B=(1 2); B[7]=4; A=\"${B[*]}\""), "?");
    assert_string_equal(value("B=(1 2); B[$X]=4; A=${B[0]}"), "?");
    assert_string_equal(value("A=(1 2); A=4"), "4");
    assert_string_equal(words("B=([0]=1 [1]=2); run ${B[@]}"), "run|?");
}

/* [ -n ] with nothing after it holds, since -n is some text. */
static void test_words_that_vanish__leave_a_condition_open(void **state)
{
    (void)state;
    assert_string_equal(value("A=2; if [ -n $U ]; then A=8; fi"), "?");
    assert_string_equal(value("A=2; if [ ! -n $U ]; then A=8; fi"), "?");
    assert_string_equal(value("A=2; if [ -n \"$U\" ]; then A=8; fi"), "2");
    assert_string_equal(value("A=2; if [ -z $U ]; then A=8; fi"), "8");
    assert_string_equal(value("A=2; if [ $U = x ]; then A=8; fi"), "?");
    assert_string_equal(value("A=2; if [ -z \"$U-\" ]; then A=8; fi"), "2");
}

static void test_words_of_bash__in_their_rarer_forms(void **state)
{
    (void)state;
    assert_string_equal(value("A=$'\\x34'"), "?");
    assert_string_equal(value("A=$'\\064'"), "?");
    assert_string_equal(value("A=$'\\u0034'"), "?");
    assert_string_equal(value("A=$\"4\""), "4");
    assert_string_equal(value("A=$[2 + 2]"), "?");
    assert_string_equal(value("A=${HOSTNAME:+8}"), "?");
    assert_string_equal(value("A=${HOSTNAME:-8}"), "?");
}

static void test_job_lines__end_with_the_first_command(void **state)
{
    (void)state;
    assert_string_equal(words("#!/bin/bash\n\n# a job\n#SBATCH -N 4\nx $SLURM_NNODES\n"
                              "#SBATCH -N 8\nx $SLURM_NNODES"),
                        "#SBATCH|--nodes|4|x|4|x|4");
    assert_string_equal(words("#SBATCH --gpus-per-node=h100:4\nx $SLURM_GPUS_ON_NODE"),
                        "#SBATCH|--gpus-per-node|4|x|4");
}

static void test_options_of_srun__are_spelled_in_full(void **state)
{
    (void)state;
    assert_string_equal(words("srun -N4 -p gpu -n 32 run -n 2"),
                        "srun|--nodes|4|-p|gpu|--ntasks|32|run|-n|2");
    assert_string_equal(words("srun --exclusive run -N 2"), "srun|--exclusive|run|-N|2");
    assert_string_equal(words("#SBATCH -N 8\nsrun -N2 bash -c 'run $SLURM_NNODES'"),
                        "#SBATCH|--nodes|8|srun|--nodes|2|bash|-c|run|?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs__may_fail_and_what_is_set_behind_them_is_not_known),
        cmocka_unit_test(test_launches__behind_a_program_are_sure),
        cmocka_unit_test(test_answers__of_commands_are_known_if_they_are_zero),
        cmocka_unit_test(test_functions_that_return__may_end_there),
        cmocka_unit_test(test_sourced_files__leave_what_was_set_unknown),
        cmocka_unit_test(test_sourced_files__are_named),
        cmocka_unit_test(test_texts_that_are_not_known__may_set_anything),
        cmocka_unit_test(test_assignments__may_be_made_of_words),
        cmocka_unit_test(test_patterns_with_brackets__are_not_known),
        cmocka_unit_test(test_loops_of_one_round__may_be_left),
        cmocka_unit_test(test_pipes__stand_as_a_whole_behind_a_condition),
        cmocka_unit_test(test_patterns__in_quotes_are_texts),
        cmocka_unit_test(test_lists_in_quotes__are_one_word_or_many),
        cmocka_unit_test(test_elements_that_are_set__make_the_array_unknown),
        cmocka_unit_test(test_words_that_vanish__leave_a_condition_open),
        cmocka_unit_test(test_words_of_bash__in_their_rarer_forms),
        cmocka_unit_test(test_job_lines__end_with_the_first_command),
        cmocka_unit_test(test_options_of_srun__are_spelled_in_full),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
