/*
 * opt.c - parses a command line: options, their values, operands
 *
 *     --name VALUE  --name=VALUE  -n VALUE  -nVALUE  -n=VALUE  --  operands follow
 *
 * The word after an option is its value even if it looks like an option. Names cannot be
 * abbreviated, because an abbreviation that is unique today may become ambiguous.
 */
#include "cli/opt.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/magnitude.h"
#include "base/text.h"

/* Return the option of a plan's key: `cp_comm` becomes --cp-comm. */
static opt option_of_key(const plait_key *key, size_t offset, char flag[24])
{
    static const char *const switch_words[] = {"0", "1", NULL};
    static const char *const number_words[] = {"0", "1", "2", "3", NULL};

    snprintf(flag, 24, "%s", key->name);
    for (char *c = flag; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    return (opt){
        .kind = OPT_TEXT,
        .name = flag,
        .value = key->value,
        .offset = offset,
        .offer.words = key->kind == PLAIT_KEY_SWITCH         ? switch_words
                       : key->kind == PLAIT_KEY_SMALL_NUMBER ? number_words
                                                             : key->words,
        .help = key->help,
    };
}

void opt_spell_out(const opt *options, opt_table *out)
{
    static const opt common[] = {
        {.kind = OPT_COMMON,
         .name = "wide",
         .offset = offsetof(opt_operands, wide),
         .help = "print all columns of tables, even if the terminal is narrower"},
        {.kind = OPT_COMMON,
         .name = "help",
         .letter = 'h',
         .offset = offsetof(opt_operands, help),
         .help = "print this help"},
    };
    int count = 0;

    for (; options->kind != OPT_LAST; options++) {
        assert(count + PLAIT_KEYS + 2 < OPT_MAX_OPTIONS);
        for (int k = 0; options->kind == OPT_KEYS && k < PLAIT_KEYS; k++)
            out->row[count++] = option_of_key(
                &plait_keys[k], options->offset + (size_t)k * sizeof(const char *), out->flag[k]);
        if (options->kind != OPT_KEYS)
            out->row[count++] = *options;
    }
    memcpy(out->row + count, common, sizeof common);
    out->row[count + 2] = *options;
}

const char *opt_first_given(const opt_operands *operands, const char *const *names)
{
    for (; *names != NULL; names++)
        for (int i = 0; operands->table->row[i].kind != OPT_LAST; i++)
            if (operands->given[i] && text_equal(operands->table->row[i].name, *names))
                return *names;
    return NULL;
}

plait_status opt_check_none_given(const opt_operands *operands, const char *const *names,
                                  const char *message, plait_error *err)
{
    const char *const name = opt_first_given(operands, names);
    char where[80];

    if (name == NULL)
        return PLAIT_OK;
    snprintf(where, sizeof where, "--%s", name);
    return plait_fail(err, PLAIT_ERROR_RANGE, where, "%s", message);
}

const char *opt_replacement(const char *name)
{
    if (text_equal(name, "strategy"))
        return "refine (none for exhaustive, layouts for dp, stages for milp, all for auto)";
    return text_equal(name, "output-file") ? "output" : NULL;
}

static plait_status fail_option(const char *name, plait_error *err, const char *expected,
                                const char *found)
{
    char where[80];

    snprintf(where, sizeof where, "--%s", name);
    return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected %s, found %s", expected, found);
}

/* State of the parser: the remaining words, and the destination of values. */
typedef struct opt_reader {
    const char **next;
    const char **end;
    plait_arena *arena;
    void *values;
    opt_operands *operands;
    bool input_taken; /* an operand or option already reads standard input */
} opt_reader;

/* Fail for an unknown option such as "--sequence=5", and name the nearest known option. */
static plait_status fail_unknown(const opt_usage *usage, const char *found, plait_arena *arena,
                                 plait_error *err)
{
    const char *names[OPT_MAX_OPTIONS + 1] = {NULL}, *nearest, *longest = NULL;
    char *word = plait_arena_text(arena, found + strspn(found, "-"));
    int count = 0;

    PLAIT_TRY(plait_check_allocated(word, err));
    for (const opt *option = usage->options; option->kind != OPT_LAST; option++)
        if (option->kind != OPT_GROUP)
            names[count++] = option->name;
    text_cut(word, '=');
    nearest = opt_replacement(word);
    if (nearest == NULL)
        nearest = text_nearest(word, names);
    for (int i = 0; i < count; i++) // "sequence" begins with "seq"
        if (strlen(names[i]) > 2 && text_starts_with(word, names[i]) &&
            (longest == NULL || strlen(names[i]) > strlen(longest)))
            longest = names[i];
    nearest = nearest != NULL ? nearest : longest;
    if (nearest != NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, found, "expected the option --%s, found %s",
                          nearest, found);
    return plait_fail(err, PLAIT_ERROR_SCHEMA, found,
                      "expected an option that `plait %s --help` lists, found %s", usage->command,
                      found);
}

/* Return whether a word refers to standard input: "-", or "-:2" for its second plan. */
static bool is_input(const char *word)
{
    return word[0] == '-' && (word[1] == '\0' || word[1] == ':');
}

static plait_status take_input(opt_reader *in, const char *word, plait_error *err)
{
    if (is_input(word) && in->input_taken)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, word,
                          "expected - (standard input) once, found it twice: name a file instead");
    in->input_taken = in->input_taken || is_input(word);
    return PLAIT_OK;
}

