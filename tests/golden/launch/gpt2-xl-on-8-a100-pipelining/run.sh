#!/bin/bash
# run.sh - starts training on one node; run it on every node
#
# plan of gpt2-xl on 8 x a100-80gb-sxm: tp 1, cp 1, pp 4, vpp 1, dp 2, ep 1, etp 1, ZeRO-1
# predicted: 0.834 s per step (80 % band: 0.7191 to 0.9819), 16.2 of 72.8 GiB on the fullest GPU
#
#   HEAD=10.0.0.1 NODE_RANK=0 ./run.sh    on the node of ranks 0, 1, ...
#   ./run.sh                              under SLURM, or on a single node
#
# Further arguments are appended to those of the plan.
set -efuo pipefail
unset CDPATH
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/." && pwd)
nodes=1
gpus_per_node=8
node_rank=${NODE_RANK:-${SLURM_NODEID:-0}}
head=${HEAD:-${MASTER_ADDR:-localhost}}
port=${MASTER_PORT:-29500}

exec torchrun --nnodes "$nodes" --nproc_per_node "$gpus_per_node" \
    --node_rank "$node_rank" --master_addr "$head" --master_port "$port" \
    "$here/pipeline.py" "$@"
