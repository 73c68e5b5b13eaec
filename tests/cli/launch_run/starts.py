"""starts.py - what the scripts of each target have to start, and what its files have to say

Everything here follows from the plan, and from the formats of the runtimes.
"""
import json
import os
import re
import shlex
import tomllib

from hydra import overrides, resolve
from sandbox import documents, expect

CHECKOUTS = ["MEGATRON", "BRIDGE", "TORCHTITAN", "GALVATRON", "MINDSPEED_LLM", "MAXTEXT",
             "FLAGSCALE", "NEMO_RL"]


def lines(path):
    """The arguments and the environment of args.sh, as a shell would read them."""
    args, env = [], {}
    with open(path) as file:
        for line in file:
            words = shlex.split(line, comments=True)
            if words[:1] == ["export"]:
                env.update(word.split("=", 1) for word in words[1:])
            else:
                args += words
    return args, env


def flags(argv):
    """Options as a mapping; a switch is True."""
    found, name = {}, None
    for word in argv:
        if re.match(r"--?[A-Za-z]", word):
            name, _, value = word.lstrip("-").replace("-", "_").partition("=")
            found[name] = value or True
        elif name is not None:
            found[name] = word if found[name] is True else f"{found[name]} {word}"
    return found


def number(value):
    return int(value) if str(value).lstrip("-").isdigit() else value


class Plan:
    """Degrees and places of the first plan of a document of `plait eval`."""

    def __init__(self, path):
        with open(path) as file:
            document = json.load(file)
        self.chosen = document["plans"][0]
        for key in ("tp", "pp", "vpp", "cp", "dp", "ep", "etp", "mbs", "gbs", "microbatches"):
            setattr(self, key, self.chosen[key])
        self.model = document["model"]["name"]
        self.moe = any("moe" in kind for kind in document["model"]["kinds"].values())
        self.gpus = self.tp * self.pp * self.cp * self.dp
        node = document["cluster"]["groups"][0]["accelerator"]["node"]["accelerators"]
        cluster = re.search(r":([0-9]+)x([0-9]+)$", document["cluster"]["name"])
        node = int(cluster.group(2)) if cluster else node
        self.per_node = min(self.gpus, node)
        self.nodes = self.gpus // self.per_node
        self.layers = [[chunk["layers"][1] - chunk["layers"][0] for chunk in stage["chunks"]]
                       for stage in self.chosen["stages"]]
        expect(self.gbs == self.mbs * self.dp * self.microbatches, "the batch of the plan")

    def same(self, found, where, **names):
        """Compare numbers of a file with those of the plan; None: the file may leave it out."""
        for key, value in names.items():
            wanted = getattr(self, key)
            expect(number(found.get(value, 1)) == wanted, where, value, "is", found.get(value),
                   "expected", wanted)


class Node:
    """The place of a start: the rank of the node, its folder, and the variables of the user."""

    def __init__(self, rank, head, port, here, checkout, extra, user):
        self.rank, self.head, self.port, self.here = str(rank), head, port, here
        self.checkout, self.extra, self.user = checkout, extra, user


def torchrun(plan, node):
    return ["--nnodes", str(plan.nodes), "--nproc_per_node", str(plan.per_node), "--node_rank",
            node.rank, "--master_addr", node.head, "--master_port", node.port]


def accelerate(plan, node, config):
    return ["launch", "--config_file", config, "--num_machines", str(plan.nodes),
            "--num_processes", str(plan.gpus), "--machine_rank", node.rank, "--main_process_ip",
            node.head, "--main_process_port", node.port]


MEGATRON = {"tp": "tensor_model_parallel_size", "pp": "pipeline_model_parallel_size",
            "cp": "context_parallel_size", "ep": "expert_model_parallel_size",
            "mbs": "micro_batch_size", "gbs": "global_batch_size"}


def of_megatron(script):
    def start(plan, node, env):
        args, exported = lines(os.path.join(node.here, "args.sh"))
        plan.same(flags(args), "args.sh", **MEGATRON)
        connections = exported.get("CUDA_DEVICE_MAX_CONNECTIONS", "1")
        several = plan.ep > 1 or "use_megatron_fsdp" in flags(args)
        expect(connections.isdigit() and (several or connections == "1"),
               "CUDA_DEVICE_MAX_CONNECTIONS", connections)
        return "torchrun", torchrun(plan, node) + [script, *args], exported, node.checkout
    return start


