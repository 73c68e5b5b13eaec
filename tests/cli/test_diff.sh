#!/bin/bash
# test_diff.sh PLAIT - differences of answers, models, clusters, runtimes and accuracies
set -u

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
head -n 60 tests/validation/runs.csv >"$scratch/runs.csv"
cp models/llama-3.1-8b.json models/llama-3.1-70b.json clusters/dgx-h100.json "$scratch"
cd "$scratch" || exit 1
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

refused() { # refused TEXT ARGUMENTS...: one line with TEXT, and status 2
    local said status
    said=$("$plait" diff "${@:2}" 2>&1)
    status=$?
    [[ $status == 2 && $said == *"$1"* && $(wc -l <<<"$said") == 1 ]] ||
        complain "diff ${*:2}: status $status, '$said', expected '$1'"
}

search() { "$plait" search llama-3.1-8b dgx-h100 --seq 8k --refine none "$@" >/dev/null; }
search --gpus 16 --gbs 64 -o a.json
search --gpus 16 --gbs 64 --threads 1 -o again.json
search --gpus 16 --gbs 128 -o b.json
[ "$("$plait" diff a.json again.json)" == 'plans, from a.json to again.json: no difference' ] ||
    complain "two runs of a search differ: $("$plait" diff a.json again.json | head -5)"
[ "$("$plait" diff meta-llama/Llama-3.1-8B llama-3.1-8b)" == 'model, from meta-llama/Llama-3.1-8B to llama-3.1-8b: no difference' ] ||
    complain "the id on the Hub is another model: $("$plait" diff meta-llama/Llama-3.1-8B llama-3.1-8b 2>&1 | head -5)"
refused 'resolve/main/config.json' meta-llama/Llama-3.1-9B llama-3.1-8b
"$plait" diff a.json b.json >said || complain "diff fails"
"$plait" diff a.json b.json --exit-code >again && complain "--exit-code says that they are the same"
cmp said again || complain "--exit-code changes what is printed"
"$plait" diff a.json again.json --exit-code >again || complain "--exit-code of the same"
grep -qE '^/job/gbs +64 +128 +\+100\.0 %$' said || complain "the batch is not told"
grep -qE '^/plans/0/step_s +[0-9.]+ m?s +[0-9.]+ m?s +\+' said || complain "the step is not told"
"$plait" diff a.json b.json --json | python3 -c '
import json, sys
diff, a, b = json.load(sys.stdin), json.load(open("a.json")), json.load(open("b.json"))
told = {change["at"]: (change["a"], change["b"]) for change in diff["changes"]}
assert told["/plans/0/step_s"] == (a["plans"][0]["step_s"], b["plans"][0]["step_s"])
assert not any(at.endswith(("elapsed_s", "threads")) for at in told)
both = [row for row in diff["ranking"] if row["rank_a"] and row["rank_b"]]
assert [row["rank_b"] for row in diff["ranking"] if row["rank_b"]] == list(range(1, 11))
assert sorted(row["rank_a"] for row in diff["ranking"] if row["rank_a"]) == list(range(1, 11))
assert both, "no plan is in both"
for row in both:
    one, other = a["plans"][row["rank_a"] - 1], b["plans"][row["rank_b"] - 1]
    assert all(one[key] == other[key] == row["plan"][key] for key in ("tp", "pp", "dp", "mbs", "recompute")), row
    assert row["step_a_s"] == one["step_s"] and row["step_b_s"] == other["step_s"]
' || complain "--json says something else"

# Rows are matched by cluster and GPUs, not by position.
capacity() { "$plait" capacity llama-3.1-8b dgx-h100 --tokens 1T --seq 8k --gbs 128 --refine none "$@" --json; }
capacity --gpus 32..64 >one.json
capacity --gpus 64 --price 5 >two.json
"$plait" diff one.json two.json >said || complain "diff of capacities fails"
grep -qE '^/rows/dgx-h100 64/cost_usd ' said || complain "rows of a capacity are not matched"
grep -qE '^/rows/dgx-h100 32 +[0-9]+ members +-' said || complain "a row that is gone is not told"
grep -q '^/rows/dgx-h100 64/step_s' said && complain "a price changes the step"

"$plait" validate runs.csv --json >before.json
head -n 40 runs.csv >fewer.csv
"$plait" validate fewer.csv --json >after.json
"$plait" diff before.json after.json >said || complain "diff of accuracies fails"
grep -q '^/summary/' said || complain "the summary of an accuracy is not compared"

# Models are compared by meaning: a file with all defaults spelled out has no differences.
[[ "$("$plait" diff llama-3.1-8b llama-3.1-8b.json)" == *'no difference' ]] || complain "a copy of a model differs"
"$plait" diff llama-3.1-8b llama-3.1-70b | grep -qE '^before: 8\.03 B parameters.* after: 70\.6 B' || complain "parameters"
sed 's/"bandwidth_gb_per_s": 450/"bandwidth_gb_per_s": 300/' dgx-h100.json >slow.json
"$plait" diff dgx-h100 slow.json | grep -qE 'bandwidth_gb_per_s +450 +300 +-33\.3 %' || complain "a link of a cluster"
printf '{"name": "own", "levels": [{"name": "node", "kind": "switch", "gpus": null, "bandwidth_gb_per_s": 50,
    "latency_us": 3}], "groups": [{"nodes": 2, "gpus_per_node": 8, "accelerator": "%s"}]}' h100-80gb-sxm >own.json
sed 's/"gpus_per_node": 8/"gpus_per_node": 4/' own.json >less.json
"$plait" diff own.json less.json | grep -qE '^/groups/0/gpus_per_node +8 +4 ' || complain "groups of a cluster"
"$plait" diff a100-80gb-sxm h100-80gb-sxm | grep -qE '^/peak_tflops/bf16 +312 +989\.4 ' || complain "accelerators"
"$plait" diff megatron nanotron | grep -q '^/can/max_vpp' || complain "runtimes"

serve() {
    "$plait" serve llama-3.1-8b dgx-h100 --gpus 1 --input 1000 --output-tokens 100 --engine vllm --requests 200 "$@" >/dev/null
}
serve --rate 1 -o slow-serve.json
serve --rate 2 -o fast-serve.json
"$plait" diff slow-serve.json fast-serve.json | grep -qE '^/job/rate +1 +2 ' || complain "answers of serve"
"$plait" diff slow-serve.json slow-serve.json | grep -q 'no difference' || complain "an answer of serve and itself"

refused 'expected two files' a.json
refused 'expected a file of type plans like a.json, found type model' a.json llama-3.1-8b
refused 'no/such.json' a.json no/such.json
printf '{"plans": [], "job": 5' >torn.json
refused 'torn.json' a.json torn.json
printf '[1, 2]' >list.json
refused 'list.json' a.json list.json
python3 -c 'print("{\"summary\": {}, \"rows\": [" + ",".join("%d" % i for i in range(30000)) + "]}")' >long.json
refused 'expected at most 8000 elements' before.json long.json
python3 -c 'print("{\"summary\": " + "[" * 900 + "]" * 900 + ", \"rows\": []}")' >deep.json
python3 -c '
import json
for name in ("many", "more"):
    json.dump({"summary": {}, "rows": [{"id": "%s%d" % ("x" * 40, i), "step_s": len(name)} for i in range(8000)]},
              open(name + ".json", "w"))
'
"$plait" diff many.json more.json >said && grep -q ': no difference\|change' said || complain "thousands of named rows"
refused 'levels of nesting' deep.json before.json

exit $((wrong > 0))
