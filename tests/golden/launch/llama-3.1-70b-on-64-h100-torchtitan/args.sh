# shellcheck shell=bash disable=SC2215
# args.sh - the plan of recipe.py as arguments of torchtitan.train
#
# plan of llama-3.1-70b on 64 x h100-80gb-sxm: tp 8, cp 1, pp 1, vpp 1, dp 8, ep 1, etp 1, ZeRO-3
# predicted: 18.63 s per step (80 % band: 16.09 to 22.64), 25.4 of 59.4 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         the configuration's dataset; --hf_assets_path
#   length       --training.steps: 100 steps to try the plan, 100 in the schedule
#   training     --training.max_norm, --lr_scheduler.*; the configuration sets the optimizer
#                published: Llama 3, arXiv 2407.21783, table 3; the schedule is published of the 405B alone
#                placeholders: final learning rate, learning rate decay, length, warm-up, betas, epsilon, weight decay, clipping
#   checkpoints  --checkpoint.*
#
# plait: gpus 64
# plait: runtime torchtitan
# plait: attention flash2
# plait: model llama-3.1-70b
# plait: precision bf16
# plait: vpp 1
# plait: split even
# plait: cp_comm allgather
# plait: etp 1

# model
--module llama3
--config llama3_70b

# parallelism
--parallelism.data_parallel_replicate_degree 1
--parallelism.data_parallel_shard_degree 8
--parallelism.fsdp_reshard_after_forward always
--parallelism.tensor_parallel_degree 8
--parallelism.enable_sequence_parallel
--parallelism.context_parallel_degree 1
--parallelism.pipeline_parallel_degree 1
--parallelism.expert_parallel_degree 1

# training
--training.num_tokens_per_microbatch_per_dp_rank 8192
--training.num_tokens_per_train_step 524288
--training.max_context_length 8192
--training.disable_cuda_graphs
--training.dtype float32
--training.mixed_precision_param bfloat16
--training.mixed_precision_reduce float32

# compile
--compile.enable
--compile.components model,loss
--compile.no-enable_async_tensor_parallel

# to edit: tokenizer, length, schedule, checkpoints
--hf_assets_path ./tests/assets/tokenizer
--training.steps 100
--training.max_norm 1
--lr_scheduler.warmup_steps 10
--lr_scheduler.total_steps 100
--lr_scheduler.decay_type cosine
--lr_scheduler.decay_ratio 0.9
--lr_scheduler.min_lr_factor 0.1
--checkpoint.enable
--checkpoint.folder checkpoints/llama-3-1-70b
--checkpoint.interval 1000

# recomputation of activations
activation-checkpoint:full
