/* support.c - support of the values of a plan's keys by measured runs (C.345) */
#include <string.h>

#include "plait/validate.h"

#include "base/text.h"

/*
 * Jobs with which half of a claimed gain counts: the square of the error of claims over the claims,
 * as `plait validate` prints it (C.346).
 */
static const double half_at = 0.5;

/* Keys of techniques: their values differ in kernels, overlap or order of the same work. */
static const plait_key_set techniques =
    PLAIT_KEY_BIT(PLAIT_KEY_CP_COMM) | PLAIT_KEY_BIT(PLAIT_KEY_DISPATCHER) |
    PLAIT_KEY_BIT(PLAIT_KEY_EP_OVERLAP) | PLAIT_KEY_BIT(PLAIT_KEY_RESHARD) |
    PLAIT_KEY_BIT(PLAIT_KEY_SCATTER) | PLAIT_KEY_BIT(PLAIT_KEY_QUANTISE) |
    PLAIT_KEY_BIT(PLAIT_KEY_ATTENTION) | PLAIT_KEY_BIT(PLAIT_KEY_FP8_ATTENTION) |
    PLAIT_KEY_BIT(PLAIT_KEY_FUSED_GROUPED_MLP) | PLAIT_KEY_BIT(PLAIT_KEY_TP_COMM_OVERLAP) |
    PLAIT_KEY_BIT(PLAIT_KEY_CUDA_GRAPH) | PLAIT_KEY_BIT(PLAIT_KEY_OFFLOAD_ACTS) |
    PLAIT_KEY_BIT(PLAIT_KEY_SCHEDULE) | PLAIT_KEY_BIT(PLAIT_KEY_POST_VALIDATION) |
    PLAIT_KEY_BIT(PLAIT_KEY_FUSION) | PLAIT_KEY_BIT(PLAIT_KEY_ORDER) |
    PLAIT_KEY_BIT(PLAIT_KEY_GATHER_WITH_STEP);

/* Keys whose prices follow from other terms, so that runs of all kinds count. */
static const plait_key_set structural =
    PLAIT_KEY_BIT(PLAIT_KEY_SCHEDULE) | PLAIT_KEY_BIT(PLAIT_KEY_ORDER);

bool plait_evidence_judges(plait_key_id key)
{
    return (techniques & PLAIT_KEY_BIT(key)) != 0;
}

static bool is_like(const plait_regime *row, const plait_regime *regime)
{
    return row->experts == regime->experts && row->narrowest == regime->narrowest &&
           row->rack == regime->rack;
}

/* Returns whether a text of blank-separated KEY=VALUE contains this one. */
static bool has_word(const char *text, const char *key, const char *value)
{
    const size_t key_length = strlen(key), value_length = strlen(value);

    for (const char *at = text; (at = strstr(at, key)) != NULL; at += key_length) {
        const char *const rest = at + key_length;

        if ((at == text || at[-1] == ' ') && *rest == '=' &&
            strncmp(rest + 1, value, value_length) == 0 &&
            (rest[1 + value_length] == ' ' || rest[1 + value_length] == '\0'))
            return true;
    }
    return false;
}

/* Returns whether a text of blank-separated KEY=VALUE has a value of a key. */
static bool has_key(const char *text, const char *key)
{
    const size_t length = strlen(key);

    for (const char *at = text; (at = strstr(at, key)) != NULL; at += length)
        if ((at == text || at[-1] == ' ') && at[length] == '=')
            return true;
    return false;
}

const char *plait_evidence_words(const plait_problem *problem, const plait_degrees *degrees,
                                 plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    for (int k = 0; k < PLAIT_KEYS; k++) {
        char text[PLAIT_VALUE_SIZE];

        if ((techniques & PLAIT_KEY_BIT(k)) && plait_key_applies(problem, degrees, (plait_key_id)k))
            text_append_printf(&out, "%s%s=%s", out.length > 0 ? " " : "", plait_keys[k].name,
                               plait_degrees_get(degrees, (plait_key_id)k, text, sizeof text));
    }
    return text_builder_finish(&out, NULL);
}

/* Returns whether a row uses a value of a key. Pairs with delayed weight gradients are pairs too. */
static bool uses(const plait_evidence_row *row, plait_key_id key, const char *value)
{
    return has_word(row->plan, plait_keys[key].name, value) ||
           (key == PLAIT_KEY_EP_OVERLAP &&
            strcmp(value, plait_ep_overlap_name[PLAIT_EP_OVERLAP_PAIRS]) == 0 &&
            has_word(row->plan, plait_keys[key].name,
                     plait_ep_overlap_name[PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD]));
}

/* Returns whether a row counts as evidence of a key's value for jobs of the regime. */
static bool counts(const plait_evidence_row *row, const plait_regime *regime, plait_key_id key,
                   const char *value, const char *without)
{
    return ((structural & PLAIT_KEY_BIT(key)) || is_like(&row->regime, regime)) &&
           uses(row, key, value) && (without == NULL || strcmp(row->source, without) != 0);
}

static const char *row_source(const plait_evidence_row *row)
{
    return row->source;
}

static const char *row_job(const plait_evidence_row *row)
{
    return row->job;
}

/*
 * Returns whether no earlier row that counts has the same text. Most rows have the text of the row
 * before, so the nearest rows come first.
 */
