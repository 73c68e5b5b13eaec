"""training.py - the folders of plans that train: each script in each way that its comments name"""
import json
import os
import re
import shutil
import subprocess

import starts
from common import BAD, CHECKOUT, EXTRA, USER, box, call, count, launched, root, step
from sandbox import LABEL, documents, expect, keys, name_of, pod, run_container

HERE = os.path.dirname(os.path.abspath(__file__))

LLAMA = "llama-3.1-8b h100-80gb-sxm:"
FSDP = "--runtime fsdp --zero 3 --recompute full"
LORA = "--job lora --lora-rank 16 --lora-targets q,k,v,o"
MEGATRON = starts.of_megatron("pretrain_gpt.py")
TRL_SFT = starts.trainer("sft", starts.trl_fsdp, starts.trl_deepspeed)
FACTORY_DPO = starts.trainer("dpo", starts.factory_fsdp, starts.factory_deepspeed)
FACTORY_SFT = starts.trainer("sft", starts.factory_fsdp, starts.factory_deepspeed)

# name, plan, target, what starts, and how import reads it: format, file, words, options of eval
TRAINING = [
    ("megatron", LLAMA + "4x8 --seq 8192 --gbs 64 --tp 4 --cp 2 --pp 2 --vpp 2", "megatron", MEGATRON,
     "megatron args.sh"),
    ("one-node", LLAMA + "1x8 --seq 4096 --gbs 64 --tp 2", "megatron", MEGATRON, "megatron args.sh"),
    ("experts", "qwen3-30b-a3b h100-80gb-sxm:2x8 --seq 4096 --gbs 512 --tp 1 --pp 2 --ep 8 --etp 1",
     "megatron", MEGATRON, "megatron args.sh"),
    ("layout", "mixtral-8x7b h100-80gb-sxm:8x8 --seq 4096 --gbs 1024 --tp 1 --pp 4 --vpp 8 --ep 8 "
     "--etp 1", "megatron", MEGATRON, "megatron args.sh"),
    ("segments", "qwen3-30b-a3b gb200-nvl72:36x4 --seq 4096 --gbs 2304 --tp 1 --ep 8 --etp 1 "
     "--recompute modules:layernorm+moe_act", "megatron", MEGATRON, "megatron args.sh"),
    ("hybrid", "nemotron-nano-9b-v2 h100-80gb-sxm:2x8 --seq 4096 --gbs 64 --tp 2", "megatron",
     starts.of_megatron("pretrain_hybrid.py"), "megatron args.sh"),
    ("megatron-fsdp", LLAMA + "4x8 --seq 8192 --gbs 128 --runtime megatron-fsdp --tp 2 "
     "--shard-group 8", "megatron", MEGATRON, "megatron args.sh"),
    ("bridge", "qwen3-30b-a3b h100-80gb-sxm:2x8 --seq 4096 --gbs 512 --tp 1 --ep 8 --etp 1 --pp 2",
     "megatron-bridge", starts.bridge, "megatron-bridge overrides.sh"),
    ("bridge-lora", LLAMA + "1x8 --seq 4096 --gbs 32 --tp 2 --mbs 1 --job lora --lora-rank 16",
     "megatron-bridge", starts.bridge, "megatron-bridge overrides.sh"),
    ("torchtitan", LLAMA + "2x8 --seq 8192 --gbs 64 --runtime torchtitan --tp 8 --recompute full",
     "torchtitan", starts.torchtitan, "torchtitan args.sh"),
    ("torchtitan-pipeline", "qwen3-30b-a3b h100-80gb-sxm:4x8 --seq 4096 --gbs 256 --runtime "
     "torchtitan --tp 1 --pp 4 --ep 8 --mbs 2 --recompute full", "torchtitan", starts.torchtitan,
     "torchtitan args.sh"),
    ("deepspeed", LLAMA + "2x8 --seq 4096 --gbs 128 --runtime deepspeed --zero 3 --shard-group 8",
     "deepspeed", starts.deepspeed, "deepspeed ds_config.json --model llama-3.1-8b --gpus 16"),
    ("accelerate", LLAMA + "2x8 --seq 4096 --gbs 128 --mbs 2 " + FSDP, "accelerate",
     starts.plain_accelerate, None),
    ("deepspeed-pipeline", "gpt-7.5b a100-80gb-sxm:2x8 --seq 2048 --gbs 64 --runtime "
     "megatron-deepspeed --tp 2 --pp 4 --split layout:Et*7|t*10|t*10|t*9L --recompute full",
     "deepspeed-pipeline", starts.deepspeed_pipeline, "deepspeed-pipeline args.sh"),
    ("pipelining", "gpt2-xl a100-80gb-sxm:2x8 --seq 1024 --gbs 64 --pp 4 --vpp 2 --mbs 4",
     "pipelining", starts.pipelining, None),
    ("galvatron", "llama-2-70b h100-80gb-sxm:4x8 --seq 4096 --gbs 128 --runtime galvatron --tp 8 "
     "--pp 2 --zero 2 --recompute full:4", "galvatron", starts.galvatron("gpt"), None),
    ("galvatron-experts", "mixtral-8x7b h100-80gb-sxm:4x8 --seq 8192 --gbs 64 --runtime galvatron "
     "--cp 2 --ep 8 --zero 3 --grad-sync shifted --scatter step --recompute full", "galvatron",
     starts.galvatron("moe"), None),
    ("mindspeed", "llama-3.1-8b ascend-910b-64gb:2x8 --seq 8192 --gbs 64 --runtime mindspeed --tp 8 "
     "--pp 2 --vpp 4", "mindspeed", MEGATRON, "mindspeed args.sh"),
    ("maxtext", "llama-3.1-70b tpu-v5p --gpus 64 --seq 8192 --gbs 512 --runtime maxtext --tp 4 "
     "--recompute full", "maxtext", starts.maxtext, "maxtext config.yml"),
    ("flagscale", LLAMA + "2x8 --seq 8192 --gbs 64 --runtime flagscale --tp 4 --pp 2", "flagscale",
     starts.flagscale, None),
    ("companion", LLAMA + "1x8 --seq 8192 --gbs 32 --tp 2 --pp 2 --vpp 2", "companion", None,
     "companion launch.json"),
    ("trl", f"{LLAMA}1x8 --seq 4096 --gbs 64 --mbs 2 {FSDP} {LORA}", "trl", TRL_SFT,
     "trl sft.yaml --gpus 8"),
    ("trl-nodes", f"{LLAMA}2x8 --seq 4096 --gbs 64 --runtime deepspeed --zero 3 --mbs 1 --job sft",
     "trl", TRL_SFT, "trl sft.yaml --gpus 16"),
    ("llama-factory", "qwen3-8b h100-80gb-sxm:1x8 --seq 2048 --gbs 32 --runtime deepspeed --zero 3 "
     "--mbs 1 --recompute full --job dpo", "llama-factory", FACTORY_DPO, "llama-factory dpo.yaml"),
    ("llama-factory-fsdp", f"{LLAMA}2x8 --seq 4096 --gbs 64 --mbs 2 {FSDP} {LORA}", "llama-factory",
     FACTORY_SFT, "llama-factory sft.yaml"),
    ("torchtune", f"{LLAMA}1x8 --seq 2048 --gbs 64 --mbs 1 {FSDP} --job qlora --lora-rank 16 "
     "--lora-targets q,v,o,gate,up,down", "torchtune", starts.torchtune, "torchtune torchtune.yaml"),
    ("ms-swift", "qwen3-30b-a3b h100-80gb-sxm:2x8 --seq 4096 --gbs 64 --runtime megatron --tp 2 "
     "--ep 8 --mbs 1 --cuda-graph none --router-fusion 0 --recompute full --job sft", "ms-swift", starts.ms_swift,
     "ms-swift args.sh"),
]


