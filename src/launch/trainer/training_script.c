/* training_script.c - what a config leaves to the reader's own training script */
#include "launch/trainer/training_script.h"

#include <stdio.h>

#include "launch/write/notes.h"
#include "launch/write/scripts.h"
#include "base/text.h"

/* Hugging Face's names, since these are the scripts that most people have. */
static const char *const attention_words[PLAIT_ATTENTION_KERNELS] = {
    [PLAIT_ATTENTION_UNFUSED] = "eager",
    [PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL] = "eager",
    [PLAIT_ATTENTION_FLASH] = "flash_attention_2",
    [PLAIT_ATTENTION_FLASH2] = "flash_attention_2",
    [PLAIT_ATTENTION_FLASH3] = "flash_attention_3",
    [PLAIT_ATTENTION_FUSED] = "sdpa",
};

const char *training_script_notes(const plait_launch *launch, const training_places *places,
                                  const char *more, plait_arena *arena)
{
    const plait_problem *const problem = launch->problem;
    const plait_model *const model = problem->model;
    const plait_degrees *const d = &launch->plan->degrees;
    char recompute[96], seq[16];
    text_builder out;

    if (more == NULL)
        return NULL;
    plait_degrees_get(d, PLAIT_KEY_RECOMPUTE, recompute, sizeof recompute);
    text_builder_init(&out, arena);
    training_append_edits(problem, places, &out);
    text_append_printf(&out,
                       "# What no key of the config says, the training script has to do:\n"
                       "#   model          %d layers, hidden %d, vocabulary %d\n"
                       "#   sequences      %d tokens each, %d a microbatch on each GPU\n"
                       "#   attention      %s (attn_implementation=\"%s\")\n",
                       model->layers, model->hidden, model->vocab, problem->job.seq, d->mbs,
                       plait_attention_kernel_name[d->attention], attention_words[d->attention]);
    text_append(&out, more);
    text_append(&out, "#\n");
    notes_append(launch, &out);
    snprintf(seq, sizeof seq, "%d", problem->job.seq);
    notes_append_one("seq", seq, &out);
    notes_append_one("recompute", recompute, &out);
    return text_builder_finish(&out, NULL);
}

const char *training_script_lacks(const plait_problem *problem, const plait_plan *plan)
{
    const plait_degrees *const d = &plan->degrees;

    (void)problem;
    if (d->tp > 1 || d->pp > 1 || d->cp > 1 || d->ep > 1)
        return "tensor, pipeline, context or expert parallelism, which the training script would "
               "have to build";
    if (d->recompute.kind != PLAIT_RECOMPUTE_NONE && d->recompute.kind != PLAIT_RECOMPUTE_FULL)
        return "recomputation of parts of a layer";
    if (d->recompute.layers > 0)
        return "recomputation of some layers";
    return NULL;
}
