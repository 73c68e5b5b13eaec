#!/bin/bash
# test_next_command.sh PLAIT - a command that a search prints runs unchanged and prices the same plan
#
# Searches are drawn at random from a seed: models, clusters up to 2^22 GPUs, software, formats, fixed keys,
# and files with names that a shell would split.
set -u

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
readonly searches=24 enough=12
RANDOM=7
wrong=0
ran=0

complain() {
    echo "$@"
    wrong=1
}

any() { # any WORD...: sets `drawn` to one of them
    local -a words=("$@")
    drawn=${words[RANDOM % ${#words[@]}]}
}

maybe() { # maybe FLAG VALUE...: appends the flag with one of its values to a third of the questions
    local flag=$1
    shift
    ((RANDOM % 3 == 0)) || return
    any "$@"
    asked+=("$flag" "$drawn")
}

draw() { # sets `asked` to the words of a search
    any llama-3.2-3b llama-3.1-8b gpt-oss-20b mixtral-8x7b
    asked=("$drawn")
    any dgx-h100 dgx-a100 h100-80gb-sxm gb200-nvl72 tpu-v5p mi300x-192gb b200-180gb-sxm
    asked+=("$drawn" --top 1)
    any 1 2 8 16 24 32 64 96 1048576 4194304
    asked+=(--gpus "$drawn")
    if ((drawn > 1000)); then
        asked+=(--gbs 8388608 --fix tp=1,pp=1)
    else
        any 8 64 256 960
        asked+=(--gbs "$drawn")
        maybe --fix zero=0 zero=3 tp=2 pp=4 cp=2 recompute=full sp=0 mbs=2 vpp=2 fusion=auto \
            schedule=zb-h1 ep=2 order=tp-cp-pp-dp grad_sync=bulk
    fi
    any 512 2048 4096 5000 8192
    asked+=(--seq "$drawn")
    maybe --runtime torchtitan deepspeed megatron-fsdp megatron-no-overlap maxtext
    maybe --precision fp8 mxfp8 fp16
    maybe --objective memory
    maybe --risk 0.01 0.2 0.5
    maybe -o "$scratch/p.json" "$scratch/two words.json" "$scratch/a'b\$(exit 9).json" \
        "$scratch/of:1" $'\e]0;x\a\n.json'
}

# The verdict and every number of the price of the first plan of a document.
price() {
    sed -n '/^  "plans": \[/,/^  \]/p' |
        grep -E '^ +"(verdict|step_s|tokens_per_s|peak_bytes|mfu|dp|tp|pp|cp|ep)":' | head -10
}

check() { # check WORD...: of a search
    local next

    "$plait" search "$@" >"$scratch/table" 2>"$scratch/said" || return # no plan, or none such software runs
    next=$(sed -n 's/^next: plait explain //p' "$scratch/table")
    [ -n "$next" ] || return # of stages that differ: the table says what to do
    ran=$((ran + 1))
    "$plait" search "$@" --json 2>/dev/null | price >"$scratch/searched"
    # shellcheck disable=SC2016
    if ! (cd "$scratch" && eval "\"\$plait\" explain $next --json") 2>"$scratch/said" |
        price >"$scratch/explained"; then
        complain "search ${*@Q}: plait explain $next: $(cat "$scratch/said")"
    fi
    if [ ! -s "$scratch/searched" ] || ! cmp -s "$scratch/searched" "$scratch/explained"; then
        complain "search ${*@Q}: plait explain $next:" \
            "$(diff "$scratch/searched" "$scratch/explained") $(cat "$scratch/said")"
    fi
}

cd "$scratch" || exit 1
check llama-3.2-3b h100-80gb-sxm --gpus 4194304 --gbs 8388608 --seq 4096 --fix tp=1,pp=1
[ $ran -eq 1 ] || complain "no command for 4194304 replicas: $(cat "$scratch/said")"
for ((n = 0; n < searches; n++)); do
    draw
    check "${asked[@]}"
done
[ $ran -ge $enough ] || complain "only $ran of $searches searches print a command"
exit $wrong
