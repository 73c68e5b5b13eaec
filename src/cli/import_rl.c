/* import_rl.c - verl and NeMo-RL: import prints a command of plait rl, and doctor runs it */
#include "cli/import_rl.h"

#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/imported.h"
#include "cli/terminal.h"
#include "io/csv/log_text.h"
#include "io/file.h"
#include "report/lines.h"
#include "report/report_rl.h"
#include "shell/shell.h"

enum { MOST_BYTES = 64 << 20 };

/* Words of a command of plait rl. */
typedef struct rl_words {
    const char *word[64];
    int count;
    plait_arena *arena;
    bool failed; /* out of memory */
} rl_words;

static void append(rl_words *out, const char *word)
{
    if (word == NULL || out->count == (int)(sizeof out->word / sizeof *out->word))
        out->failed = true;
    else
        out->word[out->count++] = word;
}

static void append_text(rl_words *out, const char *option, const char *value)
{
    if (value == NULL)
        return;
    append(out, plait_arena_printf(out->arena, "--%s", option));
    append(out, value);
}

static void append_count(rl_words *out, const char *option, int value)
{
    if (value > 0)
        append_text(out, option, plait_arena_printf(out->arena, "%d", value));
}

/* The log of a run has the mean, and that of verl the longest answer. */
static void append_answers(const rl_imported *in, bool logged, rl_words *out)
{
    const int longest = in->longest_answer;

    if (in->answer_tokens != NULL)
        append_text(out, "answer-tokens", in->answer_tokens);
    else if (logged && longest > 0)
        append_text(out, "answer-tokens",
                    plait_arena_printf(out->arena, "%d,%d", longest, longest));
    else if (longest > 0)
        append_text(out, "answer-tokens", plait_arena_printf(out->arena, "MEAN,%d", longest));
    else if (!logged)
        append_text(out, "answer-tokens", "MEAN,MAX");
}

/* Append the keys of the training plan as --fix tp=2,pp=4. */
static void append_fix(const rl_imported *in, rl_words *out)
{
    static const plait_key_id keys[] = {
        PLAIT_KEY_TP,  PLAIT_KEY_PP,  PLAIT_KEY_VPP,       PLAIT_KEY_CP,   PLAIT_KEY_EP,
        PLAIT_KEY_ETP, PLAIT_KEY_MBS, PLAIT_KEY_RECOMPUTE, PLAIT_KEY_ZERO, PLAIT_KEY_SHARD_GROUP};
    // only configs of FSDP state how the state of training is sharded
    const bool sharded = text_equal(in->runtime, "fsdp");
    const uint64_t given =
        sharded
            ? in->given
            : in->given & ~(PLAIT_KEY_BIT(PLAIT_KEY_ZERO) | PLAIT_KEY_BIT(PLAIT_KEY_SHARD_GROUP));
    char value[PLAIT_VALUE_SIZE];
    text_builder fix;

    text_builder_init(&fix, out->arena);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (given & PLAIT_KEY_BIT(keys[k]))
            text_append_printf(&fix, "%s%s=%s", fix.length > 0 ? "," : "", plait_keys[keys[k]].name,
                               plait_degrees_get(&in->degrees, keys[k], value, sizeof value));
    const bool none = fix.length == 0;
    const char *const text = text_builder_finish(&fix, NULL);
    out->failed = out->failed || text == NULL;
    append_text(out, "fix", none ? NULL : text);
}

static void append_generation(const rl_imported *in, rl_words *out)
{
    append_text(out, "engine", plait_engine_name[in->engine]);
    append_count(out, "tp", in->worker.tp);
    append_count(out, "pp", in->worker.pp);
    append_count(out, "dp-attention", in->worker.dp_attention);
    append_count(out, "ep", in->worker.ep);
    if (in->weights >= 0)
        append_text(out, "weights", plait_weight_name[in->weights]);
    append_text(out, "placement", plait_rl_placement_name[in->placement]);
    if (in->placement == PLAIT_RL_APART) {
        append_count(out, "rollout-gpus", in->rollout_gpus);
        append_text(out, "staleness", plait_arena_printf(out->arena, "%d", in->staleness));
        if (in->partial)
            append(out, "--partial");
    }
}

