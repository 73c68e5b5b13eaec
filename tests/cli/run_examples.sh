#!/bin/bash
# run_examples.sh PLAIT DOCUMENT - runs the examples of a document and compares their output
#
# An example is a fenced block whose first line begins with "$ plait" or "$ ./dev run". Each line
# that begins with "$ " is a command, and a trailing backslash continues it. The lines after it are
# its output on both streams, 100 columns wide. A line of three dots stands for any number of lines.
# Elapsed times are masked.
#
# The commands run in a scratch folder that has the folders of data, so an example may write files,
# and a later example of the same document may read them.
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
# "plait" and "./dev run" both mean the program under test.
mkdir "$scratch/bin"
ln -s "$plait" "$scratch/bin/plait"
printf '#!/bin/sh\nshift\nexec "%s" "$@"\n' "$plait" >"$scratch/dev"
chmod +x "$scratch/dev"
cd "$scratch" || exit 1

run=0
failed=0

# Prints the expected lines as a shell pattern in which only a line of three dots is special.
as_pattern() {
    sed -E -e 's/[][\\*?(){}|!+@]/\\&/g' -e 's/^\.\.\.$/*/'
}

check() { # check COMMAND EXPECTED
    local actual pattern expected

    [ -z "$1" ] && return
    run=$((run + 1))
    actual=$(PATH="$scratch/bin:$PATH" bash -c "$1" </dev/null 2>&1 | normalise)
    expected=$(printf '%s' "$2" | normalise)
    pattern=$(printf '%s' "$expected" | as_pattern)
    # shellcheck disable=SC2053  # the right side is meant to be a pattern
    [[ $actual == $pattern ]] && return
    failed=$((failed + 1))
    printf '\n$ %s\n' "$1"
    diff -u --label "$document" --label actual \
        <(printf '%s\n' "$expected") <(printf '%s\n' "$actual")
}

fence=outside
command=
output=
while IFS= read -r line; do
    case $fence:$line in
    outside:'```'*) fence=first ;;
    *:'```'*)
        [ $fence = example ] && check "$command" "${output%$'\n'}"
        fence=outside command='' output=''
        ;;
    first:'$ plait '* | first:'$ plait' | first:'$ ./dev run '*)
        fence=example command=${line#'$ '}
        ;;
    first:*) fence=other ;;
    example:'$ '*)
        check "$command" "${output%$'\n'}"
        command=${line#'$ '} output=''
        ;;
    example:*)
        if [[ $output == '' && $command == *\\ ]]; then
            command+=$'\n'${line#'> '}
        else
            output+=$line$'\n'
        fi
        ;;
    esac
done <"$document"

echo "$run examples, $failed failed"
[ $failed -eq 0 ]
