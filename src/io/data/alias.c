/*
 * alias.c - aliases of data files: Hugging Face Hub ids, short names of hardware, names of earlier
 * versions
 */
#include "plait/data.h"

#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "base/text.h"
#include "io/data/data.h"
#include "io/json/json.h"

/*
 * Short names in lower case. The name of a GPU is an alias of its most common node as a cluster and
 * of the GPU as an accelerator; "a100" is the model with 80 GB. NULL: the name is no alias of that
 * kind.
 */
static const struct {
    const char *name, *cluster, *accelerator;
} short_names[] = {
    {"v100", "dgx-2-v100", "v100-32gb-sxm"},
    {"v100-16gb", NULL, "v100-16gb-sxm"},
    {"v100-32gb", "dgx-2-v100", "v100-32gb-sxm"},
    {"a100", "dgx-a100", "a100-80gb-sxm"},
    {"a100-80gb", "dgx-a100", "a100-80gb-sxm"},
    {"a100-40gb", "dgx-a100-40gb", "a100-40gb-sxm"},
    {"a800", NULL, "a800-80gb-sxm"},
    {"h100", "dgx-h100", "h100-80gb-sxm"},
    {"h100-80gb", "dgx-h100", "h100-80gb-sxm"},
    {"hgx-h100", "dgx-h100", NULL},
    {"h200", "dgx-h200", "h200-141gb-sxm"},
    {"hgx-h200", "dgx-h200", NULL},
    {"h800", "h800", "h800-80gb-sxm"},
    {"h20", "hgx-h20", "h20-96gb-sxm"},
    {"b200", "dgx-b200", "b200-180gb-sxm"},
    {"hgx-b200", "dgx-b200", NULL},
    {"b300", NULL, "b300-288gb-sxm"},
    {"gb200", "gb200-nvl72", "gb200-nvl72"},
    {"gb300", "gb300-nvl72", "gb300-nvl72"},
    {"gh200", NULL, "gh200-96gb"},
    {"h100-nvl", NULL, "h100-94gb-nvl"},
    {"h200-nvl", NULL, "h200-141gb-nvl"},
    {"l40s", NULL, "l40s-48gb"},
    {"l4", NULL, "l4-24gb"},
    {"a10g", NULL, "a10g-24gb"},
    {"rtx-5090", NULL, "rtx-5090-32gb"},
    {"5090", NULL, "rtx-5090-32gb"},
    {"rtx-4090", "rtx-4090-pcie", "rtx-4090-24gb"},
    {"4090", "rtx-4090-pcie", "rtx-4090-24gb"},
    {"mi250x", NULL, "mi250x-128gb"},
    {"mi300x", "mi300x", "mi300x-192gb"},
    {"mi308x", NULL, "mi308x-192gb"},
    {"mi325x", NULL, "mi325x-256gb"},
    {"mi350x", NULL, "mi350x-288gb"},
    {"mi355x", NULL, "mi355x-288gb"},
};

static const char *short_name(plait_data_kind kind, const char *name)
{
    for (size_t i = 0; i < sizeof short_names / sizeof *short_names; i++)
        if (text_equal(short_names[i].name, name))
            return kind == PLAIT_DATA_CLUSTERS       ? short_names[i].cluster
                   : kind == PLAIT_DATA_ACCELERATORS ? short_names[i].accelerator
                                                     : NULL;
    return NULL;
}

/* ---- the Hub ---- */

/* Returns the id in the address of a Hub page, without its host. */
static const char *hub_id(const char *name)
{
    static const char *const hosts[] = {"https://huggingface.co/", "https://hf.co/",
                                        "huggingface.co/", "hf.co/"};

    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (text_starts_with(name, hosts[i]))
            return name + strlen(hosts[i]);
    return name;
}

bool data_is_hub_id(const char *address)
{
    const char *const name = hub_id(address);
    const char *const slash = strchr(name, '/');

    if (slash == NULL || slash == name || slash[1] == '\0' || name[0] == '.' ||
        text_ends_with(name, ".json"))
        return false;
    for (const char *c = name; *c != '\0'; c++)
        if (c != slash && !text_is_alphanumeric(*c) && strchr("._-", *c) == NULL)
            return false;
    return access(address, F_OK) != 0;
}

typedef struct hub_search {
    const char *id; /* id to find, with or without its organisation */
    bool found;
} hub_search;

