#!/bin/bash
# test_next.sh PLAIT - plans to try, their folders, and the ranking after measurements
set -u

plait=$(realpath "$1")
data=$(realpath tests/data/logs)
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
    said=$("$plait" next "${@:2}" 2>&1)
    status=$?
    [[ $status == 2 && $said == *"$1"* && $(wc -l <<<"$said") == 1 ]] ||
        complain "next ${*:2}: status $status, '$said', expected '$1'"
}

"$plait" search llama-3.1-8b dgx-h100 --gpus 64 --seq 8192 --gbs 256 --try 3 -o plans.json >table ||
    complain "search --try fails"
[ "$(grep -c '^ *[123] .* % ' table)" -ge 3 ] || complain "three tries are not listed"
"$plait" launch plans.json:try -o runs >said || complain "launch :try fails"
[ "$(find runs -name run.sh | wc -l)" == 3 ] || complain "launch :try does not write three folders"
"$plait" search llama-3.1-8b dgx-h100 --gpus 64 --seq 8192 --gbs 256 -o untried.json >table
"$plait" launch untried.json:try -o none 2>said && complain "launch :try of a file without tries works"
grep -q 'expected plans to try' said || complain "a file without tries says: $(cat said)"

# A plan that is measured again counts once, with one value; a large difference causes a warning.
printf 'rank,step_s\n1,4\n1,9\n1,6\n' >again.csv
"$plait" next plans.json again.csv >answer 2>said || complain "next of repeated steps fails"
grep -q '^1 of .* plans measured.* the fastest measured plan is plan 1, 6.00 s' answer ||
    complain "three steps of plan 1: $(grep measured answer)"
grep -q 'plan 1: 3 measurements, from 4.00 s to 9.00 s' said || complain "repeats say: $(cat said)"

# The third of the ranking is far better than predicted: it leads, and similar plans follow.
printf 'rank,step_s\n1,3.6\n3,3.0\n' >measured.csv
"$plait" next plans.json measured.csv >answer || complain "next fails"
grep -qE '^ +1 +3 ' answer || complain "the best measured plan does not lead"
OMP_NUM_THREADS=1 "$plait" next plans.json measured.csv | cmp - answer || complain "answers differ"
"$plait" next plans.json measured.csv --json | python3 -c '
import json, sys
answer = json.load(sys.stdin)
steps = [p["step_s"] for p in answer["plans"]]
assert steps == sorted(steps) and answer["best"] == 3
assert all(p["step_low_s"] <= p["step_s"] <= p["step_high_s"] for p in answer["plans"])
' || complain "the JSON answer is wrong"
for rank in $(seq 1 30); do echo "$rank,$rank"; done | cat <(echo rank,step_s) - >all.csv
"$plait" next plans.json all.csv | grep -q 'keep plan 1$' || complain "all measured, and no end"
printf 'iter time (s): 3.5\n' >run.log
"$plait" next plans.json run.log:2 | grep -q '1 of 30 plans measured' || complain "a log is not read"

"$plait" search llama-3.1-8b dgx-h100 --gpus 8 --seq 8192 --gbs 8 --objective memory --try 2 2>said && complain "tries of memory"
grep -q -- '--try: expected --objective time' said || complain "tries of memory: $(cat said)"

refused 'found nothing'
refused 'found no log' plans.json
refused 'found no rank' plans.json run.log
refused 'found 99' plans.json run.log:99
refused 'found no step time' plans.json plans.json:1
refused 'cannot open' plans.json nowhere.csv
printf 'tp,step_s\n77,3\n' >bad.csv
refused 'bad.csv:2:tp' plans.json bad.csv
printf 'rank,step_s\n1,\n' >bad.csv
refused 'bad.csv:2:step_s' plans.json bad.csv
printf 'step_s\n3\n' >bad.csv
refused 'the number of a plan, or some of its keys' plans.json bad.csv
printf 'rank,tp,step_s\n1,1024,2\n' >bad.csv
refused 'the number of a plan that has the keys of this row' plans.json bad.csv
printf 'rank,step_s\n1,3500\n' >milliseconds.csv
"$plait" next plans.json milliseconds.csv >/dev/null 2>said || complain "an odd unit stops all"
grep -q 'plan 1: measured .* predicted .*; check that the step is in seconds' said || complain "an odd unit says: $(cat said)"
printf 'rank,steps\n1,2\n' >bad.csv
refused 'step_s' plans.json bad.csv

# The measurements are kept as a cluster: a site on which all is slower gives a slower cluster.
printf 'rank,step_s\n1,4.4\n2,4.5\n3,4.6\n' >slow.csv
"$plait" next plans.json slow.csv -o site.json >said || complain "next -o fails"
grep -q '^site.json, the cluster scaled to the measured steps:$' said || complain "next -o does not say what it wrote"
before=$("$plait" eval --plan plans.json:1 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["plans"][0]["step_s"])')
"$plait" eval llama-3.1-8b site.json --gpus 64 --seq 8192 --gbs 256 --plan plans.json:1 --json >after.json ||
    complain "the kept cluster cannot be used"
