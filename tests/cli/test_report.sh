#!/bin/bash
# test_report.sh PLAIT - pages as documents: formats, equal numbers in each, errors
set -u
export OMP_NUM_THREADS=1 # threads that wait for a busy machine cost time

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp docs/accuracy.html "$scratch/shipped.html"
cp tests/validation/runs.csv "$scratch"
cd "$scratch" || exit 1
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

refused() { # refused TEXT ARGUMENTS...: one line with TEXT, and status 2
    local said status
    said=$("$plait" "${@:2}" 2>&1)
    status=$?
    [[ $status == 2 && $said == *"$1"* && $(wc -l <<<"$said") == 1 ]] ||
        complain "${*:2}: status $status, '$said', expected '$1'"
}

"$plait" capacity llama-3.1-8b dgx-h100 --serve --input 1024 --output-tokens 128 --rate 5 --json >fleet.json
refused 'found one of plait capacity, which writes its page itself' report fleet.json -o fleet.html
[ ! -e fleet.html ] || complain "a page of nothing"

"$plait" search llama-3.1-8b dgx-h100 --gpus 16 --seq 8k --gbs 64 --threads 2 -o plans.json >/dev/null || complain "search fails"
for form in html md csv json; do
    "$plait" report plans.json -o "page.$form" || complain "no .$form"
done
"$plait" report plans.json --threads 2 -o again.html && cmp page.html again.html || complain "other bytes the second time"
"$plait" report plans.json --no-alternatives -o brief.json && grep -q '"others"' page.json && ! grep -q '"others"' brief.json ||
    complain "--no-alternatives does not leave out the alternatives, or they were missing before"
grep -q '"command": "plait search llama-3.1-8b dgx-h100 --gpus 16 --seq 8k --gbs 64"' plans.json ||
    complain "the command is told as $(grep '"command"' plans.json)"

# The page has the numbers of the file of plans, in every format.
python3 - <<'END_PYTHON' || complain "the forms differ"
import csv, json, re, sys

plans = json.load(open("plans.json"))
page = json.load(open("page.json"))
html = open("page.html").read()
slot = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S).group(1))
assert slot == page, "the slot of the HTML is not the JSON"

def column(table, key):
    at = [c["key"] for c in page["tables"][table]["columns"]].index(key)
    return [row[at] for row in page["tables"][table]["rows"]]

steps = [plan["step_s"] for plan in plans["plans"]]
assert column("ranking", "step_s") == steps, "steps"
rows = list(csv.DictReader(open("page.csv")))
assert [float(row["step_s"]) for row in rows] == steps, "steps of the CSV"
front = [point["step_s"] for point in plans["front"]]
assert column("pareto", "step_s") == front, "front"
first = plans["plans"][0]
terms = sum(s for r, s in zip(column("terms", "rank"), column("terms", "seconds")) if r == 1)
assert abs(terms / first["step_s"] - 1) < 1e-12, "terms do not sum to the step"
assert abs(sum(column("memory", "bytes")) / first["memory"]["peak_bytes"] - 1) < 1e-12, "memory"
# Bytes over rings: every rank of one stage sends the same amount.
sent = {}
for source, amount in zip(column("traffic", "from"), column("traffic", "bytes")):
    sent[source] = sent.get(source, 0) + amount
