#!/bin/bash
# test_plans.sh PLAIT - a file of plans is enough by itself: the same prices, the same bytes
set -u

plait=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0

complain() {
    echo "$@"
    wrong=1
}

# Numbers of the plan at a place of a document: step_s and memory.peak_bytes, one per line.
prices() { # prices FILE PLACE
    sed -n '/^  "plans": \[/,/^  \]/p' "$1" |
        awk -v place="$2" '/^    \{/ { n++ } n == place && /^ +"(step_s|peak_bytes)":/ { print }'
}

# The model, the cluster and the job of a document.
question() {
    sed -n '1,/^  "job"/p' "$1"
}

check() { # check MODEL CLUSTER FLAGS...
    if ! "$plait" search "$@" --top 4 -o "$scratch/plans.json" >"$scratch/table"; then
        complain "search $*: fails"
        return
    fi
    "$plait" search "$@" --top 4 --json >"$scratch/again.json" || complain "search --json $*: $?"
    diff <(grep -vE '"(elapsed_s|threads)"' "$scratch/plans.json") \
        <(grep -vE '"(elapsed_s|threads)"' "$scratch/again.json") >/dev/null ||
        complain "search $*: the file and the document differ"
    for rank in 1 2 4; do
        "$plait" eval --plan "$scratch/plans.json:$rank" --json >"$scratch/one.json" ||
            complain "eval of rank $rank: $?"
        [ -n "$(prices "$scratch/plans.json" $rank)" ] || complain "no prices of rank $rank"
        diff <(prices "$scratch/plans.json" $rank) <(prices "$scratch/one.json" 1) ||
            complain "search $*: rank $rank has another price when read back"
        diff <(question "$scratch/plans.json") <(question "$scratch/one.json") ||
            complain "search $*: the question changes when read back"
    done
}

check llama-3.1-8b h100-80gb-sxm:2x8 --seq 4096 --gbs 64
check gpt-oss-20b dgx-a100 --gpus 16 --seq 4096 --gbs 64
check gemma-2-2b gb200-nvl72:4x4 --seq 4096 --gbs 64 --precision fp8
check llama-3.1-8b mi300x --gpus 8 --seq 4096 --gbs 64 --runtime torchtitan

# The command at the end of the table prices the same plan.
recommended() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["recommended"])' "$1"; }
check_next() { # check_next WORDS: of a search
    local next
    "$plait" search "$@" --json >"$scratch/plans.json"
    next=$("$plait" search "$@" | sed -n 's/^next: plait explain //p')
    [ -n "$next" ] || complain "search $*: no next command"
    # shellcheck disable=SC2086
    eval "\"$plait\" eval $next --json" >"$scratch/one.json" || complain "plait eval $next: $?"
    diff <(prices "$scratch/plans.json" "$(recommended "$scratch/plans.json")") <(prices "$scratch/one.json" 1) ||
        complain "plait eval $next: another price than the recommended plan"
}

check_next llama-3.1-8b h100-80gb-sxm:2x8 --seq 4096 --gbs 64
check_next llama-3.1-70b dgx-h100 --gpus 512 --seq 8192 --gbs 1024 # chunks, and modules run again
check_next mixtral-8x7b dgx-h100 --gpus 64 --seq 4096 --gbs 256
check_next llama-3.1-8b dgx-h100 --gpus 64 --seq 8192 --gbs 64 --runtime torchtitan

# A user's profile is found next to the plans, from wherever they are read; the shipped one of its name
# has other factors.
plait_at=$(realpath "$plait")
mkdir -p "$scratch/here"
sed -E 's/"gemm": [0-9.]+/"gemm": 1.5/' clusters/runtimes/megatron.json >"$scratch/here/mine.json"
(
    cd "$scratch/here" &&
        "$plait_at" eval llama-3.1-8b h100-80gb-sxm:2x8 --seq 4096 --gbs 64 --tp 2 \
            --runtime ./mine.json -o ../plan.json >/dev/null
) 2>"$scratch/err" || complain "eval of a profile by path: $?"
grep -qF "../plan.json needs the runtime mine.json in the same folder: copy" "$scratch/err" ||
    complain "plans elsewhere than their profile: $(cat "$scratch/err")"
