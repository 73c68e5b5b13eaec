"""serving.py - the folders of deployments: scripts, systemd units, manifests and values of charts"""
import json
import os
import re
import shutil

from common import BAD, box, call, count, launched, root, step
from sandbox import (IMAGE, LABEL, SERVICE, documents, exec_start, expect, expand, keys, name_of,
                     pod, run_container)
from starts import flags

LOAD = "--input 2048 --output-tokens 256"
ONE = f"llama-3.1-70b dgx-h100 --gpus 8 --eval --tp 4 --replicas 2 {LOAD} --rate 4 --weights fp8"
TWO = f"llama-3.1-405b dgx-h100 --gpus 24 --eval --prefill 1:tp=8 --decode 1:tp=8,pp=2 {LOAD} --rate 1 --weights fp8"
EXPERTS = (f"deepseek-v3 dgx-h200 --gpus 16 --eval --weights fp8_block --prefill 1:tp=8,ep=8 "
           f"--decode 1:dp_attention=8,ep=8 --speculate mtp:1,accept=0.8 {LOAD} --concurrency 64")
GPT_OSS = (f"gpt-oss-120b b200-180gb-sxm:1x8 --gpus 4 --eval --weights mxfp4 --tp 1 --dp-attention 4 "
           f"--ep 4 {LOAD} --concurrency 256")

# deployment, engine, targets with their forms
DEPLOYMENTS = [
    ("one", ONE, "vllm", ["vllm", "sglang", "trtllm", "dynamo", "llm-d"]),
    ("two", TWO, "vllm", ["vllm", "sglang", "trtllm", "dynamo", "llm-d"]),
    ("experts", EXPERTS, "sglang", ["sglang", "vllm", "dynamo"]),
    ("gpt-oss", GPT_OSS, "trtllm", ["trtllm", "vllm", "dynamo"]),
]
FORMS = ["script", "systemd", "kubernetes"]
START = {
    "vllm": ("vllm", ["serve"]),
    "sglang": ("python3", ["-m", "sglang.launch_server", "--model-path"]),
    "trtllm": ("trtllm-serve", []),
}
PORTS = {"server": 8000, "prefill": 8000, "decode": 9000}


