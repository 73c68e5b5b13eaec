/* test_page.c - all forms of a page have the same content, for texts with any characters */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "page/page.h"

static page *odd_page(plait_arena *arena)
{
    page *made = page_new(arena, "a <b> & \"c\"");
    page_table *rows;

    page_answer(made, "run <b> in %s", "1.50 s");
    page_figure(made, "one step", "1.50 s", "of %d & more", 3);
    page_assume(made, "peak", "989 | \"dense\"");
    page_section(made, "plans", "Plans");
    page_text(made, "two\nlines of %s", "</p>");
    rows = page_table_add(made, "ranking", "The ranking", "name=name|step_s>step|order>", NULL);
    page_word(rows, "</script><i>|\"x\",y");
    PAGE_ROW(rows, as_seconds(1.5));
    PAGE_ROW(rows, as_int(7));
    page_word(rows, "none");
    PAGE_ROW(rows, as_seconds((double)NAN));
    PAGE_ROW(rows, as_int((double)INFINITY));
    page_grounds(made);
    return made;
}

static const char *written(plait_arena *arena, page_form form)
{
    const char *text = NULL;
    size_t length = 0;

    assert_int_equal(page_write(odd_page(arena), form, &text, &length, NULL), PLAIT_OK);
    assert_int_equal(strlen(text), length);
    return text;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("expected \"%s\" in:\n%.2000s", part, text);
}

static void test_html__escapes_texts(void **state)
{
    plait_arena *arena = plait_arena_new();
    const char *text = written(arena, PAGE_HTML);

    (void)state;
    assert_has(text, "<title>a &lt;b&gt; &amp; &quot;c&quot;</title>");
    assert_has(text, "<td>&lt;/script&gt;&lt;i&gt;|&quot;x&quot;,y</td>");
    assert_has(text, "\\u003c/script>\\u003ci>|\\\"x\\\",y"); // in the JSON
    assert_has(text, "lines of &lt;/p&gt;</p>");
    assert_has(text, "<td class=\"number\">1.50 s</td><td class=\"number\" hidden>7</td>");
    assert_null(strstr(text, "{{"));
    plait_arena_free(arena);
}

static void test_answer__is_the_first_thing_in_every_form(void **state)
{
    plait_arena *arena = plait_arena_new();
    const char *html = written(arena, PAGE_HTML), *json = written(arena, PAGE_JSON);

    (void)state;
    assert_has(html, "<p class=\"answer\">run &lt;b&gt; in 1.50 s</p>");
    assert_has(html, "<dt>one step</dt><dd>1.50 s</dd><dd class=\"note\">of 3 &amp; more</dd>");
    assert_true(strstr(html, "class=\"answer\"") < strstr(html, "<nav"));
    assert_has(html, "<dt>peak</dt><dd>989 | &quot;dense&quot;</dd>");
    assert_has(written(arena, PAGE_MARKDOWN),
               "run \\<b> in 1.50 s\n\n- one step: 1.50 s (of 3 & more)\n");
    assert_has(written(arena, PAGE_MARKDOWN), "- peak: 989 \\| \"dense\"\n");
    assert_has(json, "\"answer\": \"run <b> in 1.50 s\"");
    assert_has(json, "\"what\": \"peak\"");
    plait_arena_free(arena);
}

static void test_markdown__keeps_cells_apart(void **state)
{
    plait_arena *arena = plait_arena_new();
    const char *text = written(arena, PAGE_MARKDOWN);

    (void)state;
    assert_has(text, "# a \\<b> & \"c\"\n");
    assert_has(text, "| name | step |\n| --- | ---: |\n");
    assert_has(text, "| \\</script>\\<i>\\|\"x\",y | 1.50 s |\n| none | - |\n");
    plait_arena_free(arena);
}

static void test_csv__has_numbers_in_base_units(void **state)
{
    plait_arena *arena = plait_arena_new();

    (void)state;
    assert_string_equal(written(arena, PAGE_CSV),
                        "name,step_s,order,answer,assumptions\n"
                        "\"</script><i>|\"\"x\"\",y\",1.5,7,run <b> in 1.50 s,"
                        "\"peak: 989 | \"\"dense\"\"\"\n"
                        "none,,,,\"peak: 989 | \"\"dense\"\"\"\n");
    plait_arena_free(arena);
}

static void test_json__has_null_for_unknown_numbers(void **state)
{
    plait_arena *arena = plait_arena_new();
    const char *text = written(arena, PAGE_JSON);

    (void)state;
    assert_has(text, "[\"none\", null, null]");
    plait_arena_free(arena);
}

static void test_form__depends_on_the_extension(void **state)
{
    (void)state;
    assert_int_equal(page_form_of("a/b.html"), PAGE_HTML);
    assert_int_equal(page_form_of("b.md"), PAGE_MARKDOWN);
    assert_int_equal(page_form_of("b.csv"), PAGE_CSV);
    assert_int_equal(page_form_of("b.json"), PAGE_JSON);
    assert_int_equal(page_form_of("html"), PAGE_FORMS);
}

/* At whichever allocation memory runs out, page_write returns the error. */
static void test_page__out_of_memory_is_an_error(void **state)
{
    static const page_form forms[] = {PAGE_HTML, PAGE_MARKDOWN, PAGE_CSV, PAGE_JSON};
    long failures = 0;

    (void)state;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (long calls = 0;; calls++) {
            plait_arena *arena = plait_arena_new();
            const char *text;
            size_t length;
            plait_error err;

            plait_arena_fail_after(calls);
            const plait_status status = page_write(odd_page(arena), forms[f], &text, &length, &err);
            plait_arena_fail_after(-1);
            plait_arena_free(arena);
            if (status == PLAIT_OK)
                break;
            assert_int_equal(status, PLAIT_ERROR_NOMEM);
            failures++;
        }
    assert_true(failures > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_html__escapes_texts),
        cmocka_unit_test(test_answer__is_the_first_thing_in_every_form),
        cmocka_unit_test(test_markdown__keeps_cells_apart),
        cmocka_unit_test(test_csv__has_numbers_in_base_units),
        cmocka_unit_test(test_json__has_null_for_unknown_numbers),
        cmocka_unit_test(test_form__depends_on_the_extension),
        cmocka_unit_test(test_page__out_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
