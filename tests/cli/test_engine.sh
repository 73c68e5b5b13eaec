#!/bin/bash
# test_engine.sh PLAIT - an engine profile with which no deployment has a price is rejected with its place
set -u

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0

mkdir "$scratch/clusters"
ln -s "$PWD/models" "$scratch/models"
for each in clusters/*; do ln -s "$PWD/$each" "$scratch/$each"; done
rm "$scratch/clusters/engines"
cp -r clusters/engines "$scratch/clusters/engines"
profile=$scratch/clusters/engines/vllm.json

serve() {
    PLAIT_DATA=$scratch "$plait" serve llama-3.1-8b dgx-h100 --gpus 1 --input 512 --output-tokens 64 --concurrency 8 \
        --engine vllm 2>&1
}

refused() { # refused SED PLACE MESSAGE
    local said
    sed -E "$1" clusters/engines/vllm.json >"$profile"
    said=$(serve)
    if [ $? -ne 2 ] || [[ $said != *"vllm.json:$2: $3"* ]]; then
        echo "$1: $said"
        wrong=1
    fi
}

serve >"$scratch/out" || { echo "the shipped profile: $(cat "$scratch/out")"; wrong=1; }
refused 's/"ttft": \[.*\]/"ttft": [5, 0.5]/' /band/measured 'expected the lower factor before the upper one, found 5 before 0.5'
refused 's/"ttft": \[.*\]/"ttft": [1, 1e30]/' /band/measured/ttft/1 'expected a number from 1e-90 to 1e+27, found 1e+30'
refused 's/"new_model": /"new": /' /band/new 'expected the key "new_accelerator", found "new"'
refused 's/"chunk_tokens": [0-9]+/"chunk_tokens": 1e20/' /defaults/chunk_tokens 'expected at most 1e+09, found 1e+20'
refused 's/"block_tokens": [0-9]+/"block_tokens": 0.1/' /defaults/block_tokens 'expected at least 1, found 0.1'

# --engine also takes the name or the path of one profile; an answer finds the profile again
cp clusters/engines/vllm-2024.json "$scratch/mine.json"
profile_of() { # profile_of ENGINE PROFILE
    (cd "$scratch" && "$plait" serve llama-3.1-8b dgx-h100 --gpus 1 --input 512 --output-tokens 64 \
        --concurrency 8 --engine "$1" --json -o serve.json >out 2>err && "$plait" launch serve.json -o files --force >out 2>&1)
    grep -q "\"profile\": *\"$2\"" "$scratch/serve.json" && [ -s "$scratch/files/server.sh" ] ||
        { echo "--engine $1: no profile $2: $(cat "$scratch/err" "$scratch/out")"; wrong=1; }
}
profile_of vllm-2025 vllm-2025
profile_of sglang sglang
profile_of ./mine.json ./mine.json
error=$("$plait" serve llama-3.1-8b dgx-h100 --gpus 1 --input 512 --output-tokens 64 --engine vllm-2022 2>&1)
[ $? -eq 2 ] && [[ $error == *vllm-202* ]] || { echo "an unknown profile: $error"; wrong=1; }
error=$("$plait" serve llama-3.1-8b dgx-h100 --gpus 1 --input 512 --output-tokens 64 --engine vllm-amd 2>&1)
[ $? -eq 2 ] && [[ $error == *"runs on accelerators of NVIDIA, found vllm-amd"* ]] || { echo "a profile of another vendor: $error"; wrong=1; }
exit $wrong
