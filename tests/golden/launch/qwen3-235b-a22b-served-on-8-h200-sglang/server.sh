#!/usr/bin/env bash
# server.sh - starts worker $1 (0 to 0)
# qwen3-235b-a22b on dgx-h200: 1 server worker of tp 8, pp 1, ep 8, dp_attention 1; weights fp8, cache bf16
# for requests of 4096 input and 1024 output tokens on average
# To edit: the checkpoint, the longest request, hosts and ports.
set -euo pipefail
worker=${1:-0}
PORT=$((8000 + worker))
args=(
# degrees
--tp-size 8
--ep-size 8

# batch, chunk, cache
--max-running-requests 432
--cuda-graph-max-bs 432
--chunked-prefill-size 8192
--context-length 10240
--mem-fraction-static 0.85
--kv-cache-dtype auto
--quantization fp8
--host 0.0.0.0
--port "$PORT"
)
exec python3 -m sglang.launch_server --model-path "${MODEL:-Qwen/Qwen3-235B-A22B}" "${args[@]}"
