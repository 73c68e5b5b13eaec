/* flags.c - reads options and the job's GPUs from a script or a JSON of parsed arguments */
#include "launch/read/flags.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "plait/problem.h"

#include "base/fail.h"
#include "io/file.h"
#include "base/grow.h"
#include "io/json/json.h"
#include "shell/shell.h"
#include "base/text.h"

static const char *const on_value[] = {"true"};

plait_status flags_put(launch_flags *flags, launch_flag flag, plait_error *err)
{
    launch_flag *const list =
        grow_by_one(flags->arena, flags->flag, flags->count, &flags->capacity, sizeof *list);

    PLAIT_TRY(plait_check_allocated(list, err));
    flags->flag = list;
    list[flags->count++] = flag;
    return PLAIT_OK;
}

/* ---- a script ---- */

/* Return num_layers for "--num-layers" and "--num-layers=32", and the text after '='. */
static char *flag_destination(const char *word, const char **value, plait_arena *arena)
{
    char *const name = plait_arena_text(arena, word + strspn(word, "-"));

    *value = NULL;
    for (char *c = name; c != NULL && *c != '\0'; c++) {
        if (*c == '=') {
            *c = '\0';
            *value = c + 1;
            break;
        }
        *c = *c == '-' ? '_' : *c;
    }
    return name;
}

const char *flags_destination(const char *word, plait_arena *arena)
{
    const char *value;

    return flag_destination(word, &value, arena);
}

static plait_status add_word(launch_flags *flags, const char *const *word, int left,
                             plait_error *err)
{
    const char *value;
    launch_flag flag = {.name = flag_destination(word[0], &value, flags->arena), .value = word + 1};

    PLAIT_TRY(plait_check_allocated(flag.name, err));
    while (flag.values < left - 1 && !shell_is_option(word[1 + flag.values]))
        flag.values++;
    if (value != NULL) {
        const char **copy = plait_arena_alloc(flags->arena, 1, sizeof *copy);

        PLAIT_TRY(plait_check_allocated(copy, err));
        *copy = value;
        flag.value = copy;
        flag.values = 1;
    }
    if (flag.values == 0) {
        flag.value = on_value;
        flag.values = 1;
    }
    return flags_put(flags, flag, err);
}

/* ---- choice of the launch ---- */

static bool starts_job(const char *word)
{
    static const char *const words[] = {"#SBATCH", "srun", "sbatch", "salloc", "mpirun", NULL};

    return text_index(file_base_name(word), words) >= 0;
}

/* True for commands that print, list or copy their words instead of starting a program. */
static bool only_prints(const char *word)
{
    static const char *const words[] = {"echo",  "printf", "cat",  "git",   "pip",  "pip3", "sed",
                                        "tee",   "grep",   "curl", "wget",  "rm",   "cp",   "ls",
                                        "mkdir", "rsync",  "ssh",  "conda", "find", NULL};

    return text_index(file_base_name(word), words) >= 0;
}

static bool is_program(const char *word)
{
    static const char *const words[] = {"python",    "python3",    "torchrun",
                                        "deepspeed", "accelerate", NULL};

    return text_ends_with(word, ".py") || text_index(file_base_name(word), words) >= 0;
}

/* True for ms-swift's `megatron sft` and `swift sft`, which start torchrun by themselves. */
static bool starts_swift(const char *program, const char *const *word, int count)
{
    static const char *const routes[] = {"sft", "pt", "rlhf", NULL};

    return count > 1 && text_equal(file_base_name(word[0]), program) &&
           text_index(word[1], routes) >= 0;
}

static bool is_launcher(const char *const *word, int count)
{
    for (int i = 0; i < count; i++)
        if (is_program(word[i]) || starts_swift("megatron", word + i, count - i) ||
            starts_swift("swift", word + i, count - i))
            return !only_prints(word[0]);
    return false;
}

bool flags_runs(const shell_words *words, int command)
{
    return !only_prints(words->word[words->command[command].first]);
}

