/* test_shell.c - words of a shell: out in quotes, in as far as they can be known */
#include <string.h>

#include "must.h"
#include "shell_read.h"
#include "shell_word.h"

static plait_arena *arena;

static int begin(void **state)
{
    (void)state;
    arena = plait_arena_new();
    return arena == NULL;
}

static int end(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

/* The words of a script, "|" between them. */
static const char *words(const char *script)
{
    shell_words found;
    plait_error err;
    text_builder out;

    must(shell_read(script, strlen(script), "s.sh", NULL, arena, &found, &err), &err);
    text_builder_init(&out, arena);
    for (int i = 0; i < found.count; i++)
        text_append_printf(&out, "%s%s", i > 0 ? "|" : "", found.word[i]);
    return text_builder_finish(&out, NULL);
}

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
    must(shell_read(script, strlen(script), "s.sh", NULL, arena, &found, &err), &err);
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
    assert_int_equal(shell_read("a\nb 'c\n", 7, "s.sh", NULL, arena, &found, &err),
                     PLAIT_ERROR_SYNTAX);
    assert_string_equal(err.where, "s.sh:3");
    assert_string_equal(err.message, "expected shell words, found a ' that is not closed");
}

static void test_quoted_words__read_back_as_they_are(void **state)
{
    static const char *const hard[] = {"",      "a b",       "it's", "$HOME", "a\"b", "x;y",
                                       "(1)*3", "new\nline", "#no",  "*",     "\\",   NULL};

    (void)state;
    for (const char *const *word = hard; *word != NULL; word++) {
        const char *const script = plait_arena_printf(arena, "x %s", shell_quoted(*word, arena));

        assert_string_equal(words(script), plait_arena_printf(arena, "x|%s", *word));
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
        cmocka_unit_test(test_open_quotes__are_refused_with_their_line),
        cmocka_unit_test(test_quoted_words__read_back_as_they_are),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
