/*
 * llmd.c - writes a deployment as values of llm-d's Helm chart llm-d-modelservice, which runs vLLM
 *
 * Source: llm-d-incubation/llm-d-modelservice 3051935 (v0.4.12): values.yaml, values.schema.json,
 * templates/_helpers.tpl; volumes, secret and probes: llm-d/llm-d 0b8cde6,
 * guides/pd-disaggregation/ms-pd/values.yaml.
 */
#include <math.h>
#include <string.h>

#include "launch/serving/serving.h"
#include "launch/target.h"
#include "plait/units.h"

enum { SERVICE_PORT = 8000, BEHIND_PROXY_PORT = 8200 };

typedef struct accelerator_words {
    const char *vendor, *type, *resource, *image;
} accelerator_words;

static const accelerator_words known[] = {
    {"NVIDIA", "nvidia", "nvidia.com/gpu", "ghcr.io/llm-d/llm-d-cuda:latest"},
    {"AMD", "amd", "amd.com/gpu", "ghcr.io/llm-d/llm-d-rocm:latest"},
};

static const accelerator_words *words_of(const plait_cluster *cluster)
{
    const char *const vendor = cluster->group[0].accelerator->vendor;

    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (vendor != NULL && strcmp(vendor, known[k].vendor) == 0)
            return &known[k];
    return NULL;
}

static const char claim[] = "pvc://";

/* Returns the path of a checkpoint on a persistent volume: after the claim; NULL: on the Hub. */
static const char *path_of(const char *checkpoint)
{
    return text_starts_with(checkpoint, claim) ? strchr(checkpoint + sizeof claim - 1, '/') : NULL;
}

/* Returns the name of the model in requests. */
static const char *served_name(const serving_role *role)
{
    return path_of(role->launch->checkpoint) != NULL
               ? serving_plain_name(role->launch->model, role->arena)
               : role->launch->checkpoint;
}

static bool is_checkpoint(const char *checkpoint)
{
    const char *const path = path_of(checkpoint);

    return path != NULL ? path > checkpoint + sizeof claim - 1 && path[1] != '\0'
                        : text_is_alphanumeric(*checkpoint) && strstr(checkpoint, ":/") == NULL;
}

/* Appends a text in single quotes of YAML. */
static void append_quoted(text_builder *out, const char *text, size_t length)
{
    text_append_char(out, '\'');
    for (size_t i = 0; i < length; i++)
        text_append(out, text[i] == '\'' ? "''" : (char[]){text[i], '\0'});
    text_append(out, "'\n");
}

static void append_item(text_builder *out, const char *text, size_t length)
{
    text_append(out, "        - ");
    append_quoted(out, text, length);
}

/* Returns whether the chart itself writes an option from `parallelism` and `routing`. */
static bool is_of_chart(const char *name)
{
    static const char *const written[] = {"--tensor-parallel-size", "--data-parallel-size",
                                          "--port", NULL};

    return text_index(name, written) >= 0;
}

/* Appends the arguments of a worker in one pod, one item of a list for each argument. */
static void append_list(const launch_args *args, text_builder *out)
{
    text_append(out, "      modelCommand: vllmServe\n      args:\n");
    for (int i = 0; i < args->count; i++) {
        const launch_option *const option = &args->option[i];
        if (option->name == NULL && i + 1 < args->count && args->option[i + 1].name != NULL &&
            strncmp(option->value, "vLLM", 4) == 0)
            serving_block(out, plait_arena_printf(args->arena, "# %s\n", option->value), 8);
        if (option->name == NULL || is_of_chart(option->name))
            continue;
        // a recipe's further arguments are one option of several words
        for (const char *word = option->name; *word != '\0';) {
            const size_t length = strcspn(word, " ");
            append_item(out, word, length);
            word += length + strspn(word + length, " ");
        }
        if (option->value != NULL)
            append_item(out, option->value, strlen(option->value));
    }
}

/* Appends the command of a worker in several pods, which are joined by Ray. */
static void append_command(const serving_role *role, const launch_args *args, text_builder *out)
{
    const char *const path = path_of(role->launch->checkpoint);
    const char *const line = args_line(args);

    out->failed = out->failed || line == NULL;
    text_append(out, "      modelCommand: custom\n      command: [bash, -c]\n      args:\n"
                     "        - |\n");
    serving_block(out, "export NODE_RANK=$LWS_WORKER_INDEX HEAD=$LWS_LEADER_ADDRESS\n", 10);
    serving_block(out, serving_vllm.prelude, 10);
    serving_block(out,
                  plait_arena_printf(role->arena, "exec %s %s%s %s --served-model-name %s\n",
                                     serving_vllm.program, path != NULL ? "/model-cache" : "",
                                     path != NULL ? path : role->launch->checkpoint, line,
                                     served_name(role)),
                  10);
}