static bool is_first(const plait_evidence *evidence, size_t at, const plait_regime *regime,
                     plait_key_id key, const char *value, const char *without,
                     const char *(*text)(const plait_evidence_row *row))
{
    for (size_t i = at; i-- > 0;)
        if (strcmp(text(&evidence->row[i]), text(&evidence->row[at])) == 0 &&
            counts(&evidence->row[i], regime, key, value, without))
            return false;
    return true;
}

plait_value_evidence plait_evidence_of_value(const plait_evidence *evidence,
                                             const plait_regime *regime, plait_key_id key,
                                             int value, const char *without)
{
    plait_value_evidence out = {0, 0, 0};
    char text[PLAIT_VALUE_SIZE];

    plait_key_text(key, value, text, sizeof text);
    for (size_t i = 0; i < evidence->count; i++) {
        const plait_evidence_row *const row = &evidence->row[i];

        if (!counts(row, regime, key, text, without))
            continue;
        out.rows++;
        out.sources += is_first(evidence, i, regime, key, text, without, row_source);
        out.jobs += is_first(evidence, i, regime, key, text, without, row_job);
    }
    return out;
}

/* Returns whether a value needs no evidence: the software's default, or its value without the key. */
static bool is_plain(const plait_problem *problem, plait_key_id key, int value)
{
    const plait_degrees one = plait_degrees_init();

    return value == plait_keys[key].absent_value || value == problem->runtime->defaults.key[key] ||
           value == plait_key_default(problem, &one, key);
}

void plait_evidence_support(const plait_evidence *evidence, const plait_problem *problem,
                            const char *without, plait_support *out)
{
    const plait_regime regime = plait_regime_of(problem);

    *out = (plait_support){.judged = problem->runtime->calibrated && evidence->count > 0};
    for (int k = 0; k < PLAIT_KEYS && out->judged; k++) {
        const plait_key_id key = (plait_key_id)k;
        const unsigned takes = problem->runtime->can.takes[key];

        for (int value = 0; (techniques & PLAIT_KEY_BIT(key)) && value < 31; value++) {
            if (!(takes >> value & 1u) || is_plain(problem, key, value))
                continue;
            const int jobs = plait_evidence_of_value(evidence, &regime, key, value, without).jobs;

            if (jobs == 0)
                out->unmeasured[key] |= 1u << value;
            if (value < PLAIT_SUPPORT_VALUES)
                out->unearned[key][value] = half_at / (jobs + half_at);
        }
    }
}

/* ---- the nearest measured run ---- */

/* Returns the keys in which a plan differs from that of a row. */
static plait_key_set keys_apart(const plait_problem *problem, const plait_degrees *d,
                                const plait_evidence_row *row)
{
    static const plait_key_id key_of[PLAIT_TRAITS] = {
        [PLAIT_TRAIT_TP] = PLAIT_KEY_TP,      [PLAIT_TRAIT_PP] = PLAIT_KEY_PP,
        [PLAIT_TRAIT_VPP] = PLAIT_KEY_VPP,    [PLAIT_TRAIT_MBS] = PLAIT_KEY_MBS,
        [PLAIT_TRAIT_ZERO3] = PLAIT_KEY_ZERO, [PLAIT_TRAIT_RECOMPUTE] = PLAIT_KEY_RECOMPUTE,
    };
    plait_key_set apart = 0;
    int trait[PLAIT_TRAITS];

    plait_traits_of(d, trait);
    for (int t = 0; t < PLAIT_TRAITS; t++)
        if (trait[t] != row->trait[t])
            apart |= PLAIT_KEY_BIT(key_of[t]);
    for (int k = 0; k < PLAIT_KEYS; k++) {
        char text[PLAIT_VALUE_SIZE];

        if (!(techniques & PLAIT_KEY_BIT(k)) || k == PLAIT_KEY_SCHEDULE) // follows from vpp
            continue;
        plait_degrees_get(d, (plait_key_id)k, text, sizeof text);
        if (plait_key_applies(problem, d, (plait_key_id)k)
                ? !has_word(row->plan, plait_keys[k].name, text)
                : has_key(row->plan, plait_keys[k].name))
            apart |= PLAIT_KEY_BIT(k);
    }
    return apart;
}

static int count_keys(plait_key_set keys)
{
    int count = 0;

    for (; keys != 0; keys &= keys - 1)
        count++;
    return count;
}

plait_nearest_run plait_evidence_nearest(const plait_evidence *evidence,
                                         const plait_problem *problem, const plait_degrees *degrees)
{
    const plait_regime regime = plait_regime_of(problem);
    plait_nearest_run out = {NULL, false, 0};
    int least = 0;

    for (size_t i = 0; i < evidence->count; i++) {
        const plait_evidence_row *const row = &evidence->row[i];
        const size_t name = strlen(problem->model->name);

        if (strcmp(row->regime.runtime, regime.runtime) != 0 || !is_like(&row->regime, &regime))
            continue;
        const bool same =
            strncmp(row->job, problem->model->name, name) == 0 && row->job[name] == '/';
        const plait_key_set apart = keys_apart(problem, degrees, row);
        const int distance = count_keys(apart) + (same ? 0 : 3);

        if (out.row == NULL || distance < least) {
            out = (plait_nearest_run){row, same, apart};
            least = distance;
        }
    }
    return out;
}
