#!/bin/bash
# test_capacity.sh PLAIT - the errors and exit statuses of capacity, and equal answers for any number of threads
set -u

plait=$(realpath "$1")
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

question=(llama-3.1-8b dgx-h100 --tokens 1T --seq 4096 --gbs 256 --refine none
    --limit recompute=none,cp=1)

refused() { # refused TEXT ARGUMENTS...: status 2, and one line that begins so
    local found status
    found=$("$plait" capacity "${question[@]}" "${@:2}" 2>&1)
    status=$?
    [[ $status -eq 2 && $found == "plait: $1"* && $found != *$'\n'* ]] ||
        complain "capacity ${*:2}: status $status: $found"
}

refused '--deadline: expected a time above 0' --gpus 8 --deadline 0
refused '--deadline: expected a time above 0' --gpus 8 --deadline -5d
refused '--deadline: expected a time above 0' --gpus 8 --deadline 60
refused '--budget: expected dollars above 0' --gpus 8 --budget 0
refused '--tokens: expected a number' --gpus 8 --tokens nan
refused '--gpus: expected numbers of GPUs as N, N,N,..., A..B or A..B:STEP' --gpus 16..8
refused '--gpus: expected numbers of GPUs as N, N,N' --gpus 8,,16
refused '--gpus: expected numbers of GPUs as N, N,N' --gpus 8..16:0
refused '--gpus: expected at most 256 numbers of GPUs' --gpus 8..8008:8
refused '--gbs: expected sequences as N, N,N' --gpus 8 --gbs 64,x
refused '--max-gbs: expected one batch of --gbs, which' --gpus 8 --gbs 256,512 --max-gbs 1024
refused '--gpus: expected whole nodes of 8 GPUs' --gpus 12
refused '--gpus: expected a number of GPUs' --deadline 5d
refused '--max-gbs: expected at least the 256' --gpus 8 --max-gbs 128
refused '--repeat: expected a number from 0 to 0.99' --gpus 8 --repeat 1
refused '--spares: expected a whole number' --gpus 8 --spares 1.5
found=$("$plait" capacity llama-3.1-8b dgx-h100 --serve --input 1024 --output-tokens 128 --rate 5 --spares 0 --availability 0.9 2>&1)
[[ $found == 'plait: --availability: expected --availability or --spares, found both'* ]] ||
    complain "spares and the share that they are to reach: $found"

"$plait" capacity llama-3.1-8b dgx-h100, --gpus 8 --tokens 1T --seq 4096 --gbs 256 2>&1 |
    grep -q '^plait: CLUSTER: expected names with one comma' || complain "an empty cluster is taken"

found=$("$plait" capacity llama-3.1-8b b300-288gb-sxm:1x8 --tokens 1T --seq 4096 --gbs 256 --budget 1M 2>&1)
[[ $found == 'plait: --budget: expected --price together with --budget, since b300-288gb-sxm has no price'* ]] ||
    complain "a budget without a price: $found"

# One cluster at two prices: numbers between its rows are searched at each price, and the cheaper one wins.
"$plait" capacity gpt-1.7b dgx-h100,dgx-h100 --tokens 10G --seq 2048 --gbs 48..48 --gpus 8..32 --deadline 0.19d \
    --price 3,2 --refine none --limit recompute=none,cp=1 --runs 0 --json | python3 -c '
import json, sys
a = json.load(sys.stdin)
found = [r["cost_usd"] for r in a["rows"] if r["gpus"] == 24]
assert len(found) == 2 and abs(found[0] / found[1] - 1.5) < 1e-6, found
best = a["rows"][a["cheapest"]]
assert best["cost_usd"] == a["rows"][a["smallest"]]["cost_usd"] == min(found), best
' || complain "one cluster at two prices"

# Several clusters need a price each: one price of two clusters would apply to both.
two=(capacity llama-3.1-8b dgx-h100,dgx-b200 --tokens 1T --seq 4096 --gbs 256 --gpus 16
    --refine none --limit recompute=none,cp=1,pp=1 --runs 0)
for price in 2.2 2.2,4,5 dgx-a100=2 dgx-h100=2,dgx-h100=3 2,dgx-h100=3; do
    found=$("$plait" "${two[@]}" --price "$price" 2>&1)
    [[ $? -eq 2 && $found == 'plait: --price: expected '* && $found != *$'\n'* ]] ||
        complain "--price $price of two clusters: $found"
