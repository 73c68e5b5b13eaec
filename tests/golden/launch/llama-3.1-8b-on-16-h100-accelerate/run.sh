#!/bin/bash
# run.sh - starts training on one node; run it on every node
#
# plan of llama-3.1-8b on 16 x h100-80gb-sxm: tp 1, cp 1, pp 1, vpp 1, dp 16, ep 1, etp 1, ZeRO-3
# predicted: 4.895 s per step (80 % band: 4.216 to 5.763), 23.6 of 65.0 GiB on the fullest GPU
#
#   HEAD=10.0.0.1 NODE_RANK=0 ./run.sh    on the node of ranks 0, 1, ...
#   ./run.sh                              under SLURM, or on a single node
#
# Further arguments are appended to those of the plan.
#
# To edit before a real run; the plan sets everything else:
#   data         the training script sets it, and also the number of steps and the checkpoints
#   training     the training script sets them to the values below
#                published: Llama 3, arXiv 2407.21783, table 3; the schedule is published of the 405B alone
#                placeholders: final learning rate, learning rate decay, length, warm-up, betas, epsilon, weight decay, clipping
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# The config has no keys for these settings; the training script must set them:
#   model          32 layers, hidden 4096, vocabulary 128256
#   sequences      4096 tokens each, 2 per microbatch and GPU
#   attention      flash2 (attn_implementation="flash_attention_2")
#   layers         listed in the model's _no_split_modules, each as one unit
#   gradients      reduced with each microbatch: a Trainer's accelerator_config="accelerator_config.json", or
#                  Accelerator(gradient_accumulation_plugin=GradientAccumulationPlugin(..., sync_each_batch=True))
#   optimizer      AdamW, lr 0.0003, betas 0.9 and 0.95, epsilon 1e-08, weight decay 0.1; gradients clipped at 1
#   schedule       10 steps of warm-up, then cosine to 3e-05, over 100 steps
#
# plait: gpus 16
# plait: runtime fsdp
# plait: attention flash2
# plait: model llama-3.1-8b
# plait: seq 4096
# plait: recompute full
set -efuo pipefail
unset CDPATH
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/." && pwd)
nodes=2
gpus_per_node=8
node_rank=${NODE_RANK:-${SLURM_NODEID:-0}}
head=${HEAD:-${MASTER_ADDR:-localhost}}
port=${MASTER_PORT:-29500}

: "${TRAIN:?expected the training script}"
export ACCELERATE_GRADIENT_ACCUMULATION_STEPS=4
exec accelerate launch --config_file "$here/accelerate.yaml" \
    --num_machines "$nodes" --num_processes "$((nodes * gpus_per_node))" \
    --machine_rank "$node_rank" --main_process_ip "$head" --main_process_port "$port" \
    "$TRAIN" "$@"
