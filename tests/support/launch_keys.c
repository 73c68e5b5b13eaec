/* launch_keys.c - checks of launch files against tests/data/launch_keys */
#include "support/launch_keys.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "io/file.h"
#include "support/must.h"

/* Fails unless a value is of a type: int, number, switch, words, text, or an element of a list. */
static void check_value(const char *key, const char *type, const char *words, const char *value,
                        plait_arena *arena)
{
    double number;
    int whole;

    if (strcmp(type, "int") == 0 && !text_parse_int(value, 0, 1 << 30, &whole))
        fail_msg("%s: %s is no integer", key, value);
    if (strcmp(type, "number") == 0 && !text_parse_number(value, &number))
        fail_msg("%s: %s is no number", key, value);
    if (strcmp(type, "switch") == 0 && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        fail_msg("%s: %s is no switch", key, value);
    if (strcmp(type, "word") == 0) {
        char *const list = plait_arena_printf(arena, " %s ", words);
        char *const word = plait_arena_printf(arena, " %s ", value);

        if (strstr(list, word) == NULL)
            fail_msg("%s: %s is not one of%s", key, value, list);
    }
}

static void check_key(const char *table, const char *key, const char *value, plait_arena *arena)
{
    const char *const line = plait_arena_printf(arena, "\n%s\t", key);
    const char *const found = strstr(table, line);
    char type[16] = "", words[128] = "";

    if (found == NULL)
        fail_msg("the target has no key %s", key);
    sscanf(found + strlen(line), "%15[a-z]%*[\t]%127[^\n]", type, words);
    if (value != NULL)
        check_value(key, type, words, value, arena);
}

void check_launch_keys(const char *name, const settings_source *config, plait_arena *arena)
{
    char *const path = plait_arena_printf(arena, "tests/data/launch_keys/%s.tsv", name);
    const yaml_file *const yaml = config->yaml;
    const launch_flags *const flags = config->flags;
    const char *table;
    plait_error err;
    size_t length;

    must(file_read_all(path, 1 << 20, arena, &table, &length, &err), &err);
    for (int i = 0; yaml != NULL && i < yaml->count; i++)
        check_key(table, yaml->leaf[i].path,
                  yaml->leaf[i].values > 0 ? yaml->leaf[i].value[0] : NULL, arena);
    for (int i = 0; flags != NULL && i < flags->count; i++)
        check_key(table, flags->flag[i].name, flags->flag[i].value[0], arena);
}
