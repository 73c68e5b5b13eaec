/* calibrate.c - fit the constants of an accelerator to measurements, and write them to its file */
#include "calibrate/calibrate.h"

#include <assert.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "plait/data.h"

#include "base/text.h"
#include "io/json/json_tree.h"

enum { MOST_BLOCKS = 64 };

/*
 * Largest mean error on held-out points for which a fitted block replaces the block of the
 * accelerator's file.
 */
static const double most_used_error = 0.25;

// ---- accelerator of the points -------------------------------------------------------------

static plait_status fail_name(plait_error *err, const char *first, const char *second)
{
    char found[200] = "none";

    if (first != NULL)
        snprintf(found, sizeof found, "rows of %.80s and %.80s", first, second);
    return plait_fail(err, PLAIT_ERROR_RANGE, "--accelerator",
                      "expected the name of the measured accelerator, found %s", found);
}

plait_status calibrate_name(const char *asked, point_list *list, const char **out, plait_error *err)
{
    const char *named[2] = {NULL, NULL}, *own = NULL;

    for (size_t i = 0; i < list->count && named[1] == NULL; i++) {
        const char *name = names_accelerator(list->point[i].measured);

        if (name != NULL && (named[0] == NULL || strcmp(named[0], name) != 0))
            named[named[0] != NULL] = name;
    }
    *out = asked != NULL ? asked : named[0];
    if (asked == NULL && (named[0] == NULL || named[1] != NULL))
        return fail_name(err, named[0], named[1]);
    if (named[0] != NULL)
        return PLAIT_OK;
    // A name that names.c does not list is one that a site chose: all points must have the same.
    for (size_t i = 0; i < list->count; i++) {
        const char *const name = list->point[i].measured;

        if (name[0] == '\0' || strcmp(name, asked) == 0)
            continue;
        if (own != NULL && strcmp(own, name) != 0)
            return fail_name(err, own, name);
        own = name;
    }
    for (size_t i = 0; own != NULL && i < list->count; i++)
        list->point[i].measured = "";
    return PLAIT_OK;
}

// ---- selection of points -------------------------------------------------------------------

/* State of one calibration. */
typedef struct calibrate_run {
    const char *name;
    const point_list *points;
    plait_arena *arena;
    json_tree *tree;
    calibrate_block *block;
    int blocks;
} calibrate_run;

/* Compares two versions. Sequences of digits compare as numbers: "2.9" is before "2.29.2". */
static int compare_versions(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        const bool digits = *a >= '0' && *a <= '9' && *b >= '0' && *b <= '9';
        char *a_end, *b_end;

        if (!digits) {
            if (*a != *b)
                return *a < *b ? -1 : 1;
            a++;
            b++;
            continue;
        }
        const unsigned long x = strtoul(a, &a_end, 10), y = strtoul(b, &b_end, 10);
        if (x != y)
            return x < y ? -1 : 1;
        a = a_end;
        b = b_end;
    }
    return (*a != '\0') - (*b != '\0');
}

/*
 * Returns the rank of a source's software in `stacks`, from 1; lower ranks are preferred. Software
 * that is not in the list belongs to the site and has rank 0.
 */
static int stack_rank(const char *source, const char *const *stacks)
{
    for (int i = 0; stacks[i] != NULL; i++)
        if (strstr(source, stacks[i]) != NULL)
            return 1 + i;
    return 0;
}

static bool is_about(const calibrate_run *run, const calibrate_block *block,
                     const plait_accelerator *accelerator, const point *p)
{
    return family_takes(block->family, accelerator, p, block->block) && !names_exclude(p) &&
           names_match(p, run->name);
}

/*
 * Selects the points of a block. A fit to rows of two pieces of software would describe a kernel
 * that neither of them runs, so only rows of the preferred software in its newest version are used.
 */
