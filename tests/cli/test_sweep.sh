#!/bin/bash
# test_sweep.sh PLAIT - sweeps: the same bytes by one process, shards, threads, MPI, and after a kill
set -u

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp models/llama-3.1-8b.json "$scratch/own.json"
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

cat >s.json <<'END_JSON'
{"name": "a fleet", "defaults": {"seq": "4k", "gbs": 64, "fix": "pp=1"},
 "scenarios": [
    {"model": ["llama-3.1-8b", "own.json"], "cluster": "dgx-h100", "gpus": [8, 16],
     "tokens": ["1T", "2T"], "price": [2, 3.5], "deadline": ["10d", "1000d"]},
    {"model": "nonesuch", "cluster": "dgx-h100", "gpus": 8},
    {"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 8, "risk": "much"},
    {"model": "llama-3.1-405b", "cluster": "h100-80gb-sxm:1x8", "limit": "tp=..8"},
    {"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": [7, 12], "async_checkpoint": true, "tokens": 1e9},
    {"model": "llama-3.1-8b", "cluster": "dgx-h100"},
    {"model": "llama-3.1-8b", "cluster": "tpu-v5p", "gpus": 8, "budget": "1k", "tokens": "1G", "runtime": "maxtext"}
 ]}
END_JSON

"$plait" sweep s.json -o all.jsonl 2>said || complain "sweep fails: $(cat said)"
[ "$(wc -l <all.jsonl)" == 39 ] || complain "$(wc -l <all.jsonl) lines"
python3 - <<'END_PYTHON' || complain "lines say something else"
import json
lines = [json.loads(line) for line in open("all.jsonl")]
assert [line["index"] for line in lines] == list(range(39))
assert all(line["of"] == 39 and line["sweep"] == lines[0]["sweep"] for line in lines)
first = lines[:32]
# The last list varies fastest; a path is relative to the file; scenarios that differ in money alone have one plan.
assert [line["scenario"]["deadline"] for line in first[:4]] == ["10d", "1000d"] * 2
assert first[0]["step_s"] == first[16]["step_s"], "a copy of the model"
assert first[0]["cost_usd"] * 1.75 - first[2]["cost_usd"] < 1e-6 * first[2]["cost_usd"]
assert abs(first[4]["days"] / first[0]["days"] - 2) < 1e-3, "twice the tokens"
assert first[0]["binds"] == "deadline" and first[1]["binds"] is None
assert "nonesuch" in lines[32]["error"] and "risk: expected" in lines[33]["error"], lines[33]
assert lines[34]["verdict"] == "out_of_memory" and "smallest needs" in lines[34]["why"]
assert "error" in lines[37] and "gpus" in lines[37]["error"]
END_PYTHON
grep -q 'scenario 32: nonesuch: expected' said || complain "a bad scenario is told as: $(cat said)"
grep -q 'scenarios\? of 39 failed' said || complain "how many is told as: $(tail -1 said)"

# Scenarios that differ in the balance of experts have different plans.
cat >balance.json <<'END_JSON'
{"name": "balance", "scenarios": [{"model": "qwen3-30b-a3b", "cluster": "dgx-h100", "gpus": 16, "seq": "4k", "gbs": 64,
  "fix": "tp=1,pp=1,ep=16,mbs=1", "imbalance": [1, 3]}]}
END_JSON
"$plait" sweep balance.json -o balance.jsonl 2>said || complain "a sweep over balances fails: $(cat said)"
python3 - <<'END_PYTHON' || complain "scenarios with different balances have the same step"
import json
steps = [json.loads(line)["step_s"] for line in open("balance.jsonl")]
assert steps[1] > 1.05 * steps[0], steps
END_PYTHON

# A line of a sweep has the numbers that capacity gives for the same scenario.
"$plait" capacity llama-3.1-8b dgx-h100 --gpus 16 --seq 4k --gbs 64 --tokens 2T --price 3.5 --runs 0 \
    --limit pp=1 --refine none --json >alone.json
python3 -c '
import json
alone = json.load(open("alone.json"))["rows"][0]
line = json.loads(open("all.jsonl").readlines()[15])
for key in ("step_s", "days", "days_low", "cost_usd", "plan"):
    assert line[key] == alone[key], (key, line[key], alone[key])
' || complain "capacity and sweep differ"

"$plait" sweep s.json --threads 1 2>/dev/null | cmp - all.jsonl || complain "one thread has other bytes"
for k in 1 2 3 4 5; do "$plait" sweep s.json --shard $k/5 -o "part$k.jsonl" 2>/dev/null; done
"$plait" merge part5.jsonl part1.jsonl part3.jsonl part2.jsonl part4.jsonl part1.jsonl -o merged.jsonl ||
    complain "merge fails"
cmp merged.jsonl all.jsonl || complain "merged parts have other bytes"
"$plait" merge part1.jsonl part3.jsonl part4.jsonl part5.jsonl -o less.jsonl >said
[[ $? == 1 && ! -e less.jsonl && $(cat said) == *"8 of 39 scenarios are missing: 7 to 14"* ]] ||
    complain "a missing part: $(cat said)"

# After a kill at any moment and a tear at any byte, the final bytes are the same.
for byte in 0 1 400 5000 20011 "$(($(wc -c <all.jsonl) - 1))"; do
    head -c "$byte" all.jsonl >torn.jsonl
    "$plait" sweep s.json -o torn.jsonl 2>/dev/null && cmp torn.jsonl all.jsonl ||
        complain "torn at byte $byte it does not become whole"
done
# Blocks are written one by one, so that each moment has another number of lines.
printf '{"scenarios": [{"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 8, "seq": 4096, "gbs": 8,
  "fix": "pp=1", "tokens": "1T", "price": [%s]}]}' "$(seq -s, 1 1600)" >long.json
