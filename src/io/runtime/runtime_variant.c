/* runtime_variant.c - finds the profile of software in a month or a release */
#include "io/runtime/runtime_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "io/data/data.h"

/* ---- dates ---- */

int runtime_date(const char *text)
{
    if (strlen(text) != 5 || strspn(text, "0123456789") != 2 || text[2] != '.' ||
        strspn(text + 3, "0123456789") != 2)
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

    PLAIT_TRY(plait_check_allocated(text, err));
    *when = data_is_path(name) ? NULL : text_cut(text, '@');
    *software = text;
    return PLAIT_OK;
}

/* ---- variants ---- */

static int compare_releases(const void *a, const void *b)
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
    PLAIT_TRY(plait_check_allocated(*dates, err));
    for (size_t i = 0; i < all; i++) {
        if (strncmp(names[i], software, length) != 0 || names[i][length] != '@')
            continue;
        (*dates)[*count] = runtime_date(names[i] + length + 1);
        *count += (*dates)[*count] > 0;
    }
    qsort(*dates, *count, sizeof **dates, compare_releases);
    return PLAIT_OK;
}

int runtime_variant_at(const int *dates, size_t count, int date)
{
    for (size_t i = 0; i < count; i++)
        if (date > 0 && dates[i] >= date)
            return dates[i];
    return 0;
}

/* ---- releases ---- */

/*
 * Returns the version in the name of a release: v0.14.0 for "core-v0.14.0", whose product is core.
 */
static const char *version_of(const char *release)
{
    const char *const dash = strchr(release, '-');

    return dash != NULL ? dash + 1 : release;
}

/* Size of a normalised release name; a longer text names no release. */
enum { RELEASE_SIZE = 64 };

/*
 * Returns whether `when` is a prefix of a version: "v0.14" matches v0.14.0 and v0.14.0rc1, but not
 * v0.140.0. A number without a point is refused, because it would match too many versions.
 */
static bool is_version_prefix(const char *when, const char *name)
{
    const size_t length = strlen(when);

    return strchr(when, '.') != NULL && strncmp(name, when, length) == 0 &&
           (name[length] == '\0' || name[length] == '.' || name[length] == 'r');
}

/*
 * Converts a tag "core_v0.14.0", a branch "core_r0.14.0", "0.14" or "V0.14" to the spelling of the
 * list of releases.
 */
static const char *normalise_tag(const char *when, char out[RELEASE_SIZE])
{
    const size_t product = strcspn(when, "-_");
    const bool named = when[product] != '\0';
    const char *version = named ? when + product + 1 : when;

    if (strchr("vVrR", *version) != NULL)
        version += *version != '\0';
    snprintf(out, RELEASE_SIZE, "%.*s%sv%s", named ? (int)product : 0, when, named ? "-" : "",
             version);
    for (char *c = out; *c != '\0'; c++)
        *c = text_lower(*c);
    return out;
}

/*
 * Returns the latest release with a version, which two products may share; NULL if there is none.
 */
static const plait_release *release_named(const plait_runtime *newest, const char *text)
{
    char spelling[RELEASE_SIZE];
    const char *const when = normalise_tag(text, spelling);

    for (size_t i = newest->releases; i-- > 0;)
        if (is_version_prefix(when, newest->release[i].name) ||
            is_version_prefix(when, version_of(newest->release[i].name)))
            return &newest->release[i];
    return NULL;
}

/* Returns the newest release at the end of a month; NULL if there is none. */
static const plait_release *release_at(const plait_runtime *newest, int date)
{
    for (size_t i = newest->releases; i-- > 0;)
        if (newest->release[i].date <= date)
            return &newest->release[i];
    return NULL;
}

static bool same_product(const plait_release *a, const plait_release *b)
{
    const size_t length = (size_t)(version_of(a->name) - a->name);

    return length == (size_t)(version_of(b->name) - b->name) &&
           strncmp(a->name, b->name, length) == 0;
}

/*
 * Lists the first and last release of each product: "core-v0.4.0 to core-v0.19.0, bridge-v0.1.0rc3
 * to bridge-v0.6.0".
 */
