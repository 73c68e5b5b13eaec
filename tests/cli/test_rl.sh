#!/bin/bash
# test_rl.sh PLAIT - plait rl answers public questions, and predicts published runs of post-training
set -u

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0

expect() { # expect STATUS TEXT COMMAND...: plait COMMAND has this status, and its output this text
    local output status
    output=$("$plait" "${@:3}" 2>&1)
    status=$?
    [[ $status == "$1" && $output == *"$2"* ]] && return
    echo "plait ${*:3}: expected status $1 and '$2', found $status and '$(head -3 <<<"$output")'"
    wrong=1
}

step=(--prompts 64 --generations 8 --prompt-tokens 128 --answer-tokens 512,1024)
grpo=(--prompts 512 --generations 16 --prompt-tokens 128 --answer-tokens 2k,4k --placement colocated)

expect 0 "run: " rl qwen3-8b dgx-h100 --gpus 8 "${step[@]}" --steps 100
expect 0 '"step_s"' rl qwen3-8b dgx-h100 --gpus 8 "${step[@]}" --json
expect 0 "separate GPUs" rl qwen3-8b dgx-h100 --gpus 16 "${step[@]}" --placement apart --staleness 1
expect 0 "critic" rl qwen3-8b dgx-h100 --gpus 8 "${step[@]}" --algorithm ppo
expect 0 "run: " rl qwen2.5-7b dgx-h100 --gpus 1 "${step[@]}" --lora-rank 64 --runtime fsdp
expect 1 "no plan fits" rl qwen2.5-72b dgx-h100 --gpus 1 "${step[@]}"
expect 1 "no plan fits: training: " rl qwen3-32b dgx-h100 --gpus 8 "${step[@]}" --placement apart --fix offload=none
expect 2 "--answer-tokens: expected MEAN" rl qwen3-8b dgx-h100 --gpus 8 --prompts 4 --generations 4 --prompt-tokens 9 --answer-tokens 5
expect 2 "--prompts: expected" rl qwen3-8b dgx-h100 --gpus 8

# verl's documented layouts on H20: DeepSeek-V3 on 96 GPUs and Qwen3-235B-A22B on 32, both with the
# optimizer on the host, without which they run out of memory.
expect 0 "run: " rl deepseek-v3 hgx-h20 --gpus 96 "${grpo[@]}" --fix tp=8,pp=12,ep=8
expect 1 "no plan fits" rl deepseek-v3 hgx-h20 --gpus 96 "${grpo[@]}" --fix tp=8,pp=12,ep=8,offload=none
expect 0 "run: " rl qwen3-235b-a22b hgx-h20 --gpus 32 "${grpo[@]}" --fix tp=4,pp=8,ep=4
expect 1 "no plan fits" rl qwen3-235b-a22b hgx-h20 --gpus 32 "${grpo[@]}" --fix tp=4,pp=8,ep=4,offload=none

# A given plan is priced as the search prices it, and an illegal one is refused with the reason.
verl=(--eval tp=8,pp=12,ep=8,etp=1,mbs=1,offload=optimizer --tp 32 --ep 32)
expect 0 "offload optimizer" rl deepseek-v3 hgx-h20 --gpus 96 "${grpo[@]}" "${verl[@]}"
expect 2 "--eval: expected degrees whose product divides 8" rl qwen3-8b dgx-h100 --gpus 8 "${step[@]}" --eval tp=64
expect 2 "--eval: tp: expected" rl qwen3-8b dgx-h100 --gpus 8 "${step[@]}" --eval tp=x
expect 2 "--eval: expected KEY=VALUE" rl qwen3-8b dgx-h100 --gpus 8 "${step[@]}" --eval tp
expect 2 "--rollout-gpus: expected fewer" rl qwen3-8b dgx-h100 --gpus 8 "${step[@]}" --eval tp=1 --rollout-gpus 8

# The fewest GPUs: at most those on which verl's documentation runs these models (docs/perf/dpsk.md,
# with the optimizer on the host), and more than those without the host.
fewest() { # fewest TEST MODEL ARGUMENTS...: the fewest GPUs, in a doubling series, pass a test
    local gpus
    gpus=$("$plait" rl "$2" hgx-h20 "${grpo[@]}" --fewest "${@:3}" | sed -n 's/^the job runs on \([0-9]*\) GPUs.*/\1/p')
    ((${gpus:-0} > 0 && ${gpus:-0} $1)) && return
    echo "plait rl ${*:2} --fewest: expected GPUs $1, found '$gpus'"
    wrong=1
}
fewest "<= 96" deepseek-v3 --gpus 128
fewest "> 96" deepseek-v3 --gpus 256 --fix offload=none
fewest "<= 32" qwen3-235b-a22b --gpus 64
fewest "> 32" qwen3-235b-a22b --gpus 128 --fix offload=none

