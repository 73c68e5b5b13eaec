#!/bin/bash
# test_runtime_dates.sh PLAIT - software of a month: --runtime NAME@YY.MM
set -u

plait=$1
wrong=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# megatron of May 2020 has slow products, that of 2021 slower ones; every shipped profile is newer.
runtimes=$folder/data/clusters/runtimes
mkdir -p "$runtimes"
dated() { # dated MONTH REST
    echo "{\"name\": \"megatron@$1\", \"variant_of\": \"megatron\"$2}" >"$runtimes/megatron@$1.json"
}
dated 20.05 ', "source": "a test", "factors": {"gemm": 2}'
dated 21.01 ', "factors": {"gemm": 3}, "overlap": {"tp_exposed": 1.5}'
export PLAIT_DATA=$folder/data

complain() {
    echo "$@"
    wrong=1
}

question=(llama-3.1-8b dgx-h100 --gpus 8 --seq 4096 --gbs 32)
asked() { # asked RUNTIME ARGUMENTS...: into out and err
    local runtime=$1
    shift
    "$plait" eval "${question[@]}" --tp 2 --runtime "$runtime" "$@" >"$folder/out" 2>"$folder/err"
}

step_of() { # step_of RUNTIME: seconds
    asked "$1" --json || complain "no price of $1: $(cat "$folder/err")"
    grep -oE '"step_s": [0-9.e-]+' "$folder/out" | head -n 1 | cut -d' ' -f2
}

slower() { # slower A B: is a step of A longer?
    awk -v a="$(step_of "$1")" -v b="$(step_of "$2")" 'BEGIN {exit !(a > b)}' ||
        complain "expected $1 to be slower than $2"
}

same() { # same A B
    [ "$(step_of "$1")" = "$(step_of "$2")" ] || complain "expected $1 to be as fast as $2"
}

# A month selects the earliest profile that is not before it; after the last one it is the newest.
same megatron@20.05 megatron@19.12
same megatron@20.06 megatron@21.01
slower megatron@20.05 megatron
slower megatron@21.01 megatron@20.05
same megatron@99.12 megatron
asked megatron@19.12
grep -qF 'runtime megatron@19.12 (releases up to 20.05)' "$folder/out" || complain "not named"
asked megatron@99.12
grep -qF 'runtime megatron@99.12 (bridge-v0.6.0 with core-v0.19.0, the newest)' "$folder/out" ||
    complain "not the newest"
same megatron@v0.4.0 megatron@26.04
named() { # named WHEN TEXT: what the answer says that it took
    asked "megatron@$1"
    grep -qF "runtime megatron@$1 ($2)" "$folder/out" || complain "megatron@$1 is not $2: $(sed -n 2p "$folder/out")"
}
named v0.4.0 'bridge-v0.4.0 with core-v0.17.0, not core-v0.4.0'
named core-v0.4.0 core-v0.4.0
named v0.14 core-v0.14.0
named 25.09 'bridge-v0.1.0rc3 with core-v0.14.0'
named 26.08 'bridge-v0.6.0 with core-v0.19.0, the newest'

# Files store the requested release, and can be read again.
"$plait" search "${question[@]}" --runtime megatron@20.06 -o "$folder/plans.json" >/dev/null ||
    complain "no search"
grep -qF '"runtime": "megatron@20.06"' "$folder/plans.json" || complain "another runtime in the file"
"$plait" eval --plan "$folder/plans.json" --json >"$folder/out" || complain "not read back"
[ "$(grep -m 1 '"step_s"' "$folder/out")" = "$(grep -m 1 '"step_s"' "$folder/plans.json")" ] ||
    complain "another price when read back"
"$plait" explain --plan "$folder/plans.json" >/dev/null || complain "no explanation"
for target in megatron companion; do
    "$plait" launch "$folder/plans.json" --target $target -o "$folder/$target" >/dev/null ||
        complain "no launch files for $target"