def bridge(plan, node, env):
    args, exported = lines(os.path.join(node.here, "overrides.sh"))
    set_ = {k.rpartition(".")[2]: v for k, v in overrides(args, env).items()}
    plan.same(set_, "overrides.sh", **MEGATRON)
    exported["CUDA_DEVICE_MAX_CONNECTIONS"] = env.get("CUDA_DEVICE_MAX_CONNECTIONS", "")
    expect(exported["CUDA_DEVICE_MAX_CONNECTIONS"].isdigit(), "no CUDA_DEVICE_MAX_CONNECTIONS")
    recipe = ["--recipe", node.user["RECIPE"]]
    return ("torchrun", torchrun(plan, node) + ["scripts/training/run_recipe.py", *recipe,
                                                *("++" + arg for arg in args)],
            exported, node.checkout)


TITAN = {"tp": "tensor_parallel_degree", "pp": "pipeline_parallel_degree",
         "cp": "context_parallel_degree", "ep": "expert_parallel_degree"}


def torchtitan(plan, node, env):
    given = flags(lines(os.path.join(node.here, "args.sh"))[0])
    plan.same({k.partition(".")[2]: v for k, v in given.items() if k.startswith("parallelism.")},
              "args.sh", **TITAN)
    toml = os.path.join(node.here, "config.toml")
    if os.path.exists(toml):
        with open(toml, "rb") as file:
            plan.same(tomllib.load(file)["parallelism"], "config.toml", **TITAN)
    return ("torchrun",
            torchrun(plan, node) + ["-m", "torchtitan.train", "--module", "recipe", "--config",
                                    "plan"],
            {"PYTHONPATH": node.here, "PYTORCH_ALLOC_CONF": "expandable_segments:True"},
            node.checkout)


def deepspeed(plan, node, env):
    config = os.path.join(node.here, "ds_config.json")
    with open(config) as file:
        found = json.load(file)
    plan.same(found, config, gbs="train_batch_size", mbs="train_micro_batch_size_per_gpu",
              microbatches="gradient_accumulation_steps")
    return ("torchrun",
            torchrun(plan, node) + [node.user["TRAIN"], "--deepspeed", "--deepspeed_config",
                                    config],
            {}, None)


def deepspeed_pipeline(plan, node, env):
    args, exported = lines(os.path.join(node.here, "args.sh"))
    plan.same(flags(args), "args.sh", **MEGATRON)
    config = os.path.join(node.here, "ds_config.json")
    with open(config) as file:
        plan.same(json.load(file), config, gbs="train_batch_size",
                  mbs="train_micro_batch_size_per_gpu")
    return ("torchrun",
            torchrun(plan, node) + [os.path.join(node.here, "partition.py"), "pretrain_gpt.py",
                                    "--deepspeed_config", config, *args],
            exported, node.checkout)


def plain_accelerate(plan, node, env):
    config = os.path.join(node.here, "accelerate.yaml")
    (found,) = documents(config)
    plan.same(found, config, nodes="num_machines", gpus="num_processes")
    return ("accelerate", accelerate(plan, node, config) + [node.user["TRAIN"]],
            {"ACCELERATE_GRADIENT_ACCUMULATION_STEPS": str(plan.microbatches)}, None)


def trainer(kind, by_fsdp, by_deepspeed):
    """TRL and LLaMA-Factory: a file of arguments, and a file of accelerate or DeepSpeed."""
    def start(plan, node, env):
        name = f"{kind}.yaml"
        (found,) = documents(os.path.join(node.here, name))
        plan.same(found, name, mbs="per_device_train_batch_size",
                  microbatches="gradient_accumulation_steps")
        if "deepspeed" in found:
            with open(os.path.join(node.here, found["deepspeed"])) as file:
                expect(json.load(file)["zero_optimization"]["stage"] == plan.chosen["zero"], "ZeRO")
        else:
            (config,) = documents(os.path.join(node.here, "accelerate.yaml"))
            plan.same(config, "accelerate.yaml", nodes="num_machines", gpus="num_processes")
        program, argv, exported = (by_deepspeed if "deepspeed" in found else by_fsdp)(plan, node, name)
        return program, argv, exported, node.here
    return start


