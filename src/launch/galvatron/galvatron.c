/* galvatron.c - Galvatron's train_dist.py: strategy.json, train.yaml, and what starts them */
#include "launch/galvatron/galvatron.h"

#include "launch/write/scripts.h"

bool galvatron_is_dense(const plait_model *model)
{
    return model->kind[0].ffn == PLAIT_FFN_MLP;
}

#define START(entry)                                                                               \
    "export CUDA_DEVICE_MAX_CONNECTIONS=1 TORCH_NCCL_AVOID_RECORD_STREAMS=1\n"                     \
    "export PYTHONPATH=\"$PWD${PYTHONPATH:+:$PYTHONPATH}\"\n" SCRIPTS_TORCHRUN                     \
    "    galvatron/models/" entry "/train_dist.py \"$here/train.yaml\" \\\n"                       \
    "    runtime.parallel.galvatron_config_path=\"$here/strategy.json\" \\\n"                      \
    "    runtime.data.tokenizer_model=\"${TOKENIZER:?expected a tokenizer of Hugging Face}\" "     \
    "\"$@\""

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    const launch_program program = {
        .what = "Galvatron",
        .checkout = "GALVATRON",
        .start = galvatron_is_dense(launch->problem->model) ? START("gpt") : START("moe"),
    };
    const char *strategy;

    PLAIT_TRY(galvatron_strategy(launch, arena, &strategy, err));
    PLAIT_TRY(folder_add(out, "strategy.json", strategy, false, err));
    PLAIT_TRY(folder_add(out, "train.yaml", galvatron_train(launch, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_galvatron = {
    .name = "galvatron",
    .runtime = "galvatron",
    .rules = PLAIT_RULES_GALVATRON,
    .render = render,
};
