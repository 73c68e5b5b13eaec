# shellcheck shell=bash disable=SC2215
# args.sh - arguments of pretrain_gpt.py, one per line; run.sh reads them
#
# plan of qwen3-30b-a3b on 8 x gb200-nvl72: tp 1, cp 1, pp 1, vpp 1, dp 8, ep 8, etp 1, ZeRO-1
# predicted: 7.595 s per step (80 % band: 6.573 to 9.554), 122.5 of 170.2 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   program      fp8_dot_product_attention = True in core_transformer_config_from_args of megatron/training/arguments.py, which the price assumes; no argument sets it
#   data         random tokens: --mock-data, --tokenizer-type; with real data remove --moe-router-force-load-balancing, which the price assumes
#   length       --train-iters: 100 steps to try the plan, 100 in the schedule
#   training     --lr to --clip-grad
#                published: Qwen3, arXiv 2505.09388, section 2: load balancing over the global batch; its learning rates are not published
#                placeholders: learning rate, final learning rate, learning rate decay, length, warm-up, betas, epsilon, weight decay, clipping
#   checkpoints  --save, --load, --save-interval
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# These arguments need Megatron Core 0.18.0 or later.
# plait: gpus 8
# plait: runtime megatron
# plait: attention fused
# plait: model qwen3-30b-a3b
# plait: fp8_attention 1

# environment
export CUDA_DEVICE_MAX_CONNECTIONS=32
export NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN=8
export NVLINK_DOMAIN_SIZE=72
export USE_MNNVL=1
export NVTE_CUTEDSL_FUSED_GROUPED_MLP=1
export NCCL_GRAPH_REGISTER=0
export TORCH_NCCL_AVOID_RECORD_STREAMS=0
export PYTORCH_ALLOC_CONF=expandable_segments:True,graph_capture_record_stream_reuse:True

# model
--num-layers 48
--hidden-size 2048
--ffn-hidden-size 768
--seq-length 4096
--max-position-embeddings 40960
--vocab-size 151936
--make-vocab-size-divisible-by 128
--untie-embeddings-and-output-weights

# attention and positions
--num-attention-heads 32
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
--moe-ffn-hidden-size 768
--moe-router-topk 8
--moe-router-score-function softmax
--moe-router-dtype fp32
--moe-router-load-balancing-type global_aux_loss
--moe-aux-loss-coeff 0.001

# parallelism
--tensor-model-parallel-size 1
--pipeline-model-parallel-size 1
--context-parallel-size 1
--expert-model-parallel-size 8
--expert-tensor-parallel-size 1

# batch
--micro-batch-size 2
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
--moe-token-dispatcher-type flex
--moe-flex-dispatcher-backend hybridep
--overlap-moe-expert-parallel-comm
--delay-wgrad-compute
--attention-backend fused
--use-transformer-engine-op-fuser
--moe-mlp-glu-interleave-size 32
--cuda-graph-impl full_iteration
--te-rng-tracker
--no-check-for-nan-in-loss-and-grad
--moe-expert-rank-capacity-factor 1.5
--moe-paged-stash
--moe-paged-stash-buffer-size-factor-cuda 1.2
--moe-paged-stash-buffer-size-factor-cpu 1
--no-create-attention-mask-in-dataloader

# precision
--bf16
--fp8-format e4m3
--fp8-recipe mxfp8
--fp8-param-gather
--reuse-grad-buf-for-mxfp8-param-ag

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
--save checkpoints/qwen3-30b-a3b
--load checkpoints/qwen3-30b-a3b
--save-interval 1000
--manual-gc
--manual-gc-interval 100
--distributed-timeout-minutes 60
