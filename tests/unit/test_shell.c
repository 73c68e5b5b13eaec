/* test_shell.c - words of a shell: out in quotes, in as far as they can be known */
#include <stdlib.h>
#include <string.h>

#include "support/arena_fixture.h"
#include "support/must.h"
#include "support/shell_fixture.h"
#include "shell/shell.h"

static void test_words__are_cut_at_blanks_outside_quotes(void **state)
{
    (void)state;
    assert_string_equal(words("a  'b c' \"d e\"f g\\ h"), "a|b c|d ef|g h");
    assert_string_equal(words("a \\\n  b # c\n d#e"), "a|b|d#e");
    assert_string_equal(words("'' a"), "|a");
}

static void test_variables__are_expanded(void **state)
{
    (void)state;
    assert_string_equal(words("A=4\nx --n $A ${A} \"${A}b\""), "x|--n|4|4|4b");
    assert_string_equal(words("A=\"--a 1 --b 2\"\nx $A \"$A\""), "x|--a|1|--b|2|--a 1 --b 2");
    assert_string_equal(words("x ${TP:-8} ${TP:-\"4\"}"), "x|8|4");
}

static void test_arrays__are_spliced_in(void **state)
{
    (void)state;
    assert_string_equal(words("A=(--a 1 # one\n --b 'x y')\nA+=(--c)\nrun \"${A[@]}\""),
                        "run|--a|1|--b|x y|--c");
    assert_string_equal(words("E=()\nrun \"${E[@]}\" z"), "run|z");
}

/* 8 GPUs a node, 4 nodes: 32 ranks. */
static void test_arithmetic__is_done(void **state)
{
    (void)state;
    assert_string_equal(words("G=8\nN=4\nx $(($G*$N)) $((G * (N + 1) - 2)) $((7 / 2))"),
                        "x|32|38|3");
}

static void test_what_is_not_known__is_marked_and_does_not_hide_the_rest(void **state)
{
    shell_words found;
    plait_error err;
    const char *script = "run --a $UNSET --b 2 --c $(hostname) --d $((1 / 0))";

    (void)state;
    must(shell_read(&(shell_source){.text = script, .length = strlen(script), .name = "s.sh"},
                    arena, &found, &err),
         &err);
    assert_int_equal(found.count, 9);
    assert_int_equal(found.unknown, 3);
    assert_string_equal(found.origin[0].text, "$UNSET");
    assert_false(shell_word_known(found.word[2]));
    assert_true(shell_word_known(found.word[4]));
}

static void test_files_that_only_set_variables__say_what_these_hold(void **state)
{
    (void)state;
    assert_string_equal(words("NAME=x\nA=(--a 1)\nB=\"--b 2\"\n"), "--a|1|--b|2");
}

static void test_assignments__are_words_behind_a_command(void **state)
{
    (void)state;
    assert_string_equal(words("export A=1\nrun model.a=2 B=3"), "export|run|model.a=2|B=3");
}

static void test_open_quotes__are_refused_with_their_line(void **state)
{
    shell_words found;
    plait_error err;

    (void)state;
    assert_int_equal(shell_read(&(shell_source){.text = "a\nb 'c\n", .length = 7, .name = "s.sh"},
                                arena, &found, &err),
                     PLAIT_ERROR_SYNTAX);
    assert_string_equal(err.where, "s.sh:3");
    assert_string_equal(err.message, "expected a valid shell script, found a ' that is not closed");
}

/* A text ends where its length says; an address sanitizer knows whether more is read. */
static void test_nothing__is_read_behind_a_text(void **state)
{
    static const char *const scripts[] = {"p && ! ", "p && !", "p &",       "x=$(", "if",
                                          "for",     "case",   "[[",        "((",   "<<",
                                          "2>",      "a |",    "cat >f <<E"};

    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        const size_t length = strlen(scripts[i]);
        char *const text = malloc(length);
        shell_words found;
        plait_error err;

        assert_non_null(text);
        memcpy(text, scripts[i], length);
        (void)!shell_read(&(shell_source){.text = text, .length = length, .name = "s.sh"}, arena,
                          &found, &err);
        free(text);
    }
}

