/* calibrate.c - fit the constants of an accelerator to measurements, block by block */
#include "calibrate/calibrate.h"

#include <assert.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "plait/data.h"

#include "calibrate/calibrate_file.h"
#include "calibrate/names.h"
#include "base/text.h"

enum { MOST_BLOCKS = 64 };

/* The file keeps its block if the mean error of the fit on held-out points is larger than this. */
static const double most_used_error = 0.25;

/* State of one calibration. */
typedef struct calibrate_run {
    const char *name;
    const point_list *points;
    plait_arena *arena;
    json_tree *tree;
    calibrate_block *block;
    int blocks;
} calibrate_run;

// ---- accelerator of the points -------------------------------------------------------------

static const char *name_of(const point *p)
{
    const char *known = names_accelerator(p->measured);

    return known != NULL ? known : p->measured;
}

/* Finds the first two accelerators that names.h lists among the points' names; NULL: no such. */
static void find_named(const point_list *list, const char *out[2])
{
    out[0] = out[1] = NULL;
    for (size_t i = 0; i < list->count && out[1] == NULL; i++) {
        const char *name = names_accelerator(list->point[i].measured);

        if (name == NULL || (out[0] != NULL && strcmp(out[0], name) == 0))
            continue;
        out[out[0] != NULL] = name;
    }
}

static plait_status fail_name(plait_error *err, const char *found)
{
    return plait_fail(err, PLAIT_ERROR_RANGE, "--accelerator",
                      "expected the name of the measured accelerator, found %s", found);
}

/*
 * Names that names.h lacks are a site's own: all points must have the same one, which stands for
 * `asked`.
 */
static plait_status adopt_names(const char *asked, point_list *list, plait_error *err)
{
    const char *own = NULL;
    char found[200];

    for (size_t i = 0; i < list->count; i++) {
        point *const p = &list->point[i];

        if (p->measured[0] == '\0' || strcmp(p->measured, asked) == 0)
            continue;
        if (own != NULL && strcmp(own, p->measured) != 0) {
            snprintf(found, sizeof found, "rows of %.80s and %.80s", own, p->measured);
            return fail_name(err, found);
        }
        own = p->measured;
    }
    for (size_t i = 0; own != NULL && i < list->count; i++)
        list->point[i].measured = "";
    return PLAIT_OK;
}

plait_status calibrate_name(const char *asked, point_list *list, const char **out, plait_error *err)
{
    const char *named[2];
    char found[200];

    find_named(list, named);
    *out = asked != NULL ? asked : named[0];
    if (asked == NULL && named[0] == NULL)
        return fail_name(err, "none");
    if (asked == NULL && named[1] != NULL) {
        snprintf(found, sizeof found, "rows of %.80s and %.80s", named[0], named[1]);
        return fail_name(err, found);
    }
    return named[0] == NULL ? adopt_names(asked, list, err) : PLAIT_OK;
}

// ---- selection of points -------------------------------------------------------------------

/* Compares two versions; sequences of digits compare as numbers, "2.9" before "2.29.2". */
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

/* Returns the preference of a source, 0 first. Software that is not listed is the site's own: 0. */
static int stack_rank(const char *source, const char *const *stacks)
{
    for (int i = 0; stacks[i] != NULL; i++)
        if (strstr(source, stacks[i]) != NULL)
            return 1 + i;
    return 0;
}

/*
 * The source to fit to: a fit to rows of two stacks would describe a kernel that neither has, so
 * only the preferred stack in its newest version is used.
 */
typedef struct chosen_source {
    int rank;
    const char *source; /* NULL: all sources of this rank */
} chosen_source;

static bool is_about(const calibrate_run *run, const family *f, int block,
                     const plait_accelerator *accelerator, const point *p)
{
    return f->takes(accelerator, p, block) && !names_distrusts(p) &&
           (p->measured[0] == '\0' || strcmp(name_of(p), run->name) == 0);
}

static chosen_source choose_source(const calibrate_run *run, const family *f, int block,
                                   const plait_accelerator *accelerator)
{
    const char *const *stacks = f->stacks(block);
    chosen_source best = {.rank = INT32_MAX, .source = NULL};

    for (size_t i = 0; i < run->points->count; i++) {
        const point *p = &run->points->point[i];
        const int rank = stack_rank(p->source, stacks);

        if (rank > best.rank || !is_about(run, f, block, accelerator, p))
            continue;
        if (rank < best.rank || (rank > 0 && compare_versions(p->source, best.source) > 0))
            best = (chosen_source){rank, rank > 0 ? p->source : NULL};
    }
    return best;
}

/* Holds out 30 % of the shapes, or every fourth point of a family without shapes. */
static bool is_held_out(const family *f, const point *p, int index)
{
    return f->shape != NULL ? f->shape(p) % 10 < 3 : index % 4 == 3;
}

static plait_status select_points(const calibrate_run *run, const family *f, int block,
                                  const plait_accelerator *accelerator, fit_point **out, int *count,
                                  const char **source, plait_error *err)
{
    const chosen_source chosen = choose_source(run, f, block, accelerator);
    const char *const *stacks = f->stacks(block);

    *count = 0;
    *source = chosen.source != NULL ? chosen.source : "own measurements";
    *out = plait_arena_alloc(run->arena, run->points->count, sizeof **out);
    PLAIT_TRY(plait_check_allocated(*out, err));
    for (size_t i = 0; i < run->points->count; i++) {
        const point *p = &run->points->point[i];

        if (stack_rank(p->source, stacks) != chosen.rank ||
            (chosen.source != NULL && strcmp(p->source, chosen.source) != 0) ||
            !is_about(run, f, block, accelerator, p))
            continue;
        const bool large = f->large(accelerator, p);
        (*out)[*count] = (fit_point){
            .what = p,
            .measured_s = p->s,
            .weight = large ? f->large_weight : 1.0,
            .held_out = is_held_out(f, p, *count),
            .large = large,
        };
        (*count)++;
    }
    return PLAIT_OK;
}

