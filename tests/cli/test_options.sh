#!/bin/bash
# test_options.sh PLAIT - parsing of options: order, forms, repeats
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

# A key of a plan as an option of search is --fix of it.
plans() { # plans FLAGS...: the ranking of a search
    # shellcheck disable=SC2086
    "$plait" search $job --refine none --top 3 "$@" | sed -n '/^all plans:/,/^plan 1: /p'
}
[ "$(plans | wc -l)" -gt 4 ] || { echo "search $job ranks nothing"; wrong=1; }
for flags in "--tp 2|--fix tp=2" "--tp 2 --fix recompute=full|--fix tp=2,recompute=full" \
    "--cp-comm a2a --cp 2|--fix cp_comm=a2a,cp=2" "--zero 1 --fix zero=1|--fix zero=1" "--tp 2..4|--limit tp=2..4"; do
    # shellcheck disable=SC2086
    cmp <(plans ${flags%|*}) <(plans ${flags#*|}) || { echo "search ${flags/|/ is not }"; wrong=1; }
done
[ "$(plans)" != "$(plans --tp 2)" ] || { echo "search ignores --tp"; wrong=1; }
said=$("$plait" search $job --tp 2 --fix tp=4 2>&1)
[ "$said" = "plait: --fix: expected one value of tp, found 2 and 4" ] || { echo "--tp 2 --fix tp=4: $said"; wrong=1; }
refused search $job --limit tp=4.. --tp 2
refused search $job --recompute some
refused search $job --tp two
refused search $job --tp 2,pp=2
said=$("$plait" search $job --tp '' 2>&1)
[ "$said" = "plait: --tp: expected a value, found nothing" ] || { echo "--tp '': $said"; wrong=1; }

# The answer names keys that leave their limits, and no key that keeps its value.
said=$("$plait" search $job --refine none --pp 2 --split spread 2>&1)
[[ $said == *'; a plan fits with pp = 1, split = even '* ]] || { echo "--pp 2 --split spread: $said"; wrong=1; }

load="qwen3-8b dgx-h100 --gpus 8 --rate 2 --engine vllm"
same "serve $load --input 1k --output-tokens 200 --ttft 500ms --tpot 0.02s" "serve $load --isl 1k --osl 200 --ttft 500 --tpot 20"
refused serve $load --input 1k --output-tokens 200 --ttft 0

# Options of earlier versions are refused with the option that replaces them.
said=$("$plait" search $job --strategy dp 2>&1)
[[ $said == 'plait: --strategy: expected the option --refine (none for exhaustive, layouts for dp, '* ]] ||
    { echo "--strategy dp: $said"; wrong=1; }
said=$("$plait" serve $load --input 1k --output 200 2>&1)
[ "$said" = "plait: --output: expected a file, found 200; for the tokens of an answer use --output-tokens 200" ] ||
    { echo "--output 200: $said"; wrong=1; }
refused serve $load --input 1k --output-tokens 200 --output-file x.json
refused capacity gpt2 dgx-h100 --serve --rate 5 --input 1k --output=200

# Names cannot be abbreviated: an abbreviation that is unique today may become ambiguous.
refused models --js
refused eval $job --mb 1
# Keys of a file have underscores, flags have hyphens.
refused eval $job --cp_comm a2a
exit $wrong
