# shellcheck shell=bash disable=SC2215
# args.sh - arguments of pretrain_gpt.py, one per line; run.sh reads them
#
# plan of qwen3-235b-a22b on 256 x h100-80gb-sxm: tp 2, cp 1, pp 8, vpp 1, dp 16, ep 32, etp 1, ZeRO-1
# predicted: 31.92 s per step (80 % band: 27.56 to 41.35), 65.8 of 72.8 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         random tokens: --mock-data, --tokenizer-type; with real data remove --moe-router-force-load-balancing, which the price assumes
#   length       --train-iters: 100 steps to try the plan, 100 in the schedule
#   training     --lr to --clip-grad
#                published: Qwen3, arXiv 2505.09388, section 2: load balancing over the global batch; its learning rates are not published
#                placeholders: learning rate, final learning rate, learning rate decay, length, warm-up, betas, epsilon, weight decay, clipping
#   checkpoints  --save, --load, --save-interval
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# These arguments need Megatron Core 0.14.0 or later.
# plait: gpus 256
# plait: runtime megatron
# plait: attention fused
# plait: model qwen3-235b-a22b

# environment
export CUDA_DEVICE_MAX_CONNECTIONS=1
export TORCH_NCCL_AVOID_RECORD_STREAMS=1
export PYTORCH_ALLOC_CONF=expandable_segments:True

# model
--num-layers 94
--hidden-size 4096
--ffn-hidden-size 1536
--seq-length 4096
--max-position-embeddings 40960
--vocab-size 151936
--make-vocab-size-divisible-by 128
--untie-embeddings-and-output-weights

# attention and positions
--num-attention-heads 64
--kv-channels 128
--group-query-attention
--num-query-groups 4
--qk-layernorm
--position-embedding-type rope
--rotary-base 1000000

# norms, activation, biases
--normalization RMSNorm
--norm-epsilon 1e-06
--swiglu
--disable-bias-linear
--attention-dropout 0
--hidden-dropout 0

# experts
--num-experts 128
--moe-ffn-hidden-size 1536
--moe-router-topk 8
--moe-router-score-function softmax
--moe-router-dtype fp32
--moe-router-load-balancing-type global_aux_loss
--moe-aux-loss-coeff 0.001

# parallelism
--tensor-model-parallel-size 2
--sequence-parallel
--pipeline-model-parallel-size 8
--decoder-first-pipeline-num-layers 11
--decoder-last-pipeline-num-layers 11
--context-parallel-size 1
--expert-model-parallel-size 32
--expert-tensor-parallel-size 1

# batch
--micro-batch-size 1
--global-batch-size 2048

# optimizer
--optimizer adam
--use-distributed-optimizer

# overlap and kernels
--overlap-grad-reduce
--overlap-param-gather
--cross-entropy-loss-fusion
--moe-grouped-gemm
--moe-permute-fusion
--moe-router-fusion
--moe-token-dispatcher-type alltoall
--attention-backend fused
--no-create-attention-mask-in-dataloader

# precision
--bf16

# to edit: data, tokenizer, schedule, checkpoints
--mock-data
--moe-router-force-load-balancing
--tokenizer-type NullTokenizer
--train-iters 100
--lr 0.0001
--min-lr 1e-05
--lr-decay-style cosine
--lr-decay-iters 100
--lr-warmup-iters 10
--adam-beta1 0.9
--adam-beta2 0.95
--adam-eps 1e-08
--weight-decay 0.1
--clip-grad 1
--eval-iters 0
--log-interval 1
--save checkpoints/qwen3-235b-a22b
--load checkpoints/qwen3-235b-a22b
--save-interval 1000
--manual-gc
--manual-gc-interval 100
--distributed-timeout-minutes 60
