# pipeline.py - one step of schedule.csv by torch.distributed.pipelining; run.sh starts it
#
# plan of gpt2-xl on 8 x a100-80gb-sxm: tp 1, cp 1, pp 4, vpp 1, dp 2, ep 1, etp 1, ZeRO-1
# predicted: 0.834 s per step (80 % band: 0.7191 to 0.9819), 16.2 of 72.8 GiB on the fullest GPU
#
# To edit before a real run; the plan sets everything else:
#   data         random tokens in batch(); placeholder layers in build_stage() and parallelize()
#   training     OPTIMIZER; the learning rate is constant
#                published: no values
#                placeholders: learning rate, final learning rate, learning rate decay, length, warm-up, betas, epsilon, weight decay, clipping
#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, network
#
# The layers are placeholders with the model's width: replace build_stage, parallelize and batch.
# The names in STAGES are torchtitan's; adapt them to your model. Data parallelism is fully_shard,
# which shards all state, for any ZeRO stage of the plan.
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

# The plan: ranks along each axis, outermost first, and the modules of each stage.
MESH = {"pp": 4, "dp": 2, "cp": 1, "tp": 1}
STAGES = [
    ["tok_embeddings", "layers.0", "layers.1", "layers.2", "layers.3", "layers.4", "layers.5", "layers.6", "layers.7", "layers.8", "layers.9", "layers.10", "layers.11"],
    ["layers.12", "layers.13", "layers.14", "layers.15", "layers.16", "layers.17", "layers.18", "layers.19", "layers.20", "layers.21", "layers.22", "layers.23"],
    ["layers.24", "layers.25", "layers.26", "layers.27", "layers.28", "layers.29", "layers.30", "layers.31", "layers.32", "layers.33", "layers.34", "layers.35"],
    ["layers.36", "layers.37", "layers.38", "layers.39", "layers.40", "layers.41", "layers.42", "layers.43", "layers.44", "layers.45", "layers.46", "layers.47", "norm", "output"],
]
MICROBATCHES = 8
MICROBATCH = 4  # sequences
SEQUENCE = 1024
RESHARD = False  # reshard parameters after forward: ZeRO-1
HIDDEN, VOCAB = 1600, 50257
OPTIMIZER = {"lr": 0.0001, "betas": (0.9, 0.95), "eps": 1e-08, "weight_decay": 0.1}


class Layer(nn.Module):
    """A placeholder for one layer, with inputs and outputs of equal width."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(HIDDEN)
        self.mlp = nn.Linear(HIDDEN, HIDDEN, bias=False)

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Stage(nn.Module):
    """The modules that `names` lists, under their names in the whole model."""

    def __init__(self, names):
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCAB, HIDDEN) if "tok_embeddings" in names else None
        self.layers = nn.ModuleDict(
            {n.replace(".", "_"): Layer() for n in names if n.startswith(("layers.", "mtp."))}
        )
        self.norm = nn.LayerNorm(HIDDEN) if "norm" in names else None
        self.output = nn.Linear(HIDDEN, VOCAB, bias=False) if "output" in names else None

    def forward(self, x):
        if self.tok_embeddings is not None:
            x = self.tok_embeddings(x)
        for layer in self.layers.values():
            x = layer(x)
        if self.norm is not None:
            x = self.norm(x)
        return self.output(x) if self.output is not None else x


def build_stage(names, device):
    """Replace: build your model and keep only the modules in `names`."""
    return Stage(names).to(device, torch.bfloat16)


def parallelize(module, mesh):
    """Replace: add tensor, context and expert parallelism, and recomputation."""
    if MESH["dp"] == 1:
        return module
    for layer in module.layers.values():
        fully_shard(layer, mesh=mesh["dp"], reshard_after_forward=RESHARD)
    return fully_shard(module, mesh=mesh["dp"], reshard_after_forward=RESHARD)


def batch(mesh, device):
    """Replace: the sequences of one data-parallel rank, the same on all stages of a pipeline."""
    seed = torch.Generator().manual_seed(mesh["dp"].get_local_rank())
    shape = (MICROBATCHES * MICROBATCH, SEQUENCE // MESH["cp"] + 1)
    tokens = torch.randint(VOCAB, shape, generator=seed).to(device)
    return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


def loss_of(logits, targets):
    return nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    mesh = init_device_mesh("cuda", tuple(MESH.values()), mesh_dim_names=tuple(MESH))

    own = range(mesh["pp"].get_local_rank(), len(STAGES), MESH["pp"])
    modules = [parallelize(build_stage(STAGES[s], device), mesh) for s in own]
    stages = [
        PipelineStage(module, s, len(STAGES), device, group=mesh["pp"].get_group())
        for s, module in zip(own, modules)
    ]
    schedule = _PipelineScheduleRuntime(stages, MICROBATCHES, loss_fn=loss_of)
    schedule._load_csv(os.path.join(os.path.dirname(os.path.abspath(__file__)), "schedule.csv"))
    optimizer = torch.optim.AdamW(
        [p for module in modules for p in module.parameters()], **OPTIMIZER
    )

    tokens, targets = batch(mesh, device)
    inputs = (tokens,) if stages[0].is_first else ()
    losses = []
    last = {"target": targets, "losses": losses} if stages[-1].is_last else {}
    for step in range(int(os.environ.get("STEPS", "1"))):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        schedule.step(*inputs, **last)
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        if losses:
            took = time.perf_counter() - begin
            print(f"step {step}: loss {torch.stack(losses).mean().item():.4f}, {took:.3f} s")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