def check_start(start, expected, node):
    """Compare one start with (program, arguments, environment, folder)."""
    program, argv, env, cwd = expected
    expect(start.program == program and start.argv == argv + node.extra,
           "\nstarts  ", start.program, start.argv, "\nexpected", program, argv + node.extra)
    expect(cwd is None or start.cwd == cwd, "starts in", start.cwd, "expected", cwd)
    for name, value in env.items():
        expect(start.env.get(name) == value, name, "is", start.env.get(name), "expected", value)


def check_starts(case, folder, mode, expected_nodes, found):
    plan, start = case["plan"], case["start"]
    expect(len(found) == len(expected_nodes), mode, "starts", len(found), "times, expected",
           len(expected_nodes))
    for node, one in zip(expected_nodes, found):
        check_start(one, start(plan, node, one.env), node)
    count(mode, len(found))


def user_env():
    return {**USER, **{name: CHECKOUT for name in starts.CHECKOUTS}, "CDPATH": f"{root}/decoy:."}


def run_nodes(case, folder, words, cwd, most=4):
    """Run the script on nodes, with the rank and the head in the environment."""
    plan, found, nodes = case["plan"], [], []
    by_ssh = case["target"] in ("flagscale", "maxtext")
    for rank in range(1 if by_ssh else min(plan.nodes, most)):
        env = {**user_env(), "HEAD": "10.0.0.1", "NODE_RANK": str(rank)}
        found += box.run([*words, *EXTRA], cwd, env)
        nodes.append(starts.Node(rank, "10.0.0.1", "29500", folder, CHECKOUT, EXTRA, USER))
    check_starts(case, folder, "nodes", nodes, found)


