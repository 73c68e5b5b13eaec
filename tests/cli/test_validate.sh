#!/bin/bash
# test_validate.sh PLAIT - plait validate: its errors, its answers, its plot
set -u

plait=$1
runs=tests/validation/runs.csv
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0

complain() {
    echo "$@"
    wrong=1
}

# refused PATTERN ARGUMENTS...: one line on stderr that fits, status 2, nothing on stdout
refused() {
    local pattern=$1 status
    shift
    "$plait" validate "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    [ $status -eq 2 ] || complain "status $status, expected 2: plait validate $*"
    [ -s "$scratch/out" ] && complain "output of a refusal: plait validate $*"
    [ "$(wc -l <"$scratch/err")" -eq 1 ] || complain "not one line: plait validate $*"
    grep -q -- "$pattern" "$scratch/err" || complain "$(cat "$scratch/err"): lacks $pattern"
}

# A copy of the first rows with one wrong value.
spoilt() { # spoilt SED-SCRIPT
    head -n 4 "$runs" | sed "$1" >"$scratch/runs.csv"
    echo "$scratch/runs.csv"
}

refused 'expected a file of measured runs, found nothing'
refused 'cannot open' "$scratch/none.csv"
refused 'found a directory' tests
refused 'found an extra operand "b"' "$runs" b
refused 'expected "source", found "sorce"' "$runs" --by sorce
refused 'runs.csv:1: expected column "layers", found "layer"' "$(spoilt '1s/,layers,/,layer,/')"
refused 'expected a column "gbs", found none' <(head -n 1 "$runs" | sed 's/,gbs,/,/')
refused 'runs.csv:3:tp: expected an integer from 1 to 1048576, found "two"' \
    "$(spoilt '3s/,bf16,2,/,bf16,two,/')"
refused 'runs.csv:2: expected 42 cells, found 41' "$(spoilt '2s/,[^,]*$//')"
refused 'runs.csv:2: expected quotes' "$(spoilt '2s/llama-13b,/ll"ama-13b,/')"
printf 'id,source\n\0\n' >"$scratch/nul.csv"
refused 'nul.csv:2: expected text, found byte 0x00' "$scratch/nul.csv"
truncate -s 65M "$scratch/large.csv"
refused 'expected at most 67108864 bytes' "$scratch/large.csv"
refused 'cannot write' "$runs" --plot "$scratch/no/such/folder.svg"

# Every row has an answer, in order, and the exit status is 0 even if rows have no price.
"$plait" validate "$runs" --json >"$scratch/all.json" || complain "status $? of all runs"
rows=$(($(wc -l <"$runs") - 1))
[ "$(grep -c '^      "id": ' "$scratch/all.json")" -ge $rows ] || complain "rows are missing"
"$plait" validate "$runs" --json | cmp -s - "$scratch/all.json" || complain "other bytes"
# n0 of C.345 in src/validate/support.c is 0.5: the printed value within a third.
half=$(sed -n 's/^ *"half_at": \([0-9.]*\),/\1/p' "$scratch/all.json")
awk -v half="$half" 'BEGIN { exit !(half > 0.33 && half < 0.67) }' ||
    complain "half of a claim counts with $half jobs: n0 of support.c does not"
grep -q '"value": "pairs-delayed-wgrad"' "$scratch/all.json" || complain "no claim of delayed weight gradients"

unpriced=$(spoilt 's/,a100-80gb-sxm,/,abacus,/')
"$plait" validate "$unpriced" >"$scratch/out" || complain "status $? of rows without a price"
grep -q '^  *3 .*abacus' "$scratch/out" || complain "the reason is missing"

head -n 300 "$runs" >"$scratch/some.csv"
for key in source sweep accelerator; do
    "$plait" validate "$scratch/some.csv" --by $key | grep -q "^  $key  *rows  *MAPE" || complain "--by $key"
done

"$plait" validate "$scratch/some.csv" --plot "$scratch/runs.svg" >/dev/null || complain "status $? of --plot"
[ "$(head -c 5 "$scratch/runs.svg")" = '<svg ' ] || complain "not an SVG file"
[ "$(tail -n 1 "$scratch/runs.svg")" = '</svg>' ] || complain "half an SVG file"

# The promise of a job is the first plan of the search, over the shortest of the measured steps.
{
    head -n 1 "$runs"
    grep -E '^nvidia_dgxc_recipes:15[456],' "$runs"
} >"$scratch/job.csv"
promised=$("$plait" search llama-3.1-8b h100-80gb-sxm:1x8 --seq 8192 --gbs 128 --runtime megatron \
    --grad-reduce bf16 --top 1 --json 2>/dev/null | sed -n 's/^ *"step_s": \([0-9.]*\),/\1/p' | head -n 1)
"$plait" validate "$scratch/job.csv" --optimism --json >"$scratch/job.json" || complain "--optimism"
grep -q "\"promised_step_s\": $promised," "$scratch/job.json" || complain "promised step is not $promised"
grep -q '"best": "nvidia_dgxc_recipes:154"' "$scratch/job.json" || complain "not the shortest step"
grep -q '"runs": 3' "$scratch/job.json" || complain "expected one job of three runs"
exit $wrong
