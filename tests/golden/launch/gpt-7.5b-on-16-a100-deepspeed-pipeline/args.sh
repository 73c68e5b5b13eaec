# shellcheck shell=bash disable=SC2215
# args.sh - arguments of pretrain_gpt.py, one per line; run.sh reads them
#
# plan of gpt-7.5b on 16 x a100-80gb-sxm: tp 2, cp 1, pp 4, vpp 1, dp 2, ep 1, etp 2, ZeRO-1
# predicted: 4.715 s per step (80 % band: 4.123 to 5.561), 14.1 of 71.6 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         --data-path, --tokenizer-type; random tokens are not supported
#   length       --train-iters: 100 steps to try the plan, 100 in the schedule
#   training     --lr to --clip-grad; gradient_clipping in ds_config.json
#                published: no values
#                placeholders: learning rate, final learning rate, learning rate decay, length, warm-up, betas, epsilon, weight decay, clipping
#   checkpoints  --save, --load, --save-interval
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# plait: gpus 16
# plait: runtime megatron-deepspeed
# plait: attention unfused-softmax-kernel
# plait: model gpt-7.5b
# plait: split layout:Et*7|(t*10|)*2t*9L
# plait: grad_reduce fp32

# model
--num-layers 36
--hidden-size 4096
--ffn-hidden-size 16384
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 51200
--make-vocab-size-divisible-by 128

# attention and positions
--num-attention-heads 32
--kv-channels 128

# norms, activation, biases
--normalization layernorm
--layernorm-epsilon 1e-05
--hidden-dropout 0.1
--attention-dropout 0.1
--init-method-std 0.02

# parallelism
--tensor-model-parallel-size 2
--pipeline-model-parallel-size 4

# batch
--micro-batch-size 1
--global-batch-size 64

# memory
--recompute-granularity full
--recompute-method uniform
--recompute-num-layers 1

# DeepSpeed; run.sh adds --deepspeed_config
--deepspeed
--zero-stage 1

# kernels and precision
--bf16

# to edit: data, tokenizer, schedule, checkpoints
--data-path data/tokens_text_document
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
--save checkpoints/gpt-7-5b
--load checkpoints/gpt-7-5b
--save-interval 1000
--distributed-timeout-minutes 60
