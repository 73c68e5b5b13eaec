#!/bin/bash
# test_serve.sh PLAIT - answers of plait serve agree with their simulations, and a failure names what would work
set -u

plait=$(realpath "$1")
wrong=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

complain() {
    echo "$@"
    wrong=1
}

serve() { # serve STATUS ARGUMENTS...
    local expected=$1 status
    shift
    "$plait" serve "$@" >"$folder/out" 2>"$folder/err"
    status=$?
    [ $status -eq "$expected" ] ||
        complain "serve $*: status $status, expected $expected: $(cat "$folder/err")"
}

says() {
    grep -qF -- "$1" "$folder/out" || complain "expected to read: $1, found: $(head -30 "$folder/out")"
}

# holds WHAT EXPRESSION: a Python expression over the document d is true
holds() {
    python3 -c "import json, sys; d = json.load(open('$folder/out')); sys.exit(not ($2))" ||
        complain "$1: not $2"
}

small=(llama-3.1-8b dgx-h100 --input 1024 --output-tokens 256)

# ---- settings of the engine ----

serve 0 "${small[@]}" --gpus 1 --concurrency 64 --engine vllm --weights bf16 --kv bf16 --json
tokens=$(python3 -c "import json; print(json.load(open('$folder/out'))['plans'][0]['workers']['aggregated']['kv_tokens'])")
serve 0 "${small[@]}" --gpus 1 --concurrency 64 --engine vllm --weights bf16 --kv bf16 --memory-fraction 0.6 \
    --max-num-seqs 16 --chunk 4k --json
holds "settings of a search" "all(p['memory_fraction'] == 0.6 and p['max_num_seqs'] == 16 and p['workers']['aggregated']['chunk_tokens'] == 4096 for p in d['plans'])"
holds "the room that a share leaves" "d['plans'][0]['workers']['aggregated']['kv_tokens'] < 0.6 * $tokens and d['plans'][0]['running'] <= 16"
serve 2 "${small[@]}" --gpus 1 --max-model-len 1024
grep -q -- "--max-model-len: expected at least 1280" "$folder/err" || complain "a request that is too long: $(cat "$folder/err")"
serve 2 "${small[@]}" --gpus 1 --memory-fraction 0

# ---- distributions of lengths ----

one=(llama-3.1-8b dgx-h100 --gpus 1 --eval --engine vllm --concurrency 8)
serve 0 "${one[@]}" --input 1000,400,2500,16000 --output-tokens 250 --json
holds "the quantiles" "abs(d['job']['lengths']['input']['p50'] - 400) < 4 and d['job']['lengths']['input']['max'] == 16000 and d['job']['lengths']['output']['max'] == 300"
holds "the longest prompts" "d['plans'][0]['ttft_p99_ms'] > 4 * d['plans'][0]['ttft_ms']"
printf 'timestamp,input,output\n0,100,10\n1,3900,390\n4,2000,200\n' >"$folder/trace.csv"
serve 0 "${one[@]}" --lengths "$folder/trace.csv" --json
holds "the means of a file" "d['job']['input'] == 2000 and d['job']['output'] == 200 and d['job']['lengths']['longest'] == 4290"
serve 0 llama-3.1-8b dgx-h100 --gpus 1 --eval --engine vllm --lengths "$folder/trace.csv" --json
holds "the rate of a file" "d['job']['rate'] == 0.5"
serve 0 "${one[@]}" --input 200 --output-tokens 100 --turns 5 --json
holds "the prompts of turns" "abs(d['job']['input'] / 800 - 1) < 0.01 and abs(d['job']['prefix_cached'] / 600 - 1) < 0.01"
hits=$(python3 -c "import json; print(json.load(open('$folder/out'))['plans'][0]['ttft_ms'])")
serve 0 "${one[@]}" --input 200 --output-tokens 100 --turns 5 --prefix-hit 0.25 --json
holds "a share of the prompts" "abs(d['job']['prefix_cached'] / 150 - 1) < 0.01 and d['plans'][0]['ttft_ms'] > $hits"
serve 2 "${one[@]}" --input 9000,400,2500,16000 --output-tokens 250
grep -q -- "--input: expected a mean from" "$folder/err" || complain "an impossible mean: $(cat "$folder/err")"
serve 2 "${one[@]}" --input 900,400,200,16000 --output-tokens 250
serve 2 "${one[@]}" --input 900 --lengths "$folder/trace.csv"
serve 2 "${one[@]}" --input 900 --output-tokens 100 --prefix-hit 0.5
serve 2 "${one[@]}" --lengths "$folder/out"

