/* test_layout.c - Megatron-LM's spelling of how layers are dealt to chunks */
#include "plan/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 64 };

static int read(const char *text, plait_chunk *chunks)
{
    int count;

    return layout_read(text, MOST, chunks, &count, NULL) == PLAIT_OK ? count : 0;
}

/* Chunks 0..3: embedding and 3 layers; 4; 4; 2 layers, a module and the loss. */
static void test_layouts__by_hand(void **state)
{
    plait_chunk c[MOST];

    (void)state;
    assert_int_equal(read("Et*3|t*4|tttt|t*2mL", c), 4);
    assert_true(c[0].embedding && !c[1].embedding && c[3].loss && !c[2].loss);
    assert_int_equal(c[0].last, 3);
    assert_int_equal(c[1].first, 3);
    assert_int_equal(c[2].last, 11);
    assert_int_equal(c[3].last, 13);
    assert_int_equal(c[3].mtp, 1);
}

/* Llama-3-70B: 2 + 34 x 2 + 3 + 3 x 2 + 1 layers on 40 chunks, and two of DeepSeek-V3's. */
static void test_layouts__that_others_published(void **state)
{
    plait_chunk c[MOST];

    (void)state;
    assert_int_equal(read("Et*2|(t*2|)*34,t*3|(t*2|)*3,tL", c), 40);
    assert_int_equal(c[39].last, 80);
    assert_int_equal(c[35].last - c[35].first, 3);
    assert_int_equal(read("Et|(tt|)*30mL", c), 32);
    assert_int_equal(c[31].last, 61);
    assert_int_equal(read("Et*3|(tt|)*29,m|L", c), 32);
    assert_int_equal(c[30].mtp, 1);
    assert_true(c[31].loss && c[31].mtp == 0);
}

/* What is written is read as the same chunks, and has the spelling that people write. */
static void test_layouts__are_written_as_people_do(void **state)
{
    static const char *const texts[] = {"Et|(tt|)*30mL", "Et*4|(t*4|)*14tmL", "E|(|)*2tt|L",
                                        "Et*3L",         "Ett|t|tt|t|L",      "Et*3|m|L"};
    char text[PLAIT_VALUE_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        plait_chunk c[MOST];

        assert_true(layout_write(c, read(texts[i], c), text));
        assert_string_equal(text, texts[i]);
    }
}

static void test_texts__that_are_no_layouts(void **state)
{
    static const char *const texts[] = {
        "",
        "Ex",
        "E(t",
        "Et*0L",
        "Et",
        "tL",
        "Et|EtL",
        "EtLt",
        "EmtL",
        "Et**2L",
        "EtL*2",
        "E)tL",
        "E(t(t)*2)*2L",
        "(E)*2tL",
        "Et*99999999999L",
        "E(((((t)*9999)*9999)*9999)*9999)L",
        "E(t*65536|)*65536L",
        "E|||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||tL",
        "E*t",
        "Et*4097L",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        plait_chunk c[MOST];

        assert_int_equal(read(texts[i], c), 0);
    }
}

/* Too long for a text: 600 chunks of one and two layers in turn are not; longer turns are. */
static void test_chunks__that_no_text_says(void **state)
{
    plait_chunk c[600];
    char text[PLAIT_VALUE_SIZE];

    (void)state;
    for (int i = 0; i < 600; i++)
        c[i] = (plait_chunk){.last = i % 2 + 1, .embedding = i == 0, .loss = i == 599};
    assert_false(layout_write(c, 600, text)); // 600 bars, 900 letters, E and L
    for (int i = 0; i < 600; i++)
        c[i].last = 1;
    assert_true(layout_write(c, 600, text));
    assert_string_equal(text, "Et|(t|)*598tL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts__by_hand),
        cmocka_unit_test(test_layouts__that_others_published),
        cmocka_unit_test(test_layouts__are_written_as_people_do),
        cmocka_unit_test(test_texts__that_are_no_layouts),
        cmocka_unit_test(test_chunks__that_no_text_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
