/* shell_job.c - #SBATCH lines and srun: their options in full, and what SLURM tells a job of them */
#include <string.h>

#include "launch/read/shell_parts.h"

/* ---- values ---- */

/* "4" of "h100:4", where a kind of GPU may stand before a number; NULL: there is no number. */
static const char *number_in(const char *value)
{
    const char *const colon = strrchr(value, ':');
    const char *const number = colon != NULL ? colon + 1 : value;

    return number[0] != '\0' && number[strspn(number, "0123456789")] == '\0' &&
                   strchr(value, ',') == NULL
               ? number
               : NULL;
}

/* A value as launchers read it: a number, or not known. Of other options it stays. */
static const char *settled_value(shell_reader *in, const char *option, const char *value)
{
    static const char *const counts[] = {"--gpus", "--gpus-per-node", "--gpus-per-task", NULL};

    if (text_index(option, counts) < 0 || !shell_word_known(value))
        return value;
    const char *const number = number_in(value);
    return number != NULL ? number : shell_unknown_text(in, value, strlen(value), false);
}

/* What SLURM tells a job of its own options. */
static plait_status set_job_variables(shell_reader *in, const char *option, const char *value,
                                      plait_error *err)
{
    static const struct {
        const char *option, *variable[3];
    } told[] = {
        {"--nodes", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", NULL}},
        {"--ntasks", {"SLURM_NTASKS", "SLURM_NPROCS", NULL}},
        {"--ntasks-per-node", {"SLURM_NTASKS_PER_NODE", NULL}},
        {"--gpus-per-node", {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE", NULL}},
        {"--cpus-per-task", {"SLURM_CPUS_PER_TASK", NULL}},
        {"--job-name", {"SLURM_JOB_NAME", NULL}},
    };
    const bool range = strcmp(option, "--nodes") == 0 && strchr(value, '-') != NULL;
    const char *known = range ? shell_unknown_text(in, value, strlen(value), false) : value;

    if (known == NULL)
        return plait_fail_nomem(err);
    for (size_t t = 0; t < sizeof told / sizeof *told; t++)
        for (const char *const *name = told[t].variable;
             strcmp(told[t].option, option) == 0 && *name != NULL; name++)
            PLAIT_TRY(shell_set(in, *name, false, &(shell_list){&known, 1, 1}, err));
    return PLAIT_OK;
}

/* ---- options ---- */

/* Where the options of a job go, and whether they tell its variables. */
typedef struct job_words {
    shell_list *out;
    const char *pending; /* an option whose value is the next word; NULL: none */
    bool tells;
} job_words;

static plait_status take_value(shell_reader *in, job_words *job, const char *option,
                               const char *value, plait_error *err)
{
    const char *const settled = settled_value(in, option, value);

    if (settled == NULL)
        return plait_fail_nomem(err);
    if (job->tells)
        PLAIT_TRY(set_job_variables(in, option, settled, err));
    job->pending = NULL;
    return shell_list_add(in, job->out, settled, err);
}

/* -N 4, -N4, --nodes 4 and --nodes=4 are the same. */
static plait_status take_job_word(shell_reader *in, char *word, job_words *job, plait_error *err)
{
    static const char *const letters[] = {"-N--nodes",    "-n--ntasks",        "-G--gpus",
                                          "-J--job-name", "-c--cpus-per-task", NULL};
    char *value = shell_is_option(word) ? text_cut(word, '=') : NULL;
    const char *name = word;

    for (const char *const *letter = letters; *letter != NULL; letter++)
        if (strncmp(word, *letter, 2) == 0) {
            name = *letter + 2;
            value = word[2] == '=' ? word + 3 : word[2] != '\0' ? word + 2 : NULL;
        }
    if (job->pending != NULL && !shell_is_option(name))
        return take_value(in, job, job->pending, word, err);
    PLAIT_TRY(shell_list_add(in, job->out, name, err));
    job->pending = name;
    return value != NULL ? take_value(in, job, name, value, err) : PLAIT_OK;
}

plait_status shell_read_job_line(shell_reader *in, const char *line, size_t width, plait_error *err)
{
    char *const copy = plait_arena_printf(in->arena, "%.*s", (int)width, line);
    shell_list words = {0};
    job_words job = {&words, NULL, true};

    if (copy == NULL)
        return plait_fail_nomem(err);
    copy[strcspn(copy + 1, "#") + 1] = '\0'; // a remark behind the options
    for (char *at = copy, *word; *(word = at + strspn(at, " \t\r\"'")) != '\0';) {
        at = word + strcspn(word, " \t\r\"'");
        if (*at != '\0')
            *at++ = '\0';
        PLAIT_TRY(words.count == 0 ? shell_list_add(in, &words, word, err)
                                   : take_job_word(in, word, &job, err));
    }
    return shell_add_command(in, &words, err);
}

/* ---- srun ---- */

static bool is_slurm(const char *word)
{
    static const char *const programs[] = {"srun", "sbatch", "salloc", NULL};
    const char *const slash = strrchr(word, '/');

    return text_index(slash != NULL ? slash + 1 : word, programs) >= 0;
}

/* Options of srun and sbatch that take no value, or only one behind a =. */
static bool is_switch(const char *word)
{
    static const char *const switches[] = {"--exclusive",
                                           "--overlap",
                                           "--label",
                                           "--unbuffered",
                                           "--no-kill",
                                           "--oversubscribe",
                                           "--pty",
                                           "--verbose",
                                           "--quiet",
                                           "--hold",
                                           "--immediate",
                                           "--disable-status",
                                           "--exact",
                                           "--external-launcher",
                                           "--interactive",
                                           "--multi-prog",
                                           "--preserve-env",
                                           "--propagate",
                                           "--requeue",
                                           "--no-requeue",
                                           "--spread-job",
                                           "--use-min-nodes",
                                           "--test-only",
                                           "--contiguous",
                                           "--parsable",
                                           "--wait-all-nodes",
                                           "--kill-on-bad-exit",
                                           "--overcommit",
                                           "--nice",
                                           "--no-container-mount-home",
                                           "--container-mount-home",
                                           "--container-writable",
                                           "--container-remap-root",
                                           "--get-user-env",
                                           NULL};

    return text_index(word, switches) >= 0 || strchr(word, '=') != NULL;
}

/* Does the next word belong to an option? -p gpu */
static bool takes_next(const char *word, const char *next)
{
    static const char letters[] = "ABcCdDeGiJLmMnNopqrStTwWx";

    if (word[1] == '-')
        return !is_switch(word) && next[0] != '-';
    return word[1] != '\0' && strchr(letters, word[1]) != NULL && word[2] == '\0';
}

/* The options of srun, from its name on: up to the program that it starts. */
static plait_status settle_options(shell_reader *in, const shell_list *words, int *at,
                                   job_words *job, plait_error *err)
{
    while (*at < words->count && words->word[*at][0] == '-') {
        const bool more =
            *at + 1 < words->count && takes_next(words->word[*at], words->word[*at + 1]);

        for (int i = 0; i <= (int)more; i++, ++*at) {
            char *const copy = plait_arena_text(in->arena, words->word[*at]);

            if (copy == NULL)
                return plait_fail_nomem(err);
            PLAIT_TRY(i == 0 ? take_job_word(in, copy, job, err)
                             : take_value(in, job, job->pending, copy, err));
        }
        job->pending = NULL;
    }
    return PLAIT_OK;
}

/* ---- torchrun ---- */

/* --nnodes 2:4 is as many nodes as there are. */
static const char *settled_nodes(shell_reader *in, const char *option, const char *word)
{
    static const char name[] = "--nnodes";
    const bool joined = text_starts_with(word, name) && word[sizeof name - 1] == '=';
    const char *const value = joined ? word + sizeof name : word;
    const char *const colon = strchr(value, ':');

    if ((!joined && strcmp(option, name) != 0) || colon == NULL || !shell_word_known(value))
        return word;
    const char *const open = shell_unknown_text(in, value, strlen(value), false);
    return open == NULL || !joined ? open : plait_arena_printf(in->arena, "%s=%s", name, open);
}

plait_status shell_settle_job_words(shell_reader *in, const shell_list *words, bool tells,
                                    shell_list *out, plait_error *err)
{
    job_words job = {out, NULL, tells};

    for (int at = 0; at < words->count;) {
        const char *const word =
            settled_nodes(in, at > 0 ? words->word[at - 1] : "", words->word[at]);
        const bool slurm = out->count == at && is_slurm(words->word[at]);

        if (word == NULL)
            return plait_fail_nomem(err);
        PLAIT_TRY(shell_list_add(in, out, word, err));
        at++;
        if (slurm)
            PLAIT_TRY(settle_options(in, words, &at, &job, err));
    }
    return PLAIT_OK;
}