done
for price in 2.2,4 dgx-b200=4,dgx-h100=2.2; do
    "$plait" "${two[@]}" --price "$price" --json | python3 -c '
import json, sys
a = json.load(sys.stdin)
found = [(c["name"], c["usd_per_gpu_hour"], c["price_source"], c["pue"]) for c in a["clusters"]]
assert found == [("dgx-h100", 2.2, "--price", 1.2), ("dgx-b200", 4, "--price", 1.2)], found
for row, price in zip(a["rows"], (2.2, 4)):
    gpus = row["gpus"] + 8 * row["goodput"]["spare_nodes"]
    assert abs(row["cost_usd"] / (price * gpus * row["days"] * 24) - 1) < 1e-9, row
    assert abs(row["power_mw"] * row["days"] * 24 / row["energy_mwh"] - 1) < 1e-9, row' ||
        complain "--price $price is not a price of each cluster"
done
"$plait" "${two[@]}" --price dgx-b200=4 |
    grep -q '^dgx-h100: 2.95 USD per GPU hour (h100-80gb-sxm: .*); PUE 1.2 (cluster file)$' ||
    complain "the price of the file is not said with its source"

# The smallest and the cheapest of a range are those of an enumeration of all its numbers and batches.
"$plait" capacity llama-3.1-8b b300-288gb-sxm:1x8 --tokens 1T --seq 4096 --gbs 256 --deadline 300d \
    --refine none --limit recompute=none,cp=1,pp=1 --runs 0 |
    grep -q '^b300-288gb-sxm:1x8: no price known, --price sets one; PUE 1.2 (default)$' ||
    complain "a cluster without a price has no answer"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
small=(capacity llama-3.1-8b dgx-h100 --tokens 1T --seq 8192 --refine none
    --limit recompute=none,cp=1,tp=..4,pp=..2 --runs 0 --json)
"$plait" "${small[@]}" --gpus 32..128:8 --gbs 256,264,272 --deadline 28d >"$folder/all.json"
"$plait" "${small[@]}" --gpus 32..128 --gbs 256 --deadline 28d >"$folder/range.json"
"$plait" "${small[@]}" --gpus 32..128 --gbs 256..272 --deadline 28d >"$folder/batches.json"
"$plait" "${small[@]}" --gpus 32..128 --gbs 256..256 --deadline 28d >"$folder/held.json"
python3 - "$folder" <<'END_PYTHON' || complain "a range is not searched wholly"
import json, sys

def load(name):
    return json.load(open(f"{sys.argv[1]}/{name}.json"))

def answers(document, gbs=(256, 264, 272)):
    rows = [r for r in document["rows"] if r["binds"] is None and r["gbs"] in gbs]
    smallest = min(rows, key=lambda r: (r["gpus"], r["days"]))
    cheapest = min(rows, key=lambda r: r["cost_usd"])
    return [(r["gpus"], r["gbs"], r["days"], r["cost_usd"]) for r in (smallest, cheapest)]

def said(document):
    rows = [document["rows"][document[k]] for k in ("smallest", "cheapest")]
    return [(r["gpus"], r["gbs"], r["days"], r["cost_usd"]) for r in rows]

every, found, held = load("all"), load("range"), load("held")
assert len(every["rows"]) == 39 and every["clusters"][0]["searched"] is None
assert said(every) == answers(every)
assert said(found) == answers(every), (said(found), answers(every))
assert said(found)[0][:2] == (48, 264)
assert said(held) == answers(every, (256,)), (said(held), answers(every, (256,)))
assert said(load("batches"))[0][0] == 48
searched = found["clusters"][0]["searched"]
assert (searched["numbers"], searched["whole"], searched["assumed"]) == (13, True, False)
assert found["clusters"][0]["batches"] == [256, 264, 272]
for r in found["rows"]:
    assert abs(r["steps"] * r["gbs"] * 8192 / 1e12 - 1) < 1e-4
END_PYTHON

# With many numbers an assumption excludes some: the smallest is still that of an enumeration.
batches=$(seq -s, 256 4 284)
many=(capacity llama-3.1-8b dgx-h100 --tokens 1T --seq 8192 --refine none
    --limit recompute=none,cp=1,tp=..4,pp=..8 --runs 0 --json --gbs "$batches" --deadline 16d)
