# plait.bash - completion of plait's command line for bash
#
# Names of models and clusters come from the program itself, flags and words from this file; a test
# holds the flags to `plait COMMAND --help`.

_plait_job='--seq --gbs --gpus --precision --runtime --attention'
_plait_plan='--tp --sp --pp --vpp --cp --cp-comm --ep --etp --dp --zero --shard-group --mbs
    --microbatches --recompute --schedule --grad-sync --fusion --split --order --plan'

_plait_flags() { # _plait_flags COMMAND
    case $1 in
    search) echo "$_plait_job --plan --fix --limit --strategy --objective --top --threads --json --output -o" ;;
    eval) echo "$_plait_job $_plait_plan --json --output -o" ;;
    explain) echo "$_plait_job $_plait_plan --versus --why-not --threads --json" ;;
    launch) echo "--target --output -o --force" ;;
    import) echo "--from --model --cluster --gpus --output -o" ;;
    validate) echo "--json --by --plot" ;;
    calibrate) echo "--accelerator --log --cluster --runtime --evidence --output -o" ;;
    models) echo "--seq --json" ;;
    clusters) echo "--json" ;;
    esac
    echo --help
}

# The words that a flag takes; nothing for numbers.
_plait_words() { # _plait_words FLAG
    case $1 in
    --precision) echo bf16 fp16 fp8 fp8_block mxfp8 nvfp4 ;;
    --runtime) echo megatron megatron-fsdp torchtitan fsdp deepspeed nanotron ;;
    --attention) echo unfused unfused-softmax-kernel flash flash2 flash3 fused ;;
    --strategy) echo auto exhaustive ;;
    --objective) echo time memory cost energy ;;
    --target) echo megatron megatron-bridge torchtitan deepspeed accelerate pipelining companion ;;
    --from) echo megatron torchtitan deepspeed companion ;;
    --model) _plait_names models ;;
    --cluster) _plait_names clusters ;;
    --by) echo source sweep accelerator ;;
    --cp-comm) echo p2p allgather a2a ;;
    --sp) echo 0 1 ;;
    --zero) echo 0 1 2 3 ;;
    --recompute) echo none selective full sac ;;
    --schedule) echo naive gpipe 1f1b interleaved zb-h1 zb-h2 dualpipe ;;
    --grad-sync) echo bulk bucketed shifted ;;
    --fusion) echo none ;;
    --split) echo even embedding loss both spread cost ;;
    --order) echo tp-cp-dp-pp tp-cp-pp-dp ;;
    esac
}

# First column of a list, up to the first empty line; titles and notes are not names.
_plait_names() { # _plait_names models|clusters
    plait "$1" 2>/dev/null | awk 'NR > 1 && NF == 0 { exit } NR > 1 { print $1 }'
}

# How many operands stand between the command and the word being completed.
_plait_operands() {
    local i count=0
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --json | --force | --help | -h) ;;
        -*) i=$((i + 1)) ;;
        *) count=$((count + 1)) ;;
        esac
    done
    echo $count
}

_plait() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local verb=${COMP_WORDS[1]} words

    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W 'search eval explain launch import validate calibrate models clusters --help --version' -- "$word")
        return
    fi
    words=$(_plait_words "$before")
    if [[ -z $words ]]; then
        case $before in
        --plan | --versus | --output | -o | --plot | --log)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        esac
        case $word in
        -*) words=$(_plait_flags "$verb") ;;
        *)
            case $verb:$(_plait_operands) in
            search:0 | eval:0 | explain:0 | models:0) words=$(_plait_names models) ;;
            search:1 | eval:1 | explain:1 | clusters:0) words=$(_plait_names clusters) ;;
            esac
            ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _plait plait
