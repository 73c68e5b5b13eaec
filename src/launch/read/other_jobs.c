/*
 * other_jobs.c - rejects jobs that do not pretrain all weights
 *
 * One table lists flags of fine-tuning methods, which wrappers of Megatron-LM, DeepSpeed and
 * torchtitan add to an ordinary launch; the other lists software whose files plait does not read.
 */
#include "launch/import.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "io/file.h"
#include "launch/read/flags.h"
#include "shell/shell.h"
#include "base/text.h"
#include "launch/read/yaml_read.h"

/* ---- methods ---- */

/*
 * Flags by their argparse destinations, which are also the keys of a YAML. Sources:
 * swift/megatron/arguments of modelscope/ms-swift v3.8.0 to v4.5.2 (train_type, from v4 on
 * tuner_type), megatron/training/arguments.py and the functional tests (MODE) of NVIDIA/Megatron-LM
 * core_v0.19.0, utils/module/lora.py of deepspeedai/DeepSpeedExamples,
 * mindspeed_llm/features_manager of Ascend/MindSpeed-LLM, recipes of NVIDIA-NeMo/Megatron-Bridge,
 * peft of Hugging Face.
 */
typedef struct method_flag {
    const char *name;
    const char *full; /* values that mean full training, each between blanks */
} method_flag;

/*
 * Flags whose value names the method. If a value means full training, the flags of adapters have no
 * effect.
 */
static const method_flag kinds[] = {
    {"train_type", " full "},
    {"tuner_type", " full "},
    {"finetuning_type", " full "},
    {"stage", " sft pt pretrain mlperf_pretrain 0 1 2 3 "},
    {"rlhf_type", " "},
    {"peft_type", " "},
    {"peft_scheme", " "},
    {"peft", " "},
    {"task_type", " causal_lm "},
    {"finetuning", " full sft "},
    {"bits", " 16 32 "},
    {"MODE", " pretraining "},
    {NULL, NULL},
};

static const char *const adapters[] = {
    // ranks
    "lora_rank", "lora_r", "lora_dim", "actor_lora_dim", "critic_lora_dim",
    // switches and names
    "lora", "use_lora", "use_peft", "qlora", "use_qlora", "q_lora", "lora_enable", "use_peft_lora",
    "use_llm_lora", "use_backbone_lora", "freeze_vit", "lora_target_modules", "only_optimize_lora",
    "adapters", "adapter", NULL};

/* Switches of adapters; if one is off, the other flags of adapters have no effect. */
static const char *const adapter_switches[] = {"use_lora",    "use_peft",      "lora",
                                               "lora_enable", "use_peft_lora", NULL};

static const char *const others[] = {
    // frozen weights
    "freeze_parameters", "freeze_parameters_ratio", "freeze_parameters_regex",
    "trainable_parameters", "trainable_parameters_regex", "freeze_all_layers", "freeze_llm",
    "freeze_lm", "freeze_LM", "freeze_ViT", "freeze_projection", "freeze_backbone",
    "tune_mm_mlp_adapter", "freeze_router", "freeze_model", "bitfit",
    // weights in four or eight bits, as in QLoRA
    "load_in_4bit", "load_in_8bit", "quantization_bit", "use_4bit_quantization",
    "use_8bit_quantization",
    // distillation and reinforcement
    "export_kd_teacher_load", "export_kd_cfg", "teacher_model", "mcore_teacher_model", "kd",
    "load_teacher", "perform_rl_step", "mcore_adapter", "adapter_name_or_path", "distillation",
    "distill_only", "teacher_model_name_or_path",
    // step 3 of DeepSpeed-Chat
    "critic_model_name_or_path", "actor_zero_stage", "critic_zero_stage", "enable_hybrid_engine",
    NULL};

/*
 * Flags of NeMo and Megatron-Bridge whose values, names of recipes and tasks, contain the method:
 * llama3_8b_lora_1node.
 */
static const char *const recipes[] = {"recipe", "task", NULL};

/* True for the value of a switch that is off, and for a rank or ratio that means none. */
static bool is_off(const char *value)
{
    static const char *const numbers[] = {"0.0", "0.", "-1", "", NULL};

    return flags_value_is_off(value) || text_index(value, numbers) >= 0;
}

static const method_flag *kind_of(const char *name)
{
    for (const method_flag *row = kinds; row->name != NULL; row++)
        if (text_equal(row->name, name))
            return row;
    return NULL;
}

