#!/bin/bash
# test_doctor.sh PLAIT - the price of a running job, and the fewest changes that make it faster
set -u

plait=$(realpath "$1")
logs=$PWD/tests/data/logs
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

refused() { # refused TEXT ARGUMENTS...: one line with TEXT, and status 2
    local said status
    said=$("$plait" doctor "${@:2}" 2>&1)
    status=$?
    [[ $status == 2 && $said == *"$1"* && $(wc -l <<<"$said") == 1 ]] ||
        complain "doctor ${*:2}: status $status, '$said', expected '$1'"
}

ask=(--from megatron today/args.sh --model llama-3.1-70b --cluster dgx-h100 --gpus 64)
"$plait" search llama-3.1-70b dgx-h100 --gpus 64 --seq 8k --gbs 128 \
    --fix tp=8,pp=4,mbs=1,vpp=1,split=even --top 1 -o today.json >said || complain "search fails"
"$plait" launch today.json -o today >said || complain "launch fails"

# The first change is interleaving alone, with the one argument that enables it.
"$plait" doctor "${ask[@]}" >answer || complain "doctor fails"
grep -qE '^ 1.*vpp 1 -> [0-9]+, schedule 1f1b -> interleaved$' answer || complain "not vpp first"
grep -qE '^ +\+ --num-virtual-stages-per-pipeline-rank [0-9]+$' answer || complain "no argument"
grep -q '^best of all plans: step ' answer || complain "no best plan"
OMP_NUM_THREADS=1 "$plait" doctor "${ask[@]}" | cmp - answer || complain "answers differ"
"$plait" doctor "${ask[@]}" --json | python3 -c '
import json, sys
answer = json.load(sys.stdin)
today = answer["today"]["step_s"]
assert 1 <= len(answer["changes"]) <= 5
for change in answer["changes"]:
    step = change["plan"]["step_s"]
    assert abs(1 - step / today - change["gain"]) < 1e-6 and change["gain"] >= 0.01
    assert change["plan"]["verdict"] == "fits" and step >= answer["best"]["step_s"] * (1 - 1e-9)
' || complain "the JSON answer is wrong"

# Lines are removed only if the script has them, and added only if they change a value.
cat >own.sh <<'END'
TP=4 # --context-parallel-size 1
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 \
    --num-attention-heads 32 --group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm \
    --disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type rope --vocab-size 128256 \
    --seq-length 8192 --max-position-embeddings 8192 --bf16 --micro-batch-size 1 --global-batch-size 256 \
    --tensor-model-parallel-size $TP --pipeline-model-parallel-size=2 --sequence-parallel --recompute-activations \
    --attention-backend auto --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
END
"$plait" doctor --from megatron own.sh --cluster dgx-h100 >answer || complain "doctor of a script fails"
grep -qE '^ .*: recompute selective -> none$' answer || complain "no change of recomputation"
grep -qx '      - --recompute-activations' answer || complain "an older spelling is not removed"
sed -nE 's/^ +- (--[a-z-]+).*/\1/p' answer | while read -r flag; do
    grep -q -- "^[^#]*$flag" own.sh || echo "$flag"
done >said
[ ! -s said ] || complain "removed, but not in the script: $(cat said)"
grep -qE '^ +[+-] .*(use-distributed-optimizer|overlap|instances)' answer && complain "a flag that stays is listed"
grep -q -- '- --attention-backend fused' answer && complain "a value that the script does not have"

# A value from a variable is removed as the script spells it.
grep -q -- '- --tensor-model-parallel-size 4$' answer && complain "a removed line that is not in the script"

# Lines are printed only if the edited file gives the plan. FSDP2 would lose its sharding with
# --use-torch-fsdp2, and keys of YAML are no flags.
sed -E 's/--tensor-model-parallel-size \$TP.*/--use-torch-fsdp2 --recompute-granularity full \\/; s/^ *--attention-backend.*/--recompute-method uniform --recompute-num-layers 1/' own.sh >fsdp2.sh
"$plait" doctor --from megatron fsdp2.sh --cluster dgx-h100 >answer || complain "doctor of FSDP2 fails"
grep -q 'zero 3 -> 2' answer || complain "no change of ZeRO-3: $(cat answer)"
awk '/zero 3 -> 2/ { getline; if (!/plait cannot edit this file for this plan/) exit 1 }' answer || complain "lines that do not give ZeRO-2"
cat >args.yaml <<'END'
MODEL_ARGS:
  --num-layers: 32
  --hidden-size: 4096
  --num-attention-heads: 32
  --vocab-size: 128256
  --seq-length: 8192
  --micro-batch-size: 1
  --global-batch-size: 256
  --bf16: true
  --tensor-model-parallel-size: 4
  --sequence-parallel: true
  --recompute-granularity: full
  --recompute-method: uniform
  --recompute-num-layers: 1
