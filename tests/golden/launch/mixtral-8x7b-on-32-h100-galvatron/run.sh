#!/bin/bash
# run.sh - start one node; run the same on each
#
# plan of mixtral-8x7b on 32 x h100-80gb-sxm: tp 1, cp 2, pp 1, vpp 1, dp 16, ep 8, etp 1, ZeRO-3
# expected: 5.892 s a step (4.9 to 7.935), 51.9 of 70.1 GiB on the fullest GPU
#
#   HEAD=10.0.0.1 NODE_RANK=0 ./run.sh    the node whose ranks are 0, 1, ...
#   ./run.sh                              where SLURM says both, or on one node
#
# Arguments are handed on behind those of the plan.
set -efuo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
nodes=4
gpus_per_node=8
node_rank=${NODE_RANK:-${SLURM_NODEID:-0}}
head=${HEAD:-${MASTER_ADDR:-localhost}}
port=${MASTER_PORT:-29500}

cd "${GALVATRON:?expected the folder of a checkout of Galvatron}"
export CUDA_DEVICE_MAX_CONNECTIONS=1 TORCH_NCCL_AVOID_RECORD_STREAMS=1
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
exec torchrun --nnodes "$nodes" --nproc_per_node "$gpus_per_node" \
    --node_rank "$node_rank" --master_addr "$head" --master_port "$port" \
    galvatron/models/moe/train_dist.py "$here/train.yaml" \
    runtime.parallel.galvatron_config_path="$here/strategy.json" \
    runtime.data.tokenizer_model="${TOKENIZER:?expected a tokenizer of Hugging Face}" "$@"