def run_alone(case, folder):
    """A single node needs no environment; neither does the help of the user's shell."""
    if case["plan"].nodes == 1:
        found = box.run([f"{folder}/run.sh"], root, user_env())
        check_starts(case, folder, "alone",
                     [starts.Node(0, "localhost", "29500", folder, CHECKOUT, [], USER)], found)


def run_slurm(case, folder, more=None):
    plan = case["plan"]
    found = box.run(["sbatch", "submit.sbatch"], folder, {**user_env(), **(more or {})})
    nodes = [starts.Node(r, "node0", "29500", folder, CHECKOUT, [], USER) for r in range(plan.nodes)]
    check_starts(case, folder, "slurm", nodes, found)
    for rank, start in enumerate(found):
        expect(start.env["SLURM_GPUS_ON_NODE"] == str(plan.per_node), "GPUs of a node")
        expect(start.env["SLURM_PROCID"] == str(rank), "one task on each node")


def run_kubernetes(case, folder, most=3):
    plan = case["plan"]
    path = os.path.join(folder, "pytorchjob.yaml")
    (job,) = documents(path)
    keys(job, ["apiVersion", "kind", "metadata", "spec"], [], path)
    expect(job["apiVersion"] == "kubeflow.org/v1" and job["kind"] == "PyTorchJob", path)
    job_name = name_of(job["metadata"]["name"], LABEL, path)
    replicas = job["spec"]["pytorchReplicaSpecs"]
    keys(replicas, ["Master"] + ["Worker"] * (plan.nodes > 1), [], path)
    expect([r["replicas"] for r in replicas.values()] == [1, plan.nodes - 1][:len(replicas)], path)
    made = re.search(r"kubectl create configmap (\S+) --from-file=\.", open(path).read()).group(1)
    expect(made == job_name, "the config map of the comment is", made)
    size = 0
    for name in os.listdir(folder):
        expect(re.fullmatch(r"[-._a-zA-Z0-9]{1,253}", name), "key of a config map:", name)
        size += os.path.getsize(os.path.join(folder, name))
    expect(size < 1 << 20, "config map of", size, "bytes")

    mounted, copied = os.path.join(box.spool, "mounted"), os.path.join(box.spool, "plan")
    shutil.rmtree(mounted, ignore_errors=True)
    shutil.copytree(folder, mounted)
    rank = 0
    for spec in replicas.values():
        keys(spec, ["replicas", "restartPolicy", "template"], [], path)
        only, env, maps = pod(spec["template"]["spec"], path)
        expect(only["name"] == "pytorch", "the operator needs a container called pytorch")
        expect(maps == {"/plait": job_name}, "config maps", maps)
        (resource, gpus), = only["resources"]["limits"].items()
        expect(gpus == plan.per_node and re.fullmatch(r"[a-z]+\.com/[A-Za-z0-9]+", resource), path)
        user = {**user_env(), **env}
        for name in env:
            user[name] = user[name].replace("/workspace", CHECKOUT)
        for _ in range(min(spec["replicas"], most)):
            head = f"{job_name}-master-0"
            shutil.rmtree(copied, ignore_errors=True)
            started = run_container(
                box, only, {**user, "MASTER_ADDR": head, "MASTER_PORT": "23456", "RANK": str(rank),
                            "WORLD_SIZE": str(plan.nodes)}, {"/plait": mounted, "/tmp/plan": copied})
            here = copied if os.path.exists(copied) else mounted
            node = starts.Node(rank, head, "23456", here, CHECKOUT, [], user)
            check_starts(case, here, "kubernetes", [node], started)
            expect(not started[0].cwd.startswith(mounted), "runs in a folder that is read-only")
            rank += 1