static plait_status select_points(const calibrate_run *run, calibrate_block *block,
                                  const plait_accelerator *accelerator, fit_point **out, int *count,
                                  plait_error *err)
{
    const char *const *stacks = family_stacks(block->family, block->block);
    const char *newest = NULL; // newest source of the best rank; NULL: all sources of that rank
    int best = INT32_MAX;

    for (size_t i = 0; i < run->points->count; i++) {
        const point *p = &run->points->point[i];
        const int rank = stack_rank(p->source, stacks);

        if (rank > best || !is_about(run, block, accelerator, p))
            continue;
        if (rank < best || (rank > 0 && compare_versions(p->source, newest) > 0)) {
            best = rank;
            newest = rank > 0 ? p->source : NULL;
        }
    }
    *count = 0;
    block->source = newest != NULL ? newest : "own measurements";
    *out = plait_arena_alloc(run->arena, run->points->count, sizeof **out);
    PLAIT_TRY(plait_check_allocated(*out, err));
    for (size_t i = 0; i < run->points->count; i++) {
        const point *p = &run->points->point[i];
        const bool large = family_is_large(accelerator, p);

        if (stack_rank(p->source, stacks) != best ||
            (newest != NULL && strcmp(p->source, newest) != 0) ||
            !is_about(run, block, accelerator, p))
            continue;
        (*out)[*count] = (fit_point){
            .what = p,
            .measured_s = p->s,
            .weight = large ? block->family->large_weight : 1.0,
            .held_out = family_holds_out(p, *count),
            .large = large,
        };
        (*count)++;
    }
    return PLAIT_OK;
}

// ---- blocks in the accelerator's file ------------------------------------------------------

static plait_status parse_tree(const json_tree *tree, plait_arena *arena, plait_accelerator *out,
                               plait_error *err)
{
    size_t length;
    const char *text = json_tree_print(tree, arena, &length);

    PLAIT_TRY(plait_check_allocated(text, err));
    return plait_accelerator_parse(text, length, "accelerator", arena, out, err);
}

static json_tree *find_member(json_tree *object, const char *key, bool creates)
{
    return creates ? json_tree_enter(object, key) : json_tree_member(object, key);
}

/*
 * Returns the JSON object with the block's numbers. If the file has none, the function creates it
 * if `creates` is set, and else returns NULL. It also returns NULL when out of memory.
 */
static json_tree *object_of_block(json_tree *tree, const calibrate_block *block, bool creates)
{
    const family *const f = block->family;
    const json_tree *const peaks = json_tree_member(tree, "peak_tflops");
    // On accelerators without bf16, the file has the numbers of block bf16 under the key fp16.
    const bool fp16 = f->block_name == plait_precision_name && block->block == PLAIT_BF16 &&
                      peaks != NULL && json_tree_member(peaks, "bf16") == NULL;
    json_tree *section;

    if (f->section == NULL)
        return tree;
    section = find_member(tree, f->section, creates);
    if (section == NULL || f->block_name == NULL)
        return section;
    return find_member(section, f->block_name[fp16 ? PLAIT_FP16 : block->block], creates);
}

/* Parses the file without the numbers of one block, for which *out gets the family's defaults. */
static plait_status parse_without(const json_tree *tree, const calibrate_block *block,
                                  plait_arena *arena, plait_accelerator *out, plait_error *err)
{
    json_tree *const copy = json_tree_copy(tree);
    json_tree *object;
    plait_status status;

    PLAIT_TRY(plait_check_allocated(copy, err));
    object = object_of_block(copy, block, false);
    for (int i = 0; object != NULL && i < block->numbers; i++)
        if (block->number[i].key != NULL)
            json_tree_remove(object, block->number[i].key);
    status = parse_tree(copy, arena, out, err);
    json_tree_free(copy);
    return status;
}