done
"$plait" import --from megatron "$folder/megatron/args.txt" -o "$folder/again.json" >/dev/null 2>&1
"$plait" import --from companion "$folder/companion/launch.json" -o "$folder/again.json" \
    >/dev/null || complain "launch.json is not read"
grep -qF '"runtime": "megatron@20.06"' "$folder/again.json" || complain "launch.json forgets it"
"$plait" --complete eval 2>/dev/null | grep -q 'megatron@20.05' || complain "not completed"

# The path of a profile gives the same profile.
same "$runtimes/megatron@21.01.json" megatron@21.01

# An error is printed once, with its place.
refused() { # refused RUNTIME TEXT...
    local runtime=$1 text
    shift
    asked "$runtime" && complain "$runtime was taken"
    [ "$(wc -l <"$folder/err")" -eq 1 ] || complain "more than one line: $(cat "$folder/err")"
    for text; do
        grep -qF -- "$text" "$folder/err" || complain "expected $text, found $(cat "$folder/err")"
    done
}
for month in 25.9 2025.09 25.13 25.00 25-09 v0.0 ''; do
    refused "megatron@$month" "megatron@$month: expected a month such as 25.09" "found \"$month\""
done
refused torchtitan@25.09 'torchtitan@25.09: expected torchtitan without a version, since plait has no versions of it'
refused deepspeed@25.09 'expected deepspeed without a version'
refused torchtitan@v0.4.0 'expected a month such as 25.09 after @'
refused megatorn@25.09 'did you mean megatron'
rm "$runtimes"/*
dated 20.05 ', "rules": "generic"'
refused megatron@20.05 "$runtimes/megatron@20.05.json:/rules"
dated 20.05 ', "factors": {"gem": 2}'
refused megatron@20.05 "$runtimes/megatron@20.05.json:/factors/gem"
echo '{"name": "megatron@20.06", "variant_of": "megatron"}' >"$runtimes/megatron@20.05.json"
refused megatron@20.05 'expected a profile with the name megatron@20.05, found megatron@20.06'
echo '{"name": "megatron@20.05", "variant_of": "megatron@20.06"}' >"$runtimes/megatron@20.05.json"
refused megatron@20.05 'megatron@20.05.json:/variant_of' 'without a date'
echo '{"name": "gone@20.05", "variant_of": "gone"}' >"$runtimes/gone@20.05.json"
refused gone@20.05 'gone'
refused "$runtimes/gone@20.05.json" 'gone@20.05.json:/variant_of' 'expected the name of a runtime'
rm "$runtimes"/*

# A month before the first release is rejected.
for when in 23.11 19.12 core-v0.3.0 v0.1.0-of-none; do
    refused "megatron@$when" '25.09 (23.12 or later)' 'core-v0.4.0 to core-v0.19.0' \
        'bridge-v0.1.0rc3 to bridge-v0.6.0' "found \"$when\""
done

# A run of a release is priced by the profile of its month, one without by the newest.
{
    head -n 1 tests/validation/runs.csv
    row=$(grep -m 1 '^megatron_bridge_docs:.*,llama3-70b,.*release=v0.4.0' tests/validation/runs.csv)
    for release in release=99.12 release=20.03 release=v77 ''; do
        echo "${row/release=v0.4.0/$release}"
    done
} >"$folder/runs.csv"
dated 20.05 ', "factors": {"gemm": 2}'
"$plait" validate "$folder/runs.csv" --json >"$folder/out" || complain "no validation"
mapfile -t steps < <(grep -oE '"step_s": [0-9.e-]+' "$folder/out" | cut -d' ' -f2)
[ "${steps[0]}" = "${steps[3]}" ] && [ "${steps[2]}" = "${steps[3]}" ] ||
    complain "rows of the newest release differ: ${steps[*]}"
awk -v a="${steps[1]}" -v b="${steps[3]}" 'BEGIN {exit !(a > 1.2 * b)}' ||
    complain "a row of 20.03 is not priced so: ${steps[*]}"
grep -qF 'unknown month of release v77' "$folder/out" || complain "no note on an unknown release"

exit $wrong
