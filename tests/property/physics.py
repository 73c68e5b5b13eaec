#!/usr/bin/env python3
"""physics.py PLAIT [--questions N] [--seed S] [--large] [--only CHECK,...] [--keep DIR] - compares random answers

Each question has a random model, cluster and job. The checks are:

  resource  more memory, peak, bandwidth or less latency never makes the shortest step longer
  superset  a larger space never makes it longer
  eval      eval of a printed plan, by file and by flags, gives its step and memory
  doors     explain, report, next, sweep, launch with import and doctor give the step of the search
  fewer     the best smaller number of GPUs that a search prints is the search of that number
  capacity  each row of capacity has the step of the search of its number and batch, and the
            smallest and cheapest number of a range are those of an enumeration
  threads   one and two threads print the same bytes

Question I of seed S is the same in every run with the same checks. Exit status 1 after a violation, or
if a check compared nothing.
Where a search proves nothing (layouts, choices per stage), a longer step is counted as unproven, not
as a violation. To ask faster, only each 20th question reads all measured runs and asks plait search for
each step; the others have each 16th run, and ask one plait sweep.
CI has a few small questions; by hand: nice tests/property/physics.py PLAIT --questions 100000 --large
--only resource,superset,eval,fewer,resource,superset,eval,fewer,resource,superset,threads,doors,capacity.
"""
import argparse
import collections
import copy
import glob
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

SMALL = ["gpt2", "gpt2-xl", "qwen2.5-0.5b", "llama-3.2-3b", "qwen2.5-7b", "mixtral-8x7b", "lfm2-1.2b",
         "granite-4.0-h-tiny", "deepseek-v2-lite", "gpt-oss-20b", "mamba-1.4b", "bamba-9b", "gemma-2-2b"]
REFINES = ["none", "layouts", "stages", "layers", "all"]
KEYS = """tp sp pp vpp cp cp_comm ep etp dispatcher ep_overlap dp zero shard_group reshard scatter quantise mbs
    attention fp8_attention fused_grouped_mlp tp_comm_overlap permute_fusion router_fusion cuda_graph recompute
    offload_acts schedule post_validation grad_sync gather_with_step bucket fusion split order placement
    grad_reduce optimizer_state offload offload_share fp8_params""".split()
NOTHING_LEGAL = '{"plans": [], "front": [], "search": {"proof": "optimal", "refinements": []}}'
DIGITS = 1e-9  # sums in another order differ in last digits
ROUNDING = 1e-14  # relative difference of steps that are equal but for rounding


class Refused(Exception):
    """The program refuses the question: exit status 2."""


