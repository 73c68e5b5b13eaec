/* shell_context.c - memory, limits and failures of reading one script */
#include "shell/shell_context.h"

#include <stdio.h>
#include <string.h>

#include "base/grow.h"

shell_text shell_text_of(const char *word)
{
    return (shell_text){word, strlen(word)};
}

void shell_fail(shell_context *c, const char *found)
{
    char where[256];

    snprintf(where, sizeof where, "%.200s:%d", c->name, c->line);
    c->status = plait_fail(c->err, PLAIT_ERROR_SYNTAX, where,
                           "expected a valid shell script, found %s", found);
    longjmp(c->failed, 1);
}

void shell_fail_nomem(shell_context *c)
{
    c->status = plait_fail_nomem(c->err);
    longjmp(c->failed, 1);
}

static void *check_memory(shell_context *c, void *memory)
{
    if (memory == NULL)
        shell_fail_nomem(c);
    return memory;
}

void shell_spend(shell_context *c, size_t cost)
{
    c->spent += cost;
    if (c->spent > SHELL_MAX_BYTES)
        shell_fail(c, "more than 4 MiB of parsed and expanded text");
}

void *shell_alloc(shell_context *c, size_t count, size_t size)
{
    return check_memory(c, plait_arena_alloc(c->arena, count, size));
}

void *shell_grow(shell_context *c, void *list, int count, int *capacity, size_t size)
{
    return check_memory(c, grow_by_one(c->arena, list, count, capacity, size));
}

char *shell_copy(shell_context *c, shell_text text)
{
    return check_memory(c, plait_arena_printf(c->arena, "%.*s", (int)text.length, text.at));
}

char *shell_concat(shell_context *c, const char *a, const char *b, const char *d)
{
    return check_memory(c, plait_arena_printf(c->arena, "%s%s%s", a, b, d));
}

char *shell_finish(shell_context *c, text_builder *text)
{
    return check_memory(c, text_builder_finish(text, NULL));
}
