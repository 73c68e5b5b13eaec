/* import_flags.c - warns of unknown values, and of a choice among several launch commands */
#include <string.h>

#include "launch/megatron/arguments.h"
#include "launch/megatron/megatron.h"
#include "shell/shell.h"

const argument_row *megatron_argument_named(const char *name)
{
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++)
        if (strcmp(row->name, name) == 0 || (row->flag != NULL && strcmp(row->flag, name) == 0) ||
            (row->also != NULL && strcmp(row->also, name) == 0))
            return row;
    return NULL;
}

bool megatron_has_flags(const launch_flags *flags)
{
    for (int i = 0; i < flags->count; i++)
        if (megatron_argument_named(flags->flag[i].name) != NULL ||
            megatron_flag_is_older(flags->flag[i].name))
            return true;
    return false;
}

bool megatron_flag_matters(const char *name)
{
    const argument_row *const row = megatron_argument_named(name);

    return row != NULL && !row->placeholder;
}

static int behind_program(const char *const *word, int count)
{
    int first = 0;

    for (int i = 0; i < count; i++)
        if (text_ends_with(word[i], ".py"))
            first = i + 1;
    return first;
}

static bool is_switch(const char *word, plait_arena *arena)
{
    const char *const name = flags_destination(word, arena);
    const argument_row *const row = name != NULL ? megatron_argument_named(name) : NULL;

    return row != NULL && row->kind == ARGUMENT_SWITCH;
}

/* True if another warning lists the options that depend on this value. */
static bool is_listed_doubt(const shell_words *script, const shell_origin *origin)
{
    for (int d = 0; d < script->doubts; d++)
        if (strcmp(script->doubt[d].origin, origin->text) == 0)
            return true;
    return false;
}

/*
 * Warn of words such as $EXTRA_ARGS: a word that is not an option's value may contain any options.
 */
static void warn_of_holes(plan_reader *in)
{
    import_list list = {in->warnings, "arguments from outside the file, treated as not given",
                        false};
    const shell_words *const script = &in->flags->script;
    const shell_command *const launch =
        in->flags->launch >= 0 ? &script->command[in->flags->launch] : NULL;
    const char *const *const word = launch != NULL ? script->word + launch->first : NULL;
    int option = -1;

    for (int i = launch != NULL ? behind_program(word, launch->count) : 0;
         launch != NULL && i < launch->count; i++) {
        const shell_origin *const origin = shell_word_origin(script, word[i]);
        const bool alone = option < 0 || i > option + 1 || strchr(word[option], '=') != NULL ||
                           is_switch(word[option], in->flags->arena);

        if (shell_is_option(word[i]))
            option = i;
        else if (origin != NULL && alone && shell_word_open(word[i]) &&
                 !is_listed_doubt(script, origin))
            import_list_add(&list, origin->text);
    }
}

/*
 * Warn of options in a variable that a script sets under an unknown condition. With `given`, list
 * the options that the file also gives elsewhere, otherwise the others.
 */
static void warn_of_doubts(plan_reader *in, bool given, const char *sentence)
{
    import_list list = {in->warnings, sentence, false};
    const shell_words *const script = &in->flags->script;

    for (int d = 0; d < script->doubts; d++) {
        const char *const name = flags_destination(script->doubt[d].option, in->flags->arena);
        const bool is_given = name != NULL && flags_last(in->flags, name) != NULL;
        bool again = name == NULL || is_given != given || !megatron_flag_matters(name) ||
                     (given && !script->doubt[d].added);

        for (int before = 0; before < d && !again; before++)
            again = strcmp(script->doubt[before].option, script->doubt[d].option) == 0 &&
                    (!given || script->doubt[before].added);
        if (!again)
            import_list_add(&list,
                            plait_arena_printf(in->flags->arena, "%s (%s)", script->doubt[d].option,
                                               script->doubt[d].origin));
    }
}

static bool has_training_options(const plan_reader *in, int c)
{
    static const char *const told[] = {"--tensor-model-parallel-size",
                                       "--pipeline-model-parallel-size",
                                       "--micro-batch-size",
                                       "--global-batch-size",
                                       "--num-layers",
                                       NULL};
    const shell_words *const script = &in->flags->script;
    const shell_command *const command = &script->command[c];

    for (int i = 0; i < command->count; i++)
        for (const char *const *option = told; *option != NULL; option++)
            if (text_starts_with(script->word[command->first + i], *option))
                return flags_starts(script, c);
    return false;
}

void megatron_warn_of_flags(const megatron_args *args, plan_reader *in)
{
    const launch_flag *const experts = flags_find(in->flags, MEGATRON_NAME(num_experts));

    // --num-layers $1: only the user knows the value
    import_list list = {in->warnings, "values set outside the file, treated as not given", false};
    for (int i = 0; i < in->flags->count; i++) {
        const launch_flag *const flag = &in->flags->flag[i];
        const shell_origin *const origin = shell_word_origin(&in->flags->script, flag->value[0]);
        const argument_row *const row = megatron_argument_named(flag->name);

        if (origin == NULL || !megatron_flag_matters(flag->name) ||
            !flags_is_last(in->flags, flag) || row->kind == ARGUMENT_SWITCH ||
            row->field == MEGATRON_FIELD(deepspeed_config))
            continue;
        // the option as a user writes it
        char *const text =
            plait_arena_printf(in->flags->arena, "%s%s", in->flags->recipe ? "" : "--", flag->name);
        for (char *c = text; c != NULL && *c != '\0' && !in->flags->recipe; c++)
            *c = *c == '_' ? '-' : *c;
        import_list_add(&list, plait_arena_printf(in->flags->arena, "%s %s",
                                                  text != NULL ? text : flag->name, origin->text));
    }
    warn_of_doubts(in, false,
                   "options that depend on values from outside the file, treated as not given");
    warn_of_doubts(in, true, "options that a value from outside the file may override");
    warn_of_holes(in);
    if (strcmp(args->mlp_type, "standard") != 0)
        import_warn(in->warnings, "the dense layer next to each expert (--mlp-type) is not priced");
    if (experts != NULL && experts->values > 1 && strlen(experts->value[1]) > 0 &&
        strspn(experts->value[1], "0123456789") == strlen(experts->value[1]))
        import_warn(
            in->warnings,
            "layers have different numbers of experts; all are priced with the first number");
    const shell_words *const script = &in->flags->script;
    if (in->flags->doubtful)
        import_warn(in->warnings,
                    "a value from outside the file decides whether the script starts training");
    if (in->flags->launch >= 0 && script->command[in->flags->launch].ended)
        import_warn(in->warnings, "the script exits before it starts training");
    if (in->flags->launch >= 0) {
        // only one of several launch commands is read; commands after `exit` do not count
        const shell_command *const taken = &script->command[in->flags->launch];
        int launches = 0;
        for (int c = 0; c < script->commands; c++)
            launches += has_training_options(in, c) && (taken->ended || !script->command[c].ended);
        if (launches >= 2) {
            import_warn(in->warnings, "the script has ");
            text_append_printf(in->warnings,
                               "%d commands that start training; the one on line %d is read",
                               launches, taken->line);
        }
    }
    if (script->sourced != NULL) {
        import_warn(in->warnings, "a file that the script sources is not read: ");
        text_append(in->warnings, script->sourced);
    }
    if (script->instead == NULL)
        return;
    import_warn(in->warnings,
                "no command of the script starts training; options are read from the value of ");
    text_append(in->warnings, script->instead);
}
