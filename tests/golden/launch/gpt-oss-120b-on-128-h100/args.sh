# shellcheck shell=bash disable=SC2215
# args.sh - arguments of pretrain_gpt.py, one per line; run.sh reads them
#
# plan of gpt-oss-120b on 128 x h100-80gb-sxm: tp 2, cp 2, pp 4, vpp 1, dp 8, ep 8, etp 1, ZeRO-1
# predicted: 9.333 s per step (80 % band: 8.058 to 12.09), 45.5 of 72.8 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         random tokens: --mock-data, --tokenizer-type; with real data remove --moe-router-force-load-balancing, which the price assumes
#   length       --train-iters: 100 steps to try the plan, 100 in the schedule
#   training     --lr to --clip-grad
#                published: gpt-oss model card, arXiv 2508.10925, publishes no training values; NVIDIA-NeMo/Megatron-Bridge 067f987 (gpt_oss_bridge.py) balances loads by no loss, and the 0.9 of the config only applies where router logits are asked for
#                placeholders: learning rate, final learning rate, learning rate decay, length, warm-up, betas, epsilon, weight decay, clipping
#   checkpoints  --save, --load, --save-interval
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# These arguments need Megatron Core 0.19.0 or later.
# plait: gpus 128
# plait: runtime megatron
# plait: attention fused
# plait: model gpt-oss-120b

# environment
export CUDA_DEVICE_MAX_CONNECTIONS=1
export TORCH_NCCL_AVOID_RECORD_STREAMS=1
export PYTORCH_ALLOC_CONF=expandable_segments:True

# model
--num-layers 36
--hidden-size 2880
--ffn-hidden-size 2880
--seq-length 8192
--max-position-embeddings 131072
--vocab-size 201088
--make-vocab-size-divisible-by 128
--untie-embeddings-and-output-weights

# attention and positions
--num-attention-heads 64
--kv-channels 64
--group-query-attention
--num-query-groups 8
--softmax-type learnable
--window-size 127,0
--window-attn-skip-freq '([1]+[0])*18'
--position-embedding-type yarn
--rotary-base 150000
--rotary-scaling-factor 32
--yarn-original-max-position-embeddings 4096
--yarn-beta-fast 32
--yarn-beta-slow 1

# norms, activation, biases
--normalization RMSNorm
--norm-epsilon 1e-05
--quick-geglu
--glu-linear-offset 1
--activation-func-clamp-value 7
--attention-dropout 0
--hidden-dropout 0

# experts
--num-experts 128
--moe-ffn-hidden-size 2880
--moe-router-topk 4
--moe-router-score-function softmax
--moe-router-dtype fp32
--moe-router-load-balancing-type none

# parallelism
--tensor-model-parallel-size 2
--sequence-parallel
--pipeline-model-parallel-size 4
--context-parallel-size 2
--cp-comm-type a2a
--expert-model-parallel-size 8
--expert-tensor-parallel-size 1

# batch
--micro-batch-size 1
--global-batch-size 512

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
--save checkpoints/gpt-oss-120b
--load checkpoints/gpt-oss-120b
--save-interval 1000
--manual-gc
--manual-gc-interval 100
--distributed-timeout-minutes 60
