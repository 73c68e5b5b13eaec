#!/bin/bash
# test_stdin.sh PLAIT - every file that a command reads may be standard input, a pipe included
set -u

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp models/gpt2.json clusters/dgx-h100.json "$scratch"
cp models/cases/chimera.json "$scratch/case.json"
head -n 20 tests/validation/runs.csv >"$scratch/runs.csv"
cd "$scratch" || exit 1
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

takes() { # takes FILE TEXT COMMAND...: with @ for FILE it prints TEXT, whatever stands for FILE
    local file=$1 text=$2 pipe
    shift 2
    exec {pipe}< <(cat "$file")
    # shellcheck disable=SC2002  # a pipe is what is tested
    cat "$file" | "$plait" "${@/@/-}" >said 2>&1 || complain "$*: a pipe: $(cat said)"
    grep -qF -- "$text" said || complain "$*: a pipe: no '$text' in $(cat said)"
    "$plait" "${@/@//dev/fd/$pipe}" >said 2>&1 || complain "$*: <(...): $(cat said)"
    grep -qF -- "$text" said || complain "$*: <(...): no '$text' in $(cat said)"
    exec {pipe}<&-
}

job=(--gpus 8 --seq 1k --gbs 32)
"$plait" search gpt2 dgx-h100 "${job[@]}" --top 2 -o plans.json >/dev/null
"$plait" serve gpt2 dgx-h100 --gpus 8 --input 500 --output-tokens 100 --rate 2 --engine vllm -o serve.json >/dev/null
printf '{"scenarios": [{"model": "gpt2", "cluster": "dgx-h100", "gpus": 8, "seq": "1k", "gbs": 32}]}' >scenarios.json
"$plait" sweep scenarios.json -o part.jsonl 2>/dev/null
printf 'rank,step_s\n1,0.1\n' >steps.csv
printf ' iteration 3/10 | elapsed time per iteration (ms): 100.0 |\n' >steps.log
printf 'torchrun pretrain_gpt.py --num-layers 12 --hidden-size 768 --num-attention-heads 12 --seq-length 1024 --global-batch-size 32 --micro-batch-size 4 --bf16\n' >run.sh

takes plans.json 'plan 1 of gpt2' launch @ -o folder --force
takes plans.json 'plan 2 of gpt2' launch @:2 -o folder --force
takes serve.json 'gpt2' launch @ -o served --force
takes plans.json '"rank": 2' eval --plan @:2 --json
takes plans.json '"plans"' search --plan @ --top 1 -o -
takes plans.json 'gpt2' explain --plan plans.json --versus @
takes plans.json 'no difference' diff plans.json @
takes steps.log '100 ms' next plans.json @:1
takes plans.json '100 ms' next @ steps.csv
"$plait" next plans.json - <steps.csv >said 2>&1 || complain "next: a table: $(cat said)"
takes gpt2.json 'gpt2' search @ dgx-h100 "${job[@]}" --top 1
takes dgx-h100.json 'dgx-h100' search gpt2 @ "${job[@]}" --top 1
takes gpt2.json 'gpt2' models @
takes gpt2.json 'gpt2' serve @ dgx-h100 --gpus 8 --input 500 --output-tokens 100 --rate 2 --engine vllm
takes run.sh '"gbs": 32' import --from megatron @ --gpus 8 --cluster dgx-h100 -o -
takes scenarios.json '"index": 0' sweep @
takes part.jsonl '"index": 0' merge @
takes runs.csv 'rows' validate @
"$plait" case - <case.json >said 2>&1 || complain "case -: $(cat said)"
printf '{"scenarios": [{"model": "-", "cluster": "dgx-h100", "gpus": 8, "seq": "1k", "gbs": 32}]}' >input.json
"$plait" sweep input.json <gpt2.json 2>/dev/null | grep -qF './-: cannot open' || complain "a file names standard input"

"$plait" next plans.json steps.csv -o cluster.json >/dev/null || complain "next -o fails"
"$plait" next plans.json steps.csv -o - | cmp - cluster.json || complain "next -o - prints more than the cluster"
[ ! -e ./- ] || complain "a file is named -"

refused() { # refused TEXT COMMAND...
    "$plait" "${@:2}" <plans.json >said 2>&1
    [ $? -eq 2 ] || complain "${*:2}: not refused: $(cat said)"
    grep -qF -- "$1" said || complain "${*:2}: $(cat said)"
    [ "$(wc -l <said)" -eq 1 ] || complain "${*:2}: not one line: $(cat said)"
}
refused 'expected - (standard input) once, found it twice: name a file instead' diff - -
refused 'expected - (standard input) once, found it twice: name a file instead' explain --plan - --versus -:2
timeout 20 "$plait" merge - </dev/zero >said 2>&1
[ $? -eq 2 ] && grep -q 'at most .* bytes, found more' said || complain "an endless device: $(cat said)"
refused '-: expected a folder' launch plans.json -o -
mkfifo named
refused 'expected a file, found a pipe; use - to read it as standard input' launch named -o other
: | "$plait" launch - -o other >said 2>&1 && complain "an empty pipe is taken"
grep -qF -- '-: expected JSON, found an empty text' said || complain "an empty pipe: $(cat said)"

exit $((wrong > 0))
