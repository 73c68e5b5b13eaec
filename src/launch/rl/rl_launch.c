/* rl_launch.c - the files that start a plan of reinforcement learning */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "launch/megatron/megatron.h"
#include "launch/rl/rl_settings.h"
#include "launch/write/hub_id.h"
#include "launch/write/training.h"
#include "launch/write/tuning.h"
#include "plait/units.h"
#include "plan/model_queries.h"

rl_settings rl_settings_init(void)
{
    enum { OPEN = SETTING_OPEN };
    const double none = (double)NAN;

    return (rl_settings){
        .prompts = OPEN,
        .generations = OPEN,
        .update = OPEN,
        .prompt_tokens = OPEN,
        .answer_tokens = OPEN,
        .total_tokens = OPEN,
        .updates = OPEN,
        .update_answers = OPEN,
        .batch = OPEN,
        .budget = OPEN,
        .dynamic = OPEN,
        .packing = OPEN,
        .filtered = OPEN,
        .reference = OPEN,
        .no_reference = OPEN,
        .bypass = OPEN,
        .importance = OPEN,
        .critic_enabled = OPEN,
        .reward_enabled = OPEN,
        .tp = OPEN,
        .sp = OPEN,
        .pp = OPEN,
        .vpp = OPEN,
        .cp = OPEN,
        .ep = OPEN,
        .etp = OPEN,
        .first = OPEN,
        .last = OPEN,
        .embedding = OPEN,
        .loss = OPEN,
        .layers = OPEN,
        .checkpoints = OPEN,
        .reshard = OPEN,
        .shard = OPEN,
        .offload = OPEN,
        .host_optimizer = OPEN,
        .rollout_tp = OPEN,
        .rollout_pp = OPEN,
        .rollout_dp = OPEN,
        .rollout_ep = OPEN,
        .colocated = OPEN,
        .apart = OPEN,
        .partial = OPEN,
        .async = OPEN,
        .age = OPEN,
        .nodes = OPEN,
        .gpus = OPEN,
        .rollout_nodes = OPEN,
        .rollout_gpus = OPEN,
        .adapters = OPEN,
        .rank = OPEN,
        .alpha = OPEN,
        .megatron = OPEN,
        .dtensor = OPEN,
        .off = OPEN,
        .penalty = none,
        .high = none,
        .memory = none,
        .lr = none,
    };
}

static int given(int number)
{
    return number > 0 ? number : SETTING_OPEN;
}

/* The batch, the lengths, and the tokens of a microbatch. */
static void set_job(const plait_rl_job *job, const plait_rl_plan *plan, rl_settings *s)
{
    const int update = job->update_prompts > 0 ? job->update_prompts : job->prompts;
    const double longest = job->lengths->longest;
    const double pack = fmax(job->pack_tokens, longest);

    s->prompts = job->prompts;
    s->generations = job->generations;
    s->update = update;
    s->updates = job->prompts / update;
    s->update_answers = update * job->generations;
    s->total_tokens = (int)ceil(longest);
    s->prompt_tokens = (int)ceil(job->lengths->input.mean);
    s->answer_tokens = s->total_tokens - s->prompt_tokens;
    s->batch = plan->degrees.mbs;
    s->budget = (int)fmin(ceil(pack * plan->degrees.mbs / plan->degrees.cp), 1 << 30);
    s->filtered = job->algorithm == PLAIT_RL_DAPO;
    s->high = job->algorithm == PLAIT_RL_DAPO ? 0.28 : (double)NAN; // DAPO, arXiv 2503.14476
    s->reference = job->reference;
    s->bypass = !job->logprobs;
    s->off = 0;
    s->lr = job->problem.job.tuning.rank > 0 ? 1e-5 : 1e-6; // usual rates of the examples
}

static plait_status set_adapters(const plait_rl_job *job, plait_arena *arena, rl_settings *s,
                                 plait_error *err)
{
    const plait_tuning *const tuning = &job->problem.job.tuning;
    const bool megatron = s->megatron == 1;
    const char *const *const names = megatron ? tuning_names_megatron : tuning_names_hub;
    text_builder words;

    if (tuning->rank == 0)
        return PLAIT_OK;
    text_builder_init(&words, arena);
    for (int t = 0; t < PLAIT_LORA_TARGETS; t++) {
        if (tuning->targets & 1u << t && names[t] == NULL)
            return plait_fail(err, PLAIT_ERROR_RANGE, "plan",
                              "expected adapters on modules of %s, found them on %s",
                              megatron ? "Megatron: qkv, o, fc1, down"
                                       : "Hugging Face: q, k, v, o, gate, up, down",
                              plait_lora_target_name[t]);
        if (tuning->targets & 1u << t)
            text_append_printf(&words, "%s%s", words.length > 0 ? " " : "", names[t]);
    }
    s->adapters = 1;
    s->rank = tuning->rank;
    s->alpha = 2 * tuning->rank;
    s->targets = text_builder_finish(&words, NULL);
    return plait_check_allocated(s->targets, err);
}

