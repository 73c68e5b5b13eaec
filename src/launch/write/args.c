/* args.c - a list of arguments in groups, and its text */
#include "launch/write/args.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/grow.h"
#include "shell/shell.h"

void args_init(launch_args *args, plait_arena *arena)
{
    *args = (launch_args){.arena = arena, .between = ' '};
}

static void push_option(launch_args *args, launch_option option)
{
    launch_option *const list =
        grow_by_one(args->arena, args->option, args->count, &args->capacity, sizeof *list);

    if (list == NULL) {
        args->failed = true;
        return;
    }
    args->option = list;
    list[args->count++] = option;
}

void args_group(launch_args *args, const char *title)
{
    push_option(args, (launch_option){.value = title});
}

void args_switch(launch_args *args, const char *name)
{
    push_option(args, (launch_option){.name = name});
}

static void append_copy(launch_args *args, const char *name, const char *value, bool words)
{
    const char *const copy = plait_arena_text(args->arena, value);

    if (copy == NULL)
        args->failed = true;
    else
        push_option(args, (launch_option){name, copy, words});
}

void args_text(launch_args *args, const char *name, const char *value)
{
    append_copy(args, name, value, false);
}

void args_words(launch_args *args, const char *name, const char *value)
{
    append_copy(args, name, value, true);
}

void args_printf(launch_args *args, const char *name, const char *fmt, ...)
{
    char value[256];
    va_list list;

    va_start(list, fmt);
    text_format_list(value, sizeof value, fmt, list);
    va_end(list);
    args_text(args, name, value);
}

void args_int(launch_args *args, const char *name, int value)
{
    args_printf(args, name, "%d", value);
}

void args_number(launch_args *args, const char *name, double value)
{
    char text[TEXT_NUMBER_SIZE];

    args_text(args, name, text_number(value, text));
}

void args_append(launch_args *args, const launch_args *more)
{
    args->failed = args->failed || more->failed;
    for (int i = 0; i < more->count; i++)
        push_option(args, more->option[i]);
}

static void append_option(const launch_args *args, const launch_option *option, text_builder *out)
{
    text_append(out, option->name);
    if (option->value == NULL)
        return;
    text_append_char(out, args->between);
    if (option->words)
        text_append(out, option->value);
    else
        shell_append_word(out, option->value);
}

void args_append_shell(const launch_args *args, text_builder *out)
{
    out->failed = out->failed || args->failed;
    for (int i = 0; i < args->count; i++) {
        if (args->option[i].name == NULL && i + 1 < args->count && args->option[i + 1].name != NULL)
            text_append_printf(out, "\n# %s\n", args->option[i].value);
        if (args->option[i].name == NULL)
            continue;
        append_option(args, &args->option[i], out);
        text_append_char(out, '\n');
    }
}

char *args_line(const launch_args *args)
{
    text_builder out;

    text_builder_init(&out, args->arena);
    for (int i = 0; i < args->count; i++) {
        if (args->option[i].name == NULL)
            continue;
        text_append(&out, out.length > 0 ? " " : "");
        append_option(args, &args->option[i], &out);
    }
    return args->failed ? NULL : text_builder_finish(&out, NULL);
}