"$plait" sweep long.json -o long.jsonl || complain "a long sweep fails"
some=0
for part in 1 2 3 4 5; do
    rm -f killed.jsonl
    "$plait" sweep long.json -o killed.jsonl &
    # Wait for a number of lines, however slow the machine is, then kill.
    while kill -0 $! 2>/dev/null; do
        [[ -e killed.jsonl && $(wc -l <killed.jsonl) -ge $((part * 256)) ]] && break
        sleep 0.005
    done
    { kill -9 $! && wait $!; } 2>/dev/null
    found=$(wc -l <killed.jsonl)
    [[ $found -gt 0 && $found -lt 1600 ]] && some=$((some + 1))
    "$plait" sweep long.json -o killed.jsonl 2>/dev/null && cmp killed.jsonl long.jsonl ||
        complain "killed after $found lines it does not become whole"
done
[ $some -gt 0 ] || complain "no run was killed in between"

# The jobs of the array, run one by one.
"$plait" sweep s.json --sbatch array.sbatch --shards 3 || complain "no script"
mkdir bin && ln -s "$plait" bin/plait
for task in 1 2 3; do
    PATH="$scratch/bin:$PATH" SLURM_ARRAY_TASK_ID=$task SLURM_CPUS_PER_TASK=2 bash array.sbatch 2>/dev/null ||
        complain "job $task fails"
done
"$plait" merge part-[123].jsonl | cmp - all.jsonl || complain "the array has other bytes"
if command -v shellcheck >/dev/null; then shellcheck array.sbatch || complain "array.sbatch"; fi

if [ -x "$(dirname "$plait")/plait-mpi" ] && command -v mpirun >/dev/null; then
    for ranks in 1 3; do
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n $ranks \
            "$(dirname "$plait")/plait-mpi" sweep s.json -o mpi$ranks.jsonl 2>/dev/null
        cmp mpi$ranks.jsonl all.jsonl || complain "$ranks ranks have other bytes"
    done
fi

printf '{"scenarios": [{"model": "a", "cluster": "b", "seq": %s}]}' \
    "[$(seq -s, 1 4000)], \"gbs\": [$(seq -s, 1 4000)]" >many.json
