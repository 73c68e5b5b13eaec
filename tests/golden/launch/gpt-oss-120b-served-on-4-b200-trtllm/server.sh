#!/usr/bin/env bash
# server.sh - starts worker $1 (0 to 0)
# gpt-oss-120b on b200-180gb-sxm:1x8: 1 server worker of tp 1, pp 1, ep 4, dp_attention 4; weights mxfp4, cache bf16
# for requests of 1024 input and 1024 output tokens on average
# To edit: the checkpoint, the longest request, hosts and ports.
# The checkpoint has to hold experts in MXFP4.
set -euo pipefail
unset CDPATH
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/." && pwd)
worker=${1:-0}
PORT=$((8000 + worker))
first=$((worker % 2 * 4)) # first GPU of this worker on its node
CUDA_VISIBLE_DEVICES=$(seq -s, "$first" $((first + 3)))
export CUDA_VISIBLE_DEVICES
args=(--extra_llm_api_options "$here/server.yaml"
--host 0.0.0.0
--port "$PORT"
)
exec trtllm-serve "${MODEL:-openai/gpt-oss-120b}" "${args[@]}"
