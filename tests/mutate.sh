#!/bin/bash
# mutate.sh FOLDER RUNS - mutates every JSON, CSV, TOML, YAML and script of the tree, RUNS times each
#
# FOLDER holds the fuzz targets, built with sanitizers. Each tracked file is, alone, the seed of every
# target that reads its sort; files of a question (models, clusters, accelerators, runtimes) are also
# answered, a tenth as often, since an answer is a search. An input that breaks something is left in
# FOLDER/mutated-*. The last line is "N passed, N failed": a file and a target count as one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly folder=$1
readonly runs=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0 executions=0

mutate() { # mutate TARGET FILE RUNS [FIRST BYTE]
    local corpus=$scratch/corpus log=$scratch/log count
    rm -rf "$corpus"
    mkdir "$corpus"
    { printf '%s' "${4:-}"; cat "$2"; } >"$corpus/seed"
    if "$folder/$1" "-runs=$3" -seed=1 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
        "-artifact_prefix=$folder/mutated-" "$corpus" </dev/null >"$log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1 fails on a mutation of $2"
        tail -n 40 "$log"
    fi
    count=$(sed -nE 's/^stat::number_of_executed_units: +//p' "$log")
    executions=$((executions + ${count:-0}))
}

readers_of() { # the targets that read a file, a line each
    case $1 in *.json) echo fuzz_json ;; esac
    case $1 in
    models/cases/*.json) echo fuzz_cases ;;
    models/*.json | tests/data/hf_configs/*) echo fuzz_model ;;
    clusters/accelerators/*.json) echo fuzz_accelerator ;;
    clusters/families/*.json) echo fuzz_family ;;
    clusters/runtimes/*.json) echo fuzz_runtime ;;
    clusters/engines/*.json) echo fuzz_serving ;;
    clusters/*.json | tests/data/clusters/*) echo fuzz_cluster ;;
    */launch.json) echo fuzz_companion; echo fuzz_import ;;
    *.csv) echo fuzz_csv; echo fuzz_serving ;;
    tests/golden/*.json | tests/cli/*.json | tests/golden/*/plans*) echo fuzz_plans; echo fuzz_import ;;
    *.toml | *.yaml | *.yml | *.sh | *.sbatch) echo fuzz_import ;;
    esac
}

# The byte that fuzz_answer knows a file of a question by.
role_of() {
    case $1 in
    models/cases/* | clusters/families/* | clusters/engines/* | clusters/measurements/*) ;;
    models/*.json) echo m ;;
    clusters/accelerators/*.json) echo a ;;
    clusters/runtimes/*.json) echo r ;;
    clusters/*.json) echo c ;;
    esac
}

while IFS= read -r file; do
    echo "$executions executions before $file"
    while IFS= read -r target; do
        mutate "$target" "$file" "$runs"
    done < <(readers_of "$file")
    role=$(role_of "$file")
    [ -z "$role" ] || mutate fuzz_answer "$file" $((runs / 10 + 1)) "$role"
done < <(git ls-files '*.json' '*.csv' '*.toml' '*.yaml' '*.yml' '*.sh' '*.sbatch' tests/data/hf_configs)
echo "$executions executions"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
