#!/bin/bash
# test_doors.sh PLAIT - every command gives a plan of a search the step time and memory of the search
#
# eval, explain, report, next, diff, capacity, sweep, and launch with import and doctor.
set -u
export OMP_NUM_THREADS=1 # threads that wait for a busy machine cost time

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

exec python3 - "$plait" <<'END_PYTHON'
import json, os, shutil, subprocess, sys

TARGETS = {"megatron": "args.sh", "companion": "launch.json"}  # and their files that `import` reads
wrong = 0


def complain(*what):
    global wrong
    wrong += 1
    print(*what)


def plait(*words, file=None):
    """The document that a command prints, or writes to `file`; None and a complaint if it fails."""
    done = subprocess.run([sys.argv[1], *words], capture_output=True, text=True)
    if done.returncode != 0:
        complain(*words, "fails with", done.returncode, done.stdout[-300:], done.stderr)
        return None
    return json.loads(open(file).read() if file else done.stdout)


def price(plan):
    """The two figures as they are printed, since equal plans have equal digits."""
    return repr(plan["step_s"]), repr(plan["memory"]["peak_bytes"] if "memory" in plan else plan["memory_bytes"])


def same(what, found, expected):
    if found != expected:
        complain(f"{what}: {found}, expected {expected}")


def check(model, cluster, job, refine):
    flags = [word for key, value in job.items() for word in ("--" + key, value)]
    name = " ".join([model, cluster, *flags, refine])
    answer = plait("search", model, cluster, *flags, "--refine", refine, "--top", "4", "--json", "-o", "plans.json")
    if answer is None:
        return
    best = price(answer["plans"][0])
    for plan in answer["plans"]:
        for command in "eval", "explain":
            again = plait(command, "--plan", f"plans.json:{plan['rank']}", "--json")
            if again is not None:
                same(f"{name}: {command} of plan {plan['rank']}", price(again["plans"][0]), price(plan))

    run = next(plan for plan in answer["plans"] if plan["rank"] == answer["recommended"])
    page = plait("report", "plans.json", "-o", "page.json", file="page.json")
    if page is not None:
        seconds = sum(row[1] for row in page["tables"]["step"]["rows"])
        if abs(seconds / run["step_s"] - 1) > 1e-9:
            complain(f"{name}: the page describes a step of {seconds} s, expected {run['step_s']}")
        ranked = [(repr(row[1]), repr(row[3])) for row in page["tables"]["ranking"]["rows"]]
        same(f"{name}: the ranking of the page", ranked, [price(plan) for plan in answer["plans"]])
    open("runs.csv", "w").write(f"rank,step_s\n1,{answer['plans'][0]['step_s']}\n")
    ranking = plait("next", "plans.json", "runs.csv", "--json")
    if ranking is not None:
        same(f"{name}: next", {p["rank"]: p["predicted_s"] for p in ranking["plans"]},
             {p["rank"]: p["step_s"] for p in answer["plans"]})
    same(f"{name}: diff", plait("diff", "plans.json", "plans.json", "--json")["changes"], [])

    fixed = {**job, "gbs": f"{job['gbs']}..{job['gbs']}", "gpus": str(answer["job"]["gpus"])}
    sized = plait("capacity", model, cluster, "--tokens", "1B", *[w for k, v in fixed.items() for w in ("--" + k, v)],
                  "--refine", refine, "--json")
    if sized is not None:
        same(f"{name}: capacity", [price(row) for row in sized["rows"]], [best])
    json.dump({"scenarios": [{"model": model, "cluster": cluster, "refine": refine, **job}]}, open("sweep.json", "w"))
    swept = plait("sweep", "sweep.json")
    if swept is not None:
        same(f"{name}: sweep", price(swept), best)

    for target in TARGETS:
        shutil.rmtree("folder", ignore_errors=True)
        if subprocess.run([sys.argv[1], "launch", "plans.json:1", "--target", target, "-o", "folder"],
                          capture_output=True).returncode != 0:
            continue  # this target cannot run the plan
        source = ["--from", target, f"folder/{TARGETS[target]}", "--cluster", cluster]
        if plait("import", *source, "-o", "mine.json", file="mine.json"):
            again = plait("eval", "--plan", "mine.json", "--json")
            if again is not None:
                same(f"{name}: launch for {target}, import, eval", price(again["plans"][0]), best)
        advice = plait("doctor", *source, "--json")
        if advice is not None:
            same(f"{name}: doctor of {target}", price(advice["today"]), best)
        launched.add(target)


launched = set()
check("gpt2-xl", "h100-80gb-sxm", {"gpus": "8", "seq": "1024", "gbs": "24"}, "all")  # plan 2 is recommended
check("llama-3.2-3b", "a100-40gb-sxm:1x8", {"gpus": "6", "seq": "2000", "gbs": "30"}, "all")
check("granite-4.0-h-tiny", "dgx-h100", {"gpus": "8", "seq": "4096", "gbs": "32", "precision": "fp8"}, "stages")
check("llama-3.2-3b", "dgx-a100", {"gpus": "4", "seq": "2048", "gbs": "16", "job": "lora", "lengths": "500"}, "all")
mixed = {"seq": "1024", "gbs": "16", "runtime": "companion", "limit": "pp=2,recompute=full,schedule=1f1b"}
check("qwen3-0.6b", "l4-24gb:1x1+rtx-4080-16gb:1x1", mixed, "none")

# Stages of a plan may recompute different modules than the plan.
file = json.load(open("plans.json"))
file["plans"][0]["stages"][1]["degrees"]["recompute"] = "modules:layernorm+mlp"
file["plans"][0]["stages"][1]["recompute"] = "modules:layernorm+mlp"
json.dump(file, open("mixed.json", "w"))
answer = plait("eval", "--plan", "mixed.json:1", "--json")
if answer is not None:
    same("recompute of stage 1", answer["plans"][0]["stages"][1]["recompute"], "modules:layernorm+mlp")
    json.dump(answer, open("again.json", "w"))
    same("a plan of stages that differ", price(plait("eval", "--plan", "again.json", "--json")["plans"][0]),
         price(answer["plans"][0]))
if launched != set(TARGETS):
    complain("launched only for", launched)
sys.exit(wrong != 0)
END_PYTHON
