#!/bin/bash
# test_refusals.sh PLAIT - every command that prices plans rejects GPUs without a price, in one line
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

cluster() { # cluster NODES OUTER_LEVEL: 8 GPUs a node under a leaf of 32 and a spine
    cat <<EOF
{"name": "made up", "source": "test", $1,
 "levels": [
   {"name": "inner", "kind": "switch", "gpus": 8, "bandwidth_gb_per_s": 450, "latency_us": 3},
   {"name": "outer", $2, "bandwidth_gb_per_s": 50, "latency_us": 3},
   {"name": "spine", "kind": "switch", "gpus": null, "bandwidth_gb_per_s": 50, "latency_us": 4}]}
EOF
}

cluster '"groups": [{"accelerator": "h100-80gb-sxm", "gpus_per_node": 8, "nodes": 2},
                    {"accelerator": "a100-40gb-sxm", "gpus_per_node": 8, "nodes": 2}]' \
    '"kind": "switch", "gpus": 32' >halves.json
question() { # question FILE GPUS: its arguments
    echo "llama-3.1-8b ./$1 --seq 4096 --gbs 64 --gpus $2"
}

# The first group alone has a price.
for of in 'halves.json 16' 'halves.json 8'; do
    # shellcheck disable=SC2046,SC2086
    "$plait" eval $(question $of) --zero 1 >out 2>&1 || complain "$of: $(cat out)"
done

refused() { # refused TEXT FILE GPUS
    for command in search eval explain; do
        # shellcheck disable=SC2046
        "$plait" $command $(question "$2" "$3") >out 2>err
        [ $? -eq 2 ] || complain "$command $2: status $?"
        [ "$(wc -l <err)" -eq 1 ] || complain "$command $2: not one line: $(cat err)"
        grep -qF -- "$1" err || complain "$command $2: $(cat err)"
        [ ! -s out ] || complain "$command $2: prints $(head -1 out)"
    done
}

refused 'span two kinds of nodes, 8 x h100-80gb-sxm and 8 x a100-40gb-sxm' halves.json 32

# A plan out of memory names options with which the same command fits, and keeps those that are given.
crowded="qwen3-30b-a3b dgx-a100 --seq 4096 --gbs 16 --gpus 32 --tp 8 --etp 2"
# shellcheck disable=SC2086
"$plait" eval $crowded >out 2>err
[ $? -eq 1 ] || complain "eval of a plan out of memory: $(cat err)"
ways=$(sed -n '/^The plan fits with one of these changes:/,$s/^  \(--.*\): step .*/\1/p' out)
[ -n "$ways" ] || complain "eval of a plan out of memory names no way out"
while read -r flags; do
    # shellcheck disable=SC2086
    "$plait" eval $crowded $flags >out 2>err || complain "$flags does not fit: $(cat err)"
done <<<"$ways"

# A search in which nothing fits names the offload with which a plan fits.
"$plait" search llama-3.1-70b dgx-a100 --gpus 8 --seq 4096 --gbs 64 >out 2>err
grep -qF "  search with --fix offload=optimizer: step " out || complain "search does not name offload: $(cat out err)"
"$plait" search llama-3.1-70b dgx-a100 --gpus 8 --seq 4096 --gbs 64 --fix offload=optimizer --top 1 >/dev/null ||
    complain "the search with offload fits nothing"

# Microbatches that do not divide the batch are rejected with the option that is given and with ones that do.
"$plait" eval llama-2-70b h100-80gb-sxm:4x8 --seq 4096 --gbs 256 --gpus 32 --tp 8 --pp 2 --microbatches 7 >out 2>err
[ $? -eq 1 ] || complain "--microbatches 7: $(cat err)"
grep -qF "7 microbatches do not divide the 128 sequences of a data-parallel rank (dp 2, batch 256): give --microbatches 4 or 8" \
    out || complain "--microbatches 7: $(cat out)"

exit $((wrong > 0))
