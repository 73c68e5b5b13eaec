# shellcheck shell=bash disable=SC2215
# args.sh - arguments of MindSpeed-LLM's pretrain_gpt.py, one per line; run.sh reads them
#
# plan of deepseek-v3 on 1024 x ascend-910b-64gb: tp 2, cp 2, pp 8, vpp 1, dp 32, ep 64, etp 2, ZeRO-1
# predicted: 258.3 s per step (80 % band: 221.4 to 328.4), 25.4 of 55.2 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         random tokens: --mock-data, --tokenizer-type
#   length       --train-iters: 100 steps to try the plan, 454585 in the schedule
#   training     --lr to --clip-grad
#                published: DeepSeek-V3, arXiv 2412.19437, section 4.2: 2.2e-4 until 10 T tokens, then a cosine over 4.3 T; gamma 0.001 and lambda 0.3 of the first stage
#                placeholders: epsilon
#   checkpoints  --save, --load, --save-interval
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# plait: gpus 1024
# plait: runtime mindspeed
# plait: attention fused
# plait: model deepseek-v3

# environment
export CUDA_DEVICE_MAX_CONNECTIONS=1
export HCCL_CONNECT_TIMEOUT=3600
export HCCL_EXEC_TIMEOUT=3600
export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True

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
--tensor-model-parallel-size 2
--sequence-parallel
--pipeline-model-parallel-size 8
--decoder-first-pipeline-num-layers 7
--decoder-last-pipeline-num-layers 6
--context-parallel-size 2
--expert-model-parallel-size 64
--expert-tensor-parallel-size 2

# batch
--micro-batch-size 1
--global-batch-size 7680

# memory
--recompute-granularity full
--recompute-method uniform
--recompute-num-layers 1

# optimizer
--optimizer adam
--use-distributed-optimizer
--ckpt-format torch
--no-gradient-accumulation-fusion

# overlap and kernels
--cross-entropy-loss-fusion
--moe-grouped-gemm
--moe-permute-fusion
--moe-token-dispatcher-type alltoall
--no-masked-softmax-fusion

# precision
--bf16

# to edit: data, tokenizer, schedule, checkpoints
--mock-data
--tokenizer-type NullTokenizer
--train-iters 100
--lr 0.00022
--min-lr 2.2e-05
--lr-decay-style WSD
--lr-wsd-decay-style cosine
--lr-wsd-decay-iters 136694
--lr-decay-iters 454585
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

# MindSpeed
--spec mindspeed_llm.tasks.models.spec.deepseek_spec layer_spec
--rope-scaling-type yarn
--rope-scaling-factor 40
--beta-fast 32
--beta-slow 1
--rope-scaling-mscale 1
--rope-scaling-mscale-all-dim 1
--rope-scaling-original-max-position-embeddings 4096
--first-k-dense-replace 3
--moe-layer-freq 1
--use-flash-attn
--context-parallel-algo kvallgather_cp_algo

# kernels of Ascend
--transformer-impl local
--use-fused-rmsnorm
--use-fused-swiglu
--use-fused-rotary-pos-emb
