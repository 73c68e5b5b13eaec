#!/bin/bash
# test_tuning.sh PLAIT - fine-tuning jobs from public questions fit or run out of memory as known
set -u

plait=$1
wrong=0

expect() { # expect TEXT COMMAND...: the output of plait COMMAND contains TEXT
    local said
    said=$("$plait" "${@:2}" 2>&1)
    [[ $said == *"$1"* ]] && return
    echo "plait ${*:2}: expected '$1', found '$(head -3 <<<"$said")'"
    wrong=1
}

# LoRA of 8 B parameters at 8,192 tokens fits on four GPUs of 24 GB.
expect "run plan 1" search llama-3.1-8b rtx-4090-24gb:1x4 --seq 8192 --gbs 16 --job lora --refine none --top 1

# Data parallelism of 70 B parameters in NF4 runs out of memory on eight A100 at 32,768 tokens.
expect "does not fit" eval llama-3.1-70b a100-80gb-sxm:1x8 --seq 32768 --gbs 8 --job qlora --tp 1 --dp 8

# 70 B parameters with adapters on the fused projection run on one node of H100 in the layout of
# NVIDIA's recipe; r (in + out) is 32 (8192 + 10240) in each of 80 layers, 47.2 million in all.
expect "47.2 M parameters are trained" eval llama-3-70b dgx-h100 --gpus 8 --seq 4096 --gbs 32 --job lora --lora-targets qkv --precision fp8 --tp 2 --pp 4

# Six stages with ep 8 take 48 GPUs; 32 have no whole number of replicas.
expect "does not divide 32 GPUs" search qwen3.5-122b-a10b dgx-h100 --gpus 32 --seq 4096 --gbs 48 --job sft --pp 6 --ep 8 --refine none --top 1
expect "run plan 1" search qwen3.5-122b-a10b dgx-h100 --gpus 48 --seq 4096 --gbs 48 --job sft --pp 6 --ep 8 --refine none --top 1

# A batch of preference learning counts pairs: 16 pairs are the tokens and the forward of 32 sequences.
expect "131 k tokens a step: 16 pairs of 4096" eval llama-3.1-8b dgx-h100 --gpus 8 --seq 4096 --gbs 16 --job dpo --tp 8
step() { # step OPTION...: the times of a step, without those of a reference model
    "$plait" eval llama-3.1-8b dgx-h100 --gpus 8 --seq 4096 --tp 8 --recompute none "$@" --json |
        python3 -c 'import json, sys
plan = json.load(sys.stdin)["plans"][0]
print(round(plan["step_s"] - plan["time"]["reference_s"], 9), round(plan["tokens_per_s_per_gpu"] * plan["step_s"], 3))'
}
[[ $(step --gbs 16 --mbs 1 --job dpo) == $(step --gbs 32 --mbs 2 --job sft) ]] || {
    echo "16 pairs: $(step --gbs 16 --mbs 1 --job dpo), 32 sequences: $(step --gbs 32 --mbs 2 --job sft)"
    wrong=1
}

# capacity takes images as search does.
expect "images: expected a model with an encoder" capacity llama-3.1-8b dgx-h100 --gpus 8 --tokens 1G --seq 4096 --gbs 64 --images 2

# Options that do not apply, and words that do not exist, are refused.
expect "--lora-rank: expected --job lora" eval gpt2 dgx-h100 --gpus 8 --seq 1k --gbs 8 --job sft --lora-rank 8
expect "--teacher: expected the teacher of distill" eval gpt2 dgx-h100 --gpus 8 --seq 1k --gbs 8 --job distill
expect "--lora-targets" eval gpt2 dgx-h100 --gpus 8 --seq 1k --gbs 8 --job lora --lora-targets qkvo
exit $wrong
