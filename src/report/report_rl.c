/* report_rl.c - prints the answer of plait rl */
#include "report/report_rl.h"

#include <math.h>
#include <string.h>

#include "report/json_plan.h"
#include "report/report_table.h"
#include "report/units.h"

static const char *const phase_what[] = {
#define X(name, what) what,
    PLAIT_RL_PHASE_LIST(X)
#undef X
};

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

// ---- one plan in words ---------------------------------------------------------------------

enum { WORDS = 256 };

/* Write the other choices of a plan: recomputation, and state in host memory. */
static void print_memory_keys(const plait_problem *problem, const plait_degrees *d, FILE *out)
{
    static const plait_key_id key[] = {PLAIT_KEY_RECOMPUTE, PLAIT_KEY_OFFLOAD_ACTS,
                                       PLAIT_KEY_OFFLOAD};
    char text[PLAIT_VALUE_SIZE];

    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        if (plait_key_applies(problem, d, key[i]))
            fprintf(out, ", %s %s", plait_keys[key[i]].name,
                    plait_degrees_get(d, key[i], text, sizeof text));
}

/* The degrees of training, without those that are one. */
static char *training_words(const plait_degrees *d, char text[WORDS])
{
    const struct {
        const char *name;
        int value;
    } degree[] = {{"tp", d->tp}, {"cp", d->cp}, {"pp", d->pp}, {"ep", d->ep}, {"dp", d->dp}};
    int length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof degree / sizeof *degree; i++)
        if (degree[i].value > 1)
            length += snprintf(text + length, (size_t)(WORDS - length), "%s %d, ", degree[i].name,
                               degree[i].value);
    snprintf(text + length, (size_t)(WORDS - length), "mbs %d, ZeRO-%d", d->mbs, d->zero);
    return text;
}

static char *worker_words(plait_worker w, char text[WORDS])
{
    const struct {
        const char *name;
        int value;
    } degree[] = {{"tp", w.tp}, {"pp", w.pp}, {"dp-attention", w.dp_attention}, {"ep", w.ep}};
    int length = 0;

    snprintf(text, WORDS, "tp 1");
    for (size_t i = 0; i < sizeof degree / sizeof *degree; i++)
        if (degree[i].value > 1)
            length += snprintf(text + length, (size_t)(WORDS - length), "%s%s %d",
                               length > 0 ? ", " : "", degree[i].name, degree[i].value);
    return text;
}

static int gpus_of(const plait_rl_plan *plan)
{
    return plan->train_gpus + (plan->placement == PLAIT_RL_APART ? plan->rollout_gpus : 0);
}

static void print_plan(const report_rl *report, const plait_rl_ranked *one, FILE *out)
{
    const plait_rl_plan *const plan = &one->plan;
    const plait_rl_price *const price = &one->price;
    char step[UNITS_SIZE], training[WORDS], worker[WORDS];

    fprintf(out, "run: %s, %s a step, %.0f tokens/s/GPU\n",
            plan->placement == PLAIT_RL_APART ? "generation and training on separate GPUs"
                                              : "generation, then training on all GPUs",
            units_seconds(price->step_s, step), price->tokens_per_s_per_gpu);
    if (plan->staleness > 0)
        fprintf(out, "  generation runs %d step%s ahead of training\n", plan->staleness,
                plural(plan->staleness));
    fprintf(out, "  training    %d GPU%s: %s", plan->train_gpus, plural(plan->train_gpus),
            training_words(&plan->degrees, training));
    print_memory_keys(&report->job->problem, &plan->degrees, out);
    fprintf(out, "; %d update%s of %d packed sequence%s of %d tokens\n", price->updates,
            plural(price->updates), price->sequences, plural(price->sequences),
            price->sequence_tokens);
    fprintf(out,
            "  generation  %d GPU%s: %d worker%s of %s, %s, weights in %s, %.0f answers each\n",
            plan->rollout_gpus, plural(plan->rollout_gpus), price->replicas,
            plural(price->replicas), report->job->engine->name, worker_words(plan->worker, worker),
            plait_weight_name[plan->weights], price->batch);
    if (plan->placement == PLAIT_RL_COLOCATED)
        fprintf(out, "  state of training %s while the engine runs\n",
                plan->offload ? "waits in host memory" : "stays on the GPUs");
}

static plait_status print_phases(const plait_rl_price *price, FILE *out, plait_error *err)
{
    table *const rows = table_new("phase|>time|>share");

    for (int i = 0; i < PLAIT_RL_PHASES; i++)
        if (price->phase_s[i] > 0.0)
            TABLE_ROW(rows, as_text(phase_what[i]), as_seconds(price->phase_s[i]),
                      as_percent(price->phase_s[i] / price->step_s));
    fprintf(out, "\n");
    PLAIT_TRY(table_print(rows, 2, out, err));
    if (price->idle_share > 0.005)
        fprintf(out, "  a GPU waits %.0f %% of the step\n", 100.0 * price->idle_share);
    return PLAIT_OK;
}

