/* runtime_variant.c - software as it was at a date */
#include "runtime_variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_private.h"
#include "runtime_private.h"
#include "text.h"

/* ---- dates ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int runtime_date(const char *text)
{
    if (strlen(text) != 5 || text[2] != '.' || !is_digit(text[0]) || !is_digit(text[1]) ||
        !is_digit(text[3]) || !is_digit(text[4]))
        return 0;

    const int year = 10 * (text[0] - '0') + text[1] - '0';
    const int month = 10 * (text[3] - '0') + text[4] - '0';
    return month >= 1 && month <= 12 ? 100 * year + month : 0;
}

const char *runtime_month(int date, char out[RUNTIME_MONTH_SIZE])
{
    snprintf(out, RUNTIME_MONTH_SIZE, "%02d.%02d", date / 100, date % 100);
    return out;
}

plait_status runtime_split(const char *name, plait_arena *arena, const char **software,
                           const char **when, plait_error *err)
{
    char *const text = plait_arena_text(arena, name);

    if (text == NULL)
        return plait_fail_nomem(err);
    *when = data_is_path(name) ? NULL : text_cut(text, '@');
    *software = text;
    return PLAIT_OK;
}

/* ---- variants ---- */

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

plait_status runtime_variants(const char *software, plait_arena *arena, int **dates, size_t *count,
                              plait_error *err)
{
    const size_t length = strlen(software);
    const char *const *names;
    size_t all;

    PLAIT_TRY(plait_data_list(PLAIT_DATA_RUNTIMES, arena, &names, &all, err));
    *count = 0;
    *dates = plait_arena_alloc(arena, all + 1, sizeof **dates);
    if (*dates == NULL)
        return plait_fail_nomem(err);
    for (size_t i = 0; i < all; i++) {
        if (strncmp(names[i], software, length) != 0 || names[i][length] != '@')
            continue;
        (*dates)[*count] = runtime_date(names[i] + length + 1);
        *count += (*dates)[*count] > 0;
    }
    qsort(*dates, *count, sizeof **dates, ascending);
    return PLAIT_OK;
}

int runtime_variant_at(const int *dates, size_t count, int date)
{
    for (size_t i = 0; i < count; i++)
        if (date > 0 && dates[i] >= date)
            return dates[i];
    return 0;
}

/* ---- finding one ---- */

static plait_status date_of(const plait_runtime *newest, const char *name, const char *when,
                            int *out, plait_error *err)
{
    *out = runtime_date(when);
    for (size_t i = 0; *out == 0 && i < newest->releases; i++)
        if (text_equal(when, newest->release[i].name))
            *out = newest->release[i].date;
    if (*out > 0)
        return PLAIT_OK;
    return newest->releases > 0
               ? plait_fail(err, PLAIT_ERROR_RANGE, name,
                            "expected a month such as 25.09, or a release such as %.40s, behind @, "
                            "found \"%.40s\"",
                            newest->release[newest->releases - 1].name, when)
               : plait_fail(err, PLAIT_ERROR_RANGE, name,
                            "expected a month such as 25.09 behind @, found \"%.40s\"", when);
}

