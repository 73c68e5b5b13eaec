#!/bin/bash
# test_case.sh PLAIT - every published system is priced, in text and as JSON
set -u

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
count=0

complain() {
    echo "$@"
    wrong=1
}

"$plait" case >"$scratch/list" || complain "the list fails"
for file in models/cases/*.json; do
    name=$(basename "$file" .json)
    count=$((count + 1))
    "$plait" case "$name" >"$scratch/text" 2>"$scratch/err" || complain "$name fails"
    [ -s "$scratch/err" ] && complain "$name: $(cat "$scratch/err")"
    grep -qw nan "$scratch/text" && complain "$name prints nan"
    grep -q "cannot run" "$scratch/text" && complain "$name has a plan that cannot run"
    "$plait" case "$name" --json >"$scratch/json" || complain "$name --json fails"
    rows=$(awk -v name="$name" '$1 == name { print $2 }' "$scratch/list")
    [ "$(grep -c '"figures"' "$scratch/json")" = "$rows" ] ||
        complain "$name has not the rows that the list says: '$rows'"
done
[ $count -gt 8 ] || complain "only $count cases"
exit $wrong
