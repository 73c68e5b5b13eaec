#!/bin/bash
# test_launch_serve.sh PLAIT - deployments as files: valid shell scripts with every number of the answer
set -u

plait=$(realpath "$1")
wrong=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

complain() {
    echo "$@"
    wrong=1
}

launch() { # launch STATUS ARGUMENTS...
    local expected=$1 status
    shift
    rm -rf "$folder/o"
    "$plait" launch "$@" -o "$folder/o" >"$folder/out" 2>"$folder/err"
    status=$?
    [ $status -eq "$expected" ] ||
        complain "launch $*: status $status, expected $expected: $(cat "$folder/err")"
}

has() { # has FILE TEXT
    grep -qF -- "$2" "$folder/o/$1" || complain "$1: expected $2 in: $(cat "$folder/o/$1")"
}

answer() { # answer ARGUMENTS...: $folder/s.json
    "$plait" serve "$@" -o "$folder/s.json" >/dev/null 2>"$folder/err" ||
        complain "serve $*: $(cat "$folder/err")"
}

says() {
    grep -qF -- "$1" "$folder/err" || complain "expected to read: $1, found: $(cat "$folder/err")"
    [ "$(wc -l <"$folder/err")" -eq 1 ] || complain "more than one line: $(cat "$folder/err")"
}

# ---- settings of the engine ----

settings=(llama-3.1-70b dgx-h100 --gpus 4 --input 2000 --output-tokens 500 --concurrency 64 --eval --tp 4
    --memory-fraction 0.8 --max-num-seqs 32 --max-batched-tokens 4096 --max-model-len 4000)
answer "${settings[@]}" --engine vllm
launch 0 "$folder/s.json"
for each in "gpu-memory-utilization 0.8" "max-num-seqs 32" "max-num-batched-tokens 4096" "max-model-len 4000"; do
    has server.sh "--$each"
done
answer "${settings[@]}" --engine sglang
launch 0 "$folder/s.json"
for each in "mem-fraction-static 0.8" "max-running-requests 32" "chunked-prefill-size 4096" "context-length 4000"; do
    has server.sh "--$each"
done
answer "${settings[@]}" --engine trtllm
launch 0 "$folder/s.json"
for each in "free_gpu_memory_fraction: 0.80" "max_batch_size: 32" "max_num_tokens: 4096" "max_seq_len: 4000"; do
    has server.yaml "$each"
done

# ---- redundant experts ----

# DeepSeek-V3 with 256 + 32 experts: 9 on each GPU of a prefill worker, 4 on one of the decode worker
wide=(deepseek-v3 h100-80gb-sxm:21x8 --eval --redundant-experts 32 --weights fp8_block --kv bf16
    --prefill 3:tp=1,dp_attention=32,ep=32 --decode 1:dp_attention=72,ep=72 --input 2000 --output-tokens 100 --concurrency 9216)
refused=$("$plait" serve "${wide[@]}" --redundant-experts 31 --engine sglang 2>&1)
[[ $refused == *"ep does not divide the experts and their copies"* ]] || complain "287 experts on 32 ranks: $refused"
answer "${wide[@]}" --engine sglang
launch 0 "$folder/s.json"
has prefill.sh "--ep-num-redundant-experts 32"
has decode.sh "--enable-eplb"
launch 0 "$folder/s.json" --target vllm
has decode.sh '"num_redundant_experts":32'
answer "${wide[@]}" --engine sglang --two-batch-overlap
launch 0 "$folder/s.json"
has decode.sh "--enable-two-batch-overlap"
launch 0 "$folder/s.json" --target vllm
has decode.sh "--enable-dbo"

# ---- one pool, for each engine ----

answer deepseek-v3 dgx-h200 --gpus 8 --eval --engine sglang --tp 2 --dp-attention 4 --ep 8 \
    --weights fp8_block --kv fp8 --input 2048 --output-tokens 256 --concurrency 64 --chunk 8192
