#!/bin/bash
# test_width.sh PLAIT - checks the text of every command at several widths
set -u
export OMP_NUM_THREADS=1 # threads that wait for a busy machine cost time

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$plait" search gpt2 dgx-h100 --gpus 16 --seq 1k --gbs 64 --refine none -o "$scratch/a.json" >/dev/null
"$plait" search gpt2 dgx-h100 --gpus 16 --seq 1k --gbs 128 --refine none -o "$scratch/b.json" >/dev/null
printf 'rank,step_s\n1,3.4\n' >"$scratch/measured.csv"
head -20 tests/validation/runs.csv >"$scratch/runs.csv"

# Each entry has the words that every width must show, such as the columns that define a row, and the command.
python3 - "$plait" "$scratch" <<'END_PYTHON'
import os, re, shlex, subprocess, sys

plait, scratch = sys.argv[1:]
WIDTHS = (40, 80, 100)
train = "--gpus 64 --seq 8192 --gbs 128"
serve = "--input 2048 --output-tokens 256 --ttft 500ms --tpot 50ms"
COMMANDS = (
    ("tp, dp, step, memory, plan, next: plait explain", "search llama-3.1-70b dgx-h100 --gpus 32 --seq 8k --gbs 32 --fix pp=4 --top 4 --try 2 --refine none"),
    ("split, layout:, step", "search llama-3.1-8b dgx-h100 --gpus 8 --seq 8k --gbs 16 --fix pp=2,tp=1,cp=1 --top 3 --refine layouts"),
    ("tp 8, pp 4, MFU, verdict:", f"eval llama-3.1-70b dgx-h100 {train} --tp 8 --pp 4"),
    ("term, time, stage, layers, 10 % more", f"explain llama-3.1-70b dgx-h100 {train} --tp 8 --pp 4"),
    ("term, difference", f"explain --plan {scratch}/a.json --versus {scratch}/b.json"),
    ("engine, workers, replicas, GPUs, weights, TTFT, TPOT", f"serve llama-3.1-70b dgx-h100 --gpus ..8 --rate 2 --requests 50 {serve}"),
    ("cluster, GPUs, days, USD", "capacity llama-3.1-8b dgx-h100 --gpus 32 --tokens 1T --seq 8k --gbs 256 --deadline 20d --runs 0 --refine none"),
    ("workers, nodes, engine", "capacity --serve llama-3.1-8b dgx-h100 --input 1024 --output-tokens 128 --rate 5"),
    ("rows, MAPE", f"validate {scratch}/runs.csv"),
    ("model, parameters, llama-3.1-405b", "models"),
    ("layers, kind, mixer", "models deepseek-v3"),
    ("cluster, accelerator, dgx-h100, gb200-nvl72", "clusters"),
    ("level, collective", "clusters dgx-h100"),
    ("position, updated, plan", f"next {scratch}/a.json {scratch}/measured.csv"),
    ("step", "doctor --from torchtitan tests/data/launch/torchtitan_8b.toml --cluster dgx-h100 --gpus 8"),
    ("before, after, plan", f"diff {scratch}/a.json {scratch}/b.json"),
    ("case, rows, comm-shift", "case"),
    ("operator, spec, from, to", "operators llama-3.1-8b dgx-h100 --mesh 2x8 --seq 16384 --gbs 2"),
    ("next:, tp 8", "import --from megatron tests/data/launch/pretrain_13b.sh --cluster dgx-h100"),
    ("plan 1 of, next:", f"launch {scratch}/a.json -o {scratch}/run --force"),
    ("--gpus, --wide", "search --help"),
    ("search, operators, --version", "--help"),
)
wrong = []

def printed(command, columns):
    environment = {**os.environ, "COLUMNS": str(columns)}
    run = subprocess.run([plait] + command, capture_output=True, text=True, env=environment)
    if run.returncode > 1:
        wrong.append(f"{command[0]}: status {run.returncode}, {run.stderr}")
    return run.stdout

def words(text): # without the marks of broken commands
    return re.sub(r" \\\n", " ", text)

for needed, line in COMMANDS:
    command = shlex.split(line)
    whole = printed(command, "")
    known = set(whole.split()) | {"no", "room", "for", "--wide", "shows", "all", "ms", "s"}
    known |= {part.strip(",;") for part in known}
    for width in WIDTHS if command[0] != "doctor" else (60,): # its searches take seconds
        text = printed(command, width)
        where = f"{line} at {width}"
        for row in text.splitlines():
            if len(row) > width and len(row.split()) > 1:
                wrong.append(f"{where}: {len(row)} columns: {row}")
        flat = " ".join(words(text).split())
        wrong += [f"{where}: lacks '{word}'" for word in needed.split(", ") if word not in flat]
        if command[0] in ("eval", "import", "launch") and flat != " ".join(whole.split()):
            wrong.append(f"{where}: other words, or in another order")
        split = [word for word in flat.split() if word.strip(",;") not in known and not re.search(r"\d|^[.FBIWPROG]+$", word)]
        if split:
            wrong.append(f"{where}: words that were whole: {split[:5]}")
        # The shell reads a pasted command as the unbroken one.
        for pasted in re.findall(r"^next: (plait (?:.*\\\n)*.*)$", text, re.M):
            then = re.findall(r"^next: (plait .*)$", whole, re.M)
            if shlex.split(words(pasted)) not in [shlex.split(one) for one in then]:
                wrong.append(f"{where}: pasted as {pasted}")
print("\n".join(wrong))
sys.exit(len(wrong) > 0)
END_PYTHON