bool flags_are_of_swift(const launch_flags *flags)
{
    const shell_words *const words = &flags->script;

    if (flags->launch < 0)
        return false;
    const shell_command *const launch = &words->command[flags->launch];
    for (int i = 0; i < launch->count; i++)
        if (starts_swift("megatron", words->word + launch->first + i, launch->count - i) ||
            strstr(words->word[launch->first + i], "swift/cli/_megatron/") != NULL)
            return true;
    return false;
}

static int count_options(const char *const *word, int count)
{
    int options = 0;

    for (int i = 0; i < count; i++)
        options += shell_is_option(word[i]);
    return options;
}

bool flags_starts(const shell_words *words, int command)
{
    const shell_command *const c = &words->command[command];
    const char *const *const word = words->word + c->first;

    return is_launcher(word, c->count) && count_options(word, c->count) > 0;
}

/*
 * Choose the command with most options as the launch, the last of equal ones. Prefer commands that
 * certainly run to doubtful ones, and these to commands after `exit`.
 */
int flags_launch(const shell_words *words)
{
    int best = -1, most = 0;

    for (int doubt = 0; doubt < 3 && best < 0; doubt++)
        for (int c = 0; c < words->commands; c++) {
            const shell_command *const command = &words->command[c];
            const char *const *const word = words->word + command->first;
            const int options = count_options(word, command->count);

            if ((command->ended ? 2 : command->doubtful) != doubt || options < most ||
                !flags_starts(words, c))
                continue;
            best = c;
            most = options;
        }
    return best;
}

bool flags_counts(const shell_words *words, int launch, int command)
{
    const char *const first = words->word[words->command[command].first];

    return command == launch || (launch < 0 ? !only_prints(first) : starts_job(first));
}

static plait_status add_command(launch_flags *flags, const shell_command *command, plait_error *err)
{
    const char *const *const word = flags->script.word + command->first;

    for (int i = 0; i < command->count; i++)
        if (shell_is_option(word[i]))
            PLAIT_TRY(add_word(flags, word + i, command->count - i, err));
    return PLAIT_OK;
}

/* ---- parsed arguments ---- */

static plait_status word_of(const json_cursor *at, plait_arena *arena, const char **out,
                            plait_error *err)
{
    char digits[TEXT_NUMBER_SIZE];
    double number;
    bool on;

    if (json_is_string(at))
        return json_as_string(at, arena, out, err);
    if (json_is_number(at)) {
        PLAIT_TRY(json_as_number(at, JSON_ANY, &number, err));
        *out = plait_arena_text(arena, text_number(number, digits));
        return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
    }
    PLAIT_TRY(json_as_bool(at, &on, err));
    *out = on ? "true" : "false";
    return PLAIT_OK;
}

static plait_status add_member(const json_cursor *at, launch_flags *flags, plait_error *err)
{
    const size_t count = json_is_array(at) ? json_count(at) : 1;
    const char **word;
    int values = 0;
    json_cursor entry;
    char *const name = plait_arena_text(flags->arena, at->key);

    if (json_is_null(at) || json_is_object(at) || count == 0)
        return PLAIT_OK;
    word = plait_arena_alloc(flags->arena, count, sizeof *word);
    PLAIT_TRY(plait_check_allocated(word && name, err));
    if (!json_is_array(at)) {
        PLAIT_TRY(word_of(at, flags->arena, &word[values++], err));
    } else {
        for (bool more = json_first(at, &entry); more; more = json_next(&entry)) {
            if (json_is_null(&entry) || json_is_object(&entry) || json_is_array(&entry))
                return PLAIT_OK;
            PLAIT_TRY(word_of(&entry, flags->arena, &word[values++], err));
        }
    }
    return flags_put(flags, (launch_flag){.name = name, .values = values, .value = word}, err);
}

static plait_status read_members(const json_cursor *root, plait_arena *arena, void *out,
                                 plait_error *err)
{
    json_cursor at;

    (void)arena;
    PLAIT_TRY(json_as_object(root, err));
    for (bool more = json_first(root, &at); more; more = json_next(&at))
        PLAIT_TRY(add_member(&at, out, err));
    return PLAIT_OK;
}

