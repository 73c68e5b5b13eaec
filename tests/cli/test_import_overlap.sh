#!/bin/bash
# test_import_overlap.sh PLAIT - scripts with and without --overlap-grad-reduce differ in dp_comm alone
set -u

plait=$(realpath "$1")
command -v python3 >/dev/null || exit 0
data=$PWD/tests/data/launch
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

price() { # price SCRIPT GPUS
    "$plait" import --from megatron "$data/$1.sh" --cluster dgx-h100 --gpus "$2" -o "$1.json" >/dev/null || return 1
    "$plait" eval --plan "$1.json" --json >"$1-$2.json"
}

for gpus in 8 64; do
    for script in dense_8b_dp1 dense_8b_dp1_overlap; do
        price "$script" "$gpus" || exit 1
    done
done
python3 - <<'END_OF_PYTHON'
import json


def load(script, gpus):
    with open(f"{script}-{gpus}.json", encoding="utf-8") as file:
        document = json.load(file)
    return document["job"]["runtime"], document["plans"][0]


for gpus in (8, 64):
    (software, waits), (software_too, hides) = load("dense_8b_dp1", gpus), load("dense_8b_dp1_overlap", gpus)
    assert software == software_too == "megatron", (software, software_too)
    assert (waits["grad_sync"], hides["grad_sync"]) == ("shifted", "bucketed")
    differ = {name for name in waits["time"] if waits["time"][name] != hides["time"][name]}
    if gpus == 8:
        assert waits["dp"] == 1 and waits["step_s"] == hides["step_s"] and not differ, differ
        assert waits["step_s"] > 1.0
    else:
        assert differ == {"dp_comm_s"} and waits["step_s"] > hides["step_s"], differ
END_OF_PYTHON
