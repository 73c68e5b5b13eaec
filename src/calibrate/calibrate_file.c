/* calibrate_file.c - read an accelerator's file and write fitted blocks into it */
#include "calibrate/calibrate_file.h"

#include <stdio.h>
#include <string.h>

#include "plait/data.h"

#include "base/text.h"

plait_status calibrate_file_read(const char *name, plait_arena *arena, json_document *out,
                                 plait_error *err)
{
    const char *path;

    PLAIT_TRY(plait_data_find(PLAIT_DATA_ACCELERATORS, name, arena, &path, err));
    return json_tree_read(path, arena, out, err);
}

plait_status calibrate_file_parse(const json_tree *tree, plait_arena *arena, plait_accelerator *out,
                                  plait_error *err)
{
    size_t length;
    const char *text = json_tree_print(tree, arena, &length);

    PLAIT_TRY(plait_check_allocated(text, err));
    return plait_accelerator_parse(text, length, "accelerator", arena, out, err);
}

// ---- objects of blocks ---------------------------------------------------------------------

/* On accelerators without bf16, the block of bf16 has the key fp16. */
static const char *key_of_block(const json_tree *tree, const calibrate_block *block)
{
    const family *f = block->family;
    const json_tree *peaks = json_tree_member(tree, "peak_tflops");

    if (f->block_name == plait_precision_name && block->block == PLAIT_BF16 && peaks != NULL &&
        json_tree_member(peaks, "bf16") == NULL)
        return plait_precision_name[PLAIT_FP16];
    return f->block_name[block->block];
}

/* Returns the object with the block's numbers; NULL when the file has none. */
static json_tree *find_block(json_tree *tree, const calibrate_block *block)
{
    const family *f = block->family;
    json_tree *section;

    if (f->section == NULL)
        return tree;
    section = json_tree_member(tree, f->section);
    if (section == NULL || f->block_name == NULL)
        return section;
    return json_tree_member(section, key_of_block(tree, block));
}

static json_tree *enter_block(json_tree *tree, const calibrate_block *block)
{
    const family *f = block->family;
    json_tree *section;

    if (f->section == NULL)
        return tree;
    section = json_tree_enter(tree, f->section);
    if (section == NULL || f->block_name == NULL)
        return section;
    return json_tree_enter(section, key_of_block(tree, block));
}

plait_status calibrate_file_without(const json_tree *tree, const calibrate_block *block,
                                    plait_arena *arena, plait_accelerator *out, plait_error *err)
{
    json_tree *const copy = json_tree_copy(tree);
    json_tree *object;
    plait_status status;

    PLAIT_TRY(plait_check_allocated(copy, err));
    object = find_block(copy, block);
    for (int i = 0; object != NULL && i < block->numbers; i++)
        if (block->number[i].key != NULL)
            json_tree_remove(object, block->number[i].key);
    status = calibrate_file_parse(copy, arena, out, err);
    json_tree_free(copy);
    return status;
}

// ---- numbers -------------------------------------------------------------------------------

/* Returns a block's number in its unit, rounded to three digits. */
static double in_unit(const calibrate_block *block, int number)
{
    double out = block->value[number] / block->number[number].unit;
    char digits[32];

    snprintf(digits, sizeof digits, "%.3g", out);
    return text_parse_number(digits, &out) ? out : block->value[number];
}

/* Writes one head width of {"64": 0.45, "128": 0.58}; 128 is written even if not determined. */
static bool set_width(json_tree *object, const calibrate_block *block, int number)
{
    static const char *const width[] = {"64", "128", "192", "256"};
    const int element = block->number[number].element;
    json_tree *widths;

    if (!block->written[number] && element != 1)
        return true;
    widths = json_tree_enter(object, block->number[number].key);
    return widths != NULL && json_tree_set_number(widths, width[element], in_unit(block, number));
}

