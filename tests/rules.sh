#!/bin/bash
# rules.sh - checks that each rule of a runtime has its number explained, and each explanation a rule
set -u
cd "$(dirname "$0")/.." || exit 1

coded() { # numbers in the tables of runtimes, and of what is asked of all of them, one a line
    {
        sed -nE 's/^ *\{"([A-Z]+[0-9]+)", *.*/\1/p' src/rules/rules_*.c
        grep -ohE '\(rule P[0-9]+\)' src/rules/plan_check*.c src/plan/kernels.c src/hardware/cluster.c | tr -dc 'P0-9\n'
    } | sort
}

explained() {
    sed -nE 's/^\| \*\*([A-Z]+[0-9]+)\*\* \|.*/\1/p' docs/rules.md | sort
}

# A rule that stands behind neither a rule nor a head of a table is no row of one.
loose=$(awk '/^\| \*\*/ && before !~ /^\|/ {print NR ": " substr($0, 1, 40)} {before = $0}' docs/rules.md)
[ -z "$loose" ] || { echo "docs/rules.md: rows outside a table:"; echo "$loose"; exit 1; }

count=$(coded | wc -l)
twice=$(coded | uniq -d; explained | uniq -d)
[ -z "$twice" ] || echo "numbers that stand twice: $twice"
diff <(coded) <(explained) && [ -z "$twice" ] && echo "$count rules" && [ "$count" -gt 30 ]