launch 0 "$folder/s.json"
has server.sh "--tp-size 8"
has server.sh "--dp-size 4"
has server.sh "--enable-dp-attention"
has server.sh "--ep-size 8"
has server.sh "--chunked-prefill-size 8192"
has server.sh "--kv-cache-dtype fp8_e4m3"
has server.sh "deepseek-ai/DeepSeek-V3"
bash -n "$folder/o/server.sh" || complain "server.sh is no script"
launch 0 "$folder/s.json" --target vllm
has server.sh "--tensor-parallel-size 2"
has server.sh "--data-parallel-size 4"
has server.sh "--enable-expert-parallel"
says "the deployment was computed for sglang"
launch 2 "$folder/s.json" --target trtllm
says "dp_attention must be 1 or all ranks of a worker"
launch 0 "$folder/s.json" --as systemd --model /models/mine
has server@.service "ExecStart=/bin/bash /opt/serving/server.sh %i"
has server.sh "/models/mine"
launch 0 "$folder/s.json" --as kubernetes
has server.yaml 'nvidia.com/gpu: "8"'
launch 2 "$folder/s.json:2"
says "expected at least 2 deployments, found 1"
launch 2 "$folder/s.json" --model 'a b'
says "expected a folder or a name"

answer deepseek-v3 dgx-h200 --gpus 8 --eval --engine trtllm --dp-attention 8 --ep 8 \
    --weights fp8_block --input 2048 --output-tokens 256 --concurrency 64 --speculate mtp:1,accept=0.8
launch 0 "$folder/s.json"
has server.yaml "tensor_parallel_size: 8"
has server.yaml "enable_attention_dp: true"
has server.yaml "moe_expert_parallel_size: 8"
has server.yaml "num_nextn_predict_layers: 1"
has server.sh "server.yaml"

# ---- two pools, several nodes ----

answer llama-3.1-405b dgx-h100 --gpus 32 --eval --engine vllm --prefill 1:tp=8 --decode 1:tp=8,pp=2 \
    --weights fp8 --input 2048 --output-tokens 256 --rate 1
launch 0 "$folder/s.json"
[ "$(cd "$folder/o" && echo *)" = "decode.sh prefill.sh router.sh" ] || complain "$(ls "$folder/o")"
has decode.sh "--pipeline-parallel-size 2"
has decode.sh "ray start --head"
has prefill.sh "NixlConnector"
launch 0 "$folder/s.json" --target dynamo
has deployment.yaml "subComponentType: prefill"
has deployment.yaml "multinode: {nodeCount: 2}"
launch 0 "$folder/s.json" --target llm-d
has values.yaml "multinode: true"
has values.yaml "parallelism: {tensor: 8, data: 1, dataLocal: 1, workers: 2}"
has values.yaml '--port "$PORT" --served-model-name'
launch 0 "$folder/s.json" --target llm-d --model pvc://weights/llama/405b
has values.yaml 'uri: "pvc://weights/llama/405b"'
has values.yaml "vllm serve /model-cache/llama/405b --tensor"
for model in /models/mine pvc://weights pvc:///a hf://a/b; do
    launch 2 "$folder/s.json" --target llm-d --model $model
    says "expected a name on the Hub or pvc://CLAIM/PATH for llm-d"
done

# ---- import of the files ----

imports() { # imports ENGINE TEXT: what the written script says
    "$plait" import --from "$1" "$folder/o/server.sh" >"$folder/out" 2>"$folder/err" ||
        complain "import: $(cat "$folder/err")"
    grep -qF -- "$2" "$folder/out" || complain "expected $2 in: $(cat "$folder/out")"
    ! grep -vq 'not read; --verbose lists them$' "$folder/err" || complain "import warns: $(cat "$folder/err")"
}

answer deepseek-v3 dgx-h200 --gpus 8 --eval --engine sglang --tp 2 --dp-attention 4 --ep 8 \
    --weights fp8_block --kv fp8 --input 2048 --output-tokens 256 --concurrency 64 --chunk 8192