static plait_status read_ids(const json_cursor *root, plait_arena *arena, void *out,
                             plait_error *err)
{
    hub_search *const search = out;
    json_cursor ids, id;
    const char *text;

    PLAIT_TRY(json_as_object(root, err));
    PLAIT_TRY(json_array_optional(root, "hub", &ids, err));
    for (bool more = json_first(&ids, &id); more; more = json_next(&id)) {
        PLAIT_TRY(json_as_string(&id, arena, &text, err));
        const char *const slash = strchr(text, '/');
        search->found = search->found || text_alike(search->id, text) ||
                        (slash != NULL && text_alike(search->id, slash + 1));
    }
    return PLAIT_OK;
}

/* Finds the model file that lists the id under "hub". */
static plait_status look_up_hub(const char *id, plait_arena *arena, const char **path,
                                plait_error *err)
{
    hub_search search = {.id = hub_id(id)};
    const char *const *names, *file;
    plait_error inner;
    size_t count;

    PLAIT_TRY(plait_data_list(PLAIT_DATA_MODELS, arena, &names, &count, err));
    for (size_t i = 0; i < count && !search.found; i++) {
        PLAIT_TRY(data_look_up(PLAIT_DATA_MODELS, names[i], arena, &file, err));
        if (file != NULL)
            PLAIT_TRY(faults_only(json_load(file, read_ids, arena, &search, &inner), &inner, err));
        *path = search.found ? file : NULL;
    }
    return PLAIT_OK;
}

plait_status data_look_up_alias(plait_data_kind kind, const char *name, plait_arena *arena,
                                const char **path, plait_error *err)
{
    char *const lower = plait_arena_text(arena, name);
    const char *whole;

    *path = NULL;
    PLAIT_TRY(plait_check_allocated(lower, err));
    if (kind > PLAIT_DATA_ACCELERATORS)
        return PLAIT_OK;
    for (char *c = lower; *c != '\0'; c++)
        *c = text_lower(*c);
    whole = short_name(kind, lower);
    if (strchr(name, '/') == NULL)
        PLAIT_TRY(data_look_up(kind, whole != NULL ? whole : lower, arena, path, err));
    return *path == NULL && kind == PLAIT_DATA_MODELS ? look_up_hub(name, arena, path, err)
                                                      : PLAIT_OK;
}

/* ---- unknown ids ---- */

/*
 * Returns the length of the longest prefix of `name` that occurs anywhere in an id, since words may
 * precede the name: Meta-Llama-3.1-8B.
 */
static size_t longest_start(const char *id, const char *name)
{
    size_t longest = 0;

    for (; *id != '\0'; id++) {
        size_t length = 0;

        while (id[length] != '\0' && text_lower(id[length]) == text_lower(name[length]))
            length++;
        longest = length > longest ? length : longest;
    }
    return longest;
}

plait_status data_fail_hub_id(const char *address, plait_arena *arena, plait_error *err)
{
    enum { NEAREST = 3, MIN_START = 4 };
    const char *const id = hub_id(address), *const model = strchr(id, '/') + 1;
    const char *const *names;
    text_builder list;
    size_t count, length = 128;

    PLAIT_TRY(plait_data_list(PLAIT_DATA_MODELS, arena, &names, &count, err));
    if (count == 0)
        return data_fail_empty(PLAIT_DATA_MODELS, id, arena, err);
    text_builder_init(&list, arena);
    for (int found = 0; found < NEAREST && --length >= MIN_START;)
        for (size_t i = 0; i < count && found < NEAREST; i++)
            if (longest_start(model, names[i]) == length) {
                text_append_printf(&list, "%s%s", found > 0 ? ", " : "; nearest: ", names[i]);
                found++;
            }
    return plait_fail(err, PLAIT_ERROR_RANGE, id,
                      "expected a file or a model that `plait models` lists%s; or download "
                      "https://huggingface.co/%s/resolve/main/config.json",
                      text_builder_finish(&list, NULL), id);
}

const runtime_alias *runtime_alias_find(const char *name)
{
    static const runtime_alias aliases[] = {
        {"megatron-no-overlap", "megatron", PLAIT_SYNC_SHIFTED},
    };

    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(name, aliases[i].name) == 0)
            return &aliases[i];
    return NULL;
}
