#!/bin/bash
# test_logs.sh PLAIT - import and doctor of the log of a run
set -u

plait=$(realpath "$1")
logs=$PWD/tests/data/logs
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

refused() { # refused TEXT ARGUMENTS...: one line with TEXT, and status 2
    local said status
    said=$("$plait" "${@:2}" 2>&1)
    status=$?
    [[ $status == 2 && $said == *"$1"* && $(wc -l <<<"$said") == 1 ]] ||
        complain "${*:2}: status $status, '$said', expected '$1'"
}

reads() { # reads TEXT ARGUMENTS...: standard output has TEXT
    "$plait" "${@:2}" >said 2>complaints || complain "${*:2}: status $?, $(cat complaints)"
    grep -qF -- "$1" said || complain "${*:2}: no '$1' in $(cat said)"
}

# Each software is recognized without --from, and --from may name it.
for from in '' '--from=megatron'; do
    # shellcheck disable=SC2086  # nothing is no argument
    reads 'megatron, 64 GPUs; tp 2, sp 1, pp 4, etp 2, dp 8, zero 1, shard_group 8, recompute full' \
        import $from "$logs/megatron-arguments.log"
done
reads 'llama-3.1-70b, 70.6 B parameters; torchtitan, 64 GPUs; tp 8, sp 1, dp 8, zero 3' \
    import "$logs/torchtitan-config.log"
reads 'deepspeed, 32 GPUs; dp 32, zero 3, shard_group 32, mbs 2, offload gradients' \
    import "$logs/deepspeed-config.log"
reads 'plait eval --plan mine.json' import "$logs/megatron-arguments.log" --cluster dgx-h100 -o mine.json
reads 'tp 2, pp 4, dp 8' eval --plan mine.json

# doctor reads the measured step from the same log, and lists changes in the words of the software.
# shellcheck disable=SC2002  # a pipe is what is tested
cat "$logs/megatron-arguments.log" | "$plait" doctor - --cluster dgx-h100 >said || complain "no log from a pipe"
grep -q '^measured 4.19 s' said || complain "no measured step"
grep -qx '      - --recompute-granularity full' said || complain "no flag to remove"
reads 'measured 12.6 s' doctor "$logs/deepspeed-config.log" --cluster dgx-h100 --model llama-3.1-8b --seq 4096
grep -qx '      + "stage": 1' said || complain "no line of DeepSpeed's JSON"
sed 's/tps: 88/tps: 44/' "$logs/torchtitan-config.log" >slow.log
reads 'measured 4.60 s' doctor "$logs/torchtitan-config.log" --cluster dgx-h100 --log slow.log
grep -qx '      + tensor_parallel_degree = 4' said || complain "no line of torchtitan's TOML"
grep -v 'step: ' "$logs/torchtitan-config.log" >start.log
"$plait" doctor start.log --cluster dgx-h100 >said || complain "a log without steps is refused"
! grep -q '^measured' said || complain "a step measured without steps"

# A log above the limit: its start is read.
{
    cat "$logs/megatron-arguments.log"
    yes ' a line of a long log ................. with dots' | head -c 80M
} >long.log
reads 'megatron, 64 GPUs; tp 2' import long.log
{
    echo 'torchrun pretrain_gpt.py --num-layers 32'
    yes '# a comment' | head -c 80M
} >long.sh
refused 'expected at most 67108864 bytes, found more' import --from megatron long.sh

refused 'the arguments are cut off' import <(head -40 "$logs/megatron-arguments.log")
refused "expected the end of torchtitan's job config" import <(head -30 "$logs/torchtitan-config.log")
refused '--from: expected the format of the file, such as megatron, or the log of a run' import "$logs/transformers.log"
refused 'expected the format of the file' doctor "$logs/maxtext.log" --cluster dgx-h100
refused "expected no arguments after a file that is not a script" import "$logs/megatron-arguments.log" TP=4
"$plait" doctor "$logs/deepspeed-config.log" --cluster dgx-h100 2>said
grep -q -- '--model: expected a model' said || complain "a job without a model is priced"

exit $((wrong > 0))
