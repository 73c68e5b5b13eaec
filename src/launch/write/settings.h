/*
 * settings.h - the keys of a config as one table, for its writer and its reader
 *
 * A target that is configured by plain keys lists them once: each row has the key, the kind of its
 * value, and the field of a struct that holds the value. The same rows are written as a YAML file,
 * as arguments (--key value) or as overrides (key=value), and read back (read/settings_read.h).
 *
 *     static const setting_row rows[] = {
 *         SETTING("batch", "train.batch_size", INT, my_settings, batch),
 *         SETTING_CONSTANT(NULL, "train.epochs", "1"),
 *         SETTINGS_END,
 *     };
 *
 * A field without a value is SETTING_OPEN, NaN or NULL; its row is not written.
 */
#pragma once

#include <stddef.h>

#include "launch/write/args.h"

/** Value of an int or a switch that is not given. */
enum { SETTING_OPEN = -1 };

typedef enum setting_kind {
    SETTING_INT,    /* an int */
    SETTING_SWITCH, /* an int: 0 or 1 */
    SETTING_NUMBER, /* a double */
    SETTING_WORD,   /* a text */
    SETTING_WORDS,  /* a text: words with blanks between them */
    SETTING_TEXT    /* the row's own text, which is not read back */
} setting_kind;

typedef struct setting_row {
    const char *group; /* title of the group that begins here; NULL: no group begins */
    const char *key;   /* dots separate the sections; "+" before it adds a key to an override */
    setting_kind kind;
    size_t field;     /* offset in the struct */
    const char *text; /* value of a SETTING_TEXT */
} setting_row;

#define SETTING(group, key, kind, type, field)                                                     \
    {                                                                                              \
        group, key, SETTING_##kind, offsetof(type, field), NULL                                    \
    }
#define SETTING_CONSTANT(group, key, text)                                                         \
    {                                                                                              \
        group, key, SETTING_TEXT, 0, text                                                          \
    }
#define SETTINGS_END                                                                               \
    {                                                                                              \
        NULL, NULL, SETTING_TEXT, 0, NULL                                                          \
    }

/** Append the rows as nested YAML. Rows of a section are next to each other. */
void settings_append_yaml(const setting_row *rows, const void *values, text_builder *out);

/** Add the rows as options; with out->between '=', as overrides whose lists are in brackets. */
void settings_append_args(const setting_row *rows, const void *values, launch_args *out);
