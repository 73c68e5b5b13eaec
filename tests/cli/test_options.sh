#!/bin/bash
# test_options.sh PLAIT - how options are read: order, forms, repeats
set -u

plait=$1
wrong=0

same() { # same "ARGUMENTS" "ARGUMENTS": both print the same and end alike
    local first second
    # shellcheck disable=SC2086  # the arguments are several words
    first=$("$plait" $1 2>&1; echo "status $?")
    # shellcheck disable=SC2086
    second=$("$plait" $2 2>&1; echo "status $?")
    [ "$first" = "$second" ] && return
    echo "plait $1 and plait $2 differ:"
    diff <(echo "$first") <(echo "$second")
    wrong=1
}

refused() { # refused ARGUMENTS...
    "$plait" "$@" >/dev/null 2>&1
    [ $? -eq 2 ] && return
    echo "not refused: plait $*"
    wrong=1
}

job="llama-3.1-8b dgx-h100 --gpus 8 --seq 2048 --gbs 16"

same "models llama-3.1-8b --seq 128" "models --seq 128 llama-3.1-8b"
same "models llama-3.1-8b --seq 128" "models --seq=128 llama-3.1-8b"
same "models llama-3.1-8b --seq 128" "models --seq 4096 llama-3.1-8b --seq 128"
same "models llama-3.1-8b" "models -- llama-3.1-8b"
same "models --help" "models -h"
same "models --help" "help models"
same "--help" "help"
same "eval $job --tp 2 --cp-comm a2a --cp 2" "eval $job --cp 2 --cp-comm=a2a --tp 2"
same "eval $job --tp 2" "eval $job --tp 2 --fusion none"
same "eval $job --tp 2 --dp 4" "eval $job --tp 2 --microbatches 4"

load="qwen3-8b dgx-h100 --gpus 8 --rate 2 --engine vllm"
same "serve $load --input 1k --output 200 --ttft 500ms --tpot 0.02s" "serve $load --isl 1k --osl 200 --ttft 500 --tpot 20"
refused serve $load --input 1k --output 200 --ttft 0

# No abbreviations: what is unique today would not be tomorrow.
refused models --js
refused eval $job --mb 1
# Keys of a file have underscores, flags have hyphens.
refused eval $job --cp_comm a2a
exit $wrong