grep -qF '"runtime": "mine.json"' "$scratch/plan.json" ||
    complain "the file does not name its profile: $(grep '"runtime"' "$scratch/plan.json")"
cp "$scratch/here/mine.json" "$scratch"
"$plait" eval --plan "$scratch/plan.json" --json | diff - "$scratch/plan.json" >/dev/null ||
    complain "a profile by path: another price when read back"
"$plait" launch "$scratch/plan.json" -o "$scratch/launched" >/dev/null || complain "launch: $?"
cp "$scratch/mine.json" "$scratch/launched"
"$plait" import --from megatron "$scratch/launched/args.sh" --cluster h100-80gb-sxm:2x8 \
    -o "$scratch/back.json" >/dev/null
diff <(prices "$scratch/plan.json" 1) <("$plait" eval --plan "$scratch/back.json" --json | prices /dev/stdin 1) ||
    complain "a profile by path: another price when imported"
rm "$scratch/mine.json"
"$plait" eval --plan "$scratch/plan.json" >"$scratch/out" 2>&1
if [ $? -ne 2 ] || [ "$(wc -l <"$scratch/out")" -ne 1 ] ||
    ! grep -qF "/mine.json: cannot open: No such file" "$scratch/out"; then
    complain "a profile that is gone: $(cat "$scratch/out")"
fi

# A stated imbalance of experts is part of the problem; an option states another within its range.
experts="qwen3-30b-a3b dgx-h100 --gpus 16 --seq 4096 --gbs 256 --tp 1 --ep 8 --recompute full"
# shellcheck disable=SC2086  # the arguments are several words
step() { "$plait" eval $experts "$@" --json | sed -nE 's/^ *"step_s": (.*),/\1/p'; }
# shellcheck disable=SC2086
"$plait" eval $experts --imbalance 2 -o "$scratch/uneven.json" >/dev/null || complain "eval --imbalance 2: $?"
grep -qF '"imbalance": 2' "$scratch/uneven.json" || complain "the file does not say its imbalance"
read_back=$("$plait" eval --plan "$scratch/uneven.json" --json | sed -nE 's/^ *"step_s": (.*),/\1/p')
[ "$read_back" = "$(step --imbalance 2)" ] || complain "a file's imbalance is lost: $read_back"
for pair in "1 2" "2 4" "8 9"; do
    # shellcheck disable=SC2086
    set -- $pair
    awk "BEGIN { exit !($(step --imbalance "$1") <= $(step --imbalance "$2")) }" ||
        complain "--imbalance $2 is faster than $1"
done
[ "$(step --imbalance 8)" = "$(step --imbalance 9)" ] || complain "a rank of 8 has more than all tokens"
# Of mixtral's 2 copies of a token at most one reaches a rank with 1 of the 8 experts.
capped="mixtral-8x7b dgx-h100 --gpus 64 --seq 4096 --gbs 64 --tp 4 --ep 8 --etp 1 --imbalance 9"
# shellcheck disable=SC2086
"$plait" eval $capped | grep -qF "of 8 expert ranks receives 4 times the mean; the number of experts, top-k and capacity do not allow the requested 9" ||
    complain "the cap of a stated imbalance is not printed"
# shellcheck disable=SC2086
"$plait" eval $capped --json | grep -qE '"imbalance": 4,' || complain "JSON has an imbalance that is not priced"
# shellcheck disable=SC2086
"$plait" eval $capped --ep 1 | grep -qF "routing: the requested imbalance has no effect: with ep 1" ||
    complain "--imbalance with ep 1 is silent"
[ "$(step)" = "$(step --imbalance 1.1)" ] || complain "the profile's imbalance is not 1.1"
for wrong_one in 0.9 101 x; do
    # shellcheck disable=SC2086
    "$plait" eval $experts --imbalance $wrong_one >/dev/null 2>&1
    [ $? -eq 2 ] || complain "--imbalance $wrong_one is not refused"