// ---- one block -----------------------------------------------------------------------------

static plait_status block_name(const calibrate_run *run, calibrate_block *out, plait_error *err)
{
    const family *f = out->family;
    const char *what = f->what != NULL ? f->what : f->section;
    const char *sub = f->block_name != NULL ? f->block_name[out->block]
                      : f->last > 1         ? out->number[0].key
                                            : NULL;

    out->name = sub != NULL ? plait_arena_printf(run->arena, "%s %s", what, sub) : what;
    return out->name != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/*
 * Sets the values of a block, and which of them to write: a number that the points do not determine
 * keeps the family's default. Numbers without a default (`preset`) are all written if the points
 * determine any of them.
 */
static void keep_numbers(const family_subject *fitted, const family_subject *prior,
                         calibrate_block *out)
{
    bool guesses_tell = false;

    for (int i = 0; i < out->numbers; i++)
        guesses_tell = guesses_tell || (out->number[i].preset && out->number[i].determined);
    for (int i = 0; i < out->numbers; i++) {
        const size_t offset = out->number[i].offset;
        const double before = *(const double *)(const void *)((const char *)prior + offset);

        out->value[i] = *(const double *)(const void *)((const char *)fitted + offset);
        out->written[i] = out->number[i].preset
                              ? guesses_tell
                              : out->number[i].determined || out->value[i] != before;
    }
}

static plait_status fit_block(calibrate_run *run, const family *f, int block,
                              const plait_accelerator *present, plait_error *err)
{
    calibrate_block *const out = &run->block[run->blocks];
    family_subject *subject = plait_arena_alloc(run->arena, 2, sizeof *subject);
    plait_accelerator prior;
    fit_point *points;
    int count;

    PLAIT_TRY(plait_check_allocated(subject, err));
    *out = (calibrate_block){.family = f, .block = block};
    PLAIT_TRY(select_points(run, f, block, present, &points, &count, &out->source, err));
    if (count < f->least)
        return PLAIT_OK;
    // The prior of each number is its value in the file without this block.
    family_subject_init(present, &subject[0]);
    out->numbers = f->numbers(&subject[0], block, out->number);
    PLAIT_TRY(calibrate_file_without(run->tree, out, run->arena, &prior, err));
    family_subject_init(&prior, &subject[0]);
    family_subject_init(&prior, &subject[1]);
    out->numbers = f->numbers(&subject[0], block, out->number);

    const fit_problem problem = {
        .subject = &subject[0],
        .number = out->number,
        .numbers = out->numbers,
        .point = points,
        .points = count,
        .predict_s = f->predict_s,
    };
    PLAIT_TRY(fit_run(&problem, run->arena, &out->errors, err));
    out->used = out->errors.held <= most_used_error;
    keep_numbers(&subject[0], &subject[1], out);
    PLAIT_TRY(block_name(run, out, err));
    run->blocks++;
    return out->used ? calibrate_file_apply(run->tree, out, run->arena, err) : PLAIT_OK;
}

// ---- all blocks ----------------------------------------------------------------------------

static bool has_block(const calibrate_run *run, const family *f, int block)
{
    for (int i = 0; i < run->blocks; i++)
        if (run->block[i].family == f && run->block[i].block == block)
            return true;
    return false;
}

/* Returns whether an accelerator can have a block: there is none for a format that it lacks. */
static bool can_have(const plait_accelerator *accelerator, const calibrate_block *block)
{
    return block->family->block_name != plait_precision_name ||
           accelerator->peak_flops_per_s[block->block] > 0.0;
}

/* Takes over the kernel or link blocks of the accelerator that stands in for this one (names.h). */
static plait_status borrow_blocks(calibrate_run *run, bool kernels, plait_error *err)
{
    const char *relative = names_stand_in(run->name, kernels);
    plait_accelerator accelerator;
    calibrate_result lent;

    if (relative == NULL)
        return PLAIT_OK;
    PLAIT_TRY(calibrate_accelerator(relative, run->points, run->arena, &lent, err));
    PLAIT_TRY(calibrate_file_parse(run->tree, run->arena, &accelerator, err));
    for (int i = 0; i < lent.blocks; i++) {
        calibrate_block *const out = &run->block[run->blocks];

        *out = lent.block[i];
        if (!out->used || out->family->kernels != kernels ||
            has_block(run, out->family, out->block) || !can_have(&accelerator, out))
            continue;
        out->stands_in = relative;
        run->blocks++;
        PLAIT_TRY(calibrate_file_apply(run->tree, out, run->arena, err));
    }
    return PLAIT_OK;
}

static plait_status fit_all(calibrate_run *run, calibrate_result *out, plait_error *err)
{
    plait_accelerator present;

    for (int f = 0; f < family_count; f++)
        for (int b = families[f]->first; b < families[f]->last; b++) {
            assert(run->blocks < MOST_BLOCKS);
            PLAIT_TRY(calibrate_file_parse(run->tree, run->arena, &present, err));
            run->name = present.name;
            PLAIT_TRY(fit_block(run, families[f], b, &present, err));
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
    plait_status status;

    PLAIT_TRY(plait_check_allocated(run.block, err));
    PLAIT_TRY(calibrate_file_read(name, arena, &file, err));
    run.tree = file.tree;
    status = fit_all(&run, out, err);
    json_document_free(&file);
    return status;
}
