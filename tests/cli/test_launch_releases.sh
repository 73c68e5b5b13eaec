#!/bin/bash
# test_launch_releases.sh PLAIT - plans and launch folders of a release use no feature of a later release
set -u

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
wrong=0

complain() {
    echo "$@"
    wrong=1
}

moe=(qwen3-30b-a3b dgx-h100 --gpus 16 --seq 4096 --gbs 512)

# ---- plans of a search ----

proposed() { # proposed WHEN [FIX]: keys of all plans into plans.json, measured or not
    "$plait" search "${moe[@]}" --frontier --fix "tp=1,ep=8,etp=1,mbs=2${2:+,$2}" \
        --runtime "megatron@$1" --json >plans.json 2>err ||
        complain "$1: no plan: $(cat err)"
}

never() { # never WHEN PATTERN...
    local when=$1 pattern
    shift
    proposed "$when"
    for pattern; do
        grep -qE "$pattern" plans.json && complain "$when: proposes $pattern"
    done
    return 0
}

some() { # some WHEN PATTERN [FIX]
    proposed "$1" "${3:-}"
    grep -qE "$2" plans.json || complain "$1: does not propose $2"
}

hybrid='"dispatcher": "hybridep"' deep='"dispatcher": "deepep"'
offload='"offload_acts": "[a-z]*(_|fc|act|all)' pairs='"ep_overlap": "pairs' modules='"recompute": "modules'
never core-v0.10.0 "$hybrid" "$deep" "$offload" "$pairs" "$modules" '"split": "(layout|embedding|loss|both)'
never core-v0.12.0 "$hybrid" "$offload" "$pairs" '"split": "layout'
never core-v0.13.0 "$hybrid" "$offload" "$pairs"
never 25.09 "$hybrid" "$offload"
never 25.11 "$offload"
never core-v0.15.3 '"cuda_graph": "(layers|full)'
never core-v0.17.1 '"cuda_graph": "full'
some 25.11 '"cuda_graph": "layers' cuda_graph=layers
some core-v0.12.0 "$deep"
some 25.11 "$hybrid"
some v0.4.0 "$offload"
grep -qF '"runtime": "megatron@v0.4.0"' plans.json || complain "another runtime in the file"

# ---- features that are requested before their release ----

refused() { # refused WHEN RELEASE FLAGS...
    local when=$1 release=$2
    shift 2
    "$plait" eval "${moe[@]}" --tp 2 --ep 8 --runtime "megatron@$when" "$@" >out 2>err &&
        complain "$when: takes $*"
    grep -qF -- "$release" out err || complain "$when $*: expected $release, found $(cat out err)"
}
refused core-v0.5.0 'added in core-v0.6.0' --dispatcher alltoall
refused core-v0.11.0 'added in core-v0.12.0' --dispatcher deepep
refused 25.09 'added in core-v0.16.0rc0' --dispatcher hybridep
refused core-v0.13.0 'added in core-v0.14.0' --dispatcher deepep --ep-overlap pairs
refused core-v0.9.0 'added in core-v0.10.0' --cp 2 --cp-comm a2a --dispatcher alltoall
refused core-v0.9.0 'added in core-v0.10.0' --etp 1
refused core-v0.11.0 'added in core-v0.12.0' --recompute modules:moe_act
refused core-v0.13.0 'added in core-v0.14.0' --recompute modules:shared_experts
refused core-v0.10.0 'added in core-v0.11.0' --tp 1 --pp 2 --split embedding
refused core-v0.10.0 'added in core-v0.11.0' --pp 2 --vpp 2 --tp 1 --split first-last:22,26
refused core-v0.13.1 'added in core-v0.14.0' --recompute modules:moe_act --precision fp8
refused core-v0.12.0 'added in core-v0.13.0' --tp 1 --pp 2 --split 'layout:Et*24|t*24L'
refused core-v0.11.0 'added in core-v0.12.0' --offload optimizer
refused 25.11 'added in bridge-v0.2.2' --offload-acts expert_fc1
refused core-v0.12.0 'added in core-v0.13.0' --optimizer-state bf16
refused core-v0.11.0 'added in core-v0.12.0' --grad-reduce bf16
refused core-v0.15.3 'added in core-v0.16.0rc0' --cuda-graph layers
refused core-v0.12.0 'which core-v0.13.0 introduced' --precision fp8_block
"$plait" eval deepseek-v3 dgx-h200 --gpus 256 --seq 4096 --gbs 256 --cp 2 --ep 64 --etp 1 \
    --runtime megatron@core-v0.13.0 >out 2>err && complain "0.13 takes cp beside MTP"
