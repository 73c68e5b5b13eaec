#!/bin/bash
# equations.sh - checks that code and documents mean the same by an equation's number
#
# The chapters in docs/model and docs/search define C.1, C.2, ... of the cost model and S.1, S.2, ...
# of the search, each by a heading of its own (`### C.30 Matrix product`). Every number that the code
# uses is defined once, every defined number is used by the code, and documents use no other. Every
# folder of the source that a chapter names exists.
set -u
cd "$(dirname "$0")/.." || exit 1

wrong=0
complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

chapters=(docs/model/*.md docs/search/*.md)

defined() { # the numbers that headings define, with repeats
    sed -nE 's/^#+ ([CS]\.[0-9]+) .*/\1/p' "${chapters[@]}"
}

# A number that ends a longer word ("etc.C.3") is not an equation's.
named() { # the numbers that the given files contain, each once
    sed -E 's/[A-Za-z0-9_.]+[CS]\.[0-9]+//g' "$@" | grep -oE '\b[CS]\.[0-9]+' | sort -u
}

# Tests may use numbers too, but do not count as code.
mapfile -t code < <(find include costmodel search src -name '*.[ch]' | sort)
documents=(costmodel/README.md search/README.md)
for file in README.md docs/*.md docs/*.1 docs/*/*.md docs/*/*/*.md clusters/README.md models/README.md tests/*/*.c; do
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
    complain "$number is used by $(grep -lwF -- "$number" "${code[@]}" | tr '\n' ' ')but not defined"
done
for number in $(comm -13 <(echo "$in_code") <(echo "$once")); do
    complain "$number is defined, but no code uses it"
done
for number in $(comm -23 <(echo "$in_documents") <(echo "$once")); do
    complain "$number is used by a document or test but not defined"
done
for file in "${code[@]}"; do # a range hides the numbers between its ends
    grep -nE '\b[CS]\.[0-9]+ ?(-|\.\.) ?[CS]\.[0-9]+' "$file" /dev/null && complain "$file: name each number"
done

for folder in $(grep -ohE '`(costmodel|search|src)/[a-z_/]+/`' "${chapters[@]}" | tr -d '`' | sort -u); do
    [ -d "$folder" ] || complain "$(grep -lF "\`$folder\`" "${chapters[@]}" | tr '\n' ' ')names $folder, which does not exist"
done
for folder in costmodel search; do # the maps name the folders beside them
    for inner in $(grep -oE '^\| `[a-z]+/`' $folder/README.md | tr -d '|` '); do
        [ -d "$folder/$inner" ] || complain "$folder/README.md names $inner, which does not exist"
    done
done

echo "$(wc -w <<<"$once") equations, $wrong wrong"
[ $wrong -eq 0 ] && [ -n "$once" ]
