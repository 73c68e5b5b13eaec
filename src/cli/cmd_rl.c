/* cmd_rl.c - plait rl: plans a step of reinforcement learning */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/rl_row.h"
#include "cli/problem.h"
#include "cli/rl_eval.h"
#include "cli/terminal.h"
#include "io/folder.h"
#include "plait/data.h"
#include "plait/rl.h"
#include "report/lines.h"
#include "report/report_rl.h"

typedef struct rl_values {
    problem_flags problem;
    int prompts, generations, update_prompts, prompt_tokens, pack, staleness, rollout_gpus, steps;
    int tp, pp, ep, dp_attention, most_gpus;
    const char *answer_tokens, *algorithm, *critic, *reward, *reference, *engine, *weights;
    const char *placement, *handover, *framework, *environment, *fix, *eval, *file, *launch, *log;
    bool partial, no_logprobs, fewest, json;
} rl_values;

static const char *const on_off[] = {"off", "on", NULL};

#define TEXT(field, name, value, help) OPT_OF_TEXT(rl_values, field, name, 0, value, help)
#define COUNT(field, name, most, help) OPT_OF_INT(rl_values, field, name, "N", 1, most, help)

static const opt options[] = {
    OPT_HEADING("the job"),
    COUNT(prompts, "prompts", PLAIT_MAX_GBS, "prompts of a step"),
    COUNT(generations, "generations", PLAIT_MAX_GBS, "answers to each prompt"),
    OPT_OF_TOKENS(rl_values, prompt_tokens, "prompt-tokens", "mean tokens of a prompt"),
    TEXT(answer_tokens, "answer-tokens", "MEAN[,P90],MAX",
         "tokens of an answer: mean, 90th percentile and limit"),
    COUNT(update_prompts, "update-prompts", PLAIT_MAX_GBS,
          "prompts of one update of the policy (default: all of a step)"),
    OPT_OF_WORD(rl_values, algorithm, "algorithm", "NAME", OPT_WORDS(plait_rl_algorithm_name),
                "grpo (default), dapo, ppo or rloo"),
    OPT_OF_WORD(rl_values, framework, "framework", "NAME", OPT_WORDS(plait_rl_framework_name),
                "software that runs the step: verl (default) or nemo-rl"),
    OPT_OF_WORD(rl_values, reference, "reference", "on|off", OPT_WORDS(on_off),
                "log-probabilities of a reference model (default: on, for dapo off)"),
    OPT_OF_FLAG(rl_values, no_logprobs, "rollout-logprobs",
                "take the log-probabilities of the engine, without a forward pass of training"),
    OPT_OF_WORD(rl_values, critic, "critic", "MODEL", OPT_NAMES(PLAIT_DATA_MODELS),
                "value model of ppo (default: the size of the policy)"),
    OPT_OF_WORD(rl_values, reward, "reward", "MODEL", OPT_NAMES(PLAIT_DATA_MODELS),
                "reward model, or the word rule (default)"),
    TEXT(environment, "environment", "TIME", "seconds of tools or an environment in an answer"),
    OPT_OF_INT(rl_values, problem.gpus, "gpus", "N", 1, PLAIT_MAX_GPUS,
               "GPUs (default: all of the cluster, if it has a size)"),
    OPT_HEADING("training"),
    OPT_OF_WORD(rl_values, problem.runtime, "runtime", "NAME", OPT_NAMES(PLAIT_DATA_RUNTIMES),
                "training software: megatron (default), fsdp, ..."),
    OPT_OF_WORD(rl_values, problem.precision, "precision", "FORMAT",
                OPT_WORDS(plait_precision_name), "format of the products of training"),
    TEXT(fix, "fix", "KEY=VALUE,...", "limits on the training plan, such as tp=2,pp=..4"),
    TEXT(eval, "eval", "KEY=VALUE,...",
         "price this training plan, such as tp=4,pp=2, with the worker of --tp, --pp, --ep and "
         "--dp-attention (default: 1), without a search"),
    OPT_OF_TOKENS(rl_values, pack, "pack",
                  "tokens of a packed sequence of training (default: the longest request)"),
    OPT_OF_INT(rl_values, problem.tuning.rank, "lora-rank", "R", 1, 1 << 16,
               "train LoRA adapters of this rank (default: all parameters)"),
    TEXT(problem.tuning.targets, "lora-targets", "LIST",
         "matrices with adapters (default: qkv,o,fc1,down)"),
    OPT_HEADING("generation"),
    OPT_OF_WORD(rl_values, engine, "engine", "NAME", OPT_NAMES(PLAIT_DATA_ENGINES),
                "inference engine: vllm (default), sglang or a profile"),
    OPT_OF_WORD(rl_values, weights, "weights", "FORMAT", OPT_WORDS(plait_weight_name),
                "format of the engine's weights (default: bf16)"),
    COUNT(tp, "tp", 1 << 16, "tensor-parallel ranks of a worker (default: any)"),
    COUNT(pp, "pp", 1 << 16, "pipeline stages of a worker"),
    COUNT(ep, "ep", 1 << 16, "expert-parallel ranks of a worker"),
    COUNT(dp_attention, "dp-attention", 1 << 16, "data-parallel attention ranks of a worker"),
    OPT_HEADING("both sides"),
    OPT_OF_WORD(
        rl_values, placement, "placement", "WHERE", OPT_WORDS(plait_rl_placement_name),
        "colocated: the same GPUs one after the other; apart: separate GPUs (default: both)"),
    COUNT(rollout_gpus, "rollout-gpus", PLAIT_MAX_GPUS, "GPUs that generate, if apart"),
    OPT_OF_INT(rl_values, staleness, "staleness", "K", 0, PLAIT_RL_MAX_STALENESS,
               "steps that generation may run ahead of training (default: 0)"),
    OPT_OF_FLAG(rl_values, partial, "partial",
                "answers continue while weights are replaced (partial roll-outs)"),
    OPT_OF_WORD(rl_values, handover, "handover", "HOW", OPT_WORDS(plait_rl_handover_name),
                "new weights in large buckets (default) or one parameter after another"),
    OPT_HEADING("the answer"),
    TEXT(log, "log", "RUN.log",
         "log of a run of verl or NeMo-RL, whose lengths replace the given ones, and whose phases "
         "are printed next to the predicted ones"),
    COUNT(steps, "steps", 1 << 30, "also print the days and dollars of N steps"),
    COUNT(most_gpus, "up-to", PLAIT_MAX_GPUS,
          "also search doublings of --gpus up to N: the front of GPUs and time"),
    OPT_OF_FLAG(rl_values, fewest, "fewest", "find the fewest GPUs on which the job runs at all"),
    OPT_OF_TEXT(rl_values, problem.risk, "risk", 0, "P",
                "accepted risk of running out of memory (default: 0.05)"),
    MODEL_OPTION(rl_values, problem.assume_llama),
    OPT_OF_OUTPUT(rl_values, launch, "launch", 0, "DIR",
                  "write the files that start the best plan that the framework can run"),
    OPT_OF_FLAG(rl_values, json, "json", "one JSON document on standard output"),
    OPT_OF_OUTPUT(rl_values, file, "output", 'o', "FILE", "also write the JSON document to FILE"),
    OPT_END,
};

