/* train.c - arguments as the blocks system, model and data of a YAML file */
#include <string.h>

#include "launch/flagscale/flagscale.h"

/* Where an argument stands: a block, and a section of it that FlagScale's runner looks into. */
typedef struct train_place {
    const char *block;
    const char *section; /* NULL: the block itself */
} train_place;

static const train_place places[] = {{"system", NULL},      {"system", "checkpoint"},
                                     {"system", "logging"}, {"model", NULL},
                                     {"data", NULL},        {"data", "tokenizer"}};

/* The group of an argument says its place, but for those that only make a run start. */
static const train_place *place_of(const char *group, const char *name)
{
    static const char *const system[] = {"parallelism",
                                         "memory",
                                         "optimizer",
                                         "memory, stage by stage",
                                         "parallelism, mesh by mesh",
                                         "overlap and kernels",
                                         "precision",
                                         "not priced",
                                         NULL};
    static const char *const checkpoint[] = {"--save", "--load", "--save-interval", NULL};
    static const char *const tokenizer[] = {"--tokenizer-type", "--vocab-size",
                                            "--make-vocab-size-divisible-by", NULL};

    if (text_index(name, checkpoint) >= 0)
        return &places[1];
    if (text_equal(name, "--log-interval"))
        return &places[2];
    if (text_equal(name, "--mock-data"))
        return &places[4];
    if (text_index(name, tokenizer) >= 0)
        return &places[5];
    return text_index(group, system) >= 0 ? &places[0] : &places[3];
}

/* ---- one line ---- */

static void append_value(const char *value, text_builder *out)
{
    double number;

    if (text_parse_number(value, &number)) {
        text_append(out, value);
        return;
    }
    text_append_char(out, '"');
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\')
            text_append_char(out, '\\');
        text_append_char(out, *value);
    }
    text_append_char(out, '"');
}

static void append_words(const char *words, text_builder *out)
{
    char **const word = text_split(out->arena, words, ' ', NULL);

    out->failed = out->failed || word == NULL;
    text_append_char(out, '[');
    for (int w = 0; word != NULL && word[w] != NULL; w++) {
        text_append(out, w > 0 ? ", " : "");
        append_value(word[w], out);
    }
    text_append_char(out, ']');
}

/* --num-layers 32 is num_layers: 32. */
static void append_line(const launch_option *option, size_t indent, text_builder *out)
{
    text_append_repeated(out, ' ', indent);
    for (const char *c = option->name + 2; *c != '\0'; c++)
        text_append_char(out, *c == '-' ? '_' : *c);
    text_append(out, ": ");
    if (option->value == NULL)
        text_append(out, "true");
    else if (option->words && option->value[0] == '[') // lists in a list stand as they are
        text_append(out, option->value);
    else if (option->words)
        append_words(option->value, out);
    else
        append_value(option->value, out);
    text_append_char(out, '\n');
}

/* ---- the blocks ---- */

static void append_heads(const train_place *place, size_t indent, text_builder *out)
{
    if (place->section == NULL)
        text_append_printf(out, "%*s%s:\n", (int)indent, "", place->block);
    else
        text_append_printf(out, "%*s%s:\n", (int)indent + 2, "", place->section);
}

static void append_place(const launch_args *args, const train_place *place, size_t indent,
                         text_builder *out)
{
    const size_t inner = indent + (place->section == NULL ? 2 : 4);
    const char *group = "", *said = "";

    append_heads(place, indent, out);
    for (int i = 0; i < args->count; i++) {
        const launch_option *const option = &args->option[i];

        if (option->name == NULL)
            group = option->value;
        if (option->name == NULL || place_of(group, option->name) != place)
            continue;
        if (said != group && place->section == NULL)
            text_append_printf(out, "%*s# %s\n", (int)inner, "", group);
        said = group;
        append_line(option, inner, out);
    }
}

void flagscale_append_train(const launch_args *args, int indent, text_builder *out)
{
    out->failed = out->failed || args->failed;
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        append_place(args, &places[p], (size_t)indent, out);
}
