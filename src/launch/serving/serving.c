/*
 * serving.c - renders a deployment as files: the command of each role as a script, a systemd unit,
 * or a manifest of Kubernetes or Dynamo; for llm-d see llmd.c
 */
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "plan/problem_parts.h"
#include "plan/serve_values.h"
#include "launch/serving/serving.h"
#include "launch/target.h"

const char *const plait_serve_target_name[] = {"vllm", "sglang", "trtllm", "dynamo", "llm-d", NULL};
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

plait_engine_kind plait_serve_target_engine(plait_serve_target target, plait_engine_kind planned)
{
    return target == PLAIT_SERVE_TARGET_DYNAMO ? planned
           : target == PLAIT_SERVE_TARGET_LLMD ? PLAIT_ENGINE_VLLM
                                               : (plait_engine_kind)target;
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

    if (role->launch->max_model_len > 0.0)
        return (int)role->launch->max_model_len;
    return (int)(most > 0.0 && wanted > most ? larger(most, load->input + load->output) : wanted);
}

const char *serving_plain_name(const plait_model *model, plait_arena *arena)
{
    const char first = text_lower(model->name[0]);
    char *name = plait_arena_printf(arena, "%s%.40s", first >= 'a' && first <= 'z' ? "" : "model-",
                                    model->name);

    for (char *c = name; c != NULL && *c != '\0'; c++)
        *c = text_is_alphanumeric(*c) ? text_lower(*c) : '-';
    for (size_t length = name != NULL ? strlen(name) : 0; length > 0 && name[length - 1] == '-';)
        name[--length] = '\0';
    return name;
}

/* Returns a comment with a requirement on the checkpoint that no flag can satisfy. */
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
        "# for requests of %.0f input and %.0f output tokens on average\n"
        "# To edit: the checkpoint, the longest request, hosts and ports.\n%s",
        what, model, cluster, role->workers, role->name, role->workers == 1 ? "" : "s",
        role->worker.tp, role->worker.pp, role->worker.ep, role->worker.dp_attention,
        plait_weight_name[plan->weights], plait_kv_name[plan->kv], load->input, load->output,
        checkpoint_note(plan->weights));
}

void serving_block(text_builder *out, const char *text, int indent)
{
    while (text != NULL && *text != '\0') {
        const size_t length = strcspn(text, "\n");
        if (length > 0) {
            text_append_repeated(out, ' ', (size_t)indent);
            text_append_bytes(out, text, length);
        }
        text_append_char(out, '\n');
        text += length + (text[length] == '\n');
    }
}

static const char *script_prelude(const serving_role *role, const serving_engine *engine)
{
    return role->nodes > 1 && engine->prelude != NULL ? engine->prelude : "";
}

/* ---- scripts ---- */

static const char *script_of(const serving_role *role, const serving_engine *engine)
{
    const char *what = plait_arena_printf(
        role->arena, "%s.sh - starts worker $1 (0 to %d)%s", role->name, role->workers - 1,
        role->nodes > 1 ? "; run it on each node of the worker, with NODE_RANK and HEAD set" : "");
    const char *head = what != NULL ? serving_head(role, what) : NULL;
    launch_args args;
    text_builder out;

    if (head == NULL)
        return NULL;
    args_init(&args, role->arena);
    engine->args(role, &args);
    text_builder_init(&out, role->arena);
    text_append_printf(&out,
                       "#!/usr/bin/env bash\n%sset -euo pipefail\n"
                       "%sworker=${1:-0}\nPORT=$((%d + worker))\n",
                       head, engine->config != NULL ? LAUNCH_FINDS_HERE : "", role->port);
    // give each of the workers that share a node its own GPUs
    const int all = role->launch->cluster->group[0].gpus_per_node;
    const int own = role->gpus_per_node;
    if (role->nodes <= 1 && all > 0 && own < all) {
        text_append_printf(&out,
                           "first=$((worker %% %d * %d)) # first GPU of this worker on its node\n"
                           "CUDA_VISIBLE_DEVICES=$(seq -s, \"$first\" $((first + %d)))\n"
                           "export CUDA_VISIBLE_DEVICES\n",
                           all / own, own, own - 1);
    }
    text_append_printf(&out, "%sargs=(", script_prelude(role, engine));
    args_append_shell(&args, &out);
    text_append_printf(&out, ")\nexec %s \"${MODEL:-%s}\" \"${args[@]}\"\n", engine->program,
                       role->launch->checkpoint);
    return text_builder_finish(&out, NULL);
}

