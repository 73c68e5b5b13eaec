#!/bin/bash
# test_capacity.sh PLAIT - what plait capacity refuses, how it ends, and that threads do not show
set -u

plait=$(realpath "$1")
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

question=(llama-3.1-8b dgx-h100 --tokens 1T --seq 4096 --gbs 256 --strategy exhaustive
    --limit recompute=none,cp=1)

refused() { # refused TEXT ARGUMENTS...: status 2, and one line that begins so
    local found status
    found=$("$plait" capacity "${question[@]}" "${@:2}" 2>&1)
    status=$?
    [[ $status -eq 2 && $found == "plait: $1"* && $found != *$'\n'* ]] ||
        complain "capacity ${*:2}: status $status: $found"
}

refused '--deadline: expected a time above 0' --gpus 8 --deadline 0
refused '--deadline: expected a time above 0' --gpus 8 --deadline -5d
refused '--deadline: expected a time above 0' --gpus 8 --deadline 60
refused '--budget: expected dollars above 0' --gpus 8 --budget 0
refused '--tokens: expected a number' --gpus 8 --tokens nan
refused '--gpus: expected a number of GPUs or A..B' --gpus 16..8
refused '--gpus: expected whole nodes of 8 GPUs' --gpus 12
refused '--gpus: expected a number of GPUs' --deadline 5d
refused '--max-gbs: expected at least the 256' --gpus 8 --max-gbs 128
refused '--repeat: expected a number from 0 to 0.99' --gpus 8 --repeat 1
refused '--spares: expected a whole number' --gpus 8 --spares 1.5
found=$("$plait" capacity llama-3.1-8b dgx-h100 --serve --input 1024 --output 128 --rate 5 --spares 0 --availability 0.9 2>&1)
[[ $found == 'plait: --availability: expected no --availability beside --spares'* ]] ||
    complain "spares and the share that they are to reach: $found"

"$plait" capacity llama-3.1-8b dgx-h100, --gpus 8 --tokens 1T --seq 4096 --gbs 256 2>&1 |
    grep -q '^plait: CLUSTER: expected names with one comma' || complain "an empty cluster is taken"

found=$("$plait" capacity llama-3.1-8b b300-288gb-sxm:1x8 --tokens 1T --seq 4096 --gbs 256 --budget 1M 2>&1)
[[ $found == 'plait: --budget: expected a cluster with a price, or --price'* ]] ||
    complain "a budget without a price: $found"

"$plait" capacity "${question[@]}" --gpus 16 --deadline 1d >/dev/null
[ $? -eq 1 ] || complain "a deadline that nothing meets does not end with 1"

for threads in 1 2 5; do
    OMP_NUM_THREADS=$threads "$plait" capacity "${question[@]}" --gpus 16..32 --json | md5sum
done | uniq | wc -l | grep -qx 1 || complain "the document depends on the threads"

echo "$wrong wrong"
[ $wrong -eq 0 ]