# A config of NeMo-RL takes values that it leaves open from the files under `defaults`, in order.
mkdir -p "$scratch/nemo/recipes"
printf 'grpo:\n  num_prompts_per_step: 8\n  num_generations_per_prompt: 4\npolicy:\n  model_name: Qwen/Qwen3-8B\n  dtensor_cfg:\n    enabled: true\n    tensor_parallel_size: 4\n' >"$scratch/nemo/base.yaml"
printf 'defaults: base.yaml\ngrpo:\n  num_prompts_per_step: 16\ncluster:\n  num_nodes: 2\n  gpus_per_node: 8\n' >"$scratch/nemo/large.yaml"
printf 'defaults:\n  - ../base.yaml\n  - ../large.yaml\npolicy:\n  max_total_sequence_length: 4096\n  megatron_cfg:\n    enabled: ${mul:1,\n      0}\n' >"$scratch/nemo/recipes/run.yaml"
expect 0 "rl qwen3-8b CLUSTER --gpus 16 --prompts 16 --generations 4 " import --from nemo-rl "$scratch/nemo/recipes/run.yaml"
printf 'defaults: [large.yaml]\n' >>"$scratch/nemo/base.yaml"
expect 2 "that do not name each other in a cycle" import --from nemo-rl "$scratch/nemo/recipes/run.yaml"
printf 'defaults: nowhere.yaml\npolicy:\n  model_name: Qwen/Qwen3-8B\n' >"$scratch/nemo/run.yaml"
expect 0 "nowhere.yaml, whose values the file changes, is not found" import --from nemo-rl "$scratch/nemo/run.yaml"

# Equal questions get equal bytes.
for i in 1 2; do
    "$plait" rl qwen3-8b dgx-h100 --gpus 8 "${step[@]}" --json >"$scratch/$i" || wrong=1
done
cmp "$scratch/1" "$scratch/2" || wrong=1

# A synchronous step is the sum of its phases; ahead of training, it takes the longer side and the
# hand-over. The number of updates follows from the prompts, however short the answers are.
"$plait" rl qwen3-8b dgx-h100 --gpus 16 "${step[@]}" --staleness 1 --update-prompts 16 --json >"$scratch/both" || wrong=1
"$plait" rl qwen3-8b dgx-h100 --gpus 8 --prompts 64 --generations 8 --prompt-tokens 1 --answer-tokens 1,1 \
    --update-prompts 16 --json >"$scratch/short" || wrong=1
python3 - "$scratch/both" "$scratch/short" <<'END' || wrong=1
import json, math, sys
plans = json.load(open(sys.argv[1]))["plans"]
assert {plan["placement"] for plan in plans} == {"colocated", "apart"}
for plan in plans:
    phase = dict(plan["phases"])
    phase.pop("wait_s")
    rollout, moved = phase.pop("rollout_s"), phase.pop("handover_s") + phase.pop("swap_s")
    training = sum(phase.values())
    both = max(rollout, training) if plan["staleness"] > 0 else rollout + training
    assert math.isclose(plan["step_s"], both + moved, rel_tol=1e-9), plan
    assert plan["updates"] == 4, plan
assert json.load(open(sys.argv[2]))["plans"][0]["updates"] == 4
END

# Errors of published runs: steps of fine-tuning, of reinforcement learning, shares of phases,
# hand-over; runs that ran and fit, and fewest GPUs within a doubling.
"$plait" validate --post-training tests/validation/post_training.csv --json >"$scratch/runs.json" || wrong=1
python3 - "$scratch/runs.json" <<'END' || wrong=1
import json, sys
answer = json.load(open(sys.argv[1]))
assert len(answer["rows"]) == 43
for row in answer["rows"]:
    assert {"id", "step_s", "feasible", "fewest_gpus", "note"} <= row.keys(), row
most = {"tuning_step_mean_error": 0.08, "rl_step_median_error": 0.2, "phase_share_mean_error": 0.08,
        "handover_median_error": 0.4}
least = {"feasible_share": 0.95, "fewest_within_double": 0.8}
for name, limit in most.items():
    assert answer[name] <= limit, (name, answer[name])
for name, limit in least.items():
    assert answer[name] >= limit, (name, answer[name])
END
exit $wrong
