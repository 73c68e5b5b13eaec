# shellcheck shell=bash disable=SC2215
# args.sh - arguments of pretrain_gpt.py, one per line; run.sh reads them
#
# plan of glm-4.5 on 256 x b200-180gb-sxm: tp 1, cp 1, pp 8, vpp 1, dp 32, ep 32, etp 1, ZeRO-1
# predicted: 31.01 s per step (80 % band: 26.68 to 39.76), 135.1 of 164.2 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         random tokens: --mock-data, --tokenizer-type; with real data remove --moe-router-force-load-balancing, which the price assumes
#   length       --train-iters: 100 steps to try the plan, 100 in the schedule
#   training     --lr to --clip-grad
#                published: GLM-4.5, arXiv 2508.06471, section 2.4: Muon, of which the schedule, weight decay and losses are here; lambda 0.3 of the first 15 T tokens
#                placeholders: length, warm-up, betas, epsilon, clipping
#   checkpoints  --save, --load, --save-interval
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# These arguments need Megatron Core 0.16.0 or later.
# plait: gpus 256
# plait: runtime megatron
# plait: attention fused
# plait: model glm-4.5

# environment
export CUDA_DEVICE_MAX_CONNECTIONS=32
export TORCH_NCCL_AVOID_RECORD_STREAMS=1
export PYTORCH_ALLOC_CONF=expandable_segments:True

# model
--num-layers 92
--hidden-size 5120
--ffn-hidden-size 12288
--seq-length 4096
--max-position-embeddings 131072
--vocab-size 151552
--make-vocab-size-divisible-by 128
--untie-embeddings-and-output-weights
--mtp-num-layers 1
--mtp-loss-scaling-factor 0.3

# attention and positions
--num-attention-heads 96
--kv-channels 128
--group-query-attention
--num-query-groups 8
--qk-layernorm
--position-embedding-type rope
--rotary-base 1000000
--rotary-percent 0.5

# norms, activation, biases
--normalization RMSNorm
--norm-epsilon 1e-05
--swiglu
--disable-bias-linear
--add-qkv-bias
--attention-dropout 0
--hidden-dropout 0

# experts
--num-experts 160
--moe-ffn-hidden-size 1536
--moe-layer-freq '([0]*3+[1]*89)'
--moe-shared-expert-intermediate-size 1536
--moe-router-topk 8
--moe-router-score-function sigmoid
--moe-router-topk-scaling-factor 2.5
--moe-router-enable-expert-bias
--moe-router-dtype fp32
--moe-router-load-balancing-type seq_aux_loss
--moe-aux-loss-coeff 0.0001
--moe-router-bias-update-rate 0.001

# parallelism
--tensor-model-parallel-size 1
--pipeline-model-parallel-size 8
--decoder-first-pipeline-num-layers 12
--decoder-last-pipeline-num-layers 8
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
--fp8-format e4m3
--fp8-recipe mxfp8
--moe-router-padding-for-quantization
--fp8-param-gather
--reuse-grad-buf-for-mxfp8-param-ag

# to edit: data, tokenizer, schedule, checkpoints
--mock-data
--moe-router-force-load-balancing
--tokenizer-type NullTokenizer
--train-iters 100
--lr 0.00025
--min-lr 2.5e-05
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
--save checkpoints/glm-4-5
--load checkpoints/glm-4-5
--save-interval 1000
--manual-gc
--manual-gc-interval 100
--distributed-timeout-minutes 60
