# shellcheck shell=bash disable=SC2215
# args.sh - the plan of recipe.py as arguments of torchtitan.train
#
# plan of qwen3-30b-a3b on 64 x h100-80gb-sxm: tp 1, cp 1, pp 4, vpp 1, dp 16, ep 8, etp 1, ZeRO-3
# expected: 6.284 s a step (5.782 to 10.29), 28.6 of 75.1 GiB on the fullest GPU
# plait: gpus 64
# plait: runtime torchtitan
# plait: attention flash2
# plait: model qwen3-30b-a3b
# plait: precision bf16
# plait: vpp 1
# plait: split even
# plait: cp_comm allgather
# plait: etp 1

# model
--module qwen3
--config qwen3_30b_a3b

# parallelism
--parallelism.data_parallel_replicate_degree 1
--parallelism.data_parallel_shard_degree 16
--parallelism.fsdp_reshard_after_forward always
--parallelism.tensor_parallel_degree 1
--parallelism.context_parallel_degree 1
--parallelism.pipeline_parallel_degree 4
--parallelism.pipeline_parallel_schedule 1F1B
--parallelism.num_pp_microbatches 16
--parallelism.expert_parallel_degree 8

# training
--training.num_tokens_per_microbatch_per_dp_rank 8192
--training.num_tokens_per_train_step 2097152
--training.max_context_length 4096
--training.disable_cuda_graphs
--training.dtype float32
--training.mixed_precision_param bfloat16
--training.mixed_precision_reduce float32

# compile
--compile.enable
--compile.components model,loss
--compile.no-enable_async_tensor_parallel

# layers to stages
--parallelism.pipeline_parallel_first_stage_less_layers 0
--parallelism.pipeline_parallel_last_stage_less_layers 0

# yours to replace: tokenizer, length of the run
--hf_assets_path ./tests/assets/tokenizer
--training.steps 100

# what activations are recomputed
activation-checkpoint:full
