#!/bin/bash
# run_launch.sh PLAIT CASE.args - compares a launch folder with what was last reviewed
#
#   CASE.args    the plan, as `plait eval` takes it, or `serve` and a deployment; behind it `launch`
#                and options of it, such as --target NAME, where the usual will not do
#   CASE/        the files that the case is about; one case of each target has all of them
#
# What can be read back must be the same plan. UPDATE_GOLDEN=1 rewrites these files for review.
set -u

plait=$1
case=${2%.args}
. "$(dirname "$0")/../../support/normalise.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mapfile -t words < <(xargs -r -n 1 printf '%s\n' <"$case.args")
target=()
for ((i = 0; i < ${#words[@]}; i++)); do
    [ "${words[i]}" != launch ] || break
done
target=("${words[@]:i+1}")
words=("${words[@]:0:i}")
[ "${words[0]}" = serve ] || words=(eval "${words[@]}")

"$plait" "${words[@]}" -o "$scratch/plans.json" >/dev/null || exit 1
"$plait" launch "$scratch/plans.json" "${target[@]}" -o "$scratch/made" >/dev/null || exit 1
cp -r "$scratch/made" "$scratch/masked"
[ ! -e "$scratch/made/launch.json" ] || mask_version <"$scratch/made/launch.json" >"$scratch/masked/launch.json"

if [ "${UPDATE_GOLDEN:-0}" = 1 ]; then
    [ -d "$case" ] || cp -r "$scratch/masked" "$case"
    for file in "$case"/*; do
        cp "$scratch/masked/${file##*/}" "$file"
    done
    exit 0
fi

status=0
for file in "$case"/*; do
    diff -u "$file" "$scratch/masked/${file##*/}" || status=1
done
if [ -e "$case/run.sh" ] || [ ! -e "$scratch/masked/run.sh" ]; then # a case with all files
    diff <(ls "$case") <(ls "$scratch/masked") || status=1
fi

choices() { # the job of a document, and the members of its plan that are choices
    local keys='tp|sp|pp|vpp|cp|cp_comm|ep|etp|dp|zero|shard_group|mbs|recompute|schedule|grad_sync'
    keys+='|fp8_attention|fused_grouped_mlp|tp_comm_overlap|cuda_graph'
    sed -nE "/^  \"job\"/,/^  \}/p; s/^ {6}\"($keys|split|order)\": /&/p" "$1" | sed 's/,$//'
}

read_back() { # read_back FORMAT FILE WORDS...: as the same plan
    local format=$1 file=$2
    shift 2
    "$plait" import --from "$format" "$scratch/made/$file" "$@" -o "$scratch/back.json" \
        >/dev/null || return 1
    diff <(choices "$scratch/plans.json") <(choices "$scratch/back.json")
}

serving() { # what a serving engine is started by: scripts that bash reads
    local script
    for script in "$scratch"/made/*.sh; do
        [ ! -e "$script" ] || bash -n "$script" || return 1
    done
}

case "${words[0]} ${target[*]}:$(ls "$scratch/made")" in
serve*) serving || status=1 ;;
*megatron-bridge*) read_back megatron-bridge overrides.sh || status=1 ;;
*trl:*dpo.yaml* | *llama-factory:*dpo.yaml*) read_back "${target[1]}" dpo.yaml || status=1 ;;
*trl:* | *llama-factory:*) read_back "${target[1]}" sft.yaml || status=1 ;;
*torchtune:*) read_back torchtune torchtune.yaml || status=1 ;;
*ms-swift:*) read_back ms-swift args.sh || status=1 ;;
*launch.json*) read_back companion launch.json || status=1 ;;
*recipe.py*) read_back torchtitan args.sh || status=1 ;;
*config.yml*) read_back maxtext config.yml || status=1 ;;
*partition.py*) read_back deepspeed-pipeline args.sh || status=1 ;;
*args.sh*) read_back "$(sed -nE 's/^# args.sh - .*(MindSpeed).*/mindspeed/p' "$scratch/made/args.sh" | grep . || echo megatron)" args.sh || status=1 ;;
esac
exit $status