/* What stands for words that are not known stands in no text. */
static void test_bytes_that_mean_something_here__are_refused(void **state)
{
    static const char *const argument[] = {"TP=\x01\x31\x02"};
    const char *const script = "eval \x01";
    shell_words found;
    plait_error err;

    (void)state;
    assert_int_equal(
        shell_read(&(shell_source){.text = script, .length = strlen(script), .name = "s.sh"}, arena,
                   &found, &err),
        PLAIT_ERROR_SYNTAX);
    assert_string_equal(err.message, "expected a valid shell script, found a byte of value 1");
    assert_int_equal(
        shell_read(
            &(shell_source){
                .text = "x", .length = 1, .name = "s.sh", .arguments = 1, .argument = argument},
            arena, &found, &err),
        PLAIT_ERROR_SYNTAX);
    assert_int_equal(shell_read(&(shell_source){.text = "x\0y", .length = 3, .name = "s.sh"}, arena,
                                &found, &err),
                     PLAIT_ERROR_SYNTAX);
    assert_string_equal(err.message, "expected a valid shell script, found a zero byte");
}

static void test_quoted_words__read_back_as_they_are(void **state)
{
    static const char *const hard[] = {"",      "a b", "it's", "$HOME", "a\"b", "x;y",
                                       "(1)*3", "#no", "*",    "\\",    NULL};

    (void)state;
    for (const char *const *word = hard; *word != NULL; word++) {
        const char *const script = plait_arena_printf(arena, "x %s", shell_quoted(*word, arena));

        assert_string_equal(words(script), plait_arena_printf(arena, "x|%s", *word));
    }
}

/* bash reads it back, on one line of plain text. */
static void test_quoted_words__of_what_is_not_plain_steer_nothing(void **state)
{
    const char *const hard = "it's\n\x1b[2J\\ \xe2\x80\xa8";

    (void)state;
    assert_string_equal(shell_quoted(hard, arena), "$'it\\'s\\012\\033[2J\\\\ \\342\\200\\250'");
    assert_string_equal(shell_quoted("\xc3\xa9", arena), "'\xc3\xa9'");
}

/* ---- conditions, functions, files ---- */

static void test_conditions__let_through_what_they_say(void **state)
{
    (void)state;
    assert_string_equal(words("S=7B\nif [ $S = 7B ]; then\n L=32\nelif [ $S = 13B ]; then\n L=40\n"
                              "else\n L=1\nfi\nx $L"),
                        "x|32");
    assert_string_equal(words("S=13B\nif [[ $S == 7* && -n $S ]]; then L=32; else L=40; fi\nx $L"),
                        "x|40");
    assert_string_equal(words("N=8\n[ $N -gt 4 ] && A=1 || A=2\n[[ $N -lt 4 ]] && A=3\nx $A"),
                        "x|1");
    assert_string_equal(words("[ -z \"$W\" ] && W=1\n(( W == 1 )) && V=5\nx $W $V"), "x|1|5");
    assert_string_equal(words("if ! [ a = b ]; then A=1; fi; x $A"), "x|1");
    assert_string_equal(words("Z=$2\nif [ \"$Z\" == \"\" ]; then Z=3; fi\nx $Z"), "x|3");
    assert_string_equal(words("Z=2\nif [ \"$Z\" == \"\" ]; then Z=3; fi\nx $Z"), "x|2");
    assert_string_equal(words("Z=2\n[[ \"\" != $Z ]] && Z=3\nx $Z"), "x|3");
}

static void test_cases__take_the_first_pattern_that_matches(void **state)
{
    (void)state;
    assert_string_equal(
        words("case 13B in\n 7B) L=32 ;;\n 13B|14B) L=40 ;;\n *) L=1 ;;\nesac\nx $L"), "x|40");
    assert_string_equal(words("S=70B-chat\ncase \"$S\" in (70B*) L=80;; *) L=1;; esac\nx $L"),
                        "x|80");
}

/* What $1 decides is not known, and says that it is $1; what is only added to stays. */
static void test_open_conditions__leave_what_they_set_unknown(void **state)
{
    static const char script[] = "if [ $1 = 7B ]; then\n L=32\n A=\"$A --gqa\"\nelse\n L=80\nfi\n"
                                 "A=\"$A --b\"\nrun.py --layers $L $A";
    shell_words found;
    plait_error err;

    (void)state;
    must(shell_read(&(shell_source){.text = script, .length = strlen(script), .name = "s.sh"},
                    arena, &found, &err),
         &err);
    const char *const layers = found.word[2];
    assert_false(shell_word_known(layers));
    assert_string_equal(shell_word_origin(&found, layers)->text, "$1");
    assert_int_equal(found.doubts, 1);
    assert_string_equal(found.doubt[0].option, "--gqa");
    assert_string_equal(found.doubt[0].origin, "$1");
}