/*
 * Find the option that a word names; NULL if there is none.
 *
 * @param rest  receives the value in the same word, or NULL
 */
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
        return fail_option(option->name, err, "no value, since this option is a switch", word);
    if (option->value != NULL && text == NULL) {
        snprintf(expected, sizeof expected, "a value (%s)", option->value);
        if (in->next == in->end)
            return fail_option(option->name, err, expected, "nothing");
        text = *in->next++;
    }
    if (option->value != NULL && option->letter != 'o') // -o - is standard output
        PLAIT_TRY(take_input(in, text, err));
    in->operands->given[option - usage->options] = true;
    void *const values = option->kind == OPT_COMMON ? in->operands : in->values;
    void *const field = (char *)values + option->offset;
    const char **const out = field;
    if (option->kind == OPT_FLAG || option->kind == OPT_COMMON)
        *(bool *)field = true;
    else if (option->kind == OPT_INT) {
        char unused[80], found[80];

        if (magnitude_parse_count(text, option->tokens ? 1024 : 1000, option->min, option->max,
                                  field))
            return PLAIT_OK;
        if (option->max == INT_MAX)
            snprintf(unused, sizeof unused, "an integer of at least %d", option->min);
        else
            snprintf(unused, sizeof unused, "an integer from %d to %d", option->min, option->max);
        snprintf(found, sizeof found, "\"%.60s\"", text);
        return fail_option(option->name, err, unused, found);
    } else if (option->kind == OPT_LIST && *text == '\0') // "--fix=$FIX" with an unset variable
        return fail_option(option->name, err, option->value, "nothing");
    else if (option->kind == OPT_LIST && *out != NULL)
        *out = plait_arena_printf(in->arena, "%s,%s", *out, text);
    else
        *out = text;
    return option->value == NULL || *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

plait_status opt_parse(const opt_usage *called, int argc, const char **argv, plait_arena *arena,
                       void *values, opt_operands *operands, plait_error *err)
{
    opt_reader in = {argv + 1, argv + argc, arena, values, operands, false};
    opt_table *const table = plait_arena_alloc(arena, 1, sizeof *table);
    opt_usage usage = *called;
    bool options_end = false;

    *operands = (opt_operands){.table = table};
    PLAIT_TRY(plait_check_allocated(table, err));
    opt_spell_out(called->options, table);
    usage.options = table->row;
    while (in.next < in.end) {
        const char *const word = *in.next;

        if (!options_end && text_equal(word, "--")) {
            options_end = true;
            in.next++;
        } else if (!options_end && word[0] == '-' && !is_input(word)) {
            PLAIT_TRY(read_option(&in, &usage, err));
        } else {
            if (operands->count == usage.max_operands)
                return plait_fail(err, PLAIT_ERROR_SCHEMA, usage.command,
                                  "expected `plait %s %s`, found an extra operand \"%.60s\"",
                                  usage.command, usage.synopsis, word);
            operands->text[operands->count++] = *in.next++;
            PLAIT_TRY(take_input(&in, word, err));
        }
    }
    return PLAIT_OK;
}
