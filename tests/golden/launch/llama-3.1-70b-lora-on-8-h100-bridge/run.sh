#!/bin/bash
# run.sh - starts training on one node; run it on every node
#
# plan of llama-3.1-70b on 8 x h100-80gb-sxm: tp 4, cp 1, pp 2, vpp 1, dp 1, ep 1, etp 4, ZeRO-1
# predicted: 13.4 s per step (80 % band: 11.51 to 15.72), 39.1 of 72.8 GiB on the fullest GPU
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

# Lines of overrides.sh are `export NAME=value` or arguments.
args=()
while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    'export '*) eval "$line" ;;
    *) eval "args+=($line"$'\n'")" ;;
    esac
done <"$here/overrides.sh"

cd -- "${BRIDGE:?expected the folder of a checkout of Megatron-Bridge}"
export CUDA_DEVICE_MAX_CONNECTIONS=1
export TORCH_NCCL_AVOID_RECORD_STREAMS=1
export PYTORCH_ALLOC_CONF=expandable_segments:True
export NVTE_FLASH_ATTN=0 NVTE_FUSED_ATTN=1 NVTE_UNFUSED_ATTN=0
recipe=${RECIPE:-llama31_70b_peft_config}
# ++ also sets fields that only a nested config of the recipe has.
exec torchrun --nnodes "$nodes" --nproc_per_node "$gpus_per_node" \
    --node_rank "$node_rank" --master_addr "$head" --master_port "$port" \
    scripts/training/run_recipe.py --recipe "$recipe" "${args[@]/#/++}" "$@"