"$plait" "${many[@]}" --gpus 32..256 >"$folder/range.json"
"$plait" "${many[@]}" --gpus 32..96:8 >"$folder/all.json"
python3 - "$folder" <<'END_PYTHON' || complain "an assumption rules out the smallest number"
import json, sys

def load(name):
    return json.load(open(f"{sys.argv[1]}/{name}.json"))

def answer(document, of):
    row = document["rows"][document[of]]
    return row["gpus"], row["gbs"], row["days"], row["cost_usd"]

every, found = load("all"), load("range")
searched = found["clusters"][0]["searched"]
assert searched["assumed"] and searched["whole"] and searched["searches"] < 40, searched
assert answer(found, "smallest") == answer(every, "smallest"), answer(found, "smallest")
# savings below 1 % do not count under the assumption
assert answer(found, "cheapest")[3] <= answer(every, "cheapest")[3] / 0.99
END_PYTHON

# A bound of the only plan of a ranking may exceed its price in the last digit.
rounded=(gpt-oss-20b h800 --seq 16384 --gbs 104 --gpus 16 --refine none --json)
"$plait" capacity "${rounded[@]}" --tokens 100G --price 2 >"$folder/capacity.json"
"$plait" search "${rounded[@]}" >"$folder/search.json"
python3 - "$folder" <<'END_PYTHON' || complain "rounding hides the best plan from capacity"
import json, sys

row, = json.load(open(f"{sys.argv[1]}/capacity.json"))["rows"]
assert row["fits"] and row["step_s"] == json.load(open(f"{sys.argv[1]}/search.json"))["plans"][0]["step_s"]
END_PYTHON

# A number between the rows has the plan that search prints for it, also if only more GPUs are a rack.
rack=(gemma-2-2b tpu-v5p --seq 1024 --gbs 32 --runtime fsdp --refine none --json)
"$plait" capacity "${rack[@]}" --gbs 32..32 --gpus 12..20 --tokens 1G --price 2 >"$folder/capacity.json"
"$plait" search "${rack[@]}" --gpus 16 >"$folder/search.json"
python3 - "$folder" <<'END_PYTHON' || complain "a row between others has another plan than its search"
import json, sys

rows = [r for r in json.load(open(f"{sys.argv[1]}/capacity.json"))["rows"] if r["gpus"] == 16]
best = json.load(open(f"{sys.argv[1]}/search.json"))["plans"][0]
assert [(r["between"], r["step_s"]) for r in rows] == [(True, best["step_s"])], (rows, best["step_s"])
END_PYTHON

text=$("$plait" "${small[@]:0:13}" --gpus 32..128 --gbs 256 --deadline 28d)
grep -q '^smallest within the deadline: 48 GPUs of dgx-h100 with a batch of 264, ' <<<"$text" ||
    complain "the smallest is not that of the range: $text"
grep -q '^searched on dgx-h100: 13 numbers of GPUs in whole nodes from 32 to 128; ' <<<"$text" ||
    complain "what was searched is not said"
grep -q '^dgx-h100 .* ~[0-9.]* k .* -$' <<<"$text" && grep -q '^~ within .* of the USD of the cheapest' <<<"$text" ||
    complain "numbers that measured runs cannot tell apart have no mark"
"$plait" capacity "${question[@]}" --gpus 16,32 --deadline 90d |
    grep -q '^cheapest within the deadline among the requested numbers: ' || complain "a list is called a whole"

fleet=(capacity gpt2 dgx-h100 --serve --rate 5)
cmp <("$plait" "${fleet[@]}" --input 512 --output-tokens 128 | grep -v '^next') <("$plait" "${fleet[@]}" --isl 512 --osl 128 | grep -v '^next') ||
    complain "--isl and --osl of a fleet differ from --input and --output-tokens"

"$plait" capacity "${question[@]}" --gpus 16 --deadline 1d >/dev/null
[ $? -eq 1 ] || complain "a deadline that nothing meets does not end with 1"

for threads in 1 2 5; do
    OMP_NUM_THREADS=$threads "$plait" capacity "${question[@]}" --gpus 16..32 --json | md5sum
done | uniq | wc -l | grep -qx 1 || complain "the document depends on the threads"

echo "$wrong wrong"
[ $wrong -eq 0 ]
