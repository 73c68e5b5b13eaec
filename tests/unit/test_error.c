/* test_error.c - an error is filled by value, never beyond its room, and safe to print */
#include "support/assert_near.h"

#include <stdbool.h>
#include <string.h>

#include "plait/error.h"
#include "base/text.h"

static void test_fail__fills_and_returns_the_status(void **state)
{
    (void)state;
    plait_error err;

    assert_int_equal(plait_fail(&err, PLAIT_ERROR_RANGE, "a.json:/gpus", "found %d", -8),
                     PLAIT_ERROR_RANGE);
    assert_int_equal(err.status, PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "a.json:/gpus");
    assert_string_equal(err.message, "found -8");
}

static void test_fail__needs_neither_an_error_nor_a_place(void **state)
{
    (void)state;
    plait_error err;

    assert_int_equal(plait_fail(NULL, PLAIT_ERROR_IO, "x", "y"), PLAIT_ERROR_IO);
    assert_int_equal(plait_fail(&err, PLAIT_ERROR_IO, NULL, "y"), PLAIT_ERROR_IO);
    assert_string_equal(err.where, "");
    assert_int_equal(plait_fail_nomem(&err), PLAIT_ERROR_NOMEM);
    assert_string_equal(err.message, "out of memory");
}

/* 1 + 254 bytes fit beside the final zero; 127 characters of two bytes each are 254. */
static void test_fail__cuts_long_text_between_characters(void **state)
{
    (void)state;
    char text[602] = "x";
    plait_error err;

    for (size_t i = 1; i < 601; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    assert_int_equal(plait_fail(&err, PLAIT_ERROR_IO, text + 1, "%s", text), PLAIT_ERROR_IO);
    assert_int_equal(strlen(err.message), 255);
    assert_int_equal(strlen(err.where), 254);
    assert_int_equal(text_utf8_prefix(err.where, 254), 254);
}

static void test_fail__replaces_control_characters(void **state)
{
    (void)state;
    plait_error err;

    assert_int_equal(plait_fail(&err, PLAIT_ERROR_IO, "a\nb", "\x1b[31m\x7f"), PLAIT_ERROR_IO);
    assert_string_equal(err.where, "a?b");
    assert_string_equal(err.message, "?[31m?");
}

static plait_status fail_if(bool fails)
{
    return fails ? PLAIT_ERROR_SYNTAX : PLAIT_OK;
}

static plait_status try_both(bool first, bool second, int *reached)
{
    PLAIT_TRY(fail_if(first));
    *reached = 1;
    PLAIT_TRY(fail_if(second));
    *reached = 2;
    return PLAIT_OK;
}

static void test_try__passes_the_first_failure_on(void **state)
{
    (void)state;
    int reached = 0;

    assert_int_equal(try_both(true, false, &reached), PLAIT_ERROR_SYNTAX);
    assert_int_equal(reached, 0);
    assert_int_equal(try_both(false, true, &reached), PLAIT_ERROR_SYNTAX);
    assert_int_equal(reached, 1);
    assert_int_equal(try_both(false, false, &reached), PLAIT_OK);
    assert_int_equal(reached, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fail__fills_and_returns_the_status),
        cmocka_unit_test(test_fail__needs_neither_an_error_nor_a_place),
        cmocka_unit_test(test_fail__cuts_long_text_between_characters),
        cmocka_unit_test(test_fail__replaces_control_characters),
        cmocka_unit_test(test_try__passes_the_first_failure_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
