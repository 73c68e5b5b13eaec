/* serving.c - renders a deployment as files: checks, roles and the selected form */
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "plan/problem_parts.h"
#include "plan/serve_values.h"
#include "launch/serving/serving.h"
#include "launch/target.h"

const char *const plait_serve_target_name[] = {"vllm", "sglang", "trtllm", "dynamo", NULL};
const char *const plait_serve_form_name[] = {"script", "systemd", "kubernetes", NULL};

static const serving_engine *const engines[PLAIT_ENGINES] = {
    [PLAIT_ENGINE_VLLM] = &serving_vllm,
    [PLAIT_ENGINE_SGLANG] = &serving_sglang,
    [PLAIT_ENGINE_TRTLLM] = &serving_trtllm,
};

plait_serve_target plait_serve_target_of(plait_engine_kind kind)
{
    return (plait_serve_target)kind;
}

int serving_batch(const serving_role *role)
{
    return (int)larger(floor(role->launch->plan->batch_cap / role->worker.dp_attention), 1.0);
}

int serving_chunk(const serving_role *role)
{
    return (int)larger(role->launch->plan->chunk_tokens, serving_batch(role));
}

int serving_context(const serving_role *role)
{
    static const double kilo = 1024.0;
    const plait_load *load = &role->launch->load;
    const double most = role->launch->model->max_seq;
    const double wanted = kilo * ceil(2.0 * (load->input + load->output) / kilo);

    return (int)(most > 0.0 && wanted > most ? larger(most, load->input + load->output) : wanted);
}

const char *serving_plain_name(const plait_model *model, plait_arena *arena)
{
    char *name = plait_arena_printf(arena, "%s", model->name);

    for (char *c = name; c != NULL && *c != '\0'; c++)
        *c = text_is_alphanumeric(*c) ? text_lower(*c) : '-';
    return name;
}

/* Requirements on the checkpoint that no flag can satisfy. */
static const char *checkpoint_note(plait_weight_format format)
{
    switch (format) {
    case PLAIT_WEIGHT_NVFP4:
        return "# The checkpoint has to hold weights in NVFP4.\n";
    case PLAIT_WEIGHT_MXFP4:
        return "# The checkpoint has to hold experts in MXFP4.\n";
    case PLAIT_WEIGHT_INT4:
        return "# The checkpoint has to hold weights of four bits (AWQ, GPTQ).\n";
    default:
        return "";
    }
}

const char *serving_head(const serving_role *role, const char *what)
{
    const plait_serve_plan *plan = role->launch->plan;
    const plait_load *load = &role->launch->load;
    const char *const model = text_plain(role->arena, role->launch->model->name);
    const char *const cluster = text_plain(role->arena, role->launch->cluster->name);

    if (model == NULL || cluster == NULL)
        return NULL;
    return plait_arena_printf(
        role->arena,
        "# %s\n"
        "# %s on %s: %d %s worker%s of tp %d, pp %d, ep %d, dp_attention %d; weights %s, cache %s\n"
        "# for requests of %.0f tokens in and %.0f out on average\n"
        "# To edit: the checkpoint, the longest request, hosts and ports.\n%s",
        what, model, cluster, role->workers, role->name, role->workers == 1 ? "" : "s",
        role->worker.tp, role->worker.pp, role->worker.ep, role->worker.dp_attention,
        plait_weight_name[plan->weights], plait_kv_name[plan->kv], load->input, load->output,
        checkpoint_note(plan->weights));
}

static bool is_word(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (!text_is_alphanumeric(*c) && strchr("._-/:@+", *c) == NULL)
            return false;
    return text_is_alphanumeric(*text) || *text == '/' || *text == '.';
}

void plait_serve_launch_init(plait_serve_launch *launch)
{
    *launch = (plait_serve_launch){0};
}

