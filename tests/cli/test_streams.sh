#!/bin/bash
# test_streams.sh PLAIT - the stream and the exit status of each kind of answer
set -u

plait=$(realpath "$1")
job="--seq 2048 --gbs 16 --gpus 8"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0

# expect STATUS OUT ERR ARGUMENTS...: OUT and ERR are "some" or "none"
expect() {
    local status=$1 out=$2 err=$3 found
    shift 3
    "$plait" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    found=$?
    [ $found -eq "$status" ] || { echo "status $found, expected $status: plait $*"; wrong=1; }
    amount "$scratch/out" "$out" "$*"
    amount "$scratch/err" "$err" "$*"
}

amount() { # amount FILE some|none COMMAND
    local found=none
    [ -s "$1" ] && found=some
    [ $found = "$2" ] || { echo "${1##*/}: $found, expected $2: plait $3"; wrong=1; }
}

expect 0 some none --help
expect 0 some none --version
expect 0 some none models
expect 0 some none clusters dgx-h100
expect 2 none some
expect 2 none some nonsense
expect 2 none some models no-such-model
# shellcheck disable=SC2086
expect 0 some none eval llama-3.1-8b dgx-h100 $job --tp 2
# shellcheck disable=SC2086
expect 1 some none eval llama-3.1-8b dgx-h100 $job --tp 3
# shellcheck disable=SC2086
expect 1 some none eval gpt3-175b dgx-h100 $job --tp 8 --json
# shellcheck disable=SC2086
expect 1 some none explain gpt3-175b dgx-h100 $job --tp 8

# Each error is one line.
"$plait" models no-such-model 2>&1 >/dev/null | wc -l | grep -qx 1 || { echo "more than a line"; wrong=1; }

# A write that fails is a fault of the machine; a file that cannot be created is an error of the user.
"$plait" models >/dev/full 2>"$scratch/err"
[ $? -eq 3 ] || { echo "a full disk: status is not 3"; wrong=1; }
# shellcheck disable=SC2086
expect 2 none some eval llama-3.1-8b dgx-h100 $job --tp 2 --json -o "$scratch/no/such/folder.json"
# shellcheck disable=SC2086
expect 3 none some eval llama-3.1-8b dgx-h100 $job --tp 2 -o /dev/full
# The thread sanitizer needs larger files than that.
# shellcheck disable=SC2086
if (ulimit -f 1 && "$plait" search llama-3.1-8b dgx-h100 $job) >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    (cd "$scratch" && ulimit -f 1 &&
        "$plait" search llama-3.1-8b dgx-h100 $job -o large.json) >/dev/null 2>&1
    [ $? -eq 3 ] || { echo "a file beyond its limit: status is not 3"; wrong=1; }
    [ -z "$(find "$scratch" -name 'large.json*')" ] || { echo "half a file"; wrong=1; }
fi

# -o is checked before the search; - is standard output.
for name in "" "$scratch" "$scratch/no/such/folder.json"; do
    # shellcheck disable=SC2086
    expect 2 none some search llama-3.1-8b dgx-h100 $job --objective nonsense -o "$name"
    grep -q nonsense "$scratch/err" && { echo "-o '$name': the objective comes first"; wrong=1; }
done
for verb in "search" "eval --tp 2"; do
    # shellcheck disable=SC2086
    "$plait" $verb llama-3.1-8b dgx-h100 $job -o - >"$scratch/document"
    # shellcheck disable=SC2086
    "$plait" $verb llama-3.1-8b dgx-h100 $job --json |
        diff -I elapsed_s -I threads - "$scratch/document" || { echo "$verb: -o -"; wrong=1; }
done

# As many threads are started as there is memory for.
if (ulimit -v 500000 && "$plait" --version) >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    (ulimit -v 500000 && "$plait" search llama-3.1-8b dgx-h100 $job --threads 1024) >/dev/null ||
        { echo "1024 threads in 500 MB: no answer"; wrong=1; }
    # 180 MB are enough for two threads, 90 MB for one.
    (ulimit -v 130000 && "$plait" search llama-3.1-405b dgx-h100 --gpus 1024 --seq 8192 --gbs 1024 --threads 2) >/dev/null ||
        { echo "two threads in 130 MB: no answer"; wrong=1; }
    (ulimit -s 512 && "$plait" --version) 2>&1 | grep -qx 'plait: stack: expected .*' ||
        { echo "a small stack: no error"; wrong=1; }
fi

# A runtime with many free keys has millions of shards, of which few are legal: memory grows only with the legal ones.
if (ulimit -v 120000 && "$plait" --version) >/dev/null 2>&1; then
    (ulimit -v 120000 && "$plait" search gpt2 dgx-h100 --gpus 8 --seq 1024 --gbs 64 --runtime companion \
        --refine none --threads 1) >/dev/null || { echo "shards: more than 120 MB"; wrong=1; }
fi
exit $wrong