# ---- a cache in host memory ----

turns=("${one[@]}" --input 2000 --output-tokens 100 --turns 8 --prefix-hit 0.3)
serve 0 "${turns[@]}" --json
ttft=$(python3 -c "import json; print(json.load(open('$folder/out'))['plans'][0]['ttft_ms'])")
serve 0 "${turns[@]}" --cache-cpu 200 --json
holds "a cache in host memory" "d['plans'][0]['cache_cpu_gib'] == 200 and d['plans'][0]['ttft_ms'] < 0.9 * $ttft"
serve 2 "${turns[@]}" --cache-cpu 300
grep -q -- "--cache-cpu: expected at most 256 GiB" "$folder/err" || complain "host memory of a node: $(cat "$folder/err")"
serve 2 "${one[@]}" --input 2000 --output-tokens 100 --cache-cpu 200

# ---- LoRA adapters ----

serve 0 "${one[@]}" --input 1000 --output-tokens 100 --json
plain=$(python3 -c "import json; print(json.load(open('$folder/out'))['plans'][0]['tpot_ms'])")
serve 0 "${one[@]}" --input 1000 --output-tokens 100 --lora-adapters 8 --lora-rank 64 --json
holds "the time of adapters" "d['job']['lora'] == {'adapters': 8, 'rank': 64} and d['plans'][0]['tpot_ms'] > 1.05 * $plain"
serve 0 llama-3.1-8b dgx-h100 --gpus 1 --concurrency 8 --input 1000 --output-tokens 100 --lora-adapters 8 --json
holds "engines with adapters" "d['job']['lora']['rank'] == 16 and all(p['engine'] != 'trtllm' for p in d['plans'])"
serve 2 "${one[@]}" --input 1000 --output-tokens 100 --lora-rank 64

# ---- deployments that a simulation rejects ----

# The closed form meets this rate, but its simulation completes nine tenths of it.
over=(mixtral-8x7b dgx-h100 --gpus 8 --input 100 --output-tokens 400 --eval --engine sglang --tp 8 --ep 8 --rate 62)
serve 1 "${over[@]}"
says "The simulation misses a requirement: overloaded: 62 requests/s arrive"
serve 1 "${over[@]}" --json
holds "an overloaded deployment" "d['saturated'] and d['simulated']['saturated'] and d['simulated']['carried'] < 0.95 and 'complete' in d['why']"

# Five replicas are enough by the closed form; their simulation takes more than 50 ms a token.
serve 0 llama-3.1-70b dgx-h100 --gpus ..64 --input 2048 --output-tokens 256 --rate 20 --ttft 500ms \
    --tpot 50ms --weights fp8 --kv fp8 --engine trtllm --json
holds "a bound that a simulation misses" "d['search']['rejected']['overturned by the simulation'] > 0 and d['plans'][0]['simulated'] and d['simulated']['tpot_ms']['mean'] <= 50 and not d['saturated']"
holds "figures of the first plan" "d['plans'][0]['ttft_ms'] == d['simulated']['ttft_ms']['mean']"

# ---- the rate that the GPUs complete ----

serve 1 "${small[@]}" --gpus 1 --rate 200 --engine vllm
says "No deployment on 1 GPU sustains the load."
says "1 GPU sustains about"
says "200 requests/s need about"
serve 1 "${small[@]}" --gpus 1 --rate 200 --engine vllm --json
holds "what is carried" "d['saturated'] and 5 < d['reach']['rate'] < 100 and 2 <= d['reach']['gpus'] <= 40"
rate=$(python3 -c "import json; print(json.load(open('$folder/out'))['reach']['rate'])")
gpus=$(python3 -c "import json; print(json.load(open('$folder/out'))['reach']['gpus'])")
serve 0 "${small[@]}" --gpus 1 --rate "$rate" --engine vllm
serve 0 "${small[@]}" --gpus "$gpus" --rate 200 --engine vllm

