#!/bin/bash
# test_topologies.sh PLAIT - cluster files with every kind of level load, describe themselves and have a
# price; bad values are rejected in one line
set -u

plait=$(realpath "$1")
examples=$(realpath "$(dirname "$0")/../data/clusters")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

# ---- examples ------------------------------------------------------------------------------

shown() { # shown FILE ROW_OF_GRAPHS...: name, units, links, diameter, mean hops of each level
    local file=$1 row
    shift
    "$plait" clusters "$examples/$file" >out 2>err || complain "clusters $file: $(cat err)"
    for row in "$@"; do
        awk '$1 == "level" && $2 == "units" { on = 1 } NF == 0 { on = 0 } on' out |
            sed -E 's/ [0-9.]+ [MGTP]B\/s / /; s/ +/ /g; s/^ //' | grep -qxF -- "$row" ||
            complain "$file: no row '$row' in: $(cat out)"
    done
}

shown dragonfly-plus.json 'nvlink 4 4 2 1.5' 'leaf 16 16 2 1.88' 'group 4 4 2 1.5' \
    'global 6 6 2 1.67' 'all 1536 GPUs 6144 2 2'
shown dgx-1.json 'nvlink 8 12 3 1.5' 'network any - - - -'
shown torus-of-nodes.json 'grid 32 64 6 3' 'all 256 GPUs 768 6 3.05'
shown reducing-switches.json 'nvlink 8 8 2 1.75'

"$plait" clusters "$examples/torus-of-nodes.json" --json >out 2>err || complain "--json: $(cat err)"
tr -d ' \n' <out | grep -qF '"nodes":32,"links":64,"cut_links":8,"bisection_bytes_per_s":1600000000000,"diameter":6' ||
    complain "graphs as JSON: $(grep -A9 '"grid"' out | tail -9)"

for question in 'dragonfly-plus.json 512' 'dgx-1.json 32' 'torus-of-nodes.json 256' \
    'reducing-switches.json 64'; do
    # shellcheck disable=SC2086
    set -- $question
    "$plait" eval llama-3.1-8b "$examples/$1" --gpus "$2" --seq 2048 --gbs 512 --zero 1 --tp 8 \
        --precision fp16 >out 2>err || complain "eval $1: $(cat err out)"
done

# Written files give the same cluster when read, with the slice and the placement.
"$plait" search llama-3.1-8b "$examples/torus-of-nodes.json" --gpus 128 --seq 2048 --gbs 512 \
    --runtime maxtext --fix placement=yxz,tp=8 --top 1 -o plans.json >out 2>err ||
    complain "search: $(cat err)"
"$plait" eval --plan plans.json:1 >again 2>err || complain "eval --plan: $(cat err)"
grep -q 'placement yxz' again || complain "placement is lost: $(cat again)"
[ "$(grep -o '"step_s": [0-9.]*' plans.json | head -1)" = \
    "$("$plait" eval --plan plans.json:1 --json | grep -o '"step_s": [0-9.]*' | head -1)" ] ||
    complain "another price when read back"

# Older files use mesh for links between all pairs, and torus with sides.
cat >old.json <<'EOF'
{"name": "old", "accelerator": "mi300x-192gb", "gpus_per_node": 8, "nodes": 2, "levels": [
 {"name": "xgmi", "kind": "mesh", "gpus": 8, "bandwidth_gb_per_s": 448, "latency_us": 4},
 {"name": "grid", "kind": "torus", "gpus": 16, "torus": [2, 1, 1], "bandwidth_gb_per_s": 50,
  "latency_us": 4}]}
EOF
"$plait" clusters ./old.json >out 2>err || complain "old file: $(cat err)"
grep -q '^  xgmi *full ' out || complain "mesh without sides is not full: $(cat out)"

# ---- refusals ------------------------------------------------------------------------------

refused() { # refused LEVEL WHERE TEXT: the second of two levels, of nodes of 8
    cat >bad.json <<EOF
{"name": "bad", "accelerator": "h100-80gb-sxm", "gpus_per_node": 8, "nodes": 8, "levels": [
 {"name": "inner", "gpus": 8, "bandwidth_gb_per_s": 450, "latency_us": 3},
 {"name": "outer", "bandwidth_gb_per_s": 50, "latency_us": 3, $1}]}
EOF
    "$plait" clusters ./bad.json >out 2>err
    [ $? -eq 2 ] || complain "$1: status is not 2"
    [ ! -s out ] || complain "$1: prints $(head -1 out)"
    [ "$(cat err)" = "plait: ./bad.json:/levels/1$2: $3" ] || complain "$1: $(cat err)"
}

refused '"kind": "torus", "gpus": 64, "sides": [2, 2, 3]' /sides \
    'expected sides whose product is the 8 units of 8 GPUs that the level joins, found 12'
refused '"kind": "torus", "gpus": 64, "sides": [8, 0]' '/sides/1' \
    'expected an integer from 1 to 1024, found 0'
refused '"kind": "torus", "sides": [1024, 1024, 1024, 1024, 1024, 1024]' /sides \
    'expected at most 4194304 GPUs, found 8589934592'
refused '"kind": "mesh", "gpus": 64, "sides": [2, 2, 2, 1, 1, 1, 1]' /sides \
    'expected 1 to 6 numbers, found 7'
refused '"kind": "mesh", "gpus": 64, "sides": []' /sides 'expected 1 to 6 numbers, found 0'
refused '"kind": "torus", "gpus": 64, "sides": [4, 2], "wrap": [true]' /wrap \
    'expected true or false for each of the 2 sides, found 1 values'
refused '"kind": "torus", "gpus": 64, "sides": [4, 2], "wrap": [true, 1]' /wrap/1 \
    'expected true or false, found 1'
refused '"kind": "torus", "gpus": 64' '' 'expected the key "sides", found none'
refused '"kind": "mesh", "gpus": 64, "sides": [4, 2], "wrap": [true, true]' /wrap \
    'expected this key only if kind is torus'
refused '"kind": "switch", "gpus": 64, "sides": [4, 2]' /sides \
    'expected this key only if kind is torus or mesh'
refused '"kind": "hypercube", "gpus": 48' /gpus \
    'expected 2 to 64 units of 8 GPUs, and a power of two in a hypercube, found 6 units'
refused '"kind": "ring"' /gpus 'expected the number of GPUs that the ring joins, found nothing'
refused '"kind": "dragonfly", "gpus": 64' /kind \
    'expected one of switch, full, ring, mesh, torus, hypercube, found "dragonfly"'
refused '"scattered": 0.5' /scattered 'expected this key only in a level that is neither the first nor the last'
refused '"in_network_reduction": 3' /in_network_reduction 'expected at most 2, found 3'
refused '"kind": "ring", "gpus": 64, "in_network_reduction": 2' /in_network_reduction \
    'expected this key only in a switch level above the first level'

exit $((wrong > 0))
