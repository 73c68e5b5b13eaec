#!/bin/bash
# run.sh - starts training on one node; run it on every node
#
# plan of llama-3.1-70b on 64 x h100-80gb-sxm: tp 8, cp 1, pp 1, vpp 1, dp 8, ep 1, etp 1, ZeRO-3
# predicted: 17.84 s per step (80 % band: 15.41 to 21.68), 25.4 of 59.4 GiB on the fullest GPU
#
#   HEAD=10.0.0.1 NODE_RANK=0 ./run.sh    on the node of ranks 0, 1, ...
#   ./run.sh                              under SLURM, or on a single node
#
# Further arguments are appended to those of the plan.
set -efuo pipefail
unset CDPATH
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/." && pwd)
nodes=8
gpus_per_node=8
node_rank=${NODE_RANK:-${SLURM_NODEID:-0}}
head=${HEAD:-${MASTER_ADDR:-localhost}}
port=${MASTER_PORT:-29500}

cd -- "${TORCHTITAN:?expected the folder of a checkout of torchtitan}"
export PYTORCH_ALLOC_CONF=expandable_segments:True
if [[ $here == *:* ]]; then
    echo "run.sh: expected a folder without a colon, which PYTHONPATH interprets, found $here" >&2
    exit 1
fi
export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}"
exec torchrun --nnodes "$nodes" --nproc_per_node "$gpus_per_node" \
    --node_rank "$node_rank" --master_addr "$head" --master_port "$port" \
    -m torchtitan.train --module recipe --config plan "$@"
