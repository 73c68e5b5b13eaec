#!/bin/bash
# test_tuning.sh PLAIT - fine-tuning jobs from public questions fit or run out of memory as known
set -u

plait=$1
wrong=0

expect() { # expect TEXT COMMAND...: the output of plait COMMAND contains TEXT
    local said
    said=$("$plait" "${@:2}" 2>&1)
    [[ $said == *"$1"* ]] && return
    echo "plait ${*:2}: expected '$1', found '$(head -3 <<<"$said")'"
    wrong=1
}

# LoRA of 8 B parameters at 8,192 tokens fits on four GPUs of 24 GB.
expect "run plan 1" search llama-3.1-8b rtx-4090-24gb:1x4 --seq 8192 --gbs 16 --job lora --refine none --top 1

# Data parallelism of 70 B parameters in NF4 runs out of memory on eight A100 at 32,768 tokens.
expect "does not fit" eval llama-3.1-70b a100-80gb-sxm:1x8 --seq 32768 --gbs 8 --job qlora --tp 1 --dp 8

# 70 B parameters with adapters on the fused projection run on one node of H100 in the layout of
# NVIDIA's recipe; r (in + out) is 32 (8192 + 10240) in each of 80 layers, 47.2 million in all.
expect "47.2 M parameters are trained" eval llama-3-70b dgx-h100 --gpus 8 --seq 4096 --gbs 32 --job lora --lora-targets qkv --precision fp8 --tp 2 --pp 4

# Six stages with ep 8 take 48 GPUs; 32 have no whole number of replicas.
expect "does not divide 32 GPUs" search qwen3.5-122b-a10b dgx-h100 --gpus 32 --seq 4096 --gbs 48 --job sft --pp 6 --ep 8 --refine none --top 1
expect "run plan 1" search qwen3.5-122b-a10b dgx-h100 --gpus 48 --seq 4096 --gbs 48 --job sft --pp 6 --ep 8 --refine none --top 1

# A batch of preference learning counts pairs: 16 pairs are the tokens and the forward of 32 sequences.
expect "131 k tokens a step: 16 pairs of 4096" eval llama-3.1-8b dgx-h100 --gpus 8 --seq 4096 --gbs 16 --job dpo --tp 8
step() { # step OPTION...: the times of a step, without those of a reference model
    "$plait" eval llama-3.1-8b dgx-h100 --gpus 8 --seq 4096 --tp 8 --recompute none "$@" --json |
        python3 -c 'import json, sys
plan = json.load(sys.stdin)["plans"][0]
print(round(plan["step_s"] - plan["time"]["reference_s"], 9), round(plan["tokens_per_s_per_gpu"] * plan["step_s"], 3))'
}
[[ $(step --gbs 16 --mbs 1 --job dpo) == $(step --gbs 32 --mbs 2 --job sft) ]] || {
    echo "16 pairs: $(step --gbs 16 --mbs 1 --job dpo), 32 sequences: $(step --gbs 32 --mbs 2 --job sft)"
    wrong=1
}

# The slowest of 8 ranks with 4 packs each, in 2,000 steps with packs that are filled at random.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 - "$work/lengths" <<'END'
import random, sys
draw = random.Random(1)
with open(sys.argv[1], "w") as file:
    for _ in range(4000):
        print(min(8192, int(draw.lognormvariate(6, 0.8)) + 1), file=file)
END
job=(llama-3.1-8b dgx-h100 --gpus 8 --seq 8192 --gbs 32 --job lora --tp 1 --recompute none)
"$plait" eval "${job[@]}" --lengths "$work/lengths" --json >"$work/packs.json"
"$plait" eval "${job[@]}" --lengths "$work/lengths" --balance --json >"$work/balanced.json"
"$plait" eval "${job[@]}" --lengths 500 --json >"$work/equal.json"
"$plait" eval --plan "$work/balanced.json" --json >"$work/again.json"
"$plait" eval "${job[@]}" --runtime fsdp --zero 3 --attention flash2 --lengths "$work/lengths" --json >"$work/lockstep.json"
python3 - "$work" <<'END' || wrong=1
import json, random, sys
def factor(name):
    time = json.load(open(f"{sys.argv[1]}/{name}.json"))["plans"][0]["time"]
    return 1 + time["data_s"] / time["attention_s"]
draw = random.Random(2)
lengths = [int(line) for line in open(f"{sys.argv[1]}/lengths")]
def pack():
    left, work = 8192, 0
    while left > 0:
        length = draw.choice(lengths)
        work += length * min(length, left)
        left -= length
    return work
