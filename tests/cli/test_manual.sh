#!/bin/bash
# test_manual.sh PLAIT - the manual in docs matches the option tables, and the shell completes options
#
# `./dev docs` writes the manual. The examples of the man page must run, and its error message must be one
# that the program prints.
set -u

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

flags_of() { # long flags of a command, one a line
    "$plait" "$1" --help | grep -oE '^  (-[a-z], )?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+' | sort -u
}

verbs() {
    "$plait" --help | sed -nE 's/^  ([a-z]+)  +[A-Z].*/\1/p'
}

manual=$(sed 's/\\-/-/g' docs/plait.1)

cmake/manual.sh "$plait" "$scratch/docs"
for page in plait.1 reference/cli.md; do
    cmp "$scratch/docs/$page" "docs/$page" || complain "docs/$page is stale: run ./dev docs"
done

[ -n "$(verbs)" ] || complain "plait --help lists no command"
for verb in $(verbs); do
    grep -qF -- "plait $verb" <<<"$manual" || complain "the man page does not show plait $verb"
    for flag in $(flags_of "$verb"); do
        grep -qE -- "$flag([^a-z0-9-]|\$)" <<<"$manual" || complain "the man page lacks $flag of $verb"
    done
    diff <(flags_of "$verb") <("$plait" --complete "$verb" | grep -oE '^--[a-z0-9-]+' | sort -u) ||
        complain "--help and --complete of $verb differ"
done

# The help of --split has each kind of split that the message about an unknown one lists.
splits=$("$plait" eval llama-3.1-8b dgx-h100 --gpus 8 --seq 4096 --gbs 8 --split none 2>&1 | sed -nE 's/.*expected one of (.*), found.*/\1/p')
[ -n "$splits" ] || complain "no complaint about a split that is none"
for word in ${splits//,/ }; do
    grep -- '^\* `--split ' docs/reference/cli.md | grep -qw -- "$word" || complain "the manual's --split lacks $word"
done

# ---- completion ----

. completions/plait.bash

offered() { # offered WORDS...: what the shell offers for the last of them, on one line
    COMP_WORDS=("$plait" "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _plait
    echo "${COMPREPLY[*]}"
}

expect_offer() { # expect_offer EXPECTED WORDS...
    local found
    found=$(offered "${@:2}")
    [[ " $found " == *" $1 "* ]] || complain "completion of '${*:2}' offers '$found', not '$1'"
}

expect_offer 'search' sea
expect_offer '--version' --v
expect_offer '--cp --cp-comm' eval --cp
expect_offer 'p2p allgather a2a' eval --cp-comm ''
expect_offer 'interleaved' eval llama-3.1-8b dgx-h100 --schedule inter
expect_offer '0 1' eval --sp ''
expect_offer 'none selective modules sac full' eval --recompute ''
expect_offer 'llama-3.1-8b' search llama-3.1-8
expect_offer 'dgx-h100' search llama-3.1-8b dgx-h
expect_offer 'dgx-h100' search --json llama-3.1-8b --seq 4096 dgx-h1
expect_offer 'megatron' search --runtime megatron
expect_offer 'megatron megatron-bridge torchtitan deepspeed companion' import --from ''
[ -z "$(offered search llama-3.1-8b dgx-h100 --seq '')" ] || complain "a number is offered words"
[ -z "$(offered unheard-of x)" ] || complain "a verb that is none has words"

# ---- examples ----

section() { # section NAME: of the man page, as it is written
    awk -v name="$1" '/^\.SH / { inside = ($0 == ".SH " name) } inside' <<<"$manual"
}

mkdir "$scratch/bin" "$scratch/work"
ln -s "$plait" "$scratch/bin/plait"

run_example() { # run_example SHELL-COMMANDS
    case $1 in *'jq '*) command -v jq >/dev/null || return 0 ;; esac
    (cd "$scratch/work" && PATH="$scratch/bin:$PATH" bash -eo pipefail -c "$1") \
        >"$scratch/out" 2>"$scratch/err" </dev/null || complain "status $? of the example: $1"
    [ -s "$scratch/out" ] || complain "no answer to the example: $1"
    [ ! -s "$scratch/err" ] || complain "$(cat "$scratch/err") from the example: $1"
}

examples=0
block=
while IFS= read -r line; do
    case $line in
    .nf) block= ;;
    .fi)
        run_example "$block"
        examples=$((examples + 1))
        ;;
    *) block+=$line$'\n' ;;
    esac
done < <(section EXAMPLES)
[ $examples -gt 0 ] || complain "the man page has no examples"

sed 's/"gpus": 8/"gpus": -8/' clusters/dgx-h100.json >"$scratch/work/x.json"
complaint=$("$plait" clusters "$scratch/work/x.json" 2>&1)
grep -qxF -- "${complaint/"$scratch/work"/clusters}" <<<"$(section 'EXIT STATUS')" ||
    complain "the man page does not have the complaint $complaint"
exit $((wrong > 0))