grep -qF 'has no cp with multi-token prediction; added in core-v0.14.0' out || complain "$(cat out err)"
"$plait" search "${moe[@]}" --runtime megatron@25.09 --fix dispatcher=hybridep >out 2>err &&
    complain "--fix takes hybridep"
grep -qF 'added in core-v0.16.0rc0' err || complain "--fix: $(cat err)"

# ---- launch folders ----

folder() { # folder WHEN FLAGS...: into d
    local when=$1
    shift
    rm -rf d
    "$plait" eval "${moe[@]}" --runtime "megatron$when" "$@" -o plan.json >/dev/null 2>err &&
        "$plait" launch plan.json --target "$target" -o d >/dev/null 2>err ||
        complain "megatron$when $*: no folder: $(cat err)"
}
has() { # has PATTERN...: lines of what was written
    for pattern; do
        grep -qE -- "^$pattern\$" d/args.sh d/overrides.sh d/run.sh 2>/dev/null || complain "no line $pattern"
    done
}
lacks() {
    for pattern; do
        grep -qE -- "$pattern" d/args.sh d/overrides.sh d/run.sh 2>/dev/null && complain "a line $pattern"
    done
    return 0
}

target=megatron
degrees=(--pp 2 --ep 8 --etp 1 --recompute full)
folder @25.09 "${degrees[@]}" --dispatcher deepep
has 'export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True' \
    --moe-enable-deepep --moe-router-fusion --moe-router-force-load-balancing 'export CUDA_DEVICE_MAX_CONNECTIONS=32'
lacks flex-dispatcher-backend HYBRID_EP
folder @25.11 "${degrees[@]}" --dispatcher hybridep
has '--moe-flex-dispatcher-backend hybridep' 'export NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN=8' \
    'export NVLINK_DOMAIN_SIZE=8' 'export USE_MNNVL=0'
lacks enable-deepep
folder @core-v0.17.1 --pp 2 --ep 8 --etp 1 --recompute none --dispatcher hybridep --cuda-graph layers
has '--cuda-graph-scope attn moe_router moe_preprocess' 'export NCCL_GRAPH_REGISTER=0'
lacks cuda-graph-modules
folder @core-v0.18.0 --pp 2 --ep 8 --etp 1 --recompute none --dispatcher hybridep --cuda-graph layers
has '--cuda-graph-modules attn moe_router moe_preprocess'
lacks cuda-graph-scope
folder @core-v0.13.0 "${degrees[@]}"
lacks router-fusion global_aux_loss
has --moe-router-force-load-balancing '--moe-router-load-balancing-type aux_loss'
folder @core-v0.12.0 "${degrees[@]}"
lacks force-load-balancing
folder @core-v0.10.0 "${degrees[@]}" --vpp 2
has 'export CUDA_DEVICE_MAX_CONNECTIONS=1' 'export NVTE_FLASH_ATTN=0 NVTE_FUSED_ATTN=1 NVTE_UNFUSED_ATTN=0' \
    '--num-layers-per-virtual-pipeline-stage 12'
lacks attention-backend permute-fusion num-virtual-stages
# Before 0.10 there is no --expert-tensor-parallel-size: tp also cuts experts.
folder @core-v0.9.0 --ep 8 --tp 2 --recompute full
has '--tensor-model-parallel-size 2' '--expert-model-parallel-size 8'
lacks expert-tensor-parallel cp-comm-type
folder @core-v0.15.3 --ep 8 --etp 1 --precision fp16
lacks grouped-gemm
folder @core-v0.16.0 --ep 8 --etp 1 --precision fp16
has --moe-grouped-gemm
# validate_args of 0.12 requires one queue with tensor parallelism on any GPU.
moe=(qwen3-30b-a3b dgx-b200 --gpus 16 --seq 4096 --gbs 512)
folder @core-v0.12.3 --ep 8 --tp 2 --etp 1
has 'export CUDA_DEVICE_MAX_CONNECTIONS=1'
folder @core-v0.14.0 --ep 8 --tp 2 --etp 1
has 'export CUDA_DEVICE_MAX_CONNECTIONS=32'
moe=(qwen3-30b-a3b dgx-h100 --gpus 16 --seq 4096 --gbs 512)
folder @core-v0.9.0 --ep 8 --tp 2 --recompute full --cp-comm a2a
lacks cp-comm-type
# The fused rotary kernel supports MLA since 0.13: TransformerConfig of 0.11 and 0.12 raises an error.
moe=(deepseek-v2-lite dgx-h100 --gpus 16 --seq 4096 --gbs 512)
folder @core-v0.12.0 --ep 8 --etp 1 --recompute full
has --no-rope-fusion
folder @core-v0.13.0 --ep 8 --etp 1 --recompute full
lacks rope-fusion
moe=(qwen3-30b-a3b dgx-h100 --gpus 16 --seq 4096 --gbs 512)
folder '' "${degrees[@]}"
has 'export CUDA_DEVICE_MAX_CONNECTIONS=8' 'export PYTORCH_ALLOC_CONF=expandable_segments:True'
folder @core-v0.11.0 "${degrees[@]}" --precision fp8
has '--fp8-format hybrid'
lacks fp8-recipe
folder @core-v0.12.0 "${degrees[@]}" --precision fp8
has '--fp8-recipe tensorwise'
folder '' "${degrees[@]}" --tp 2
has 'export CUDA_DEVICE_MAX_CONNECTIONS=1'
"$plait" import --from megatron d/args.sh --cluster dgx-h100 -o back.json >/dev/null 2>&1 &&
    diff <("$plait" eval --plan plan.json) <("$plait" eval --plan back.json) >differs ||
    complain "another plan when read back: $(cat differs)"
