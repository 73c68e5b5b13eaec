/* opt_complete.c - what the shell may complete, out of the tables of options */
#include "cli/opt.h"
#include "plait/data.h"

const char *const *opt_words(const opt_offer *offer)
{
    return offer->listed != NULL ? offer->listed() : offer->words;
}

static plait_status print_offer(const opt_offer *offer, plait_arena *arena, FILE *out,
                                plait_error *err)
{
    const char *const *words = opt_words(offer);
    size_t count;

    if (offer->names > 0)
        PLAIT_TRY(plait_data_list((plait_data_kind)(offer->names - 1), arena, &words, &count, err));
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", words[i]);
    fputc('\n', out);
    return PLAIT_OK;
}

static plait_status print_line(const char *what, const char *value, const opt_offer *offer,
                               plait_arena *arena, FILE *out, plait_error *err)
{
    fprintf(out, "%s\t%s\t", what, value != NULL ? value : "");
    return print_offer(offer, arena, out, err);
}

static plait_status print_option(const opt *option, plait_arena *arena, FILE *out, plait_error *err)
{
    char flag[32];

    snprintf(flag, sizeof flag, "--%s", option->name);
    PLAIT_TRY(print_line(flag, option->value, &option->offer, arena, out, err));
    if (option->letter == '\0')
        return PLAIT_OK;
    snprintf(flag, sizeof flag, "-%c", option->letter);
    return print_line(flag, option->value, &option->offer, arena, out, err);
}

plait_status opt_complete(const opt_usage *usage, plait_arena *arena, FILE *out, plait_error *err)
{
    opt_table options;
    char place[2] = "1";

    opt_spell_out(usage->options, &options);
    for (const opt *option = options.row; option->kind != OPT_LAST; option++)
        if (option->kind != OPT_GROUP)
            PLAIT_TRY(print_option(option, arena, out, err));
    for (int i = 0; i < 2 && i < usage->max_operands; i++, place[0]++)
        PLAIT_TRY(print_line(place, "", &usage->operand[i], arena, out, err));
    return PLAIT_OK;
}
