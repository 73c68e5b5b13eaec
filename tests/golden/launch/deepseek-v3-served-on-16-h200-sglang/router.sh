#!/usr/bin/env bash
# router.sh - sends each request to a prefill worker, then to a decode worker
# deepseek-v3 on dgx-h200: 1 prefill worker of tp 8, pp 1, ep 8, dp_attention 1; weights fp8_block, cache fp8
# for requests of 4096 input and 512 output tokens on average
# To edit: the checkpoint, the longest request, hosts and ports.
set -euo pipefail
prefill=() decode=()
for ((i = 0; i < 1; i++)); do
    port=$((8000 + i))
    prefill+=(--prefill "http://${PREFILL_HOST:-localhost}:$port" "$((port + 500))")
done
for ((i = 0; i < 1; i++)); do
    decode+=(--decode "http://${DECODE_HOST:-localhost}:$((9000 + i))")
done
exec python3 -m sglang_router.launch_router --pd-disaggregation \
    "${prefill[@]}" "${decode[@]}" --host 0.0.0.0 --port "${PORT:-30000}"
