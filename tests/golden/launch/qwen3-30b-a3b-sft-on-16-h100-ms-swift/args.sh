# shellcheck shell=bash disable=SC2215
# args.sh - arguments of ms-swift, one per line; run.sh reads them
#
# plan of qwen3-30b-a3b on 16 x h100-80gb-sxm: tp 2, cp 1, pp 1, vpp 1, dp 8, ep 8, etp 2, ZeRO-1
# predicted: 7.19 s per step (80 % band: 6.208 to 9.316), 39.4 of 72.8 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         --dataset
#   training     --lr to --clip_grad, --lora_alpha: usual values
#   length       --train_iters, --save_steps, --output_dir
#
# plait: gpus 16
# plait: runtime megatron
# plait: attention fused
# plait: model qwen3-30b-a3b
# plait: job sft

# environment
export CUDA_DEVICE_MAX_CONNECTIONS=1
export TORCH_NCCL_AVOID_RECORD_STREAMS=1
export PYTORCH_ALLOC_CONF=expandable_segments:True

# model and job
--model Qwen/Qwen3-30B-A3B
--tuner_type full

# data
--dataset AI-ModelScope/alpaca-gpt4-data-en
--max_length 4096
--packing true

# optimizer and length
--lr 1.0e-05
--lr_decay_style cosine
--lr_warmup_iters 10
--adam_beta1 0.9
--adam_beta2 0.95
--adam_eps 1.0e-08
--weight_decay 0.1
--clip_grad 1
--train_iters 100
--save_steps 1000
--output_dir checkpoints/qwen3-30b-a3b

# plan
--tensor_model_parallel_size 2
--sequence_parallel true
--pipeline_model_parallel_size 1
--account_for_embedding_in_pipeline_split false
--account_for_loss_in_pipeline_split false
--context_parallel_size 1
--expert_model_parallel_size 8
--expert_tensor_parallel_size 2
--micro_batch_size 1
--global_batch_size 64
--recompute_method uniform
--recompute_num_layers 1
--optimizer adam
--use_distributed_optimizer true
--optimizer_cpu_offload false
--use_precision_aware_optimizer false
--use_megatron_fsdp false
--overlap_grad_reduce true
--overlap_param_gather true
--overlap_param_gather_with_optimizer_step false
--tp_comm_overlap false
--attention_backend fused
--masked_softmax_fusion true
--cross_entropy_loss_fusion true
--gradient_accumulation_fusion true
--moe_grouped_gemm true
--moe_permute_fusion true
--moe_token_dispatcher_type alltoall
--moe_pad_expert_input_to_capacity false
--te_rng_tracker false
--fp16 false
--bf16 true
--recompute_granularity full
--moe_enable_deepep false