class Campaign:
    """Runs the program, and counts comparisons and violations."""

    def __init__(self, options):
        self.program = options.plait
        self.folder = tempfile.mkdtemp()
        self.data = self.path("data")  # the data with few measured runs
        os.makedirs(f"{self.data}/clusters")
        with open("clusters/evidence.csv") as runs, open(f"{self.data}/clusters/evidence.csv", "w") as few:
            few.writelines(line for i, line in enumerate(runs) if i % 16 == 0)
        self.environment = dict(os.environ)
        self.checks, self.wrong, self.unproven = (collections.Counter() for _ in range(3))
        self.worst = collections.defaultdict(float)
        self.commands = []
        self.question = self.check = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, document):
        with open(self.path(name), "w") as file:
            json.dump(document, file)
        return self.path(name)

    def run(self, *words, threads=1):
        """Standard output; a violation if the program fails, Refused if it refuses."""
        words = [str(word) for word in words]
        self.commands.append(f"OMP_NUM_THREADS={threads} {self.program} {shlex.join(words)}")
        done = subprocess.run([self.program, *words], capture_output=True, text=True, timeout=900,
                              env={**self.environment, "OMP_NUM_THREADS": str(threads)})
        if done.returncode == 2 and words[0] == "search" and "expected at least one legal plan" in done.stderr:
            return NOTHING_LEGAL
        if done.returncode == 2:
            raise Refused(done.stderr)
        if done.returncode not in (0, 1):
            self.violation(f"exit status {done.returncode}: {done.stderr[-300:]}")
            raise Refused(done.stderr)
        return done.stdout

    def begin(self, question, check, thorough):
        self.question, self.check, self.commands = question, check, []
        self.thorough = thorough
        self.environment["PLAIT_DATA"] = os.getcwd() if thorough else self.data

    def ask(self, *words, threads=1):
        return json.loads(self.run(*words, threads=threads))

    def search(self, job):
        """The answer of plait search to a job, a scenario of plait sweep."""
        flags = {key: value for key, value in job.items() if key not in ("model", "cluster")}
        return self.ask("search", job["model"], job["cluster"], *words_of({**flags, "top": 1}), "--json")

    def best(self, *jobs):
        """The best plan of each job, with step_s and memory; None if no plan fits."""
        if self.thorough:
            return [next(iter(fitting(self.search(job))), None) for job in jobs]
        text = self.run("sweep", self.write("jobs.json", {"scenarios": jobs}))
        lines = list(map(json.loads, text.splitlines()))
        if errors := [line["error"] for line in lines if "error" in line]:
            raise Refused(errors[0])
        return [line if line["verdict"] == "fits" else None for line in lines]

    def violation(self, text):
        self.wrong[self.check] += 1
        print(f"question {self.question}: {self.check}: {text}\n   ", "\n    ".join(self.commands), flush=True)

    def same(self, what, found, expected):
        self.checks[self.check] += 1
        if found != expected:
            self.violation(f"{what}: {found}, expected {expected}")

    def same_best(self, what, found, expected):
        """The prices of two best plans. Several plans may have the shortest step but for rounding."""
        tied = found and expected and abs(float(found[0]) / float(expected[0]) - 1) < ROUNDING
        self.same(what, expected if tied else found, expected)

    def not_longer(self, what, larger, smaller, always_proven=False):
        """The job `larger` has all plans of the job `smaller`, at most as long. Both are a job and its best plan."""
        self.checks[self.check] += 1
        found, expected = (plan and plan["step_s"] for _, plan in (larger, smaller))
        if expected is None or (found is not None and found <= expected * (1 + DIGITS)):
            return
        answers = [self.search(job) for job, _ in (larger, smaller)]
        # Without a plan of measured techniques, the smaller space also has plans that the larger has not.
        comparable = not (answers[1]["search"] or {}).get("uses_unmeasured", False)
        if comparable and (always_proven or all(map(proven, answers))):
            self.violation(f"{what}: {found} s, expected at most {expected} s")
            return
        self.unproven[self.check] += 1
        self.worst[self.check] = max(self.worst[self.check], found / expected - 1 if found else 9.99)


def price(plan):
    """The two figures as they are printed, since equal plans have equal digits."""
    return repr(plan["step_s"]), repr(plan["memory"]["peak_bytes"] if "memory" in plan else plan["memory_bytes"])


def fitting(answer):
    return [plan for plan in answer["plans"] if plan["verdict"] == "fits"]


def proven(answer):
    search = answer["search"]  # None: no plan is legal
    return not search or all(part["proof"] == "optimal" for part in [search, *search["refinements"]])


# ---- questions -------------------------------------------------------------------------------


def synthetic_model(draw):
    """A Hugging Face config.json of a dense model or one with experts."""
    width = draw.choice([64, 128])
    key_heads = draw.choice([1, 2, 3, 4, 5, 8])
    heads = key_heads * draw.choice([1, 2, 3, 4, 7])
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu",
              "hidden_size": heads * width, "head_dim": width, "num_attention_heads": heads,
              "num_key_value_heads": key_heads, "num_hidden_layers": draw.randint(2, 61),
              "intermediate_size": 64 * draw.randint(8, 300), "vocab_size": draw.choice([32000, 50257, 128256]),
              "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "rope_theta": 1e6,
              "tie_word_embeddings": draw.random() < 0.5, "torch_dtype": "bfloat16"}
    if draw.random() < 0.4:
        config.update(model_type="mixtral", architectures=["MixtralForCausalLM"], num_experts_per_tok=2,
                      num_local_experts=draw.choice([4, 6, 8, 12, 16]),
                      intermediate_size=64 * draw.randint(4, 60))
    return config


def full_cluster(name):
    """The cluster with its accelerator in full; None if it has several kinds of nodes."""
    cluster = json.load(open(f"clusters/{name}.json"))
    if "groups" in cluster:
        return None
    if isinstance(cluster["accelerator"], str):
        cluster["accelerator"] = json.load(open(f"clusters/accelerators/{cluster['accelerator']}.json"))
    return cluster