plait_status flags_read(const char *text, size_t length, const char *file, const launch_call *call,
                        plait_arena *arena, launch_flags *out, plait_error *err)
{
    *out = (launch_flags){.file = file, .arena = arena, .launch = -1};
    size_t i = 0;
    while (i < length && isspace((unsigned char)text[i]))
        i++;
    if (i < length && text[i] == '{')
        return json_parse(text, length, file, read_members, arena, out, err);
    shell_words *const words = &out->script;
    const shell_source source = {.text = text,
                                 .length = length,
                                 .name = out->file,
                                 .arguments = call != NULL ? call->arguments : 0,
                                 .argument = call != NULL ? call->argument : NULL};

    if (call != NULL && call->taken != NULL)
        *call->taken = true;
    PLAIT_TRY(shell_read(&source, out->arena, words, err));
    const int launch = flags_launch(words);
    out->launch = launch;
    for (int c = 0; c < words->commands; c++)
        if (c != launch && flags_counts(words, launch, c))
            PLAIT_TRY(add_command(out, &words->command[c], err));
    if (launch < 0)
        return PLAIT_OK;
    out->doubtful = words->command[launch].doubtful;
    return add_command(out, &words->command[launch], err);
}

static launch_flag *find_last(const launch_flags *flags, const char *name)
{
    for (int i = flags->count - 1; i >= 0; i--)
        if (strcmp(flags->flag[i].name, name) == 0)
            return &flags->flag[i];
    return NULL;
}

const launch_flag *flags_last(const launch_flags *flags, const char *name)
{
    launch_flag *const flag = find_last(flags, name);

    if (flag != NULL)
        flag->read = true;
    return flag;
}

bool flags_is_last(const launch_flags *flags, const launch_flag *flag)
{
    return find_last(flags, flag->name) == flag;
}

bool flags_has_value(const launch_flag *flag)
{
    return flag->value != on_value;
}

bool flags_is_off(const launch_flags *flags, const launch_flag *flag)
{
    const char *const value = flag->value[0];

    return flags->script.commands == 0 && (value[0] == '\0' || flags_value_is_off(value));
}

const char *flags_not_read(const launch_flags *flags)
{
    text_builder out;

    text_builder_init(&out, flags->arena);
    for (int i = 0; i < flags->count; i++) {
        const launch_flag *const flag = &flags->flag[i];

        if (!flag->read && flags_is_last(flags, flag) && !flags_is_off(flags, flag))
            text_append_printf(&out, "%s%s", out.length > 0 ? ", " : "", flag->name);
    }
    return text_builder_finish(&out, NULL);
}

bool flags_value_is_off(const char *value)
{
    static const char *const words[] = {"false", "no", "off", "none", "null", "0", NULL};

    for (const char *const *word = words; *word != NULL; word++)
        if (strcasecmp(value, *word) == 0)
            return true;
    return false;
}

const launch_flag *flags_find(const launch_flags *flags, const char *name)
{
    const launch_flag *const flag = flags_last(flags, name);

    return flag != NULL && shell_word_known(flag->value[0]) ? flag : NULL;
}

plait_status flags_add(launch_flags *flags, const char *name, const char *value, plait_error *err)
{
    const char **const copy = plait_arena_alloc(flags->arena, 1, sizeof *copy);

    PLAIT_TRY(plait_check_allocated(copy && value, err));
    *copy = value;
    return flags_put(flags, (launch_flag){.name = name, .values = 1, .value = copy}, err);
}

plait_status flags_fail(const launch_flags *flags, const char *name, plait_error *err,
                        const char *fmt, ...)
{
    char where[256];
    plait_status status;
    va_list list;

    snprintf(where, sizeof where, "%.180s: %.60s", flags->file, name);
    va_start(list, fmt);
    status = fail_list(err, PLAIT_ERROR_RANGE, where, fmt, list);
    va_end(list);
    return status;
}

