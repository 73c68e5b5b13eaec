# shellcheck shell=bash disable=SC2215
# args.sh - arguments of pretrain_gpt.py, one per line; run.sh reads them
#
# plan of kimi-k2 on 1024 x h100-80gb-sxm: tp 8, cp 1, pp 16, vpp 1, dp 8, ep 64, etp 1, ZeRO-1
# predicted: 28.84 s per step (80 % band: 24.89 to 37.17), 36.3 of 72.8 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         random tokens: --mock-data, --tokenizer-type; with real data remove --moe-router-force-load-balancing, which the price assumes
#   length       --train-iters: 100 steps to try the plan, 923872 in the schedule
#   training     --lr to --clip-grad
#                published: Kimi K2, arXiv 2507.20534, section 2.5: 2e-4 until 10 T tokens, then a cosine over 5.5 T; MuonClip, of which weight decay and schedule are here
#                placeholders: betas, epsilon, clipping
#   checkpoints  --save, --load, --save-interval
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# These arguments need Megatron Core 0.14.0 or later.
# plait: gpus 1024
# plait: runtime megatron
# plait: attention fused
# plait: model kimi-k2

# environment
export CUDA_DEVICE_MAX_CONNECTIONS=1
export TORCH_NCCL_AVOID_RECORD_STREAMS=1
export PYTORCH_ALLOC_CONF=expandable_segments:True

# model
--num-layers 61
--hidden-size 7168
--ffn-hidden-size 18432
--seq-length 4096
--max-position-embeddings 131072
--vocab-size 163840
--make-vocab-size-divisible-by 128
--untie-embeddings-and-output-weights

# attention and positions
--num-attention-heads 64
--multi-latent-attention
--q-lora-rank 1536
--kv-lora-rank 512
--qk-head-dim 128
--qk-pos-emb-head-dim 64
--v-head-dim 128
--kv-channels 128
--qk-layernorm
--position-embedding-type rope
--rotary-base 50000
--rope-type yarn
--rotary-scaling-factor 32
--mscale 1
--mscale-all-dim 1

# norms, activation, biases
--normalization RMSNorm
--norm-epsilon 1e-06
--swiglu
--disable-bias-linear
--attention-dropout 0
--hidden-dropout 0

# experts
--num-experts 384
--moe-ffn-hidden-size 2048
--moe-layer-freq '([0]+[1]*60)'
--moe-shared-expert-intermediate-size 2048
--moe-router-topk 8
--moe-router-score-function sigmoid
--moe-router-topk-scaling-factor 2.827
--moe-router-enable-expert-bias
--moe-router-dtype fp32
--moe-router-load-balancing-type aux_loss
--moe-aux-loss-coeff 0.001
--moe-router-bias-update-rate 0.001

# parallelism
--tensor-model-parallel-size 8
--sequence-parallel
--pipeline-model-parallel-size 16
--decoder-first-pipeline-num-layers 4
--decoder-last-pipeline-num-layers 1
--context-parallel-size 1
--expert-model-parallel-size 64
--expert-tensor-parallel-size 1

# batch
--micro-batch-size 1
--global-batch-size 4096

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
--lr 0.0002
--min-lr 2e-05
--lr-decay-style WSD
--lr-wsd-decay-style cosine
--lr-wsd-decay-iters 327826
--lr-decay-iters 923872
--lr-warmup-iters 500
--adam-beta1 0.9
--adam-beta2 0.95
--adam-eps 1e-08
--weight-decay 0.1
--clip-grad 1
--eval-iters 0
--log-interval 1
--save checkpoints/kimi-k2
--load checkpoints/kimi-k2
--save-interval 1000
--manual-gc
--manual-gc-interval 100
--distributed-timeout-minutes 60
