#!/bin/bash
# run.sh - starts training on one node; run it on every node
#
# plan of qwen3-30b-a3b on 16 x h100-80gb-sxm: tp 1, cp 1, pp 2, vpp 1, dp 8, ep 8, etp 1, ZeRO-1
# predicted: 19.83 s per step (80 % band: 17.12 to 25.69), 62.4 of 72.8 GiB on the fullest GPU
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

# Lines of overrides.sh are `export NAME=value` or arguments.
args=()
while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    'export '*) eval "$line" ;;
    *) eval "args+=($line"$'\n'")" ;;
    esac
done <"$here/overrides.sh"

cd -- "${BRIDGE:?expected the folder of a checkout of Megatron-Bridge}"
export CUDA_DEVICE_MAX_CONNECTIONS=8
export TORCH_NCCL_AVOID_RECORD_STREAMS=1
export PYTORCH_ALLOC_CONF=expandable_segments:True
export NVTE_FLASH_ATTN=0 NVTE_FUSED_ATTN=1 NVTE_UNFUSED_ATTN=0
recipe=${RECIPE:-qwen3_30b_a3b_pretrain_config}
# ++ also sets fields that only a nested config of the recipe has.
exec torchrun --nnodes "$nodes" --nproc_per_node "$gpus_per_node" \
    --node_rank "$node_rank" --master_addr "$head" --master_port "$port" \
    scripts/training/run_recipe.py --recipe "$recipe" "${args[@]/#/++}" "$@"