launch 0 "$folder/s.json"
imports sglang "deepseek-v3 CLUSTER --eval --engine sglang --gpus 8 --tp 2 --dp-attention 4 --ep 8 --chunk 8192 --weights fp8 --kv fp8"
launch 0 "$folder/s.json" --target vllm
imports vllm "--eval --engine vllm --gpus 8 --tp 2 --dp-attention 4 --ep 8 --chunk 8192 --weights fp8 --kv fp8"
echo 'vllm serve org/M -tp 4 -dp 2 --enable-expert-parallel --port 80' >"$folder/o/server.sh"
imports vllm "plait serve MODEL CLUSTER --eval --engine vllm --gpus 8 --tp 4 --dp-attention 2 --ep 8"
echo 'vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 4' >"$folder/o/server.sh"
imports vllm "plait serve llama-3.1-70b CLUSTER --eval --engine vllm --gpus 4 --tp 4"
echo 'vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --enable-expert-parallel --max-num-seqs 128 --gpu-memory-utilization 0.85
    --eplb-config "{\"num_redundant_experts\":32}" --max-model-len 4096' | tr '\n' ' ' >"$folder/o/server.sh"
imports vllm "--ep 8 --max-num-seqs 128 --max-model-len 4096 --redundant-experts 32 --memory-fraction 0.85"
echo 'python3 -m sglang.launch_server --model-path org/M --tp-size 8 --dp-size 4 --enable-dp-attention \
    --max-running-requests 256 --ep-num-redundant-experts 8 --mem-fraction-static 0.8' >"$folder/o/server.sh"
imports sglang "--tp 2 --dp-attention 4 --max-num-seqs 64 --redundant-experts 8 --memory-fraction 0.8"
echo 'vllm serve org/M -tp 4 --gpu-memory-utilization 1.5' >"$folder/o/server.sh"
"$plait" import --from vllm "$folder/o/server.sh" >/dev/null 2>"$folder/err" && complain "more than all memory"
says "expected a share above 0 and at most 1, found \"1.5\""
echo 'vllm serve org/M -tp 4 --frobnicate --max-num-seqs 0' >"$folder/o/server.sh"
"$plait" import --from vllm "$folder/o/server.sh" >/dev/null 2>"$folder/err" && complain "0 sequences"
says "expected an integer from 1 to"

# ---- deployments of searches, for each engine: written whole, or rejected in a line ----

mkdir "$folder/yaml"
reads() { # reads: every file of $folder/o, by who will read it; YAML later, at once
    local file
    for file in "$folder"/o/*; do
        case $file in
        *.sh) bash -n "$file" || complain "$file is no script" ;;
        *.y*ml) cp "$file" "$folder/yaml/$written-${file##*/}" ;;
        esac
    done
}

degrees_of() { # degrees_of: of the plans of $folder/s.json with one pool, as import would say them
    python3 - "$folder/s.json" <<'END_PYTHON'
import json, sys
for plan in json.load(open(sys.argv[1]))["plans"]:
    w = plan["workers"].get("aggregated", {})
    print("".join(f" --{k.replace('_', '-')} {w[k]}" for k in ("tp", "pp", "dp_attention", "ep") if w.get(k, 1) > 1))
END_PYTHON
}

written=0 refused=0 same=0
while read -r model cluster load; do
    # shellcheck disable=SC2086
    answer "$model" $cluster $load
    mapfile -t degrees < <(degrees_of)
    for rank in 1 2 3 4 5 6; do
        for target in vllm sglang trtllm dynamo llm-d; do
            rm -rf "$folder/o"
            "$plait" launch "$folder/s.json:$rank" --target $target -o "$folder/o" \
                >"$folder/out" 2>"$folder/err"
            case $? in
            0) written=$((written + 1)) && reads ;;
            2) refused=$((refused + 1)) && [ "$(wc -l <"$folder/err")" -eq 1 ] && [ ! -e "$folder/o" ] ||
                complain "$model $rank $target: $(cat "$folder/err")" && continue ;;
            *) complain "launch of $model $rank to $target: $(cat "$folder/err")" && continue ;;
            esac
            [ -e "$folder/o/server.sh" ] && [[ $target == vllm || $target == sglang ]] || continue
            "$plait" import --from $target "$folder/o/server.sh" >"$folder/out" 2>"$folder/err" ||
                complain "import of $model $rank $target: $(cat "$folder/err")"
            for word in tp pp dp-attention ep; do
                [ "$(grep -oE -- "--$word [0-9]+" "$folder/out")" = "$(grep -oE -- "--$word [0-9]+" <<<"${degrees[rank - 1]}")" ] ||
                    complain "$model $rank $target comes back as $(cat "$folder/out"), was ${degrees[rank - 1]}"
            done
            same=$((same + 1))
        done
    done