folder '' "${degrees[@]}" --imbalance natural
lacks force-load-balancing
moe=(qwen3-30b-a3b gb200-nvl72:2x4 --seq 4096 --gbs 512)
folder '' --ep 8 --etp 1 --dispatcher hybridep --recompute full
has 'export NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN=8' 'export NVLINK_DOMAIN_SIZE=[78]2?' 'export USE_MNNVL=1' \
    'export CUDA_DEVICE_MAX_CONNECTIONS=32'

# A model that a release does not build, and one that it has no argument for.
unheld() { # unheld MODEL WHEN TEXT
    "$plait" eval "$1" dgx-h100 --gpus 16 --seq 4096 --gbs 512 --ep 8 --etp 1 --recompute full \
        --runtime "megatron@$2" -o plan.json >/dev/null 2>&1
    "$plait" launch plan.json -o none >/dev/null 2>err && complain "$1 is written for $2"
    grep -qF -- "$3" err || complain "$1 at $2: $(cat err)"
}
unheld gpt-oss-20b 25.09 'megatron@25.09 cannot build gpt-oss-20b: window needs core-v0.15.0 or later'
unheld gpt-oss-20b core-v0.18.0 'cannot build gpt-oss-20b: yarn needs core-v0.19.0 or later'
unheld deepseek-v2-lite core-v0.10.0 'needs mscale, which 0.11 introduced'
"$plait" search gpt-oss-20b dgx-h100 --gpus 8 --seq 4096 --gbs 64 --fix tp=1,pp=1,ep=8,mbs=1 \
    --runtime megatron@25.09 >/dev/null 2>err
[ "$(grep -cF 'warning: megatron@25.09 cannot build gpt-oss-20b: window needs core-v0.15.0 or later' err)" = 1 ] || complain "$(cat err)"

# The page names the release.
"$plait" eval llama-2-7b dgx-h100 --gpus 8 --seq 4096 --gbs 64 --tp 2 --runtime megatron@core_v0.14.0 -o plan.json >/dev/null
"$plait" report plan.json -o page.md >/dev/null 2>err
grep -qF 'megatron@core_v0.14.0 (core-v0.14.0)' <(tr -d '\\' <page.md) || complain "the page: $(cat err; grep runtime page.md)"

target=megatron-bridge
moe=(qwen3-30b-a3b dgx-h100 --gpus 16 --seq 4096 --gbs 512)
folder @26.02 "${degrees[@]}" --dispatcher hybridep
has train.eval_iters=0 model.moe_router_fusion=true model.moe_router_force_load_balancing=true \
    'export NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN=8'
lacks use_tokenizer_vocab_size
grep -qF 'nvcr.io/nvidia/nemo:26.02"' d/pytorchjob.yaml || complain "another container"
folder '' "${degrees[@]}"
has validation.eval_iters=0 tokenizer.use_tokenizer_vocab_size=true
grep -qF 'nvcr.io/nvidia/nemo:26.08"' d/pytorchjob.yaml || complain "another container"
"$plait" eval "${moe[@]}" --runtime megatron@25.11 "${degrees[@]}" -o plan.json >/dev/null 2>&1
"$plait" launch plan.json --target megatron-bridge -o none >/dev/null 2>err && complain "25.11 has no run_recipe.py"
grep -qF 'bridge-v0.3.0 or later' err || complain "$(cat err)"

exit $wrong
