#!/bin/bash
# run.sh - starts training on one node; run it on every node
#
# plan of gpt-7.5b on 16 x a100-80gb-sxm: tp 2, cp 1, pp 4, vpp 1, dp 2, ep 1, etp 2, ZeRO-1
# predicted: 4.715 s per step (80 % band: 4.123 to 5.561), 14.1 of 71.6 GiB on the fullest GPU
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

cd -- "${MEGATRON:?expected the folder of a checkout of Megatron-DeepSpeed}"
exec torchrun --nnodes "$nodes" --nproc_per_node "$gpus_per_node" \
    --node_rank "$node_rank" --master_addr "$head" --master_port "$port" \
    "$here/partition.py" pretrain_gpt.py \
    --deepspeed_config "$here/ds_config.json" "${args[@]}" "$@"
