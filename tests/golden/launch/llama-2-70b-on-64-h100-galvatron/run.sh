#!/bin/bash
# run.sh - starts training on one node; run it on every node
#
# plan of llama-2-70b on 64 x h100-80gb-sxm: tp 8, cp 1, pp 2, vpp 1, dp 4, ep 1, etp 1, ZeRO-2
# predicted: 14.89 s per step (80 % band: 12.65 to 19.24), 41.1 of 66.7 GiB on the fullest GPU
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

cd -- "${GALVATRON:?expected the folder of a checkout of Galvatron}"
export CUDA_DEVICE_MAX_CONNECTIONS=1 TORCH_NCCL_AVOID_RECORD_STREAMS=1
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
export TOKENIZER="${TOKENIZER:?expected a Hugging Face tokenizer}"
export STRATEGY="$here/strategy.json"
exec torchrun --nnodes "$nodes" --nproc_per_node "$gpus_per_node" \
    --node_rank "$node_rank" --master_addr "$head" --master_port "$port" \
    galvatron/models/gpt/train_dist.py "$here/train.yaml" "$@"
