# shellcheck shell=bash disable=SC2215
# args.sh - arguments of MindSpeed-LLM's pretrain_gpt.py, one per line; run.sh reads them
#
# plan of llama-3.1-8b on 16 x ascend-910b-64gb: tp 8, cp 1, pp 2, vpp 4, dp 1, ep 1, etp 8, ZeRO-1
# predicted: 14.03 s per step (80 % band: 12.08 to 16.55), 14.4 of 55.2 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         random tokens: --mock-data, --tokenizer-type
#   length       --train-iters: 100 steps to try the plan, 100 in the schedule
#   training     --lr to --clip-grad
#                published: Llama 3, arXiv 2407.21783, table 3; the schedule is published of the 405B alone
#                placeholders: final learning rate, learning rate decay, length, warm-up, betas, epsilon, weight decay, clipping
#   checkpoints  --save, --load, --save-interval
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# plait: gpus 16
# plait: runtime mindspeed
# plait: attention fused
# plait: model llama-3.1-8b

# environment
export CUDA_DEVICE_MAX_CONNECTIONS=1
export HCCL_CONNECT_TIMEOUT=3600
export HCCL_EXEC_TIMEOUT=3600
export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True

# model
--num-layers 32
--hidden-size 4096
--ffn-hidden-size 14336
--seq-length 8192
--max-position-embeddings 131072
--vocab-size 128256
--make-vocab-size-divisible-by 128
--untie-embeddings-and-output-weights

# attention and positions
--num-attention-heads 32
--kv-channels 128
--group-query-attention
--num-query-groups 8
--position-embedding-type rope
--rotary-base 500000

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
--pipeline-model-parallel-size 2
--num-layers-per-virtual-pipeline-stage 4
--context-parallel-size 1

# batch
--micro-batch-size 1
--global-batch-size 64

# optimizer
--optimizer adam
--use-distributed-optimizer
--ckpt-format torch
--no-gradient-accumulation-fusion

# overlap and kernels
--cross-entropy-loss-fusion
--no-masked-softmax-fusion

# precision
--bf16

# to edit: data, tokenizer, schedule, checkpoints
--mock-data
--tokenizer-type NullTokenizer
--train-iters 100
--lr 0.0003
--min-lr 2.9999999999999997e-05
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
--save checkpoints/llama-3-1-8b
--load checkpoints/llama-3-1-8b
--save-interval 1000
--manual-gc
--manual-gc-interval 100
--distributed-timeout-minutes 60

# MindSpeed
--rope-scaling-type llama3
--rope-scaling-factor 8
--low-freq-factor 1
--high-freq-factor 4
--original-max-position-embeddings 8192
--use-flash-attn

# kernels of Ascend
--transformer-impl local
--use-fused-rmsnorm
--use-fused-swiglu
--use-fused-rotary-pos-emb
--use-ascend-mc2