/* True if a flag of `kinds` has the value "full", or a switch of adapters is off. */
static bool is_full(const launch_flags *flags)
{
    for (const char *const *name = adapter_switches; *name != NULL; name++) {
        const launch_flag *const flag = flags_find(flags, *name);

        if (flag != NULL && is_off(flag->value[0]))
            return true;
    }
    for (const method_flag *row = kinds; row->name != NULL; row++) {
        const launch_flag *const flag = flags_find(flags, row->name);

        if (flag != NULL && text_equal(flag->value[0], "full"))
            return true;
    }
    return false;
}

/*
 * Return the length of a path up to the end of a section of adapters: 14 for "modules.x.lora.dim";
 * 0: none.
 */
static size_t adapter_section(const char *path)
{
    static const char *const sections[] = {"lora", "peft", "peft_config", "lora_config", NULL};
    const char *at = path;

    for (const char *dot; (dot = strchr(at, '.')) != NULL; at = dot + 1)
        for (const char *const *section = sections; *section != NULL; section++)
            if (strlen(*section) == (size_t)(dot - at) &&
                strncmp(at, *section, (size_t)(dot - at)) == 0)
                return (size_t)(dot - path);
    return 0;
}

/* True if a word, in any case, is in a list with a blank around each entry. */
static bool has_word(const char *list, const char *word)
{
    const size_t width = strlen(word);

    for (const char *at = strchr(list, ' '); at != NULL; at = strchr(at + 1, ' '))
        if (strncasecmp(at + 1, word, width) == 0 && at[1 + width] == ' ')
            return true;
    return false;
}

static bool is_method(const launch_flag *flag, bool full)
{
    const method_flag *const kind = kind_of(flag->name);
    const char *const value = flag->value[0];

    if (!shell_word_known(value) || is_off(value))
        return false;
    if (kind != NULL)
        return !has_word(kind->full, value);
    if (text_index(flag->name, recipes) >= 0) {
        // true if the value contains "lora", "qlora" or "peft" without a letter next to it
        static const char *const parts[] = {"lora", "qlora", "peft", NULL};
        for (const char *const *part = parts; *part != NULL; part++)
            for (const char *at = value; (at = strstr(at, *part)) != NULL; at++)
                if ((at == value || !isalpha((unsigned char)at[-1])) &&
                    !isalpha((unsigned char)at[strlen(*part)]))
                    return true;
        return false;
    }
    return text_index(flag->name, others) >= 0 || adapter_section(flag->name) > 0 ||
           (!full && text_index(flag->name, adapters) >= 0);
}

/* True if the launch begins with a program and a route, such as `swift sft`. */
static bool runs_route(const launch_flags *flags, const char *program, const char *route)
{
    if (flags->launch < 0)
        return false;
    const shell_command *const launch = &flags->script.command[flags->launch];
    const char *const *const word = flags->script.word + launch->first;

    for (int i = 0; i + 1 < launch->count; i++)
        if (text_equal(file_base_name(word[i]), program) && text_equal(word[i + 1], route))
            return true;
    return false;
}

static plait_status check_methods(const launch_flags *flags, const char *dashes, plait_error *err)
{
    const bool full = is_full(flags);

    for (int i = 0; i < flags->count; i++) {
        const launch_flag *const flag = &flags->flag[i];

        if (flag->values < 1 || flags_last(flags, flag->name) != flag || !is_method(flag, full))
            continue;
        return flags_fail(flags, flag->name, err,
                          "expected training of all parameters in this format, found %s%s %.40s",
                          dashes, flag->name, flag->value[0]);
    }
    // without a flag for the method, `swift sft` trains LoRA (modelscope/ms-swift v3.8.0 to
    // v4.5.2), and so does LLaMA-Factory, whose jobs have a stage and a model (finetuning_args.py
    // of hiyouga/LLaMA-Factory)
    static const char *const stages[] = {"sft", "pt", NULL};
    const launch_flag *const stage = flags_find(flags, "stage");
    const bool factory = stage != NULL && text_index(stage->value[0], stages) >= 0 &&
                         flags_last(flags, "model_name_or_path") != NULL &&
                         flags_last(flags, "finetuning_type") == NULL;
    const bool swift = runs_route(flags, "swift", "sft") &&
                       flags_last(flags, "tuner_type") == NULL &&
                       flags_last(flags, "train_type") == NULL;
    if (!factory && !swift)
        return PLAIT_OK;
    return flags_fail(
        flags, swift ? "tuner_type" : "finetuning_type", err,
        "expected training of all parameters in this format, found LoRA, the default of %s; for "
        "full training add %s",
        swift ? "swift sft" : "LLaMA-Factory",
        swift ? "--tuner_type full (before ms-swift 4: --train_type full)"
              : "--finetuning_type full");
}

/* ---- sections of a YAML ---- */

