#!/bin/bash
# run.sh - starts training on one node; run it on every node
#
# plan of llama-3.1-8b on 16 x ascend-910b-64gb: tp 8, cp 1, pp 2, vpp 4, dp 1, ep 1, etp 8, ZeRO-1
# predicted: 14.03 s per step (80 % band: 12.08 to 16.55), 14.4 of 55.2 GiB on the fullest GPU
#
#   HEAD=10.0.0.1 NODE_RANK=0 ./run.sh    on the node of ranks 0, 1, ...
#   ./run.sh                              under SLURM, or on a single node
#
# Further arguments are appended to those of the plan.
#
# Copy the folder megatron of Megatron Core 0.12.1 into that of MindSpeed-LLM, and install MindSpeed
# together with torch_npu.
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

cd -- "${MINDSPEED_LLM:?expected the folder of a checkout of MindSpeed-LLM}"
exec torchrun --nnodes "$nodes" --nproc_per_node "$gpus_per_node" \
    --node_rank "$node_rank" --master_addr "$head" --master_port "$port" \
    pretrain_gpt.py "${args[@]}" "$@"
