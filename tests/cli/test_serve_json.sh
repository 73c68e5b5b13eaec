#!/bin/bash
# test_serve_json.sh PLAIT - checks that docs/reference/json.md has every key of the documents of serve,
# and that their times are in milliseconds
set -u

plait=$(realpath "$1")
wrong=0

python3 - "$plait" <<'END' || wrong=1
import json, math, re, subprocess, sys

section = open("docs/reference/json.md").read().split("## `plait serve --json`\n")[1].split("\n## ")[0]
named = set(re.findall(r"`([a-z0-9_]+)`", section))
words = {"step_ms", "step_origin", "rejected"}  # members of these are sentences, not keys

def serve(*flags):
    said = subprocess.run([sys.argv[1], "serve", "qwen3-8b", "dgx-h100", "--gpus", "8", "--input", "1000",
                           "--output-tokens", "200", "--engine", "vllm", "--json", *flags], capture_output=True, text=True)
    assert said.returncode < 2, said.stderr
    return json.loads(said.stdout)

def keys(value):
    for inner in value if isinstance(value, list) else []:
        yield from keys(inner)
    for key, inner in value.items() if isinstance(value, dict) else []:
        yield key
        yield from keys(inner) if key not in words else []

one = ("--eval", "--concurrency", "8", "--speculate", "mtp:1,accept=0.5")
for flags in (("--rate", "2", "--ttft", "500ms"), one, (*one, "--gpus", "1", "--tp", "2"), ("--rate", "2", "--ttft", "1us")):
    document = serve(*flags)
    missing = set(keys(document)) - named
    assert not missing, f"{' '.join(flags)}: docs/reference/json.md lacks {sorted(missing)}"
    assert not [key for key in keys(document) if key.endswith("_s") and not key.endswith("tok_s")]

plan = serve(*one)["plans"][0]
assert math.isclose(plan["e2e_ms"], plan["ttft_ms"] + 199 * plan["tpot_ms"], rel_tol=0.01)
assert math.isclose(plan["concurrency"] / plan["out_tok_s"] * 200 * 1e3, plan["e2e_ms"], rel_tol=0.1), "not milliseconds"
END
exit $wrong
