/* edits.c - the lines to change in a user's own config so that it runs another plan */
#include "launch/edits.h"

#include <string.h>

#include "base/status.h"
#include "launch/import.h"
#include "base/text.h"

/* A line without its indentation and without a trailing comma. */
typedef struct config_line {
    const char *text;
    size_t length;
} config_line;

static bool next_line(const char **at, config_line *out)
{
    const char *begin = *at, *end;

    if (*begin == '\0')
        return false;
    end = begin + strcspn(begin, "\n");
    *at = end + (*end == '\n');
    while (begin < end && (*begin == ' ' || *begin == '\t'))
        begin++;
    while (end > begin && (end[-1] == ' ' || end[-1] == ',' || end[-1] == '\r'))
        end--;
    *out = (config_line){begin, (size_t)(end - begin)};
    return true;
}

static bool same_line(config_line a, config_line b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static bool has_line(const char *text, config_line line)
{
    config_line other;

    while (next_line(&text, &other))
        if (same_line(line, other))
            return true;
    return false;
}

static bool line_starts(config_line line, const char *word)
{
    const size_t length = strlen(word);

    return line.length >= length && memcmp(line.text, word, length) == 0;
}

static bool has_content(config_line line)
{
    return line.length > 0 && line.text[0] != '#';
}

static bool is_of_key(char c)
{
    return text_is_alphanumeric(c) || c == '_' || c == '-' || c == '.';
}

/* Return the flag, key or variable of a line; empty for a line without one, such as a bracket. */
static config_line key_of(config_line line)
{
    config_line key = line;

    if (line_starts(line, "export "))
        key.text += strlen("export ");
    else if (line_starts(line, "\""))
        key.text++;
    for (key.length = 0; key.text + key.length < line.text + line.length; key.length++)
        if (!is_of_key(key.text[key.length]))
            break;
    return key;
}

/* Return the text after a key, without the blanks, quotes and separators around the text. */
static config_line value_at(const char *at, const char *end)
{
    const char *stop;

    while (at < end && strchr(" \t\"'=:", *at) != NULL)
        at++;
    for (stop = at; stop < end && strchr(" \t\"',\\}]", *stop) == NULL; stop++)
        ;
    return (config_line){at, (size_t)(stop - at)};
}

static bool is_comment(const char *text, const char *at)
{
    const char *mark = at;

    while (mark > text && mark[-1] != '\n' && mark[0] != '#')
        mark--;
    return mark[0] == '#' && (mark == text || strchr(" \t\n", mark[-1]) != NULL);
}

static const char *find_key(const char *text, config_line key)
{
    for (const char *at = text; key.length > 0 && (at = strchr(at, key.text[0])) != NULL; at++)
        if (strncmp(at, key.text, key.length) == 0 && (at == text || !is_of_key(at[-1])) &&
            !is_of_key(at[key.length]) && !is_comment(text, at))
            return at + key.length;
    return NULL;
}

/* True if the config has the line's key, or the whole line if the line has no key. */
static bool config_has_line(const char *text, config_line line)
{
    const config_line key = key_of(line);

    return key.length > 0 ? find_key(text, key) != NULL : has_line(text, line);
}

/* Return the config's value of the line's key; the text is NULL if the config lacks the key. */
static config_line config_value(const char *text, config_line line)
{
    const char *const found = find_key(text, key_of(line));

    return found != NULL ? value_at(found, found + strcspn(found, "\n")) : (config_line){NULL, 0};
}

/* True for -1, which the runtime replaces by a value that it derives. */
static bool is_derived(config_line value)
{
    return same_line(value, (config_line){"-1", 2});
}

static void add_edit(const char *mark, config_line line, text_builder *out)
{
    text_append(out, mark);
    text_append_bytes(out, line.text, line.length);
    text_append(out, "\n");
}

/* ---- the file of the folder to compare ---- */

static int keys_shared(const char *text, const char *file)
{
    config_line line;
    int shared = 0;

    while (next_line(&text, &line))
        shared += has_content(line) && find_key(file, key_of(line)) != NULL;
    return shared;
}

/* ---- added lines without effect ---- */

/*
 * Return the config without the line `gone` and without comments, since launch repeats the plan in
 * comments.
 */
static char *config_without(const char *text, config_line gone, plait_arena *arena)
{
    const char *at = text;
    text_builder out;
    config_line line;
    char *made;

    text_builder_init(&out, arena);
    for (const char *begin = at; next_line(&at, &line); begin = at)
        if (has_content(line) && !same_line(line, gone))
            text_append_bytes(&out, begin, (size_t)(at - begin));
    made = text_builder_finish(&out, NULL);
    // in JSON, the last member of an object is removed together with the comma before it
    for (char *comma = made; made != NULL && (comma = strchr(comma, ',')) != NULL; comma++) {
        const char next = comma[1 + strspn(comma + 1, " \n")];

        if (next == '}' || (next == ']' && comma[1] == '\n'))
            *comma = ' ';
    }
    return made;
}

static plait_key_set differing_keys(const plans_entry *a, const plans_entry *b)
{
    plait_key_set apart = a->given ^ b->given;

    for (int key = 0; key < PLAIT_KEYS; key++)
        if (!plait_key_same(&a->degrees, &b->degrees, (plait_key_id)key))
            apart |= PLAIT_KEY_BIT(key);
    return apart;
}

static plait_status read_plan(const launch_config *config, const char *text, plait_arena *arena,
                              plans_entry *out, bool *read, plait_error *err)
{
    const char *warning;
    plait_error inner;

    const plait_status status = launch_import(config->target, text, strlen(text), config->name,
                                              &config->call, arena, out, &warning, &inner);
    *read = status == PLAIT_OK;
    return faults_only(status, &inner, err);
}

/* ---- flags in other spellings ---- */

/* Find the next flag of a script at or after *at, and the end of the flag's value. */
static bool next_flag(const char *text, const char **at, config_line *flag, const char **end)
{
    const char *begin = *at;

    while ((begin = strstr(begin, "--")) != NULL &&
           ((begin > text && strchr(" \t\n\"'(", begin[-1]) == NULL) || is_comment(text, begin)))
        begin += 2;
    if (begin == NULL)
        return false;
    *flag = key_of((config_line){begin, strcspn(begin, "\n")});
    const char *value = begin + flag->length;
    *end = *at = value;
    value += *value == '=' || *value == ' ';
    const char *const quotes = *value == '"' ? "\"" : " \t\n\\)\"'";
    const char *const inside = value + (*value == '"');
    const size_t length = strcspn(inside, quotes);
    if (value > *end && length > 0 && !(inside[0] == '-' && inside[1] == '-'))
        *end = inside + length + (*value == '"' && inside[length] == '"');
    return true;
}

/*
 * True if `names`, a list of options that the import ignores, has a flag: num_layers for
 * --num-layers.
 */
static bool is_not_read(const char *names, config_line flag)
{
    for (const char *name = names; name != NULL && *name != '\0'; name += strspn(name, ", ")) {
        const size_t length = strcspn(name, ",");
        size_t same = 0;

        while (same < length && same + 2 < flag.length &&
               name[same] == (flag.text[same + 2] == '-' ? '_' : flag.text[same + 2]))
            same++;
        if (same == length && flag.length == length + 2)
            return true;
        name += length;
    }
    return false;
}

/* Most flags of a script that are tried, since each may need another import. */
enum { MOST_FLAGS = 300 };

/* The edits, and the config after them; `applied` is NULL if a line has no place in the config. */
typedef struct edit_list {
    text_builder lines;
    char *applied;
} edit_list;

static plait_status remove_other_spellings(const launch_config *config, const char *before,
                                           plait_key_set changed, plait_arena *arena,
                                           edit_list *out, plait_error *err)
{
    const char *at = config->text, *end;
    plans_entry whole, without;
    config_line flag;
    int tried = 0;
    bool read;

    PLAIT_TRY(read_plan(config, config->text, arena, &whole, &read, err));
    while (read && tried < MOST_FLAGS && next_flag(config->text, &at, &flag, &end)) {
        bool still;

        // a flag that names a config file gives a whole plan; changes belong into that file
        if (find_key(before, flag) != NULL ||
            (end - flag.text > 5 &&
             (memcmp(end - 5, ".json", 5) == 0 || memcmp(end - 5, ".yaml", 5) == 0)) ||
            is_not_read(whole.not_read, flag))
            continue;
        tried++;
        char *const blanked = plait_arena_text(arena, config->text);
        PLAIT_TRY(plait_check_allocated(blanked, err));
        memset(blanked + (flag.text - config->text), ' ', (size_t)(end - flag.text));
        PLAIT_TRY(read_plan(config, blanked, arena, &without, &still, err));
        if (!still || !(differing_keys(&whole, &without) & changed))
            continue;
        add_edit("- ", (config_line){flag.text, (size_t)(end - flag.text)}, &out->lines);
        memset(out->applied + (flag.text - config->text), ' ', (size_t)(end - flag.text));
    }
    return PLAIT_OK;
}

/*
 * Find a line as the config spells it: the key and as many values as the line has, with quotes.
 * Return false if the config has another form, such as a YAML key in place of a flag.
 */
static bool find_own(const char *text, config_line line, config_line *out)
{
    const config_line key = key_of(line);
    const char *const found = find_key(text, key);
    const char *const line_end = line.text + line.length, *at = found;
    const char *value = key.text + key.length;
    const bool json = line_starts(line, "\"");

    if (found == NULL)
        return false;
    const char *begin = found - key.length;
    if (line_starts(line, "export ") && begin - text >= 7 && memcmp(begin - 7, "export ", 7) == 0)
        begin -= 7;
    if (begin > text && begin[-1] == '"' && *found == '"') // a key of JSON
        begin--;
    while (value < line_end) {
        value += strspn(value, " \t\"'=:");
        if (value >= line_end)
            break;
        value += strcspn(value, " \n");
        if (line_starts(key, "--") && *at != ' ' && *at != '=')
            return false;
        at += json && at == found && *at == '"';
        at += strspn(at, line_starts(key, "--") ? " =" : " \t=:");
        if (*at == '"' || *at == '\'') {
            const char *const close = strchr(at + 1, *at);
            if (close == NULL)
                return false;
            at = close + 1;
        } else {
            const size_t length = strcspn(at, " \t\r\n\\,)}]\"'");
            if (length == 0 || strncmp(at, "--", 2) == 0)
                return false;
            at += length;
        }
    }
    *out = (config_line){begin, (size_t)(at - begin)};
    return true;
}

/*
 * Return the place in the config for a line of launch's file: before a neighbour of the line that
 * both files have; NULL if there is none.
 */
static const char *place_of(const char *text, const char *after, config_line line)
{
    const bool flag = line_starts(line, "--");
    config_line other, own;
    const char *found = NULL;
    bool passed = false;

    if (line_starts(line, "export "))
        return text[0] == '#' ? text + strcspn(text, "\n") : text;
    while (next_line(&after, &other) && !(passed && found != NULL)) {
        passed |= other.text == line.text;
        if (!flag && other.length > 0 && strchr("[{}", other.text[0]) != NULL) {
            if (passed)
                break;
            found = NULL; // the neighbour is in another section
        } else if (has_content(other) && other.text != line.text &&
                   line_starts(other, "--") == flag && find_own(text, other, &own)) {
            found = own.text;
        }
    }
    return found;
}

static bool has_key(const char *text, config_line line)
{
    config_line other;

    while (next_line(&text, &other))
        if (has_content(other) && same_line(key_of(other), key_of(line)))
            return true;
    return false;
}

static void remove_line(const launch_config *config, const char *after, config_line line,
                        edit_list *out)
{
    config_line own;

    if (key_of(line).length == 0 || out->applied == NULL)
        return;
    if (!find_own(config->text, line, &own)) {
        out->applied = NULL;
        return;
    }
    add_edit("- ", own, &out->lines);
    if (!has_key(after, line)) {
        // blank the line, and in JSON the comma after it
        char *const begin = out->applied + (own.text - config->text);
        const bool json = *begin == '"';
        char *end = begin + own.length;
        memset(begin, ' ', own.length);
        end += strspn(end, " \n");
        if (json && *end == ',')
            *end = ' ';
    }
}

/* Add a line: in place of the config's line with the same key, else before a neighbour. */
static plait_status insert_line(const char *before, const char *after, config_line line,
                                plait_arena *arena, edit_list *out, plait_error *err)
{
    config_line own = {NULL, 0}, old;
    bool found = false;

    add_edit("+ ", line, &out->lines);
    if (out->applied == NULL)
        return PLAIT_OK;
    while (!found && next_line(&before, &old))
        found = has_content(old) && same_line(key_of(old), key_of(line)) &&
                find_own(out->applied, old, &own);
    if (!found && !find_own(out->applied, line, &own))
        own = (config_line){place_of(out->applied, after, line), 0};
    if (own.text == NULL) {
        out->applied = NULL;
        return PLAIT_OK;
    }
    text_builder lines;
    text_builder_init(&lines, arena);
    text_append_bytes(&lines, out->applied, (size_t)(own.text - out->applied));
    if (line_starts(line, "export ") && own.length == 0 && own.text > out->applied)
        text_append(&lines, "\n"); // the line goes after the #! line
    text_append_bytes(&lines, line.text, line.length);
    text_append(&lines, (own.length > 0            ? ""
                         : line_starts(line, "--") ? " "
                         : line_starts(line, "\"") ? ", "
                                                   : "\n"));
    text_append(&lines, own.text + own.length);
    out->applied = text_builder_finish(&lines, NULL);
    return out->applied != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

plait_status launch_edits_make(const launch_config *config, const plait_launch_folder *now,
                               const plait_launch_folder *other, plait_key_set changed,
                               plait_arena *arena, const char **edits, const char **applied,
                               plait_error *err)
{
    const char *const file = config->text;
    edit_list out = {.applied = plait_arena_text(arena, file)};
    // index of the file that shares most keys with the config, and the number of these keys
    int chosen = 0, most = 0;
    config_line line;

    for (int f = 0; f < now->files; f++) {
        const int shared = keys_shared(now->file[f].text, file);

        chosen = shared > most ? f : chosen;
        most = shared > most ? shared : most;
    }
    *edits = "";
    *applied = NULL;
    PLAIT_TRY(plait_check_allocated(out.applied, err));
    if (most == 0 || chosen >= other->files)
        return PLAIT_OK;
    const char *const before = now->file[chosen].text, *const after = other->file[chosen].text;
    const char *made = config_without(after, (config_line){"", 0}, arena);
    PLAIT_TRY(plait_check_allocated(made, err));
    text_builder_init(&out.lines, arena);
    PLAIT_TRY(remove_other_spellings(config, before, changed, arena, &out, err));
    for (const char *at = before; next_line(&at, &line);)
        if (has_content(line) && !has_line(after, line) && config_has_line(file, line) &&
            !is_derived(config_value(file, line)))
            remove_line(config, after, line, &out);
    for (const char *at = after; next_line(&at, &line);) {
        bool no_effect = false;
        const config_line key = key_of(line), given = config_value(file, line);
        const config_line value = value_at(key.text + key.length, line.text + line.length);

        if (!has_content(line) || has_line(before, line) || is_derived(given) ||
            (given.text != NULL && (value.length == 0 || same_line(value, given))))
            continue;
        if (key.length > 0 && given.text == NULL && !line_starts(line, "export ")) {
            // an added line has no effect if the plan that is read without the line is the same
            char *const without = config_without(made, line, arena);
            plans_entry with_it, without_it;
            bool read = false;
            no_effect = false;
            PLAIT_TRY(plait_check_allocated(without, err));
            PLAIT_TRY(read_plan(config, made, arena, &with_it, &read, err));
            if (read)
                PLAIT_TRY(read_plan(config, without, arena, &without_it, &read, err));
            no_effect =
                read &&
                (differing_keys(&with_it, &without_it) == 0 && with_it.gbs == without_it.gbs &&
                 with_it.seq == without_it.seq && with_it.precision == without_it.precision &&
                 (with_it.runtime == NULL) == (without_it.runtime == NULL) &&
                 (with_it.runtime == NULL || text_equal(with_it.runtime, without_it.runtime)));
            if (no_effect)
                made = without;
        }
        if (!no_effect)
            PLAIT_TRY(insert_line(before, after, line, arena, &out, err));
    }
    *edits = text_builder_finish(&out.lines, NULL);
    *applied = out.applied;
    return *edits != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