static const char *held_releases(const plait_runtime *newest, plait_arena *arena)
{
    const plait_release *const list = newest->release;
    text_builder out;

    text_builder_init(&out, arena);
    for (size_t i = 0; i < newest->releases; i++) {
        size_t first = 0, last = newest->releases - 1;

        while (!same_product(&list[first], &list[i]))
            first++;
        while (!same_product(&list[last], &list[i]))
            last--;
        if (first == i)
            text_append_printf(&out, "%s%.40s to %.40s", out.length > 0 ? ", " : "",
                               list[first].name, list[last].name);
    }
    return text_builder_finish(&out, NULL);
}

static plait_status fail_unheld(const plait_runtime *newest, const char *name, const char *when,
                                plait_arena *arena, plait_error *err)
{
    char month[RUNTIME_MONTH_SIZE];

    if (newest->releases == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, name,
                          "expected a month such as 25.09 after @, found \"%.40s\"", when);

    const char *const held = held_releases(newest, arena);
    PLAIT_TRY(plait_check_allocated(held, err));
    return plait_fail(
        err, PLAIT_ERROR_RANGE, name,
        "expected a month such as 25.09 (%s or later) or a release (%s) after @, found \"%.40s\"",
        runtime_month(newest->release[0].date, month), held, when);
}

plait_status runtime_find_dated(const char *software, const char *when, bool held,
                                plait_arena *arena, plait_runtime *out, plait_error *err)
{
    const char *const name = plait_arena_printf(arena, "%s@%s", software, when);
    const plait_release *at;
    const char *path;
    int *dates, date;
    size_t count;

    PLAIT_TRY(plait_check_allocated(name, err));
    PLAIT_TRY(plait_data_find(PLAIT_DATA_RUNTIMES, software, arena, &path, err));
    PLAIT_TRY(plait_runtime_load(path, arena, out, err));

    // Find the release; `at` is NULL if the profile has no release that old.
    date = runtime_date(when);
    at = date > 0 ? release_at(out, date) : release_named(out, when);
    if (date == 0 && at != NULL)
        date = at->date;
    if (date <= 0)
        return fail_unheld(out, name, when, arena, err);
    PLAIT_TRY(runtime_variants(software, arena, &dates, &count, err));

    const size_t index = at != NULL ? (size_t)(at - out->release) : 0;
    const int until = runtime_variant_at(dates, count, date);
    if (until > 0) {
        char month[RUNTIME_MONTH_SIZE];

        // Load the variant; the name in the file must be that of the variant.
        const char *variant_name =
            plait_arena_printf(arena, "%s@%s", software, runtime_month(until, month));
        PLAIT_TRY(plait_check_allocated(variant_name, err));
        PLAIT_TRY(plait_data_find(PLAIT_DATA_RUNTIMES, variant_name, arena, &path, err));
        PLAIT_TRY(plait_runtime_load(path, arena, out, err));
        if (!text_equal(out->name, variant_name))
            return plait_fail(err, PLAIT_ERROR_RANGE, path,
                              "expected a profile with the name %.80s, found %.80s", variant_name,
                              out->name);
    }
    out->name = name;
    out->software = software;
    out->date = date;
    out->until = until;
    if (at != NULL)
        runtime_bound(out, &out->release[index]);
    if (!held)
        return PLAIT_OK;
    // Releases before the first listed one are covered only by a variant of those months.
    if (out->releases == 0 && count == 0)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, out->name,
            "expected %.40s without a version, since plait has no versions of it, found \"%.40s\"",
            software, when);
    if (out->releases == 0 || out->at != NULL ||
        (out->until > 0 && out->until < out->release[0].date))
        return PLAIT_OK;
    return fail_unheld(out, out->name, when, arena, err);
}

/* ---- references between files ---- */