static plait_status add_script(const serving_role *role, const serving_engine *engine,
                               plait_launch_folder *out, plait_error *err)
{
    return folder_add(out, plait_arena_printf(role->arena, "%s.sh", role->name),
                      script_of(role, engine), true, err);
}

static plait_status add_unit(const serving_role *role, const serving_engine *engine,
                             plait_launch_folder *out, plait_error *err)
{
    const char *head = serving_head(
        role, plait_arena_printf(role->arena,
                                 "%s@.service - systemctl start %s@0 ... %s@%d; edit the folder of "
                                 "the scripts in ExecStart",
                                 role->name, role->name, role->name, role->workers - 1));
    // the model's name with each % doubled, since % begins a specifier in a systemd unit
    const char *const name = text_plain(role->arena, role->launch->model->name);
    text_builder text;
    text_builder_init(&text, role->arena);
    for (const char *c = name != NULL ? name : ""; *c != '\0'; c++)
        text_append(&text, *c == '%' ? "%%" : (char[]){*c, '\0'});
    const char *model = name != NULL ? text_builder_finish(&text, NULL) : NULL;

    PLAIT_TRY(plait_check_allocated(head && model, err));
    PLAIT_TRY(add_script(role, engine, out, err));
    return folder_add(out, plait_arena_printf(role->arena, "%s@.service", role->name),
                      plait_arena_printf(role->arena,
                                         "%s[Unit]\nDescription=%s of %s, worker %%i\n"
                                         "After=network-online.target\n"
                                         "Wants=network-online.target\n\n"
                                         "[Service]\nExecStart=/bin/bash /opt/serving/%s.sh %%i\n"
                                         "Restart=on-failure\nRestartSec=10\n"
                                         "LimitMEMLOCK=infinity\n\n"
                                         "[Install]\nWantedBy=multi-user.target\n",
                                         head, role->name, model, role->name),
                      false, err);
}

const char *serving_router(const serving_role role[2], const char *program, const char *behind,
                           plait_arena *arena)
{
    return plait_arena_printf(
        arena,
        "prefill=() decode=()\n"
        "for ((i = 0; i < %d; i++)); do\n"
        "    port=$((%d + i))\n"
        "    prefill+=(--prefill \"http://${PREFILL_HOST:-localhost}:$port\"%s)\n"
        "done\n"
        "for ((i = 0; i < %d; i++)); do\n"
        "    decode+=(--decode \"http://${DECODE_HOST:-localhost}:$((%d + i))\")\n"
        "done\n"
        "exec %s \\\n"
        "    \"${prefill[@]}\" \"${decode[@]}\" --host 0.0.0.0 --port \"${PORT:-30000}\"\n",
        role[0].workers, role[0].port, behind, role[1].workers, role[1].port, program);
}

/* ---- Kubernetes ---- */

static const char *image_of(const serving_role *role, const char *usual)
{
    return role->launch->container != NULL ? role->launch->container : usual;
}

