# shellcheck shell=bash disable=SC2215
# args.sh - arguments of pretrain_gpt.py, one per line; run.sh reads them
#
# plan of deepseek-v3 on 2048 x h800-80gb-sxm: tp 1, cp 1, pp 16, vpp 1, dp 128, ep 64, etp 1, ZeRO-1
# predicted: 59.47 s per step (80 % band: 51.32 to 76.64), 59.8 of 72.8 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         random tokens: --mock-data, --tokenizer-type; with real data remove --moe-router-force-load-balancing, which the price assumes
#   length       --train-iters: 100 steps to try the plan, 227293 in the schedule
#   training     --lr to --clip-grad
#                published: DeepSeek-V3, arXiv 2412.19437, section 4.2: 2.2e-4 until 10 T tokens, then a cosine over 4.3 T; gamma 0.001 and lambda 0.3 of the first stage
#                placeholders: epsilon
#   checkpoints  --save, --load, --save-interval
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# These arguments need Megatron Core 0.14.0 or later.
# plait: gpus 2048
# plait: runtime megatron
# plait: attention fused
# plait: model deepseek-v3

# environment
export CUDA_DEVICE_MAX_CONNECTIONS=8
export TORCH_NCCL_AVOID_RECORD_STREAMS=1
export PYTORCH_ALLOC_CONF=expandable_segments:True

# model
--num-layers 61
--hidden-size 7168
--ffn-hidden-size 18432
--seq-length 4096
--max-position-embeddings 163840
--vocab-size 129280
--make-vocab-size-divisible-by 128
--untie-embeddings-and-output-weights
--mtp-num-layers 1
--mtp-loss-scaling-factor 0.3

# attention and positions
--num-attention-heads 128
--multi-latent-attention
--q-lora-rank 1536
--kv-lora-rank 512
--qk-head-dim 128
--qk-pos-emb-head-dim 64
--v-head-dim 128
--kv-channels 128
--qk-layernorm
--position-embedding-type rope
--rotary-base 10000
--rope-type yarn
--rotary-scaling-factor 40
--mscale 1
--mscale-all-dim 1

# norms, activation, biases
--normalization RMSNorm
--norm-epsilon 1e-06
--swiglu
--disable-bias-linear
--attention-dropout 0
--hidden-dropout 0
--init-method-std 0.006

# experts
--num-experts 256
--moe-ffn-hidden-size 2048
--moe-layer-freq '([0]*3+[1]*58)'
--moe-shared-expert-intermediate-size 2048
--moe-router-topk 8
--moe-router-score-function sigmoid
--moe-router-num-groups 8
--moe-router-group-topk 4
--moe-router-topk-scaling-factor 2.5
--moe-router-enable-expert-bias
--moe-router-dtype fp32
--moe-router-load-balancing-type seq_aux_loss
--moe-aux-loss-coeff 0.0001
--moe-router-bias-update-rate 0.001

# parallelism
--tensor-model-parallel-size 1
--pipeline-model-parallel-size 16
--decoder-first-pipeline-num-layers 4
--decoder-last-pipeline-num-layers 1
--context-parallel-size 1
--expert-model-parallel-size 64
--expert-tensor-parallel-size 1

# batch
--micro-batch-size 1
--global-batch-size 15360

# memory
--recompute-granularity full
--recompute-method block
--recompute-num-layers 3

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
--lr 0.00022
--min-lr 2.2e-05
--lr-decay-style WSD
--lr-wsd-decay-style cosine
--lr-wsd-decay-iters 68347
--lr-decay-iters 227293
--lr-warmup-iters 2000
--adam-beta1 0.9
--adam-beta2 0.95
--adam-eps 1e-08
--weight-decay 0.1
--clip-grad 1
--eval-iters 0
--log-interval 1
--save checkpoints/deepseek-v3
--load checkpoints/deepseek-v3
--save-interval 1000
--manual-gc
--manual-gc-interval 100
--distributed-timeout-minutes 60
