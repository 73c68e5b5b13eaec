#!/bin/bash
# test_launch.sh PLAIT - launch writes all files or none, fails with one line, and import reads the files back
set -u

plait=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

refused() { # refused STATUS TEXT WORDS...: status, one line that holds TEXT, and no folder d
    local status=$1 text=$2 found
    shift 2
    rm -rf d
    "$plait" "$@" >out 2>err </dev/null
    found=$?
    [ $found -eq "$status" ] || complain "$*: status $found, expected $status"
    [ "$(wc -l <err)" -eq 1 ] || complain "$*: not one line: $(cat err)"
    grep -qF -- "$text" err || complain "$*: $(cat err), expected $text"
    [ ! -s out ] || complain "$*: prints $(cat out)"
    [ ! -e d ] || complain "$*: writes a folder all the same"
    [ -z "$(ls -d -- *.tmp-* 2>/dev/null)" ] || complain "$*: leaves $(ls -d -- *.tmp-*)"
}

eval_plan() { # eval_plan FILE WORDS...
    local file=$1
    shift
    "$plait" eval "$@" -o "$file" >/dev/null 2>&1
}

eval_plan fits.json llama-3.1-8b h100-80gb-sxm:1x8 --seq 4096 --gbs 64 --tp 2 || complain "no plan"
# Embedding and loss alone on a chunk: more chunks than layers.
eval_plan ends.json llama-3.1-405b dgx-h100 --gpus 1024 --seq 8192 --gbs 512 --tp 8 --pp 128 --split both
"$plait" launch ends.json --target companion -o ends >/dev/null || complain "ends alone: no folder"
"$plait" import --from companion ends/launch.json -o back.json >/dev/null &&
    diff <("$plait" eval --plan ends.json --json) <("$plait" eval --plan back.json --json) >/dev/null ||
    complain "ends alone: another plan when read back"
rm -rf ends back.json

eval_plan large.json llama-3.1-70b h100-80gb-sxm:1x8 --seq 4096 --gbs 64 --tp 2
eval_plan bidirectional.json llama-3.1-8b h100-80gb-sxm:1x8 --seq 4096 --gbs 64 --pp 4 --runtime deepseek --schedule dualpipe
eval_plan gemma.json gemma-2-2b h100-80gb-sxm:1x8 --seq 4096 --gbs 64
eval_plan ernie.json ernie-4.5-21b-a3b-pt h100-80gb-sxm:8x8 --seq 4096 --gbs 64 --ep 64
sed 's/"layers": \[{"kind": "dense", "count": 32}\]/X/; s/"count": 32/"count": 40/' fits.json >other.json

# ---- refusals ----

refused 2 'FILE: expected a file' launch -o d
refused 2 '-o: expected a folder' launch fits.json
refused 2 'missing.json: cannot open' launch missing.json -o d
refused 2 'expected a plan that fits, found: stage 0 of 1 needs' launch large.json -o d
refused 2 'expected "megatron", found "megatrom"' launch fits.json --target megatrom -o d
refused 2 'the stages have 32 layers, but llama-3.1-8b has 40' launch other.json -o d
refused 2 'rule MM2' launch gemma.json -o d
refused 2 'rule MM8' launch ernie.json -o d
refused 2 'has no schedule dualpipe; the nearest plan that megatron runs has' \
    launch bidirectional.json --target megatron -o d
refused 2 'expected a plan number from 1 to 1' launch fits.json:7 -o d
refused 2 'cannot write: No such file or directory' launch fits.json -o no/such/d
refused 2 'fits.json: cannot write: Not a directory' launch fits.json -o fits.json
refused 2 '--from: expected the format' import fits.json
refused 2 'expected "megatron"' import --from megatrn fits.json
refused 2 'FILE: expected a launch config' import --from megatron
refused 2 'nothing.sh: cannot open' import --from megatron nothing.sh
printf '#!/bin/bash\nargs=()\ndone <"$here/args.sh"\nexec torchrun "${args[@]}"' >starts.sh
refused 2 'expected the arguments of a run, found its start script: import args.sh from the same folder' import --from megatron starts.sh

# ---- folders ----

"$plait" launch fits.json -o made >out || complain "launch: $?"
grep -q '^  args.sh$' out || complain "launch does not list its files"
for file in args.sh run.sh submit.sbatch pytorchjob.yaml; do
    [ -s "made/$file" ] || complain "no $file"
