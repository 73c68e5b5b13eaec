#!/bin/bash
# test_partition.sh PLAIT - partition.py assigns the specs of a PipelineModule as the plan does
#
# It runs with substitutes for DeepSpeed's PipelineModule and for the specs of Megatron-DeepSpeed's GPT.
set -u

plait=$(realpath "$1")
command -v python3 >/dev/null || exit 0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$scratch/stand-ins
wrong=0

complain() {
    echo "$@"
    wrong=1
}

# ---- substitutes ----

mkdir -p stand-ins/deepspeed stand-ins/modules train
: >stand-ins/deepspeed/__init__.py
cat >stand-ins/deepspeed/pipe.py <<'END'
import types


class LayerSpec:
    def __init__(self, typename):
        self.typename = typename


class PipelineModule:
    def __init__(self, layers, stages, rank):
        self._layer_specs, self.global_rank = list(layers), rank
        self._topo = types.SimpleNamespace(
            get_dim=lambda axis: {"pipe": stages}[axis],
            get_coord=lambda rank: types.SimpleNamespace(pipe=rank),
        )
        self._partition_layers(method="type:transformer")

    def _partition_layers(self, method="uniform"):
        raise NotImplementedError(method)

    def _set_bounds(self, start=None, stop=None):
        self.bounds = (start, stop)
END
cat >train/beside.py <<'END'
STAGES = 4
END
cat >train/pretrain.py <<'END'
import sys

from beside import STAGES
from deepspeed.pipe import LayerSpec, PipelineModule


class EmbeddingPipe:
    pass


class ParallelTransformerLayerPipe:
    pass


class LayerNorm:
    pass


def specs(layers):
    layer, norm, ends = LayerSpec(ParallelTransformerLayerPipe), LayerNorm(), LayerSpec(EmbeddingPipe)
    return [lambda x: x, ends, lambda x: x, *[layer] * layers, lambda x: x, norm, ends, float]


layers = int(sys.argv[1])
stages = STAGES if len(sys.argv) < 3 else int(sys.argv[2])
module = [PipelineModule(specs(layers), stages, rank) for rank in range(stages)]
print(sys.argv[0], module[0].parts, [each.bounds for each in module])
END

# ---- a plan of 36 layers ----

"$plait" eval gpt-7.5b a100-80gb-sxm:2x8 --seq 2048 --gbs 64 --runtime megatron-deepspeed --tp 2 \
    --pp 4 --split 'layout:Et*7|t*10|t*10|t*9L' -o plan.json >/dev/null || complain "no plan"
"$plait" launch plan.json -o made >/dev/null || complain "no folder"

deals() { # deals TEXT ARGUMENTS...: the last line of what the script prints
    local expected=$1
    shift
    python3 made/partition.py train/pretrain.py "$@" >out 2>err || complain "$*: $(cat err)"
    [ "$(tail -n 1 out)" = "$expected" ] || complain "$*: $(tail -n 1 out), expected $expected"
}

refuses() { # refuses TEXT ARGUMENTS...
    local expected=$1
    shift
    ! python3 made/partition.py "$@" >out 2>err || complain "$*: done"
    [ "$(tail -n 1 err)" = "$expected" ] || complain "$*: $(cat err), expected $expected"
}

# Three specs precede the layers and four follow: 3 + 7, 10 more, 10 more, 9 + 4 more.
deals "train/pretrain.py [0, 10, 20, 30, 43] [(0, 10), (10, 20), (20, 30), (30, 43)]" 36
grep -q '^stage=3 specs=30..42: .*LayerNorm, EmbeddingPipe, float$' out || complain "stages: $(cat out)"
refuses "ValueError: partition.py: expected 36 specs with a class name like 'transformer', found 32 of 39 specs" \
    train/pretrain.py 32
refuses "ValueError: partition.py: expected 4 pipeline stages, found 2" train/pretrain.py 36 2
refuses "partition.py: expected a training script and its arguments, found nothing"

# A user's script can import the class.
cat >own.py <<'END'
import sys

sys.path.insert(0, "made")
from partition import PipelineModule, PlannedPipelineModule, bounds

assert issubclass(PlannedPipelineModule, PipelineModule)
assert PipelineModule._partition_layers is not PlannedPipelineModule._partition_layers
assert bounds(["Transformer"] * 36) == [0, 7, 17, 27, 36]
END
python3 own.py || complain "the class cannot be imported"

exit $wrong
