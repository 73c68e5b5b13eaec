#!/bin/bash
# instructions.sh PLAIT BENCH_PRICING - what a priced plan and a search take, in instructions
#
# Times differ from run to run, counts hardly do: valgrind counts, and tests/instructions.tsv keeps what
# was counted last. A count that is more than 5 % higher fails; one as much lower asks to be kept, with
# UPDATE_GOLDEN=1, so that the next one is held against it.
set -eu
plait=$1
bench=$2
kept=tests/instructions.tsv
command -v valgrind >/dev/null || { echo "no valgrind: nothing is counted"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

counted() { # counted COMMAND...: its instructions; what it prints goes to $scratch/said
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$scratch/log" "$@" >"$scratch/said"
    sed -nE 's/.*Collected : ([0-9]+).*/\1/p' "$scratch/log"
}

few=$(counted "$bench" 5)
few_plans=$(cat "$scratch/said")
more=$(counted "$bench" 25)
more_plans=$(cat "$scratch/said")
search=$(counted "$plait" search llama-3.1-8b dgx-h100 --gpus 64 --seq 8192 --gbs 256 --threads 1)
{
    printf 'a plan of the inner loop\t%d\n' $(((more - few) / (more_plans - few_plans)))
    printf 'search llama-3.1-8b on 64 H100\t%d\n' "$search"
} >"$scratch/now"
if [ -n "${UPDATE_GOLDEN:-}" ]; then
    cp "$scratch/now" "$kept"
fi
cut -f 1 "$scratch/now" | cmp - <(cut -f 1 "$kept")
paste "$kept" <(cut -f 2 "$scratch/now") | awk -F '\t' '
    { printf "%-32s %12.0f instructions, %+.1f %% from what is kept\n", $1, $3, 100 * ($3 / $2 - 1) }
    $3 > 1.05 * $2 { wrong = 1; print "    more than 5 % more" }
    $3 < 0.95 * $2 { wrong = 1; print "    better: UPDATE_GOLDEN=1 keeps it" }
    END { exit wrong }'
