# recipe.py - a plan for torchtitan.train --module recipe --config plan
#
# plan of llama-3.1-70b on 64 x h100-80gb-sxm: tp 8, cp 1, pp 1, vpp 1, dp 8, ep 1, etp 1, ZeRO-3
# predicted: 17.84 s per step (80 % band: 15.41 to 21.68), 25.4 of 59.4 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         torchtitan's test data: dataloader, hf_assets_path
#   length       training.steps: 100 steps to try the plan, 100 in the schedule
#   training     optimizer, lr_scheduler, training.max_norm
#                published: Llama 3, arXiv 2407.21783, table 3; the schedule is published of the 405B alone
#                placeholders: final learning rate, learning rate decay, length, warm-up, betas, epsilon, weight decay, clipping
#   checkpoints  checkpoint
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
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

from torchtitan.components.checkpointer import CheckpointManager
from torchtitan.components.data import ConcatThenSplitPackingConfig, GrainDataLoader
from torchtitan.components.loss import ChunkedLossWrapper, CrossEntropyLoss
from torchtitan.components.metrics import MetricsProcessor
from torchtitan.components.optimizer import LRSchedulersContainer, default_adamw
from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig
from torchtitan.distributed.activation_checkpoint import FullAC
from torchtitan.hf_datasets.text_datasets import DATASETS
from torchtitan.models.llama3 import model_registry
from torchtitan.protocols.model_spec import ModelSpec
from torchtitan.trainer import Trainer


def model() -> ModelSpec:
    spec = model_registry(
        "70B",
        attn_backend="flex",
    )
    return spec


def plan() -> Trainer.Config:
    spec = model()
    return Trainer.Config(
        model_spec=spec,
        loss=ChunkedLossWrapper.Config(
            loss_fn=CrossEntropyLoss.Config(global_vocab_size=spec.model.vocab_size),
        ),
        parallelism=ParallelismConfig(
            data_parallel_replicate_degree=1,
            data_parallel_shard_degree=8,
            fsdp_reshard_after_forward="always",
            tensor_parallel_degree=8,
            enable_sequence_parallel=True,
            context_parallel_degree=1,
            pipeline_parallel_degree=1,
            expert_parallel_degree=1,
        ),
        training=TrainingConfig(
            num_tokens_per_microbatch_per_dp_rank=8192,
            num_tokens_per_train_step=524288,
            max_context_length=8192,
            disable_cuda_graphs=True,
            dtype="float32",
            mixed_precision_param="bfloat16",
            mixed_precision_reduce="float32",
            steps=100,
            max_norm=1,
        ),
        compile=CompileConfig(
            enable=True,
            components=["model", "loss"],
            enable_async_tensor_parallel=True,
        ),
        activation_checkpoint=FullAC.Config(),
        # to edit: data, tokenizer, learning rate, checkpoints
        hf_assets_path="./tests/assets/tokenizer",
        dataloader=GrainDataLoader.Config(
            dataset=ConcatThenSplitPackingConfig(dataset=DATASETS["c4_test"]),
        ),
        metrics=MetricsProcessor.Config(log_freq=1),
        optimizer=default_adamw(
            lr=0.00015, betas=(0.9, 0.95), eps=1e-08, weight_decay=0.1
        ),
        lr_scheduler=LRSchedulersContainer.Config(
            warmup_steps=10,
            total_steps=100,
            decay_type="cosine",
            decay_ratio=0.9,
            min_lr_factor=0.1,
        ),
        checkpoint=CheckpointManager.Config(
            enable=True, folder="checkpoints/llama-3-1-70b", interval=1000
        ),
    )