static void test_arguments__of_the_script_are_its_positions_and_variables(void **state)
{
    static const char script[] =
        "if [ $1 = 7B ]; then L=32; else L=80; fi\nx $L ${2:-3} $W $# ${10}";
    static const char *const arguments[] = {"7B", "W=4", "9", "c", "d",  "e",
                                            "f",  "g",   "h", "i", "ten"};
    shell_words found;
    plait_error err;

    (void)state;
    must(shell_read(&(shell_source){.text = script,
                                    .length = strlen(script),
                                    .name = "s.sh",
                                    .arguments = 11,
                                    .argument = arguments},
                    arena, &found, &err),
         &err);
    assert_string_equal(found.word[1], "32");
    assert_string_equal(found.word[2], "9");
    assert_string_equal(found.word[3], "4");
    assert_string_equal(found.word[4], "10");
    assert_string_equal(found.word[5], "ten");
}

static void test_scripts_in_scripts__are_followed(void **state)
{
    (void)state;
    assert_string_equal(words("L=\"run --a 1\"\nbash -c '$L --b'"), "bash|-c|run|--a|1|--b");
    assert_string_equal(words("C=\"run --a '([1]*4)'\"\neval $C"), "eval|run|--a|([1]*4)");
    assert_string_equal(words("f() {\n run --n $1\n}\nf 8"), "run|--n|8");
    assert_string_equal(words("function g { run $1; }; for i in 5; do g $i; done"), "run|5");
}

static void test_defaults_and_elements__are_expanded(void **state)
{
    (void)state;
    assert_string_equal(words("A=2\nx ${B:-$((A*4))} ${C:=3} ${A:+y} ${D-}z"), "x|8|3|y|z");
    assert_string_equal(
        words("declare -A L=([7B]=32 [13B]=40)\nL[70B]=80\nS=13B\nx ${L[$S]} ${L[70B]}"),
        "declare|-A|x|?|?");
    assert_string_equal(words("x $((2 ** 10)) $((3 > 2 ? 5 : 6)) $((-4 + 1)) $((1 && 0))"),
                        "x|?|?|-3|0");
}

static void test_job_lines__are_commands_and_variables(void **state)
{
    (void)state;
    assert_string_equal(
        words("#SBATCH --nodes=4  # four\n#SBATCH -n 8\nx $SLURM_NNODES $SLURM_NTASKS"),
        "#SBATCH|--nodes|4|#SBATCH|--ntasks|8|x|4|8");
}

static void test_files__that_a_script_makes_are_kept(void **state)
{
    static const char script[] = "Z=2\ncat <<EOT >./ds.json\n{\"stage\": $Z, \"x\": $U}\nEOT\n"
                                 "cat <<'END' >raw\n$Z\nEND\nrun 2>&1";
    shell_words found;
    plait_error err;

    (void)state;
    must(shell_read(&(shell_source){.text = script, .length = strlen(script), .name = "s.sh"},
                    arena, &found, &err),
         &err);
    assert_int_equal(found.files, 2);
    assert_string_equal(found.file[0].name, "./ds.json");
    assert_true(text_starts_with(found.file[0].text, "{\"stage\": 2, \"x\": \x01"));
    assert_string_equal(found.file[1].text, "$Z\n");
    assert_string_equal(found.word[found.count - 1], "run");
}

/* ---- loops, subshells, sums ---- */

/* bash says 4, 4, 4, 8 and 16. */
static void test_what_a_loop_sets__is_not_known_behind_it(void **state)
{
    (void)state;
    assert_string_equal(value("A=1; for i in 1 2; do A=$((A*2)); done"), "?");
    assert_string_equal(value("A=1; i=0; while [ $i -lt 2 ]; do A=$((A*2)); i=$((i+1)); done"),
                        "?");
    assert_string_equal(value("A=1; until [ $A = 4 ]; do A=$((A*2)); done"), "?");
    assert_string_equal(value("A=1; for ((i = 0; i < 3; i++)); do A=$((A*2)); done"), "?");
    assert_string_equal(
        value("A=1; for i in 1 2; do for j in 1 2; do\n A=$((A*2))\ndone; done # done"), "?");
    assert_string_equal(value("for A in 2 4; do :; done"), "?");
    assert_string_equal(value("f() { A=$((A*2)); }; A=1; for i in 1 2; do f; done"), "?");
    assert_string_equal(value("A=1; for f in *.sh; do A=8; done"), "?");
}

