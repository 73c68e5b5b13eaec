#!/bin/bash
# equations.sh - checks that code and documents mean the same by an equation's number
#
# costmodel/README.md defines C.1, C.2, ... and search/README.md S.1, S.2, ..., each by a heading of
# its own (`### C.30 Matrix product`). Every number that the code names is defined once, every one
# that is defined is named by the code, and documents name no other.
set -u
cd "$(dirname "$0")/.." || exit 1

wrong=0
complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

defined() { # the numbers that headings define, with repeats
    sed -nE 's/^#+ (C\.[0-9]+) .*/\1/p' costmodel/README.md
    sed -nE 's/^#+ (S\.[0-9]+) .*/\1/p' search/README.md
}

# A number that ends a longer word ("etc.C.3") is not an equation's.
named() { # the numbers in the given files, each once
    sed -E 's/[A-Za-z0-9_.]+[CS]\.[0-9]+//g' "$@" | grep -oE '\b[CS]\.[0-9]+' | sort -u
}

# Tests may name numbers that they hold the code to, but do not count as its use.
code=(include/plait/*.h costmodel/*/*.[ch] search/*.[ch] search/*/*.[ch] src/*/*.[ch] src/*/*/*.[ch])
documents=(costmodel/README.md search/README.md)
for file in README.md docs/*.md docs/*.1 clusters/README.md models/README.md tests/*/*.c; do
    [ -e "$file" ] && documents+=("$file")
done

all=$(defined)
once=$(sort -u <<<"$all")
in_code=$(named "${code[@]}")
in_documents=$(named "${documents[@]}")

for number in $(sort <<<"$all" | uniq -d); do
    complain "$number is defined twice"
done
for number in $(comm -23 <(echo "$in_code") <(echo "$once")); do
    complain "$number is named by $(grep -lwF -- "$number" "${code[@]}" | tr '\n' ' ')but defined nowhere"
done
for number in $(comm -13 <(echo "$in_code") <(echo "$once")); do
    complain "$number is defined, but no code names it"
done
for number in $(comm -23 <(echo "$in_documents") <(echo "$once")); do
    complain "$number is named by a document or test but defined nowhere"
done
for file in "${code[@]}"; do # a range hides the numbers between its ends
    grep -nE '\b[CS]\.[0-9]+ ?(-|\.\.) ?[CS]\.[0-9]+' "$file" /dev/null && complain "$file: name each number"
done

# Files that an entry says hold its equation are there. schedule_<name>.c is each of them.
for file in $(grep -ohE '\*File\*: [^*]*' costmodel/README.md | grep -oE '`[a-z0-9_/]+\.[ch]`' | tr -d '`' | sort -u); do
    [ -e "costmodel/$file" ] || [ -e "$file" ] || complain "costmodel/README.md names $file, which is not there"
done

echo "$(wc -w <<<"$once") equations, $wrong wrong"
[ $wrong -eq 0 ] && [ -n "$once" ]
