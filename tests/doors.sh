#!/bin/bash
# doors.sh - checks that each public function that can fail is among the doors of tests/unit/test_doors.c
#
# A door is entered with values that there are not; a function that is none has to say here why.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1

# What makes an error, and what simulates or sums what another door has made.
exempt='plait_fail|plait_fail_nomem|plait_serve_simulate|plait_serve_validate'

wrong=0
names=$(cat include/plait/*.h include/plait/lowlevel/*.h | tr '\n' ' ' | grep -oE 'plait_status +plait_[a-z_]+\(' |
    sed -E 's/.*(plait_[a-z_]+)\(/\1/' | grep -vxE "$exempt" | sort -u)
for name in $names; do
    grep -qE "[A-Z]+\($name," tests/unit/doors/doors.def && continue
    echo "$name is no door of tests/unit/doors/doors.def"
    wrong=$((wrong + 1))
done
echo "$(wc -l <<<"$names") doors, $wrong missing"
[ $wrong -eq 0 ] && [ -n "$names" ]