static void test_what_a_loop_leaves_alone__stays_known(void **state)
{
    (void)state;
    assert_string_equal(value("A=4; for i in 1 2; do B=$i; done"), "4");
    assert_string_equal(value("A=4; for i in 1 2; do A=4; done"), "4");
    assert_string_equal(value("A=4; while false; do A=8; done"), "4");
    assert_string_equal(value("A=4; until true; do A=8; done"), "4");
    assert_string_equal(value("A=4; for i in; do A=8; done"), "4");
    assert_string_equal(value("A=4; for i in 1; do A=$((A*2)); done"), "8");
    assert_string_equal(value("A=4; for i in 1 2; do (A=$i); done"), "4");
}

/* Any round is read: what an earlier one has set is not known, what this one sets is. */
static void test_the_body_of_a_loop__is_read_as_any_round(void **state)
{
    shell_words found;
    plait_error err;
    const char *const script =
        "A=1; B=1\nfor i in 1 2 3; do\n run --a $A\n B=5\n run --b $B\n A=$((A+1))\ndone";

    (void)state;
    must(shell_read(&(shell_source){.text = script, .length = strlen(script), .name = "s.sh"},
                    arena, &found, &err),
         &err);
    assert_int_equal(found.commands, 2);
    assert_false(shell_word_known(found.word[2]));
    assert_string_equal(found.word[5], "5");
    assert_int_equal(found.command[1].line, 5);
    // the third round has A=8: what the first one skips is run in a later one
    assert_string_equal(value("A=1; for i in 1 2 3; do [ \"$Z\" = 8 ] && A=8\n"
                              "[ \"$Y\" = 1 ] && Z=8; Y=1; done"),
                        "?");
}

static void test_lists_that_grow_in_a_loop__keep_what_they_had(void **state)
{
    shell_words found;
    plait_error err;
    const char *const script = "A=\"--a 1\"\nB=(--b 2)\nfor i in 1 2; do A=\"$A --c $i\"\n"
                               "B+=(--d $i); done\nrun $A ${B[@]}";

    (void)state;
    must(shell_read(&(shell_source){.text = script, .length = strlen(script), .name = "s.sh"},
                    arena, &found, &err),
         &err);
    assert_int_equal(found.count, 7);
    assert_string_equal(found.word[2], "1");
    assert_true(shell_word_open(found.word[3]));
    assert_string_equal(found.word[5], "2");
    assert_true(shell_word_open(found.word[6]));
    assert_string_equal(shell_word_origin(&found, found.word[6])->text, "for i in 1 2");
}

static void test_subshells__end_with_what_they_set(void **state)
{
    (void)state;
    assert_string_equal(value("A=2; (A=4; if true; then A=8; fi)"), "2");
    assert_string_equal(words("A=2; (A=4; run $A)\nx $A"), "run|4|x|2");
    assert_string_equal(value("A=2; echo x | while read l; do A=4; done"), "2");
    assert_string_equal(value("A=2; if true; then A=4; fi | cat"), "2");
    assert_string_equal(value("A=2; f() { A=4; }; f &"), "2");
    assert_string_equal(value("A=2; { A=4; } &> log"), "4");
    assert_string_equal(value("A=2; (B=1; unset A); A=${A:-8}"), "2");
}

static void test_assignments_before_a_command__are_for_it_alone(void **state)
{
    (void)state;
    assert_string_equal(words("A=2; A=4 run $A\nx $A"), "run|2|x|2");
    assert_string_equal(words("A=2; f() { B=$A; }; A=4 f\nx $A $B"), "x|2|4");
    assert_string_equal(words("A=2; env A=4 run $A"), "env|A=4|run|2");
    assert_string_equal(value("A=2; A=4 2> log"), "4");
}

static void test_functions__keep_what_is_local(void **state)
{
    (void)state;
    assert_string_equal(value("f() { local A=4; }; A=2; f"), "2");
    assert_string_equal(value("f() { declare -g A=4; }; A=2; f"), "4");
    assert_string_equal(value("f() { A=2; return; A=4; }; f"), "?");
    assert_string_equal(value("f() { if [ -d x ]; then A=2; return; fi; A=4; }; f"), "?");
    assert_string_equal(value("f() { [ -d x ] && return; A=4; }; A=2; f"), "?");
}

