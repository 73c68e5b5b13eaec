#!/bin/bash
# test_flops.sh PLAIT - model FLOPs are equal in every answer, and steps of logs come from their times
set -u

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

# num_floating_point_operations() of Megatron-LM core_v0.12.0 to core_v0.19.0 gives 49.032 GFLOP a token
# here, and 52.656 up to core_v0.11.0.
"$plait" models qwen3-8b | grep -q '49\.0 GFLOP per token.*52\.7 GFLOP with the full attention matrix' || complain "models"
"$plait" models qwen3-8b --json >model.json
"$plait" models vit-b-16 | grep -q 'full attention matrix' && complain "attention without a mask is halved"

# A log of Megatron-Bridge of this job has 527.6 TFLOP/s/GPU at 24.36 s.
job=(qwen3-8b dgx-h100 --gpus 16 --seq 4096 --gbs 1024)
plan=(--tp 1 --pp 1 --mbs 1)
"$plait" eval "${job[@]}" "${plan[@]}" --json >plan.json || complain "eval --json fails"
python3 - <<'EOF' || complain "eval --json and models --json"
import json, math
model = json.load(open("model.json"))["models"][0]
document = json.load(open("plan.json"))
plan = document["plans"][0]
peak = document["cluster"]["groups"][0]["accelerator"]["peak_tflops"]["bf16"]
token, whole = model["train_flops_per_token"], model["train_flops_per_token_square"]
assert round(token / 1e9, 2) == 49.03, token
assert round(whole / 1e9, 2) == 52.66, whole
tflops = plan["model_tflops_per_gpu"]
assert math.isclose(tflops, token * plan["tokens_per_s_per_gpu"] / 1e12, rel_tol=1e-9)
assert math.isclose(tflops * plan["step_s"], 527.6 * 24.36, rel_tol=1e-3), tflops * plan["step_s"]
assert math.isclose(tflops, plan["mfu"] * peak, rel_tol=1e-9)
assert math.isclose(plan["mfu_square"] / plan["mfu"], whole / token, rel_tol=1e-9)
EOF
read -r halved whole < <(python3 -c '
import json
plan = json.load(open("plan.json"))["plans"][0]
tflops = plan["model_tflops_per_gpu"]
print("%.0f %.0f" % (tflops, tflops * plan["mfu_square"] / plan["mfu"]))')
for command in eval explain; do
    "$plait" $command "${job[@]}" "${plan[@]}" >said || complain "$command fails"
    grep -q "^FLOPs with causal attention halved, as in Megatron-LM since core 0\.12 .*: $halved TFLOP/s a GPU" said ||
        complain "$command: $(grep 'causal' said), expected $halved TFLOP/s"
    grep -q "^FLOPs with the full attention matrix, as in Megatron-LM up to core 0\.11, .*: $whole TFLOP/s a GPU" said ||
        complain "$command: $(grep 'full' said), expected $whole TFLOP/s"
done

# Megatron-LM counts the whole context for windows, Megatron-Bridge 0.5 their width; neither has chunks.
"$plait" eval gpt-oss-20b h100-80gb-sxm:1x8 --seq 4096 --gbs 64 --tp 1 --pp 1 --ep 8 >said
grep -q '^FLOPs with causal attention halved, windows by their width, as in Megatron-Bridge since 0\.5: ' said ||
    complain "windows: $(grep 'causal' said)"
"$plait" eval gpt-oss-20b h100-80gb-sxm:1x8 --seq 128 --gbs 64 --tp 1 --pp 1 --ep 8 |
    grep -q 'as in Megatron-LM since' || complain "a window as long as the sequence"
"$plait" eval llama-4-scout h100-80gb-sxm:8x8 --seq 16384 --gbs 64 --tp 8 --pp 1 --ep 8 >said
grep '^causal attention' said | grep -q 'Megatron' && complain "chunks: $(grep '^causal' said)"

# A page has the MFU of the plan.
mfu=$(python3 -c 'import json; print(json.load(open("plan.json"))["plans"][0]["mfu"])')
"$plait" report plan.json -o page.csv >said && grep -q "${mfu:0:6}" page.csv || complain "report has no MFU of $mfu"

# Steps come from the times of a log, so that the convention of its TFLOP/s has no effect.
printf ' iteration %d/10 | elapsed time per iteration (ms): 24360.0 | throughput per GPU (TFLOP/s/GPU): %s |\n' \
    1 527.6 2 527.6 3 566.6 >megatron.log
printf 'step: %d  loss: 7.0  memory: 40.63GiB(42.77%%)  tps: 10,761  tflops: %s  mfu: 57.3%%\n' \
    1 566.6 2 527.6 3 566.6 >titan.log
for log in megatron.log titan.log; do
    "$plait" next plan.json $log:1 | grep -qE '^ +1 +1 +[0-9.]+ s +24\.4 s ' || complain "next of $log"
done

exit $((wrong > 0))
