# shellcheck shell=bash disable=SC2215
# args.sh - arguments of pretrain_gpt.py, one per line; run.sh reads them
#
# plan of gpt3-175b on 1024 x a100-80gb-sxm: tp 8, cp 1, pp 8, vpp 3, dp 16, ep 1, etp 8, ZeRO-1
# predicted: 19.64 s per step (80 % band: 16.88 to 23.04), 31.8 of 72.8 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         random tokens: --mock-data, --tokenizer-type
#   length       --train-iters: 100 steps to try the plan, 82652 in the schedule
#   training     --lr to --clip-grad
#                published: GPT-3, arXiv 2005.14165, table 2.1 and appendix B
#                placeholders: none
#   checkpoints  --save, --load, --save-interval
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# These arguments need Megatron Core 0.11.0 or later.
# plait: gpus 1024
# plait: runtime megatron
# plait: attention fused
# plait: model gpt3-175b

# environment
export CUDA_DEVICE_MAX_CONNECTIONS=1
export TORCH_NCCL_AVOID_RECORD_STREAMS=1
export PYTORCH_ALLOC_CONF=expandable_segments:True

# model
--num-layers 96
--hidden-size 12288
--ffn-hidden-size 49152
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 51200
--make-vocab-size-divisible-by 128

# attention and positions
--num-attention-heads 96
--kv-channels 128
--position-embedding-type learned_absolute

# norms, activation, biases
--normalization LayerNorm
--norm-epsilon 1e-05
--attention-dropout 0.1
--hidden-dropout 0.1
--init-method-std 0.02

# parallelism
--tensor-model-parallel-size 8
--sequence-parallel
--pipeline-model-parallel-size 8
--num-virtual-stages-per-pipeline-rank 3
--context-parallel-size 1

# batch
--micro-batch-size 1
--global-batch-size 1536

# memory
--recompute-granularity selective

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
--lr 6e-05
--min-lr 6e-06
--lr-decay-style cosine
--lr-decay-iters 82652
--lr-warmup-iters 120
--adam-beta1 0.9
--adam-beta2 0.95
--adam-eps 1e-08
--weight-decay 0.1
--clip-grad 1
--eval-iters 0
--log-interval 1
--save checkpoints/gpt3-175b
--load checkpoints/gpt3-175b
--save-interval 1000
--manual-gc
--manual-gc-interval 100
--distributed-timeout-minutes 60