plait_status runtime_read_releases(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                                   plait_error *err)
{
    json_cursor releases, each;
    plait_release *release;

    PLAIT_TRY(json_object_optional(at, "releases", &releases, err));
    if (json_count(&releases) == 0)
        return PLAIT_OK;
    release = plait_arena_alloc(arena, json_count(&releases), sizeof *release);
    PLAIT_TRY(plait_check_allocated(release, err));
    out->release = release;
    for (bool more = json_first(&releases, &each); more; more = json_next(&each)) {
        const char *month;

        if (text_equal(each.key, "source"))
            continue;
        for (size_t i = 0; i < out->releases; i++)
            if (text_equal(each.key, out->release[i].name))
                return json_fail(&each, PLAIT_ERROR_SCHEMA, err,
                                 "expected each release once, found it twice");
        release[out->releases].name = plait_arena_text(arena, each.key);
        PLAIT_TRY(plait_check_allocated(release[out->releases].name, err));
        PLAIT_TRY(json_as_string(&each, arena, &month, err));
        release[out->releases].date = runtime_date(month);
        if (release[out->releases].date <= 0)
            return json_fail(&each, PLAIT_ERROR_RANGE, err,
                             "expected a month such as 25.09, found \"%.40s\"", month);
        out->releases++;
    }
    return PLAIT_OK;
}

/*
 * Reads a profile that another one refers to. It may not refer to a third one, so that files cannot
 * form a circle.
 */
static plait_status read_whole(const json_cursor *root, plait_arena *arena, void *out,
                               plait_error *err)
{
    static const char *const keys[] = {"variant_of", "numbers_of"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_has(root, keys[i]))
            return json_fail_key(root, keys[i], PLAIT_ERROR_RANGE, err,
                                 "expected no reference to a profile, since another profile refers "
                                 "to this one, found a reference");
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

plait_status runtime_read_base(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                               plait_error *err)
{
    const char *name, *of;

    PLAIT_TRY(json_string(at, "name", arena, &name, err));
    PLAIT_TRY(runtime_read_other(at, "variant_of", arena, &of, out, err));

    const size_t length = strlen(of);
    const bool matches = strncmp(name, of, length) == 0 && name[length] == '@';
    const int until = matches ? runtime_date(name + length + 1) : 0;
    if (until == 0)
        return json_fail_key(
            at, "name", PLAIT_ERROR_RANGE, err,
            "expected %.40s@YY.MM with the last month that the profile covers, found \"%.80s\"", of,
            name);
    out->name = name;
    out->software = of;
    out->date = out->until = until;
    return PLAIT_OK;
}

/*
 * Converts a path to an absolute one, which finds the same file when a plan is read in another
 * folder.
 */
static plait_status absolute_path(const char *path, plait_arena *arena, const char **out,
                                  plait_error *err)
{
    char *const whole = realpath(path, NULL);

    if (whole == NULL && errno == ENOMEM)
        return plait_fail_nomem(err);
    *out = plait_arena_text(arena, whole != NULL ? whole : path);
    free(whole);
    return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

static plait_status find_profile(const char *name, const char *software, const char *when,
                                 bool held, plait_arena *arena, plait_runtime *out,
                                 plait_error *err)
{
    const char *path;

    if (when != NULL)
        return runtime_find_dated(software, when, held, arena, out, err);
    PLAIT_TRY(plait_data_find(PLAIT_DATA_RUNTIMES, software, arena, &path, err));
    PLAIT_TRY(plait_runtime_load(path, arena, out, err));
    return data_is_path(name) ? absolute_path(path, arena, &out->file, err) : PLAIT_OK;
}

static plait_status find_runtime(const char *name, bool held, plait_arena *arena,
                                 plait_runtime *out, plait_error *err)
{
    const char *path, *software = NULL, *when = NULL;

    if (name == NULL)
        return plait_data_find(PLAIT_DATA_RUNTIMES, name, arena, &path, err);
    PLAIT_TRY(runtime_split(name, arena, &software, &when, err));

    const runtime_alias *const alias = runtime_alias_find(software);
    if (alias == NULL)
        return find_profile(name, software, when, held, arena, out, err);
    PLAIT_TRY(find_profile(name, alias->runtime, when, held, arena, out, err));
    out->can.takes[PLAIT_KEY_GRAD_SYNC] = 1U << alias->grad_sync;
    out->defaults.key[PLAIT_KEY_GRAD_SYNC] = (int)alias->grad_sync;
    return PLAIT_OK;
}

plait_status plait_runtime_find(const char *name, plait_arena *arena, plait_runtime *out,
                                plait_error *err)
{
    return find_runtime(name, true, arena, out, err);
}

plait_status runtime_find_of_run(const char *name, plait_arena *arena, plait_runtime *out,
                                 plait_error *err)
{
    return find_runtime(name, false, arena, out, err);
}