def by_torchrun(plan, node):
    return {"FORCE_TORCHRUN": "1", "NNODES": str(plan.nodes), "NODE_RANK": node.rank,
            "MASTER_ADDR": node.head, "MASTER_PORT": node.port, "NPROC_PER_NODE": str(plan.per_node)}


def trl_fsdp(plan, node, name):
    kind = name.partition(".")[0]
    return ("accelerate", accelerate(plan, node, "accelerate.yaml") +
            ["--module", f"trl.scripts.{kind}", "--config", name], {})


def trl_deepspeed(plan, node, name):
    kind = name.partition(".")[0]
    return "torchrun", torchrun(plan, node) + ["--module", f"trl.scripts.{kind}", "--config", name], {}


def factory_fsdp(plan, node, name):
    return ("accelerate", accelerate(plan, node, "accelerate.yaml") +
            ["--module", "llamafactory.launcher", name], {})


def factory_deepspeed(plan, node, name):
    return "llamafactory-cli", ["train", name], by_torchrun(plan, node)


def torchtune(plan, node, env):
    (found,) = documents(os.path.join(node.here, "torchtune.yaml"))
    plan.same(found, "torchtune.yaml", mbs="batch_size", microbatches="gradient_accumulation_steps")
    return ("tune", ["run", *torchrun(plan, node), "lora_finetune_distributed", "--config",
                     "torchtune.yaml"], {}, node.here)


def ms_swift(plan, node, env):
    args, exported = lines(os.path.join(node.here, "args.sh"))
    plan.same(flags(args), "args.sh", **MEGATRON)
    own = by_torchrun(plan, node)
    del own["FORCE_TORCHRUN"]
    return "megatron", ["sft", *args], {**exported, **own}, None


def pipelining(plan, node, env):
    return "torchrun", torchrun(plan, node) + [os.path.join(node.here, "pipeline.py")], {}, None


def galvatron(model):
    def start(plan, node, env):
        strategy = os.path.join(node.here, "strategy.json")
        with open(strategy) as file:
            found = json.load(file)
        found["tp"] = set(found["tp_sizes_enc"].split(","))
        expect(found["tp"] == {str(plan.tp)}, "tp_sizes_enc", found["tp"])
        plan.same(found, strategy, pp="pp_deg", gpus="world_size", gbs="global_bsz",
                  microbatches="chunks")
        expect(found["pp_division"] == ",".join(str(sum(stage)) for stage in plan.layers),
               "pp_division", found["pp_division"])
        config = os.path.join(node.here, "train.yaml")
        runtime = documents(config)[0]["runtime"]
        given = resolve(runtime["parallel"]["galvatron_config_path"], env)
        expect(given == strategy, "galvatron_config_path", given)
        given = resolve(runtime["data"]["tokenizer_model"], env)
        expect(given == node.user["TOKENIZER"], "tokenizer_model", given)
        entry = f"galvatron/models/{model}/train_dist.py"
        return ("torchrun", torchrun(plan, node) + [entry, config],
                {"CUDA_DEVICE_MAX_CONNECTIONS": "1", "PYTHONPATH": node.checkout}, node.checkout)
    return start


def maxtext(plan, node, env):
    config = os.path.join(node.here, "config.yml")
    (found,) = documents(config)
    sizes = {key.removesuffix("_parallelism").partition("_")[2]: 1 for key in found
             if key.endswith("_parallelism")}
    for key, value in found.items():
        if key.endswith("_parallelism"):
            sizes[key.removesuffix("_parallelism").partition("_")[2]] *= value
    product = 1
    for size in sizes.values():
        product *= size
    expect(product == plan.gpus and sizes["tensor"] == plan.tp, "a mesh of", sizes)
    return "python3", ["-m", "maxtext.trainers.pre_train.train", config], {}, node.checkout


def flagscale(plan, node, env):
    (found,) = documents(os.path.join(node.here, "plan.yaml"))
    plan.same({**found["train"]["system"], **found["train"]["model"],
               **found["experiment"]["runner"]}, "plan.yaml", nodes="nnodes",
              per_node="nproc_per_node", **MEGATRON)
    hosts = resolve(found["experiment"]["runner"]["hostfile"], env)
    expect(hosts == node.user["HOSTFILE"], "hostfile", hosts)
    return ("python", ["run.py", "--config-path", node.here, "--config-name", "plan"], {},
            node.checkout)
