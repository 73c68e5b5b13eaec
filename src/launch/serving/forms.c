/*
 * forms.c - the command of a role as a script, a systemd unit, or a manifest of Kubernetes or
 * Dynamo
 */
#include <stdlib.h>
#include <string.h>

#include "launch/serving/serving.h"
#include "launch/target.h"

static const char *command_of(const serving_role *role, const serving_engine *engine, bool line)
{
    launch_args args;

    args_init(&args, role->arena);
    engine->args(role, &args);
    return line ? args_line(&args) : args_shell(&args);
}

/* Appends a text with indented lines, for a block in YAML. */
static void append_block(text_builder *out, const char *text, int indent)
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
    const char *args = command_of(role, engine, false);
    const char *head = what != NULL ? serving_head(role, what) : NULL;
    text_builder out;

    if (head == NULL || args == NULL)
        return NULL;
    text_builder_init(&out, role->arena);
    text_append_printf(
        &out,
        "#!/usr/bin/env bash\n%sset -euo pipefail\n"
        "%sworker=${1:-0}\nPORT=$((%d + worker))\n",
        head,
        engine->config != NULL ? "here=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\n" : "",
        role->port);
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
    text_append(&out, args);
    text_append_printf(&out, ")\nexec %s \"${MODEL:-%s}\" \"${args[@]}\"\n", engine->program,
                       role->launch->checkpoint);
    return text_builder_finish(&out, NULL);
}

plait_status serving_script(const serving_role *role, const serving_engine *engine,
                            plait_launch_folder *out, plait_error *err)
{
    const char *name = plait_arena_printf(role->arena, "%s.sh", role->name);

    PLAIT_TRY(plait_check_allocated(name, err));
    return folder_add(out, name, script_of(role, engine), true, err);
}

/* The model's name with each % doubled, since % begins a specifier in a systemd unit. */
static const char *unit_name(const plait_model *model, plait_arena *arena)
{
    const char *const name = text_plain(arena, model->name);
    text_builder out;

    text_builder_init(&out, arena);
    for (const char *c = name != NULL ? name : ""; *c != '\0'; c++)
        text_append(&out, *c == '%' ? "%%" : (char[]){*c, '\0'});
    return name != NULL ? text_builder_finish(&out, NULL) : NULL;
}

plait_status serving_systemd(const serving_role *role, const serving_engine *engine,
                             plait_launch_folder *out, plait_error *err)
{
    const char *name = plait_arena_printf(role->arena, "%s@.service", role->name);
    const char *head = serving_head(
        role, plait_arena_printf(
                  role->arena,
                  "%s@.service - systemctl start %s@0 ... %s@%d; edit the folder of the scripts",
                  role->name, role->name, role->name, role->workers - 1));

    const char *model = unit_name(role->launch->model, role->arena);

    PLAIT_TRY(plait_check_allocated(name && head && model, err));
    PLAIT_TRY(serving_script(role, engine, out, err));
    return folder_add(out, name,
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

    append_block(out, text, indent);
    if (role->nodes > 1)
        append_block(out, "export NODE_RANK=$LWS_WORKER_INDEX HEAD=$LWS_LEADER_ADDRESS\n",
                     indent + 8);
    append_block(out, script_prelude(role, engine), indent + 8);
    append_block(out,
                 plait_arena_printf(role->arena, "exec %s %s %s\n", engine->program,
                                    role->launch->checkpoint, args),
                 indent + 8);
    append_block(out,
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
    append_block(out, engine->config(role), 4);
    text_append(out, "---\n");
}

static const char *manifest_of(const serving_role *role, const serving_engine *engine)
{
    const char *model = serving_plain_name(role->launch->model, role->arena);
    const char *args = command_of(role, engine, true);
    const char *head =
        serving_head(role, plait_arena_printf(role->arena, "%s.yaml - kubectl apply -f %s.yaml",
                                              role->name, role->name));
    text_builder out;

    if (model == NULL || args == NULL || head == NULL)
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
    append_container(role, engine, args, role->nodes > 1 ? 8 : 6, &out);
    text_append_printf(&out,
                       "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: %s-%s\nspec:\n"
                       "  selector: {%s: %s-%s}\n  ports: [{port: %d}]\n",
                       model, role->name,
                       role->nodes > 1 ? "leaderworkerset.sigs.k8s.io/name" : "app", model,
                       role->name, role->port);
    return text_builder_finish(&out, NULL);
}

plait_status serving_kubernetes(const serving_role *role, const serving_engine *engine,
                                plait_launch_folder *out, plait_error *err)
{
    const char *name = plait_arena_printf(role->arena, "%s.yaml", role->name);

    PLAIT_TRY(plait_check_allocated(name, err));
    return folder_add(out, name, manifest_of(role, engine), false, err);
}

/* ---- Dynamo ---- */

static void append_service(const serving_role *role, const serving_engine *engine,
                           text_builder *out)
{
    serving_role alone = *role; // Dynamo joins the nodes of a worker by itself
    launch_args args;

    alone.nodes = 1;
    args_init(&args, role->arena);
    engine->dynamo_args(&alone, &args);
    const char *line = args_line(&args);
    text_append_printf(
        out, "    %c%sWorker:\n      componentType: worker\n%s      replicas: %d\n",
        role->name[0] - 'a' + 'A', role->name + 1,
        role->launch->plan->disaggregated
            ? plait_arena_printf(role->arena, "      subComponentType: %s\n", role->name)
            : "",
        role->workers);
    if (role->nodes > 1)
        text_append_printf(out, "      multinode: {nodeCount: %d}\n", role->nodes);
    text_append_printf(
        out,
        "      resources: {limits: {gpu: \"%d\"}}\n"
        "      extraPodSpec:\n%s        mainContainer:\n          image: %s\n"
        "%s          command: [bash, -c]\n          args:\n            - |\n",
        role->gpus_per_node,
        engine->config != NULL
            ? plait_arena_printf(role->arena,
                                 "        volumes: [{name: config, configMap: {name: %s-%s}}]\n",
                                 serving_plain_name(role->launch->model, role->arena), role->name)
            : "",
        image_of(role, engine->dynamo_image),
        engine->config != NULL ? "          volumeMounts: [{name: config, mountPath: /config}]\n"
                               : "");
    append_block(out,
                 plait_arena_printf(role->arena, "exec %s %s %s\n", engine->dynamo_program,
                                    role->launch->checkpoint, line != NULL ? line : ""),
                 14);
    if (line == NULL)
        out->failed = true;
}

plait_status serving_dynamo(const serving_role *role, int roles, const serving_engine *engine,
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
                       "  name: %s\nspec:\n  backendFramework: %s\n  services:\n    Frontend:\n"
                       "      componentType: frontend\n      replicas: 1\n      extraPodSpec:\n"
                       "        mainContainer:\n          image: %s\n",
                       model, engine->dynamo, image_of(role, engine->dynamo_image));
    for (int r = 0; r < roles; r++)
        append_service(&role[r], engine, &text);
    return folder_add(out, "deployment.yaml", text_builder_finish(&text, NULL), false, err);
}