/* Degrees, stages and recomputation as Megatron Core's arguments. */
static plait_status set_megatron(const plait_rl_job *job, const plait_rl_plan *rl,
                                 plait_arena *arena, rl_settings *s, plait_error *err)
{
    plait_problem problem = job->problem;
    megatron_args args;
    plait_plan plan;

    problem.job.gpus = rl->train_gpus;
    plait_rl_update_job(job, &problem.job);
    PLAIT_TRY(plait_plan_expand(&problem, &rl->degrees, arena, &plan, err));
    PLAIT_TRY(megatron_args_of(&problem, &plan, arena, &args, err));
    if (args.pipeline_model_parallel_layout != NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "plan",
                          "expected stages that a number of layers describes, found a layout");
    s->first = given(args.decoder_first_pipeline_num_layers);
    s->last = given(args.decoder_last_pipeline_num_layers);
    s->embedding = args.account_for_embedding_in_pipeline_split ? 1 : SETTING_OPEN;
    s->loss = args.account_for_loss_in_pipeline_split ? 1 : SETTING_OPEN;
    s->granularity = args.recompute_granularity;
    s->method = args.recompute_method;
    s->layers = given(args.recompute_num_layers);
    s->modules = args.recompute_modules;
    return PLAIT_OK;
}

static plait_status set_training(const plait_rl_job *job, const plait_rl_plan *plan,
                                 plait_arena *arena, rl_settings *s, plait_error *err)
{
    const plait_degrees *const d = &plan->degrees;

    s->megatron = job->problem.runtime->rules == PLAIT_RULES_MEGATRON;
    s->dtensor = !s->megatron;
    s->tp = d->tp;
    s->sp = d->sp;
    s->pp = d->pp;
    s->vpp = d->vpp > 1 ? d->vpp : SETTING_OPEN;
    s->cp = d->cp;
    s->ep = d->ep;
    s->etp = model_has_experts(job->problem.model) ? d->etp : SETTING_OPEN;
    s->checkpoints = d->recompute.kind != PLAIT_RECOMPUTE_NONE;
    s->reshard = d->zero == 3;
    s->shard = d->shard_group < d->dp * d->cp ? d->shard_group : SETTING_OPEN;
    s->host_optimizer = d->offload != PLAIT_OFFLOAD_NONE;
    return s->megatron ? set_megatron(job, plan, arena, s, err) : PLAIT_OK;
}

/* Nodes and GPUs of a node for a number of GPUs; false if they do not fill nodes. */
static bool divide_nodes(int gpus, int node, int *nodes, int *of_node)
{
    *nodes = gpus > node ? gpus / node : 1;
    *of_node = gpus > node ? node : gpus;
    return gpus <= node || gpus % node == 0;
}

static plait_status set_places(const plait_rl_job *job, const plait_rl_plan *plan, rl_settings *s,
                               plait_error *err)
{
    const int node = job->problem.cluster->group[0].gpus_per_node;
    const bool apart = plan->placement == PLAIT_RL_APART;

    s->engine = plait_engine_name[job->engine->kind];
    s->rollout_tp = plan->worker.tp;
    s->rollout_pp = plan->worker.pp;
    s->rollout_dp = plan->worker.dp_attention;
    s->rollout_ep = plan->worker.ep;
    s->memory = plan->memory_fraction > 0.0 ? plan->memory_fraction : (double)NAN;
    s->offload = plan->offload;
    if (!divide_nodes(plan->train_gpus, node, &s->nodes, &s->gpus) ||
        (apart && !divide_nodes(plan->rollout_gpus, node, &s->rollout_nodes, &s->rollout_gpus)))
        return plait_fail(err, PLAIT_ERROR_RANGE, "plan",
                          "expected training and generation on whole nodes of %d GPUs, found %d "
                          "and %d GPUs",
                          node, plan->train_gpus, plan->rollout_gpus);
    return PLAIT_OK;
}

