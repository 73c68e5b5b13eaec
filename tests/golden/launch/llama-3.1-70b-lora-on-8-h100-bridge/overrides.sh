# shellcheck shell=bash disable=SC2034,SC2140,SC2211,SC2276,SC2288
# overrides.sh - KEY=VALUE of run_recipe.py, one per line; run.sh reads them
#
# plan of llama-3.1-70b on 8 x h100-80gb-sxm: tp 4, cp 1, pp 2, vpp 1, dp 1, ep 1, etp 4, ZeRO-1
# predicted: 13.4 s per step (80 % band: 11.51 to 15.72), 39.1 of 72.8 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         the recipe's dataset (SQuAD); checkpoint.pretrained_checkpoint, weights that Megatron-Bridge has imported
#   length       train.train_iters: 100 steps to try the plan, 100 in the schedule
#   training     optimizer.*, scheduler.*
#                published: Llama 3, arXiv 2407.21783, table 3; the schedule is published of the 405B alone
#                placeholders: final learning rate, learning rate decay, length, warm-up, betas, epsilon, weight decay, clipping
#   checkpoints  checkpoint.save, checkpoint.load, checkpoint.save_interval
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# The recipe builds the model: 80 layers, hidden 8192, vocabulary 128256.
# plait: gpus 8
# plait: runtime megatron
# plait: attention fused
# plait: model llama-3.1-70b
# plait: job lora

# parallelism
model.tensor_model_parallel_size=4
model.sequence_parallel=true
model.pipeline_model_parallel_size=2
model.virtual_pipeline_model_parallel_size=null
model.pipeline_model_parallel_layout=null
model.num_layers_in_first_pipeline_stage=null
model.num_layers_in_last_pipeline_stage=null
model.account_for_embedding_in_pipeline_split=false
model.account_for_loss_in_pipeline_split=false
model.context_parallel_size=1
model.cp_comm_type=null
dist.use_tp_pp_dp_mapping=false

# batch
train.micro_batch_size=1
train.global_batch_size=32
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

# precision
mixed_precision=bf16_mixed

# to edit: schedule, checkpoints; the recipe sets the data
train.train_iters=100
optimizer.lr=0.0001
optimizer.min_lr=0
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
validation.eval_iters=0
logger.log_interval=1
checkpoint.save=checkpoints/llama-3-1-70b
checkpoint.load=checkpoints/llama-3-1-70b
checkpoint.save_interval=1000
train.manual_gc=true
train.manual_gc_interval=100
dist.distributed_timeout_minutes=60

# fine-tuning
checkpoint.pretrained_checkpoint=pretrained/llama-3-1-70b
dataset.enable_offline_packing=true
peft.dim=16
peft.alpha=32
peft.target_modules=["linear_qkv","linear_proj","linear_fc1","linear_fc2"]
