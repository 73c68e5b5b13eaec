#!/bin/bash
# run.sh - starts training on one node; run it on every node
#
# plan of llama-3.1-8b on 16 x h100-80gb-sxm: tp 1, cp 1, pp 1, vpp 1, dp 16, ep 1, etp 1, ZeRO-3
# predicted: 4.472 s per step (80 % band: 3.821 to 5.292), 48.6 of 71.2 GiB on the fullest GPU
#
#   HEAD=10.0.0.1 NODE_RANK=0 ./run.sh    on the node of ranks 0, 1, ...
#   ./run.sh                              under SLURM, or on a single node
#
# Further arguments are appended to those of the plan.
#
# To edit before a real run; the plan sets everything else:
#   data         the training script sets it, and also the number of steps and the checkpoints
#   training     ds_config.json: optimizer, scheduler, gradient_clipping
#                published: Llama 3, arXiv 2407.21783, table 3; the schedule is published of the 405B alone
#                placeholders: final learning rate, learning rate decay, length, warm-up, betas, epsilon, weight decay, clipping
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# The config has no keys for these settings; the training script must set them:
#   model          32 layers, hidden 4096, vocabulary 128256
#   sequences      4096 tokens each, 1 per microbatch and GPU
#   attention      flash2 (attn_implementation="flash_attention_2")
#   recomputation  none
#   weights        built inside deepspeed.zero.MiCS_Init(config_dict_or_path=...)
#
# plait: gpus 16
# plait: runtime deepspeed
# plait: attention flash2
# plait: model llama-3.1-8b
# plait: seq 4096
# plait: recompute none
set -efuo pipefail
unset CDPATH
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/." && pwd)
nodes=2
gpus_per_node=8
node_rank=${NODE_RANK:-${SLURM_NODEID:-0}}
head=${HEAD:-${MASTER_ADDR:-localhost}}
port=${MASTER_PORT:-29500}

: "${TRAIN:?expected the training script}"
exec torchrun --nnodes "$nodes" --nproc_per_node "$gpus_per_node" \
    --node_rank "$node_rank" --master_addr "$head" --master_port "$port" \
    "$TRAIN" --deepspeed --deepspeed_config "$here/ds_config.json" "$@"
