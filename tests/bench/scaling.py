#!/usr/bin/env python3
"""scaling.py PLAIT [--json|--markdown] [--repeat N] [--limit SECONDS] [AXIS]... - how time and memory of a search grow

Each axis changes one thing of a base question. Each question is one run of `plait search` on two threads; of
several runs the least time and memory count. A run that takes longer than the limit is ended (default: 60 s).
Processor seconds are compared with the target, since they depend less on what else runs; on an idle machine
no question takes longer. --markdown prints the tables of docs/accuracy/scaling.md.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading

MOST_S, MOST_MB = 5, 300
BAR = 20  # characters of the bar of a question that takes MOST_S

LLAMA = ("llama-3.1-70b", "dgx-h100", {"gpus": 1024, "seq": 8192, "gbs": 8192, "runtime": "megatron"})
DEEPSEEK = ("deepseek-v3", "h800", {"gpus": 2048, "seq": 4096, "gbs": 8192, "runtime": "megatron"})
# 1,024 GPUs of one to four kinds, and 8,192 of four
MIXED = [
    ["h100-80gb-sxm:128x8"],
    ["h100-80gb-sxm:64x8", "a100-80gb-sxm:64x8,nic=200"],
    ["h100-80gb-sxm:48x8", "a100-80gb-sxm:40x8,nic=200", "h200-141gb-sxm:40x8"],
    ["h100-80gb-sxm:32x8", "a100-80gb-sxm:32x8,nic=200", "h200-141gb-sxm:32x8", "a100-40gb-sxm:32x8"],
    ["h100-80gb-sxm:256x8", "a100-80gb-sxm:256x8,nic=200", "h200-141gb-sxm:256x8", "a100-40gb-sxm:256x8"],
]
RUNTIMES = ["automodel", "companion", "deepspeed", "flagscale", "fsdp", "galvatron", "maxtext", "megatron",
            "megatron-fsdp", "mindspeed", "nanotron", "torchtitan"]


# ---- the questions: (label, command) ----

def question(label, base, model=None, cluster=None, **changed):
    options = {**base[2], **changed}
    words = [f"--{key}={value}" for key, value in options.items() if value is not None]
    return label, ["search", model or base[0], cluster or base[1], *words]


def model_file(folder, base, name, change):
    """Writes a copy of the base's model, changed by change(model), and returns its path."""
    shipped = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../models", base[0] + ".json")
    with open(shipped, encoding="utf-8") as file:
        model = json.load(file)
    for key in ("hub", "published_params", "published_active_params"):
        model.pop(key, None)
    model["name"] = name
    change(model)
    path = os.path.join(folder, name + ".json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(model, file)
    return path


def set_layers(count):
    def change(model):
        model["layers"][-1]["count"] = count - sum(part["count"] for part in model["layers"][:-1])
    return change


def set_experts(count):
    def change(model):
        moe = model["kinds"]["moe"]["moe"]
        for key in ("groups", "group_topk"):
            moe.pop(key)
        moe.update(experts=count, topk=2)
    return change


def axes(folder):
    powers = [2 ** i for i in range(3, 21)]
    layers = [8, 16, 32, 60, 64, 80, 120, 128, 240, 256, 360, 480, 512]

    def layered(base, count):
        return model_file(folder, base, f"{base[0]}-{count}-layers", set_layers(count))

    def routed(count):
        return model_file(folder, DEEPSEEK, f"deepseek-v3-{count}-experts", set_experts(count))

    return {
        "gpus": ("GPUs, `llama-3.1-70b`", [question(f"{n:,}", LLAMA, gpus=n) for n in powers]),
        "gpus-moe": ("GPUs, `deepseek-v3`", [question(f"{n:,}", DEEPSEEK, gpus=n) for n in powers]),
        "layers": ("layers, `llama-3.1-70b`",
                   [question(f"{n}", LLAMA, model=layered(LLAMA, n)) for n in layers]),
        "layers-moe": ("layers, `deepseek-v3`",
                       [question(f"{n}", DEEPSEEK, model=layered(DEEPSEEK, n)) for n in layers]),
        "experts": ("experts, `deepseek-v3` with two experts per token",
                    [question(f"{n:,}", DEEPSEEK, model=routed(n)) for n in [8, 16, 60, 64, 128, 256, 360, 512, 720, 1024]]),
        "kinds": ("kinds of nodes, `llama-3.1-70b`, `flagscale`", [
            *[question(f"{len(groups)}{', 8,192 GPUs' if '256x8' in groups[0] else ''}", LLAMA,
                       cluster="+".join(groups), gpus=None, runtime="flagscale") for groups in MIXED],
            question("2, 720,720 sequences", LLAMA, cluster="+".join(MIXED[1]), gpus=None, gbs=720720,
                     runtime="flagscale"),
            question("2, `deepseek-v3`", DEEPSEEK, cluster="+".join(MIXED[1]), gpus=None, runtime="flagscale"),
        ]),
        "divisors": ("sequences of a step and GPUs, `llama-3.1-70b`",
                     [question(f"{gbs:,} on {gpus:,}", LLAMA, gbs=gbs, gpus=gpus)
                      for gpus in [1024, 1008, 10080, 100800]
                      for gbs in [8192, 7560, 720720, 2 ** 20, 7207200, 2 ** 23]]),
        "divisors-moe": ("sequences of a step and GPUs, `deepseek-v3`",
                         [question(f"{gbs:,} on {gpus:,}", DEEPSEEK, gbs=gbs, gpus=gpus)
                          for gpus in [2048, 2520, 10080]
                          for gbs in [8192, 7560, 720720, 7207200]]),
        "seq": ("tokens of a sequence, `llama-3.1-70b`",
                [question(f"{2 ** i:,}", LLAMA, seq=2 ** i) for i in range(10, 21, 2)]),
        "refine": ("refinements, `llama-3.1-70b`",
                   [question(f"{what}, {runtime}", LLAMA, refine=what, runtime=runtime)
                    for runtime in ["megatron", "flagscale", "galvatron", "companion"]
                    for what in ["none", "layouts", "stages", "all"]]),
        "runtimes": ("runtimes, `llama-3.1-70b`",
                     [question(name, LLAMA, runtime=name) for name in RUNTIMES]),
        "runtimes-moe": ("runtimes, `deepseek-v3`",
                         [question(name, DEEPSEEK, runtime=name) for name in RUNTIMES]),
        "nothing": ("questions without a plan", [
            question("`llama-3.1-70b` on 8 GPUs", LLAMA, gpus=8),
            question("`llama-3.1-405b` on 64 GPUs", LLAMA, model="llama-3.1-405b", gpus=64),
            question("`llama-3.1-405b` on 64 GPUs, 10^6 tokens", LLAMA, model="llama-3.1-405b", gpus=64, seq=2 ** 20),
            question("`llama-3.1-405b` on 64 GPUs, `companion`", LLAMA, model="llama-3.1-405b", gpus=64,
                     runtime="companion"),
            question("`deepseek-v3` on 8 GPUs", DEEPSEEK, gpus=8),
            question("`deepseek-v3` on 64 GPUs", DEEPSEEK, gpus=64),
            question("`kimi-k2` on 64 GPUs", DEEPSEEK, model="kimi-k2", gpus=64),
            question("8,072 GPUs, 8 x 1,009", LLAMA, gpus=8072),
            question("8,191 sequences, a prime", LLAMA, gbs=8191),
            question("`llama-3.1-405b` on 16 + 16 GPUs of two kinds", LLAMA, model="llama-3.1-405b", gpus=None,
                     cluster="h100-80gb-sxm:2x8+a100-80gb-sxm:2x8,nic=200", runtime="flagscale"),
            question("`llama-3.1-405b` on 4 x 16 GPUs of four kinds", LLAMA, model="llama-3.1-405b", gpus=None,
                     cluster="h100-80gb-sxm:2x8+a100-80gb-sxm:2x8,nic=200+h200-141gb-sxm:2x8+a100-40gb-sxm:2x8",
                     runtime="flagscale"),
        ]),
    }


# ---- running one ----

def run_once(command, limit_s):
    """Seconds, processor seconds, peak megabytes, exit status and the answer; None after limit_s."""
    with tempfile.TemporaryFile() as out:
        start = os.times().elapsed
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        timer = threading.Timer(limit_s, child.kill)
        timer.start()
        _, status, used = os.wait4(child.pid, 0)
        elapsed_s = os.times().elapsed - start
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    answer = json.loads(text) if text.startswith(b"{") and child.returncode in (0, 1) else {}
    search = answer.get("search") or {}
    return {"elapsed_s": elapsed_s, "cpu_s": used.ru_utime + used.ru_stime, "peak_mb": used.ru_maxrss * 1024 / 1e6,
            "status": child.returncode, "points": search.get("points"), "priced": search.get("priced")}


def measure(plait, label, words, arguments):
    command = [plait, *words, "--threads=2", "--top=1", "--json"]
    runs = [run_once(command, arguments.limit) for _ in range(arguments.repeat)]
    least = {key: min(run[key] for run in runs) for key in ("elapsed_s", "cpu_s", "peak_mb")}
    return {"question": label, "command": shlex.join(["plait", *words]), **runs[0], **least}


def exceeds(row):
    return row["cpu_s"] > MOST_S or row["peak_mb"] > MOST_MB or row["status"] < 0


# ---- printing ----

def outcome(row):
    return {0: "", 1: "no plan", -9: "ended"}.get(row["status"], f"exit {row['status']}")


def count(value):
    return "-" if value is None else f"{value:,}"


def cells(row):
    return [row["question"], f"{row['elapsed_s']:.2f}", f"{row['cpu_s']:.2f}", f"{row['peak_mb']:.0f}",
            count(row["points"]), count(row["priced"]), outcome(row)]


def bar(row):
    length = round(BAR * row["cpu_s"] / MOST_S)
    return "#" * length if length <= BAR else "#" * BAR + "+"


HEADS = ["s", "CPU s", "MB", "points", "priced", ""]


def print_markdown(title, rows):
    print(f"| {title} | {' | '.join(HEADS[:-1])} | |\n|---|---:|---:|---:|---:|---:|---|")
    for row in rows:
        note = " ".join(part for part in (f"`{bar(row)}`" if bar(row) else "", outcome(row)) if part)
        print(f"| {' | '.join(cells(row)[:-1])} | {note} |")
    print(flush=True)


def print_table(title, rows):
    table = [[title.replace("`", ""), *HEADS]] + [[cell.replace("`", "") for cell in cells(row)] for row in rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    for line in table:
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(line[1:-1], widths[1:-1]))
        print(f"{line[0].ljust(widths[0])}  {numbers}  {line[-1]}".rstrip())
    print(flush=True)


def print_summary(rows, markdown):
    above = [row for row in rows if exceeds(row)]
    print(f"{len(rows)} questions, {len(above)} of them above {MOST_S} s of processor time or {MOST_MB} MB")
    if markdown:
        print("\n| CPU s | MB | |\n|---:|---:|---|")
    for row in above:
        cpu_s = f"{'> ' if row['status'] < 0 else ''}{row['cpu_s']:.1f}"
        print(f"| {cpu_s} | {row['peak_mb']:.0f} | `{row['command']}` |" if markdown
              else f"{cpu_s:>8} s {row['peak_mb']:6.0f} MB  {row['command']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plait")
    parser.add_argument("axes", nargs="*")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60)
    arguments = parser.parse_args()
    results = {}

    with tempfile.TemporaryDirectory() as folder:
        known = axes(folder)
        for name in arguments.axes or known:
            if name not in known:
                parser.error(f"axis {name}: expected one of {', '.join(known)}")
            title, questions = known[name]
            results[name] = [measure(arguments.plait, label, words, arguments) for label, words in questions]
            if not arguments.json:
                (print_markdown if arguments.markdown else print_table)(title, results[name])
    if arguments.json:
        print(json.dumps(results, indent=1))
    else:
        print_summary([row for rows in results.values() for row in rows], arguments.markdown)


if __name__ == "__main__":
    sys.exit(main())