static plait_status settings_of(const plait_rl_job *job, const plait_rl_plan *plan,
                                const rl_framework *to, plait_arena *arena, rl_settings *out,
                                plait_error *err)
{
    const char *const *const models[] = {&out->model, &out->critic, &out->reward};

    *out = rl_settings_init();
    PLAIT_TRY(hub_id_of(job->problem.model, arena, &out->model, err));
    if (job->critic != NULL)
        PLAIT_TRY(hub_id_of(job->critic, arena, &out->critic, err));
    if (job->reward != NULL) {
        PLAIT_TRY(hub_id_of(job->reward, arena, &out->reward, err));
        out->reward_enabled = 1;
    }
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (*models[i] != NULL && strstr(*models[i], "${") != NULL)
            return plait_fail(err, PLAIT_ERROR_RANGE, "model",
                              "expected the name of a model without ${, which OmegaConf replaces, "
                              "found \"%.80s\"",
                              *models[i]);
    set_job(job, plan, out);
    PLAIT_TRY(set_training(job, plan, arena, out, err));
    PLAIT_TRY(set_adapters(job, arena, out, err));
    PLAIT_TRY(set_places(job, plan, out, err));
    to->adapt(job, plan, out);
    return PLAIT_OK;
}

/* ---- files ---- */

static void append_head(const plait_rl_job *job, const plait_rl_plan *plan,
                        const plait_rl_price *price, const rl_framework *to, text_builder *out)
{
    text_append_printf(out, "%s\n#\n# %s of %s on ", to->head,
                       plait_rl_algorithm_name[job->algorithm],
                       text_plain(out->arena, job->problem.model->name));
    if (plan->placement == PLAIT_RL_APART)
        text_append_printf(out, "%d GPUs for training and %d for generation\n", plan->train_gpus,
                           plan->rollout_gpus);
    else
        text_append_printf(out, "%d GPUs, which generate and then train\n", plan->train_gpus);
    text_append_printf(out,
                       "# predicted: %.4g s per step; %.1f GiB during generation, %.1f GiB during "
                       "updates, of %.1f GiB\n",
                       price->step_s, price->rollout.device_bytes / PLAIT_GIB,
                       price->update.device_bytes / PLAIT_GIB, price->capacity_bytes / PLAIT_GIB);
    text_append_printf(out, "#\n# To edit before a real run; the plan sets everything else:\n%s#\n",
                       to->edits);
}

/* Append notes of values that the config does not have. */
static void append_notes(const plait_rl_job *job, const plait_rl_plan *plan, text_builder *out)
{
    char value[PLAIT_VALUE_SIZE];
    static const plait_key_id keys[] = {PLAIT_KEY_MBS, PLAIT_KEY_ZERO, PLAIT_KEY_SHARD_GROUP,
                                        PLAIT_KEY_RECOMPUTE, PLAIT_KEY_SPLIT};

    notes_append_one("model", text_plain(out->arena, job->problem.model->name), out);
    notes_append_one("runtime", plait_runtime_handle(job->problem.runtime), out);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        notes_append_one(plait_keys[keys[k]].name,
                         plait_degrees_get(&plan->degrees, keys[k], value, sizeof value), out);
    snprintf(value, sizeof value, "%.0f,%.0f", job->lengths->output.mean,
             job->lengths->longest - job->lengths->input.mean);
    notes_append_one("answer-tokens", value, out);
}

/* Return run.sh, which starts Ray on all nodes and the driver on the first. */
static const char *run_script(const plait_rl_plan *plan, int node, const rl_framework *to,
                              plait_arena *arena)
{
    const int gpus =
        plan->train_gpus + (plan->placement == PLAIT_RL_APART ? plan->rollout_gpus : 0);
    text_builder out;

    text_builder_init(&out, arena);
    text_append_printf(
        &out,
        "#!/bin/bash\n"
        "# run.sh - starts %s; run it on every node\n"
        "#\n"
        "#   HEAD=10.0.0.1 NODE_RANK=0 ./run.sh    on the first node\n"
        "#   ./run.sh                              under SLURM, or on a single node\n"
        "#\n"
        "# Further arguments are appended to those of the plan.\n"
        "set -efuo pipefail\n" LAUNCH_FINDS_HERE "nodes=%d\n"
        "node_rank=${NODE_RANK:-${SLURM_NODEID:-0}}\n"
        "head=${HEAD:-${MASTER_ADDR:-localhost}}\n"
        "port=${RAY_PORT:-6379}\n\n"
        "if [ \"$node_rank\" -gt 0 ]; then\n"
        "    exec ray start --address \"$head:$port\" --block\n"
        "fi\n"
        "ray start --head --port \"$port\"\n"
        "until [ \"$(ray list nodes --limit 10000 --filter state=ALIVE | grep -c ALIVE)\" -ge "
        "\"$nodes\" ]; do\n"
        "    sleep 5\n"
        "done\n%s",
        to->name, (gpus + node - 1) / node, to->start);
    return text_builder_finish(&out, NULL);
}

