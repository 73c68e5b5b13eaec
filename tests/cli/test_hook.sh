#!/bin/bash
# test_hook.sh PLAIT - the check of launch configs: the hook of pre-commit and the action run it
set -u
cd "$(dirname "$0")/../.." || exit 1

PLAIT=$(realpath "$1")
export PLAIT
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() { echo "$*"; wrong=1; }

expect() { # expect STATUS TEXT ARGUMENT...
    local wanted=$1 text=$2 status
    shift 2
    # shellcheck disable=SC2086  # the entry may have arguments
    $entry "$@" >"$scratch/out" 2>&1
    status=$?
    [ $status -eq "$wanted" ] || complain "$*: expected status $wanted, found $status: $(cat "$scratch/out")"
    grep -qF -- "$text" "$scratch/out" || complain "$*: expected \"$text\", found $(cat "$scratch/out")"
}

python3 - "$scratch/entry" "$scratch/step.sh" <<'END' || complain "the YAML files cannot be read"
import sys
import yaml
hook, = yaml.safe_load(open(".pre-commit-hooks.yaml"))
assert hook["language"] == "script"
open(sys.argv[1], "w").write(hook["entry"])
action = yaml.safe_load(open("action.yml"))
assert action["runs"]["using"] == "composite"
for step in action["runs"]["steps"]:
    assert step["shell"] == "bash"
open(sys.argv[2], "w").write(action["runs"]["steps"][-1]["run"])
END
entry=$(cat "$scratch/entry")
readonly entry
titan=tests/data/launch/torchtitan_8b.toml

expect 0 'step 6.' --from torchtitan --cluster dgx-h100 --gpus 64 --gbs=128 $titan
expect 0 '2 configs, 0 wrong' --from megatron tests/data/launch/pretrain_13b.sh tests/data/launch/dense_8b_dp1.sh
expect 1 '1 configs, 1 wrong' --from torchtitan --cluster rtx-4090-24gb:1x1 --gpus 1 --gbs 128 $titan
expect 1 '2 configs, 1 wrong' --from torchtitan $titan no-such-file.toml
expect 0 'plait serve' --from vllm --cluster dgx-h100 tests/schema/server.sh
expect 2 'expected a value' --from
PLAIT=no-such-program expect 3 'expected plait on the path' $titan

# The last step of the action, with the words that GitHub puts into its environment.
FILES='tests/data/launch/*.toml' FROM=torchtitan CLUSTER=dgx-h100 GPUS=64 OPTIONS='--gbs 128' CHECK=./$entry \
    bash -e "$scratch/step.sh" >"$scratch/out" 2>&1 || complain "the step of the action fails: $(cat "$scratch/out")"
grep -qF '1 configs, 0 wrong' "$scratch/out" || complain "the step of the action: $(cat "$scratch/out")"
exit $wrong
