/* pairs.c - what a config of torchtitan says, out of a command line */
#include <ctype.h>
#include <string.h>

#include "base/grow.h"
#include "launch/read/flags.h"
#include "launch/torchtitan/torchtitan.h"

/*
 * Of releases of 2024 and early 2025, before there were sections for parallelism and the compiler.
 * Source: torchtitan/config_manager.py at 0011fb9.
 */
static const char *name_of_today(const char *key)
{
    static const struct {
        const char *was, *is;
    } names[] = {
        {"training.batch_size", "training.local_batch_size"},
        {"training.data_parallel_degree", "parallelism.data_parallel_shard_degree"},
        {"training.data_parallel_shard_degree", "parallelism.data_parallel_shard_degree"},
        {"training.data_parallel_replicate_degree", "parallelism.data_parallel_replicate_degree"},
        {"training.tensor_parallel_degree", "parallelism.tensor_parallel_degree"},
        {"training.compile", "compile.enable"},
        {"experimental.context_parallel_degree", "parallelism.context_parallel_degree"},
        {"experimental.pipeline_parallel_degree", "parallelism.pipeline_parallel_degree"},
        {"experimental.pipeline_parallel_schedule", "parallelism.pipeline_parallel_schedule"},
        {"experimental.pipeline_parallel_microbatches", "parallelism.num_pp_microbatches"},
        {"experimental.enable_async_tensor_parallel", "parallelism.enable_async_tensor_parallel"},
        {"training.enable_loss_parallel", "parallelism.enable_loss_parallel"},
    };

    for (size_t n = 0; key != NULL && n < sizeof names / sizeof *names; n++)
        if (strcmp(key, names[n].was) == 0)
            return names[n].is;
    return key;
}

plait_status titan_pairs_add(titan_pairs *pairs, const char *key, const char *value,
                             plait_error *err)
{
    titan_pair *const list =
        grow_by_one(pairs->arena, pairs->pair, pairs->count, &pairs->capacity, sizeof *list);

    if (list == NULL || key == NULL || value == NULL)
        return plait_fail_nomem(err);
    pairs->pair = list;
    list[pairs->count++] = (titan_pair){.key = name_of_today(key), .value = value};
    return PLAIT_OK;
}

const char *titan_pairs_find(const titan_pairs *pairs, const char *key)
{
    const char *last = NULL;

    for (int i = 0; i < pairs->count; i++)
        if (text_equal(pairs->pair[i].key, key)) {
            pairs->pair[i].read = true;
            last = pairs->pair[i].value;
        }
    return last;
}

/* ---- a command line ---- */

/* "--a.no-b-c" is a.b_c, switched off. */
static plait_status add_switch(titan_pairs *out, char *key, plait_error *err)
{
    char *const dot = strrchr(key, '.');
    char *const leaf = dot != NULL ? dot + 1 : key;
    const bool off = text_starts_with(leaf, "no_");

    if (off)
        memmove(leaf, leaf + 3, strlen(leaf + 3) + 1);
    return titan_pairs_add(out, key, off ? "False" : "True", err);
}

static bool is_value(const char *word)
{
    return word[0] != '-' || isdigit((unsigned char)word[1]);
}

/* activation-checkpoint:full */
static bool is_choice(const char *word)
{
    return text_starts_with(word, "activation-checkpoint:") ||
           text_starts_with(word, "activation_checkpoint:");
}

static char *key_of(const char *flag, plait_arena *arena)
{
    char *const key = plait_arena_text(arena, flag + 2);

    for (char *c = key; c != NULL && *c != '\0' && *c != '='; c++)
        if (*c == '-')
            *c = '_';
    return key;
}

static plait_status add_flag(const shell_words *words, int end, int *at, titan_pairs *out,
                             plait_error *err)
{
    char *const key = key_of(words->word[*at], out->arena);
    const char *value = key != NULL ? text_cut(key, '=') : NULL;

    if (key == NULL)
        return plait_fail_nomem(err);
    if (value == NULL && *at + 1 < end && is_value(words->word[*at + 1]) &&
        !is_choice(words->word[*at + 1]))
        value = words->word[++*at];
    if (value == NULL)
        return add_switch(out, key, err);
    return shell_word_known(value) ? titan_pairs_add(out, key, value, err) : PLAIT_OK;
}

static plait_status add_command(const shell_words *words, const shell_command *command,
                                titan_pairs *out, plait_error *err)
{
    const int end = command->first + command->count;

    for (int i = command->first; i < end; i++) {
        const char *const word = words->word[i];

        if (is_choice(word))
            PLAIT_TRY(titan_pairs_add(out, "activation_checkpoint", strchr(word, ':') + 1, err));
        else if (text_starts_with(word, "--") && word[2] != '\0')
            PLAIT_TRY(add_flag(words, end, &i, out, err));
    }
    return PLAIT_OK;
}

/* MODULE=llama3 CONFIG=llama3_8b NGPU=8 ./run_train.sh: assignments are no words. */
static plait_status add_variable(const char *text, const char *variable, const char *key,
                                 titan_pairs *out, plait_error *err)
{
    const char *const found = strstr(text, variable);
    const char *const from = found != NULL ? found + strlen(variable) : NULL;
    size_t width = 0;

    while (from != NULL && (isalnum((unsigned char)from[width]) || from[width] == '_'))
        width++;
    if (width == 0 || (found > text && !isspace((unsigned char)found[-1])))
        return PLAIT_OK;
    return titan_pairs_add(out, key, plait_arena_printf(out->arena, "%.*s", (int)width, from), err);
}

plait_status titan_read_shell(const char *text, size_t length, const char *name, titan_pairs *out,
                              plait_error *err)
{
    shell_words words;

    PLAIT_TRY(shell_read(text, length, name, out->call, out->arena, &words, err));
    if (strstr(text, "run_train.sh") != NULL) {
        PLAIT_TRY(add_variable(text, "NGPU=", "nproc_per_node", out, err));
        PLAIT_TRY(add_variable(text, "MODULE=", "module", out, err));
        PLAIT_TRY(add_variable(text, "CONFIG=", "config", out, err));
    }
    const int launch = flags_launch(&words);
    for (int c = 0; c < words.commands; c++)
        if (flags_counts(&words, launch, c))
            PLAIT_TRY(add_command(&words, &words.command[c], out, err));
    return PLAIT_OK;
}