static plait_status check_launch(const plait_serve_launch *launch, plait_engine_kind kind,
                                 plait_error *err)
{
    const plait_serve_plan *plan = launch->plan;

    if (!is_word(launch->checkpoint))
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "checkpoint",
            "expected a folder or a name with only letters, digits and ._-/:@+, found "
            "\"%.80s\"",
            launch->checkpoint);
    if (launch->container != NULL && !is_word(launch->container))
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "container",
            "expected the name of an image with only letters, digits and ._-/:@+, found "
            "\"%.80s\"",
            launch->container);
    if (launch->load.draft > 0 && launch->model->mtp_layers == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "speculate",
                          "expected a model with MTP layers for drafting, found %s, which has "
                          "none: omit --speculate and add a draft model to the files",
                          launch->model->name);
    for (int r = 0; r <= plan->disaggregated; r++) {
        const char *why =
            plait_serve_rule_broken(kind, launch->model, &launch->load, plan->worker[r]);
        if (why == NULL)
            why = serve_weights_broken(kind, launch->model, plan->weights, plan->worker[r]);
        if (why != NULL)
            return plait_fail(err, PLAIT_ERROR_RANGE, "plan",
                              "expected workers that %s can run, found: %s; search for others with "
                              "`plait serve --engine %s`",
                              plait_engine_name[kind], why, plait_engine_name[kind]);
    }
    return PLAIT_OK;
}

static plait_status add_router(const serving_role role[2], const serving_engine *engine,
                               plait_launch_folder *out, plait_error *err)
{
    const char *lines = engine->router(role, role[0].arena);
    const char *head = serving_head(
        &role[0], "router.sh - sends each request to a prefill worker, then to a decode worker");

    PLAIT_TRY(plait_check_allocated(lines && head, err));
    return folder_add(out, "router.sh",
                      plait_arena_printf(role[0].arena,
                                         "#!/usr/bin/env bash\n%sset -euo pipefail\n%s", head,
                                         lines),
                      true, err);
}

static plait_status add_config(const serving_role *role, const serving_engine *engine,
                               plait_launch_folder *out, plait_error *err)
{
    const char *name = plait_arena_printf(role->arena, "%s.yaml", role->name);

    if (engine->config == NULL)
        return PLAIT_OK;
    PLAIT_TRY(plait_check_allocated(name, err));
    return folder_add(out, name, engine->config(role), false, err);
}

plait_status plait_serve_launch_render(const plait_serve_launch *launch, plait_serve_target target,
                                       plait_arena *arena, plait_launch_folder *out,
                                       plait_error *err)
{
    static plait_status (*const form[PLAIT_SERVE_FORMS])(
        const serving_role *, const serving_engine *, plait_launch_folder *,
        plait_error *) = {serving_script, serving_systemd, serving_kubernetes};
    serving_role role[2];

    *out = (plait_launch_folder){0};
    if (launch == NULL || launch->checkpoint == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "launch",
                          "expected a launch of a checkpoint, found NULL");
    PLAIT_TRY(serve_check_plan(launch->plan, err));
    if ((unsigned)target >= PLAIT_SERVE_TARGETS || (unsigned)launch->form >= PLAIT_SERVE_FORMS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "target",
                          "expected a target and a form of serve_launch.h, found numbers %d and %d",
                          (int)target, (int)launch->form);
    PLAIT_TRY(model_check_parts(launch->model, err));
    PLAIT_TRY(cluster_check_parts(launch->cluster, err));
    const plait_engine_kind kind = target == PLAIT_SERVE_TARGET_DYNAMO ? launch->plan->engine->kind
                                                                       : (plait_engine_kind)target;
    const serving_engine *engine = engines[kind];

    PLAIT_TRY(check_launch(launch, kind, err));
    static const int port = 8000, decode_port = 9000;
    const plait_serve_plan *plan = launch->plan;
    const int node = launch->cluster->group[0].gpus_per_node;
    for (int r = 0; r <= plan->disaggregated; r++) {
        const int gpus = plait_worker_gpus(plan->worker[r]);
        role[r] = (serving_role){.launch = launch,
                                 .index = r,
                                 .name = !plan->disaggregated ? "server"
                                         : r == 0             ? "prefill"
                                                              : "decode",
                                 .workers = plan->count[r] * plan->replicas,
                                 .worker = plan->worker[r],
                                 .nodes = node > 0 && gpus > node ? (gpus + node - 1) / node : 1,
                                 .port = r == 0 ? port : decode_port,
                                 .arena = arena};
        role[r].gpus_per_node = gpus / role[r].nodes;
    }
    const int roles = plan->disaggregated + 1;
    if (target == PLAIT_SERVE_TARGET_DYNAMO)
        return serving_dynamo(role, roles, engine, out, err);
    for (int r = 0; r < roles; r++) {
        PLAIT_TRY(form[launch->form](&role[r], engine, out, err));
        if (launch->form != PLAIT_SERVE_KUBERNETES)
            PLAIT_TRY(add_config(&role[r], engine, out, err));
    }
    return roles == 2 ? add_router(role, engine, out, err) : PLAIT_OK;
}