static bool section_is_off(const yaml_file *yaml, const char *path, size_t width)
{
    for (int i = 0; i < yaml->count; i++) {
        const yaml_leaf *const leaf = &yaml->leaf[i];

        if (strncmp(leaf->path, path, width) == 0 && text_equal(leaf->path + width, ".enabled"))
            return leaf->values > 0 && is_off(leaf->value[0]);
    }
    return false;
}

/* ---- software ---- */

/* Marks by which software is recognised: `mark`, and `and`, which must occur too; NULL: none. */
typedef struct other_software {
    const char *name;
    const char *mark;
    const char *and;
} other_software;

/* Software by YAML keys at the beginning of a line. */
static const other_software by_key[] = {
    {"LLaMA-Factory", "finetuning_type", NULL},
    {"LLaMA-Factory", "stage", "model_name_or_path"},
    {"verl", "actor_rollout_ref", NULL},
    {"axolotl", "base_model", "datasets"},
    {"NeMo RL", "policy", "grpo"},
    {"NeMo RL", "policy", "dpo"},
    {"TRL", "model_name_or_path", "dataset_name"},
    {"FlagScale", "experiment", "action"},
    {"FlagScale", "system", "data"},
};

/*
 * Software by words of a command. A mark that ends in . or = is a prefix; `and` is a list of words,
 * one of which must follow the mark.
 */
static const other_software by_word[] = {
    {"LLaMA-Factory", "llamafactory-cli", NULL},
    {"verl", "verl.", NULL},
    {"verl", "actor_rollout_ref.", NULL},
    {"verl", "algorithm.adv_estimator=", NULL},
    {"axolotl", "axolotl", " train "},
    {"axolotl", "axolotl.", NULL},
    {"TRL", "trl", " sft dpo grpo kto reward rloo "},
    {"OpenRLHF", "openrlhf.", NULL},
    {"ms-swift", "swift", " rlhf "},
    {"ms-swift", "megatron", " rlhf "},
};

/* Software by parts of the script's own path or of a word of a command. */
static const other_software by_path[] = {
    {"DeepSpeed-Chat", "step2_dpo_finetuning", NULL},
    {"DeepSpeed-Chat", "step2_reward_model_finetuning", NULL},
    {"DeepSpeed-Chat", "step3_rlhf_finetuning", NULL},
    {"TRL", "scripts/dpo.py", NULL},
    {"TRL", "scripts/kto.py", NULL},
    {"TRL", "scripts/grpo.py", NULL},
    {"TRL", "scripts/reward.py", NULL},
    {"TRL", "scripts/reward_modeling.py", NULL},
    {"TRL", "scripts/rloo.py", NULL},
    {"TRL", "trl/experimental/", NULL},
    {"FastChat", "train/train_lora.py", NULL},
};

static plait_status refuse_software(const char *software, const char *file, plait_error *err)
{
    // software whose files another format reads
    static const char *const formats[][2] = {
        {"LLaMA-Factory", "--from llama-factory reads"},
        {"TRL", "--from trl reads"},
        {"ms-swift", "--from ms-swift reads"},
        {"verl", "--from verl reads"},
        {"NeMo RL", "--from nemo-rl reads"},
    };
    const char *reader = "plait does not read";

    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        if (text_equal(software, formats[f][0]))
            reader = formats[f][1];
    return plait_fail(err, PLAIT_ERROR_SCHEMA, file,
                      "expected full training in this format, found a file of %s, which %s",
                      software, reader);
}

/* True if "KEY:" begins a line. */
static bool has_key(const char *text, const char *key)
{
    const size_t width = strlen(key);

    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, width) == 0 && line[width] == ':')
            return true;
    }
    return false;
}

/*
 * True if a word has a mark: "verl.trainer.main_ppo" begins with "verl.", and "/opt/bin/axolotl" is
 * axolotl.
 */
static bool has_mark(const char *word, const char *mark)
{
    const char last = mark[strlen(mark) - 1];

    return last == '.' || last == '=' ? text_starts_with(word, mark)
                                      : text_equal(file_base_name(word), mark);
}

/*
 * True for an option that takes the next word as its value, unlike -m and --module, which take a
 * module to run.
 */
static bool takes_value(const char *word)
{
    return shell_is_option(word) && strchr(word, '=') == NULL && !text_equal(word, "-m") &&
           !text_equal(word, "--module");
}

static bool is_of(const other_software *of, const char *const *word, int count)
{
    for (int i = 0; i < count; i++)
        if (has_mark(word[i], of->mark) && !(i > 0 && takes_value(word[i - 1])) &&
            (of->and == NULL || (i + 1 < count && has_word(of->and, word[i + 1]))))
            return true;
    return false;
}

static plait_status check_path(const char *path, const char *file, plait_error *err)
{
    for (size_t p = 0; p < sizeof by_path / sizeof *by_path; p++)
        if (strstr(path, by_path[p].mark) != NULL)
            return refuse_software(by_path[p].name, file, err);
    return PLAIT_OK;
}