def names(pattern):
    return sorted(os.path.basename(path)[:-5] for path in glob.glob(pattern))


def draw_question(draw, campaign, large):
    """Draws a model, a cluster in full, and the flags of a job."""
    if draw.random() < 0.3:
        model = campaign.write("config.json", synthetic_model(draw))
    else:
        model = draw.choice(names("models/*.json") if large and draw.random() < 0.6 else SMALL)
    cluster = None
    while cluster is None:
        cluster = full_cluster(draw.choice(names("clusters/*.json")))
    node = cluster["gpus_per_node"]
    gpus = draw.randint(1, node) if draw.random() < 0.5 else node * draw.choice(
        [1, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48] if large else [1, 1, 1, 2, 3])
    if "nodes" in cluster:
        gpus = min(gpus, node * cluster["nodes"])
    flags = {"gpus": gpus, "seq": draw.choice([512, 1000, 1024, 2048, 4096, 4096, 8192, 16384]),
             "gbs": draw.choice([gpus, 2 * gpus, 4 * gpus, 16, 24, 30, 32, 64, 96, 100, 128, 256])}
    if draw.random() < 0.5:
        flags["runtime"] = draw.choice(names("clusters/runtimes/*.json"))
    formats = sorted({"bf16", "fp16", "fp8", "fp8_block"} & set(cluster["accelerator"]["peak_tflops"]))
    if "bf16" not in formats or draw.random() < 0.2:
        flags["precision"] = draw.choice(formats)
    flags["refine"] = draw.choice(REFINES if draw.random() < 0.2 else ["none"])
    return model, cluster, flags


def words_of(flags):
    return [word for key, value in flags.items() for word in ("--" + key.replace("_", "-"), value)]


def draw_limit(draw):
    """Draws one or two limits."""
    ranges = {key: f"{draw.choice(['', 1, 2])}..{draw.choice([1, 2, 4, 8])}" for key in ("tp", "pp", "cp", "ep", "mbs")}
    ranges.update(recompute=draw.choice(["none", "full", "selective"]), zero=draw.choice(["..1", "1..", "3", "..2"]),
                  schedule="1f1b", sp=draw.choice([0, 1]), vpp=draw.choice(["1", "..2"]))
    ranges = {key: value for key, value in ranges.items() if value != "2..1"}
    keys = draw.sample(sorted(ranges), draw.randint(1, 2))
    return [f"{key}={ranges[key]}" for key in keys]


# ---- properties ------------------------------------------------------------------------------


def resources(cluster):
    """Pairs of a resource's name and the function that gives `cluster` a multiple of it."""
    accelerator, found = cluster["accelerator"], []

    def scale(block, keys, factor):
        for key in keys:
            value = block[key]
            block[key] = [v * factor for v in value] if isinstance(value, list) else value * factor

    def add(name, block, *keys, power=1):
        keys = [key for key in keys or block if block.get(key) and not isinstance(block[key], str)]
        if keys:
            found.append((name, lambda factor: scale(block, keys, factor**power)))

    add("memory", accelerator["memory"], "memory_gib")
    add("memory bandwidth", accelerator["memory"], "hbm_tb_per_s")
    add("peak", accelerator["peak_tflops"])
    add("host memory", cluster.get("host", {}), "memory_gib")
    add("host link", accelerator.get("host", {}), "link_gb_per_s")
    add("send rate", accelerator.get("p2p", {}), "bandwidth_gb_per_s")
    for name, fit in accelerator.get("collectives", {}).items():
        if isinstance(fit, dict):
            add(f"rate of {name}", fit, "bus_gb_per_s")
    for i, level in enumerate(cluster["levels"]):
        add(f"bandwidth of level {i}", level, "bandwidth_gb_per_s")
        add(f"latency of level {i}", level, "latency_us", power=-1)
    return found


