/*
 * training.c - writes values that no plan decides, the list of values to edit, and notes of the
 * plan
 */
#include "launch/write/training.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "plait/runtime.h"

#include "shell/shell.h"
#include "io/file.h"
#include "launch/write/scripts.h"

void notes_append_one(const char *key, const char *value, text_builder *out)
{
    text_append_printf(out, NOTES_MARK "%s ", key);
    text_append_plain(out, value); // a note is one line
    text_append_char(out, '\n');
}

void notes_append(const plait_launch *launch, text_builder *out)
{
    const plait_problem *const problem = launch->problem;
    char *const name = shell_quoted(problem->model->name, out->arena);
    char gpus[16];

    snprintf(gpus, sizeof gpus, "%d", problem->job.gpus);
    notes_append_one("gpus", gpus, out);
    notes_append_one("runtime", file_base_name(plait_runtime_handle(problem->runtime)), out);
    notes_append_one("attention", plait_attention_kernel_name[launch->plan->degrees.attention],
                     out);
    notes_append_one("model", name != NULL ? name : "", out);
    out->failed = out->failed || name == NULL;
}

void notes_append_keys(const plait_launch *launch, const plait_key_id *keys, size_t count,
                       text_builder *out)
{
    char value[PLAIT_VALUE_SIZE];

    for (size_t k = 0; k < count; k++)
        notes_append_one(plait_keys[keys[k]].name,
                         plait_degrees_get(&launch->plan->degrees, keys[k], value, sizeof value),
                         out);
}

/* Common values of published models, for models without published values. */
static const launch_training placeholders = {
    .lr = 1e-4,
    .decay = PLAIT_LR_COSINE,
    .warmup_steps = 10,
    .beta1 = 0.9,
    .beta2 = 0.95,
    .eps = 1e-8,
    .weight_decay = 0.1,
    .clip = 1.0,
};

/* Final learning rate as a fraction of the initial one, in most schedules. */
static const double default_end = 0.1;

static int steps_of(const plait_problem *problem, double tokens)
{
    return (int)fmin(ceil(tokens / plait_job_tokens(&problem->job)), INT_MAX / 2);
}

launch_training training_of(const plait_problem *problem)
{
    const plait_training *const published = &problem->model->training;
    launch_training out = placeholders;

    out.lr = known_or(published->lr, placeholders.lr);
    out.min_lr = known_or(published->min_lr, default_end * out.lr);
    out.beta1 = known_or(published->beta1, placeholders.beta1);
    out.beta2 = known_or(published->beta2, placeholders.beta2);
    out.eps = known_or(published->eps, placeholders.eps);
    out.clip = known_or(published->clip, placeholders.clip);
    if (published->source != NULL && !isnan(published->weight_decay))
        out.weight_decay = published->weight_decay;
    // without a published length the schedule is as long as the trial, or ten warm-ups
    const int warmup = published->warmup_tokens > 0.0
                           ? steps_of(problem, published->warmup_tokens)
                           : (int)known_or(published->warmup_steps, placeholders.warmup_steps);
    const int total = steps_of(problem, published->tokens);
    const int decay = steps_of(problem, published->decay_tokens);
    const int least = warmup > TRAINING_TRY_STEPS / 10 ? 10 * warmup : TRAINING_TRY_STEPS;
    out.total_steps = total > 0 ? total : least;
    out.warmup_steps = warmup < out.total_steps ? warmup : out.total_steps - 1;
    out.decay_steps = out.total_steps - out.warmup_steps;
    if (decay > 0 && decay < out.decay_steps)
        out.decay_steps = decay;
    out.decay = published->decay != PLAIT_LR_UNKNOWN ? published->decay : placeholders.decay;
    return out;
}

const char *training_checkpoints(const plait_model *model, plait_arena *arena)
{
    char name[SCRIPTS_NAME_SIZE];

    return plait_arena_printf(arena, "checkpoints/%s", scripts_plain_name(model, name));
}

/* ---- values to edit ---- */

void training_append_edits(const plait_problem *problem, const training_places *places,
                           text_builder *out)
{
    text_append(out, "# To edit before a real run; the plan sets everything else:\n");
    if (places->program != NULL)
        text_append_printf(out, "#   program      %s\n", places->program);
    if (places->data != NULL)
        text_append_printf(out, "#   data         %s\n", places->data);
    if (places->length != NULL)
        text_append_printf(out,
                           "#   length       %s: %d steps to try the plan, %d in the schedule\n",
                           places->length, TRAINING_TRY_STEPS, training_of(problem).total_steps);
    if (places->values != NULL) {
        const plait_training *const published = &problem->model->training;

        text_append_printf(out, "#   training     %s\n", places->values);
        text_append(out, "#                published: ");
        text_append_plain(out, published->source != NULL ? published->source : "no values");
        text_append(out, "\n#                placeholders: ");
        // list the values that the source does not give
        const struct {
            const char *name;
            bool known;
        } values[] = {
            {"learning rate", published->lr > 0.0},
            {"final learning rate", published->min_lr > 0.0},
            {"learning rate decay", published->decay != PLAIT_LR_UNKNOWN},
            {"length", published->tokens > 0.0},
            {"warm-up", published->warmup_steps > 0.0 || published->warmup_tokens > 0.0},
            {"betas", published->beta1 > 0.0 && published->beta2 > 0.0},
            {"epsilon", published->eps > 0.0},
            {"weight decay", published->source != NULL && !isnan(published->weight_decay)},
            {"clipping", published->clip > 0.0},
        };
        const char *between = "";

        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            if (values[v].known)
                continue;
            text_append_printf(out, "%s%s", between, values[v].name);
            between = ", ";
        }
        text_append(out, between[0] == '\0' ? "none" : "");
        text_append_char(out, '\n');
    }
    if (places->checkpoints != NULL)
        text_append_printf(out, "#   checkpoints  %s\n", places->checkpoints);
    if (places->cluster)
        text_append(out,
                    "#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: "
                    "image, network\n");
    text_append(out, "#\n");
}
