#!/bin/bash
# test_case.sh PLAIT - every published system is priced, in words and as JSON
set -u

plait=$(realpath "$1")
wrong=0
count=0

for file in models/cases/*.json; do
    name=$(basename "$file" .json)
    count=$((count + 1))
    "$plait" case "$name" >/tmp/plait_case.$$ 2>&1 || { echo "case $name failed"; wrong=1; }
    grep -q "^row " /tmp/plait_case.$$ || { echo "case $name prints no table"; wrong=1; }
    grep -qw nan /tmp/plait_case.$$ && { echo "case $name prints nan"; wrong=1; }
    grep -q "cannot run" /tmp/plait_case.$$ && { echo "case $name has a plan that cannot run"; wrong=1; }
    [ "$("$plait" case "$name" --json | python3 -m json.tool 2>/dev/null | wc -l)" -gt 20 ] ||
        [ -z "$(command -v python3)" ] || { echo "case $name --json is no document"; wrong=1; }
    "$plait" case | grep -q "^$name " || { echo "case does not list $name"; wrong=1; }
done
rm -f /tmp/plait_case.$$
[ $count -gt 8 ] || { echo "only $count cases"; wrong=1; }
exit $wrong
