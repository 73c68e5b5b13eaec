#!/bin/bash
# rules.sh - checks that each rule of a runtime has its number explained, and each explanation a rule
set -u
cd "$(dirname "$0")/.." || exit 1

coded() { # numbers in the tables, one a line
    sed -nE 's/^ *\{"([A-Z]+[0-9]+)", *.*/\1/p' src/plan/rules_*.c | sort
}

explained() {
    sed -nE 's/^\| \*\*([A-Z]+[0-9]+)\*\* \|.*/\1/p' docs/rules.md | sort
}

count=$(coded | wc -l)
twice=$(coded | uniq -d; explained | uniq -d)
[ -z "$twice" ] || echo "numbers that stand twice: $twice"
diff <(coded) <(explained) && [ -z "$twice" ] && echo "$count rules" && [ "$count" -gt 30 ]
