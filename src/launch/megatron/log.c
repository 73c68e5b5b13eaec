/*
 * log.c - converts the arguments that Megatron-LM prints at its start to flags
 *
 *     ------------------------ arguments ------------------------
 *       adam_beta1 ...................................... 0.9
 *     -------------------- end of arguments ---------------------
 *
 * The block lists every argument, defaults included. Source: _print_args of
 * megatron/training/arguments.py; from 2019 to core 0.19 only the number of dashes differs.
 */
#include <stdio.h>
#include <string.h>

#include "shell/shell.h"
#include "launch/megatron/arguments.h"
#include "launch/megatron/megatron.h"
#include "launch/read/log.h"

/* Return a word in the spelling that the flag takes, which differs from Python's printed one. */
static const char *word_of(const argument_row *row, char *word)
{
    static const char *const printed[] = {"torch.float32", "torch.bfloat16", "torch.float16",
                                          "torch.uint8", NULL};
    static const char *const meant[] = {"fp32", "bf16", "fp16", "fp8"};
    static const char backend[] = "AttnBackend.";

    word += strspn(word, " '\"");
    const size_t length = strcspn(word, "'\"");
    word[length] = '\0';
    // "<CudaGraphModule.attn: 1>"
    char *const member = word[0] == '<' ? strchr(word, '.') : NULL;
    if (member != NULL) {
        member[1 + strcspn(member + 1, ":>")] = '\0';
        return member + 1;
    }
    if (row != NULL && row->kind == ARGUMENT_INT && text_ends_with(word, ".0"))
        word[length - 2] = '\0'; // "zero_stage 1.0" of Megatron-DeepSpeed
    const int known = text_index(word, printed);
    if (known >= 0)
        return meant[known];
    return text_starts_with(word, backend) ? word + strlen(backend) : word;
}

/* Split " adam_beta1 ..... 0.9" into name and value; return false if the line has no argument. */
static bool cut_line(char *line, char **name, char **value)
{
    char *const dots = strstr(line, " ..");

    for (*name = dots;
         dots != NULL && *name > line && (text_is_alphanumeric((*name)[-1]) || (*name)[-1] == '_');)
        --*name;
    if (*name == dots)
        return false;
    *dots = '\0';
    *value = dots + 1 + strspn(dots + 1, ".");
    *value += strspn(*value, " ");
    return true;
}

plait_status megatron_read_log(char *log, const char *name, plait_arena *arena, char **config,
                               plait_error *err)
{
    static const char begin[] = "-------- arguments --------";
    char *const end = log_last(log, "-------- end of arguments --------");
    char *argument, *value;
    int vocab, padded;
    text_builder out;

    if (end == NULL && strstr(log, begin) != NULL)
        return plait_fail(err, PLAIT_ERROR_SYNTAX, name,
                          "expected the line \"end of arguments\" that Megatron-LM prints, found "
                          "the end of the log: the arguments are cut off");
    if (end == NULL)
        return PLAIT_OK;
    *end = '\0';
    char *line = log_last(log, begin);
    if (line == NULL)
        return PLAIT_OK;
    text_builder_init(&out, arena);
    for (char *next; line != NULL; line = next) {
        next = text_cut(line, '\n');
        if (cut_line(line, &argument, &value)) {
            // write "--cp-comm-type a2a p2p" for "cp_comm_type" and "['a2a', 'p2p']"
            static const char *const none[] = {"", "None", "[]", "{}", NULL};
            const argument_row *const row = megatron_argument_named(argument);
            const bool on = text_equal(value, "True"), is_switch = on || text_equal(value, "False");
            // the flag of a switch that is on by default turns it off
            const bool inverse = row != NULL && row->kind == ARGUMENT_SWITCH && row->flag != NULL &&
                                 text_equal(row->name, argument);
            const size_t length = strlen(value);
            char **word = (char *[]){value, NULL};

            if (text_index(value, none) < 0 && !((is_switch && on == inverse))) {
                text_append(&out, "--");
                for (const char *c = row != NULL && row->flag != NULL ? row->flag : argument;
                     *c != '\0'; c++)
                    text_append_char(&out, *c == '_' ? '-' : *c);
                if (value[0] == '[' && value[length - 1] == ']') {
                    value[length - 1] = '\0';
                    word = text_split(out.arena, value + 1, ',', NULL);
                    PLAIT_TRY(plait_check_allocated(word, err));
                }
                for (; !is_switch && *word != NULL; word++) {
                    text_append_char(&out, ' ');
                    shell_append_word(&out, word_of(row, *word));
                }
                text_append(&out, " \\\n"); // one command, so that no value looks like a launch
            }
        }
    }
    // Megatron-LM builds the tokenizer, and prints its size, after the arguments
    const char *const sizes = strstr(end + 1, "> padded vocab (size: ");
    if (sizes != NULL &&
        sscanf(sizes, "> padded vocab (size: %9d) with %*d dummy tokens (new size: %9d)", &vocab,
               &padded) == 2)
        text_append_printf(&out, "--vocab-size %d --padded-vocab-size %d\n", vocab, padded);
    *config = text_builder_finish(&out, NULL);
    return *config != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
