/* opt.c - the words of a command line: options, their values, operands
 *
 *     --name VALUE  --name=VALUE  -n VALUE  -nVALUE  -n=VALUE  --  the rest are operands
 *
 * A value is whatever stands behind its option, also what looks like one. Names are whole: what is a
 * unique beginning today would not be tomorrow.
 */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/magnitude.h"
#include "base/text.h"
#include "cli/opt.h"

static int count_options(const opt *options)
{
    int count = 0;

    while (options[count].kind != OPT_LAST)
        count++;
    return count;
}

/* "cp_comm" is said as --cp-comm. */
static void spell_flag(const char *name, char flag[24])
{
    snprintf(flag, 24, "%s", name);
    for (char *c = flag; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
}

/* What a key takes that can be said in a word; numbers say themselves. */
static opt_offer offer_of(const plait_key *key)
{
    static const char *const sides[] = {"0", "1", NULL};
    static const char *const stages[] = {"0", "1", "2", "3", NULL};

    if (key->kind == PLAIT_KEY_SWITCH)
        return (opt_offer){.words = sides};
    if (key->kind == PLAIT_KEY_SMALL_NUMBER)
        return (opt_offer){.words = stages};
    return (opt_offer){.words = key->words};
}

static int add_keys(const opt *keys, opt_table *out, int count)
{
    for (int k = 0; k < PLAIT_KEYS; k++) {
        spell_flag(plait_keys[k].name, out->flag[k]);
        out->row[count++] = (opt){
            .kind = OPT_TEXT,
            .name = out->flag[k],
            .value = plait_keys[k].value,
            .offset = keys->offset + (size_t)k * sizeof(const char *),
            .offer = offer_of(&plait_keys[k]),
            .help = plait_keys[k].help,
        };
    }
    return count;
}

void opt_spell_out(const opt *options, opt_table *out)
{
    static const opt common[] = {
        {.kind = OPT_COMMON,
         .name = "wide",
         .offset = offsetof(opt_operands, wide),
         .help = "all columns of tables, also where the terminal is narrower"},
        {.kind = OPT_COMMON,
         .name = "help",
         .letter = 'h',
         .offset = offsetof(opt_operands, help),
         .help = "this text"},
    };
    int count = 0;

    for (; options->kind != OPT_LAST; options++) {
        assert(count + PLAIT_KEYS + 2 < OPT_MAX_OPTIONS);
        if (options->kind == OPT_KEYS)
            count = add_keys(options, out, count);
        else
            out->row[count++] = *options;
    }
    memcpy(out->row + count, common, sizeof common);
    out->row[count + 2] = *options;
}

/* ---- values ---- */

static plait_status fail_option(const char *name, plait_error *err, const char *expected,
                                const char *found)
{
    char where[80];

    snprintf(where, sizeof where, "--%s", name);
    return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected %s, found %s", expected, found);
}

static plait_status store_int(const opt *option, const char *text, int *out, plait_error *err)
{
    char expected[80], found[80];

    if (magnitude_parse_count(text, option->tokens ? 1024 : 1000, option->min, option->max, out))
        return PLAIT_OK;
    if (option->max == INT_MAX)
        snprintf(expected, sizeof expected, "an integer of at least %d", option->min);
    else
        snprintf(expected, sizeof expected, "an integer from %d to %d", option->min, option->max);
    snprintf(found, sizeof found, "\"%.60s\"", text);
    return fail_option(option->name, err, expected, found);
}

static plait_status store_text(const opt *option, const char *text, plait_arena *arena,
                               const char **out, plait_error *err)
{
    *out = option->kind == OPT_LIST && *out != NULL ? plait_arena_printf(arena, "%s,%s", *out, text)
                                                    : text;
    return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/* ---- refusals ---- */

/* The longest known name that a word begins with: "sequence" is a long way to write "seq". */
static const char *longest_start(const char *word, const char *const *names)
{
    const char *longest = NULL;

    for (; *names != NULL; names++)
        if (strlen(*names) > 2 && text_starts_with(word, *names) &&
            (longest == NULL || strlen(*names) > strlen(longest)))
            longest = *names;
    return longest;
}

const char *opt_replacement(const char *name)
{
    if (text_equal(name, "strategy"))
        return "refine (none for exhaustive, layouts for dp, stages for milp, all for auto)";
    return text_equal(name, "output-file") ? "output" : NULL;
}

/* The option of the table that `found` ("--sequence=5") was probably meant to be. */
static plait_status fail_unknown(const opt_usage *usage, const char *found, plait_arena *arena,
                                 plait_error *err)
{
    const size_t count = (size_t)count_options(usage->options);
    const char **names = plait_arena_alloc(arena, count + 1, sizeof *names);
    char *word = plait_arena_text(arena, found + strspn(found, "-"));
    const char *nearest;
    size_t known = 0;

    if (names == NULL || word == NULL)
        return plait_fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        if (usage->options[i].kind != OPT_GROUP)
            names[known++] = usage->options[i].name;
    text_cut(word, '=');
    nearest = opt_replacement(word);
    if (nearest == NULL)
        nearest = text_nearest(word, names);
    if (nearest == NULL)
        nearest = longest_start(word, names);
    if (nearest != NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, found, "expected the option --%s, found %s",
                          nearest, found);
    return plait_fail(err, PLAIT_ERROR_SCHEMA, found,
                      "expected an option that `plait %s --help` lists, found %s", usage->command,
                      found);
}

/* ---- parsing ---- */

/* Words not yet read, and where what they say goes. */
typedef struct opt_reader {
    const char **next;
    const char **end;
    plait_arena *arena;
    void *values;
    opt_operands *operands;
    bool input_taken; /* standard input, by an operand or an option */
} opt_reader;

/* "-", or "-:2" of a file of plans. */
static bool is_input(const char *word)
{
    return word[0] == '-' && (word[1] == '\0' || word[1] == ':');
}

static plait_status take_input(opt_reader *in, const char *word, plait_error *err)
{
    if (is_input(word) && in->input_taken)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, word,
                          "expected standard input once, found it twice: give a file");
    in->input_taken = in->input_taken || is_input(word);
    return PLAIT_OK;
}

static plait_status store(const opt_reader *in, const opt *option, const char *text,
                          plait_error *err)
{
    void *const values = option->kind == OPT_COMMON ? in->operands : in->values;
    void *const field = (char *)values + option->offset;

    switch (option->kind) {
    case OPT_FLAG:
    case OPT_COMMON:
        *(bool *)field = true;
        return PLAIT_OK;
    case OPT_INT:
        return store_int(option, text, field, err);
    case OPT_LIST:
        if (*text == '\0') // "--fix=$FIX" of a variable that is not set
            return fail_option(option->name, err, option->value, "nothing");
        return store_text(option, text, in->arena, field, err);
    case OPT_TEXT:
        return store_text(option, text, in->arena, field, err);
    case OPT_LAST:
    case OPT_GROUP:
    case OPT_KEYS:
        break;
    }
    return PLAIT_OK;
}

/* The option that a word names, and what stands in the word behind its name; NULL: nothing. */
static const opt *option_of(const opt *options, const char *word, const char **rest)
{
    const bool is_long = word[1] == '-';
    const char *const name = word + 1 + is_long;
    const size_t length = is_long ? strcspn(name, "=") : 1;

    *rest = name[length] != '\0' ? name + length + (name[length] == '=') : NULL;
    for (; options->kind != OPT_LAST; options++) {
        if (options->kind == OPT_GROUP)
            continue;
        if (is_long ? strlen(options->name) == length && memcmp(options->name, name, length) == 0
                    : options->letter == *name)
            return options;
    }
    return NULL;
}

static plait_status read_option(opt_reader *in, const opt_usage *usage, plait_error *err)
{
    const char *const word = *in->next++, *text;
    const opt *const option = option_of(usage->options, word, &text);
    char expected[80];

    if (option == NULL)
        return fail_unknown(usage, word, in->arena, err);
    if (option->value == NULL && text != NULL)
        return fail_option(option->name, err, "no value, since it is a switch", word);
    if (option->value != NULL && text == NULL) {
        snprintf(expected, sizeof expected, "a value (%s)", option->value);
        if (in->next == in->end)
            return fail_option(option->name, err, expected, "nothing");
        text = *in->next++;
    }
    if (option->value != NULL && option->letter != 'o') // -o - is standard output
        PLAIT_TRY(take_input(in, text, err));
    return store(in, option, text, err);
}

static plait_status read_operand(opt_reader *in, const opt_usage *usage, plait_error *err)
{
    opt_operands *const operands = in->operands;

    if (operands->count == usage->max_operands)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, usage->command,
                          "expected `plait %s %s`, found also \"%.60s\"", usage->command,
                          usage->synopsis, *in->next);
    operands->text[operands->count++] = *in->next++;
    return take_input(in, in->next[-1], err);
}

plait_status opt_parse(const opt_usage *called, int argc, const char **argv, plait_arena *arena,
                       void *values, opt_operands *operands, plait_error *err)
{
    opt_reader in = {argv + 1, argv + argc, arena, values, operands, false};
    opt_usage usage = *called;
    bool options_end = false;
    opt_table options;

    *operands = (opt_operands){0};
    opt_spell_out(called->options, &options);
    usage.options = options.row;
    while (in.next < in.end) {
        const char *const word = *in.next;

        if (!options_end && text_equal(word, "--")) {
            options_end = true;
            in.next++;
        } else if (!options_end && word[0] == '-' && !is_input(word)) {
            PLAIT_TRY(read_option(&in, &usage, err));
        } else {
            PLAIT_TRY(read_operand(&in, &usage, err));
        }
    }
    return PLAIT_OK;
}
