"""posttraining.py - the folders of steps of reinforcement learning, for verl and NeMo-RL"""
import json
import os
import re
import shlex
import shutil

import starts
from common import BAD, CHECKOUT, EXTRA, box, call, count, root, step
from hydra import overrides
from sandbox import documents, expect
from training import user_env

STEP = "--prompts 64 --generations 8 --prompt-tokens 512 --answer-tokens 1000,4000"
JOBS = [
    ("verl", "verl", f"h100-80gb-sxm:2x8 {STEP} --fix tp=4,pp=2,vpp=1,mbs=1,recompute=full --tp 2"),
    ("verl-fsdp", "verl", f"h100-80gb-sxm:1x8 {STEP} --runtime fsdp --fix zero=3,mbs=1,recompute=full --tp 4"),
    ("verl-nodes", "verl", f"h100-80gb-sxm:128x8 --prompts 1024 --generations 8 --prompt-tokens 512 "
     "--answer-tokens 1000,4000 --fix tp=2,pp=1,mbs=1,recompute=full --tp 2 --placement colocated"),
    ("nemo-rl", "nemo-rl", f"h100-80gb-sxm:2x8 {STEP} --fix tp=4,pp=1,mbs=1,recompute=full --tp 2 "
     "--placement colocated"),
]


def check_config(plan, found, folder, framework, bad):
    """Compare the degrees and the model of a config with the plan."""
    training, worker = plan["training"], plan["generation"]
    if framework == "verl":
        rollout, actor = "actor_rollout_ref.rollout.", "actor_rollout_ref.actor."
        sizes = [found[rollout + "tensor_model_parallel_size"],
                 found[rollout + "pipeline_model_parallel_size"],
                 found["trainer.nnodes"] * found["trainer.n_gpus_per_node"],
                 found.get(actor + "megatron.tensor_model_parallel_size", 1),
                 found.get(actor + "megatron.pipeline_model_parallel_size", 1)]
        model = found["actor_rollout_ref.model.path"]
    else:
        (config,) = documents(f"{folder}/grpo.yaml")
        engine, policy = config["policy"]["generation"]["vllm_cfg"], config["policy"]["megatron_cfg"]
        sizes = [engine["tensor_parallel_size"], engine["pipeline_parallel_size"],
                 config["cluster"]["num_nodes"] * config["cluster"]["gpus_per_node"],
                 policy["tensor_model_parallel_size"], policy["pipeline_model_parallel_size"]]
        model = config["policy"]["model_name"]
    wanted = [worker["tp"], worker["pp"], plan["train_gpus"], training["tp"], training["pp"]]
    expect(sizes == wanted, "sizes", sizes, "expected", wanted)
    expect(bad is None or model == bad, "the model is", repr(model))


def run_job(name, framework, words, model, bad=None):
    folder, answer = f"{root}/rl/{BAD}/{name}", f"{root}/rl-{name}.json"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    call("rl", model, *words.split(), "--framework", framework, "--launch", folder, "-o", answer)
    with open(answer) as file:
        plans = json.load(file)["plans"]
    # verl runs the best plan; NeMo-RL runs none whose state of training stays on the GPUs
    plan = [one for one in plans if framework == "verl" or one["offload"]][0]
    nodes = -(-plan["train_gpus"] // 8)
    env = {**user_env(), "HEAD": "10.0.0.1", "RAY_NODES": str(nodes)}
    for rank in range(min(nodes, 2)):
        found = box.run(["bash", f"{folder}/run.sh", *EXTRA], root, {**env, "NODE_RANK": str(rank)})
        if rank > 0:
            expect(len(found) == 1 and found[0].argv == ["start", "--address", "10.0.0.1:6379",
                                                         "--block"], found[0].argv)
            continue
        expect(found[0].argv == ["start", "--head", "--port", "6379"], found[0].argv)
        start, set_ = found[-1], {}
        if framework == "verl":
            args, _ = starts.lines(f"{folder}/overrides.sh")
            expect(start.argv == ["-m", "verl.trainer.main_ppo", *args, *EXTRA], start.argv)
            expect(start.env["CUDA_DEVICE_MAX_CONNECTIONS"] == "1", "connections")
            set_ = overrides(args, start.env)
        else:
            config = f"{CHECKOUT}/examples/configs/plait-grpo.yaml"
            expect(start.program == "uv" and start.cwd == CHECKOUT and
                   start.argv == ["run", "examples/run_grpo.py", "--config", config, *EXTRA], start)
            with open(config) as one, open(f"{folder}/grpo.yaml") as two:
                expect(one.read() == two.read(), "the copied config differs")
        check_config(plan, set_, folder, framework, bad)
    count("steps of RL")
    return folder, plan


def read_back(framework, folder, plan, words):
    file = "overrides.sh" if framework == "verl" else "grpo.yaml"
    said = call("import", "--from", framework, f"{folder}/{file}", "--cluster", words.split()[0])
    command = shlex.split(re.search(r"^next: plait (.*)$", said, re.MULTILINE).group(1))
    answer = json.loads(call(*command, "--json"))
    expect(any(one["step_s"] == plan["step_s"] for one in answer["plans"]), "comes back at",
           [one["step_s"] for one in answer["plans"]], "was", plan["step_s"])
    count("read back")


# ---- hostile names ----

NAMES = ["org/" + BAD.replace("${HOME}", "$HOME"), "-rf", "true", "null", "405", "1e5", "~", "- a: b",
         "é模", "a: b #c", "/data/it's", "org/a\\'b\\", "a,b=c", "[x]", "{a}"]


def hostile_names():
    with open("models/qwen3-8b.json") as file:
        model = json.load(file)
    own = f"{root}/{BAD}/qwen.json"
    for bad in NAMES:
        model["name"] = bad
        with open(own, "w") as file:
            json.dump(model, file)
        for name, framework, words in JOBS[1:2] + JOBS[3:]:
            @step(f"model {bad!r}: {name}")
            def _():
                run_job(name, framework, words, own, bad)
                count("hostile models")
    model["name"] = "org/${HOME}"
    with open(own, "w") as file:
        json.dump(model, file)

    @step("model org/${HOME}")
    def _():
        said = call("rl", own, *JOBS[0][2].split(), "--launch", f"{root}/no", status=2)
        expect("without ${" in said, said)
        count("refused")


def launch_all():
    for name, framework, words in JOBS:
        @step(f"{name}: run")
        def _():
            folder, plan = run_job(name, framework, words, "qwen3-8b")
            read_back(framework, folder, plan, words)
