#!/bin/bash
# run_refusals.sh PLAIT - compares each refusal with the line that was last reviewed
#
# refusals.txt has blocks of "$ ARGUMENTS", as words of a shell, then standard error; the exit status
# is 2 and standard output empty. UPDATE_GOLDEN=1 rewrites the lines for review in `git diff`.
set -u

plait=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/normalise.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

while IFS= read -r line; do
    [[ $line == "$ "* ]] || continue
    echo "$line"
    mapfile -t arguments < <(printf '%s\n' "${line:2}" | xargs -r -n 1 printf '%s\n')
    "$plait" "${arguments[@]}" </dev/null 2>"$scratch/err" >"$scratch/out"
    status=$?
    normalise <"$scratch/err"
    [ $status = 2 ] || echo "exit status $status"
    [ ! -s "$scratch/out" ] || echo "$(wc -c <"$scratch/out") bytes on standard output"
done <"$here/refusals.txt" >"$scratch/actual"

if [ "${UPDATE_GOLDEN:-0}" = 1 ]; then
    cp "$scratch/actual" "$here/refusals.txt"
    exit 0
fi
diff -u --label refusals.txt --label actual "$here/refusals.txt" "$scratch/actual"
