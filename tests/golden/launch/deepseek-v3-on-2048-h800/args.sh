# shellcheck shell=bash disable=SC2215
# args.sh - arguments of pretrain_gpt.py, one a line; run.sh reads them
#
# plan of deepseek-v3 on 2048 x h800-80gb-sxm: tp 1, cp 1, pp 16, vpp 1, dp 128, ep 64, etp 1, ZeRO-1
# expected: 49.65 s a step (37.52 to 56.44), 63.3 of 75.1 GiB on the fullest GPU
# its flags need Megatron Core 0.14.0 or later
# plait: gpus 2048
# plait: runtime megatron
# plait: attention fused
# plait: model deepseek-v3

# environment
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
--moe-router-load-balancing-type aux_loss
--moe-aux-loss-coeff 0.0001

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
--moe-token-dispatcher-type alltoall
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