END
"$plait" doctor --from megatron args.yaml --cluster dgx-h100 --gpus 16 >answer || complain "doctor of YAML fails"
grep -qE '^ +[+-] --' answer && complain "flags in a YAML file"
grep -q 'plait cannot edit this file for this plan' answer || complain "no word on a YAML file"

# The training log is read as by next, and a log of other software causes a warning.
printf 'Step Time : %ss GPU utilization: 200.0MODEL_TFLOP/s/GPU\n' 60 60 30.1 29.9 >run.log
"$plait" doctor --from megatron own.sh --cluster dgx-h100 --log run.log 2>said >answer || complain "doctor --log fails"
grep -qE '^measured 30\.0 s, [0-9.]+ times the predicted step' answer || complain "the log's step is not shown"
grep -q 'log of this plan' said && complain "a warning of the right log"
printf 'completed step: %s, seconds: 30.0, TFLOP/s/device: 200\n' 0 1 2 3 >maxtext.log
"$plait" doctor --from megatron own.sh --cluster dgx-h100 --log maxtext.log --json 2>said | grep -qF '"measured_s": 30' ||
    complain "JSON has no measured_s"
grep -q 'a log of MaxText, but the plan is for megatron' said || complain "no warning of another runtime's log"
refused "found no step time" --from megatron own.sh --cluster dgx-h100 --log own.sh

# The best plan of all has no changes.
"$plait" search llama-3.1-8b dgx-h100 --gpus 8 --seq 8k --gbs 64 --refine none --top 1 \
    -o best.json >said
"$plait" launch best.json -o best >said || complain "launch of the best plan fails"
"$plait" doctor --from megatron best/args.sh --model llama-3.1-8b --cluster dgx-h100 --gpus 8 \
    >answer || complain "doctor of the best plan fails"
grep -q 'no change of one or two keys' answer || complain "the best plan is changed"

refused 'FILE: expected a launch config'
refused '--from: expected the format' today/args.sh
refused '--cluster: expected a cluster' --from megatron today/args.sh --model llama-3.1-70b
refused 'cannot open' --from megatron nowhere.sh --cluster dgx-h100
printf 'NUM_LAYERS=2\n' >empty.sh
"$plait" doctor --from megatron empty.sh --cluster dgx-h100 >said 2>&1 && complain "an empty script has a plan"

# Logs of reinforcement learning: the times of NeMo-RL are those that a user measured for Llama 3.1
# 8B on 8 H100, 112 s and 116 s a step (NVIDIA-NeMo/RL issue 959); prompt and limit are assumed.
"$plait" rl llama-3.1-8b dgx-h100 --gpus 8 --prompts 64 --generations 32 --prompt-tokens 190 --placement colocated \
    --answer-tokens 4k,4k --framework nemo-rl --log "$logs/nemo-rl.log" --json | python3 -c '
import json, sys
answer = json.load(sys.stdin)
phase = {row["phase"]: row for row in answer["log"]["phases"]}
assert answer["answer_tokens"] == 803.125 and answer["log"]["used"] == 2
assert phase["step"]["measured_s"] == 114 and phase["logprob"]["measured_s"] == 18
for name in ("rollout", "logprob", "train", "step"):
    assert 0.75 < phase[name]["predicted_s"] / phase[name]["measured_s"] < 1.25, phase[name]
' || complain "the phases of NeMo-RL are wrong"
sed 's/^+ //;q' "$logs/verl.log" >verl.sh
"$plait" doctor --from verl verl.sh --cluster dgx-h100 --log "$logs/verl.log" >answer || complain "doctor of verl fails"
"$plait" doctor "$logs/verl.log" --cluster dgx-h100 2>said | cmp - answer || complain "the command in a log is not read"
grep -q '^  log-probabilities: a pass takes 45 %' answer || complain "no advice on log-probabilities"
"$plait" doctor "$logs/nemo-rl.log" >answer || complain "doctor of a log alone fails"
grep -q '^  step  *114 s  *100.0 %$' answer || complain "no step of NeMo-RL"
refused '--log: expected the log' --from verl verl.sh --cluster dgx-h100
refused '--cluster: expected a cluster' --from verl verl.sh --log "$logs/verl.log"
refused 'expected steps of verl' --from verl verl.sh --cluster dgx-h100 --log "$logs/maxtext.log"

exit $((wrong > 0))