/* Replaces the given lengths by those of a log. NeMo-RL prints only the mean of answers. */
static void take_lengths(const rl_log *log, double *prompt, plait_length_shape *answer)
{
    if (log == NULL)
        return;
    if (log->prompt_tokens >= 1.0)
        *prompt = log->prompt_tokens;
    if (log->longest_answer >= 1.0)
        answer->max = log->longest_answer;
    if (log->answer_tokens >= 1.0)
        answer->mean = log->answer_tokens;
    answer->p90 = 0.0;
}

/* Reads MEAN[,P90],MAX. */
static plait_status read_answers(const char *text, plait_length_shape *out, plait_error *err)
{
    double number[3];
    int count = 0;
    char *end = (char *)text;

    *out = (plait_length_shape){0};
    while (text != NULL && count < 3) {
        number[count] = strtod(end, &end);
        if (*end == 'k' || *end == 'K') {
            number[count] *= 1024.0;
            end++;
        }
        count++;
        if (*end != ',')
            break;
        end++;
    }
    if (text == NULL || count < 2 || *end != '\0' || !(number[0] >= 1.0))
        return plait_fail(err, text ? PLAIT_ERROR_RANGE : PLAIT_ERROR_SCHEMA, "--answer-tokens",
                          "expected MEAN,MAX or MEAN,P90,MAX in tokens, found '%.40s'",
                          text ? text : "");
    *out = (plait_length_shape){
        .mean = number[0], .p90 = count == 3 ? number[1] : 0.0, .max = number[count - 1]};
    return PLAIT_OK;
}