assert len(sent) == 16 and max(sent.values()) < 1.001 * min(sent.values()), sent
assert sorted(column("placement", "rank")) == list(range(16)), "placement"
stage = [c for c in column("placement", "stage")]
assert max(stage) == first["pp"] - 1, "stages"
why = dict(zip(column("others", "asked"), column("others", "step_s")))
assert why and all(s is None or s >= 0.999 * first["step_s"] for s in why.values()), why
# Each format has the answer and its assumptions; step, MFU and memory precede the keys.
step, low, high = (f"{first[key]:.2f} s" for key in ("step_s", "step_low_s", "step_high_s"))
assert page["answer"].startswith("Run llama-3.1-8b on 16 GPUs of dgx-h100 with tp ") and step in page["answer"], page["answer"]
figures = {figure["title"]: (figure["value"], figure["note"]) for figure in page["figures"]}
assert figures["step time"] == (step, f"80 % band: {low} to {high}"), figures
assert figures["MFU"] == (f"{100 * first['mfu']:.1f} %", "of 989 TFLOP/s bf16 dense"), figures
assert figures["memory of the fullest GPU"][0] == f"{first['memory']['peak_bytes'] / 2**30:.1f} GiB", figures
assumed = {entry["what"]: entry["text"] for entry in page["assumptions"]}
for what, text in (("precision", "bf16"), ("runtime", "megatron, the newest release"), ("MFU", "of 989 TFLOP/s bf16 dense"),
                   ("FLOPs", "causal attention halved"), ("risk", "5 %"), ("note", "defaults, not measured"),
                   ("price", "2.95 USD per GPU-hour of h100-80gb-sxm")):
    assert text in assumed[what], (what, assumed)
markdown = open("page.md").read().replace("\\", "")
for text in (page["answer"], *figures, *(value for value, note in figures.values()), *assumed.values()):
    assert text in html.replace("&quot;", '"').replace("&#39;", "'"), f"HTML lacks {text}"
    assert text in markdown, f"Markdown lacks {text}"
assert rows[0]["answer"] == page["answer"] and not rows[1]["answer"], rows[0]["answer"]
assert all(text in row["assumptions"] for row in rows for text in assumed.values()), rows[-1]["assumptions"]
assert list(rows[0])[:4] == ["rank", "step_s", "mfu", "memory_bytes"], list(rows[0])
lines = [line for line in open("page.md") if re.match(r"\| \d+ \|", line)]
assert len(lines) >= len(steps), "rows of the Markdown"
END_PYTHON

# Rings of ranks, compared with Megatron's order of ranks: shards inside, their replicas across, stages.
traffic() { # traffic EXPRESSION FLAGS...: of pairs {(from, to): bytes}
    "$plait" eval llama-3.1-8b dgx-h100 --seq 2k --mbs 1 --json "${@:2}" >ring.json
    "$plait" report ring.json -o ring-page.json >/dev/null
    python3 -c "
import json
rows = json.load(open('ring-page.json'))['tables']['traffic']['rows']
pairs = {(int(a), int(b)): bytes for a, b, bytes, *_ in rows}
assert $1, sorted(pairs)[:24]
" || complain "traffic of ${*:2}"
}
traffic '{(i, (i + 1) % 4) for i in range(4)} <= set(pairs) and (0, 4) in pairs and (0, 8) not in pairs' \
    --gpus 8 --gbs 8 --runtime fsdp --zero 3 --shard-group 4 --tp 1 --pp 1
traffic 'all((i, i + 1) in pairs for i in range(15)) and (0, 4) not in pairs' \
    --gpus 64 --gbs 64 --runtime fsdp --zero 3 --shard-group 16 --tp 1 --pp 1
traffic '(0, 4) in pairs and (4, 0) in pairs and (0, 1) in pairs' \
    --gpus 16 --gbs 2 --cp 8 --cp-comm a2a+p2p --tp 1 --pp 1
traffic 'abs(pairs[(0, 2)] / pairs[(6, 0)] - 2) < 1e-9 and (0, 4) not in pairs' \
    --gpus 8 --gbs 8 --tp 1 --pp 4 --vpp 2
traffic '(6, 0) not in pairs and (0, 2) in pairs' --gpus 8 --gbs 32 --tp 1 --pp 4 --schedule zb-v --vpp 2 --runtime torchtitan

