#!/usr/bin/python3 -ISB
"""fakes.py FILE - runs a Python file of a launch folder, with stand-ins for its libraries

The file runs as `python FILE` would run it, once for each rank in $RANKS, and what it hands to its
libraries is printed as JSON.
"""
import importlib.abc
import importlib.machinery
import json
import os
import runpy
import sys
import types

calls = []


class Fake:
    """Any class, function or value: calls are noted, attributes are made when they are read."""

    def __init__(self, name, keywords=None):
        self.__dict__.update(_name=name, _keywords=keywords or {})

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._keywords.get(name, Fake(f"{self._name}.{name}"))

    def __call__(self, *words, **keywords):
        if keywords:
            calls.append([self._name, {key: plain(value) for key, value in keywords.items()}])
        return Fake(self._name, keywords)

    def __getitem__(self, key):
        return Fake(f"{self._name}[]")

    def __mro_entries__(self, bases):
        return (Module,)


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(type(value))


class Module:
    """torch.nn.Module"""

    def to(self, *words):
        return self

    def parameters(self):
        return []


class ModuleDict(dict, Module):
    pass


class PipelineModule:
    """deepspeed.pipe.PipelineModule, with a layer for each spec"""

    def __init__(self, specs, rank):
        class Place:
            pipe = rank

        self._topo = types.SimpleNamespace(get_dim=lambda _: int(os.environ["STAGES"]),
                                           get_coord=lambda _: Place)
        self._layer_specs, self.global_rank = specs, rank
        self._partition_layers("parameters")

    def _set_bounds(self, start, stop):
        calls.append(["stage", [start, stop]])


class Schedule:
    """torch.distributed.pipelining.schedules._PipelineScheduleRuntime"""

    def __init__(self, stages, microbatches, loss_fn):
        self.stages, self.microbatches = stages, microbatches

    def _load_csv(self, path):
        with open(path) as file:
            rows = [line.strip().split(",") for line in file]
        calls.append(["schedule", {"rows": rows, "microbatches": self.microbatches,
                                   "stages": self.stages}])

    def step(self, *inputs, **last):
        calls.append(["step", {"inputs": len(inputs), "last": sorted(last)}])


class Stage(int):
    """torch.distributed.pipelining.PipelineStage, as its number"""

    def __new__(cls, module, index, count, device, group):
        stage = super().__new__(cls, index)
        stage.is_first, stage.is_last = index == 0, index == count - 1
        return stage


def device_mesh(device, shape, mesh_dim_names):
    """Coordinates of a rank, with the last axis innermost."""
    rank, axes = int(os.environ["RANK"]), {}
    calls.append(["mesh", dict(zip(mesh_dim_names, shape))])
    for name, size in reversed(list(zip(mesh_dim_names, shape))):
        axes[name], rank = rank % size, rank // size

    def axis(index):
        return types.SimpleNamespace(get_local_rank=lambda: index, get_group=lambda: "group")

    return {name: axis(index) for name, index in axes.items()}


KNOWN = {
    "torch.distributed.device_mesh": {"init_device_mesh": device_mesh},
    "torch.distributed.fsdp": {"fully_shard": lambda module, **_: module},
    "torch.distributed.pipelining": {"PipelineStage": Stage},
    "torch.distributed.pipelining.schedules": {"_PipelineScheduleRuntime": Schedule},
    "deepspeed.pipe": {"PipelineModule": PipelineModule},
}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ("torch", "torchtitan", "deepspeed"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        class Library(types.ModuleType):
            def __getattr__(self, name):
                if name.startswith("__"):
                    raise AttributeError(name)
                return Fake(f"{spec.name}.{name}")

        module = Library(spec.name)
        module.__dict__.update(KNOWN.get(spec.name, {}))
        if spec.name == "torch":
            module.nn = types.SimpleNamespace(
                Module=Module, ModuleDict=ModuleDict, LayerNorm=lambda *_: Module(),
                Linear=lambda *_, **__: Module(), Embedding=lambda *_: Module())
        return module

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())
file, words = sys.argv[1], sys.argv[2:]
sys.argv = [file, *words]
sys.path.insert(0, os.path.dirname(file))
if os.path.basename(file) == "recipe.py":
    found = runpy.run_path(file)
    found["plan"]()
else:
    for rank in os.environ["RANKS"].split():
        os.environ["RANK"] = os.environ["LOCAL_RANK"] = rank
        sys.argv = [file, *words]
        runpy.run_path(file, run_name="__main__")
json.dump(calls, sys.stdout)