static plait_status find_engine(const char *name, const plait_cluster *cluster, plait_arena *arena,
                                const plait_engine **out, plait_error *err)
{
    plait_engine *engine;
    size_t count;

    if (name != NULL && strcmp(name, "vllm") != 0 && strcmp(name, "sglang") != 0) {
        engine = plait_arena_alloc(arena, 1, sizeof *engine);
        PLAIT_TRY(plait_check_allocated(engine, err));
        *out = engine;
        return plait_engine_find(name, arena, engine, err);
    }
    PLAIT_TRY(plait_engine_list(arena, &engine, &count, err));
    *out = plait_engine_of(engine, count,
                           name && *name == 's' ? PLAIT_ENGINE_SGLANG : PLAIT_ENGINE_VLLM,
                           plait_cluster_accelerator(cluster, 0)->vendor, 0, 0);
    if (*out == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--engine",
                          "expected an engine with a profile for %.60s, found none", cluster->name);
    return PLAIT_OK;
}

static plait_status find_other(const rl_values *flags, const char *name, plait_arena *arena,
                               const plait_model **out, plait_error *err)
{
    plait_model *const model = plait_arena_alloc(arena, 1, sizeof *model);

    PLAIT_TRY(plait_check_allocated(model, err));
    *out = model;
    return problem_find_model(name, flags->problem.assume_llama, false, arena, model, err);
}

static plait_status read_models(const rl_values *flags, plait_arena *arena, plait_rl_job *job,
                                plait_error *err)
{
    int word = PLAIT_RL_GRPO, reference;

    if (flags->algorithm)
        PLAIT_TRY(
            problem_word("--algorithm", flags->algorithm, plait_rl_algorithm_name, &word, err));
    job->algorithm = (plait_rl_algorithm)word;
    if (flags->framework) {
        PLAIT_TRY(
            problem_word("--framework", flags->framework, plait_rl_framework_name, &word, err));
        job->framework = (plait_rl_framework)word;
    }
    reference = job->algorithm != PLAIT_RL_DAPO;
    if (flags->reference)
        PLAIT_TRY(problem_word("--reference", flags->reference, on_off, &reference, err));
    job->reference = reference != 0;
    job->logprobs = !flags->no_logprobs;
    job->partial = flags->partial;
    if (flags->critic)
        PLAIT_TRY(find_other(flags, flags->critic, arena, &job->critic, err));
    else if (job->algorithm == PLAIT_RL_PPO)
        job->critic = job->problem.model;
    if (flags->reward && strcmp(flags->reward, "rule") != 0)
        PLAIT_TRY(find_other(flags, flags->reward, arena, &job->reward, err));
    return PLAIT_OK;
}

