#!/bin/bash
# run.sh - starts training on one node; run it on every node
#
# plan of llama-3.1-405b on 16384 x h100-80gb-sxm: tp 8, cp 1, pp 16, vpp 4, dp 128, ep 1, etp 8, ZeRO-1
# predicted: 8.076 s per step (80 % band: 6.891 to 9.438), 54.4 of 72.8 GiB on the fullest GPU
#
#   HEAD=10.0.0.1 NODE_RANK=0 ./run.sh    on the node of ranks 0, 1, ...
#   ./run.sh                              under SLURM, or on a single node
#
# Further arguments are appended to those of the plan.
set -efuo pipefail
unset CDPATH
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/." && pwd)
nodes=2048
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

cd -- "${MEGATRON:?expected the folder of a checkout of Megatron-LM}"
exec torchrun --nnodes "$nodes" --nproc_per_node "$gpus_per_node" \
    --node_rank "$node_rank" --master_addr "$head" --master_port "$port" \
    pretrain_gpt.py "${args[@]}" "$@"
