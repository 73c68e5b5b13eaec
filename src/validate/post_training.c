/*
 * post_training.c - prices of measured runs of fine-tuning and reinforcement learning
 *
 * A run of fine-tuning is priced like one of pre-training, with the parameters that it trains. A run
 * of reinforcement learning is searched with the degrees that it states; all others are free.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/status.h"
#include "io/csv/csv_table.h"
#include "plait/data.h"
#include "plait/rl.h"
#include "validate/setup.h"

// ---- reading -------------------------------------------------------------------------------

#define X(name) #name,
static const char *const titles[] = {PLAIT_POST_TEXT_LIST(X) PLAIT_POST_NUMBER_LIST(X) NULL};
#undef X

static plait_status read_run(const csv_table *table, size_t row, plait_post_run *out,
                             plait_error *err)
{
    static const double most = 1e12;

    out->line = table->line[row];
#define X(name) out->name = csv_table_text(table, row, csv_table_column(table, #name));
    PLAIT_POST_TEXT_LIST(X)
#undef X
#define X(name)                                                                                    \
    out->name = (double)NAN;                                                                       \
    PLAIT_TRY(                                                                                     \
        csv_table_number(table, row, csv_table_column(table, #name), 0.0, most, &out->name, err));
    PLAIT_POST_NUMBER_LIST(X)
#undef X
    return PLAIT_OK;
}

// ---- pricing -------------------------------------------------------------------------------

/*
 * Defaults of values that runs leave open. Lengths of answers that a run does not publish are **chosen**; prompts of
 * mathematical data sets have about 128 tokens. DAPO's published batch is 512 prompts of 16 answers
 * with updates of 32 prompts (verl, recipe/dapo), of 128 in its fully asynchronous trainer.
 */
static const double usual_prompt = 128.0, usual_answer = 2560.0, usual_longest = 8192.0;
/*
 * The engine of the published runs: NeMo-RL and verl pin releases of vLLM of 2025 (pyproject.toml of
 * NeMo-RL: 0.11.2).
 */
static const char published_engine[] = "vllm-2025";
enum { DAPO_PROMPTS = 512, DAPO_GENERATIONS = 16, DAPO_UPDATE = 32, DAPO_ASYNC_UPDATE = 128 };

typedef struct pricing {
    library *shelf;
    plait_arena *arena;
    const plait_post_run *run;
    plait_post_price *out;
    text_builder note;
} pricing;