static plait_status read_job(const rl_values *flags, const opt_operands *operands,
                             const rl_log *log, plait_arena *arena, plait_rl_job *job,
                             plait_error *err)
{
    plait_lengths *const lengths = plait_arena_alloc(arena, 1, sizeof *lengths);
    problem_flags resolved = flags->problem;
    plait_length_shape answer = {0};
    double prompt = flags->prompt_tokens;

    PLAIT_TRY(plait_check_allocated(lengths, err));
    take_lengths(log, &prompt, &answer);
    if (flags->prompts == 0 || flags->generations == 0 || prompt == 0.0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA,
                          flags->prompts == 0       ? "--prompts"
                          : flags->generations == 0 ? "--generations"
                                                    : "--prompt-tokens",
                          "expected a number, found nothing");
    if (flags->answer_tokens != NULL || answer.max == 0.0) {
        PLAIT_TRY(read_answers(flags->answer_tokens, &answer, err));
        take_lengths(log, &prompt, &answer);
    }
    plait_rl_job_init(job);
    PLAIT_TRY(plait_rl_lengths_of(prompt, answer, arena, lengths, err));
    const double answers = (double)flags->prompts * flags->generations;
    if (answers > PLAIT_MAX_GBS || lengths->longest > PLAIT_MAX_SEQ)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--prompts",
                          "expected at most %d answers of a step, found %.0f", PLAIT_MAX_GBS,
                          answers);
    if (resolved.tuning.rank > 0)
        resolved.tuning.job = plait_job_name[PLAIT_JOB_LORA];
    resolved.seq = (int)lengths->longest;
    resolved.gbs = (int)answers;
    PLAIT_TRY(problem_resolve(&resolved, operands, NULL, arena, &job->problem, err));
    job->problem.job.tuning.kind = PLAIT_JOB_RL;
    PLAIT_TRY(find_engine(flags->engine, job->problem.cluster, arena, &job->engine, err));
    job->lengths = lengths;
    job->prompts = flags->prompts;
    job->generations = flags->generations;
    job->update_prompts = flags->update_prompts;
    job->pack_tokens = flags->pack;
    if (flags->pack > 0 && flags->pack < lengths->longest)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--pack",
                          "expected at least the %.0f tokens of the longest request, found %d",
                          lengths->longest, flags->pack);
    if (flags->environment && (!text_parse_number(flags->environment, &job->environment_s) ||
                               !(job->environment_s >= 0.0 && job->environment_s < 1e9)))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--environment",
                          "expected seconds, found '%.40s'", flags->environment);
    return read_models(flags, arena, job, err);
}

static plait_status read_options(const rl_values *flags, plait_rl_options *out, plait_error *err)
{
    int word;

    plait_rl_options_init(out);
    if (flags->fix)
        PLAIT_TRY(plait_search_limit(&out->training, flags->fix, err));
    if (flags->placement) {
        PLAIT_TRY(
            problem_word("--placement", flags->placement, plait_rl_placement_name, &word, err));
        out->only_placement = 1 + word;
    }
    if (flags->weights) {
        PLAIT_TRY(problem_word("--weights", flags->weights, plait_weight_name, &word, err));
        out->weights = 1u << word;
    }
    if (flags->handover) {
        PLAIT_TRY(problem_word("--handover", flags->handover, plait_rl_handover_name, &word, err));
        out->handover = (plait_rl_handover)word;
    }
    out->most_staleness = flags->staleness;
    out->rollout_gpus = flags->rollout_gpus;
    out->only = (plait_worker){flags->tp, flags->pp, flags->dp_attention, flags->ep};
    return PLAIT_OK;
}

/* Searches doublings of the GPUs, for the front of GPUs and time. */
static plait_status fill_front(const rl_values *flags, report_rl *report, plait_arena *arena,
                               plait_error *err)
{
    plait_rl_answer *const answer = plait_arena_alloc(arena, 1, sizeof *answer);
    int64_t gpus = 2LL * report->job->problem.job.gpus;

    PLAIT_TRY(plait_check_allocated(answer, err));
    for (; gpus <= flags->most_gpus && report->sizes < REPORT_RL_SIZES; gpus *= 2) {
        plait_rl_job larger_job = *report->job;

        PLAIT_TRY(problem_for_size(&report->job->problem, (int)gpus, report->job->problem.job.gbs,
                                   arena, &larger_job.problem, err));
        PLAIT_TRY(plait_rl_search(&larger_job, report->options, arena, answer, err));
        if (answer->plans > 0)
            report->size[report->sizes++] = answer->plan[0];
    }
    return PLAIT_OK;
}

/* Writes the files of the best plan that the framework can run; the first refusal is the error. */
static plait_status launch_best(const rl_values *flags, const plait_rl_job *job,
                                const plait_rl_answer *answer, plait_arena *arena, plait_error *err)
{
    plait_launch_folder folder;
    plait_error inner;

    for (int i = 0; i < answer->plans; i++) {
        const plait_rl_ranked *const best = &answer->plan[i];
        const plait_status status = plait_rl_launch_render(job, &best->plan, &best->price, arena,
                                                           &folder, i == 0 ? err : &inner);

        if (status == PLAIT_ERROR_NOMEM)
            return plait_fail_nomem(err);
        if (status != PLAIT_OK)
            continue;
        PLAIT_TRY(folder_write(flags->launch, &folder, false, err));
        print_message("%s: plan %d for %s; next: run.sh in that folder, on every node\n",
                      flags->launch, i + 1, plait_rl_framework_name[job->framework]);
        return PLAIT_OK;
    }
    return answer->plans > 0 ? err->status
                             : plait_fail(err, PLAIT_ERROR_RANGE, "--launch",
                                          "expected a plan that fits, found none");
}

