#!/bin/bash
# test_batch_hint.sh PLAIT - a batch that limits dp is reported with a better one; other batches are not
set -u

plait=$1
wrong=0

warned() { # warned TEXT FLAGS...: a search with these flags prints one warning with TEXT; none, if TEXT is ""
    local said
    # shellcheck disable=SC2086
    said=$("$plait" search ${2} --seq 1k --refine none --top 1 2>&1 >/dev/null | grep -- '--gbs')
    [ "$said" = "${1:+plait: warning: $1}" ] && return
    echo "search $2: '$said', not '$1'"
    wrong=1
}

job="gpt2 dgx-h100 --gpus 32"
warned "--gbs 100: dp is at most 4, since 32 GPUs and the batch have no larger common divisor; --gbs 96 allows dp up to 32" "$job --gbs 100"
warned "--gbs 1001: dp is at most 1, since 32 GPUs and the batch have no larger common divisor; --gbs 1024 allows dp up to 32" \
    "$job --gbs 1001 --fix recompute=none"
warned "" "$job --gbs 96"
warned "" "$job --gbs 48"               # no batch near it has four times as many
warned "" "$job --gbs 100 --dp 2"       # the batch does not bind it
warned "" "$job --gbs 6"

# The suggested batch allows the dp that the hint promises.
tokens() { "$plait" search gpt2 dgx-h100 --gpus 32 --seq 1k --gbs "$1" --refine none --top 1 --json 2>/dev/null | grep -m1 tokens_per_s_per_gpu | tr -dc 0-9.; }
awk -v a="$(tokens 1001)" -v b="$(tokens 1024)" 'BEGIN { exit !(a > 0 && b > 1.2 * a) }' || { echo "1024 is no better than 1001: $(tokens 1024), $(tokens 1001)"; wrong=1; }
exit $wrong
