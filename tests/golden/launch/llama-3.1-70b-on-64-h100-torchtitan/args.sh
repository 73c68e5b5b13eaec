# shellcheck shell=bash disable=SC2215
# args.sh - the plan of recipe.py as arguments of torchtitan.train
#
# plan of llama-3.1-70b on 64 x h100-80gb-sxm: tp 8, cp 1, pp 1, vpp 1, dp 8, ep 1, etp 1, ZeRO-3
# expected: 23.37 s a step (22.16 to 37.13), 35.5 of 75.1 GiB on the fullest GPU
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

# yours to replace: tokenizer, length of the run
--hf_assets_path ./tests/assets/tokenizer
--training.steps 100

# what activations are recomputed
activation-checkpoint:full