# The rate is found for any requested rate, with nearly the same value.
serve 1 "${small[@]}" --gpus 1 --rate 1e9 --engine vllm --json
holds "a rate far below what is asked" "0.9 < d['reach']['rate'] / $rate < 1.11 and d['reach']['gpus'] is None"

# A prompt next to a decoding request violates this bound, so each needs a worker that is nearly idle: the ranking spends its
# budget on others, and copies of a deployment that serves a part of the rate are the answer.
serve 0 deepseek-v3 h200-141gb-sxm:4x8 --input 7461 --output-tokens 518 --tpot-p95 9ms --rate 0.0711 \
    --engine trtllm --tp 4 --json
holds "copies" "d['plans'][0]['simulated'] and d['plans'][0]['gpus'] <= 24 and d['simulated']['tpot_ms']['p95'] <= 9"
serve 1 llama-3.1-8b l40s-48gb:1x1 --input 4000 --output-tokens 400 --tpot-p95 12.5ms --rate 1 --engine vllm --tp 1
grep -q "about 0.00 " "$folder/out" && complain "a rate without digits: $(sed -n 5p "$folder/out")"

serve 1 "${small[@]}" --gpus 8 --rate 1 --tpot 1ms
says "No request rate is sustained within the bounds"
says "It meets --tpot 2."

# Answers with many steps simulate fewer requests.
serve 0 "${small[@]}" --gpus 1 --output-tokens 20k --rate 0.01 --engine vllm --eval --json
holds "long answers" "100 <= d['simulated']['requests'] < 2000"

# ---- bounds on percentiles ----

serve 0 "${small[@]}" --gpus 8 --rate 10 --ttft-p95 300ms --ttft-p99 400ms --tpot-p95 30ms \
    --tpot-p99 40ms --json
holds "bounds" "[d['job'][k] for k in ('ttft_p95_ms', 'ttft_p99_ms', 'tpot_p95_ms', 'tpot_p99_ms')] == [300, 400, 30, 40]"
holds "percentiles" "d['simulated']['tpot_ms']['p99'] <= 40 and d['simulated']['ttft_ms']['p95'] <= 300 and d['plans'][0]['tpot_p99_ms'] <= 40"
serve 1 "${small[@]}" --gpus 8 --rate 4 --eval --engine vllm --tp 1 --tpot-p99 5ms
says "p99 TPOT within 5.0 ms"
says "--tpot-p99 allows 5 ms"
serve 0 "${small[@]}" --gpus 8 --rate 4 --eval --engine vllm --tp 1 --tpot-p99 50ms
"$plait" capacity --serve "${small[@]}" --rate 10 --ttft-p99 10ms >"$folder/out" 2>&1
[ $? -eq 1 ] || complain "capacity --ttft-p99 10ms: expected status 1"
says "p99 TTFT within 10.0 ms"
says "meets --ttft-p99"

# ---- users, and GPUs without a load ----

serve 0 "${small[@]}" --gpus ..8 --rate 4 --engine vllm
says "tokens/s; --tpot TIME sets a bound"
says "The simulation confirms"
serve 0 "${small[@]}" --gpus ..32 --engine vllm --tp 4 --pp 1
says "One replica uses 4 of the 32 GPUs: 8 replicas use 32"
says "1 of 8"
says "Each row is one of the replicas"
serve 0 "${small[@]}" --gpus ..32 --engine vllm --tp 4 --pp 1 --json
holds "replicas that fit" "d['plans'][0]['replicas'] == 1 and d['plans'][0]['replicas_that_fit'] == 8"

# ---- engines ----

serve 0 llama-3.1-8b 8xmi300x --isl 1k --osl 200 --rate 2 --json
holds "an engine that does not run on the accelerator" "all(p['engine'] != 'trtllm' for p in d['plans'])"
serve 2 llama-3.1-8b 8xmi300x --isl 1k --osl 200 --rate 2 --engine trtllm
[ "$(cat "$folder/err")" = 'plait: --engine: expected an engine that runs on accelerators of AMD, found trtllm' ] ||
    complain "TensorRT-LLM on AMD: $(cat "$folder/err")"

exit $wrong
