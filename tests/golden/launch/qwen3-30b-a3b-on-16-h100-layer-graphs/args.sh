# shellcheck shell=bash disable=SC2215
# args.sh - arguments of pretrain_gpt.py, one per line; run.sh reads them
#
# plan of qwen3-30b-a3b on 16 x h100-80gb-sxm: tp 1, cp 1, pp 1, vpp 1, dp 16, ep 16, etp 1, ZeRO-1
# predicted: 33.74 s per step (80 % band: 29.13 to 43.72), 68.7 of 72.8 GiB on the fullest GPU
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
# These arguments need Megatron Core 0.16.0 or later.
# plait: gpus 16
# plait: runtime megatron@bridge-v0.4.2
# plait: attention fused
# plait: model qwen3-30b-a3b

# environment
export CUDA_DEVICE_MAX_CONNECTIONS=32
export NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN=8
export NVLINK_DOMAIN_SIZE=8
export USE_MNNVL=0
export NCCL_GRAPH_REGISTER=0
export TORCH_NCCL_AVOID_RECORD_STREAMS=1
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True

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
--expert-model-parallel-size 16
--expert-tensor-parallel-size 1

# batch
--micro-batch-size 1
--global-batch-size 1024

# memory
--recompute-granularity selective
--recompute-modules moe_act

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
--cuda-graph-impl transformer_engine
--cuda-graph-scope attn moe_router moe_preprocess
--te-rng-tracker
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
--save checkpoints/qwen3-30b-a3b
--load checkpoints/qwen3-30b-a3b
--save-interval 1000
--manual-gc
--manual-gc-interval 100
--distributed-timeout-minutes 60
