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
# THE PLAN


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
