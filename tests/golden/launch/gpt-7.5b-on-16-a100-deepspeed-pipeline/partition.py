# partition.py - assigns the layers of DeepSpeed's PipelineModule to the plan's stages
#
# plan of gpt-7.5b on 16 x a100-80gb-sxm: tp 2, cp 1, pp 4, vpp 1, dp 2, ep 1, etp 2, ZeRO-1
# predicted: 4.715 s per step (80 % band: 4.123 to 5.561), 14.1 of 71.6 GiB on the fullest GPU
#
#   torchrun ... partition.py SCRIPT ARGUMENTS     as in run.sh
#   from partition import PlannedPipelineModule    in your own script

LAYERS = [7, 10, 10, 9]  # by stage; the first also has the embedding, the last also norm and head
LAYER = "transformer"  # pattern for the class name of a layer

import os
import re
import runpy
import sys

from deepspeed.pipe import PipelineModule


def name_of(spec):
    """The name of the class or function of a spec."""
    made = getattr(spec, "typename", spec)
    return getattr(made, "__name__", type(made).__name__)


def bounds(names):
    """The index of the first spec of each stage, then the number of specs.

    Specs before the first layer are in its stage; specs after a layer are in that layer's stage.
    """
    layers = [i for i, name in enumerate(names) if re.search(LAYER, name, re.IGNORECASE)]
    if len(layers) != sum(LAYERS):
        raise ValueError(
            f"partition.py: expected {sum(LAYERS)} specs with a class name like {LAYER!r}, "
            f"found {len(layers)} of {len(names)} specs"
        )
    starts = [layers[sum(LAYERS[:stage])] for stage in range(1, len(LAYERS))]
    return [0, *starts, len(names)]


class PlannedPipelineModule(PipelineModule):
    """A PipelineModule with the plan's stages, for any partition_method."""

    def _partition_layers(self, method="plan"):
        stages = self._topo.get_dim("pipe")
        if stages != len(LAYERS):
            raise ValueError(
                f"partition.py: expected {len(LAYERS)} pipeline stages, found {stages}"
            )
        names = [name_of(spec) for spec in self._layer_specs]
        self.parts = bounds(names)
        if self.global_rank == 0:
            for stage, (start, stop) in enumerate(zip(self.parts, self.parts[1:])):
                print(f"stage={stage} specs={start}..{stop - 1}: {', '.join(names[start:stop])}")
        stage = self._topo.get_coord(self.global_rank).pipe
        self._set_bounds(start=self.parts[stage], stop=self.parts[stage + 1])


def main():
    if len(sys.argv) < 2:
        sys.exit("partition.py: expected a training script and its arguments, found nothing")
    PipelineModule._partition_layers = PlannedPipelineModule._partition_layers
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