done <<'END'
llama-3.1-8b dgx-h100 --gpus ..8 --input 1024 --output-tokens 256 --rate 12
llama-3.1-70b dgx-a100 --gpus ..16 --input 2048 --output-tokens 256 --concurrency 32
llama-3.1-405b dgx-h100 --gpus ..32 --input 1024 --output-tokens 512 --rate 1
deepseek-v3 dgx-h200 --gpus ..32 --input 4096 --output-tokens 1024 --tpot 40ms
gpt-oss-120b b200-180gb-sxm:2x8 --gpus ..16 --input 1024 --output-tokens 1024 --rate 8
qwen3-30b-a3b h100-80gb-sxm:1x8 --gpus ..4 --input 8192 --output-tokens 256 --rate 2
qwen3-235b-a22b dgx-h200 --gpus ..16 --input 2048 --output-tokens 512 --tpot 30ms
mixtral-8x7b mi300x --gpus ..8 --input 1024 --output-tokens 128 --concurrency 16
END
python3 -c 'import sys, yaml
for file in sys.argv[1:]: list(yaml.load_all(open(file), yaml.CSafeLoader))' "$folder"/yaml/* || complain "no YAML"
[ $written -ge 100 ] && [ $same -ge 40 ] || complain "$written written, $same came back: too few"
echo "$written launches written, $refused refused, $same came back"

# ---- errors ----

launch 2 "$folder/s.json" --target megatron
says "expected one of"
answer llama-3.1-8b dgx-h100 --gpus 8 --eval --engine vllm --input 128 --output-tokens 16 --concurrency 4 \
    --speculate mtp:1,accept=0.8
launch 2 "$folder/s.json"
says "expected a model with MTP layers for drafting"
sed 's/"tp": 1/"tp": -1/' "$folder/s.json" >"$folder/t.json"
launch 2 "$folder/t.json"
says "/plans/0/workers/aggregated/tp: expected"

# ---- LoRA adapters, and lengths of a distribution ----

answer llama-3.1-8b dgx-h100 --gpus 1 --eval --engine vllm --input 1000,400,2500,16000 --output-tokens 100 \
    --concurrency 4 --lora-adapters 8 --lora-rank 24
launch 0 "$folder/s.json"
has server.sh "--enable-lora"
has server.sh "--max-loras 8"
has server.sh "--max-lora-rank 32"
has server.sh "--max-model-len 16120"
"$plait" import --from vllm "$folder/o/server.sh" --model llama-3.1-8b 2>&1 |
    tr '\n' ' ' | grep -q -- '--lora-adapters 8 *--lora-rank 32' || complain "adapters are not read back"
launch 2 "$folder/s.json" --target trtllm
says "LoRA adapters need vllm or sglang"
answer llama-3.1-8b dgx-h100 --gpus 1 --eval --engine sglang --input 1000 --output-tokens 100 --concurrency 4 \
    --lora-adapters 8 --lora-rank 24
launch 0 "$folder/s.json"
has server.sh "--max-loras-per-batch 8"
has server.sh "--max-lora-rank 24"

answer llama-3.1-8b dgx-h100 --gpus 2 --eval --engine vllm --tp 2 --input 1000 --output-tokens 100 --turns 4 \
    --prefix-hit 0.5 --concurrency 4 --cache-cpu 64
launch 0 "$folder/s.json"
has server.sh "--kv-offloading-size 128"
launch 0 "$folder/s.json" --target trtllm
grep -rqF "host_cache_size: 68719476736" "$folder/o" || complain "no host_cache_size"
launch 0 "$folder/s.json" --target sglang
has server.sh "--hicache-size 68"

# ---- settings of vLLM's recipes ----

answer deepseek-v3.2 dgx-h200 --gpus 8 --eval --engine vllm --tp 8 --weights fp8_block \
    --input 2048 --output-tokens 256 --concurrency 16