/* ---- GPUs of a job, from the options of SLURM, torchrun and DeepSpeed's launcher ---- */

enum { MAX_NODES = 1 << 20, NAME_SIZE = 24 };

/* Return the value of the first given option; `names` here is a list with blanks between. */

static int by_option(const launch_flags *flags, const char *names)
{
    char name[NAME_SIZE];

    for (int number, used; sscanf(names, "%23s%n", name, &used) == 1; names += used) {
        const launch_flag *const flag = flags_find(flags, name);

        if (flag != NULL && text_parse_int(flag->value[0], 1, MAX_NODES, &number))
            return number;
    }
    return 0;
}

/* Return a variable's value; one set for the launch alone precedes one of the script. */
static int by_variable(const launch_flags *flags, const char *names)
{
    const shell_words *const script = &flags->script;
    char name[NAME_SIZE];

    for (int number, used; sscanf(names, "%23s%n", name, &used) == 1; names += used) {
        const char *word = NULL;

        if (flags->launch >= 0)
            word = shell_setting_word(&script->command[flags->launch], name);
        if (word == NULL)
            word = shell_variable_word(script, name);
        if (word != NULL && text_parse_int(word, 1, MAX_NODES, &number))
            return number;
    }
    return 0;
}

/* Return the GPUs of --gres, which may be gpu:8, gpu:a100:8 or gpu:8,nvme:1. */
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
    int gpus = by_option(flags, "nproc_per_node num_gpus");

    gpus = gpus > 0 ? gpus : by_resource(flags);
    gpus = gpus > 0 ? gpus : by_option(flags, "gpus_per_node");
    gpus = gpus > 0 ? gpus
                    : by_variable(flags, "GPUS_PER_NODE NPROC_PER_NODE NUM_GPUS_PER_NODE "
                                         "GPU_PER_NODE NUM_GPUS_PER_WORKER NGPUS");
    return gpus > 0 ? gpus : by_option(flags, "ntasks_per_node");
}

static int nodes_of_job(const launch_flags *flags)
{
    const int all = by_option(flags, "ntasks"), each = by_option(flags, "ntasks_per_node");
    int nodes = by_option(flags, "nnodes num_nodes nodes");

    if (nodes == 0 && each > 0 && all % each == 0)
        nodes = all / each; // 32 tasks with 8 per node are 4 nodes
    return nodes > 0 ? nodes
                     : by_variable(flags,
                                   "NNODES NUM_NODES SLURM_NNODES NODES N_NODES NNODE NUM_WORKERS");
}

static bool has_any(const launch_flags *flags, const char *names)
{
    char name[NAME_SIZE];

    for (int used; sscanf(names, "%23s%n", name, &used) == 1; names += used)
        if (flags_last(flags, name) != NULL)
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
    const shell_words *const script = &flags->script;
    bool steps = false;

    if (has_any(flags, "nproc_per_node num_gpus num_nodes nnodes hostfile"))
        return false;
    for (int c = 0; c < script->commands; c++)
        steps = steps || any_word(script, &script->command[c], srun);
    return steps && flags->launch >= 0 &&
           !any_word(script, &script->command[flags->launch], spawners);
}

int launcher_gpus(const launch_flags *flags)
{
    const int gpus = gpus_of_node(flags), nodes = nodes_of_job(flags);
    const int ranks = tasks_are_ranks(flags) ? by_option(flags, "ntasks") : 0;
    const int total = by_option(flags, "world_size num_processes gpus");

    if (total > 0)
        return total;
    if (ranks > 0)
        return ranks <= PLAIT_MAX_GPUS ? ranks : 0;
    if (gpus > 0 && nodes > 0)
        return nodes <= PLAIT_MAX_GPUS / gpus ? nodes * gpus : 0;
    // torchrun, srun and sbatch use one node by default; DeepSpeed uses the nodes of its host file
    return gpus > 0 && !has_any(flags, "nnodes num_nodes nodes hostfile")
               ? gpus
               : by_variable(flags, "WORLD_SIZE NUM_GPUS N_GPUS NUM_GPU");
}