done
[ -x made/run.sh ] || complain "run.sh cannot be run"
(umask 027 && "$plait" launch fits.json -o narrow >/dev/null)
(umask 000 && "$plait" launch fits.json -o wide >/dev/null)
[ "$(stat -c %a narrow/run.sh wide/run.sh | tr '\n' ' ')" = "750 755 " ] ||
    complain "modes of run.sh: $(stat -c %a narrow/run.sh wide/run.sh | tr '\n' ' ')"
[ ! -x made/args.sh ] || complain "args.sh can be run, and is no program"
for file in made/*.sh made/submit.sbatch; do
    bash -n "$file" || complain "$file is no script"
done

touch made/mine
"$plait" launch fits.json -o made 2>err && complain "launch over other files"
grep -q 'made: expected a new or empty folder, found' err || complain "$(cat err)"
echo stale >made/args.sh
"$plait" launch fits.json -o made/ --force >/dev/null || complain "launch --force: $?"
grep -q stale made/args.sh && complain "--force leaves an old file"
[ -e made/mine ] || complain "--force takes away a file that is not its own"

# The folder is a new one with the other files of the old one; no temporary folder remains.
mkdir -p made/logs/deep && echo kept >made/logs/deep/log && chmod 750 made
log=$(stat -c %i made/logs/deep/log)
"$plait" launch fits.json -o made --force >/dev/null || complain "launch --force: $?"
[ "$(stat -c %i made/logs/deep/log) $(stat -c %a made)" = "$log 750" ] || complain "an open log would be lost"
[ -z "$(ls -d -- made.* 2>/dev/null)" ] || complain "launch --force leaves $(ls -d made.*)"

mkdir empty && "$plait" launch fits.json -o empty >/dev/null || complain "launch into an empty folder"
mkdir -p blocked/args.sh && "$plait" launch fits.json -o blocked --force 2>err &&
    complain "launch over a folder called args.sh"
[ "$(ls blocked)" = args.sh ] || complain "half of the files: $(ls blocked)"
ln -s empty link && "$plait" launch fits.json -o link --force >/dev/null || complain "launch by a link"
[ -L link ] || complain "the link is gone"

# A plan of another runtime is priced and launched with the defaults of the target.
eval_plan xla.json llama-3.1-8b h100-80gb-sxm:1x8 --seq 4096 --gbs 64 --tp 2 --runtime xla --zero 1 --cp-comm allgather
"$plait" launch xla.json --target megatron -o foreign >/dev/null || complain "launch of a plan of xla: $?"
grep -qx '# plait: runtime megatron' foreign/args.sh || complain "the launch is not megatron's"
"$plait" import --from megatron foreign/args.sh --cluster h100-80gb-sxm:1x8 -o back.json >/dev/null
step=$("$plait" eval --plan back.json --json | sed -nE 's/^      "step_s": ([0-9]+\.[0-9]{3}).*/\1/p')
grep -q "^# predicted: ${step%?}" foreign/args.sh || complain "expected $step: $(sed -n 5p foreign/args.sh)"

# ---- values of the site ----

"$plait" launch fits.json -o site --container nvcr.io/nvidia/nemo:26.04 --account llm >/dev/null || complain "launch --container: $?"
grep -qx '#SBATCH --account=llm' site/submit.sbatch || complain "no account"
grep -q -- '--container-image=nvcr.io#nvidia/nemo:26.04 ' site/submit.sbatch || complain "no image for SLURM"
grep -q 'image: "nvcr.io/nvidia/nemo:26.04"$' site/pytorchjob.yaml || complain "no image for Kubernetes"
grep -q 'image-of-yours' site/pytorchjob.yaml && complain "an image and a placeholder"
grep -qx '##SBATCH --account=NAME' made/submit.sbatch && grep -q 'image-of-yours' made/pytorchjob.yaml || complain "no placeholders"
grep -qx '#SBATCH --time=[0-9]*:00:00' made/submit.sbatch || complain "no time"
refused 2 "--container: expected the name of an image" launch fits.json -o d --container 'a"; rm'
refused 2 "--account: expected the name of an account" launch fits.json -o d --account -x

# ---- the command that run.sh builds from args.sh ----

mkdir bin checkout
cat >bin/torchrun <<'END'
#!/bin/bash
printf '%s\n' "$PWD" "$CUDA_DEVICE_MAX_CONNECTIONS" "$@"
END
chmod +x bin/torchrun
MEGATRON=$PWD/checkout PATH=$PWD/bin:$PATH NODE_RANK=0 ./made/run.sh --exit-interval 5 >ran ||
    complain "run.sh: $?"
