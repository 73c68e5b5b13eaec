/* shell_job.c - #SBATCH lines: a command, and what SLURM tells a job of its own options */
#include <string.h>

#include "shell_parts.h"

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

    for (size_t t = 0; t < sizeof told / sizeof *told; t++)
        for (const char *const *name = told[t].variable;
             strcmp(told[t].option, option) == 0 && *name != NULL; name++)
            PLAIT_TRY(shell_set(in, *name, false, &(shell_list){&value, 1, 1}, err));
    return PLAIT_OK;
}

/* -N 4, -N4, --nodes 4 and --nodes=4 are the same. */
static plait_status take_job_word(shell_reader *in, char *word, const char **pending,
                                  shell_list *words, plait_error *err)
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
    if (*pending != NULL && !shell_is_option(name)) {
        PLAIT_TRY(set_job_variables(in, *pending, word, err));
        *pending = NULL;
        return shell_list_add(in, words, word, err);
    }
    PLAIT_TRY(shell_list_add(in, words, name, err));
    *pending = value == NULL ? name : NULL;
    if (value == NULL)
        return PLAIT_OK;
    PLAIT_TRY(set_job_variables(in, name, value, err));
    return shell_list_add(in, words, value, err);
}

plait_status shell_read_job_line(shell_reader *in, const char *line, size_t width, plait_error *err)
{
    char *const copy = plait_arena_printf(in->arena, "%.*s", (int)width, line);
    const char *pending = NULL;
    shell_list words = {0};

    if (copy == NULL)
        return plait_fail_nomem(err);
    copy[strcspn(copy + 1, "#") + 1] = '\0'; // a remark behind the options
    for (char *at = copy, *word; *(word = at + strspn(at, " \t\r\"'")) != '\0';) {
        at = word + strcspn(word, " \t\r\"'");
        if (*at != '\0')
            *at++ = '\0';
        PLAIT_TRY(words.count == 0 ? shell_list_add(in, &words, word, err)
                                   : take_job_word(in, word, &pending, &words, err));
    }
    return shell_add_command(in, &words, err);
}