def check_resource(campaign, draw, model, cluster, flags):
    jobs, names = [{"model": model, "cluster": campaign.write("base.json", cluster), **flags}], []
    for i in range(2):
        more = copy.deepcopy(cluster)
        name, multiply = draw.choice(resources(more))
        factor = draw.choice([1.01, 1.1, 1.5, 2, 4])
        multiply(factor)
        names.append(f"{factor} times {name}")
        jobs.append({**jobs[0], "cluster": campaign.write(f"more{i}.json", more)})
    pairs = list(zip(jobs, campaign.best(*jobs)))
    for name, pair in zip(names, pairs[1:]):
        campaign.not_longer(name, pair, pairs[0])


def check_superset(campaign, draw, model, cluster, flags):
    small = {"model": model, "cluster": campaign.write("base.json", cluster), **flags}
    kind, large = draw.choice(["limit", "limit", "refine", "risk", "list", "fix", "fix"]), dict(small)
    if kind == "limit":
        limits = draw_limit(draw)
        small["limit"] = ",".join(limits)
        if len(limits) > 1 and draw.random() < 0.5:
            large["limit"] = limits[0]
    elif kind == "refine":
        low, high = sorted(draw.sample(range(len(REFINES)), 2))
        small["refine"], large["refine"] = REFINES[low], REFINES[high]
    elif kind == "risk":
        large["risk"] = draw.choice([0.1, 0.3])
    if kind == "list":  # options that sweep does not have
        first = campaign.search(small)
        more = draw.choice([["--allow-numerics"], ["--all"], ["--top", 2], ["--top", 20]])
        flags = {**flags, "top": 1} if "--top" not in more else flags
        answer = campaign.ask("search", model, small["cluster"], *words_of(flags), *more, "--json")
        first, second = (next(iter(fitting(found)), None) for found in (first, answer))
    elif kind == "fix":  # the best plan is also that of the space with one of its values
        first, = campaign.best(small)
        if not first:
            return
        key = draw.choice(["tp", "pp", "cp", "ep", "mbs", "zero", "vpp", "recompute", "schedule", "dp"])
        large["fix"] = f"{key}={first.get('plan', first)[key]}"
        second, = campaign.best(large)
    else:
        first, second = campaign.best(small, large)
    campaign.not_longer(f"the larger space ({kind})", (large, second), (small, first), kind == "refine")


def flags_of(plan):
    values = {key: plan[key] for key in KEYS}
    if isinstance(values["order"], list):
        values["order"] = "-".join(values["order"])
    return words_of(values)


def check_eval(campaign, draw, model, cluster, flags):
    question = [model, campaign.write("base.json", cluster)]
    answer = campaign.ask("search", *question, *words_of(flags), "--top", 6, "--json", "-o",
                          campaign.path("plans.json"))
    plans = answer["plans"]
    for plan in draw.sample(plans, min(3, len(plans))):
        again = campaign.ask("eval", "--plan", f"{campaign.path('plans.json')}:{plan['rank']}", "--json")
        campaign.same(f"eval of plan {plan['rank']}", price(again["plans"][0]), price(plan))
        campaign.commands.pop()
    job = {key: value for key, value in flags.items() if key != "refine"}
    own = {"degrees", "tp", "zero"}  # values of a stage or its layers, not of a plan
    uniform = [plan for plan in plans if not any(own & set(stage) for stage in plan["stages"])]
    for plan in draw.sample(uniform, min(2, len(uniform))) + draw.sample(answer["front"], min(2, len(answer["front"]))):
        again = campaign.ask("eval", *question, *words_of(job), *flags_of(plan), "--json")
        campaign.same(f"eval of the flags of plan {plan['rank']}", price(again["plans"][0]), price(plan))
        campaign.commands.pop()


