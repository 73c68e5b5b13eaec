#!/bin/bash
# run_examples.sh PLAIT DOCUMENT - runs the examples of a document and compares their output
#
# An example is a fenced block whose first line begins with "$ plait" or "$ ./dev run". Each line
# that begins with "$ " is a command, and a trailing backslash continues it. The lines after it are
# its output on both streams, 100 columns wide. A line of three dots matches any number of lines.
# Elapsed times are masked.
#
# The commands run in a scratch folder that has the folders of data, so an example may write files,
# and a later example of the same document may read them.
#
# UPDATE_EXAMPLES=1 rewrites the outputs that differ for review in `git diff`, and leaves out of the
# new output what the three dots left out of the old one.
set -u
export COLUMNS=100

plait=$(realpath "$1")
document=$(realpath "$2")
root=$(pwd)
. tests/support/normalise.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for folder in models clusters tests docs; do
    ln -s "$root/$folder" "$scratch/$folder"
done
# "plait" and "./dev run" both run the program under test.
mkdir "$scratch/bin"
ln -s "$plait" "$scratch/bin/plait"
printf '#!/bin/sh\nshift\nexec "%s" "$@"\n' "$plait" >"$scratch/dev"
chmod +x "$scratch/dev"
cd "$scratch" || exit 1

run=0
failed=0
rewritten=() # lines of the document, with today's outputs

# Prints the expected lines as a shell pattern in which only a line of three dots is special.
as_pattern() {
    sed -E -e 's/[][\\*?(){}|!+@]/\\&/g' -e 's/^\.\.\.$/*/'
}

# Prints the lines of NEW that correspond to lines of OLD, with three dots for those left out.
updated() { # updated OLD NEW
    python3 - "$1" "$2" <<'END'
import difflib, re, sys

old, new = (text.split("\n") for text in sys.argv[1:])
masked = [[re.sub("[0-9]+", "N", line) for line in lines] for lines in (old, new)]
kept = set()
for _, i, i_end, j, j_end in difflib.SequenceMatcher(None, *masked, autojunk=False).get_opcodes():
    if "..." not in old[i:i_end]:
        kept.update(range(j, j_end))
        continue
    for line in old[i:i_end]:
        if line != "..." and j < j_end:
            kept.add(max(range(j, j_end), key=lambda k: difflib.SequenceMatcher(None, line, new[k]).ratio()))
last = -1
for k in sorted(kept):
    if k > last + 1:
        print("...")
    print(new[k])
    last = k
if last < len(new) - 1:
    print("...")
END
}

check() { # check COMMAND EXPECTED
    local raw actual pattern expected

    [ -z "$1" ] && return
    run=$((run + 1))
    raw=$(PATH="$scratch/bin:$PATH" bash -c "$1" </dev/null 2>&1)
    actual=$(normalise <<<"$raw")
    expected=$(printf '%s' "$2" | normalise)
    pattern=$(printf '%s' "$expected" | as_pattern)
    rewritten+=("$ $1")
    # shellcheck disable=SC2053  # the right side is meant to be a pattern
    if [[ $actual == $pattern ]]; then
        [ -z "$2" ] || rewritten+=("$2")
        return
    fi
    failed=$((failed + 1))
    printf '\n$ %s\n' "$1"
    diff -u --label "$document" --label actual \
        <(printf '%s\n' "$expected") <(printf '%s\n' "$actual")
    [ -z "${UPDATE_EXAMPLES:-}" ] || rewritten+=("$(updated "$2" "$raw")")
}

fence=outside
command=
output=
while IFS= read -r line; do
    case $fence:$line in
    outside:'```'*)
        fence=first
        rewritten+=("$line")
        ;;
    *:'```'*)
        [ $fence = example ] && check "$command" "${output%$'\n'}"
        fence=outside command='' output=''
        rewritten+=("$line")
        ;;
    first:'$ plait '* | first:'$ plait' | first:'$ ./dev run '*)
        fence=example command=${line#'$ '}
        ;;
    example:'$ '*)
        check "$command" "${output%$'\n'}"
        command=${line#'$ '} output=''
        ;;
    example:*)
        if [[ $output == '' && $command == *\\ ]]; then
            command+=$'\n'$line
        else
            output+=$line$'\n'
        fi
        ;;
    *)
        [ $fence != first ] || fence=other
        rewritten+=("$line")
        ;;
    esac
done <"$document"

echo "$run examples, $failed failed"
if [ -n "${UPDATE_EXAMPLES:-}" ]; then
    [ $failed -eq 0 ] || printf '%s\n' "${rewritten[@]}" >"$document"
    exit 0
fi
[ $failed -eq 0 ]
