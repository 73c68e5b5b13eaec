#!/bin/bash
# test_stages.sh PLAIT - a plan with an irregular layout passes through eval, explain, launch and import
set -u

plait=$(realpath "$1")
drawing=$(realpath docs/timeline.svg)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

value() { # value FILE KEY: a number or text that stands alone in its line
    sed -nE "s/^ *\"$2\": (.*[^,]),?$/\1/p" "$1" | head -1
}

layers() { # layers FILE: of all chunks, in the order of the file
    grep -oE '"layers": \[[0-9]+, [0-9]+\]' "$1" | tr -dc '0-9,\n' | tr '\n' ' '
}

change() { # change FILE N FROM TO: in the Nth line that holds FROM
    awk -v n="$2" -v from="$3" -v to="$4" 'index($0, from) && ++seen == n {
        at = index($0, from)
        $0 = substr($0, 1, at - 1) to substr($0, at + length(from))
    } { print }' "$1"
}

question=(llama-3.1-8b h100-80gb-sxm:2x8 --seq 4096 --gbs 64)
degrees=(--tp 2 --pp 4 --recompute none --mbs 1)

# ---- 9, 8, 8 and 7 layers, written by hand ----

"$plait" eval "${question[@]}" "${degrees[@]}" --split even -o even.json >/dev/null || complain "eval: $?"
sed -e 's/"split": "even"/"split": null/' \
    -e 's/\[0, 8\]/[0, 9]/; s/\[8, 16\]/[9, 17]/; s/\[16, 24\]/[17, 25]/; s/\[24, 32\]/[25, 32]/' \
    even.json >own.json
"$plait" eval --plan own.json -o priced.json >report || complain "eval of own stages: $?"
[ "$(layers priced.json)" = '0,9 9,17 17,25 25,32 ' ] || complain "stages: $(layers priced.json)"
[ "$(value priced.json split)" = '"layout:Et*9|(t*8|)*2t*7L"' ] || complain "split $(value priced.json split)"
grep -q 'split layout:Et\*9' report || complain "the report does not say the layout"
"$plait" eval "${question[@]}" "${degrees[@]}" --split first-last:9,7 -o word.json >/dev/null
[ "$(value priced.json step_s)" = "$(value word.json step_s)" ] ||
    complain "9 8 8 7 cost $(value priced.json step_s) by hand, $(value word.json step_s) by word"
[ "$(value priced.json peak_bytes)" = "$(value word.json peak_bytes)" ] || complain "other memory"
"$plait" eval --plan priced.json --json | cmp - priced.json || complain "not the same when read back"

# An option leaves the layout alone, unless it changes the chunks.
"$plait" eval --plan own.json --mbs 2 -o larger.json >/dev/null
[ "$(layers larger.json)" = '0,9 9,17 17,25 25,32 ' ] || complain "mbs moves $(layers larger.json)"
"$plait" eval --plan own.json --pp 2 -o fewer.json >/dev/null || complain "pp 2: $?"
[ "$(value fewer.json split)" = '"even"' ] || complain "pp 2 keeps split $(value fewer.json split)"
"$plait" explain --plan own.json >/dev/null || complain "explain: $?"

# ---- values that stages must not have ----

refused() { # refused TEXT FILE: eval calls it invalid, launch refuses it
    "$plait" eval --plan "$2" >out 2>&1
    [ $? -eq 1 ] && grep -qF -- "$1" out || complain "$2: $(tail -3 out)"
    "$plait" launch "$2" -o d >out 2>&1
    [ $? -eq 2 ] && grep -qF -- "$1" out || complain "launch $2: $(cat out)"
}

