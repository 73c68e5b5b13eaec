# shellcheck shell=bash disable=SC2215
# args.sh - the plan of recipe.py as arguments of torchtitan.train
#
# llama-3.1-8b on 16 x h100-80gb-sxm: tp 2, cp 1, pp 2, vpp 7, dp 4, ep 1, etp 1, ZeRO-2
# expected: 1.087 s a step (1.031 to 1.727), 72.6 of 75.1 GiB on the fullest GPU
# plait: gpus 16
# plait: runtime torchtitan
# plait: attention flash2
# plait: model llama-3.1-8b
# plait: precision bf16
# plait: vpp 7
# plait: split spread
# plait: cp_comm allgather
# plait: etp 1
#
# The folder of recipe.py has to be on PYTHONPATH.

# model
--module recipe
--config plan

# parallelism
--parallelism.data_parallel_replicate_degree 1
--parallelism.data_parallel_shard_degree 4
--parallelism.fsdp_reshard_after_forward never
--parallelism.tensor_parallel_degree 2
--parallelism.enable_sequence_parallel
--parallelism.context_parallel_degree 1
--parallelism.pipeline_parallel_degree 2
--parallelism.pipeline_parallel_schedule Interleaved1F1B
--parallelism.num_pp_microbatches 2
--parallelism.expert_parallel_degree 1

# training
--training.num_tokens_per_microbatch_per_dp_rank 16384
--training.num_tokens_per_train_step 131072
--training.max_context_length 4096
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
activation-checkpoint:none
