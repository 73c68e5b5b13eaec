#!/bin/bash
# test_operators.sh PLAIT - bad input fails with one line; a layer that does not fit names the memory that it needs;
# the same input gives the same bytes
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

refused() { # refused TEXT ARGUMENTS...: status 2, one line that holds the text, no answer
    local text=$1
    shift
    "$plait" operators "$@" >out 2>err
    local code=$?
    [ $code -eq 2 ] || complain "status $code of operators $*"
    [ "$(wc -l <err)" -eq 1 ] || complain "operators $*: $(cat err)"
    [ ! -s out ] || complain "operators $* answers: $(cat out)"
    grep -qF -- "$text" err || complain "operators $* says $(cat err), not $text"
}

job=(llama-3.1-8b h100-80gb-sxm:2x8 --seq 4096)
refused '--mesh: expected sizes such as 8x8, found nothing' "${job[@]}" --gbs 16
for mesh in 8x 0x8 8x-2 2x2x2x2 8,8 axb 16777216x16777216; do
    refused "--mesh: expected one to three sizes" "${job[@]}" --gbs 16 --mesh $mesh
done
refused '--mesh: expected axes whose product is the 16 GPUs of the job, found 8' \
    "${job[@]}" --gbs 16 --mesh 2x4 --gpus 16
refused 'found 64' "${job[@]}" --gbs 16 --mesh 8x8
refused '--mbs: expected a divisor of the 16 sequences of a step, found 3' \
    "${job[@]}" --gbs 16 --mbs 3 --mesh 2x8
refused '--tokens: expected whole sequences of 4096 tokens on the 16 GPUs, found 0.242188' \
    "${job[@]}" --tokens 62 --mesh 2x8
refused '--tokens: expected either --tokens or --mbs, found both' \
    "${job[@]}" --tokens 4096 --mbs 16 --mesh 2x8
refused '--gbs' "${job[@]}" --mesh 2x8
refused '--seq' llama-3.1-8b h100-80gb-sxm:2x8 --mesh 2x8 --tokens 4096
for gib in 0 -3 nan x 1e400; do
    refused '--memory: expected a positive number of GiB' "${job[@]}" --gbs 16 --mesh 2x8 --memory=$gib
done
refused '--layer-kind: expected one of the 1 kinds of layer' \
    "${job[@]}" --gbs 16 --mesh 2x8 --layer-kind 2
refused 'expected a layer with operators' \
    swinv2-l h100-80gb-sxm:1x8 --seq 64 --gbs 8 --mesh 8

# ---- layers that do not fit ----

"$plait" operators "${job[@]}" --gbs 16 --mesh 2x8 --memory 3 >out 2>err
[ $? -eq 1 ] || complain "what does not fit has another status than 1"
[ ! -s err ] || complain "what does not fit complains: $(cat err)"
grep -qE '^no layout fits in 3\.0 GiB: .* takes? .*; --memory [0-9.]+ is enough$' out ||
    complain "what does not fit says: $(cat out)"
enough=$(sed -nE 's/.*--memory ([0-9.]+) is enough$/\1/p' out)
"$plait" operators "${job[@]}" --gbs 16 --mesh 2x8 --memory "$enough" >out 2>err ||
    complain "--memory $enough does not suffice: $(cat out err)"
less=$(awk -v gib="$enough" 'BEGIN { printf "%.2f", gib - 0.02 }')
"$plait" operators "${job[@]}" --gbs 16 --mesh 2x8 --memory "$less" >out 2>&1 &&
    complain "--memory $less suffices too"

# ---- the same bytes ----

for how in '' --json; do
    # shellcheck disable=SC2086
    "$plait" operators "${job[@]}" --tokens 4096 --mesh 2x8 $how >first || complain "no answer"
    # shellcheck disable=SC2086
    "$plait" operators "${job[@]}" --mbs 16 --mesh 2x8 $how >second || complain "no answer"
    cmp -s first second || complain "--tokens 4096 and --mbs 16 differ $how"
done
exit $((wrong > 0))