static bool is_job(const plait_post_run *run, const char *word)
{
    return strcmp(run->job, word) == 0;
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* The number of a column, or a default that the note names. */
static int number_or(double number, int otherwise)
{
    return isfinite(number) && number >= 1.0 && number <= PLAIT_MAX_GBS ? (int)number : otherwise;
}

static void add_note(pricing *p, const char *phrase)
{
    if (p->note.length > 0)
        text_append(&p->note, "; ");
    text_append(&p->note, phrase);
}

static int gpus_of(const plait_post_run *run)
{
    return number_or(run->gpus, number_or(run->train_gpus, 1));
}

static const char *cluster_name(pricing *p)
{
    const plait_post_run *const run = p->run;
    const int gpus = gpus_of(run), node = number_or(run->gpus_per_node, gpus);

    return plait_arena_printf(p->arena, "%s:%dx%d", run->accelerator,
                              (gpus + node - 1) / node > 0 ? (gpus + node - 1) / node : 1,
                              node < gpus ? node : gpus);
}

static plait_tuning tuning_of(const plait_post_run *run)
{
    const bool lora = has(run->job, "lora");
    plait_tuning tuning = {.kind = is_job(run, "sft") ? PLAIT_JOB_SFT
                                   : lora             ? PLAIT_JOB_LORA
                                                      : PLAIT_JOB_RL};

    if (lora) {
        tuning.rank = number_or(run->lora_rank, PLAIT_LORA_USUAL_RANK);
        tuning.targets =
            has(run->notes, "linear_qkv") ? 1u << PLAIT_LORA_QKV : PLAIT_LORA_USUAL_TARGETS;
    }
    return tuning;
}

/*
 * Tokens of a document in the packed sequences of Megatron-Bridge's fine-tuning recipes: SQuAD
 * (src/megatron/bridge/recipes, scripts/performance/utils/datasets.py), whose paragraphs have about
 * 120 words and a question of 10 (arXiv 1606.05250).
 */
enum { SQUAD_DOCUMENT = 192 };

/*
 * A run of fine-tuning as a run of training. Megatron-Bridge's recipes reduce gradients in bf16, and
 * the notes name the releases with graphs of layers.
 */
static plait_status price_tuning(pricing *p, plait_error *err)
{
    const plait_post_run *const run = p->run;
    plait_run *const as = plait_arena_alloc(p->arena, 1, sizeof *as);
    plait_run_price *const price = plait_arena_alloc(p->arena, 1, sizeof *price);

    PLAIT_TRY(plait_check_allocated(as && price, err));
    const plait_model *const model = library_find(p->shelf, LIBRARY_MODEL, run->model, err);
    if (!model)
        return err->status;
    const char *const release = strstr(run->notes, "release ");
    *as = (plait_run){
        .id = run->id,
        .source = run->source,
        .sweep = "",
        .model = run->model,
        .accelerator = run->accelerator,
        .framework = "",
        .runtime = run->train_engine,
        .precision = run->train_precision,
        .recompute = run->recompute[0] != '\0' ? run->recompute : "none",
        .attention = "",
        .notes = plait_arena_printf(
            p->arena, "release=%.6s grad-reduce=bf16%s", release ? release + 8 : "",
            has(run->notes, "cuda-graph") && has(run->accelerator, "gb") ? " cuda-graph=layers"
                                                                         : ""),
        .described = model,
        .document = has(run->source, "bridge") ? SQUAD_DOCUMENT : 0,
        .seq_len = number_or(run->max_tokens, 4096),
        .gbs = number_or(run->train_gbs, 32),
        .mbs = number_or(run->train_mbs, 1),
        .gpus = gpus_of(run),
        .gpus_per_node = number_or(run->gpus_per_node, 8),
        .tp = number_or(run->train_tp, 1),
        .pp = number_or(run->train_pp, 1),
        .cp = number_or(run->train_cp, 1),
        .ep = number_or(run->train_ep, 1),
        .vpp = number_or(run->train_vpp, 1),
        .sp = -1,
        .zero = -1,
        .tuning = tuning_of(run),
        .step_s = run->step_s,
        .peak_bytes = (double)NAN,
    };
    PLAIT_TRY(plait_check_allocated(as->notes != NULL, err));
    PLAIT_TRY(evaluate_run(p->shelf, as, p->arena, price, err));
    add_note(p, price->note);
    if (!price->priced)
        return PLAIT_OK;
    p->out->step_s = p->out->train_s = price->cost.step_s;
    p->out->judged = true;
    p->out->feasible = price->verdict <= PLAIT_TIGHT;
    return PLAIT_OK;
}

/* Limits a key to the value of a column, unless it exceeds a number of GPUs. */
static plait_status limit_to(plait_search_options *options, const char *key, double value, int most,
                             plait_error *err)
{
    char text[48];

    if (!isfinite(value) || value > most)
        return PLAIT_OK;
    snprintf(text, sizeof text, "%s=%.0f", key, value);
    return plait_search_limit(options, text, err);
}

/* Limits of the search: the degrees that the run states. */
static plait_status limits_of(const plait_post_run *run, plait_rl_options *out, plait_error *err)
{
    const bool apart = run->policy[0] != '\0' && strcmp(run->policy, "sync") != 0;
    plait_search_options *const training = &out->training;
    const int train_gpus = number_or(run->train_gpus, gpus_of(run));

    plait_rl_options_init(out);
    PLAIT_TRY(limit_to(training, "tp", run->train_tp, train_gpus, err));
    PLAIT_TRY(limit_to(training, "pp", run->train_pp, train_gpus, err));
    PLAIT_TRY(limit_to(training, "cp", run->train_cp, train_gpus, err));
    PLAIT_TRY(limit_to(training, "ep", run->train_ep, train_gpus, err));
    PLAIT_TRY(limit_to(training, "vpp", run->train_vpp, PLAIT_MAX_LAYERS, err));
    if (has(run->notes, "recompute full"))
        PLAIT_TRY(plait_search_limit(training, "recompute=full", err));
    out->only_placement = 1 + (apart ? PLAIT_RL_APART : PLAIT_RL_COLOCATED);
    out->least_staleness = out->most_staleness = !apart ? 0 : has(run->policy, "eight") ? 8 : 1;
    out->rollout_gpus = apart ? number_or(run->rollout_gpus, 0) : 0;
    out->only.tp = number_or(run->rollout_tp, 0);
    if (strcmp(run->rollout_precision, "fp8") == 0)
        out->weights = 1u << PLAIT_WEIGHT_FP8;
    if (strcmp(run->rollout_precision, "mxfp8") == 0)
        out->weights = 1u << PLAIT_WEIGHT_FP8;
    out->handover =
        has(run->notes, "parameter by parameter") ? PLAIT_RL_BY_PARAMETER : PLAIT_RL_BUCKETED;
    return PLAIT_OK;
}

static plait_status fill_batch(pricing *p, plait_rl_job *job, plait_error *err)
{
    const plait_post_run *const run = p->run;
    const bool dapo = is_job(run, "dapo");
    plait_lengths *const lengths = plait_arena_alloc(p->arena, 1, sizeof *lengths);

    PLAIT_TRY(plait_check_allocated(lengths, err));
    if (!isfinite(run->prompts))
        add_note(p, "batch not published, that of DAPO assumed");
    if (!isfinite(run->mean_tokens))
        add_note(p, "mean length not published, 2560 tokens an answer assumed");
    job->algorithm = dapo ? PLAIT_RL_DAPO : PLAIT_RL_GRPO;
    job->prompts = number_or(run->prompts, DAPO_PROMPTS);
    job->generations = number_or(run->generations, DAPO_GENERATIONS);
    job->update_prompts = isfinite(run->train_gbs) ? number_or(run->train_gbs, 0) / job->generations
                          : job->partial && dapo   ? DAPO_ASYNC_UPDATE
                          : dapo                   ? DAPO_UPDATE
                                                   : 0;
    const double longest = isfinite(run->max_tokens) ? run->max_tokens : usual_longest;
    const double mean = isfinite(run->mean_tokens)
                            ? run->mean_tokens - usual_prompt
                            : smaller(usual_answer, (longest - usual_prompt) / 2.0);
    const plait_length_shape answer = {.mean = mean, .max = larger(longest - usual_prompt, mean)};
    PLAIT_TRY(plait_rl_lengths_of(usual_prompt, answer, p->arena, lengths, err));
    job->lengths = lengths;
    job->pack_tokens = longest;
    return PLAIT_OK;
}

static plait_status fill_job(pricing *p, plait_rl_job *job, plait_error *err)
{
    const plait_post_run *const run = p->run;
    plait_problem *const problem = &job->problem;
    plait_engine *const engine = plait_arena_alloc(p->arena, 1, sizeof *engine);
    const char *const name = cluster_name(p);
    int precision = PLAIT_BF16;

    PLAIT_TRY(plait_check_allocated(engine && name, err));
    plait_rl_job_init(job);
    PLAIT_TRY(
        plait_engine_find(run->rollout_engine[0] != '\0' && strcmp(run->rollout_engine, "vllm") != 0
                              ? run->rollout_engine
                              : published_engine,
                          p->arena, engine, err));
    job->engine = engine;
    problem->model = library_find(p->shelf, LIBRARY_MODEL, run->model, err);
    if (!problem->model)
        return err->status;
    problem->cluster = library_find(p->shelf, LIBRARY_CLUSTER, name, err);
    if (!problem->cluster)
        return err->status;
    const bool fsdp = strncmp(run->train_engine, "fsdp", 4) == 0;
    problem->runtime =
        library_find(p->shelf, LIBRARY_RUNTIME, fsdp ? "fsdp" : run->train_engine, err);
    if (!problem->runtime)
        return err->status;
    if (run->train_precision[0] != '\0')
        PLAIT_TRY(setup_word("train_precision", run->train_precision, plait_precision_name,
                             &precision, err));
    problem->job.precision = (plait_precision)precision;
    problem->job.gpus = gpus_of(run);
    problem->job.tuning = tuning_of(run);
    job->reference = has(run->source, "nemo_rl") || isfinite(run->reference_s);
    job->framework = has(run->source, "nemo_rl") ? PLAIT_RL_NEMO_RL : PLAIT_RL_VERL;
    job->logprobs = !has(run->policy, "fully_async");
    job->partial =
        has(run->policy, "fully_async") || (has(run->source, "nemo_rl") && has(run->policy, "off"));
    return fill_batch(p, job, err);
}

/* Finds the fewest GPUs on which the job of a run fits with every memory option. */
static plait_status find_fewest(pricing *p, const plait_rl_job *job, plait_error *err)
{
    plait_rl_job any = *job;
    plait_rl_options options;
    plait_cluster *const cluster = plait_arena_alloc(p->arena, 1, sizeof *cluster);

    PLAIT_TRY(plait_check_allocated(cluster, err));
    plait_rl_options_init(&options);
    const char *const name = plait_arena_printf(p->arena, "%s:64x8", p->run->accelerator);
    PLAIT_TRY(plait_check_allocated(name != NULL, err));
    any.problem.cluster = library_find(p->shelf, LIBRARY_CLUSTER, name, err);
    if (!any.problem.cluster)
        return err->status;
    options.only_placement = 1 + PLAIT_RL_COLOCATED;
    return plait_rl_fewest(&any, &options, 512, p->arena, &p->out->fewest_gpus, err);
}

static plait_status price_rl(pricing *p, plait_error *err)
{
    const plait_post_run *const run = p->run;
    plait_rl_answer *const answer = plait_arena_alloc(p->arena, 1, sizeof *answer);
    plait_rl_job *const job = plait_arena_alloc(p->arena, 1, sizeof *job);
    plait_rl_options options;
    plait_post_price *const out = p->out;

    PLAIT_TRY(plait_check_allocated(answer && job, err));
    PLAIT_TRY(fill_job(p, job, err));
    PLAIT_TRY(limits_of(run, &options, err));
    PLAIT_TRY(plait_rl_search(job, &options, p->arena, answer, err));
    out->judged = true;
    out->feasible = answer->plans > 0;
    if (has(run->source, "verl_min"))
        PLAIT_TRY(find_fewest(p, job, err));
    if (answer->plans == 0) {
        add_note(p, answer->has_closest ? answer->closest.price.why : "no legal plan");
        return PLAIT_OK;
    }
    const plait_rl_price *const price = &answer->plan[0].price;
    out->sync_s = price->phase_s[PLAIT_RL_handover];
    if (is_job(run, "sync"))
        return PLAIT_OK;
    out->step_s = price->step_s;
    out->rollout_s = price->phase_s[PLAIT_RL_rollout];
    out->logprob_s = price->phase_s[PLAIT_RL_logprob];
    out->reference_s = price->phase_s[PLAIT_RL_reference];
    out->train_s = price->phase_s[PLAIT_RL_train];
    return PLAIT_OK;
}

static plait_status price_run(pricing *p, plait_error *err)
{
    const plait_post_run *const run = p->run;
    plait_post_price *const out = p->out;
    plait_error inner;

    *out = (plait_post_price){.run = run,
                              .step_s = (double)NAN,
                              .rollout_s = (double)NAN,
                              .logprob_s = (double)NAN,
                              .reference_s = (double)NAN,
                              .train_s = (double)NAN,
                              .sync_s = (double)NAN,
                              .note = ""};
    const plait_status status =
        is_job(run, "sft") || is_job(run, "lora") ? price_tuning(p, &inner) : price_rl(p, &inner);
    PLAIT_TRY(faults_only(status, &inner, err));
    if (status != PLAIT_OK) {
        if (inner.where[0] != '\0')
            add_note(p, inner.where);
        add_note(p, inner.message);
    }
    out->note = text_builder_finish(&p->note, NULL);
    return plait_check_allocated(out->note != NULL, err);
}

// ---- figures -------------------------------------------------------------------------------

/* Absolute relative errors of some runs. */
typedef struct errors {
    double *of;
    int count;
} errors;

static void add_error(errors *e, double predicted, double measured)
{
    if (isfinite(predicted) && isfinite(measured) && measured > 0.0)
        e->of[e->count++] = fabs(predicted / measured - 1.0);
}

static double mean_of(const errors *e)
{
    double sum = 0.0;

    for (int i = 0; i < e->count; i++)
        sum += e->of[i];
    return e->count > 0 ? sum / e->count : (double)NAN;
}

static double median_of(const errors *e)
{
    if (e->count == 0)
        return (double)NAN;
    qsort(e->of, (size_t)e->count, sizeof *e->of, compare_doubles);
    return 0.5 * (e->of[(e->count - 1) / 2] + e->of[e->count / 2]);
}

/* Adds the errors of the shares of a synchronous step that publishes its phases. */
static void add_shares(const plait_post_price *price, errors *e)
{
    const plait_post_run *const run = price->run;
    const double measured[] = {run->rollout_s, run->logprob_s, run->train_s};
    const double predicted[] = {price->rollout_s, price->logprob_s, price->train_s};

    if (strcmp(run->policy, "sync") != 0 || !isfinite(run->rollout_s) || !isfinite(run->train_s))
        return;
    for (int i = 0; i < 3; i++)
        if (isfinite(measured[i]) && isfinite(predicted[i]))
            e->of[e->count++] = fabs(predicted[i] / price->step_s - measured[i] / run->step_s);
}

static plait_status fill_figures(plait_post_validation *v, plait_arena *arena, plait_error *err)
{
    errors tuning = {0}, rl = {0}, shares = {0}, sync = {0};
    int fits = 0, ran = 0, near = 0, fewest = 0;

    for (errors *const *e = (errors *[]){&tuning, &rl, &shares, &sync, NULL}; *e; e++) {
        (*e)->of = plait_arena_alloc(arena, 3 * v->count + 1, sizeof *(*e)->of);
        PLAIT_TRY(plait_check_allocated((*e)->of, err));
    }
    for (size_t i = 0; i < v->count; i++) {
        const plait_post_price *const price = &v->price[i];
        const plait_post_run *const run = price->run;
        const bool tunes = is_job(run, "sft") || is_job(run, "lora");
        if (is_job(run, "sync"))
            add_error(&sync, price->sync_s, run->sync_s);
        else
            add_error(tunes ? &tuning : &rl, price->step_s, run->step_s);
        add_shares(price, &shares);
        if (has(run->source, "verl_fit") || has(run->source, "verl_min")) {
            ran++;
            fits += price->feasible;
        }
        if (has(run->source, "verl_min")) {
            fewest++;
            near += price->fewest_gpus > 0 && price->fewest_gpus <= 2.0 * run->gpus &&
                    2.0 * price->fewest_gpus >= run->gpus;
        }
    }
    v->tuning_error = mean_of(&tuning), v->tuning_runs = tuning.count;
    v->rl_error = median_of(&rl), v->rl_runs = rl.count;
    v->share_error = mean_of(&shares), v->share_runs = shares.count;
    v->sync_error = median_of(&sync), v->sync_runs = sync.count;
    v->feasible = ran > 0 ? (double)fits / ran : (double)NAN, v->feasible_runs = ran;
    v->within_double = fewest > 0 ? (double)near / fewest : (double)NAN, v->fewest_runs = fewest;
    return PLAIT_OK;
}

plait_status plait_post_validate(const char *path, plait_arena *arena, plait_post_validation *out,
                                 plait_error *err)
{
    csv_table table;
    library shelf = {.arena = arena};

    PLAIT_TRY(csv_table_read(path, arena, &table, err));
    PLAIT_TRY(csv_table_among(&table, titles, err));
    plait_post_run *const run = plait_arena_alloc(arena, table.rows + 1, sizeof *run);
    plait_post_price *const price = plait_arena_alloc(arena, table.rows + 1, sizeof *price);
    PLAIT_TRY(plait_check_allocated(run && price, err));
    *out = (plait_post_validation){.count = table.rows, .price = price};
    for (size_t i = 0; i < table.rows; i++) {
        pricing p = {.shelf = &shelf, .arena = arena, .run = &run[i], .out = &price[i]};
        text_builder_init(&p.note, arena);
        PLAIT_TRY(read_run(&table, i, &run[i], err));
        PLAIT_TRY(price_run(&p, err));
    }
    return fill_figures(out, arena, err);
}