/*
 * Reject a word that contains a path of other software, or a Hydra override of Megatron-Bridge such
 * as peft.dim=16 or peft=lora.
 */
static plait_status check_word(const launch_flags *flags, const char *word, plait_error *err)
{
    const char *const value = strchr(word, '=');

    PLAIT_TRY(shell_is_option(word) ? PLAIT_OK : check_path(word, flags->file, err));
    if (value == NULL || !shell_word_known(word) || is_off(value + 1) ||
        (!text_starts_with(word, "peft.") && !text_starts_with(word, "peft=")))
        return PLAIT_OK;
    return flags_fail(flags, "peft", err,
                      "expected training of all parameters in this format, found %.60s", word);
}

/*
 * True if a line of the text begins with a mark. Scripts of OpenRLHF read the module and its
 * options from a here-document into a variable.
 */
static bool begins_line(const char *text, const char *mark)
{
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += strspn(line, " \t\n");
        if (text_starts_with(line, mark))
            return true;
    }
    return false;
}

static plait_status check_yaml(const yaml_file *yaml, plait_arena *arena, plait_error *err)
{
    launch_flags flags;

    // convert keys to destinations: "--num-layers" in a YAML is num_layers
    flags = (launch_flags){.file = yaml->name, .arena = arena, .launch = -1};
    for (int i = 0; i < yaml->count; i++) {
        const yaml_leaf *const leaf = &yaml->leaf[i];
        const char *const name = flags_destination(leaf->key, arena);

        PLAIT_TRY(plait_check_allocated(name, err));
        if (leaf->values > 0)
            PLAIT_TRY(flags_put(
                &flags, (launch_flag){.name = name, .values = leaf->values, .value = leaf->value},
                err));
    }
    PLAIT_TRY(check_methods(&flags, "", err));
    char expected[192];

    for (int i = 0; i < yaml->count; i++) {
        const yaml_leaf *const leaf = &yaml->leaf[i];
        const size_t width = adapter_section(leaf->path);

        if (width == 0 || leaf->values == 0 || section_is_off(yaml, leaf->path, width))
            continue;
        snprintf(expected, sizeof expected,
                 "training of all parameters in this format, without adapters such as %.*s",
                 (int)(width < 80 ? width : 80), leaf->path);
        return yaml_expected(yaml, leaf, expected, err);
    }
    return PLAIT_OK;
}

plait_status other_jobs_refuse(const char *text, size_t length, const char *name,
                               const launch_call *call, plait_arena *arena, plait_error *err)
{
    const char *const copy = plait_arena_printf(arena, "%.*s", (int)length, text);
    launch_call ours = {0};
    bool taken;
    launch_flags flags;
    yaml_file yaml;
    plait_error inner = {.status = PLAIT_OK};

    PLAIT_TRY(plait_check_allocated(copy, err));
    for (size_t s = 0; s < sizeof by_key / sizeof *by_key; s++)
        if (has_key(copy, by_key[s].mark) &&
            (by_key[s].and == NULL || has_key(copy, by_key[s].and)))
            return refuse_software(by_key[s].name, name, err);
    if (strstr(copy, "\"tp_sizes_enc\"") != NULL) // a key of Galvatron's strategy files
        return refuse_software("Galvatron", name, err);
    plait_status status = yaml_read(text, length, name, arena, &yaml, &inner);
    if (status == PLAIT_OK && yaml.count > 0)
        return check_yaml(&yaml, arena, err);
    PLAIT_TRY(faults_only(status, &inner, err));
    if (call != NULL)
        ours = *call;
    ours.taken = &taken;
    status = flags_read(text, length, name, &ours, arena, &flags, &inner);
    if (status != PLAIT_OK)
        return faults_only(status, &inner, err);
    const shell_words *const script = &flags.script;
    for (int c = 0; c < script->commands; c++)
        for (size_t s = 0; s < sizeof by_word / sizeof *by_word && flags_runs(script, c); s++)
            if (is_of(&by_word[s], script->word + script->command[c].first,
                      script->command[c].count))
                return refuse_software(by_word[s].name, flags.file, err);
    for (int c = 0; c < script->commands; c++)
        for (int i = 0; i < script->command[c].count && flags_runs(script, c); i++)
            PLAIT_TRY(check_word(&flags, script->word[script->command[c].first + i], err));
    PLAIT_TRY(check_path(name, name, err));
    if (begins_line(copy, "openrlhf.cli."))
        return refuse_software("OpenRLHF", name, err);
    return check_methods(&flags, flags.script.commands > 0 ? "--" : "", err);
}