def run_python(case, folder):
    """Run the Python files of a folder with fakes of their libraries."""
    plan = case["plan"]

    def fake(name, ranks, env=None, words=()):
        ran = subprocess.run([f"{HERE}/fakes.py", f"{folder}/{name}", *words], cwd=CHECKOUT,
                             stdin=subprocess.DEVNULL, capture_output=True,
                             env={"RANKS": " ".join(map(str, ranks)), **(env or {})})
        expect(ran.returncode == 0, name, "fails:", os.fsdecode(ran.stderr))
        count("python")
        return json.loads(ran.stdout[ran.stdout.index(b"[["):])

    if case["target"] == "torchtitan":
        calls = dict((name.rpartition(".")[2], words) for name, words in fake("recipe.py", []))
        plan.same(calls["ParallelismConfig"], "recipe.py", **starts.TITAN)
        parts = calls["ParallelismConfig"].get("module_fqns_per_model_part")
        named = [sum(name.startswith("layers.") for name in part) for part in parts or []]
        chunks = [stage[c] for c in range(plan.vpp) for stage in plan.layers]
        expect(parts is None or named == chunks, "recipe.py has parts of", named)
        expect(calls["TrainingConfig"]["num_tokens_per_train_step"] % plan.gbs == 0, "recipe.py")
    if case["target"] == "deepspeed-pipeline":
        stages = fake("partition.py", range(plan.pp), {"STAGES": str(plan.pp)}, ["pretrain_gpt.py"])
        ends = [sum(sum(stage) for stage in plan.layers[:s + 1]) for s in range(plan.pp)]
        ends[-1] += 2  # norm and head; the embedding is before all layers
        expect([stop for _, (_, stop) in stages] == [end + 1 for end in ends], "partition.py", stages)
    if case["target"] == "pipelining":
        calls = fake("pipeline.py", range(plan.gpus))
        mesh, = {json.dumps(words) for name, words in calls if name == "mesh"}
        expect(json.loads(mesh) == {"pp": plan.pp, "dp": plan.dp, "cp": plan.cp, "tp": plan.tp}, mesh)
        schedules = [words for name, words in calls if name == "schedule"]
        expect(len(schedules) == plan.gpus, "ranks", len(schedules))
        ran = [sorted(s["stages"]) for s in schedules[::plan.dp * plan.cp * plan.tp]]
        for rank, stages in enumerate(ran):
            row = [re.fullmatch(r"([0-9]+)([FBIW])([0-9]+)", action).groups()
                   for action in schedules[0]["rows"][rank] if action]
            expect({int(stage) for stage, _, _ in row} == set(stages), "schedule.csv", rank, stages)
            expect(sum(kind == "F" for _, kind, _ in row) == plan.microbatches * len(stages), rank)
        expect(sorted(sum(ran, [])) == list(range(plan.pp * plan.vpp)), "stages", ran)


def scripts(case, folder):
    """Run every script of a training folder in every way that its comments name."""
    files = os.listdir(folder)
    run_nodes(case, folder, ["./run.sh"], folder)
    run_alone(case, folder)
    if "submit.sbatch" in files:
        run_slurm(case, folder)
        run_kubernetes(case, folder)
    run_python(case, folder)