sed 's/\[8, 16\]/[8, 15]/; s/\[16, 24\]/[15, 24]/' even.json >edited.json
refused 'chunk 1 has layers 8 to 15, but split even assigns 8 to 16' edited.json
change even.json 2 '"tp": 2' '"tp": 4' >mesh.json # the first is the plan's
refused 'stage 0 has tp 4, but the plan has 2' mesh.json
change even.json 2 '"recompute": "none"' '"recompute": "full"' >again.json
refused 'layer 0 of stage 0 has recompute full, but its plan has none' again.json
sed 's/\[9, 17\]/[9, 16]/' own.json >gap.json
refused 'the layout has 31 layers, but llama-3.1-8b has 32 (rule P29)' gap.json
"$plait" eval "${question[@]}" "${degrees[@]}" --split layout >out 2>&1
[ $? -eq 2 ] && grep -q 'expected layout:TEXT' out || complain "no layout: $(cat out)"
"$plait" eval "${question[@]}" "${degrees[@]}" --split 'layout:Et*9|(t*8|)*2,t*7L' -o text.json >/dev/null
[ "$(value priced.json step_s)" = "$(value text.json step_s)" ] || complain "the text has another price"
[ "$(value text.json split)" = '"layout:Et*9|(t*8|)*2t*7L"' ] || complain "spelled $(value text.json split)"

# ---- values of stages that the plan leaves open ----

sed '0,/"recompute": "none"/s//"recompute": null/; s/"recompute": "none"/"recompute": "full"/' \
    priced.json >said.json
"$plait" eval --plan said.json -o full.json >/dev/null || complain "eval of stages that say full: $?"
[ "$(value full.json recompute)" = '"full"' ] || complain "stages say full, the plan $(value full.json recompute)"
change said.json 2 '"recompute": "full"' '"recompute": "none"' >two.json
refused 'layer 0 of stage 1 has recompute none, but its plan has full' two.json

# ---- launch and import ----

for target in megatron torchtitan pipelining companion; do
    from=own.json
    if [ $target = torchtitan ]; then
        "$plait" eval "${question[@]}" "${degrees[@]}" --runtime torchtitan --split even \
            -o titan.json >/dev/null
        sed -e 's/"split": "even"/"split": null/' -e 's/\[0, 8\]/[0, 10]/; s/\[8, 16\]/[10, 17]/' \
            -e 's/\[16, 24\]/[17, 25]/; s/\[24, 32\]/[25, 32]/' titan.json >own_titan.json
        from=own_titan.json
    fi
    "$plait" launch "$from" --target $target -o $target >out 2>&1 || complain "$target: $(cat out)"
done
grep -qF -- "--pipeline-model-parallel-layout 'Et*9|(t*8|)*2t*7L'" megatron/args.sh ||
    complain "megatron: $(grep layout megatron/args.sh)"
grep -qF 'model_parts([10, 7, 8, 7])' torchtitan/recipe.py || complain "torchtitan has other parts"
"$plait" import --from torchtitan torchtitan/args.sh -o no.json >out 2>&1
if [ $? -ne 2 ] || [ "$(wc -l <out)" -ne 1 ] || ! grep -q 'run .plait import. on it$' out; then
    complain "arguments without their recipe: $(cat out)"