[ "$(sed -n 1,2p ran | tr '\n' ' ')" = "$(realpath checkout) 1 " ] || complain "run.sh starts in $(sed -n 1,2p ran)"
grep -qx -- --nproc_per_node ran && grep -qx 8 ran || complain "run.sh lacks the GPUs of a node"
[ "$(tail -n 1 ran)" = 5 ] || complain "run.sh drops its own arguments"
(cd made && env -u MEGATRON ./run.sh 2>&1) | grep -q 'expected the folder of a checkout of Megatron-LM' ||
    complain "run.sh does not ask for the checkout"

# ---- the ranks that submit.sbatch derives from many nodes ----

# The list is longer than a pipe holds: a reader that closes early would kill the writer, and with it the job.
cat >bin/scontrol <<'END'
#!/bin/bash
for ((i = 0; i < 20000; i++)); do echo "node$i"; done
END
printf '#!/bin/bash\necho "$HEAD $*"\n' >bin/srun
chmod +x bin/scontrol bin/srun
ran=$(SLURM_JOB_NODELIST='node[0-19999]' SLURM_SUBMIT_DIR=$PWD/made PATH=$PWD/bin:$PATH bash made/submit.sbatch)
[ "${ran%% *}" = node0 ] || complain "submit.sbatch with 20000 nodes: status $?, $ran"

# ---- names with characters that shells interpret ----