static void test_sums__set_what_they_count(void **state)
{
    (void)state;
    assert_string_equal(value("A=2; ((A++))"), "?");
    assert_string_equal(value("A=2; (( --A ))"), "?");
    assert_string_equal(value("A=2; ((A += 3))"), "?");
    assert_string_equal(value("A=2; let A+=1"), "?");
    assert_string_equal(value("A=2; B=$((A <<= 1))"), "?");
    assert_string_equal(value("A=2; B=$((++A))\nA=$B"), "?");
    assert_string_equal(value("A=2; ((A == 2 && A <= 2 && A != 3))"), "2");
}

/* 010 is 8; && binds before ||, and < before ==. */
static void test_sums__are_those_of_bash(void **state)
{
    (void)state;
    assert_string_equal(value("A=$(( 010 ))"), "8");
    assert_string_equal(value("B=010; A=$((B + 1))"), "9");
    assert_string_equal(value("A=$(( 08 ))"), "?");
    assert_string_equal(value("B=1+1; A=$((B * 2))"), "4");
    assert_string_equal(value("A=$(( 1 || 0 && 0 ))"), "1");
    assert_string_equal(value("A=$(( 1 == 2 < 3 ))"), "1");
}

static void test_variables__are_unset(void **state)
{
    (void)state;
    assert_string_equal(value("A=4; unset A; A=${A:-2}"), "2");
    assert_string_equal(value("A=4; unset A"), "?");
    assert_string_equal(value("A=4; if [ -d x ]; then unset A; fi; A=${A:-2}"), "?");
    assert_string_equal(value("A=4; read A; A=${A:-2}"), "?");
    assert_string_equal(value("A=4; printf -v A 2"), "?");
}

static void test_arguments__are_shifted_and_set(void **state)
{
    (void)state;
    assert_string_equal(value("set -- 4 2; shift; A=$1"), "2");
    assert_string_equal(value("set -- 4 2; while [ $# -gt 1 ]; do shift; done; A=${1:-8}"), "?");
    assert_string_equal(value("A=2; while [ $# -gt 0 ]; do A=$1; shift; done"), "2");
}

/* Only what has options behind it stays, and they are doubts; a longer number is another one. */
static void test_open_conditions__leave_a_value_that_begins_alike_unknown(void **state)
{
    (void)state;
    assert_string_equal(value("A=1; if [ -d x ]; then A=16; fi"), "?");
    assert_string_equal(value("A=; if [ -d x ]; then A=4; fi"), "?");
    assert_string_equal(value("A=1; [ -d x ] && A+=6"), "?");
    assert_string_equal(value("A=2; if [ -d x ]; then A=2; fi"), "2");
    assert_string_equal(value("A=--a; if [ -d x ]; then A=\"$A --b\"; fi"), "--a");
    assert_string_equal(value("A=2; case a in a) A=4 ;& b) A=8 ;; esac"), "?");
    assert_string_equal(value("A=2; case b in a) A=4 ;& b) A=8 ;; esac"), "?");
}

static void test_commands__behind_an_exit_are_told_apart(void **state)
{
    shell_words found;
    plait_error err;
    const char *const script = "f() { exit; }\n[ -d x ] || exit 1\n(exit)\nif [ 1 = 1 ]; then\n"
                               "exit\nfi\na\nexit 0\nb";

    (void)state;
    must(shell_read(&(shell_source){.text = script, .length = strlen(script), .name = "s.sh"},
                    arena, &found, &err),
         &err);
    assert_int_equal(found.commands, 2);
    assert_false(found.command[0].ended);
    assert_true(found.command[1].ended);
    assert_int_equal(found.command[1].line, 9);
}

/* Each would take for ever, or more memory than there is. */
static void test_scripts_that_grow_without_end__are_refused(void **state)
{
    static const char *const scripts[] = {
        "A=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nA=$A$A$A$A$A$A$A$A\nA=$A$A$A$A$A$A$A$A\n"
        "A=$A$A$A$A$A$A$A$A\nA=$A$A$A$A$A$A$A$A\nA=$A$A$A$A$A$A$A$A\nA=$A$A$A$A$A$A$A$A\nx $A",
    };
    shell_words found;
    plait_error err;

    (void)state;
    for (size_t s = 0; s < sizeof scripts / sizeof *scripts; s++)
        assert_int_equal(
            shell_read(
                &(shell_source){.text = scripts[s], .length = strlen(scripts[s]), .name = "s.sh"},
                arena, &found, &err),
            PLAIT_ERROR_SYNTAX);
    assert_string_equal(words("f() { f; f; f; }\nf\nx"), "x");
    assert_string_equal(words("f() { A=$((1)); f; }\nf\nx"), "x"); // a sum is one level more
}

