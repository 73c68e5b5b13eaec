/* cmd_schema.c - plait schema: the JSON Schema of a command's answers */
#include "cli/command.h"
#include "cli/schema.h"
#include "report/lines.h"

typedef struct schema_values {
    bool unused; /* the command has no options */
} schema_values;

static const opt options[] = {OPT_END};

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const char **names, *text;
    json_writer json;
    size_t length;

    (void)values;
    (void)no;
    if (operands->count == 0) {
        PLAIT_TRY(schema_commands(arena, &names, err));
        for (; *names != NULL; names++)
            fprintf(lines_out(), "%s\n", *names);
        return PLAIT_OK;
    }
    json_writer_init(&json, arena);
    PLAIT_TRY(schema_write(&json, operands->text[0], true, arena, err));
    PLAIT_TRY(json_writer_finish(&json, &text, &length, err));
    return command_deliver(text, length, NULL, true, err);
}

const command command_schema = {
    .usage = {.command = "schema",
              .synopsis = "[COMMAND]",
              .summary = "Print the JSON Schema of a command's answers, or list the commands.",
              .about = "The schema (draft 2020-12) has all keys that the answers can have. The "
                       "answer of launch\nis that of the tool of `plait mcp`.",
              .max_operands = 1,
              .options = options},
    .values_size = sizeof(schema_values),
    .run = run,
};
