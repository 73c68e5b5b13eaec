/* opt_keys.c - an option for each key of a plan, out of the table of keys */
#include "cli/opt.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* "cp_comm" is said as --cp-comm. */
static void spell_flag(const char *name, char flag[24])
{
    snprintf(flag, 24, "%s", name);
    for (char *c = flag; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
}

/* What a key takes that can be said in a word; numbers say themselves. */
static opt_offer offer_of(const plait_key *key)
{
    static const char *const sides[] = {"0", "1", NULL};
    static const char *const stages[] = {"0", "1", "2", "3", NULL};

    if (key->kind == PLAIT_KEY_SWITCH)
        return (opt_offer){.words = sides};
    if (key->kind == PLAIT_KEY_SMALL_NUMBER)
        return (opt_offer){.words = stages};
    return (opt_offer){.words = key->words};
}

static int add_keys(const opt *keys, opt_table *out, int count)
{
    for (int k = 0; k < PLAIT_KEYS; k++) {
        spell_flag(plait_keys[k].name, out->flag[k]);
        out->row[count++] = (opt){
            .kind = OPT_TEXT,
            .name = out->flag[k],
            .value = plait_keys[k].value,
            .offset = keys->offset + (size_t)k * sizeof(const char *),
            .offer = offer_of(&plait_keys[k]),
            .help = plait_keys[k].help,
        };
    }
    return count;
}

void opt_spell_out(const opt *options, opt_table *out)
{
    static const opt common[] = {
        {.kind = OPT_COMMON,
         .name = "wide",
         .offset = offsetof(opt_operands, wide),
         .help = "all columns of tables, also where the terminal is narrower"},
        {.kind = OPT_COMMON,
         .name = "help",
         .letter = 'h',
         .offset = offsetof(opt_operands, help),
         .help = "this text"},
    };
    int count = 0;

    for (; options->kind != OPT_LAST; options++) {
        assert(count + PLAIT_KEYS + 2 < OPT_MAX_OPTIONS);
        if (options->kind == OPT_KEYS)
            count = add_keys(options, out, count);
        else
            out->row[count++] = *options;
    }
    memcpy(out->row + count, common, sizeof common);
    out->row[count + 2] = *options;
}
