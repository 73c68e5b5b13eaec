/*
 * deepspeed_partition.c - partition.py, which says to DeepSpeed which layers a stage has
 *
 * PipelineModule deals its specs by _partition_layers(method), which sets `parts`, the first spec of
 * each stage and the end, and the bounds of its own stage (deepspeed/runtime/pipe/module.py of
 * 0.19.6). Its methods balance: counts of specs, of parameters, or of specs whose class matches; none takes
 * a list, and how they deal a remainder depends on the version. The specs of a GPT begin and end with
 * functions, embedding, norm and head, so layers are found by the name of their class, as type: does.
 */
#include "launch/megatron/deepspeed_parts.h"

#include "launch/write/scripts.h"
#include "base/text.h"

// clang-format off: one line of the file a line
static const char code[] =
    "import os\n"
    "import re\n"
    "import runpy\n"
    "import sys\n"
    "\n"
    "from deepspeed.pipe import PipelineModule\n"
    "\n"
    "\n"
    "def name_of(spec):\n"
    "    \"\"\"The class that a spec builds, or the name of a function among the specs.\"\"\"\n"
    "    made = getattr(spec, \"typename\", spec)\n"
    "    return getattr(made, \"__name__\", type(made).__name__)\n"
    "\n"
    "\n"
    "def bounds(names):\n"
    "    \"\"\"Where each stage begins among the specs, and where the last one ends.\n"
    "\n"
    "    What stands before the first layer goes with it, what follows a layer stays with that "
    "layer.\n"
    "    \"\"\"\n"
    "    layers = [i for i, name in enumerate(names) if re.search(LAYER, name, re.IGNORECASE)]\n"
    "    if len(layers) != sum(LAYERS):\n"
    "        raise ValueError(\n"
    "            f\"partition.py: expected {sum(LAYERS)} layers, specs of a class like {LAYER!r}, "
    "\"\n"
    "            f\"found {len(layers)} of {len(names)} specs\"\n"
    "        )\n"
    "    starts = [layers[sum(LAYERS[:stage])] for stage in range(1, len(LAYERS))]\n"
    "    return [0, *starts, len(names)]\n"
    "\n"
    "\n"
    "class PlannedPipelineModule(PipelineModule):\n"
    "    \"\"\"A PipelineModule whose stages are the plan's, whatever its partition_method.\"\"\"\n"
    "\n"
    "    def _partition_layers(self, method=\"plan\"):\n"
    "        stages = self._topo.get_dim(\"pipe\")\n"
    "        if stages != len(LAYERS):\n"
    "            raise ValueError(\n"
    "                f\"partition.py: expected {len(LAYERS)} pipeline stages, found {stages}\"\n"
    "            )\n"
    "        names = [name_of(spec) for spec in self._layer_specs]\n"
    "        self.parts = bounds(names)\n"
    "        if self.global_rank == 0:\n"
    "            for stage, (start, stop) in enumerate(zip(self.parts, self.parts[1:])):\n"
    "                print(f\"stage={stage} specs={start}..{stop - 1}: {', "
    "'.join(names[start:stop])}\")\n"
    "        stage = self._topo.get_coord(self.global_rank).pipe\n"
    "        self._set_bounds(start=self.parts[stage], stop=self.parts[stage + 1])\n"
    "\n"
    "\n"
    "def main():\n"
    "    if len(sys.argv) < 2:\n"
    "        sys.exit(\"partition.py: expected a training script and its arguments, found "
    "nothing\")\n"
    "    PipelineModule._partition_layers = PlannedPipelineModule._partition_layers\n"
    "    del sys.argv[0]\n"
    "    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))\n"
    "    runpy.run_path(sys.argv[0], run_name=\"__main__\")\n"
    "\n"
    "\n"
    "if __name__ == \"__main__\":\n"
    "    main()\n";
// clang-format on

static void append_layers(const plait_plan *plan, text_builder *out)
{
    text_append(out, "LAYERS = [");
    for (int s = 0; s < plan->degrees.pp; s++) {
        const plait_chunk *const chunk = plait_plan_chunk(plan, s);

        text_append_printf(out, "%s%d", s > 0 ? ", " : "", chunk->last - chunk->first);
    }
    text_append(out, "]  # of each stage; embedding with the first, norm and head with the last\n");
}

const char *deepspeed_partition(const plait_launch *launch, plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    scripts_append_head(
        launch, "# partition.py - deals the layers of DeepSpeed's PipelineModule as planned", NULL,
        &out);
    text_append(&out, "#\n"
                      "#   torchrun ... partition.py SCRIPT ARGUMENTS     run.sh does it\n"
                      "#   from partition import PlannedPipelineModule    in a script of yours\n"
                      "\n");
    append_layers(launch->plan, &out);
    text_append(&out, "LAYER = \"transformer\"  # a pattern: what a layer's class is called\n\n");
    text_append(&out, code);
    return text_builder_finish(&out, NULL);
}