python3 -c "
import json
after = json.load(open('after.json'))['plans'][0]['step_s']
assert after > 1.1 * $before, (after, $before)
" || complain "a slow site is kept as a fast cluster"
"$plait" next plans.json slow.csv -o again.json --json >/dev/null && cmp site.json again.json ||
    complain "--json keeps something else"
"$plait" calibrate --log /dev/null --cluster site.json -o x.json 2>/dev/null && complain "no runs are runs"

# Peaks of memory from the logs are listed next to the predictions of the same kind.
printf ' iteration 3/10 | elapsed time per iteration (ms): 3612.5 |\n[Rank 0] (after 2 iterations) memory (MB) | allocated: 30000.1 | max allocated: 79000.5 | reserved: 71000.0 | max reserved: 72000.0\n' >megatron.log
printf 'step: 10  loss:  7.0  grad_norm:  1.0  memory: 40.63GiB(42.77%%)  tps: 7,190  tflops: 400\n' >titan.log
"$plait" next plans.json megatron.log:1 titan.log:2 >said || complain "logs with memory fail"
grep -qE '^plan 1 allocated 77\.1 GiB, predicted [0-9.]+ GiB: above its band' said || complain "Megatron's peak: $(grep '^plan' said)"
grep -qE '^plan 2 reserved 40\.6 GiB, predicted [0-9.]+ GiB$' said || complain "torchtitan's peak: $(grep '^plan' said)"
# Logs of other software: the later half of the steps counts, and a log of another runtime causes a warning.
for log in megatron-bridge maxtext transformers; do
    "$plait" next plans.json "$data/$log.log:1" --json 2>said | python3 -c '
import json, sys
step, = [p["measured_s"] for p in json.load(sys.stdin)["plans"] if p["measured_s"]]
assert round(step, 2) == 24.36, step
' || complain "$log.log is not 24.36 s a step"
    grep -q "a log of MaxText, but the plan is for megatron" said
    [[ $? == $([ $log == maxtext ]; echo $?) ]] || complain "$log.log: $(cat said)"
    "$plait" calibrate --log "$data/$log.log" --plan plans.json:1 -o site.json >said 2>&1 || complain "calibrate of $log.log fails"
    grep -q "^$data/$log.log *24.4 s" said || complain "calibrate of $log.log: $(cat said)"
done
"$plait" next plans.json titan.log:1 2>&1 >/dev/null |
    grep -q 'titan.log: a log of torchtitan, but the plan is for megatron' || complain "no word on a log of torchtitan"
"$plait" calibrate --log megatron.log --plan plans.json:1 -o site.json >said 2>&1 &&
    "$plait" eval --plan plans.json:1 llama-3.1-8b site.json --gpus 64 >said || complain "a cluster scaled to a log: $(cat said)"
"$plait" calibrate --log megatron.log -o site.json >said 2>&1 && complain "calibrate of a log without a plan"
grep -q -- '--plan: expected FILE\[:RANK\], the plan whose log is megatron.log' said || complain "a log without a plan: $(cat said)"
# A damaged number is no step of training.
printf ' iteration 3/10 | elapsed time per iteration (ms): 1e-18 |\n' >tiny.log
refused 'tiny.log: expected steps of 1 ms to 30 days, found 1e-21 s' plans.json tiny.log:1
"$plait" calibrate --log tiny.log --plan plans.json:1 -o site.json >said 2>&1
[[ $? == 2 && $(cat said) == *'expected steps of 1 ms to 30 days'* && $(wc -l <said) == 1 ]] || complain "calibrate of 1e-21 s: $(cat said)"
# A log of an unknown format does not discard the others.
printf 'hello\n' >odd.log
"$plait" next plans.json megatron.log:1 odd.log:2 titan.log:2 >with 2>said || complain "an odd log stops all"
[[ $(grep -c odd.log said) == 1 && $(cat said) == *odd.log*'found no step time'* ]] || complain "an odd log says: $(cat said)"
"$plait" next plans.json megatron.log:1 titan.log:2 | cmp - with || complain "an odd log changes the answer"
printf 'elapsed_time_per_iteration_ms: 1.23K\nMemory usage: 1.0MiB. Peak allocated 40960.00MiB. Peak reserved: 50000.00MiB\nmemory: 512\n' >nano.log
"$plait" next plans.json nano.log:3 | grep -q '^plan 3 allocated 40\.0 GiB' || complain "nanotron's peak"
refused 'no/such' plans.json slow.csv -o no/such/site.json

exit $((wrong > 0))