def check_doors(campaign, draw, model, cluster, flags):
    base, file = campaign.write("base.json", cluster), campaign.path("plans.json")
    answer = campaign.ask("search", model, base, *words_of(flags), "--top", 4, "--json", "-o", file)
    if not fitting(answer):
        return
    best = price(answer["plans"][0])
    plan = draw.choice(answer["plans"])
    found = campaign.ask("explain", "--plan", f"{file}:{plan['rank']}", "--json")
    campaign.same(f"explain of plan {plan['rank']}", price(found["plans"][0]), price(plan))
    campaign.run("report", file, "--no-alternatives", "-o", campaign.path("page.json"))
    rows = json.load(open(campaign.path("page.json")))["tables"]["ranking"]["rows"]
    campaign.same("ranking of report", [(repr(row[1]), repr(row[3])) for row in rows],
                  [price(plan) for plan in answer["plans"]])
    with open(campaign.path("runs.csv"), "w") as runs:
        runs.write(f"rank,step_s\n1,{answer['plans'][0]['step_s']}\n")
    found = campaign.ask("next", file, campaign.path("runs.csv"), "--json")
    campaign.same("next", {p["rank"]: p["predicted_s"] for p in found["plans"]},
                  {p["rank"]: p["step_s"] for p in answer["plans"]})
    sweep = campaign.write("sweep.json", {"scenarios": [{"model": model, "cluster": base, **flags}]})
    campaign.same_best("sweep", price(campaign.ask("sweep", sweep)), best)
    name = {"megatron": "args.sh", "companion": "launch.json"}.get(flags.get("runtime", "megatron"))
    if not name:
        return  # a launch config for other software is read as a plan of that software
    target, folder = flags.get("runtime", "megatron"), campaign.path("folder")
    shutil.rmtree(folder, ignore_errors=True)
    campaign.run("launch", file + ":1", "--target", target, "-o", folder)
    if not os.path.exists(f"{folder}/{name}"):
        return  # this target cannot run the plan
    source = ["--from", target, f"{folder}/{name}", "--cluster", base]
    campaign.run("import", *source, "-o", campaign.path("mine.json"))
    again = campaign.ask("eval", "--plan", campaign.path("mine.json"), "--json")
    campaign.same(f"launch for {target}, import, eval", price(again["plans"][0]), best)
    if draw.random() < 0.3:  # doctor searches several times
        campaign.same(f"doctor of {target}", price(campaign.ask("doctor", *source, "--json")["today"]), best)


def check_fewer(campaign, draw, model, cluster, flags):
    """The best smaller number of GPUs that a search prints; no other smaller number is faster."""
    node, job = cluster["gpus_per_node"], {"model": model, "cluster": campaign.write("base.json", cluster), **flags}
    job.update(refine="none", gpus=draw.randint(3, node) if node > 2 and draw.random() < 0.5 else
               min(node * draw.choice([3, 5, 6, 7, 9, 10, 11, 13]), node * cluster.get("nodes", 9999)))
    fewer = campaign.search(job).get("fewer_gpus")
    if not fewer or not fewer["best"]:
        return
    numbers = range(1, job["gpus"]) if job["gpus"] <= node else range(node, job["gpus"], node)
    same, other = {**job, "gpus": fewer["gpus"]}, {**job, "gpus": draw.choice(numbers)}
    found, less = campaign.best(same, other)
    campaign.same_best("the best on fewer GPUs", found and price(found), price(fewer["best"]))
    if fewer["proof"] == "optimal":
        campaign.not_longer(f"the best on fewer GPUs, against {other['gpus']}", (same, fewer["best"]), (other, less))


def check_capacity(campaign, draw, model, cluster, flags):
    question = [model, campaign.write("base.json", cluster)]
    node, flags = cluster["gpus_per_node"], {**flags, "refine": flags["refine"] if draw.random() < 0.2 else "none"}
    most = node * cluster.get("nodes", 9999)
    first = min(node * draw.choice([1, 1, 1, 2, 3]), most)
    last = min(first * draw.choice([1, 2, 2, 3, 4]), most)
    flags["gbs"] = draw.choice([16, 24, 32, 48, 64, 96, 100, 128])
    run = ["capacity", *question, "--tokens", "100G", "--runs", 0, "--price", 2, "--json"]
    jobs = {"model": question[0], "cluster": question[1], **flags}
    plan, = campaign.best({**jobs, "gpus": first}) if draw.random() < 0.8 else [None]
    if plan:
        days = 100e9 / flags["seq"] / flags["gbs"] * plan["step_s"] / 86400
        run += ["--deadline", f"{days * draw.uniform(0.9 * first / last, 1.05):.6f}d"]
    answer = campaign.ask(*run, *words_of({**flags, "gpus": f"{first}..{last}"}))
    rows = sorted(answer["rows"], key=lambda row: not row.get("between"))[:4]
    jobs = [{**jobs, "gpus": row["gpus"], "gbs": row["gbs"]} for row in rows]
    for row, plan in zip(rows, campaign.best(*jobs) if jobs else []):
        campaign.same_best(f"{row['gpus']} GPUs with a batch of {row['gbs']} (between: {row.get('between')})",
                           price(row) if row["fits"] else None, plan and price(plan))
    searched, batches = answer["clusters"][0]["searched"], answer["clusters"][0]["batches"]
    if not searched or not searched["whole"] or searched["assumed"] or flags["refine"] != "none":
        return
    every = campaign.ask(*run, *words_of({**flags, "gpus": f"{first}..{last}:{node}",
                                          "gbs": ",".join(map(str, batches))}))
    for which, key in ("smallest", "gpus"), ("cheapest", "cost_usd"):
        found, expected = ([] if a[which] is None else [a["rows"][a[which]][key]] for a in (answer, every))
        campaign.same(f"the {which} of an enumeration", found, expected)


