#!/bin/bash
# plait: fp8_attention 1
torchrun --nproc_per_node 8 pretrain_gpt.py --bf16 --num-layers 4 --hidden-size 256 \
    --num-attention-heads 4 --num-experts 8 --expert-model-parallel-size 8 \
    --expert-tensor-parallel-size 1 --moe-token-dispatcher-type flex \
    --moe-flex-dispatcher-backend hybridep --fp8-format e4m3 --fp8-recipe mxfp8 \
    --use-transformer-engine-op-fuser --moe-mlp-glu-interleave-size 32 \
    --cuda-graph-impl local --cuda-graph-scope full_iteration,attn moe_router --te-rng-tracker \
    --no-check-for-nan-in-loss-and-grad --moe-expert-rank-capacity-factor 1.5 --moe-paged-stash \
    --micro-batch-size 1 --global-batch-size 64 --seq-length 512
