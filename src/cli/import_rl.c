/* import_rl.c - plait import of verl and NeMo-RL, which prints a command of plait rl */
#include "cli/import_rl.h"

#include "base/text.h"
#include "cli/imported.h"
#include "cli/terminal.h"
#include "io/file.h"
#include "shell/shell.h"

enum { MOST_BYTES = 64 << 20 };

static void append_count(text_builder *out, const char *option, int value)
{
    if (value > 0)
        text_append_printf(out, " --%s %d", option, value);
}

static void append_name(text_builder *out, const char *option, const char *name)
{
    if (name == NULL)
        return;
    text_append_printf(out, " --%s ", option);
    shell_append_word(out, name);
}

static void append_answers(const rl_imported *in, text_builder *out)
{
    if (in->answer_tokens != NULL) {
        text_append(out, " --answer-tokens ");
        shell_append_word(out, in->answer_tokens);
    } else if (in->longest_answer > 0) {
        text_append_printf(out, " --answer-tokens MEAN,%d", in->longest_answer);
    } else {
        text_append(out, " --answer-tokens MEAN,MAX");
    }
}

/* Append the keys of the training plan as --fix tp=2,pp=4. */
static void append_fix(const rl_imported *in, text_builder *out)
{
    static const plait_key_id keys[] = {PLAIT_KEY_TP,  PLAIT_KEY_PP,       PLAIT_KEY_VPP,
                                        PLAIT_KEY_CP,  PLAIT_KEY_EP,       PLAIT_KEY_ETP,
                                        PLAIT_KEY_MBS, PLAIT_KEY_RECOMPUTE};
    char value[PLAIT_VALUE_SIZE];
    const char *between = " --fix ";

    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        if (!(in->given & PLAIT_KEY_BIT(keys[k])))
            continue;
        text_append_printf(out, "%s%s=%s", between, plait_keys[keys[k]].name,
                           plait_degrees_get(&in->degrees, keys[k], value, sizeof value));
        between = ",";
    }
}

static void append_generation(const rl_imported *in, text_builder *out)
{
    text_append_printf(out, " --engine %s", plait_engine_name[in->engine]);
    append_count(out, "tp", in->worker.tp);
    append_count(out, "pp", in->worker.pp);
    append_count(out, "dp-attention", in->worker.dp_attention);
    append_count(out, "ep", in->worker.ep);
    if (in->weights >= 0)
        text_append_printf(out, " --weights %s", plait_weight_name[in->weights]);
    text_append_printf(out, " --placement %s", plait_rl_placement_name[in->placement]);
    if (in->placement == PLAIT_RL_APART) {
        append_count(out, "rollout-gpus", in->rollout_gpus);
        text_append_printf(out, " --staleness %d%s", in->staleness,
                           in->partial ? " --partial" : "");
    }
}

/* Append the command of plait rl that prices the job with its degrees. */
static void next_command(plait_rl_framework framework, const import_rl_flags *flags,
                         const rl_imported *in, text_builder *out)
{
    const bool apart = in->placement == PLAIT_RL_APART;
    const int gpus = in->train_gpus + (apart ? in->rollout_gpus : 0);

    text_append(out, "plait rl ");
    shell_append_word(out, flags->model != NULL ? flags->model
                           : in->policy != NULL ? in->policy
                                                : "MODEL");
    text_append_char(out, ' ');
    shell_append_word(out, flags->cluster != NULL ? flags->cluster : "CLUSTER");
    append_count(out, "gpus", gpus > 0 ? gpus : flags->gpus);
    append_count(out, "prompts", in->prompts);
    append_count(out, "generations", in->generations);
    append_count(out, "update-prompts", in->update_prompts);
    append_count(out, "prompt-tokens", in->prompt_tokens);
    append_answers(in, out);
    append_count(out, "pack", in->pack_tokens);
    text_append_printf(out, " --framework %s --algorithm %s", plait_rl_framework_name[framework],
                       plait_rl_algorithm_name[in->algorithm]);
    if (in->reference >= 0)
        text_append_printf(out, " --reference %s", in->reference ? "on" : "off");
    text_append(out, in->rollout_logprobs ? " --rollout-logprobs" : "");
    append_name(out, "critic", in->critic);
    append_name(out, "reward", in->reward);
    text_append_printf(out, " --runtime %s", in->runtime);
    append_fix(in, out);
    append_generation(in, out);
}

plait_status import_rl(plait_rl_framework framework, const import_rl_flags *flags,
                       const opt_operands *operands, plait_arena *arena, plait_error *err)
{
    const launch_call call = {.arguments = operands->count > 0 ? operands->count - 1 : 0,
                              .argument = operands->text + 1,
                              .gpus = flags->gpus};
    const char *text, *warning;
    rl_imported in;
    size_t length;
    text_builder out;

    if (operands->count == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "FILE", "expected a config of %s, found nothing",
                          plait_rl_framework_name[framework]);
    const char *const file = operands->text[0];
    PLAIT_TRY(file_read_all(file, MOST_BYTES, arena, &text, &length, err));
    PLAIT_TRY(rl_import(framework, text, length, file, &call, arena, &in, &warning, err));
    text_builder_init(&out, arena);
    next_command(framework, flags, &in, &out);
    const char *const next = text_builder_finish(&out, NULL);
    PLAIT_TRY(plait_check_allocated(next, err));
    imported_warn(file, warning);
    imported_warn_not_read(file, in.not_read, flags->verbose);
    print_message("%s: a step of %s by %s", file, plait_rl_algorithm_name[in.algorithm],
                  plait_rl_framework_name[framework]);
    if (in.model != NULL)
        print_message(", model %.120s", in.model);
    print_message("\nnext: %s\n", next);
    return PLAIT_OK;
}