printf '{"scenarios": []}' >none.json
printf '{"scenarios": [{"model": []}]}' >empty.json
printf '{"scenarios": [{"model": {"a": 1}}]}' >object.json
printf '{"scenario": [{"model": "x"}]}' >misspelt.json
printf '{"scenarios": [{"model": "llama-3.1-8b", "clu' >torn.json
sed 's/4k/8k/' s.json >other.json
refused 'expected at most 10000000 scenarios' sweep many.json
refused 'expected at least one scenario' sweep none.json
refused '/scenarios/0/model: expected at least one value' sweep empty.json
refused 'or a list of them, found an object' sweep object.json
# An unknown key is found before anything is searched.
for key in strategy:'the key refine (none for exhaustive, layouts for dp, stages for milp, all for auto), found "strategy"' gpu:'the key "gpus", found "gpu"' zzzz:'a key that docs/reference/files/scenarios.md lists, found "zzzz"'; do
    printf '{"scenarios": [{"model": "llama-3.1-8b"}, {"%s": 8}]}' "${key%%:*}" >key.json
    refused "key.json:/scenarios/1/${key%%:*}: expected ${key#*:}" sweep key.json
    printf '{"defaults": {"%s": 8}, "scenarios": [{}]}' "${key%%:*}" >key.json
    refused "key.json:/defaults/${key%%:*}: expected ${key#*:}" sweep key.json
done
printf '{"scenarios": [{"node_loss": 8, "node-loss": 16}]}' >twice.json
refused '/scenarios/0/node-loss: expected the key once, found it twice' sweep twice.json
refused 'expected the key "scenarios"' sweep misspelt.json
refused 'torn.json' sweep torn.json
refused 'K/N' sweep s.json --shard 4/3
refused 'K/N' sweep s.json --shard x
refused 'expected lines of this sweep' sweep other.json -o all.jsonl
refused 'expected lines of this sweep' sweep s.json --shard 2/5 -o part1.jsonl
refused 'expected a line of sweep ' merge part1.jsonl <("$plait" sweep other.json --shard 1/20 2>/dev/null)
refused 'expected a line that `plait sweep` wrote' merge s.json
printf '{"sweep": "0123456789abcdef", "index": 0, "of": 9223372036854775807, "model": 1}\n' >most.jsonl
refused 'expected a line that `plait sweep` wrote' merge most.jsonl
refused 'found a truncated one' merge <(head -c 500 part1.jsonl)
refused 'found a different one' merge part1.jsonl <(sed 's/"step_s": [0-9]/"step_s": 77/' part1.jsonl)
sed 's/"step_s": [0-9]/"step_s": 77/' part1.jsonl >changed.jsonl
refused 'found a different one' merge part1.jsonl changed.jsonl
refused 'No such file' merge nowhere.jsonl
# Two sweeps with the same texts in other lists are different sweeps.
printf '{"scenarios": [{"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 8, "seq": "4k", "gbs": 64}, {"model": "llama-3.1-8b", "cluster": "dgx-h100"}]}' >one.json
printf '{"scenarios": [{"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 8, "seq": "4k"}, {"gbs": 64, "model": "llama-3.1-8b", "cluster": "dgx-h100"}]}' >two.json
digest() { "$plait" sweep "$1" 2>/dev/null | head -1 | cut -d'"' -f4; }
[ "$(digest one.json)" != "$(digest two.json)" ] || complain "two sweeps have one digest"
# A file of another sweep is not overwritten, nor is the file that is read.
printf 'notes without an end' >notes
refused 'expected lines of this sweep' sweep s.json -o notes
[ "$(cat notes)" == 'notes without an end' ] || complain "notes are gone"
refused 'a file other than the input' sweep s.json --sbatch s.json
refused 'a file other than the input' sweep s.json -o s.json
refused 'a file other than the input' merge part1.jsonl part2.jsonl part3.jsonl part4.jsonl part5.jsonl -o part3.jsonl
timeout 20 "$plait" sweep s.json -o /dev/full >said 2>&1
[[ $? == [23] ]] || complain "a full device: $(cat said)"
printf '{"scenarios": [{"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 8, "seq": 4096, "gbs": 8, "deadline": "3d"}]}' >run.json
"$plait" sweep run.json 2>/dev/null | grep -q '"error": "tokens: expected' || complain "a deadline without tokens"

exit $((wrong > 0))
