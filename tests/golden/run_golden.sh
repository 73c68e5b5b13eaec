#!/bin/bash
# run_golden.sh PLAIT CASE.args - compares what is printed with what was last reviewed
#
#   CASE.args   the arguments, as words of a shell, over as many lines as they need
#   CASE.out    standard output        CASE.err   standard error, absent when empty
#   CASE.exit   exit status, absent when 0
#
# UPDATE_GOLDEN=1 rewrites the three for review in `git diff`. Elapsed times are masked.
set -u

plait=$1
case=${2%.args}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/normalise.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mapfile -t arguments < <(xargs -r -n 1 printf '%s\n' <"$case.args")
"$plait" "${arguments[@]}" </dev/null >"$scratch/raw.out" 2>"$scratch/raw.err"
echo $? >"$scratch/exit"
normalise <"$scratch/raw.out" >"$scratch/out"
normalise <"$scratch/raw.err" >"$scratch/err"

# An expected file that is absent stands for its usual content.
expected() {
    if [ -e "$case.$1" ]; then cat "$case.$1"; else printf '%s' "$2"; fi
}

update() {
    if [ "$(cat "$scratch/$1")" = "$2" ]; then
        rm -f "$case.$1"
    else
        cp "$scratch/$1" "$case.$1"
    fi
}

if [ "${UPDATE_GOLDEN:-0}" = 1 ]; then
    cp "$scratch/out" "$case.out"
    update err ''
    update exit 0
    exit 0
fi

if [ ! -e "$case.out" ]; then
    echo "$case.out is missing; UPDATE_GOLDEN=1 writes it" >&2
    exit 1
fi
status=0
diff -u --label out --label actual "$case.out" "$scratch/out" || status=1
diff -u --label err --label actual <(expected err '') "$scratch/err" || status=1
diff -u --label exit --label actual <(expected exit $'0\n') "$scratch/exit" || status=1
exit $status