/* Append the command of plait rl that prices the job with its degrees. */
static void append_job(plait_rl_framework framework, const import_rl_flags *flags,
                       const rl_imported *in, rl_words *out)
{
    const bool apart = in->placement == PLAIT_RL_APART;
    const int gpus = in->train_gpus + (apart ? in->rollout_gpus : 0);

    append(out, "rl");
    append(out, flags->model != NULL ? flags->model : in->policy != NULL ? in->policy : "MODEL");
    append(out, flags->cluster != NULL ? flags->cluster : "CLUSTER");
    append_count(out, "gpus", gpus > 0 ? gpus : flags->gpus);
    append_count(out, "prompts", in->prompts);
    append_count(out, "generations", in->generations);
    append_count(out, "update-prompts", in->update_prompts);
    append_count(out, "prompt-tokens", in->prompt_tokens);
    append_answers(in, flags->log != NULL, out);
    append_count(out, "pack", in->pack_tokens);
    append_text(out, "framework", plait_rl_framework_name[framework]);
    append_text(out, "algorithm", plait_rl_algorithm_name[in->algorithm]);
    if (in->reference >= 0)
        append_text(out, "reference", in->reference ? "on" : "off");
    if (in->rollout_logprobs)
        append(out, "--rollout-logprobs");
    append_text(out, "critic", in->critic);
    append_text(out, "reward", in->reward);
    append_text(out, "runtime", in->runtime);
    append_fix(in, out);
    append_generation(in, out);
    append_text(out, "log", flags->log);
}

/* Read the text of a config as a job; prints its warnings. */
static plait_status read_job(plait_rl_framework framework, const import_rl_flags *flags,
                             const char *text, size_t length, const opt_operands *operands,
                             plait_arena *arena, rl_imported *in, rl_words *out, plait_error *err)
{
    const launch_call call = {
        .arguments = operands->count - 1, .argument = operands->text + 1, .gpus = flags->gpus};
    const char *const file = operands->text[0], *warning;

    *out = (rl_words){.arena = arena};
    PLAIT_TRY(rl_import(framework, text, length, file, &call, arena, in, &warning, err));
    append_job(framework, flags, in, out);
    if (out->failed)
        return plait_fail_nomem(err);
    imported_warn(file, warning);
    imported_warn_not_read(file, in->not_read, flags->verbose);
    return PLAIT_OK;
}

static plait_status read_file(plait_rl_framework framework, const import_rl_flags *flags,
                              const opt_operands *operands, plait_arena *arena, rl_imported *in,
                              rl_words *out, plait_error *err)
{
    const char *text;
    size_t length;

    if (operands->count == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "FILE", "expected a config of %s, found nothing",
                          plait_rl_framework_name[framework]);
    PLAIT_TRY(file_read_all(operands->text[0], MOST_BYTES, arena, &text, &length, err));
    return read_job(framework, flags, text, length, operands, arena, in, out, err);
}

plait_status import_rl(plait_rl_framework framework, const import_rl_flags *flags,
                       const opt_operands *operands, plait_arena *arena, plait_error *err)
{
    rl_imported in;
    rl_words out;

    PLAIT_TRY(read_file(framework, flags, operands, arena, &in, &out, err));
    const char *const next = command_text(out.count, out.word, arena);
    PLAIT_TRY(plait_check_allocated(next, err));
    PLAIT_TRY(command_deliver_command(next, flags->output, flags->json, arena, err));
    if (flags->json)
        return PLAIT_OK;
    print_message("%s: a step of %s by %s", operands->text[0],
                  plait_rl_algorithm_name[in.algorithm], plait_rl_framework_name[framework]);
    if (in.model != NULL)
        print_message(", model %.120s", in.model);
    print_message("\nnext: %s\n", next);
    return PLAIT_OK;
}