static bool set_number(json_tree *object, const calibrate_block *block, int number)
{
    static const char *const width[] = {"64", "128", "192", "256"};
    const fit_number *const n = &block->number[number];
    const double rounded = fit_rounded(block->value[number] / n->unit, 1.0);
    json_tree *array;

    if (n->key == NULL)
        return true;
    if (n->element >= 0 && strcmp(n->key, "e") == 0) {
        // The keys are head widths, as in {"64": 0.45, "128": 0.58}. The number of width 128 is
        // written even if the points do not determine it.
        if (!block->written[number] && n->element != 1)
            return true;
        array = json_tree_enter(object, n->key);
        return array != NULL && json_tree_set_number(array, width[n->element], rounded);
    }
    if (n->element >= 0) {
        // Write the whole array, including elements that the points do not determine.
        array = n->element == 0 ? json_tree_set_array(object, n->key)
                                : json_tree_member(object, n->key);
        return array != NULL && json_tree_append(array, rounded);
    }
    if (!block->written[number]) {
        json_tree_remove(object, n->key);
        return true;
    }
    return json_tree_set_number(object, n->key, rounded);
}

/*
 * Returns the text `old` of a source with the part for one key replaced by `own`. The first part
 * describes the whole block and has key NULL; a part "; KEY: TEXT" describes one number of it.
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

/* Replaces a block's numbers and their source in the file. */
static plait_status write_block(json_tree *tree, const calibrate_block *block, plait_arena *arena,
                                plait_error *err)
{
    // If true, the whole source text describes these numbers; if false, only a part of it does.
    const bool owns = block->family->alone || block->number[0].element >= 0;
    json_tree *object = object_of_block(tree, block, true);
    const char *source;

    PLAIT_TRY(plait_check_allocated(object, err));
    source = plait_arena_printf(
        arena, "fit of plait calibrate to %d %s, %s, %.1f %% off on %d held out%s%s",
        block->errors.points, block->family->measure, block->source, 100.0 * block->errors.held,
        block->errors.held_out, block->stands_in != NULL ? ", measured on " : "",
        block->stands_in != NULL ? block->stands_in : "");
    if (source != NULL && !block->family->alone)
        source = join_parts(source, owns ? NULL : block->number[0].key,
                            json_tree_text(object, "source"), arena);
    PLAIT_TRY(plait_check_allocated(source, err));
    if (owns && json_tree_member(object, "e") != NULL && json_tree_set_object(object, "e") == NULL)
        return plait_fail_nomem(err);
    for (int i = 0; i < block->numbers; i++)
        PLAIT_TRY(plait_check_allocated(set_number(object, block, i), err));
    if (block->family->section == NULL)
        return PLAIT_OK;
    if (owns)
        json_tree_remove(object, "measured");
    json_tree_remove(object, "source");
    return json_tree_set_text(object, "source", source) ? PLAIT_OK : plait_fail_nomem(err);
}

// ---- fits ----------------------------------------------------------------------------------

static plait_status fit_block(calibrate_run *run, const family *f, int block,
                              const plait_accelerator *present, plait_error *err)
{
    calibrate_block *const out = &run->block[run->blocks];
    family_subject *subject = plait_arena_alloc(run->arena, 2, sizeof *subject);
    plait_accelerator prior;
    fit_point *points;
    bool any_preset = false;
    int count;

    PLAIT_TRY(plait_check_allocated(subject, err));
    *out = (calibrate_block){.family = f, .block = block};
    PLAIT_TRY(select_points(run, out, present, &points, &count, err));
    if (count < f->least)
        return PLAIT_OK;
    // The prior of each number is its value in the file without this block.
    family_subject_init(present, &subject[0]);
    out->numbers = family_numbers(f, &subject[0], block, out->number);
    PLAIT_TRY(parse_without(run->tree, out, run->arena, &prior, err));
    family_subject_init(&prior, &subject[0]);
    family_subject_init(&prior, &subject[1]);
    out->numbers = family_numbers(f, &subject[0], block, out->number);

    const fit_problem problem = {
        .subject = &subject[0],
        .number = out->number,
        .numbers = out->numbers,
        .point = points,
        .points = count,
        .predict_s = family_predict_s,
    };
    PLAIT_TRY(fit_run(&problem, run->arena, &out->errors, err));
    out->used = out->errors.held <= most_used_error;
    // A number that the points do not determine keeps the family's default. If the points determine
    // one of the numbers without a default (`preset`), all of those numbers are written.
    for (int i = 0; i < out->numbers; i++)
        any_preset = any_preset || (out->number[i].preset && out->number[i].determined);
    for (int i = 0; i < out->numbers; i++) {
        const size_t offset = out->number[i].offset;
        const double before = *(const double *)(const void *)((const char *)&subject[1] + offset);

        out->value[i] = *(const double *)(const void *)((const char *)&subject[0] + offset);
        out->written[i] = out->number[i].preset
                              ? any_preset
                              : out->number[i].determined || out->value[i] != before;
    }
    const char *const what = f->what != NULL ? f->what : f->section;
    const char *const sub = f->block_name != NULL ? f->block_name[block]
                            : f->last > 1         ? out->number[0].key
                                                  : NULL;
    out->name = sub != NULL ? plait_arena_printf(run->arena, "%s %s", what, sub) : what;
    PLAIT_TRY(plait_check_allocated(out->name, err));
    run->blocks++;
    return out->used ? write_block(run->tree, out, run->arena, err) : PLAIT_OK;
}

