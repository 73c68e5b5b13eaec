#!/bin/bash
# test_memory_limit.sh PLAIT - a search under --memory-limit ends with its answer, with a part of it, or with one line
set -u

plait=$1
wrong=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
question=(search deepseek-v3 h800-80gb-sxm:32x8 --seq 4096 --gbs 3840 --top 1)

fail() {
    echo "$@"
    wrong=1
}

step() { # step FILE: the first step of an answer
    grep -m1 '"step_s"' "$1" | sed 's/.*: //; s/,.*//'
}

"$plait" "${question[@]}" --json --threads 1 >"$folder/whole.json" 2>"$folder/said" || fail "no answer without a limit"
whole=0 part=0 none=0
for megabytes in 2 8 14 16 18 20 22 24 26 28 32 40 64; do
    "$plait" "${question[@]}" --json --memory-limit ${megabytes}M >"$folder/out.json" 2>"$folder/said"
    status=$?
    if [ $status -eq 3 ]; then
        none=$((none + 1))
        grep -q '^plait: --memory-limit: expected enough bytes' "$folder/said" ||
            fail "$megabytes MB: $(cat "$folder/said")"
        [ "$(wc -l <"$folder/said")" -eq 1 ] || fail "$megabytes MB: more than one line"
        [ -s "$folder/out.json" ] && fail "$megabytes MB: an answer with status 3"
    elif [ $status -ne 0 ]; then
        fail "$megabytes MB: status $status, $(cat "$folder/said")"
    elif grep -q '"short_of_memory": true' "$folder/out.json"; then
        part=$((part + 1))
        awk -v a="$(step "$folder/out.json")" -v b="$(step "$folder/whole.json")" \
            'BEGIN { exit !(a >= b) }' || fail "$megabytes MB: faster than the best plan"
    else
        whole=$((whole + 1))
        [ "$(step "$folder/out.json")" = "$(step "$folder/whole.json")" ] ||
            fail "$megabytes MB: another plan without a statement"
    fi
done
for count in "$whole" "$part" "$none"; do
    [ "$count" -gt 0 ] || fail "expected whole, partial and no answers, found $whole, $part, $none"
done

for text in 12x 0 -5M 1e99 ''; do
    "$plait" "${question[@]}" --memory-limit "$text" >"$folder/out.json" 2>"$folder/said"
    [ $? -eq 2 ] || fail "--memory-limit '$text' is accepted"
done
exit $wrong
