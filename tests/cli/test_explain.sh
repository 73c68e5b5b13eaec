#!/bin/bash
# test_explain.sh PLAIT - explain has the same limits in text and as JSON
set -u

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ask=(explain deepseek-v3 h800 --gpus 2048 --seq 4096 --gbs 15360 --pp 16 --ep 64 --split first-last:4,1)

"$plait" "${ask[@]}" | sed -n '/^Sizes needed to hide communication/,/^$/p' |
    sed -nE 's/^  ([A-Z]+( of experts)?)  +[0-9]+ .*/\1/p' >"$scratch/text"
"$plait" "${ask[@]}" --json | sed -nE 's/^ *"parallelism": "(.*)",$/\1/p' >"$scratch/json"
diff "$scratch/text" "$scratch/json" && [ "$(wc -l <"$scratch/text")" -eq 4 ]
