#!/usr/bin/env bash
# server.sh - starts worker $1 (0 to 1)
# llama-3.1-70b on dgx-h100: 2 server workers of tp 4, pp 1, ep 1, dp_attention 1; weights fp8, cache bf16
# for requests of 2048 input and 256 output tokens on average
# To edit: the checkpoint, the longest request, hosts and ports.
set -euo pipefail
worker=${1:-0}
PORT=$((8000 + worker))
first=$((worker % 2 * 4)) # first GPU of this worker on its node
CUDA_VISIBLE_DEVICES=$(seq -s, "$first" $((first + 3)))
export CUDA_VISIBLE_DEVICES
args=(
# degrees
--tensor-parallel-size 4

# batch, chunk, cache
--max-num-seqs 296
--max-num-batched-tokens 8192
--enable-chunked-prefill
--max-model-len 5120
--gpu-memory-utilization 0.9
--kv-cache-dtype auto
--quantization fp8
--port "$PORT"
)
exec vllm serve "${MODEL:-meta-llama/Meta-Llama-3.1-70B}" "${args[@]}"