def prepare():
    os.makedirs(CHECKOUT)
    for name in ("TRAIN", "HOSTFILE"):
        os.makedirs(os.path.dirname(USER[name]), exist_ok=True)
        open(USER[name], "w").close()
    for name in ("decoy/plain", "decoy/-x"):
        os.makedirs(f"{root}/{name}")
    os.makedirs(f"{CHECKOUT}/examples/configs")
    with open(f"{CHECKOUT}/pretrain_gpt.py", "w") as file:
        file.write("import os\nfrom deepspeed.pipe import PipelineModule\n"
                   "class Spec:\n    def __init__(self, name):\n        self.typename = type(name, (), {})\n"
                   "layers = ['ParallelTransformerLayerPipe'] * 36\n"
                   "specs = [Spec(n) for n in ['EmbeddingPipe', *layers, 'LayerNorm', 'Head']]\n"
                   "PipelineModule(specs, int(os.environ['RANK']))\n")


def step_of(*words):
    out = call("eval", *words, "--json")
    return json.loads(out)["plans"][0]["step_s"]


def read_back(case, folder):
    words = case["import"].split()
    back = os.path.join(root, "back.json")
    call("import", "--from", words[0], f"{folder}/{words[1]}", *words[2:], "--cluster",
         case["words"][1], "-o", back)
    more = ["--seq", case["job"]["seq"], "--gbs", case["job"]["gbs"]] if words[0] == "deepspeed" else []
    expected, found = step_of("--plan", case["json"]), step_of("--plan", back, *more)
    expect(found == expected, "comes back at", found, "s a step, was", expected)
    count("read back")




def launch_all():
    """Write and run the folder of each case, and read it back."""
    cases = {}
    os.mkdir(f"{root}/plain")
    for name, words, target, start, imported in TRAINING:
        @step(f"{name}: plan")
        def _():
            path, split = f"{root}/{name}.json", words.split()
            call("eval", *split, "-o", path)
            job = {key: split[split.index("--" + key) + 1] for key in ("seq", "gbs")}
            call("launch", path, "--target", target, "-o", f"{root}/plain/{name}")
            cases[name] = {"name": name, "words": split, "target": target, "start": start,
                           "json": path, "job": job, "plan": starts.Plan(path), "import": imported}
    for name, case in cases.items():
        if case["start"] is not None:
            @step(f"{name}: run")
            def _():
                scripts(case, f"{root}/plain/{name}")
        if case["import"] is not None:
            @step(f"{name}: import")
            def _():
                read_back(case, f"{root}/plain/{name}")
    return cases


# ---- folders with hostile names ----

FOLDERS = ["-x", "--help", "*", "[a]", "a b", " ", "%i", "~", "$HOME", "\\", "..a", "#", "a=b", "'",
           '"', ";", "&", "!!", "{a,b}", "a:b", "a,b", "-"]
CONTROL = ["end\n", "a\nb", "a\tb", "\x1b[2J"]


def hostile_folders(cases):
    for name, case in cases.items():
        if case["start"] is None:
            continue

        @step(f"{name}: in a hostile folder")
        def _():
            parent, bad = f"{root}/bad/{name}", f"-{BAD}"
            folder = f"{parent}/{bad}"
            os.makedirs(parent)
            call("launch", case["json"], "--target", case["target"], "-o", folder)
            for file in os.listdir(folder):
                with open(f"{folder}/{file}") as one, open(f"{root}/plain/{name}/{file}") as two:
                    expect(one.read() == two.read(), file, "depends on its folder")
            run_nodes(case, folder, ["bash", "--", f"{bad}/run.sh"], parent, most=1)
            if os.path.exists(f"{folder}/submit.sbatch") and case["plan"].nodes <= 2:
                run_slurm(case, folder)
            if case["import"] is not None:
                read_back(case, folder)
            count("hostile folders")

    for bad in FOLDERS:
        @step(f"folder {bad!r}")
        def _():
            os.makedirs(f"{root}/decoy/{bad}", exist_ok=True)
            for name in ("one-node", "torchtitan") if ":" in bad else ("one-node", "torchtune"):
                case, folder = cases[name], f"{root}/bad/{name}/{bad}"
                call("launch", case["json"], "--target", case["target"], "-o", folder)
                if name == "torchtitan" and ":" in bad:
                    box.run([f"{folder}/run.sh"], root, user_env(), expected=1)
                    expect("without a colon" in box.said, box.said)
                    continue
                run_nodes(case, folder, ["bash", "--", f"{bad}/run.sh"], f"{root}/bad/{name}")
                if name == "one-node":
                    run_slurm(case, folder)
                count("hostile folders")
    for bad in CONTROL:
        @step(f"folder {bad!r}")
        def _():
            said = call("launch", cases["one-node"]["json"], "-o", f"{root}/{bad}", status=2)
            expect("control characters" in said, said)
            count("refused")


