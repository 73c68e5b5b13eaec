#!/bin/bash
# api_calls.sh - checks that tests/unit/test_api_calls.c calls each public function that can fail
#
# The test passes invalid values to each of them. A function that it cannot call is exempt below.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1

# Two functions construct errors; three take the result of another call and cannot receive bad input;
# one reads a file that cli_rl passes.
exempt='plait_fail|plait_fail_nomem|plait_check_allocated|plait_serve_simulate|plait_serve_validate|plait_post_validate|plait_rl_launch_render'

wrong=0
names=$(cat include/plait/*.h include/plait/lowlevel/*.h | tr '\n' ' ' | grep -oE 'plait_status +plait_[a-z_]+\(' |
    sed -E 's/.*(plait_[a-z_]+)\(/\1/' | grep -vxE "$exempt" | sort -u)
for name in $names; do
    grep -qE "[A-Z]+\($name," tests/unit/api_calls/calls.def && continue
    echo "$name is missing from tests/unit/api_calls/calls.def"
    wrong=$((wrong + 1))
done
echo "$(wc -l <<<"$names") calls, $wrong missing"
[ $wrong -eq 0 ] && [ -n "$names" ]
