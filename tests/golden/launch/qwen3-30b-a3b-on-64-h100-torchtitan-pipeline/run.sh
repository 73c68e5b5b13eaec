#!/bin/bash
# run.sh - start one node; run the same on each
#
# plan of qwen3-30b-a3b on 64 x h100-80gb-sxm: tp 1, cp 1, pp 4, vpp 1, dp 16, ep 8, etp 1, ZeRO-3
# expected: 6.801 s a step (5.896 to 8.979), 25.2 of 63.9 GiB on the fullest GPU
#
#   HEAD=10.0.0.1 NODE_RANK=0 ./run.sh    the node whose ranks are 0, 1, ...
#   ./run.sh                              where SLURM says both, or on one node
#
# Arguments are handed on behind those of the plan.
set -efuo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
nodes=8
gpus_per_node=8
node_rank=${NODE_RANK:-${SLURM_NODEID:-0}}
head=${HEAD:-${MASTER_ADDR:-localhost}}
port=${MASTER_PORT:-29500}

cd "${TORCHTITAN:?expected the folder of a checkout of torchtitan}"
export PYTORCH_ALLOC_CONF=expandable_segments:True
export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}"
exec torchrun --nnodes "$nodes" --nproc_per_node "$gpus_per_node" \
    --node_rank "$node_rank" --master_addr "$head" --master_port "$port" \
    -m torchtitan.train --module recipe --config plan "$@"
