#!/bin/bash
# test_calibrate.sh PLAIT - the files, errors and exit statuses of calibrate
set -u

plait=$1
wrong=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

complain() {
    echo "$@"
    wrong=1
}

ends() { # ends STATUS ARGUMENTS...: the exit status
    local expected=$1 status
    shift
    "$plait" calibrate "$@" >"$folder/out" 2>"$folder/err" </dev/null
    status=$?
    [ $status -eq "$expected" ] || complain "calibrate $*: status $status, expected $expected"
}

says() { # says TEXT: of the last command, on standard error
    grep -qF -- "$1" "$folder/err" || complain "expected to read: $1, found: $(cat "$folder/err")"
}

measured=clusters/measurements

# The written file is an accelerator, and has the same bytes by name and on standard output.
ends 0 "$measured/p2p.csv" --accelerator h100-80gb-sxm -o "$folder/a.json"
grep -q '^sends' "$folder/out" || complain "no table of fits"
ends 0 "$measured/p2p.csv" --accelerator h100-80gb-sxm -o -
cmp -s "$folder/out" "$folder/a.json" || complain "-o - and -o FILE differ"
grep -q '^sends' "$folder/err" || complain "no table of fits beside -o -"
ends 0 "$measured/p2p.csv" --accelerator h100-80gb-sxm

# nccl-tests output is recognised by its content.
ends 0 tests/fuzz/corpus/fuzz_nccl_log/long_all_reduce --accelerator h100-80gb-sxm
grep -q '^collectives all_reduce' "$folder/out" || complain "no fit of nccl-tests output"

# An answer without a fit has exit status 1.
ends 1 "$measured/p2p.csv" --accelerator mi300x-192gb -o "$folder/none.json"
[ ! -e "$folder/none.json" ] || complain "wrote a file without a fit"

ends 2
says "KERNELS.csv"
ends 2 "$measured/p2p.csv"
says "h100-80gb-sxm and a100-80gb-sxm"
ends 2 "$measured/p2p.csv" --accelerator h1000
says "h100"
ends 2 tests/validation/published_runs.tsv
ends 2 --log tests/validation/runs.csv
says "--cluster"
ends 2 --cluster dgx-h100
says "--log"

# The shipped profiles are the result of a fit to the measured runs.
ends 0 --runtime fsdp tests/validation/runs.csv -o "$folder/runtime.json"
cmp -s "$folder/runtime.json" clusters/runtimes/fsdp.json || complain "another profile"

# A dated profile is fitted to the runs of its releases, half as fast again here, and stores only the numbers that they determine.
export PLAIT_DATA=$folder/data
mkdir -p "$PLAIT_DATA/clusters/runtimes"
{
    head -n 1 tests/validation/runs.csv
    grep ',fsdp,' tests/validation/runs.csv
    grep ',fsdp,' tests/validation/runs.csv | awk -F, -v OFS=, \
        '$(NF - 4) > 0 {sub(/\r$/, ""); $1 = "old" $1; $(NF - 4) *= 1.5; $NF = $NF " release=20.01"; print}'
} >"$folder/dated.csv"
grep -q 'release=20.01$' "$folder/dated.csv" || complain "no runs of a release"
variant=$PLAIT_DATA/clusters/runtimes/fsdp@20.03.json
ends 0 --runtime fsdp@20.03 "$folder/dated.csv" -o "$variant"
grep -q '"variant_of": "fsdp"' "$variant" || complain "a variant of nothing"
grep -qE '"gemm": [0-9.]+' "$variant" || complain "no number in a variant whose runs are slow"
grep -q '"rules"' "$variant" && complain "a variant with more than what differs"
"$plait" validate "$folder/dated.csv" --json >"$folder/priced" || complain "a variant that does not load"
cp "$variant" "$folder/once.json"
ends 0 --runtime fsdp@20.03 "$folder/dated.csv" -o "$folder/twice.json"
cmp -s "$folder/once.json" "$folder/twice.json" || complain "another fit changes a variant"
ends 0 --evidence "$folder/dated.csv" -o "$folder/evidence.csv"
unset PLAIT_DATA
ends 2 --runtime fsdp@2020 "$folder/dated.csv" -o "$folder/none.json"
says "fsdp@2020: expected a month such as 25.09 after @"
ends 2 --runtime no-such-runtime@25.09 "$folder/dated.csv" -o "$folder/none.json"
says "no-such-runtime"
ends 2 --runtime no-such-runtime tests/validation/runs.csv -o "$folder/none.json"
says "no-such-runtime"

# Measured steps of a site give a cluster that other commands accept.
{
    head -n 1 tests/validation/runs.csv
    grep mosaicml_llm_foundry tests/validation/runs.csv | grep h100-80gb-sxm | head -n 6
} >"$folder/runs.csv"
ends 0 --log "$folder/runs.csv" --cluster dgx-h100 -o "$folder/site.json"
grep -q '^compute efficiency x ' "$folder/out" || complain "no factor on compute"
"$plait" eval llama-3.1-8b "$folder/site.json" --gpus 8 --seq 4096 --gbs 32 --tp 2 >/dev/null ||
    complain "the cluster that was written has no price"
grep -q warning "$folder/err" && complain "warned of steps that are as predicted"
# A column in another unit is not mistaken for a slow site.
python3 - "$folder/runs.csv" >"$folder/milliseconds.csv" <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
out = csv.DictWriter(sys.stdout, rows[0].keys())
out.writeheader()
for row in rows:
    out.writerow(row | {"step_time_s": 1000 * float(row["step_time_s"])})
END
ends 0 --log "$folder/milliseconds.csv" --cluster dgx-h100 -o "$folder/site.json"
says "milliseconds.csv: predicted and measured steps still differ by "
says "step_time_s is in seconds"

# Evidence: each source is predicted without its own runs; the runs of the other source are fitted.
grep -E '^(id|korthikanti|megatron_readme)' tests/validation/runs.csv >"$folder/runs.csv"
ends 0 --evidence "$folder/runs.csv" -o "$folder/evidence.csv"
grep -qE '^ +korthikanti.* other sources ' "$folder/out" || complain "no table of sources left out"
[ "$(wc -l <"$folder/evidence.csv")" -eq 22 ] || complain "expected 21 rows of evidence and a header"
ends 0 --evidence "$folder/runs.csv" -o -
cmp -s "$folder/out" "$folder/evidence.csv" || complain "evidence: -o - and -o FILE differ"
ends 2 --evidence "$folder/runs.csv" "$folder/runs.csv"
says "expected --evidence without other files"
ends 2 --evidence "$folder/none.csv"

# One task at a time, and the output file is checked before the work.
ends 2 --runtime megatron --log "$folder/runs.csv" "$folder/runs.csv"
says "expected --log or --runtime, found both"
ends 2 --evidence "$folder/runs.csv" -o "$folder/no/such/evidence.csv"
says "$folder/no/such/evidence.csv"
[ ! -s "$folder/out" ] || complain "--evidence worked before it refused its output"

exit $wrong