/* Arrays are written whole, with the elements that the points do not determine. */
static bool append_element(json_tree *object, const calibrate_block *block, int number)
{
    const char *const key = block->number[number].key;
    json_tree *const array = block->number[number].element == 0 ? json_tree_set_array(object, key)
                                                                : json_tree_member(object, key);

    return array != NULL && json_tree_append(array, in_unit(block, number));
}

static bool set_number(json_tree *object, const calibrate_block *block, int number)
{
    const fit_number *n = &block->number[number];

    if (n->key == NULL)
        return true;
    if (n->element >= 0)
        return strcmp(n->key, "e") == 0 ? set_width(object, block, number)
                                        : append_element(object, block, number);
    if (!block->written[number]) {
        json_tree_remove(object, n->key);
        return true;
    }
    return json_tree_set_number(object, n->key, in_unit(block, number));
}

// ---- sources -------------------------------------------------------------------------------

/*
 * Returns whether the block's source text as a whole describes these numbers; if not, a part of it
 * does.
 */
static bool owns_block(const calibrate_block *block)
{
    return block->family->alone || block->number[0].element >= 0;
}

/*
 * Returns "fit of plait calibrate to 455 products, aic:trtllm-1.3.0rc20, 4.6 % off on 195 held out"
 */
static const char *describe_block(const calibrate_block *block, plait_arena *arena)
{
    return plait_arena_printf(
        arena, "fit of plait calibrate to %d %s, %s, %.1f %% off on %d held out%s%s",
        block->errors.points, block->family->measure, block->source, 100.0 * block->errors.held,
        block->errors.held_out, block->stands_in != NULL ? ", measured on " : "",
        block->stands_in != NULL ? block->stands_in : "");
}

/*
 * Replaces one part of a source. Numbers that share their block with others have the part
 * "; KEY: TEXT"; the first part, with key NULL, belongs to the block. The other parts stay.
 */
static const char *join_parts(const char *own, const char *key, const char *old, plait_arena *arena)
{
    const char *const mark = key != NULL ? plait_arena_printf(arena, "%s: ", key) : "";
    size_t count = 0;
    char **part = text_split(arena, old, ';', &count);
    text_builder out;

    if (part == NULL || mark == NULL)
        return NULL;
    text_builder_init(&out, arena);
    text_append(&out, key == NULL ? own : "");
    for (size_t i = 0; i < count; i++) {
        const char *text = part[i] + strspn(part[i], " ");

        if (key != NULL ? text_starts_with(text, mark) : i == 0)
            continue;
        if (out.length > 0)
            text_append(&out, "; ");
        text_append(&out, text);
    }
    if (key != NULL)
        text_append_printf(&out, "%s%s%s", out.length > 0 ? "; " : "", mark, own);
    return text_builder_finish(&out, NULL);
}

static const char *source_of(const json_tree *object, const calibrate_block *block,
                             plait_arena *arena)
{
    const char *text = describe_block(block, arena);
    const char *const old = json_tree_text(object, "source");

    if (text == NULL || block->family->alone)
        return text;
    return join_parts(text, owns_block(block) ? NULL : block->number[0].key, old, arena);
}

plait_status calibrate_file_apply(json_tree *tree, const calibrate_block *block, plait_arena *arena,
                                  plait_error *err)
{
    json_tree *object = enter_block(tree, block);
    const char *source;

    PLAIT_TRY(plait_check_allocated(object, err));
    source = source_of(object, block, arena);
    PLAIT_TRY(plait_check_allocated(source, err));
    if (owns_block(block) && json_tree_member(object, "e") != NULL &&
        json_tree_set_object(object, "e") == NULL)
        return plait_fail_nomem(err);
    for (int i = 0; i < block->numbers; i++)
        PLAIT_TRY(plait_check_allocated(set_number(object, block, i), err));
    if (block->family->section == NULL)
        return PLAIT_OK;
    if (owns_block(block))
        json_tree_remove(object, "measured");
    json_tree_remove(object, "source");
    return json_tree_set_text(object, "source", source) ? PLAIT_OK : plait_fail_nomem(err);
}