def without_times(value):
    """The document without what depends on the clock and the number of threads."""
    if isinstance(value, list):
        return [without_times(item) for item in value]
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in ("elapsed_s", "threads", "command")}
    return value


def check_threads(campaign, draw, model, cluster, flags):
    command, node = draw.choice(["search", "search", "explain", "capacity"]), cluster["gpus_per_node"]
    if command == "explain":
        del flags["refine"]
    question = [model, campaign.write("base.json", cluster), *words_of(flags)]
    if command == "capacity":
        question += ["--gpus", f"{node}..{node * min(2, cluster.get('nodes', 2))}", "--tokens", "100G"]
    one, two = (without_times(campaign.ask(command, *question, "--json", threads=n)) for n in (1, 2))
    campaign.checks["threads"] += 1
    if json.dumps(one) != json.dumps(two):
        campaign.violation("two threads print other bytes")


CHECKS = {"resource": check_resource, "superset": check_superset, "eval": check_eval, "doors": check_doors,
          "fewer": check_fewer, "capacity": check_capacity, "threads": check_threads}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plait")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--large", action="store_true", help="also large models and more GPUs")
    parser.add_argument("--verbose", action="store_true", help="print refusals")
    parser.add_argument("--only", default=",".join(CHECKS),
                        help="checks in turn; a repeated check has a larger share")
    parser.add_argument("--keep", help="folder for the files of questions with violations")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="ask no further question after this time")
    options = parser.parse_args()
    campaign, refused, chosen = Campaign(options), collections.Counter(), options.only.split(",")
    start, asked, spent = time.monotonic(), collections.Counter(), collections.Counter()

    for i in range(options.first, options.first + options.questions):
        if time.monotonic() - start > options.seconds:
            break
        draw = random.Random(f"{options.seed}:{i}")
        check = chosen[i % len(chosen)]
        campaign.begin(f"{options.seed}:{i}", check, thorough=i // len(chosen) % 20 == 0)
        before, began = campaign.wrong.total(), time.monotonic()
        asked[check] += 1
        try:
            CHECKS[check](campaign, draw, *draw_question(draw, campaign, options.large))
        except (TypeError, ValueError, KeyError, IndexError) as error:
            campaign.violation(f"not read: {error!r}")
        except Refused as why:
            refused[check] += 1
            if options.verbose:
                print(f"question {campaign.question}: {check}: refused: {why}".strip())
        spent[check] += time.monotonic() - began
        if options.keep and campaign.wrong.total() > before:
            shutil.copytree(campaign.folder, f"{options.keep}/{options.seed}-{i}", dirs_exist_ok=True)

    for check in dict.fromkeys(chosen):
        print(f"{check}: {asked[check]} questions, {refused[check]} refused, {campaign.checks[check]} comparisons, "
              f"{campaign.wrong[check]} violations, {campaign.unproven[check]} unproven (at most "
              f"{100 * campaign.worst[check]:.2f} % longer), {spent[check]:.0f} s")
    shutil.rmtree(campaign.folder)
    idle = [check for check in dict.fromkeys(chosen) if asked[check] and not campaign.checks[check]]
    if idle:
        print(f"no question was compared: {', '.join(idle)}; --verbose prints why they were refused")
    sys.exit(campaign.wrong.total() > 0 or bool(idle))


if __name__ == "__main__":
    main()