done
# Natural routing keeps the step and widens its band, beyond twice the step.
# shellcheck disable=SC2086
"$plait" eval $experts --imbalance natural -o "$scratch/natural.json" >/dev/null || complain "natural: $?"
grep -qF '"imbalance": "natural"' "$scratch/natural.json" || complain "the file does not say that routing is natural"
"$plait" eval --plan "$scratch/natural.json" --json |
    awk -v even="$(step)" -F'[:,]' '/"step_s"/ { step = $2 } /"step_high_s"/ { high = $2 }
        END { exit !(step == even && high > 2 * step) }' || complain "natural routing has no wider band"
"$plait" eval llama-3.1-8b dgx-h100 --gpus 8 --seq 4096 --gbs 8 --imbalance 2 >/dev/null 2>"$scratch/err"
grep -qF "expected a model with experts, found llama-3.1-8b" "$scratch/err" ||
    complain "--imbalance of a dense model: $(cat "$scratch/err")"

# The requested risk is part of the problem; an option sets another.
"$plait" search llama-3.1-70b dgx-h100 --gpus 512 --seq 8192 --gbs 1024 --risk 0.46 --top 1 \
    -o "$scratch/risky.json" >/dev/null || complain "search --risk 0.46: $?"
grep -qF '"risk": 0.46' "$scratch/risky.json" || complain "the file does not say its risk"
verdict() { "$plait" eval --plan "$scratch/risky.json" "$@" --json | sed -nE 's/^ *"verdict": "(.*)",/\1/p'; }
[ "$(verdict)" = fits ] || complain "read back: $(verdict), expected fits"
[ "$(verdict --risk 0.05)" = tight ] || complain "at 5 %: $(verdict --risk 0.05), expected tight"
sed 's/"risk": 0.46$/"risk": 0.7/' "$scratch/risky.json" >"$scratch/sure.json"
"$plait" eval --plan "$scratch/sure.json" 2>&1 |
    grep -qF "sure.json:/job/risk: expected a probability from 0.001 to 0.5, found 0.7" ||
    complain "a risk of 0.7: $("$plait" eval --plan "$scratch/sure.json" 2>&1)"

# An option changes only its own value: other shard groups than all replicas stay as in the file.
shards() { # shards EXPECTED FILE FLAGS...
    local expected=$1 found
    shift
    found=$("$plait" eval --plan "$@" --json | sed -nE 's/^      "shard_group": (.*),/\1/p')
    [ "$found" = "$expected" ] || complain "eval --plan $*: shard_group $found, expected $expected"
}

shard_plan() { # shard_plan FILE FLAGS...: 16 replicas of one GPU
    local file=$1
    shift
    "$plait" eval llama-3.2-3b h100-80gb-sxm:2x8 --seq 4096 --gbs 64 --mbs 1 --recompute full "$@" \
        -o "$file" >/dev/null || complain "no plan with $*"
}

shard_plan "$scratch/one.json" --shard-group 1
shard_plan "$scratch/half.json" --shard-group 8
shard_plan "$scratch/all.json"
shards 1 "$scratch/one.json" --mbs 2
shards 8 "$scratch/half.json" --mbs 2
shards 8 "$scratch/half.json" --tp 2
shards 8 "$scratch/half.json" --gpus 8
shards 4 "$scratch/half.json" --shard-group 4
shards 16 "$scratch/all.json" --mbs 2
shards 8 "$scratch/all.json" --tp 2

# Several kinds of nodes: the file lists the idle ones.
check gemma-2-2b h200-141gb-sxm:2x8+b200-180gb-sxm:2x8,nic=50 --seq 4096 --gbs 8 --runtime flagscale
grep -q '"idle_groups"' "$scratch/plans.json" || complain "no group is idle"

# Stages of different tp are launched as FlagScale's meshes.
uneven=h200-141gb-sxm:1x4+l40s-48gb:2x4,nic=200
"$plait" search mixtral-8x7b $uneven --seq 1024 --gbs 60 --runtime flagscale -o "$scratch/uneven.json" >/dev/null
"$plait" launch "$scratch/uneven.json:1" -o "$scratch/uneven" >/dev/null || complain "no launch of uneven stages"
grep -q "hetero_process_meshes: " "$scratch/uneven/plan.yaml" || complain "uneven stages are no meshes"

exit $wrong