# Pages without a pipeline, with one plan, and with a plan that does not fit.
"$plait" eval llama-3.1-8b dgx-h100 --gpus 8 --seq 4k --gbs 16 --tp 2 --json >one.json
"$plait" report one.json -o one.html || complain "no page of eval's plan"
"$plait" eval llama-3.1-8b dgx-h100 --gpus 1 --seq 8k --gbs 1 --json >none.json
"$plait" report none.json -o none.md || complain "no page of a plan that does not fit"
grep -q 'does not fit' none.md || complain "a plan that does not fit is not told as such"
"$plait" search llama-3.1-405b dgx-h100 --gpus 1 --seq 4k --gbs 1 --refine none -o nothing.json >/dev/null
"$plait" eval mixtral-8x7b dgx-h100 --gpus 64 --seq 4k --gbs 64 --tp 3 --json >odd.json
"$plait" report odd.json -o odd.csv && "$plait" report odd.json -o odd.md 2>odd.err || complain "no page of a plan that cannot run"
grep -q ' cannot run: ' odd.md || complain "a plan that cannot run is told as $(sed -n 3,8p odd.md)"
grep -q 'odd.json:.*: cannot run: tp 3 ' odd.err || complain "no warning of a plan that cannot run: $(cat odd.err)"
grep -qE 'dp 0|0 microbatches' odd.md && complain "numbers of a plan that cannot run: $(grep -m1 'dp 0' odd.md)"
grep -q '^1,,,,.*,,,,,invalid,' odd.csv || complain "a plan that cannot run has numbers: $(tail -1 odd.csv)"
cp plans.json kept.json
refused 'a file other than the input' report kept.json -o kept.json
cmp plans.json kept.json || complain "what is read is written over"
refused 'a file other than the input' validate runs.csv -o runs.csv
refused 'expected a plan' report nothing.json -o nothing.html

# Pages of a capacity and of measured runs.
"$plait" capacity llama-3.1-8b dgx-h100 --gpus 32..128 --tokens 1T --seq 8k --gbs 256 --deadline 20d \
    --refine none --json -o capacity.csv >capacity.json || complain "capacity -o .csv fails"
"$plait" capacity llama-3.1-8b dgx-h100 --gpus 32..128 --tokens 1T --seq 8k --gbs 256 --deadline 20d \
    --refine none -o capacity.html >/dev/null || complain "capacity -o .html fails"
"$plait" capacity llama-3.1-8b dgx-h100,dgx-b200 --gpus 32..64 --tokens 1T --seq 8k --gbs 256 --runs 0 \
    --refine none --price dgx-h100=2.2 -o several.csv >/dev/null || complain "capacity of two clusters fails"
python3 - <<'END_PYTHON' || complain "the page of a capacity says something else"
import csv, json
answer, rows = json.load(open("capacity.json")), list(csv.DictReader(open("capacity.csv")))
assert [int(row["gpus"]) for row in rows] == [row["gpus"] for row in answer["rows"]]
assert list(rows[0])[:5] == ["cluster", "gpus", "step_s", "mfu", "memory_bytes"], list(rows[0])
chosen = answer["rows"][1]
assert chosen["gpus"] == 64
sentence = f"Train llama-3.1-8b on 1.00 T tokens with 64 GPUs of dgx-h100: it takes {chosen['days']:.1f} days and costs"
html = open("capacity.html").read()
for text in (rows[0]["answer"], sentence, ">64</dd>", f"{chosen['days']:.1f} days</dd>", "2.95 USD per GPU-hour"):
    assert text in html, text
assert all("of 989 TFLOP/s bf16 dense" in row["assumptions"] and "deadline 20.0 d" in row["assumptions"] for row in rows)
several = list(csv.DictReader(open("several.csv")))[0]["assumptions"].split(" | ")
for what in "989 TFLOP/s bf16 dense (h100-80gb-sxm)", "2.25 PFLOP/s bf16 dense (b200-180gb-sxm)", "2.2 USD per GPU hour (--price)", "dgx-b200: 5.5 USD per GPU hour (b200-180gb-sxm":
    assert sum(what in entry for entry in several) == 1, (what, several)
for row, told in zip(answer["rows"], rows):
    assert abs(float(told["wall_s"]) / 86400 / row["days"] - 1) < 1e-9, (row, told)