def containers(cases):
    """With a container SLURM mounts the folders, whose names may have no comma and no colon."""
    @step("container")
    def _():
        case, plain = cases["megatron"], f"{root}/checkout"
        os.makedirs(plain)
        for bad, works in (("plain", True), ("it's $(touch CANARY) *", True), ("a,b", False),
                           ("a:b", False)):
            folder = f"{root}/contained/{bad}"
            os.makedirs(f"{root}/contained", exist_ok=True)
            call("launch", case["json"], "--target", "megatron", "-o", folder, "--container",
                 "nvcr.io/nvidia/nemo:26.04", "--account", "llm-7@x")
            env = {**user_env(), "MEGATRON": plain, "CHECKOUT": plain}
            found = box.run(["sbatch", "submit.sbatch"], folder, env, expected=0 if works else 1)
            expect(len(found) == (case["plan"].nodes if works else 0), "starts", len(found))
            expect(works or "without comma and colon" in box.said, box.said)
            expect(all(start.env["CONTAINER"] == "nvcr.io#nvidia/nemo:26.04" for start in found))
            count("containers")
    for option in ("--container", "--account"):
        for bad in (BAD, "-x", "a b", "", "a'b", "é", "$(touch CANARY)", "a\nb"):
            @step(f"{option} {bad!r}")
            def _():
                said = call("launch", cases["megatron"]["json"], option, bad, "-o", f"{root}/no",
                            status=2)
                expect(said.startswith(f"plait: {option}: expected"), said)
                count("refused")


# ---- models with hostile names ----

NAMES = ["org/" + BAD, "-rf", "true", "null", "405", "1e5", "~", "- a: b", "é模", "a: b #c", "%i",
         "x" * 300, "/data/it's", "org/a\\'b\\", "!!python/object:os.system"]


def renamed(path, name):
    """A plan of a model, a cluster and an accelerator of another name."""
    with open(path) as file:
        document = json.load(file)
    document["model"]["name"] = document["cluster"]["name"] = name
    document["cluster"]["groups"][0]["accelerator"]["name"] = name
    document.pop("model_file", None)
    bad = f"{root}/renamed.json"
    with open(bad, "w") as file:
        json.dump(document, file)
    return bad


def hostile_names(cases):
    few = ("one-node", "trl", "llama-factory", "galvatron", "companion")
    for case in cases.values():
        for bad in NAMES if case["name"] in few else NAMES[:1]:
            @step(f"{case['name']}: model {bad!r}")
            def _():
                folder = f"{root}/named"
                shutil.rmtree(folder, ignore_errors=True)
                if not launched(renamed(case["json"], bad), "--target", case["target"], "-o", folder):
                    return
                if case["start"] is not None:
                    run_nodes(case, folder, ["./run.sh"], folder, most=1)
                if os.path.exists(f"{folder}/submit.sbatch"):
                    if case["name"] == "one-node" or bad == NAMES[0]:
                        run_kubernetes(case, folder, most=1)
                    if case["name"] == "one-node":
                        run_slurm(case, folder)
                run_python(case, folder)
                if case["target"] in ("trl", "llama-factory"):
                    kind, = set(os.listdir(folder)) & {"sft.yaml", "dpo.yaml"}
                    found = documents(f"{folder}/{kind}")[0]["model_name_or_path"]
                    expect(found == bad, "the model is", repr(found))
                if case["target"] in ("megatron", "mindspeed", "deepspeed-pipeline", "companion"):
                    words = case["import"].split()
                    back = json.loads(call("import", "--from", words[0], f"{folder}/{words[1]}",
                                           "--json"))
                    found = back["model"]["name"] if isinstance(back["model"], dict) else back["model"]
                    expect(found == bad, "import reads the model", repr(found))
                count("hostile models")
