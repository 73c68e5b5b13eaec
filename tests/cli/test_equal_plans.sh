#!/bin/bash
# test_equal_plans.sh PLAIT - a search that lists one of several equal plans finds none of the others better
set -u

plait=$1
wrong=0

figure() { # figure FIELD COMMAND...: step_s or peak_bytes of the first plan
    local field=$1
    shift
    "$plait" "$@" --json 2>/dev/null | grep -m1 "\"$field\"" | sed "s/.*: //; s/,.*//"
}

same() { # same WHAT A B
    [ -n "$2" ] && [ "$2" = "$3" ] && return
    echo "$1: '$2' and '$3'"
    wrong=1
}

# One replica: ZeRO has nothing to divide, and a tied table on two stages is summed once under each stage of ZeRO.
job="gpt2 l4-24gb:3x4 --seq 512 --gbs 32 --runtime nanotron"
# shellcheck disable=SC2086
same "ZeRO 0 and 1 of one replica" "$(figure step_s eval $job --tp 4 --pp 3 --mbs 4 --zero 0)" \
    "$(figure step_s eval $job --tp 4 --pp 3 --mbs 4 --zero 1)"

# `spread` assigns layers as `even` does if that divides; a limit to `spread` still finds these plans.
job="gpt2 a100-40gb-sxm:1x6 --seq 512 --gbs 24 --runtime galvatron --refine none"
for limits in pp=3,mbs=4 pp=1,mbs=4; do
    # shellcheck disable=SC2086
    same "$limits, split even and spread" "$(figure step_s search $job --fix "$limits,split=even")" \
        "$(figure step_s search $job --fix "$limits,split=spread")"
done

# The default of fp8_params depends on the stage of ZeRO, so without replicas both stages are listed.
job="gpt2-medium b200-180gb-sxm:1x2 --seq 1024 --gbs 8 --runtime companion --precision mxfp8"
limits="tp=1,pp=2,mbs=1,recompute=none,schedule=1f1b"
# shellcheck disable=SC2086
same "parameters in 8 bits with one replica" \
    "$(figure peak_bytes search $job --refine none --objective memory --fix "$limits")" \
    "$(figure peak_bytes search $job --refine none --objective memory --fix "$limits,zero=1")"
exit $wrong