launch 0 "$folder/s.json"
has server.sh "# vLLM 0.18.0 or later, from models/deepseek-ai/DeepSeek-V3.2.yaml"
has server.sh "--enable-auto-tool-choice"
has server.sh "--tool-call-parser deepseek_v32"
has server.sh "--reasoning-parser deepseek_v3"
has server.sh "--tokenizer-mode deepseek_v32"
has server.sh "--kv-cache-dtype bfloat16"
has server.sh "the recipe advises against tp 8: kernels pad the 16 heads of a rank to 64"
bash -n "$folder/o/server.sh" || complain "server.sh is no script"
"$plait" import --from vllm "$folder/o/server.sh" --model deepseek-v3.2 >"$folder/out" 2>"$folder/err" ||
    complain "not read back: $(cat "$folder/err")"
grep -q 'server.sh: [0-9]* options not read; --verbose lists them' "$folder/err" || complain "$(cat "$folder/err")"
"$plait" import --from vllm "$folder/o/server.sh" --model deepseek-v3.2 --verbose 2>&1 >"$folder/out" |
    grep -q 'options not read: .*tool_call_parser' || complain "options that are not read are not listed"
echo 'vllm serve deepseek-ai/DeepSeek-V3.2 --tensor-parallel-size 8 --enforce-eager' >"$folder/eager.sh"
"$plait" import --from vllm "$folder/eager.sh" 2>&1 >"$folder/out" |
    grep -q 'warning: .*eager.sh: options that the price ignores: enforce_eager$' || complain "no warning of --enforce-eager"
answer deepseek-v3 dgx-h200 --gpus 8 --eval --engine vllm --tp 8 --weights fp8_block \
    --input 2048 --output-tokens 256 --concurrency 16
launch 0 "$folder/s.json"
has server.sh "--tool-call-parser deepseek_v3"
has server.sh "the recipe also has --enable-expert-parallel"
has server.sh "--kv-cache-dtype auto"
grep -q "kernels pad" "$folder/o/server.sh" && complain "DeepSeek-V3 has no sparse attention"
answer kimi-k2.5 dgx-h200 --gpus 16 --eval --engine vllm --tp 8 --pp 2 --weights fp8_block \
    --input 2048 --output-tokens 256 --concurrency 16
launch 0 "$folder/s.json"
has server.sh "# vLLM 0.19.1 or later, from models/moonshotai/Kimi-K2.5.yaml"
# The experimental model has a separate recipe, for older releases.
sed '0,/"deepseek-v3.2"/s//"deepseek-v3.2-exp"/' models/deepseek-v3.2.json >"$folder/deepseek-v3.2-exp.json"
answer "$folder/deepseek-v3.2-exp.json" dgx-h200 --gpus 8 --eval --engine vllm --tp 8 --weights fp8_block \
    --input 2048 --output-tokens 256 --concurrency 16
launch 0 "$folder/s.json"
has server.sh "# vLLM 0.12.0 or later, from models/deepseek-ai/DeepSeek-V3.2-Exp.yaml"
grep -qF flashinfer_autotune "$folder/o/server.sh" && complain "a flag of DeepSeek-V3.2"
answer llama-3.1-8b dgx-h200 --gpus 1 --eval --engine vllm --input 2048 --output-tokens 256 --concurrency 16
launch 0 "$folder/s.json"
grep -qE "parser|recipes" "$folder/o/server.sh" && complain "a recipe of another model"

# Blocks of 128 of an expert's width stay whole: 1536 / 8 is 192.
blocks=(minimax-m2 dgx-h200 --gpus 8 --eval --weights fp8_block --input 2048 --output-tokens 256 --concurrency 16)
answer "${blocks[@]}" --engine vllm --tp 8
launch 2 "$folder/s.json"
says "weights fp8_block need expert widths per rank that are multiples of 128"
answer "${blocks[@]}" --engine vllm --tp 8 --ep 8
launch 0 "$folder/s.json"
answer "${blocks[@]}" --engine vllm --tp 4 --replicas 2
launch 0 "$folder/s.json"
whole=(minimax-m2 dgx-h200 --gpus ..8 --engine vllm --tp 8 --ep 1 --input 2048 --output-tokens 256 --rate 1)
"$plait" serve "${whole[@]}" --weights fp8_block >"$folder/out" 2>&1 && complain "the search cuts a block"
grep -qF '2 not supported by the engine' "$folder/out" || complain "$(cat "$folder/out")"
"$plait" serve "${whole[@]}" --weights fp8 >"$folder/out" 2>&1 || complain "$(cat "$folder/out")"

exit $wrong
