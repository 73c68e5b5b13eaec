#!/bin/bash
# A launch script as people have them: a 13 B model on 64 GPUs, options in arrays and variables.
export CUDA_DEVICE_MAX_CONNECTIONS=1

NODES=8
GPUS_PER_NODE=8
TP=8
MICRO_BATCH=${MICRO_BATCH:-"2"}
DATA=$1

DISTRIBUTED=(
    --nnodes $NODES
    --nproc_per_node $GPUS_PER_NODE
    --master_addr "$MASTER_ADDR"
)

MODEL=(
    --num-layers 40
    --hidden-size 5120
    --ffn-hidden-size 13824
    --num-attention-heads 40
    --seq-length 4096
    --max-position-embeddings 4096
    --position-embedding-type rope # not learned
    --normalization RMSNorm
    --swiglu
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0
    --hidden-dropout 0
)

PARALLEL="--tensor-model-parallel-size $TP --pipeline-model-parallel-size 2 --sequence-parallel"

torchrun "${DISTRIBUTED[@]}" pretrain_gpt.py \
    "${MODEL[@]}" $PARALLEL \
    --micro-batch-size "$MICRO_BATCH" \
    --global-batch-size $((NODES * GPUS_PER_NODE * 16)) \
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \
    --use-distributed-optimizer --bf16 --lr 1e-4 --train-iters 1000 \
    --data-path "$DATA" --tokenizer-type HuggingFaceTokenizer --vocab-size 32000
