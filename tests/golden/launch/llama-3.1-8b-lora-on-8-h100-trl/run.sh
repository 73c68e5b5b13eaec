#!/bin/bash
# run.sh - starts training on one node; run it on every node
#
# plan of llama-3.1-8b on 8 x h100-80gb-sxm: tp 1, cp 1, pp 1, vpp 1, dp 8, ep 1, etp 1, ZeRO-3
# predicted: 4.033 s per step (80 % band: 3.477 to 4.717), 14.4 of 65.0 GiB on the fullest GPU
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

cd "$here"
exec accelerate launch --config_file accelerate.yaml \
    --num_machines "$nodes" --num_processes "$((nodes * gpus_per_node))" \
    --machine_rank "$node_rank" --main_process_ip "$head" --main_process_port "$port" \
    --module trl.scripts.sft --config sft.yaml "$@"