/* A file has to be what its name says. */
static plait_status load_variant(const char *software, int date, plait_arena *arena,
                                 plait_runtime *out, plait_error *err)
{
    char month[RUNTIME_MONTH_SIZE];
    const char *name = plait_arena_printf(arena, "%s@%s", software, runtime_month(date, month));
    const char *path;

    if (name == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(plait_data_find(PLAIT_DATA_RUNTIMES, name, arena, &path, err));
    PLAIT_TRY(plait_runtime_load(path, arena, out, err));
    if (!text_equal(out->name, name))
        return plait_fail(err, PLAIT_ERROR_RANGE, path, "expected the name %.80s, found %.80s",
                          name, out->name);
    return PLAIT_OK;
}

plait_status runtime_find_dated(const char *software, const char *when, plait_arena *arena,
                                plait_runtime *out, plait_error *err)
{
    const char *const name = plait_arena_printf(arena, "%s@%s", software, when);
    const char *path;
    int *dates, date;
    size_t count;

    if (name == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(plait_data_find(PLAIT_DATA_RUNTIMES, software, arena, &path, err));
    PLAIT_TRY(plait_runtime_load(path, arena, out, err));
    PLAIT_TRY(date_of(out, name, when, &date, err));
    PLAIT_TRY(runtime_variants(software, arena, &dates, &count, err));

    const int until = runtime_variant_at(dates, count, date);
    if (until > 0)
        PLAIT_TRY(load_variant(software, until, arena, out, err));
    out->name = name;
    out->software = software;
    out->date = date;
    out->until = until;
    return PLAIT_OK;
}

/* ---- files ---- */

static plait_status read_release(const json_cursor *at, plait_arena *arena, plait_runtime *of,
                                 plait_release *out, plait_error *err)
{
    const char *month;

    for (size_t i = 0; i < of->releases; i++)
        if (text_equal(at->key, of->release[i].name))
            return json_fail(at, PLAIT_ERROR_SCHEMA, err, "expected each release once, found two");
    out->name = plait_arena_text(arena, at->key);
    if (out->name == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(json_as_string(at, arena, &month, err));
    out->date = runtime_date(month);
    return out->date > 0 ? PLAIT_OK
                         : json_fail(at, PLAIT_ERROR_RANGE, err,
                                     "expected a month such as 25.09, found \"%.40s\"", month);
}

plait_status runtime_read_releases(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                                   plait_error *err)
{
    json_cursor releases, each;
    plait_release *release;

    PLAIT_TRY(json_object_optional(at, "releases", &releases, err));
    if (json_count(&releases) == 0)
        return PLAIT_OK;
    release = plait_arena_alloc(arena, json_count(&releases), sizeof *release);
    if (release == NULL)
        return plait_fail_nomem(err);
    out->release = release;
    for (bool more = json_first(&releases, &each); more; more = json_next(&each)) {
        if (text_equal(each.key, "source"))
            continue;
        PLAIT_TRY(read_release(&each, arena, out, &release[out->releases], err));
        out->releases++;
    }
    return PLAIT_OK;
}

/* A profile that others refer to may refer to none: two files cannot form a circle. */
static plait_status read_whole(const json_cursor *root, plait_arena *arena, void *out,
                               plait_error *err)
{
    static const char *const keys[] = {"variant_of", "numbers_of"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_has(root, keys[i]))
            return json_fail_key(root, keys[i], PLAIT_ERROR_RANGE, err,
                                 "expected none, since another profile refers to this one");
    return runtime_read(root, arena, out, err);
}

plait_status runtime_read_other(const json_cursor *at, const char *key, plait_arena *arena,
                                const char **name, plait_runtime *out, plait_error *err)
{
    const char *path;

    PLAIT_TRY(json_string(at, key, arena, name, err));
    if (data_is_path(*name) || strchr(*name, '@') != NULL)
        return json_fail_key(at, key, PLAIT_ERROR_RANGE, err,
                             "expected the name of a runtime without a date, found \"%.80s\"",
                             *name);
    PLAIT_TRY(data_look_up(PLAIT_DATA_RUNTIMES, *name, arena, &path, err));
    if (path == NULL)
        return json_fail_key(at, key, PLAIT_ERROR_RANGE, err,
                             "expected the name of a runtime, found \"%.80s\"", *name);
    return json_load(path, read_whole, arena, out, err);
}

/* "megatron@25.09" of "megatron" */
static plait_status last_month(const json_cursor *at, const char *name, const char *of, int *out,
                               plait_error *err)
{
    const size_t length = strlen(of);

    *out =
        strncmp(name, of, length) == 0 && name[length] == '@' ? runtime_date(name + length + 1) : 0;
    if (*out > 0)
        return PLAIT_OK;
    return json_fail_key(at, "name", PLAIT_ERROR_RANGE, err,
                         "expected %.40s@YY.MM, the last month that it is of, found \"%.80s\"", of,
                         name);
}

plait_status runtime_read_base(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                               plait_error *err)
{
    const char *name, *of;
    int until;

    PLAIT_TRY(json_string(at, "name", arena, &name, err));
    PLAIT_TRY(runtime_read_other(at, "variant_of", arena, &of, out, err));
    PLAIT_TRY(last_month(at, name, of, &until, err));
    out->name = name;
    out->software = of;
    out->date = out->until = until;
    return PLAIT_OK;
}
