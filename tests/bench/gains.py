#!/usr/bin/env python3
"""gains.py PLAIT [layouts|stages|cuts]... - prints the tables of gains in docs/search/layouts.md and per-stage.md

The tables are Markdown. Each row is one search on two threads. A search that takes more than ten minutes is
omitted and reported on standard error.
"""
import json
import subprocess
import sys

CUTS = [
    ("llama-2-7b", "a100-40gb-sxm", 8, 4096, 64),
    ("llama-2-7b", "a100-40gb-sxm", 16, 4096, 128),
    ("llama-2-13b", "a100-40gb-sxm", 16, 4096, 128),
    ("llama-2-7b", "dgx-h100", 64, 4096, 512),
    ("llama-2-70b", "dgx-h100", 64, 4096, 512),
    ("llama-2-70b", "dgx-h100", 512, 4096, 2048),
    ("gpt3-175b", "dgx-a100", 256, 2048, 1536),
    ("llama-2-13b", "dgx-h100", 64, 4096, 256),
    ("llama-2-70b", "a100-40gb-sxm", 64, 4096, 512),
    ("gpt2-xl", "a100-40gb-sxm", 8, 1024, 256),
]
LAYOUTS = [
    ("llama-3.1-70b", "dgx-h100", 64, 8192, 512),
    ("llama-3.1-405b", "dgx-h100", 1024, 8192, 2048),
    ("llama-3.1-405b", "dgx-h100", 16384, 8192, 2048),
    ("gpt3-175b", "dgx-a100", 1024, 2048, 1536),
    ("deepseek-v3", "h800", 2048, 4096, 15360),
    ("kimi-k2", "h800", 1024, 4096, 4096),
    ("glm-4.5", "dgx-h200", 256, 4096, 1024),
    ("glm-4.5-air", "dgx-h100", 128, 4096, 1024),
    ("llama-4-scout", "dgx-h100", 64, 8192, 512),
    ("gpt-oss-120b", "dgx-h100", 64, 8192, 512),
    ("mixtral-8x22b", "dgx-h100", 128, 4096, 512),
    ("qwen3-coder-next", "dgx-h100", 64, 8192, 512),
]
STAGES = [
    ("llama-3.1-70b", "dgx-h100", 64, 8192, 512),
    ("llama-3.1-405b", "dgx-h100", 1024, 8192, 2048),
    ("gpt3-175b", "dgx-a100", 1024, 2048, 1536),
    ("deepseek-v3", "h800", 2048, 4096, 15360),
]
COMPANION = "schedule=1f1b,fusion=none,offload_acts=none"
NARROW = {"deepseek-v3": ",tp=2,cp=1,ep=64"}


def ask(plait, row, runtime, *more):
    model, cluster, gpus, seq, gbs = row
    command = [plait, "search", model, cluster, "--gpus", gpus, "--seq", seq, "--gbs", gbs,
               "--runtime", runtime, "--refine", "all", "--threads", 2, "--json", *more]
    try:
        run = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                             timeout=600)
    except subprocess.TimeoutExpired:
        print(f"{model} on {gpus} {cluster}, {runtime}: not through in ten minutes", file=sys.stderr)
        return []
    return json.loads(run.stdout)["search"]["refinements"] if run.returncode == 0 else []


def seconds(value):
    return f"{value:.4g} s"


def share(value):
    return "0" if round(value, 3) == 0 else f"{100 * value:.1f} %"


def gain(refinement):
    return 1 - refinement["after"] / refinement["before"]


def gap(refinement):
    open_share = 1 - refinement["floor"] / refinement["after"] if refinement["floor"] else 0
    return "proven" if refinement["proof"] == "optimal" else share(open_share)


def spent(refinements):
    return f"{sum(r['elapsed_s'] for r in refinements):.2g} s"


def name_of(row):
    return f"`{row[0]}`, {row[2]} `{row[1]}`, {row[3]}, {row[4]}"


def print_cuts(plait):
    print("| model, GPUs, seq, gbs | without | per layer | gain | gap | points, time |")
    print("|---|---|---|---|---|---|")
    for row in CUTS:
        found = [r for r in ask(plait, row, "galvatron") if r["name"].startswith("per-layer")]
        if found:
            cut = found[0]
            print(f"| {name_of(row)} | {seconds(cut['before'])} | {seconds(cut['after'])} "
                  f"| {share(gain(cut))} | {gap(cut)} | {cut['solved']:,} of {cut['points']:,}, "
                  f"{spent([cut])} |", flush=True)


def print_refined(plait, rows, runtime, names, more):
    heads = ["model, GPUs, seq, gbs", "uniform", *names, "gap", "time"]
    print("| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|")
    for row in rows:
        found = ask(plait, row, runtime, *more(row))
        by_name = {r["name"]: r for r in found}
        if found:
            gains = [share(gain(by_name[n])) if n in by_name else "-" for n in names]
            cells = [name_of(row), seconds(found[0]["before"]), *gains, gap(found[-1]), spent(found)]
            print("| " + " | ".join(cells) + " |", flush=True)


def print_layouts(plait):
    print_refined(plait, LAYOUTS, "megatron", ["layouts"], lambda row: [])


def print_stages(plait):
    print_refined(plait, STAGES, "companion", ["layouts", "stages"],
                  lambda row: ["--fix", COMPANION + NARROW.get(row[0], "")])


if __name__ == "__main__":
    tables = {"layouts": print_layouts, "stages": print_stages, "cuts": print_cuts}
    asked = sys.argv[2:] or list(tables)
    if len(sys.argv) < 2 or any(name not in tables for name in asked):
        sys.exit(__doc__)
    for table in asked:
        tables[table](sys.argv[1])
