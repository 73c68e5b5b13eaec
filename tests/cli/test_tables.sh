#!/bin/bash
# test_tables.sh PLAIT - tables on terminals of some widths, in pipes, and with --wide
set -u
export OMP_NUM_THREADS=1 # threads that wait for a busy machine cost time

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

question='search llama-3.1-70b dgx-h100 --gpus 64 --seq 8k --gbs 128 --top 12 --refine none'

on_terminal() { # on_terminal COLUMNS ARGUMENTS: what a terminal shows, standard error left out
    script -qec "stty cols $1; $plait $2 2>/dev/null" /dev/null </dev/null | tr -d '\r'
}

table_of() { grep -A3 '^rank  '; }
widest() { awk '{ if (length($0) > m) m = length($0) } END { print m + 0 }'; }
without_clock() { sed '/^elapsed /d'; }

# shellcheck disable=SC2086  # words of a command
"$plait" $question >"$scratch/piped"
whole=$(table_of <"$scratch/piped" | widest)
[ "$whole" -gt 100 ] || complain "the table is only $whole wide: narrow terminals show nothing"
cmp <(on_terminal 400 "$question" | without_clock) <(without_clock <"$scratch/piped") ||
    complain "a wide terminal shows something else than a pipe"
cmp <(on_terminal 60 "$question --wide" | without_clock) <(without_clock <"$scratch/piped") ||
    complain "--wide is not the whole table"
for width in 100 80 60 40; do
    on_terminal "$width" "$question" >"$scratch/shown"
    found=$(table_of <"$scratch/shown" | widest)
    [[ $found -le $width && $found -gt 20 ]] || complain "of $width columns the table takes $found"
    tr '\n' ' ' <"$scratch/shown" | grep -qE 'no room for [^;]*; +--wide +shows +all' ||
        complain "$width: what is left out is not told"
    grep -q '^rank .* step ' "$scratch/shown" || complain "$width: the step is left out"
done
# Cells stay below their titles.
[ "$(on_terminal 60 "$question" | table_of | awk 'NR == 2 { print $1, $2, $3 }')" == \
    "$(table_of <"$scratch/piped" | awk 'NR == 2 { print $1, $2, $3 }')" ] || complain "cells have moved"

# COLUMNS limits pipes as well, and overrides the width of the terminal.
# shellcheck disable=SC2086  # words of a command
ask() { "$plait" $question "$@" | grep -v -e elapsed -e threads; }
cmp <(COLUMNS=60 ask) <(on_terminal 60 "$question" | grep -v -e elapsed -e threads) ||
    complain "COLUMNS=60 in a pipe is no terminal of 60"
cmp <(COLUMNS=60 ask) <(COLUMNS=60 on_terminal 120 "$question" | grep -v -e elapsed -e threads) ||
    complain "a terminal of 120 does not follow COLUMNS=60"
cmp <(COLUMNS=wide ask) <(grep -v -e elapsed -e threads "$scratch/piped") || complain "COLUMNS that is no number matters"
cmp <(COLUMNS=50 ask --json) <(ask --json) || complain "COLUMNS changes JSON"

# Progress appears on a terminal only, and is erased before the answer.
script -qec "$plait capacity llama-3.1-8b dgx-h100 --gpus 32..64 --tokens 1T --seq 8k --gbs 256 --refine none" /dev/null \
    </dev/null >"$scratch/shown"
grep -q 'searching .* %' "$scratch/shown" || complain "a terminal sees no progress"
"$plait" capacity llama-3.1-8b dgx-h100 --gpus 32 --tokens 1T --seq 8k --gbs 256 --refine none 2>"$scratch/said" >/dev/null
[ -s "$scratch/said" ] && complain "progress is written to a file"

exit $((wrong > 0))
