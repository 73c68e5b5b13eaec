#!/bin/bash
# run.sh PLAIT NODE_MODULES [PICTURES] - pages of searches, capacities, an accuracy and a deployment in Chromium
#
# With PICTURES, a folder, two of them are drawn for the README: tests/pages/run.sh \
#     build/release/plait build/release/pages/charts.js.npm/node_modules docs/pages
# Status 77, skipped, where there is no Chromium or npm could not bundle the charts.
set -u

plait=$(realpath "$1") modules=$2 pictures=${3:--}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) &&
    command -v node >/dev/null && [ -d "$modules/puppeteer-core" ] || {
    echo "no Chromium, node or puppeteer-core: pages are not tested"
    exit 77
}
fail() {
    echo "$@"
    exit 1
}

# Names that would be markup where somebody forgot to escape them.
python3 - models/llama-3.1-8b.json "$scratch/odd.json" <<'END_PYTHON' || fail "no model"
import json, sys
model = json.load(open(sys.argv[1]))
model["name"] = "</script><script>console.error('in')</script><b>\"&"
json.dump(model, open(sys.argv[2], "w"))
END_PYTHON

cd "$scratch" || exit 1
"$plait" search llama-3.1-70b dgx-h100 --gpus 64 --seq 8k --gbs 128 -o dense.json >said &&
    "$plait" report dense.json -o search.html || fail "no page of a search"
"$plait" search deepseek-v2-lite dgx-h100 --gpus 128 --seq 4k --gbs 512 --fix pp=1 -o experts.json >said &&
    "$plait" report experts.json -o experts.html || fail "no page of experts"
"$plait" search odd.json dgx-h100 --gpus 16 --seq 4k --gbs 64 -o odd-plans.json >said &&
    "$plait" report odd-plans.json -o odd.html || fail "no page of an odd name"
"$plait" capacity llama-3.1-70b dgx-h100,dgx-b200 --gpus 128..2048 --tokens 2T --seq 8k --gbs 512 \
    --max-gbs 2048 --deadline 60d --price 2.5,2.5 --refine none -o capacity.html >said ||
    fail "no page of a capacity"
"$plait" serve llama-3.1-70b dgx-h100 --gpus ..32 --input 2k --output-tokens 256 --rate 10 --ttft 500ms --tpot 50ms \
    --requests 200 -o serve.json >said && "$plait" report serve.json -o serve.html || fail "no page of a deployment"
"$plait" capacity --serve llama-3.1-70b dgx-h100 --input 2k --output-tokens 256 --ttft 500ms --tpot 50ms \
    --rates 6,5,4,4,4,5,8,14,24,38,50,56,54,52,55,58,60,57,50,42,34,26,16,10 -o fleet.html >said ||
    fail "no page of a fleet"
cd "$OLDPWD" || exit 1
"$plait" validate tests/validation/runs.csv -o "$scratch/accuracy.html" >"$scratch/said" ||
    fail "no page of an accuracy"
node tests/pages/browse.mjs "$modules" "$chromium" "$pictures" \
    "$scratch"/{search,experts,odd,capacity,accuracy,serve,fleet}.html