/* `head`, then `again` so many times, "%d" in it numbered, then `tail`. */
static const char *repeated(const char *head, const char *again, int times, const char *tail)
{
    const char *const number = strstr(again, "%d");
    text_builder out;

    text_builder_init(&out, arena);
    text_append(&out, head);
    for (int i = 0; i < times; i++) {
        if (number != NULL)
            text_append_printf(&out, "%.*s%d%s", (int)(number - again), again, i, number + 2);
        else
            text_append(&out, again);
    }
    text_append(&out, tail);
    return text_builder_finish(&out, NULL);
}

/* Functions, loops over many variables, calls of calls. */
static void test_scripts_that_repeat_what_costs__are_refused_early(void **state)
{
    const char *const scripts[] = {
        repeated("", "f%d() { :; }\n", 20000, "x\n"),
        repeated(repeated("", "A%d=1\n", 1000, ""), "for i in 1 2; do B=1; done\n", 20000, ""),
        repeated("f() { for i in 1 2; do f; f; done; while true; do f; done; }\n", "f\n", 20000,
                 ""),
    };
    shell_words found;
    plait_error err;

    (void)state;
    for (size_t s = 0; s < sizeof scripts / sizeof *scripts; s++) {
        const plait_arena_mark before = plait_arena_save(arena);

        assert_int_equal(
            shell_read(
                &(shell_source){.text = scripts[s], .length = strlen(scripts[s]), .name = "s.sh"},
                arena, &found, &err),
            PLAIT_ERROR_SYNTAX);
        assert_true(plait_arena_save(arena) - before < 64 << 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words__are_cut_at_blanks_outside_quotes),
        cmocka_unit_test(test_variables__are_expanded),
        cmocka_unit_test(test_arrays__are_spliced_in),
        cmocka_unit_test(test_arithmetic__is_done),
        cmocka_unit_test(test_what_is_not_known__is_marked_and_does_not_hide_the_rest),
        cmocka_unit_test(test_files_that_only_set_variables__say_what_these_hold),
        cmocka_unit_test(test_assignments__are_words_behind_a_command),
        cmocka_unit_test(test_nothing__is_read_behind_a_text),
        cmocka_unit_test(test_bytes_that_mean_something_here__are_refused),
        cmocka_unit_test(test_conditions__let_through_what_they_say),
        cmocka_unit_test(test_cases__take_the_first_pattern_that_matches),
        cmocka_unit_test(test_open_conditions__leave_what_they_set_unknown),
        cmocka_unit_test(test_arguments__of_the_script_are_its_positions_and_variables),
        cmocka_unit_test(test_scripts_in_scripts__are_followed),
        cmocka_unit_test(test_defaults_and_elements__are_expanded),
        cmocka_unit_test(test_job_lines__are_commands_and_variables),
        cmocka_unit_test(test_files__that_a_script_makes_are_kept),
        cmocka_unit_test(test_what_a_loop_sets__is_not_known_behind_it),
        cmocka_unit_test(test_what_a_loop_leaves_alone__stays_known),
        cmocka_unit_test(test_the_body_of_a_loop__is_read_as_any_round),
        cmocka_unit_test(test_lists_that_grow_in_a_loop__keep_what_they_had),
        cmocka_unit_test(test_subshells__end_with_what_they_set),
        cmocka_unit_test(test_assignments_before_a_command__are_for_it_alone),
        cmocka_unit_test(test_functions__keep_what_is_local),
        cmocka_unit_test(test_sums__set_what_they_count),
        cmocka_unit_test(test_sums__are_those_of_bash),
        cmocka_unit_test(test_variables__are_unset),
        cmocka_unit_test(test_arguments__are_shifted_and_set),
        cmocka_unit_test(test_open_conditions__leave_a_value_that_begins_alike_unknown),
        cmocka_unit_test(test_commands__behind_an_exit_are_told_apart),
        cmocka_unit_test(test_scripts_that_grow_without_end__are_refused),
        cmocka_unit_test(test_scripts_that_repeat_what_costs__are_refused_early),
        cmocka_unit_test(test_open_quotes__are_refused_with_their_line),
        cmocka_unit_test(test_quoted_words__read_back_as_they_are),
        cmocka_unit_test(test_quoted_words__of_what_is_not_plain_steer_nothing),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