static plait_status print_memory(const plait_rl_price *price, FILE *out, plait_error *err)
{
    table *const rows = table_new("memory|>a GPU|>host of a node");
    const struct {
        const char *name;
        const plait_rl_memory *memory;
    } phase[] = {{"generation", &price->rollout},
                 {"log-probabilities", &price->forward},
                 {"updates", &price->update}};
    int fullest = 0;

    for (int i = 0; i < 3; i++) {
        if (phase[i].memory->device_bytes > phase[fullest].memory->device_bytes)
            fullest = i;
        TABLE_ROW(rows, as_text(phase[i].name), as_gib(phase[i].memory->device_bytes),
                  as_gib(phase[i].memory->host_bytes));
    }
    fprintf(out, "\n");
    PLAIT_TRY(table_print(rows, 2, out, err));
    char most[UNITS_SIZE];
    fprintf(out, "  fullest phase: %s; training plans may use %s\n", phase[fullest].name,
            units_gib(price->capacity_bytes, most));
    return PLAIT_OK;
}

// ---- all plans -----------------------------------------------------------------------------

static plait_status print_ranking(const plait_rl_answer *answer, FILE *out, plait_error *err)
{
    table *const rows = table_new("rank|placement|>train GPUs|>generate|>ahead|training|generation|"
                                  ">step|>tokens/s/GPU");
    char training[WORDS], worker[WORDS];

    for (int i = 0; i < answer->plans; i++) {
        const plait_rl_ranked *const one = &answer->plan[i];
        TABLE_ROW(rows, as_int(i + 1),
                  as_text(one->plan.offload ? "colocated, state on the host"
                                            : plait_rl_placement_name[one->plan.placement]),
                  as_int(one->plan.train_gpus), as_int(one->plan.rollout_gpus),
                  as_int(one->plan.staleness),
                  as_text(training_words(&one->plan.degrees, training)),
                  as_text(worker_words(one->plan.worker, worker)), as_seconds(one->price.step_s),
                  as_format("%.0f", one->price.tokens_per_s_per_gpu));
    }
    fprintf(out, "\nall plans\n");
    return table_print(rows, 2, out, err);
}

static double days_of(const report_rl *report, const plait_rl_ranked *one)
{
    return report->steps * one->price.step_s / 86400.0;
}

static plait_status print_sizes(const report_rl *report, FILE *out, plait_error *err)
{
    table *const rows = table_new(">GPUs|>step|>tokens/s/GPU|>days|>dollars");

    for (int i = -1; i < report->sizes; i++) {
        const plait_rl_ranked *const one = i < 0 ? &report->answer->plan[0] : &report->size[i];
        TABLE_ROW(rows, as_int(gpus_of(&one->plan)), as_seconds(one->price.step_s),
                  as_format("%.0f", one->price.tokens_per_s_per_gpu),
                  report->steps > 0 ? as_format("%.1f", days_of(report, one)) : as_text("-"),
                  report->steps > 0 && isfinite(one->price.usd)
                      ? as_format("%.0f", report->steps * one->price.usd)
                      : as_text("-"));
    }
    fprintf(out, "\n");
    return table_print(rows, 2, out, err);
}

/* The side that limits a step, and what more GPUs would help. */
static void print_next(const plait_rl_ranked *one, FILE *out)
{
    const plait_rl_price *const price = &one->price;
    const double *const phase = price->phase_s;
    const double training = phase[PLAIT_RL_train] + phase[PLAIT_RL_logprob] +
                            phase[PLAIT_RL_reference] + phase[PLAIT_RL_critic];
    const double between = phase[PLAIT_RL_handover] + phase[PLAIT_RL_swap];

    if (between > fmax(phase[PLAIT_RL_rollout], training))
        fprintf(out,
                "\nnext: moving weights takes most of the step, which more GPUs do not help\n");
    else if (phase[PLAIT_RL_rollout] > training)
        fprintf(out, "\nnext: generation takes most of the step; the next GPU helps there, or a "
                     "shorter limit of answers\n");
    else
        fprintf(out, "\nnext: training takes most of the step; the next GPU helps there\n");
}

plait_status report_rl_print(const report_rl *report, FILE *out, plait_error *err)
{
    const plait_rl_job *const job = report->job;
    const plait_rl_answer *const answer = report->answer;

    fprintf(out, "%s of %s on %d GPU%s of %s: %d prompt%s with %d answer%s, %.0f tokens each\n\n",
            plait_rl_algorithm_name[job->algorithm], job->problem.model->name,
            job->problem.job.gpus, plural(job->problem.job.gpus), job->problem.cluster->name,
            job->prompts, plural(job->prompts), job->generations, plural(job->generations),
            job->lengths->input.mean + job->lengths->output.mean);
    if (answer->plans == 0) {
        fprintf(out, "no plan fits: %s\n",
                answer->has_closest ? answer->closest.price.why
                                    : "no legal plan of training has a worker of generation");
    } else {
        print_plan(report, &answer->plan[0], out);
        PLAIT_TRY(print_phases(&answer->plan[0].price, out, err));
        PLAIT_TRY(print_memory(&answer->plan[0].price, out, err));
        PLAIT_TRY(print_ranking(answer, out, err));
        if (report->sizes > 0 || report->steps > 0)
            PLAIT_TRY(print_sizes(report, out, err));
        print_next(&answer->plan[0], out);
    }
    if (report->fewest_gpus > 0)
        fprintf(out, "\nthe job runs on %d GPUs at least\n", report->fewest_gpus);
    return PLAIT_OK;
}