// ---- doctor ------------------------------------------------------------------------------------

/* Run the command of plait rl for a job, with the phases of its log. */
static plait_status run_job(const import_rl_flags *flags, const rl_imported *in, rl_words *words,
                            const char *file, plait_arena *arena, bool *no, plait_error *err)
{
    const bool found =
        flags->model != NULL || (in->policy != NULL && !text_equal(in->policy, "MODEL"));

    if (!found || flags->cluster == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, found ? "--cluster" : "--model",
                          "expected a %s, since %.120s does not state %s, found nothing",
                          found ? "cluster" : "model", file, found ? "it" : "one that plait has");
    if (flags->json)
        append(words, "--json");
    return command_run(&command_rl, words->count, words->word, arena, no, err);
}

plait_status import_rl_doctor(plait_rl_framework framework, const import_rl_flags *flags,
                              const opt_operands *operands, plait_arena *arena, bool *no,
                              plait_error *err)
{
    rl_imported in;
    rl_words words;

    if (flags->log == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--log",
                          "expected the log of the run, which has the lengths of answers, found "
                          "nothing");
    PLAIT_TRY(read_file(framework, flags, operands, arena, &in, &words, err));
    return run_job(flags, &in, &words, operands->text[0], arena, no, err);
}

/* Find the command of verl that a shell with `set -x` printed: "+ python3 -m verl.trainer...". */
static bool find_trace(const char *text, size_t length, log_text *out)
{
    log_text log = {text, text + length}, line;

    while (log_next_line(&log, &line))
        if (line.end - line.at > 2 && line.at[0] == '+' && line.at[1] == ' ' &&
            log_text_after(line, "verl.") != NULL && log_text_after(line, "data.") != NULL) {
            *out = (log_text){line.at + 2, line.end};
            return true;
        }
    return false;
}

plait_status import_rl_log(const import_rl_flags *flags, const opt_operands *operands,
                           plait_arena *arena, bool *is_log, bool *no, plait_error *err)
{
    import_rl_flags with_log = *flags;
    const char *const path = operands->text[0], *text;
    rl_log log;
    report_rl_log report = {.file = text_plain(arena, path), .log = &log};
    rl_imported in;
    rl_words words;
    json_writer json;
    log_text trace;
    plait_error inner;
    size_t length;
    bool whole;

    PLAIT_TRY(plait_check_allocated(report.file, err));
    PLAIT_TRY(file_read_start(path, MOST_BYTES, arena, &text, &length, &whole, err));
    const plait_status status = rl_log_parse(text, length, path, arena, &log, &inner);
    PLAIT_TRY(faults_only(status, &inner, err));
    *is_log = status == PLAIT_OK;
    if (!*is_log)
        return PLAIT_OK;
    with_log.log = path;
    if (log.framework == PLAIT_RL_VERL && flags->cluster != NULL &&
        find_trace(text, length, &trace)) {
        const char *const script =
            plait_arena_printf(arena, "%.*s\n", (int)(trace.end - trace.at), trace.at);

        PLAIT_TRY(plait_check_allocated(script, err));
        PLAIT_TRY(read_job(PLAIT_RL_VERL, &with_log, script, strlen(script), operands, arena, &in,
                           &words, err));
        return run_job(&with_log, &in, &words, path, arena, no, err);
    }
    if (flags->json) {
        command_begin_json(&json, arena);
        json_member_version(&json);
        json_rl_log(&json, &report);
        return command_deliver_json(&json, NULL, true, err);
    }
    PLAIT_TRY(report_rl_log_print(&report, lines_out(), err));
    char *const quoted = shell_quoted(path, arena);
    PLAIT_TRY(plait_check_allocated(quoted, err));
    print_message("next: plait doctor --from %s CONFIG --cluster CLUSTER --log %s\n",
                  plait_rl_framework_name[log.framework], quoted);
    return PLAIT_OK;
}
