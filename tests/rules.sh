#!/bin/bash
# rules.sh - checks that each rule in the code is explained in docs/reference/rules.md, and the reverse
set -u
cd "$(dirname "$0")/.." || exit 1

coded() { # numbers in the tables of runtimes, and of what is asked of all of them, one a line
    {
        sed -nE 's/^ *\{"([A-Z]+[0-9]+)", *.*/\1/p' src/rules/rules_*.c
        grep -ohE ', rule L[0-9]+\)' src/rules/rules.c | tr -dc 'L0-9\n'
        grep -ohE '\(rule P[0-9]+\)' src/rules/plan_check*.c src/rules/kernels.c src/hardware/cluster.c | tr -dc 'P0-9\n'
    } | sort
}

explained() {
    sed -nE 's/^\| \*\*([A-Z]+[0-9]+)\*\* \|.*/\1/p' docs/reference/rules.md | sort
}

# A rule that follows neither another rule nor the head of a table is outside of any table.
loose=$(awk '/^\| \*\*/ && before !~ /^\|/ {print NR ": " substr($0, 1, 40)} {before = $0}' docs/reference/rules.md)
[ -z "$loose" ] || { echo "docs/reference/rules.md: rows outside a table:"; echo "$loose"; exit 1; }

count=$(coded | wc -l)
twice=$(coded | uniq -d; explained | uniq -d)
[ -z "$twice" ] || echo "numbers that stand twice: $twice"
diff <(coded) <(explained) && [ -z "$twice" ] && echo "$count rules" && [ "$count" -gt 30 ]
