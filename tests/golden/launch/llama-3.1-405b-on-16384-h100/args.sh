# shellcheck shell=bash disable=SC2215
# args.sh - arguments of pretrain_gpt.py, one per line; run.sh reads them
#
# plan of llama-3.1-405b on 16384 x h100-80gb-sxm: tp 8, cp 1, pp 16, vpp 4, dp 128, ep 1, etp 8, ZeRO-1
# predicted: 8.076 s per step (80 % band: 6.891 to 9.438), 54.4 of 72.8 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         random tokens: --mock-data, --tokenizer-type
#   length       --train-iters: 100 steps to try the plan, 929833 in the schedule
#   training     --lr to --clip-grad
#                published: Llama 3, arXiv 2407.21783, table 3 and section 3.4.1; 15.6 T tokens are those of section 1
#                placeholders: betas, epsilon, weight decay, clipping
#   checkpoints  --save, --load, --save-interval
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# These arguments need Megatron Core 0.11.0 or later.
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
--cross-entropy-loss-fusion
--attention-backend fused
--no-create-attention-mask-in-dataloader

# precision
--bf16

# to edit: data, tokenizer, schedule, checkpoints
--mock-data
--tokenizer-type NullTokenizer
--train-iters 100
--lr 8e-05
--min-lr 8e-07
--lr-decay-style cosine
--lr-decay-iters 929833
--lr-warmup-iters 8000
--adam-beta1 0.9
--adam-beta2 0.95
--adam-eps 1e-08
--weight-decay 0.1
--clip-grad 1
--eval-iters 0
--log-interval 1
--save checkpoints/llama-3-1-405b
--load checkpoints/llama-3-1-405b
--save-interval 1000
--manual-gc
--manual-gc-interval 100
--distributed-timeout-minutes 60