static void append_container(const serving_role *role, const serving_engine *engine,
                             const char *args, int indent, text_builder *out)
{
    const char *text = plait_arena_printf(role->arena,
                                          "containers:\n"
                                          "  - name: %s\n"
                                          "    image: %s\n"
                                          "    env:\n"
                                          "      - {name: PORT, value: \"%d\"}\n"
                                          "      - {name: here, value: /config}\n"
                                          "    command: [bash, -c]\n"
                                          "    args:\n"
                                          "      - |\n",
                                          role->name, image_of(role, engine->image), role->port);

    serving_block(out, text, indent);
    if (role->nodes > 1)
        serving_block(out, "export NODE_RANK=$LWS_WORKER_INDEX HEAD=$LWS_LEADER_ADDRESS\n",
                      indent + 8);
    serving_block(out, script_prelude(role, engine), indent + 8);
    serving_block(out,
                  plait_arena_printf(role->arena, "exec %s %s %s\n", engine->program,
                                     role->launch->checkpoint, args),
                  indent + 8);
    serving_block(out,
                  plait_arena_printf(
                      role->arena,
                      "    resources: {limits: {nvidia.com/gpu: \"%d\"}}\n"
                      "    volumeMounts: [{name: shm, mountPath: /dev/shm}%s]\n"
                      "volumes:\n"
                      "  - {name: shm, emptyDir: {medium: Memory}}\n%s",
                      role->gpus_per_node,
                      engine->config != NULL ? ", {name: config, mountPath: /config}" : "",
                      engine->config != NULL
                          ? plait_arena_printf(
                                role->arena, "  - {name: config, configMap: {name: %s-%s}}\n",
                                serving_plain_name(role->launch->model, role->arena), role->name)
                          : ""),
                  indent);
}

static void append_config_map(const serving_role *role, const serving_engine *engine,
                              text_builder *out)
{
    if (engine->config == NULL)
        return;
    text_append_printf(out,
                       "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s-%s\ndata:\n"
                       "  %s.yaml: |\n",
                       serving_plain_name(role->launch->model, role->arena), role->name,
                       role->name);
    serving_block(out, engine->config(role), 4);
    text_append(out, "---\n");
}

static const char *manifest_of(const serving_role *role, const serving_engine *engine)
{
    const char *model = serving_plain_name(role->launch->model, role->arena);
    const char *head =
        serving_head(role, plait_arena_printf(role->arena, "%s.yaml - kubectl apply -f %s.yaml",
                                              role->name, role->name));
    launch_args args;
    text_builder out;

    args_init(&args, role->arena);
    engine->args(role, &args);
    const char *const line = args_line(&args);
    if (model == NULL || line == NULL || head == NULL)
        return NULL;
    text_builder_init(&out, role->arena);
    text_append(&out, head);
    append_config_map(role, engine, &out);
    if (role->nodes > 1)
        text_append_printf(&out,
                           "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\n"
                           "metadata:\n  name: %s-%s\nspec:\n  replicas: %d\n"
                           "  leaderWorkerTemplate:\n    size: %d\n    workerTemplate:\n"
                           "      spec:\n",
                           model, role->name, role->workers, role->nodes);
    else
        text_append_printf(&out,
                           "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: %s-%s\n"
                           "spec:\n  replicas: %d\n  selector:\n    matchLabels: {app: %s-%s}\n"
                           "  template:\n    metadata:\n      labels: {app: %s-%s}\n    spec:\n",
                           model, role->name, role->workers, model, role->name, model, role->name);
    append_container(role, engine, line, role->nodes > 1 ? 8 : 6, &out);
    text_append_printf(&out,
                       "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: %s-%s\nspec:\n"
                       "  selector: {%s: %s-%s}\n  ports: [{port: %d}]\n",
                       model, role->name,
                       role->nodes > 1 ? "leaderworkerset.sigs.k8s.io/name" : "app", model,
                       role->name, role->port);
    return text_builder_finish(&out, NULL);
}

static plait_status add_manifest(const serving_role *role, const serving_engine *engine,
                                 plait_launch_folder *out, plait_error *err)
{
    return folder_add(out, plait_arena_printf(role->arena, "%s.yaml", role->name),
                      manifest_of(role, engine), false, err);
}

/* ---- Dynamo ---- */