// ---- JSON ----------------------------------------------------------------------------------

static void json_memory(json_writer *json, const char *key, const plait_rl_memory *memory)
{
    json_member_object(json, key);
    JSON_NUMBERS(json, {"device_bytes", memory->device_bytes}, {"host_bytes", memory->host_bytes});
    json_end_object(json);
}

static void json_ranked(json_writer *json, const report_rl *report, const plait_rl_ranked *one)
{
    const plait_rl_plan *const plan = &one->plan;
    const plait_rl_price *const price = &one->price;

    json_begin_object(json);
    json_member_string(json, "placement", plait_rl_placement_name[plan->placement]);
    json_member_int64(json, "train_gpus", plan->train_gpus);
    json_member_int64(json, "rollout_gpus", plan->rollout_gpus);
    json_member_int64(json, "staleness", plan->staleness);
    json_member_bool(json, "offload", plan->offload);
    json_member_string(json, "handover", plait_rl_handover_name[plan->handover]);
    json_write_key(json, "training");
    json_degrees_write(json, &plan->degrees);
    json_member_object(json, "generation");
    json_member_string(json, "engine", report->job->engine->name);
    json_member_string(json, "weights", plait_weight_name[plan->weights]);
    JSON_NUMBERS(json, {"tp", plan->worker.tp}, {"pp", plan->worker.pp},
                 {"dp_attention", plan->worker.dp_attention}, {"ep", plan->worker.ep},
                 {"workers", price->replicas}, {"cache_tokens", price->cache_tokens});
    json_end_object(json);
    json_member_string(json, "verdict", plait_verdict_name[price->verdict]);
    json_member_string(json, "why", price->why);
    JSON_NUMBERS(json, {"step_s", price->step_s}, {"tokens", price->tokens},
                 {"tokens_per_s_per_gpu", price->tokens_per_s_per_gpu},
                 {"idle_share", price->idle_share}, {"updates", price->updates},
                 {"update_s", price->update_s}, {"imbalance", price->imbalance},
                 {"sequences", price->sequences}, {"sequence_tokens", price->sequence_tokens},
                 {"handover_bytes", price->handover_bytes}, {"usd", price->usd});
    json_member_object(json, "phases");
    for (int i = 0; i < PLAIT_RL_PHASES; i++) {
        char key[32];
        snprintf(key, sizeof key, "%s_s", plait_rl_phase_name[i]);
        json_member_number(json, key, price->phase_s[i]);
    }
    json_end_object(json);
    json_member_object(json, "memory");
    json_memory(json, "generation", &price->rollout);
    json_memory(json, "logprobs", &price->forward);
    json_memory(json, "updates", &price->update);
    json_member_number(json, "capacity_bytes", price->capacity_bytes);
    json_end_object(json);
    json_end_object(json);
}

void json_rl(json_writer *json, const report_rl *report)
{
    const plait_rl_answer *const answer = report->answer;
    const plait_rl_job *const job = report->job;

    json_member_string(json, "model", job->problem.model->name);
    json_member_string(json, "cluster", job->problem.cluster->name);
    json_member_int64(json, "gpus", job->problem.job.gpus);
    json_member_string(json, "algorithm", plait_rl_algorithm_name[job->algorithm]);
    json_member_int64(json, "prompts", job->prompts);
    json_member_int64(json, "generations", job->generations);
    JSON_NUMBERS(json, {"prompt_tokens", job->lengths->input.mean},
                 {"answer_tokens", job->lengths->output.mean},
                 {"longest_tokens", job->lengths->longest});
    json_member_array(json, "plans");
    for (int i = 0; i < answer->plans; i++)
        json_ranked(json, report, &answer->plan[i]);
    json_end_array(json);
    json_member_array(json, "sizes");
    for (int i = 0; i < report->sizes; i++)
        json_ranked(json, report, &report->size[i]);
    json_end_array(json);
    if (answer->plans == 0 && answer->has_closest) {
        json_write_key(json, "closest");
        json_ranked(json, report, &answer->closest);
    }
    if (report->fewest_gpus > 0)
        json_member_int64(json, "fewest_gpus", report->fewest_gpus);
    json_member_object(json, "search");
    json_member_int64(json, "training_plans", answer->training_plans);
    json_member_int64(json, "workers", answer->workers);
    json_member_int64(json, "priced", answer->priced);
    json_end_object(json);
}