plait_status rl_row_price(int argc, const char **argv, plait_arena *arena, plait_rl_job *job,
                          plait_rl_answer *answer, plait_error *err)
{
    rl_values *const flags = plait_arena_alloc(arena, 1, sizeof *flags);
    opt_operands operands;
    plait_rl_options chosen;

    PLAIT_TRY(plait_check_allocated(flags, err));
    PLAIT_TRY(opt_parse(&command_rl.usage, argc, argv, arena, flags, &operands, err));
    PLAIT_TRY(read_job(flags, &operands, NULL, arena, job, err));
    PLAIT_TRY(read_options(flags, &chosen, err));
    return flags->eval ? rl_eval(flags->eval, job, &chosen, arena, answer, err)
                       : plait_rl_search(job, &chosen, arena, answer, err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const rl_values *const flags = values;
    plait_rl_answer *const answer = plait_arena_alloc(arena, 1, sizeof *answer);
    report_rl *const report = plait_arena_alloc(arena, 1, sizeof *report);
    const char *file = flags->file;
    bool as_json = flags->json;
    plait_rl_job job;
    plait_rl_options chosen;
    rl_log *logged = NULL;
    report_rl_log compared = {.job = &job};
    json_writer json;

    PLAIT_TRY(plait_check_allocated(answer && report, err));
    PLAIT_TRY(command_output(&file, &as_json, err));
    if (flags->launch != NULL)
        PLAIT_TRY(folder_check(flags->launch, false, err));
    if (flags->log != NULL) {
        logged = plait_arena_alloc(arena, 1, sizeof *logged);
        compared.file = text_plain(arena, flags->log);
        PLAIT_TRY(plait_check_allocated(logged && compared.file, err));
        PLAIT_TRY(rl_log_load(flags->log, arena, logged, err));
        compared.log = logged;
    }
    PLAIT_TRY(read_job(flags, operands, logged, arena, &job, err));
    PLAIT_TRY(read_options(flags, &chosen, err));
    *report = (report_rl){.job = &job, .options = &chosen, .answer = answer, .steps = flags->steps};
    PLAIT_TRY(flags->eval ? rl_eval(flags->eval, &job, &chosen, arena, answer, err)
                          : plait_rl_search(&job, &chosen, arena, answer, err));
    if (flags->most_gpus > 0)
        PLAIT_TRY(fill_front(flags, report, arena, err));
    if (flags->fewest)
        PLAIT_TRY(
            plait_rl_fewest(&job, &chosen, job.problem.job.gpus, arena, &report->fewest_gpus, err));
    *no = answer->plans == 0;
    compared.plan = answer->plans > 0 ? &answer->plan[0] : NULL;
    if (!as_json)
        PLAIT_TRY(report_rl_print(report, lines_out(), err));
    if (!as_json && logged != NULL) {
        fputc('\n', lines_out());
        PLAIT_TRY(report_rl_log_print(&compared, lines_out(), err));
    }
    if (flags->launch != NULL)
        PLAIT_TRY(launch_best(flags, &job, answer, arena, err));
    if (!as_json && file == NULL)
        return PLAIT_OK;
    command_begin_json(&json, arena);
    json_rl(&json, report);
    if (logged != NULL)
        json_rl_log(&json, &compared);
    return command_deliver_json(&json, file, as_json, err);
}

const command command_rl = {
    .usage = {.command = "rl",
              .synopsis = "MODEL CLUSTER --gpus N --prompts P --generations G --prompt-tokens T "
                          "--answer-tokens MEAN,P90,MAX",
              .summary = "Plan a step of reinforcement learning: generation, updates, hand-over.",
              .about = "Searches where generation and training run, the degrees of both, and what "
                       "waits in host\nmemory. Exit status 1 when no plan fits.",
              .max_operands = 2,
              .operand = {OPT_NAMES(PLAIT_DATA_MODELS), OPT_NAMES(PLAIT_DATA_CLUSTERS)},
              .options = options},
    .values_size = sizeof(rl_values),
    .run = run,
};
