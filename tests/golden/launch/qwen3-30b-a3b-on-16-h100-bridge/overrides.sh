# shellcheck shell=bash disable=SC2034,SC2140,SC2211,SC2276,SC2288
# overrides.sh - KEY=VALUE of run_recipe.py, one per line; run.sh reads them
#
# plan of qwen3-30b-a3b on 16 x h100-80gb-sxm: tp 1, cp 1, pp 2, vpp 1, dp 8, ep 8, etp 1, ZeRO-1
# predicted: 19.83 s per step (80 % band: 17.12 to 25.69), 62.4 of 72.8 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         the recipe's dataset, random by default; with real data remove model.moe_router_force_load_balancing; tokenizer.tokenizer_type, with the vocabulary of the plan
#   length       train.train_iters: 100 steps to try the plan, 100 in the schedule
#   training     optimizer.*, scheduler.*
#                published: Qwen3, arXiv 2505.09388, section 2: load balancing over the global batch; its learning rates are not published
#                placeholders: learning rate, final learning rate, learning rate decay, length, warm-up, betas, epsilon, weight decay, clipping
#   checkpoints  checkpoint.save, checkpoint.load, checkpoint.save_interval
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# The recipe builds the model: 48 layers, hidden 2048; the vocabulary, 151936, is set here.
# plait: gpus 16
# plait: runtime megatron
# plait: attention fused
# plait: model qwen3-30b-a3b

# parallelism
model.tensor_model_parallel_size=1
model.sequence_parallel=false
model.pipeline_model_parallel_size=2
model.virtual_pipeline_model_parallel_size=null
model.pipeline_model_parallel_layout=null
model.num_layers_in_first_pipeline_stage=null
model.num_layers_in_last_pipeline_stage=null
model.account_for_embedding_in_pipeline_split=false
model.account_for_loss_in_pipeline_split=false
model.context_parallel_size=1
model.cp_comm_type=null
model.expert_model_parallel_size=8
model.expert_tensor_parallel_size=1
dist.use_tp_pp_dp_mapping=false

# batch
train.micro_batch_size=1
train.global_batch_size=512
dataset.seq_length=4096

# memory
model.recompute_granularity=null
model.recompute_method=null
model.recompute_num_layers=null
model.recompute_modules=null
model.cpu_offloading=false
model.fine_grained_activation_offloading=false

# optimizer
optimizer.optimizer=adam
optimizer.use_precision_aware_optimizer=false
optimizer.main_params_dtype=torch.float32
optimizer.main_grads_dtype=torch.float32
optimizer.exp_avg_dtype=torch.float32
optimizer.exp_avg_sq_dtype=torch.float32
optimizer.optimizer_cpu_offload=false
optimizer.use_distributed_optimizer=true
ddp.use_distributed_optimizer=true
ddp.num_distributed_optimizer_instances=1
ddp.use_megatron_fsdp=false
ddp.data_parallel_sharding_strategy=no_shard
checkpoint.ckpt_format=torch_dist

# overlap
comm_overlap=null
ddp.overlap_grad_reduce=true
ddp.overlap_param_gather=true
optimizer.overlap_param_gather_with_optimizer_step=false
ddp.align_param_gather=false
model.tp_comm_overlap=false
model.overlap_p2p_comm=false
model.batch_p2p_comm=true
model.overlap_moe_expert_parallel_comm=false
model.delay_wgrad_compute=false

# kernels
model.attention_backend=null
model.masked_softmax_fusion=true
model.cross_entropy_loss_fusion=true
model.cuda_graph_impl="none"
model.moe_grouped_gemm=true
model.moe_permute_fusion=true
model.moe_router_fusion=true
model.moe_router_force_load_balancing=true
model.moe_token_dispatcher_type=alltoall
model.moe_enable_deepep=false
model.moe_shared_expert_overlap=false
model.moe_router_padding_for_quantization=false
model.use_transformer_engine_op_fuser=false
model.moe_mlp_glu_interleave_size=null
model.moe_paged_stash=false

# precision
mixed_precision=bf16_mixed

# vocabulary; the recipe reads it from the tokenizer
tokenizer.tokenizer_type=NullTokenizer
tokenizer.vocab_size=151936
tokenizer.use_tokenizer_vocab_size=true
model.vocab_size=151936
model.make_vocab_size_divisible_by=128

# to edit: schedule, checkpoints; the recipe sets the data
train.train_iters=100
optimizer.lr=0.0001
optimizer.min_lr=1e-05
optimizer.adam_beta1=0.9
optimizer.adam_beta2=0.95
optimizer.adam_eps=1e-08
optimizer.weight_decay=0.1
optimizer.clip_grad=1
scheduler.lr_decay_style=cosine
scheduler.lr_wsd_decay_style=exponential
scheduler.lr_wsd_decay_iters=null
scheduler.lr_decay_iters=100
scheduler.lr_warmup_iters=10
model.moe_router_load_balancing_type="global_aux_loss"
model.moe_aux_loss_coeff=0.001
model.moe_router_bias_update_rate=0.001
validation.eval_iters=0
logger.log_interval=1
checkpoint.save=checkpoints/qwen3-30b-a3b
checkpoint.load=checkpoints/qwen3-30b-a3b
checkpoint.save_interval=1000
train.manual_gc=true
train.manual_gc_interval=100
dist.distributed_timeout_minutes=60
