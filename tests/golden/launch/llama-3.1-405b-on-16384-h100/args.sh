# shellcheck shell=bash disable=SC2215
# args.sh - arguments of pretrain_gpt.py, one a line; run.sh reads them
#
# plan of llama-3.1-405b on 16384 x h100-80gb-sxm: tp 8, cp 1, pp 16, vpp 4, dp 128, ep 1, etp 8, ZeRO-1
# expected: 7.233 s a step (6.332 to 8.139), 57.6 of 75.1 GiB on the fullest GPU
# its flags need Megatron Core 0.11.0 or later
# plait: gpus 16384
# plait: runtime megatron
# plait: attention fused
# plait: model llama-3.1-405b

# environment
export CUDA_DEVICE_MAX_CONNECTIONS=1
export TORCH_NCCL_AVOID_RECORD_STREAMS=1
export PYTORCH_ALLOC_CONF=expandable_segments:True

# model
--num-layers 126
--hidden-size 16384
--ffn-hidden-size 53248
--seq-length 8192
--max-position-embeddings 131072
--vocab-size 128256
--make-vocab-size-divisible-by 128
--untie-embeddings-and-output-weights

# attention and positions
--num-attention-heads 128
--kv-channels 128
--group-query-attention
--num-query-groups 8
--position-embedding-type rope
--rotary-base 500000
--use-rope-scaling
--rope-scaling-factor 8

# norms, activation, biases
--normalization RMSNorm
--norm-epsilon 1e-05
--swiglu
--disable-bias-linear
--attention-dropout 0
--hidden-dropout 0

# parallelism
--tensor-model-parallel-size 8
--sequence-parallel
--pipeline-model-parallel-size 16
--num-virtual-stages-per-pipeline-rank 4
--account-for-embedding-in-pipeline-split
--account-for-loss-in-pipeline-split
--context-parallel-size 1

# batch
--micro-batch-size 1
--global-batch-size 2048

# memory
--recompute-granularity full
--recompute-method block
--recompute-num-layers 1

# optimizer
--optimizer adam
--use-distributed-optimizer

# overlap and kernels
--overlap-grad-reduce
--overlap-param-gather
--tp-comm-overlap
--cross-entropy-loss-fusion
--attention-backend fused
--no-create-attention-mask-in-dataloader

# precision
--bf16

# yours to replace: data, tokenizer, schedule, checkpoints
--mock-data
--tokenizer-type NullTokenizer
--train-iters 100
--lr 0.0001
--min-lr 1e-05
--lr-decay-style cosine
--eval-iters 0
--log-interval 1