END_PYTHON
# A search writes the same page directly, also with the band of natural routing.
ask=(search deepseek-v2-lite dgx-h100 --gpus 8 --seq 2k --gbs 8 --top 2 --imbalance natural --refine none --runtime torchtitan)
"$plait" "${ask[@]}" -o apart.json >/dev/null && "$plait" report apart.json -o apart.md >/dev/null || complain "no page of natural routing"
"$plait" "${ask[@]}" -o at-once.MD >/dev/null
cmp apart.md at-once.MD || complain "a search writes another page than report"
"$plait" search llama-3.1-405b dgx-h100 --gpus 1 --seq 4k --gbs 1 --refine none -o unfit.html >/dev/null 2>said
[[ $? == 1 && ! -e unfit.html ]] && grep -q 'unfit.html: not written, since no plan fits' said ||
    complain "a page of a search that finds nothing: $(cat said)"

# Pages of a deployment, and of a capacity without an answer.
"$plait" serve llama-3.1-8b dgx-h100 --gpus ..4 --input 1024 --output-tokens 128 --rate 2 --requests 50 -o served.json >/dev/null
for form in html md csv json; do "$plait" report served.json -o "served-page.$form" >/dev/null || complain "no .$form of a deployment"; done
unloaded=(serve llama-3.1-8b dgx-h100 --gpus 1 --engine vllm --input 1024 --output-tokens 128)
"$plait" "${unloaded[@]}" --concurrency 16 -o closed.json >/dev/null && "$plait" report closed.json -o closed-page.json >/dev/null
"$plait" "${unloaded[@]}" -o free.json >/dev/null && "$plait" report free.json -o free-page.json >/dev/null
python3 - <<'END_PYTHON' || complain "the page of a deployment says something else"
import csv, json
first, page = json.load(open("served.json"))["plans"][0], json.load(open("served-page.json"))
assert page["answer"].startswith("Serve llama-3.1-8b on ") and f"{first['ttft_ms']:.1f}"[:3] in page["answer"], page["answer"]
assert [figure["title"].split(",")[0] for figure in page["figures"]] == ["TTFT", "TPOT", "output tokens/s"], page["figures"]
assert {"precision", "runtime", "load", "bands", "price"} <= {entry["what"] for entry in page["assumptions"]}, page["assumptions"]
assert "requests arrive at random (Poisson), 2 per second" in [entry["text"] for entry in page["assumptions"]], page["assumptions"]
loads = [entry["text"] for name in ("closed", "free") for entry in json.load(open(name + "-page.json"))["assumptions"] if entry["what"] == "load"]
assert len(loads) == 2 and loads[0] == "16 requests in flight at all times" and loads[1].startswith("no load was set: "), loads
rows = list(csv.DictReader(open("served-page.csv")))
assert list(rows[0])[:4] == ["rank", "ttft_s", "tpot_s", "out_tok_s"] and rows[0]["answer"] == page["answer"], rows[0]
for form in "html", "md":
    text = open("served-page." + form).read().replace("\\", "")
    assert page["answer"] in text and all(figure["value"] in text for figure in page["figures"]), form
    assert all(entry["text"] in text for entry in page["assumptions"]), form
END_PYTHON
"$plait" capacity llama-3.1-8b dgx-h100 --gpus 32 --tokens 9T --seq 8k --gbs 256 --deadline 1d --refine none \
    -o never.md >/dev/null
grep -q '^None of the searched numbers of GPUs .* within the deadline' never.md || complain "no answer is told as $(sed -n 3p never.md)"
"$plait" validate runs.csv -o accuracy.html >/dev/null || complain "validate -o fails"
slot() { sed -n '/<script type="application\/json" id="data">/,/<\/script>/p' "$1" | grep -v '"title": "Measured'; }
cmp <(slot accuracy.html) <(slot shipped.html) ||
    complain "docs/accuracy.html is not of this program: ./dev validate writes it"

refused 'expected a file that ends in .html' report plans.json -o page.pdf
refused 'expected a file such as report.html' report plans.json
refused 'expected a file of plans' report -o page.html
refused 'missing.json' report missing.json -o page.html
refused 'no/such/folder' report plans.json -o no/such/folder/page.html
refused 'expected a file that ends in .html' validate runs.csv -o accuracy.pdf
printf '{"plans": [' >torn.json
refused 'torn.json' report torn.json -o page.html

exit $((wrong > 0))