name="it's a \\\"model\\\"; rm -rf \$HOME"
sed "s|\"name\": \"llama-3.1-8b\"|\"name\": \"${name//\\/\\\\}\"|" fits.json >named.json
"$plait" launch named.json -o named >/dev/null || complain "launch of a named model: $?"
for file in named/*.sh named/submit.sbatch; do
    bash -n "$file" || complain "$file is no script"
done
MEGATRON=$PWD/checkout PATH=$PWD/bin:$PATH ./named/run.sh >/dev/null || complain "named/run.sh: $?"
"$plait" import --from megatron named/args.sh --json | grep -qF '"name": "it'"'"'s a \"model\"; rm -rf $HOME"' ||
    complain "the name does not come back"

# ---- import ----

"$plait" import --from megatron made/args.sh -o back.json >out || complain "import: $?"
grep -q '^next: repeat this command with --cluster CLUSTER, which the file does not state$' out || complain "import does not say what is missing: $(cat out)"
refused 2 'CLUSTER: expected a name' eval --plan back.json
"$plait" import --from megatron made/args.sh --cluster h100-80gb-sxm:1x8 -o back.json >out
grep -q '^next: plait eval --plan back.json$' out || complain "import does not say what is next"
diff <("$plait" eval --plan back.json | tail -n +2) <("$plait" eval --plan fits.json | tail -n +2) ||
    complain "the plan that was read back has another price"
"$plait" explain --plan back.json --versus fits.json >/dev/null || complain "explain of an import"
printf -- '--tensor-model-parallel-size 2 --bf16 --seq-length 4096\n' >short.sh
"$plait" import --from megatron short.sh --json >short.json 2>err || complain "import of a few flags: $?"
grep -q '"dp": null' short.json && grep -q '"gbs": null' short.json || complain "what is not said is not null"
"$plait" eval llama-3.1-8b h200-141gb-sxm:1x8 --gbs 64 --plan short.json >out || complain "eval: $?"
grep -q '^tp 2, sp 0, pp 1, dp 4, ZeRO 0, mbs 1' out || complain "eval of the import: $(sed -n 4p out)"
printf -- '--tensor-model-parallel-size $TP --cpu-offloading-num-layers 3\n' >open.sh
"$plait" import --from megatron open.sh >/dev/null 2>err || complain "import of an open script: $?"
grep -q 'open.sh: values set outside the file, treated as not given: --tensor-model-parallel-size $TP' err || complain "$(cat err)"
grep -q 'open.sh: options that the price ignores: cpu_offloading_num_layers' err || complain "$(cat err)"


# Arguments of a script follow it; warnings are also in the plan; a file without any setting is rejected.
cat >sized.sh <<'END'
if [ $1 = 7B ]; then LAYERS=32; else LAYERS=80; fi
torchrun --nnodes $NNODES --nproc_per_node 8 pretrain_gpt.py --num-layers $LAYERS --hidden-size 4096 \
    --num-attention-heads 32 --vocab-size 32000 --bf16 --deepspeed --deepspeed_config here.json --odd
END
echo '{"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}}' >here.json
"$plait" import --from megatron sized.sh 7B NNODES=2 --cluster dgx-h100 --json >sized.json 2>err || complain "import with arguments: $?"
grep -q '"gpus": 16' sized.json && grep -q '"count": 32' sized.json || complain "arguments do not reach the script"
grep -q 'sized.sh: 1 option not read; --verbose lists them' err || complain "options that are not read are not counted: $(cat err)"
"$plait" import --from megatron sized.sh 7B --cluster dgx-h100 --verbose >/dev/null 2>err
grep -q 'sized.sh: 1 option not read: odd$' err || complain "options that are not read are not listed: $(cat err)"
grep -q 'neither in the script' err && complain "a JSON beside the script is not read"
"$plait" eval --plan sized.json --seq 1024 --gbs 16 >out || [ $? -eq 1 ] || complain "eval of $(cat out)"
"$plait" import --from megatron sized.sh >/dev/null 2>err
grep -q 'treated as not given: --nnodes $NNODES, --num-layers $1' err || complain "$(cat err)"
grep -q 'give it with --model' err || complain "import does not say what to give: $(cat err)"

# A counter of a loop is unknown; of two launches the last counts, with a warning.
cat >rounds.sh <<'END'
TP=1; for i in 1 2; do TP=$((TP * 2)); done
torchrun --nproc_per_node 8 pretrain_gpt.py --bf16 --micro-batch-size 1
torchrun --nproc_per_node 8 pretrain_gpt.py --bf16 --tensor-model-parallel-size $TP
END
"$plait" import --from megatron rounds.sh >/dev/null 2>err || complain "import of a loop: $?"
grep -q 'treated as not given: --tensor-model-parallel-size for i in 1 2$' err || complain "a loop is read as one round: $(cat err)"
grep -q '2 commands that start training; the one on line 3 is read$' err || complain "two launches: $(cat err)"
echo 'nothing to see' >empty.sh
refused 2 'empty.sh: expected a script, list, JSON or YAML with flags of Megatron-LM' import --from megatron empty.sh
refused 2 'empty.sh: expected a config of torchtitan' import --from torchtitan empty.sh
refused 2 'empty.sh: expected a JSON of DeepSpeed' import --from deepspeed empty.sh
refused 2 'empty.sh: expected a command that starts vllm' import --from vllm empty.sh
refused 2 'empty.sh: expected a command that starts sglang' import --from sglang empty.sh
printf 'ici_tensor_parallelism: 4\nper_device_batch_size: 1\n' >run.yml
refused 2 'run.yml: expected no arguments after a file that is not a script' import --from maxtext run.yml ici_tensor_parallelism=8 --gpus 64

# The report has two lines; --json, -o - and -o FILE write the same plan, also into a pipe.
"$plait" import --from megatron made/args.sh --cluster h100-80gb-sxm:1x8 >out || complain "import: $?"
[ "$(wc -l <out)" = 2 ] || complain "import answers in other than two lines: $(cat out)"
"$plait" import --from megatron made/args.sh --cluster h100-80gb-sxm:1x8 --json | cmp - back.json || complain "import --json is not what -o wrote"
"$plait" import --from megatron made/args.sh --cluster h100-80gb-sxm:1x8 -o - | cmp - back.json || complain "import -o - is not what -o wrote"
printf 'vllm serve meta-llama/Llama-3.1-8B\n' >server.sh
"$plait" import --from vllm server.sh --json | grep -qF '"command": "plait serve llama-3.1-8b CLUSTER --eval --engine vllm' ||
    complain "import --from vllm --json gives no command"

# The batch follows from the sequences of one GPU in a step and the number of GPUs.
echo '{"gradient_accumulation_steps": 4, "train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true}}' >steps.json
"$plait" import --from deepspeed steps.json --gpus 16 --json 2>/dev/null | grep -q '"gbs": 128' || complain "steps and GPUs make no batch"
"$plait" import --from deepspeed steps.json 2>&1 >/dev/null | grep -q 'the global batch depends on gradient_accumulation_steps [0-9]* and the GPUs; give --gpus$' || complain "a batch is lost without a word"

# With one context rank a2a+p2p has no sizes, which Megatron requires.
"$plait" eval llama-2-7b dgx-a100 --seq 4096 --gbs 32 --gpus 32 --tp 8 --cp-comm a2a+p2p --mbs 2 -o one.json >/dev/null &&
    "$plait" launch one.json -o one >/dev/null && "$plait" import --from megatron one/args.sh >/dev/null 2>err ||
    complain "what launch writes of one context rank, import refuses: $(cat err)"

[ $wrong -eq 0 ]