static void append_role(const serving_role *role, const accelerator_words *words, text_builder *out)
{
    const plait_worker w = role->worker;
    const bool pools = role->launch->plan->disaggregated;
    const bool prefill = pools && role->index == 0;
    const int port = pools && !prefill ? BEHIND_PROXY_PORT : SERVICE_PORT;
    const int local = w.dp_attention > role->nodes ? w.dp_attention / role->nodes : 1;
    launch_args args;

    args_init(&args, role->arena);
    serving_vllm.args(role, &args);
    out->failed = out->failed || args.failed;
    text_append_printf(out,
                       "%s:\n  create: true\n  replicas: %d\n"
                       "  parallelism: {tensor: %d, data: %d, dataLocal: %d, workers: %d}\n"
                       "  containers:\n    - name: vllm\n      image: \"%s\"\n",
                       prefill ? "prefill" : "decode", role->workers, w.tp, w.dp_attention, local,
                       role->nodes,
                       role->launch->container != NULL ? role->launch->container : words->image);
    if (role->nodes > 1)
        append_command(role, &args, out);
    else
        append_list(&args, out);
    if (role->nodes > 1 || pools)
        text_append(out, "      env:\n");
    if (role->nodes > 1)
        text_append_printf(out, "        - {name: PORT, value: \"%d\"}\n", port);
    if (pools)
        text_append(out, "        - name: VLLM_NIXL_SIDE_CHANNEL_HOST\n"
                         "          valueFrom: {fieldRef: {fieldPath: status.podIP}}\n");
    text_append_printf(out, "      ports:\n        - {containerPort: %d, name: vllm}\n%s", port,
                       pools ? "        - {containerPort: 5600, name: nixl}\n" : "");
    // the chart asks for tensor * dataLocal GPUs unless a limit is written
    if (w.tp * local != role->gpus_per_node)
        text_append_printf(out,
                           "      resources:\n        limits: {%s: \"%d\"}\n"
                           "        requests: {%s: \"%d\"}\n",
                           words->resource, role->gpus_per_node, words->resource,
                           role->gpus_per_node);
    // only the first of several pods answers requests, so they have no probes
    if (role->nodes == 1)
        text_append_printf(out,
                           "      extraConfig:\n        startupProbe:\n"
                           "          httpGet: {path: /v1/models, port: %d}\n"
                           "          periodSeconds: 30\n          failureThreshold: 60\n"
                           "        readinessProbe:\n"
                           "          httpGet: {path: /v1/models, port: %d}\n",
                           port, port);
    text_append(out, "      mountModelVolume: true\n      volumeMounts:\n"
                     "        - {name: metrics-volume, mountPath: /.config}\n"
                     "        - {name: torch-compile-cache, mountPath: /.cache}\n"
                     "        - {name: shm, mountPath: /dev/shm}\n"
                     "  volumes:\n    - {name: metrics-volume, emptyDir: {}}\n"
                     "    - {name: torch-compile-cache, emptyDir: {}}\n"
                     "    - {name: shm, emptyDir: {medium: Memory}}\n");
}

/*
 * Returns the capacity for a download in GiB: all parameters at 2 bytes, and a quarter more. A limit of
 * a volume is not reserved, so that a checkpoint of fewer bits loses nothing.
 */
static double capacity_gib(const plait_model *model)
{
    static const double bytes = 2.0, reserve = 1.25;
    const plait_params params = plait_model_params(model);

    return ceil(reserve * bytes * (params.total + params.mtp + params.encoders) / PLAIT_GIB);
}

plait_status serving_add_llmd(const serving_role *role, int roles, plait_launch_folder *out,
                              plait_error *err)
{
    const plait_serve_launch *const launch = role->launch;
    const accelerator_words *const words = words_of(launch->cluster);
    const char *const path = path_of(launch->checkpoint);
    const char *const model = serving_plain_name(launch->model, role->arena);
    const char *const name = served_name(role);
    const char *const head = serving_head(
        role,
        "values.yaml - helm install NAME llm-d-modelservice/llm-d-modelservice -f values.yaml");
    bool nodes = false;
    text_builder text;

    if (words == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "cluster",
                          "expected accelerators of NVIDIA or AMD for llm-d, found %s",
                          launch->cluster->group[0].accelerator->name);
    if (!is_checkpoint(launch->checkpoint))
        return plait_fail(err, PLAIT_ERROR_RANGE, "checkpoint",
                          "expected a name on the Hub or pvc://CLAIM/PATH for llm-d, found "
                          "\"%.80s\"",
                          launch->checkpoint);
    PLAIT_TRY(plait_check_allocated(model && name && head, err));
    for (int r = 0; r < roles; r++)
        nodes = nodes || role[r].nodes > 1;
    text_builder_init(&text, role->arena);
    text_append_printf(
        &text,
        "%s# An InferencePool that selects the labels below sends requests to port %d.\n"
        "multinode: %s\n"
        "modelArtifacts:\n  name: \"%s\"\n  uri: \"%s%s\"\n  size: %.0fGi\n"
        "  authSecretName: llm-d-hf-token\n  labels:\n"
        "    llm-d.ai/inference-serving: \"true\"\n    llm-d.ai/model: \"%s\"\n"
        "accelerator:\n  type: %s\n"
        "routing:\n  servicePort: %d\n  proxy:\n    enabled: %s\n",
        head, SERVICE_PORT, nodes ? "true" : "false", name, path != NULL ? "" : "hf://",
        launch->checkpoint, capacity_gib(launch->model), model, words->type, SERVICE_PORT,
        roles > 1 ? "true" : "false");
    if (roles > 1)
        text_append_printf(&text, "    targetPort: %d\n    connector: nixlv2\n    secure: false\n",
                           BEHIND_PROXY_PORT);
    for (int r = 0; r < roles; r++)
        append_role(&role[r], words, &text);
    if (roles < 2)
        text_append(&text, "prefill:\n  create: false\n");
    return folder_add(out, "values.yaml", text_builder_finish(&text, NULL), false, err);
}
