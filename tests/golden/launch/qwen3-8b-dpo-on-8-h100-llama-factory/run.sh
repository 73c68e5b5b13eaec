#!/bin/bash
# run.sh - starts training on one node; run it on every node
#
# plan of qwen3-8b on 8 x h100-80gb-sxm: tp 1, cp 1, pp 1, vpp 1, dp 8, ep 1, etp 1, ZeRO-3
# predicted: 3.526 s per step (80 % band: 2.967 to 4.133), 36.4 of 71.2 GiB on the fullest GPU
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

cd "$here"
export FORCE_TORCHRUN=1 NNODES="$nodes" NODE_RANK="$node_rank"
export MASTER_ADDR="$head" MASTER_PORT="$port" NPROC_PER_NODE="$gpus_per_node"
exec llamafactory-cli train dpo.yaml "$@"