static plait_status add_graph(const serving_role *role, int roles, const serving_engine *engine,
                              plait_launch_folder *out, plait_error *err)
{
    const char *model = serving_plain_name(role->launch->model, role->arena);
    const char *head = serving_head(role, "deployment.yaml - kubectl apply -f deployment.yaml");
    text_builder text;

    PLAIT_TRY(plait_check_allocated(model && head, err));
    text_builder_init(&text, role->arena);
    text_append(&text, head);
    for (int r = 0; r < roles; r++)
        append_config_map(&role[r], engine, &text);
    text_append_printf(&text,
                       "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata:\n"
                       "  name: \"%s\"\nspec:\n  backendFramework: %s\n  services:\n    Frontend:\n"
                       "      componentType: frontend\n      replicas: 1\n      extraPodSpec:\n"
                       "        mainContainer:\n          image: %s\n",
                       model, engine->dynamo, image_of(role, engine->dynamo_image));
    for (int r = 0; r < roles; r++) {
        serving_role alone = role[r]; // Dynamo joins a worker's nodes itself
        launch_args args;
        alone.nodes = 1;
        args_init(&args, role[r].arena);
        engine->dynamo_args(&alone, &args);
        const char *line = args_line(&args);
        text_append_printf(
            &text, "    %c%sWorker:\n      componentType: worker\n%s      replicas: %d\n",
            role[r].name[0] - 'a' + 'A', role[r].name + 1,
            role[r].launch->plan->disaggregated
                ? plait_arena_printf(role[r].arena, "      subComponentType: %s\n", role[r].name)
                : "",
            role[r].workers);
        if (role[r].nodes > 1)
            text_append_printf(&text, "      multinode: {nodeCount: %d}\n", role[r].nodes);
        text_append_printf(
            &text,
            "      resources: {limits: {gpu: \"%d\"}}\n"
            "      extraPodSpec:\n%s        mainContainer:\n          image: %s\n"
            "%s          command: [bash, -c]\n          args:\n            - |\n",
            role[r].gpus_per_node,
            engine->config != NULL
                ? plait_arena_printf(
                      role[r].arena,
                      "        volumes: [{name: config, configMap: {name: %s-%s}}]\n",
                      serving_plain_name(role[r].launch->model, role[r].arena), role[r].name)
                : "",
            image_of(&role[r], engine->dynamo_image),
            engine->config != NULL
                ? "          volumeMounts: [{name: config, mountPath: /config}]\n"
                : "");
        serving_block(&text,
                      plait_arena_printf(role[r].arena, "exec %s %s %s\n", engine->dynamo_program,
                                         role[r].launch->checkpoint, line != NULL ? line : ""),
                      14);
        if (line == NULL)
            text.failed = true;
    }
    return folder_add(out, "deployment.yaml", text_builder_finish(&text, NULL), false, err);
}

/* ---- checks ---- */

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
            "expected the name of an image to have only letters, digits and ._-/:@+, found "
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

plait_status plait_serve_launch_render(const plait_serve_launch *launch, plait_serve_target target,
                                       plait_arena *arena, plait_launch_folder *out,
                                       plait_error *err)
{
    static plait_status (*const form[PLAIT_SERVE_FORMS])(
        const serving_role *, const serving_engine *, plait_launch_folder *,
        plait_error *) = {add_script, add_unit, add_manifest};
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
    const plait_engine_kind kind = plait_serve_target_engine(target, launch->plan->engine->kind);
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
        return add_graph(role, roles, engine, out, err);
    if (target == PLAIT_SERVE_TARGET_LLMD)
        return serving_add_llmd(role, roles, out, err);
    for (int r = 0; r < roles; r++) {
        PLAIT_TRY(form[launch->form](&role[r], engine, out, err));
        if (launch->form != PLAIT_SERVE_KUBERNETES && engine->config != NULL)
            PLAIT_TRY(folder_add(out, plait_arena_printf(arena, "%s.yaml", role[r].name),
                                 engine->config(&role[r]), false, err));
    }
    if (roles < 2)
        return PLAIT_OK;
    const char *const lines = engine->router(role, arena);
    const char *const head = serving_head(
        &role[0], "router.sh - sends each request to a prefill worker, then to a decode worker");
    PLAIT_TRY(plait_check_allocated(lines && head, err));
    return folder_add(
        out, "router.sh",
        plait_arena_printf(arena, "#!/usr/bin/env bash\n%sset -euo pipefail\n%s", head, lines),
        true, err);
}
