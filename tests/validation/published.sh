#!/bin/bash
# published.sh PLAIT - prices published runs as they were run and prints our error beside each
#
# Fails when a run gets no price, or when the table in docs/accuracy/training.md differs; errors
# are printed, not judged. One row a run in published_runs.tsv: name, source, model, cluster, options of
# `plait eval`, measured seconds.
set -u
plait=$1
runs=$(dirname "$0")/published_runs.tsv
document=$(dirname "$0")/../../docs/accuracy/training.md

table() {
    local run model cluster options measured answer predicted
    printf '| run | measured | predicted | error |\n|---|---:|---:|---:|\n'
    while IFS=$'\t' read -r run _ model cluster options measured; do
        [ "$run" = run ] && continue
        # shellcheck disable=SC2086  # options are words
        answer=$("$plait" eval "$model" "$cluster" $options --json </dev/null)
        predicted=$(sed -n 's/^ *"step_s": \([0-9.e+-]*\),*$/\1/p' <<<"$answer" | head -n 1)
        if [ -z "$predicted" ]; then
            printf '| %s | %s s | none | |\n' "$run" "$measured"
            continue
        fi
        awk -v run="$run" -v m="$measured" -v p="$predicted" 'BEGIN {
            printf "| %s | %.4g s | %.4g s | %+.1f %% |\n", run, m, p, 100 * (p / m - 1)
        }'
    done <"$runs"
}

printed=$(table)
echo "$printed"
! grep -q '| none |' <<<"$printed" || exit 1
diff -u --label "$document" --label printed \
    <(sed -n '/^| run | measured |/,/^$/{/^$/d;p}' "$document") <(echo "$printed")
