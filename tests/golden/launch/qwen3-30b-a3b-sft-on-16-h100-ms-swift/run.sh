#!/bin/bash
# run.sh - starts training on one node; run it on every node
#
# plan of qwen3-30b-a3b on 16 x h100-80gb-sxm: tp 2, cp 1, pp 1, vpp 1, dp 8, ep 8, etp 2, ZeRO-1
# predicted: 7.19 s per step (80 % band: 6.208 to 9.316), 39.4 of 72.8 GiB on the fullest GPU
#
#   HEAD=10.0.0.1 NODE_RANK=0 ./run.sh    on the node of ranks 0, 1, ...
#   ./run.sh                              under SLURM, or on a single node
#
# Further arguments are appended to those of the plan.
set -efuo pipefail
unset CDPATH
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/." && pwd)
nodes=2
gpus_per_node=8
node_rank=${NODE_RANK:-${SLURM_NODEID:-0}}
head=${HEAD:-${MASTER_ADDR:-localhost}}
port=${MASTER_PORT:-29500}

# Lines of args.sh are `export NAME=value` or arguments.
args=()
while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    'export '*) eval "$line" ;;
    *) eval "args+=($line"$'\n'")" ;;
    esac
done <"$here/args.sh"

export NNODES="$nodes" NODE_RANK="$node_rank" NPROC_PER_NODE="$gpus_per_node"
export MASTER_ADDR="$head" MASTER_PORT="$port"
exec megatron sft "${args[@]}" "$@"
