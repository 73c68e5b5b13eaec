#!/bin/bash
# test_manual.sh PLAIT - every flag that --help lists is in the man page and in the shell completion
#
# The option tables are the one place where flags are said; this holds what is written by hand to them.
set -u

plait=$1
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

flags_of() { # long flags of a command, one a line
    "$plait" "$1" --help | grep -oE '^  (-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u
}

verbs() {
    "$plait" --help | sed -nE 's/^  ([a-z]+)  +[A-Z].*/\1/p'
}

manual=$(sed 's/\\-/-/g' docs/plait.1)
. completions/plait.bash

[ -n "$(verbs)" ] || complain "plait --help lists no command"
for verb in $(verbs); do
    grep -q -- "plait $verb" <<<"$manual" || complain "the man page does not show plait $verb"
    for flag in $(flags_of "$verb"); do
        grep -qE -- "$flag([^a-z-]|\$)" <<<"$manual" || complain "the man page lacks $flag of $verb"
        tr ' ' '\n' <<<"$(_plait_flags "$verb")" | grep -qxF -- "$flag" ||
            complain "the completion lacks $flag of $verb"
    done
    for flag in $(tr ' ' '\n' <<<"$(_plait_flags "$verb")" | grep -- '^--'); do
        flags_of "$verb" | grep -qxF -- "$flag" || complain "the completion has $flag, $verb does not"
    done
done
exit $((wrong > 0))
