/*
 * shell_slurm.c - options of #SBATCH lines and of srun, and the variables that SLURM sets from them
 */
#include <ctype.h>
#include <string.h>

#include "shell/shell_state.h"

/*
 * Returns the number of GPUs in the value of a GPU option: "4" for "h100:4", unknown without a
 * number. Returns other values unchanged.
 */
static const char *gpu_count(shell_state *in, const char *option, const char *value)
{
    static const char *const counts[] = {"--gpus", "--gpus-per-node", "--gpus-per-task", NULL};
    const char *const colon = strrchr(value, ':'), *const number =
                                                       colon != NULL ? colon + 1 : value;

    if (text_index(option, counts) < 0 || !shell_word_known(value))
        return value;
    return number[0] != '\0' && number[strspn(number, "0123456789")] == '\0'
               ? number
               : shell_unknown(in, shell_text_of(value), false);
}

static void set_variables(shell_state *in, const char *option, const char *value)
{
    static const char *const set[][3] = {
        {"--nodes", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"},
        {"--ntasks", "SLURM_NTASKS", "SLURM_NPROCS"},
        {"--ntasks-per-node", "SLURM_NTASKS_PER_NODE", NULL},
        {"--gpus-per-node", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"},
        {"--cpus-per-task", "SLURM_CPUS_PER_TASK", NULL},
        {"--job-name", "SLURM_JOB_NAME", NULL}};

    if (strcmp(option, "--nodes") == 0 && strchr(value, '-') != NULL) // a range of nodes
        value = shell_unknown(in, shell_text_of(value), false);
    for (size_t s = 0; s < sizeof set / sizeof *set; s++)
        for (int v = 1; v < 3; v++)
            if (strcmp(set[s][0], option) == 0 && set[s][v] != NULL)
                shell_set_word(in, set[s][v], value);
}

/*
 * Returns the long form of an option, and sets *value to the value in the same word: -N4 and
 * --nodes=4 become --nodes and 4.
 */
static const char *long_form(char *word, const char **value)
{
    static const char *const letters[] = {"-N--nodes",    "-n--ntasks",        "-G--gpus",
                                          "-J--job-name", "-c--cpus-per-task", NULL};

    *value = shell_is_option(word) ? text_cut(word, '=') : NULL;
    for (const char *const *letter = letters; *letter != NULL; letter++)
        if (strncmp(word, *letter, 2) == 0) {
            *value = word[2] != '\0' ? word + 2 + (word[2] == '=') : NULL;
            return *letter + 2;
        }
    return word;
}

static void add_job_line(shell_state *in, shell_text line)
{
    static const char blanks[] = " \t\r\"'";
    char *const copy = shell_copy(in->c, line);
    const char *option = NULL; // option whose value is the next word
    shell_list words = {0};

    copy[strcspn(copy + 1, "#") + 1] = '\0'; // cut off a comment after the options
    for (char *at = copy, *word; *(word = at + strspn(at, blanks)) != '\0';) {
        const char *value = word;

        at = word + strcspn(word, blanks);
        if (*at != '\0')
            *at++ = '\0';
        if (option == NULL || word[0] == '-') {
            option = long_form(word, &value);
            shell_list_add(in, &words, option);
            option = words.count > 1 ? option : NULL; // #SBATCH
        }
        if (option != NULL && value != NULL) {
            value = gpu_count(in, option, value);
            shell_list_add(in, &words, value);
            set_variables(in, option, value);
            option = NULL;
        }
    }
    shell_add_command(in, &words);
}

void shell_job_lines(shell_state *in, shell_text script)
{
    const char *const end = script.at + script.length;

    for (const char *at = script.at, *last; at < end; at = last < end ? last + 1 : end) {
        const char *const newline = memchr(at, '\n', (size_t)(end - at));
        const char *const text = shell_skip_blanks(at, end);

        last = newline != NULL ? newline : end;
        if (text < last && *text != '#')
            break;
        if (shell_begins(at, last, "#SBATCH") && last - at > 8 && isspace((unsigned char)at[7]))
            add_job_line(in, (shell_text){at, (size_t)(last - at)});
    }
}

void shell_begin_step(shell_state *in, const shell_list *words)
{
    static const char *const names[] = {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS",
                                        "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE"};
    bool counts = false;

    for (int i = 1; i < words->count; i++)
        counts = counts || text_starts_with(words->word[i], "-N") ||
                 text_starts_with(words->word[i], "-n") || text_starts_with(words->word[i], "--n");
    for (size_t i = 0; counts && i < sizeof names / sizeof *names; i++)
        shell_set_unknown(in, names[i], shell_text_of("srun"));
}

/*
 * Returns whether the value of an srun option is the next word: true for -p, false for --exclusive.
 */
static bool takes_next(const char *option)
{
    static const char letters[] = "ABcCdDeGiJLmMnNopqrStTwWx";
    static const char *const switches[] = {
        "--exclusive", "--label",   "--unbuffered", "--no-kill", "--oversubscribe",
        "--overlap",   "--requeue", "--verbose",    "--pty",     "--kill-on-bad-exit",
        NULL};

    return option[1] == '-'
               ? text_index(option, switches) < 0
               : option[1] != '\0' && strchr(letters, option[1]) != NULL && option[2] == '\0';
}

/* Returns `word`, but unknown if it is a range of nodes, as in torchrun --nnodes 2:4. */
static const char *node_count(shell_state *in, const char *before, const char *word)
{
    static const char name[] = "--nnodes=";
    const bool joined = text_starts_with(word, name);

    if ((!joined && strcmp(before, "--nnodes") != 0) || strchr(word, ':') == NULL)
        return word;
    word += joined ? sizeof name - 1 : 0;
    return shell_concat(in->c, joined ? name : "", shell_unknown(in, shell_text_of(word), false),
                        "");
}

void shell_add_job_command(shell_state *in, const shell_list *words)
{
    static const char *const programs[] = {"srun", "sbatch", "salloc", NULL};
    shell_list all = {0};
    bool options = false; // whether the word is an option of srun; these end at the program

    for (int w = 0; w < words->count; w++) {
        const char *const word = words->word[w], *const before = w > 0 ? words->word[w - 1] : "";
        const char *value = NULL, *option = word;

        options = options && word[0] == '-';
        if (!options) {
            shell_list_add(in, &all, node_count(in, before, word));
            options = text_index(word, programs) >= 0;
            continue;
        }
        option = long_form(shell_copy(in->c, shell_text_of(word)), &value);
        shell_list_add(in, &all, option);
        if (value == NULL && takes_next(word) && w + 1 < words->count &&
            words->word[w + 1][0] != '-' && strchr(word, '=') == NULL)
            value = words->word[++w];
        if (value != NULL)
            shell_list_add(in, &all, gpu_count(in, option, value));
    }
    shell_add_command(in, &all);
}