static const char *config_text(const plait_rl_job *job, const plait_rl_plan *plan,
                               const plait_rl_price *price, const rl_framework *to,
                               const rl_settings *settings, plait_arena *arena)
{
    const setting_row *const rows = settings->megatron == 1 ? to->rows : to->fsdp;
    launch_args overrides;
    text_builder out;

    text_builder_init(&out, arena);
    append_head(job, plan, price, to, &out);
    append_notes(job, plan, &out);
    if (to->yaml) {
        settings_append_yaml(rows, settings, &out);
    } else {
        args_init(&overrides, arena);
        overrides.between = '=';
        settings_append_args(rows, settings, &overrides);
        if (settings->critic_enabled == 1)
            settings_append_args(to->critic, settings, &overrides);
        args_append_shell(&overrides, &out);
    }
    return text_builder_finish(&out, NULL);
}

/* True if a job and a plan have all parts, and counts that others are divided by. */
static bool is_whole(const plait_rl_job *job, const plait_rl_plan *plan)
{
    const plait_problem *const problem = &job->problem;

    return problem->model != NULL && problem->cluster != NULL && problem->runtime != NULL &&
           job->lengths != NULL && job->engine != NULL &&
           (unsigned)job->framework < PLAIT_RL_FRAMEWORKS && job->prompts >= 1 &&
           job->generations >= 1 && plan->train_gpus >= 1 &&
           (plan->placement != PLAIT_RL_APART || plan->rollout_gpus >= 1) &&
           plan->degrees.mbs >= 1 && plan->degrees.cp >= 1;
}

plait_status plait_rl_launch_render(const plait_rl_job *job, const plait_rl_plan *plan,
                                    const plait_rl_price *price, plait_arena *arena,
                                    plait_launch_folder *out, plait_error *err)
{
    static const rl_framework *const frameworks[PLAIT_RL_FRAMEWORKS] = {
        [PLAIT_RL_VERL] = &rl_verl, [PLAIT_RL_NEMO_RL] = &rl_nemo};
    rl_settings settings;
    plait_rl_plan stated;

    *out = (plait_launch_folder){0};
    if (job == NULL || plan == NULL || price == NULL || !is_whole(job, plan))
        return plait_fail(err, PLAIT_ERROR_RANGE, "launch",
                          "expected a job, a plan and its price, found an incomplete one");
    const rl_framework *const to = frameworks[job->framework];
    const plait_rules rules = job->problem.runtime->rules;

    if (price->verdict >= PLAIT_OUT_OF_MEMORY)
        return plait_fail(err, PLAIT_ERROR_RANGE, "plan", "expected a plan that fits, found: %s",
                          price->why);
    if (rules != PLAIT_RULES_MEGATRON && rules != PLAIT_RULES_FSDP)
        return plait_fail(err, PLAIT_ERROR_RANGE, "runtime",
                          "expected a plan of megatron or fsdp, which %s runs, found %.60s",
                          to->name, job->problem.runtime->name);
    const char *const why = to->unsupported(job, plan);
    if (why != NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "plan",
                          "expected a plan that %s can run, found: %s", to->name, why);
    if (job->update_prompts > 0 && job->prompts % job->update_prompts != 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "plan",
                          "expected prompts of an update that divide the %d prompts of a step, "
                          "found %d",
                          job->prompts, job->update_prompts);
    // The frameworks' own defaults may exceed the memory that the price leaves to the engine.
    stated = *plan;
    if (stated.memory_fraction <= 0.0)
        stated.memory_fraction = floor(1000.0 * price->memory_fraction) / 1000.0;
    PLAIT_TRY(settings_of(job, &stated, to, arena, &settings, err));
    PLAIT_TRY(
        folder_add(out, to->file, config_text(job, plan, price, to, &settings, arena), false, err));
    return folder_add(out, "run.sh",
                      run_script(plan, job->problem.cluster->group[0].gpus_per_node, to, arena),
                      true, err);
}
