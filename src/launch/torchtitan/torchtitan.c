/*
 * torchtitan.c - torchtitan: recipe.py, the same as arguments and as TOML, and what starts it
 *
 * Keys, types and choices are those of pytorch/torchtitan b5bcd76 (2026-08-21); those of TOML of
 * 238fa99 (2026-02), the last that read it.
 */
#include "launch/write/scripts.h"
#include "launch/torchtitan/torchtitan.h"

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    static const launch_program program = {
        .what = "torchtitan",
        .checkout = "TORCHTITAN",
        .start = "export PYTORCH_ALLOC_CONF=expandable_segments:True\n"
                 "export PYTHONPATH=\"$here${PYTHONPATH:+:$PYTHONPATH}\"\n" SCRIPTS_TORCHRUN
                 "    -m torchtitan.train --module recipe --config plan \"$@\"",
    };

    PLAIT_TRY(folder_add(out, "recipe.py", titan_recipe(launch, arena), false, err));
    PLAIT_TRY(folder_add(out, "args.sh", titan_args(launch, arena), false, err));
    if (titan_has_toml(launch))
        PLAIT_TRY(folder_add(out, "config.toml", titan_toml(launch, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_torchtitan = {
    .name = "torchtitan",
    .runtime = "torchtitan",
    .rules = PLAIT_RULES_TORCHTITAN,
    .render = render,
    .import = titan_import,
};