class Role:
    def __init__(self, name, worker, replicas, node):
        self.name = {"aggregated": "server"}.get(name, name)
        self.tp, self.pp, self.ep = worker["tp"], worker["pp"], worker["ep"]
        self.dp = worker["dp_attention"]
        self.gpus = self.tp * self.pp * self.dp
        self.count = worker["count"] * replicas
        self.nodes = -(-self.gpus // node)
        self.node = node


def roles_of(path):
    with open(path) as file:
        document = json.load(file)
    plan = document["plans"][0]
    return [Role(name, worker, plan["replicas"], 8) for name, worker in plan["workers"].items()]


def check_worker(engine, role, start, model, config, rank=0):
    """Compare the start of an engine's worker with the plan."""
    program, words = START[engine]
    expect(start.program == program and start.argv[:len(words) + 1] == words + [model],
           "starts", start.program, start.argv[:len(words) + 1])
    given = flags(start.argv[len(words) + 1:])
    stage = role.tp * role.dp
    if engine == "vllm":
        found = [given["tensor_parallel_size"], given.get("pipeline_parallel_size", "1"),
                 given.get("data_parallel_size", "1")]
        wanted = [role.tp, role.pp, role.dp]
        expect((role.ep > 1) == ("enable_expert_parallel" in given), "experts", role.ep)
        for key in ("speculative_config", "kv_transfer_config", "eplb_config"):
            if key in given:
                json.loads(given[key])
    elif engine == "sglang":
        found = [given["tp_size"], given.get("pp_size", "1"), given.get("dp_size", "1"),
                 given.get("ep_size", "1"), given.get("nnodes", "1"), given.get("node_rank", "0")]
        wanted = [stage, role.pp, role.dp, role.ep, role.nodes, rank]
    else:
        (options,) = documents(config or given["extra_llm_api_options"])
        found = [options["tensor_parallel_size"], options["pipeline_parallel_size"],
                 options.get("moe_expert_parallel_size", 1), options.get("enable_attention_dp", False)]
        wanted = [stage, role.pp, role.ep, role.dp > 1]
    expect([str(n) for n in found] == [str(n) for n in wanted], engine, found, "expected", wanted)
    return int(given["port"])


def run_scripts(engine, roles, folder, model, config=None):
    """Start each worker of each role on each of its nodes."""
    for role in roles:
        script = f"{folder}/{role.name}.sh"
        used = {}
        for worker in range(role.count):
            for rank in range(role.nodes):
                env = {"NODE_RANK": str(rank), "HEAD": "10.0.0.1"} if role.nodes > 1 else {}
                found = box.run(["bash", script, str(worker)], root, {**env, "CDPATH": f"{root}/decoy"})
                by_ray = role.nodes > 1 and engine == "vllm"
                if by_ray and rank > 0:
                    (start,) = found
                    expect(start.argv == ["start", "--block", "--address", "10.0.0.1:6379"], start)
                    continue
                if by_ray:
                    expect(found[0].argv == ["start", "--head", "--port", "6379"], found[0].argv)
                port = check_worker(engine, role, found[-1], model, config, rank)
                expect(port == PORTS[role.name] + worker, "port", port)
                own = found[-1].env.get("CUDA_VISIBLE_DEVICES")
                if role.nodes == 1 and role.gpus < role.node:
                    expect(len(own.split(",")) == role.gpus, "GPUs", own)
                    expect(set(map(int, own.split(","))) <= set(range(role.node)), "GPUs", own)
                    for gpu in own.split(","):
                        place = (worker * role.gpus // role.node, gpu)
                        expect(place not in used, "two workers use GPU", place)
                        used[place] = worker
                else:
                    expect(own is None, "GPUs of a whole node", own)
                count("workers")
        bad = box.run(["bash", script], root, {"MODEL": BAD, "NODE_RANK": "0", "HEAD": "h"})
        expect(BAD in bad[-1].argv, "MODEL arrives as", bad[-1].argv[:4])
    if len(roles) == 2:
        run_router(engine, roles, folder)


def run_router(engine, roles, folder):
    (start,) = box.run([f"{folder}/router.sh"], root, {})
    if engine == "trtllm":
        (found,) = documents(start.argv[start.argv.index("-c") + 1])
        urls = [found["context_servers"]["urls"], found["generation_servers"]["urls"]]
    else:
        urls = [[word.removeprefix("http://") for flag, word in zip(start.argv, start.argv[1:])
                 if flag == f"--{role.name}"] for role in roles]
    for role, found in zip(roles, urls):
        wanted = [f"localhost:{PORTS[role.name] + i}" for i in range(role.count)]
        expect(found == wanted, "router", found, "expected", wanted)
    count("routers")


def run_units(engine, roles, folder, model, name):
    for role in roles:
        for worker in range(role.count):
            words, description = exec_start(f"{folder}/{role.name}@.service", worker)
            expect(words == ["/bin/bash", f"/opt/serving/{role.name}.sh", str(worker)], words)
            expect(description == f"{role.name} of {name}, worker {worker}", description)
            count("units")
    run_scripts(engine, roles, folder, model)


def config_maps(found, where):
    """The files of the config maps of a manifest, written to folders of this machine."""
    folders = {}
    for one in found:
        if one["kind"] == "ConfigMap":
            folder = os.path.join(box.spool, one["metadata"]["name"])
            os.makedirs(folder, exist_ok=True)
            for name, text in one["data"].items():
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            folders[one["metadata"]["name"]] = folder
    return folders


def run_manifests(engine, roles, folder, model):
    for role in roles:
        path = f"{folder}/{role.name}.yaml"
        found = documents(path)
        (work,) = [one for one in found if one["kind"] in ("Deployment", "LeaderWorkerSet")]
        (service,) = [one for one in found if one["kind"] == "Service"]
        label = name_of(work["metadata"]["name"], SERVICE, path)
        name_of(service["metadata"]["name"], SERVICE, path)
        expect(work["spec"]["replicas"] == role.count, "replicas", work["spec"]["replicas"])
        if role.nodes > 1:
            expect(work["kind"] == "LeaderWorkerSet", path)
            expect(work["spec"]["leaderWorkerTemplate"]["size"] == role.nodes, path)
            template = work["spec"]["leaderWorkerTemplate"]["workerTemplate"]
            expect(service["spec"]["selector"] == {"leaderworkerset.sigs.k8s.io/name": label}, path)
        else:
            template = work["spec"]["template"]
            labels = {"app": name_of(template["metadata"]["labels"]["app"], LABEL, path)}
            expect(work["spec"]["selector"]["matchLabels"] == labels == service["spec"]["selector"],
                   path, labels)
        maps = config_maps(found, path)
        only, env, mounts = pod(template["spec"], path)
        expect(set(mounts.values()) == set(maps), path, "mounts", mounts, "of", sorted(maps))
        (gpus,) = only["resources"]["limits"].values()
        expect(gpus == str(role.gpus // role.nodes), path, "GPUs", gpus)
        places = {at: maps[name] for at, name in mounts.items()}
        config = f"{maps[mounts['/config']]}/{role.name}.yaml" if mounts else None
        for rank in range(role.nodes):
            set_ = {"LWS_WORKER_INDEX": str(rank), "LWS_LEADER_ADDRESS": "leader"}
            started = run_container(box, only, {**env, **(set_ if role.nodes > 1 else {})}, places)
            if engine == "vllm" and rank > 0:
                expect(started[0].argv[-1] == "leader:6379", started[0].argv)
                continue
            port = check_worker(engine, role, started[-1], model, config, rank)
            expect([{"port": port}] == service["spec"]["ports"], path, "port", port)
            count("pods")


def run_dynamo(engine, roles, folder, model):
    path = f"{folder}/deployment.yaml"
    found = documents(path)
    maps = config_maps(found, path)
    (graph,) = [one for one in found if one["kind"] == "DynamoGraphDeployment"]
    name_of(graph["metadata"]["name"], SERVICE, path)
    services = graph["spec"]["services"]
    keys(services, ["Frontend"] + [role.name.title() + "Worker" for role in roles], [], path)
    for role in roles:
        service = services[role.name.title() + "Worker"]
        expect(service["replicas"] == role.count, path, "replicas", service["replicas"])
        expect(service.get("multinode", {}).get("nodeCount", 1) == role.nodes, path)
        expect(service["resources"]["limits"]["gpu"] == str(role.gpus // role.nodes), path)
        main = service["extraPodSpec"]["mainContainer"]
        name_of(main["image"], IMAGE, path)
        volumes = {v["name"]: v["configMap"]["name"] for v in service["extraPodSpec"].get("volumes", [])}
        places = {v["mountPath"]: maps[volumes[v["name"]]] for v in main.get("volumeMounts", [])}
        (start,) = run_container(box, main, {}, places)
        word = {"vllm": "--model"}.get(engine, "--model-path")
        expect(start.program == "python3" and
               start.argv[:4] == ["-m", f"dynamo.{engine}", word, model], start.argv[:5])
        given = flags(start.argv[4:])
        if engine == "vllm":
            expect(given["tensor_parallel_size"] == str(role.tp), start.argv)
        elif engine == "sglang":
            expect(given["tp_size"] == str(role.tp * role.dp), start.argv)
        else:
            (options,) = documents(given["extra_engine_args"])
            expect(options["tensor_parallel_size"] == role.tp * role.dp, options)
        count("pods")


def run_llmd(engine, roles, folder, model):
    path = f"{folder}/values.yaml"
    (found,) = documents(path)
    expect(found["modelArtifacts"]["uri"] == f"hf://{model}", found["modelArtifacts"])
    name_of(found["modelArtifacts"]["labels"]["llm-d.ai/model"], LABEL, path)
    for role in roles:
        values = found["prefill" if role.name == "prefill" else "decode"]
        expect(values["create"] is True and values["replicas"] == role.count, values["replicas"])
        sizes = values["parallelism"]
        expect(sizes["tensor"] == role.tp and sizes["data"] == role.dp and
               sizes["workers"] == role.nodes, sizes)
        (only,) = values["containers"]
        name_of(only["image"], IMAGE, path)
        for word in only["args"]:
            expect(isinstance(word, str), path, "expected a text, found", repr(word))
        if only["modelCommand"] == "custom":
            env = {one["name"]: one["value"] for one in only["env"] if "value" in one}
            started = run_container(box, only, {**env, "LWS_WORKER_INDEX": "0",
                                                "LWS_LEADER_ADDRESS": "leader"}, {})
            check_worker(engine, role, started[-1], model, None)
        count("pods")


def launch_all():
    for name, words, engine, targets in DEPLOYMENTS:
        path = f"{root}/serve-{name}.json"
        call("serve", *words.split(), "--engine", engine, "-o", path)
        roles = roles_of(path)
        for target in targets:
            for form in FORMS if target in START else FORMS[:1]:
                @step(f"{name}: {target} as {form}")
                def _():
                    folder, model = f"{root}/serving/{BAD}/{name}-{target}-{form}", "acme/model-7B"
                    os.makedirs(os.path.dirname(folder), exist_ok=True)
                    as_ = ["--as", form] if form != "script" else []
                    expect(launched(path, "--target", target, *as_, "--model", model, "-o", folder),
                           "refused")
                    run_one(target if target in START else engine, target, form, roles, folder, model,
                            words.split()[0])


def run_one(engine, target, form, roles, folder, model, name):
    if target == "dynamo":
        run_dynamo(engine, roles, folder, model)
    elif target == "llm-d":
        run_llmd("vllm", roles, folder, model)
    elif form == "kubernetes":
        run_manifests(engine, roles, folder, model)
    elif form == "systemd":
        run_units(engine, roles, folder, model, name)
    else:
        run_scripts(engine, roles, folder, model)


# ---- hostile names ----

NAMES = ["org/" + BAD, "405", "null", "true", "-rf", "7b", "x" * 80 + "-" * 20 + "y", "a" * 62 + "-b",
         "é", "%i", "end-"]


def hostile_names():
    with open(f"{root}/serve-two.json") as file:
        text = file.read()
    with open("models/llama-3.1-405b.json") as file:
        model = json.load(file)
    for bad in NAMES:
        model["name"] = bad
        own = f"{root}/model.json"  # beside the answer, which is where launch looks
        with open(own, "w") as file:
            json.dump(model, file)
        for target in ("vllm", "trtllm", "dynamo", "llm-d"):
            for form in FORMS[1:] if target in START else FORMS[:1]:
                @step(f"model {bad!r}: {target} as {form}")
                def _():
                    document = json.loads(text)
                    document["model_file"], document["model"] = own, bad
                    path, folder = f"{root}/renamed.json", f"{root}/named"
                    with open(path, "w") as file:
                        json.dump(document, file)
                    shutil.rmtree(folder, ignore_errors=True)
                    as_ = ["--as", form] if form != "script" else []
                    if launched(path, "--target", target, *as_, "--model", "acme/m", "-o", folder):
                        run_one("vllm" if target in ("dynamo", "llm-d") else target, target, form,
                                roles_of(path), folder, "acme/m", bad)
                        count("hostile models")
    for option in ("--model", "--container"):
        for bad in (BAD, "-x", "a b", "", "a'b", "é", "$(touch CANARY)", "a\nb", "*"):
            @step(f"{option} {bad!r}")
            def _():
                said = call("launch", f"{root}/serve-one.json", option, bad, "-o", f"{root}/no",
                            status=2)
                expect(said.startswith(f"plait: {option}: expected"), said)
                count("refused")