/* Returns whether a block was not fitted although the accelerator supports the block's format. */
static bool is_missing(const calibrate_run *run, const plait_accelerator *accelerator,
                       const calibrate_block *block)
{
    for (int i = 0; i < run->blocks; i++)
        if (run->block[i].family == block->family && run->block[i].block == block->block)
            return false;
    return block->family->block_name != plait_precision_name ||
           accelerator->peak_flops_per_s[block->block] > 0.0;
}

/* Copies missing blocks, of kernels or of links, from the accelerator's stand-in (names.c). */
static plait_status borrow_blocks(calibrate_run *run, bool kernels, plait_error *err)
{
    const char *relative = names_stand_in(run->name, kernels);
    plait_accelerator accelerator;
    calibrate_result lent;

    if (relative == NULL)
        return PLAIT_OK;
    PLAIT_TRY(calibrate_accelerator(relative, run->points, run->arena, &lent, err));
    PLAIT_TRY(parse_tree(run->tree, run->arena, &accelerator, err));
    for (int i = 0; i < lent.blocks; i++) {
        calibrate_block *const out = &run->block[run->blocks];

        if (!lent.block[i].used || lent.block[i].family->links == kernels ||
            !is_missing(run, &accelerator, &lent.block[i]))
            continue;
        *out = lent.block[i];
        out->stands_in = relative;
        run->blocks++;
        PLAIT_TRY(write_block(run->tree, out, run->arena, err));
    }
    return PLAIT_OK;
}

static plait_status fit_all(calibrate_run *run, calibrate_result *out, plait_error *err)
{
    plait_accelerator present;

    for (const family *f = families; f < families + FAMILIES; f++)
        for (int b = f->first; b < f->last; b++) {
            assert(run->blocks < MOST_BLOCKS);
            PLAIT_TRY(parse_tree(run->tree, run->arena, &present, err));
            run->name = present.name;
            PLAIT_TRY(fit_block(run, f, b, &present, err));
        }
    PLAIT_TRY(borrow_blocks(run, true, err));
    PLAIT_TRY(borrow_blocks(run, false, err));
    *out = (calibrate_result){.name = run->name, .blocks = run->blocks, .block = run->block};
    out->text = json_tree_print(run->tree, run->arena, &out->length);
    return out->text != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

plait_status calibrate_accelerator(const char *name, const point_list *points, plait_arena *arena,
                                   calibrate_result *out, plait_error *err)
{
    calibrate_run run = {
        .points = points,
        .arena = arena,
        .block = plait_arena_alloc(arena, MOST_BLOCKS, sizeof *run.block),
    };
    json_document file;
    const char *path;
    plait_status status;

    PLAIT_TRY(plait_check_allocated(run.block, err));
    PLAIT_TRY(plait_data_find(PLAIT_DATA_ACCELERATORS, name, arena, &path, err));
    PLAIT_TRY(json_tree_read(path, arena, &file, err));
    run.tree = file.tree;
    status = fit_all(&run, out, err);
    json_document_free(&file);
    return status;
}
