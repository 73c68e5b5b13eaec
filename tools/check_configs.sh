#!/bin/bash
# check_configs.sh [OPTION VALUE]... FILE... - reads launch configs and prices them, for CI and pre-commit
#
# OPTIONs are those of `plait doctor`. With --cluster each job is priced, and one that does not fit or
# cannot run is an error; without it, or with --from an engine or a framework of reinforcement
# learning, whose lengths and loads no file states, the configs are only read. PLAIT names the program.
set -uo pipefail

readonly plait=${PLAIT:-plait}

options=()
priced=0
while [ $# -gt 0 ]; do
    case $1 in
    --)
        shift
        break
        ;;
    --*=*) options+=("$1") ;;
    --assume-llama | --verbose | --frontier | --padding | --balance) options+=("$1") ;;
    --*)
        [ $# -gt 1 ] || { echo "check_configs.sh: $1: expected a value, found none" >&2; exit 2; }
        options+=("$1" "$2")
        shift
        ;;
    *) break ;;
    esac
    shift
done
for ((i = 0; i < ${#options[@]}; i++)); do
    case ${options[i]} in
    --cluster | --cluster=*) priced=1 ;;
    esac
    case ${options[i]}=${options[i + 1]:-} in
    --from=vllm* | --from=sglang* | --from=trtllm* | --from=verl* | --from=nemo-rl*) read_only=1 ;;
    esac
done
command -v "$plait" >/dev/null || { echo "check_configs.sh: expected plait on the path, found none; set PLAIT to the program" >&2; exit 3; }

verb=import
[ $priced -eq 0 ] || [ "${read_only:-0}" -eq 1 ] || verb=doctor
checked=0
wrong=0
for file in "$@"; do
    checked=$((checked + 1))
    if said=$("$plait" "$verb" "${options[@]}" "$file" 2>&1 </dev/null); then
        if [ $verb = doctor ]; then # the plan and its price
            grep -A 1 -F "$file: " <<<"$said" || printf '%s\n' "$said"
        else
            printf '%s\n' "$said"
        fi
    else
        printf '%s\n' "$said" >&2
        echo "$file: not accepted by plait $verb" >&2
        wrong=$((wrong + 1))
    fi
done
echo "$checked configs, $wrong wrong"
[ $wrong -eq 0 ]
