#!/bin/bash
# test_assume_llama.sh PLAIT - each command that reads a config.json takes --assume-llama, and lists
# the ignored keys
set -u

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
wrong=0

cat >model.json <<'END'
{"model_type": "brand_new", "hidden_size": 2048, "num_hidden_layers": 16, "vocab_size": 32000,
 "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 8192,
 "max_position_embeddings": 8192, "hidden_act": "silu", "hc_mult": 4}
END
cat >args.sh <<'END'
--seq-length 4096 --micro-batch-size 1 --global-batch-size 64 --tensor-model-parallel-size 2 --bf16
END

takes() { # takes COMMAND...: it refuses the model, and with --assume-llama prices it
    if "$plait" "$@" >out 2>&1 || ! grep -q 'hc_mult' out; then
        echo "$1: expected a refusal of hc_mult, found: $(cat out)"
        wrong=$((wrong + 1))
    fi
    if ! "$plait" "$@" --assume-llama >out 2>err || ! grep -q 'ignored keys: hc_mult' err; then
        echo "$1: expected an answer and a warning of hc_mult, found: $(cat err)"
        wrong=$((wrong + 1))
    fi
}

takes import args.sh --from megatron --model ./model.json --cluster dgx-h100 --gpus 16
takes doctor args.sh --from megatron --model ./model.json --cluster dgx-h100 --gpus 16
takes eval ./model.json dgx-h100 --seq 4096 --gbs 64 --gpus 16 --tp 2
takes capacity ./model.json dgx-h100 --seq 4096 --gbs 64 --gpus 16 --tokens 1T
takes serve ./model.json dgx-h100 --gpus 8 --input 1024 --output-tokens 128

# Keys that change no size are listed without the option too.
sed -i 's/brand_new/llama/; s/"hc_mult": 4/"made_up": true/' model.json
"$plait" serve ./model.json dgx-h100 --gpus 8 --input 1024 --output-tokens 128 >out 2>err
if ! grep -q 'ignored keys: made_up' err; then
    echo "serve: expected a warning of made_up, found: $(cat err)"
    wrong=$((wrong + 1))
fi
exit $((wrong > 0))