fi
for folder in megatron/args.sh:megatron torchtitan/recipe.py:torchtitan companion/launch.json:companion; do
    target=${folder#*:}
    "$plait" import --from "$target" "${folder%:*}" --cluster h100-80gb-sxm:2x8 --gpus 16 \
        --model llama-3.1-8b -o back.json >out 2>&1 || complain "import of $target: $(cat out)"
    "$plait" eval --plan back.json --seq 4096 --gbs 64 -o again.json >out 2>&1 ||
        complain "eval of imported $target: $(tail -2 out)"
    expected='0,9 9,17 17,25 25,32 '
    [ $target != torchtitan ] || expected='0,10 10,17 17,25 25,32 '
    [ "$(layers again.json)" = "$expected" ] || complain "$target: $(layers again.json)"
    [ $target != companion ] || [ "$(value again.json step_s)" = "$(value priced.json step_s)" ] ||
        complain "the companion has another price"
done

# A step as a trace and as a drawing: all actions, and the same bytes in a second run.
simulate() { # simulate FILE FLAGS...
    local file=$1
    shift
    "$plait" eval llama-3.1-70b dgx-h100 --gpus 64 --seq 8192 --gbs 64 --tp 8 --pp 4 "$@" --timeline "$file"
}

simulate step.json --vpp 2 >out || complain "no trace: $(cat out)"
grep -qE "^timeline: step.json, 512 actions; step simulated chunk by chunk: [0-9.]+ s, by the cost model: [0-9.]+ s$" out ||
    complain "what is said of a trace: $(tail -3 out)"
[ "$(grep -c '"ph": "X"' step.json)" -eq $((512 + (2 + 1 + 1) * 4)) ] || # gradients of 2 chunks, optimizer, gather
    complain "a trace of $(grep -c '"ph": "X"' step.json) events"
simulate step.svg >out || complain "no drawing"
head -1 step.svg | grep -q '^<svg ' && tail -1 step.svg | grep -qx '</svg>' ||
    complain "not a drawing: $(head -1 step.svg)"
"$plait" eval llama-3.1-70b dgx-h100 --gpus 64 --seq 8192 --gbs 32 --tp 8 --pp 4 --vpp 2 --timeline shown.svg >out
cmp -s shown.svg "$drawing" || complain "docs/timeline.svg is another drawing: eval ... --timeline docs/timeline.svg"
cp step.svg before.svg
simulate step.svg --json >out || complain "no drawing beside JSON"
cmp -s step.svg before.svg || complain "another drawing of the same plan"
head -1 out | grep -qx '{' || complain "JSON begins with $(head -1 out)"

refuses_timeline() { # refuses_timeline TEXT FILE FLAGS...: an error in one line, and no file
    local text=$1
    shift
    simulate "$@" >out 2>err && complain "--timeline $*: not refused"
    grep -qF -- "$text" err || complain "--timeline $*: $(cat err), expected $text"
    [ ! -e "$1" ] || complain "--timeline $*: writes a file all the same"
}

refuses_timeline "--timeline: expected a file that ends in .json or .svg, found x.png" x.png
refuses_timeline "--timeline: expected a plan that can run, found: " x.svg --pp 7
refuses_timeline "none/x.svg" none/x.svg

# ---- stages with different choices ----

"$plait" eval "${question[@]}" "${degrees[@]}" --runtime companion --split even -o free.json >/dev/null
change free.json 2 '"recompute": "none"' '"recompute": [["full", 3], ["none", 5]]' |
    awk '/"recompute": "none",/ && ++n == 3 { print; print "\"offload_acts\": \"core_attn\","; next } { print }' >choices.json
"$plait" eval --plan choices.json -o chosen.json >report || complain "eval of choices: $?"
grep -q 'stage 0 recomputes full in 3 layers, none in 5' report || complain "not said: $(cat report)"
grep -q 'offload_acts core_attn' report || complain "the offload of a stage is not said"
grep -qF '"recompute": [["full", 3], ["none", 5]]' chosen.json || complain "choices are not written"
"$plait" eval --plan chosen.json --json | cmp - chosen.json || complain "choices change when read back"
"$plait" explain --plan chosen.json | grep -q 'stage 0 recomputes full in 3 layers' || complain "explain"
"$plait" eval --plan chosen.json --runtime megatron >report
[ $? -eq 1 ] && grep -q 'rule P3[57]' report || complain "megatron takes choices: $(cat report)"
"$plait" launch chosen.json --target companion -o free >/dev/null || complain "launch: $?"
"$plait" import --from companion free/launch.json -o back.json >/dev/null || complain "import of choices: $?"
"$plait" eval --plan back.json -o again.json >/dev/null
[ "$(value again.json step_s)" = "$(value chosen.json step_s)" ] ||
    complain "choices cost $(value chosen.json step_s), back from launch.json $(value again.json step_s)"

exit $((wrong > 0))
