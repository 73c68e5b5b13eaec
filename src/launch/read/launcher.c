/* launcher.c - the GPUs of a job, out of the options of SLURM, torchrun and DeepSpeed's launcher */
#include "launch/read/launcher.h"

#include <string.h>

#include "plait/problem.h"

#include "base/text.h"

enum { MAX_NODES = 1 << 20 };

static int by_option(const launch_flags *flags, const char *const *names)
{
    for (int number; *names != NULL; names++) {
        const launch_flag *const flag = flags_find(flags, *names);

        if (flag != NULL && text_parse_int(flag->value[0], 1, MAX_NODES, &number))
            return number;
    }
    return 0;
}

/* A variable that is set for the launch alone counts before one of the script. */
static int by_variable(const launch_flags *flags, const char *const *names)
{
    const shell_words *const script = &flags->script;

    for (int number; *names != NULL; names++) {
        const char *word = NULL;

        if (flags->launch >= 0)
            word = shell_setting_word(&script->command[flags->launch], *names);
        if (word == NULL)
            word = shell_variable_word(script, *names);
        if (word != NULL && text_parse_int(word, 1, MAX_NODES, &number))
            return number;
    }
    return 0;
}

/* --gres gpu:8, gpu:a100:8, gpu:8,nvme:1 */
static int by_resource(const launch_flags *flags)
{
    const launch_flag *const flag = flags_find(flags, "gres");
    char *const text = flag != NULL ? plait_arena_text(flags->arena, flag->value[0]) : NULL;
    int number;

    if (text == NULL || !text_starts_with(text, "gpu:"))
        return 0;
    text[strcspn(text, ",(")] = '\0';
    return text_parse_int(strrchr(text, ':') + 1, 1, 1 << 12, &number) ? number : 0;
}

static int gpus_of_node(const launch_flags *flags)
{
    static const char *const started[] = {"nproc_per_node", "num_gpus", NULL};
    static const char *const granted[] = {"gpus_per_node", NULL};
    static const char *const tasks[] = {"ntasks_per_node", NULL};
    static const char *const variables[] = {"GPUS_PER_NODE",
                                            "NPROC_PER_NODE",
                                            "NUM_GPUS_PER_NODE",
                                            "GPU_PER_NODE",
                                            "NUM_GPUS_PER_WORKER",
                                            "NGPUS",
                                            NULL};
    int gpus = by_option(flags, started);

    gpus = gpus > 0 ? gpus : by_resource(flags);
    gpus = gpus > 0 ? gpus : by_option(flags, granted);
    gpus = gpus > 0 ? gpus : by_variable(flags, variables);
    return gpus > 0 ? gpus : by_option(flags, tasks);
}

static int nodes_of_job(const launch_flags *flags)
{
    static const char *const options[] = {"nnodes", "num_nodes", "nodes", NULL};
    static const char *const tasks[] = {"ntasks", NULL}, *const node_tasks[] = {"ntasks_per_node",
                                                                                NULL};
    static const char *const variables[] = {"NNODES",  "NUM_NODES", "SLURM_NNODES", "NODES",
                                            "N_NODES", "NNODE",     "NUM_WORKERS",  NULL};
    const int all = by_option(flags, tasks), each = by_option(flags, node_tasks);
    int nodes = by_option(flags, options);

    if (nodes == 0 && each > 0 && all % each == 0)
        nodes = all / each; // 32 tasks, 8 on a node
    return nodes > 0 ? nodes : by_variable(flags, variables);
}

static bool has_any(const launch_flags *flags, const char *const *names)
{
    for (; *names != NULL; names++)
        if (flags_last(flags, *names) != NULL)
            return true;
    return false;
}

static bool any_word(const shell_words *script, const shell_command *command,
                     const char *const *words)
{
    for (int i = 0; i < command->count; i++)
        if (text_index(script->word[command->first + i], words) >= 0)
            return true;
    return false;
}

/* True if srun starts the processes, one per task, and no other program spawns more of them. */
static bool tasks_are_ranks(const launch_flags *flags)
{
    static const char *const srun[] = {"srun", NULL};
    static const char *const spawners[] = {
        "torchrun", "deepspeed", "accelerate", "torch.distributed.run", "torch.distributed.launch",
        NULL};
    static const char *const spawns[] = {"nproc_per_node", "num_gpus", "num_nodes",
                                         "nnodes",         "hostfile", NULL};
    const shell_words *const script = &flags->script;
    bool steps = false;

    if (has_any(flags, spawns))
        return false;
    for (int c = 0; c < script->commands; c++)
        steps = steps || any_word(script, &script->command[c], srun);
    return steps && flags->launch >= 0 &&
           !any_word(script, &script->command[flags->launch], spawners);
}

int launcher_gpus(const launch_flags *flags)
{
    static const char *const total[] = {"world_size", "num_processes", "gpus", NULL};
    static const char *const tasks[] = {"ntasks", NULL};
    static const char *const variables[] = {"WORLD_SIZE", "NUM_GPUS", "N_GPUS", "NUM_GPU", NULL};
    static const char *const several[] = {"nnodes", "num_nodes", "nodes", "hostfile", NULL};
    const int gpus = gpus_of_node(flags), nodes = nodes_of_job(flags);
    const int ranks = tasks_are_ranks(flags) ? by_option(flags, tasks) : 0;

    if (by_option(flags, total) > 0)
        return by_option(flags, total);
    if (ranks > 0)
        return ranks <= PLAIT_MAX_GPUS ? ranks : 0;
    if (gpus > 0 && nodes > 0)
        return nodes <= PLAIT_MAX_GPUS / gpus ? nodes * gpus : 0;
    // torchrun, srun and sbatch take one node by default; DeepSpeed takes its host file
    return gpus > 0 && !has_any(flags, several) ? gpus : by_variable(flags, variables);
}