slowest = together = balanced = mean = 0
for _ in range(2000):
    packs = sorted(pack() for _ in range(32))
    rounds = [packs[i:i + 8][::1 if i % 16 == 0 else -1] for i in range(0, 32, 8)]
    balanced += max(map(sum, zip(*rounds)))
    draw.shuffle(packs)
    rounds = [packs[i:i + 8] for i in range(0, 32, 8)]
    slowest += max(map(sum, zip(*rounds)))
    together += sum(map(max, rounds))
    mean += sum(packs) / 8
for name, expected in ("packs", slowest / mean), ("lockstep", together / mean), ("balanced", balanced / mean):
    if abs(factor(name) / expected - 1) > 0.1:
        sys.exit(f"{name}: simulated {expected:.3f}, found {factor(name):.3f}")
if factor("equal") != 1 or abs(factor("again") / factor("balanced") - 1) > 1e-9:
    sys.exit("equal documents wait, or a plan file loses its documents")
END
printf '100\n\n200 tokens\n' >"$work/bad"
expect "bad:3: expected tokens from 0 to" eval "${job[@]}" --lengths "$work/bad"
printf '{"length": 100}\n{"input_length": 100, "output_length": 200}\n' >"$work/lines"
expect "in documents of 250;" eval "${job[@]}" --lengths "$work/lines"
printf 'id,length\n1,100\n2,300\n' >"$work/table"
expect "in documents of 250;" eval "${job[@]}" --lengths "$work/table"
expect "sequences of up to 8192, 200 on average, padded" eval "${job[@]}" --lengths "$work/table" --padding
# two of 100 and 300 tokens are padded to 250 on average
expect "20.0 % of the computed tokens are padding" eval "${job[@]}" --mbs 2 --lengths "$work/table" --padding
expect "--balance: expected --lengths" eval "${job[@]}" --balance

# capacity takes images as search does.
expect "images: expected a model with an encoder" capacity llama-3.1-8b dgx-h100 --gpus 8 --tokens 1G --seq 4096 --gbs 64 --images 2

# Options that do not apply, and words that do not exist, are refused.
expect "--lora-rank: expected --job lora" eval gpt2 dgx-h100 --gpus 8 --seq 1k --gbs 8 --job sft --lora-rank 8
# The pass of a teacher on many other GPUs is overlapped with the step; on few of them, the step waits for it, in inverse
# proportion to their number. It needs no memory of the student.
student=(eval llama-3.1-8b dgx-h100 --gpus 8 --seq 4k --gbs 64 --job distill --teacher llama-3.1-70b --tp 8 --zero 1 --recompute full)
"$plait" "${student[@]}" --json >"$work/same" || wrong=1
for n in 1 2 512; do "$plait" "${student[@]}" --teacher-gpus $n --json >"$work/apart$n" || wrong=1; done
python3 - "$work" <<'END' || wrong=1
import json, math, sys
def plan(name):
    return json.load(open(f"{sys.argv[1]}/{name}"))["plans"][0]
same, one, two, many = (plan(name) for name in ("same", "apart1", "apart2", "apart512"))
assert many["time"]["reference_s"] == 0.0
assert math.isclose(one["step_s"], 2.0 * two["step_s"], rel_tol=1e-9)
assert math.isclose(two["step_s"], 4.0 * same["time"]["reference_s"], rel_tol=1e-9)
assert math.isclose(many["step_s"], same["step_s"] - same["time"]["reference_s"], rel_tol=1e-9)
assert many["memory"]["peak_bytes"] < same["memory"]["peak_bytes"]
assert math.isclose(many["cost_usd"] / many["step_s"], 65.0 * same["cost_usd"] / same["step_s"], rel_tol=1e-9)
END
expect "--teacher-gpus: expected --job distill" eval gpt2 dgx-h100 --gpus 8 --seq 1k --gbs 8 --job sft --teacher-gpus 8
expect "which is for teachers" eval gpt2 dgx-h100 --gpus 8 --seq 1k --gbs 8 --job dpo --reference apart
expect "--teacher: expected the teacher of distill" eval gpt2 dgx-h100 --gpus 8 --seq 1k --gbs 8 --job distill
expect "--lora-targets" eval gpt2 dgx-h100 --gpus 8 --seq 1k --gbs 8 --job lora --lora-targets qkvo
exit $wrong
