#!/bin/bash
# test_kit.sh PLAIT - the measuring kit: its folder, its scripts, and the calibration from its tables
set -u

plait=$(realpath "$1")
wrong=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PYTHONDONTWRITEBYTECODE=1

complain() {
    echo "$@"
    wrong=1
}

ends() { # ends STATUS ARGUMENTS...: the exit status
    local expected=$1 status
    shift
    "$plait" calibrate "$@" >"$folder/out" 2>"$folder/err" </dev/null
    status=$?
    [ $status -eq "$expected" ] ||
        complain "calibrate $*: status $status, expected $expected: $(cat "$folder/err")"
}

says() { # says TEXT: of the last command, on one line of standard error
    grep -qF -- "$1" "$folder/err" || complain "expected to read: $1, found: $(cat "$folder/err")"
    [ "$(wc -l <"$folder/err")" -eq 1 ] || complain "more than one line: $(cat "$folder/err")"
}

# ---- the folder ----

kit=$folder/kit
ends 0 --kit "$kit"
[ "$(cd "$kit" && echo *)" = "README.md kit.py kit.sbatch nccl.sh" ] || complain "files: $(ls "$kit")"
for file in "$kit"/*; do
    cmp -s "$file" "clusters/kit/${file##*/}" || complain "$file is another than in clusters/kit"
    grep -qF "  ${file##*/} " "$folder/out" || complain "${file##*/} is not said"
done
for file in kit.py kit.sbatch nccl.sh; do
    [ -x "$kit/$file" ] || complain "$file cannot be started"
done

# Existing files are never overwritten: neither results, nor an edited kit, nor a file.
echo mine >"$kit/gemm.csv"
ends 2 --kit "$kit"
says "expected a new or empty folder"
ends 0 --kit "$kit" --force
[ "$(cat "$kit/gemm.csv")" = mine ] || complain "--force took a result away"
rm "$kit/gemm.csv"
ends 2 --kit "$kit/kit.py"
says "kit.py"
ends 2 --kit "$folder/no/such/kit"
[ ! -e "$folder/no" ] || complain "a folder was made on the way to a refusal"

ends 2 --kit ''
says "--kit: expected the name of a folder"
ends 2 --kit "$folder/other" "$kit/kit.py"
says "expected --kit without measurements"
ends 2 --kit "$folder/other" -o "$folder/a.json"
says "expected -o or --kit"
ends 2 --kit "$folder/other" --log runs.csv
says "expected --kit or --log, found both"
ends 2 --force clusters/measurements/p2p.csv
says "--force"
[ ! -e "$folder/other" ] || complain "a refusal wrote a folder"

# ---- its scripts ----

if command -v shellcheck >/dev/null; then
    shellcheck "$kit/nccl.sh" "$kit/kit.sbatch" || complain "shellcheck"
fi
for script in nccl.sh kit.sbatch; do
    bash -n "$kit/$script" || complain "$script is no shell script"
done

# Without a GPU and without PyTorch the tables have the same rows.
if command -v python3 >/dev/null; then
    python3 -c 'import sys; compile(open(sys.argv[1]).read(), "kit.py", "exec")' "$kit/kit.py" ||
        complain "kit.py does not compile"
    [ "$(wc -l <"$kit/kit.py")" -le 340 ] || complain "kit.py is long"
    for what in kernels links; do
        python3 "$kit/kit.py" $what --dry --gpu 'NVIDIA H100 80GB HBM3' >"$folder/out" ||
            complain "kit.py $what --dry"
    done
    for file in tests/data/kit/*.csv; do
        cmp -s "$file" "$kit/${file##*/}" ||
            complain "$file is not what kit.py --dry writes: run it with --out tests/data/kit"
    done
    [ "$(cd "$kit" && echo *.csv)" = "$(cd tests/data/kit && echo *.csv)" ] ||
        complain "tests/data/kit lacks a table"
    ! python3 "$kit/kit.py" nothing >"$folder/out" 2>&1 || complain "kit.py takes any word"
fi

# ---- nccl-tests, replaced by programs that take 1 us + 10 us a MiB ----

mkdir "$folder/bin"
cat >"$folder/bin/all_reduce_perf" <<'END'
#!/bin/bash
ranks=${RANKS:-0} hosts=${HOSTS_OF_RANKS:-1}
[ "$ranks" -gt 0 ] || ranks=${*: -1}
echo "# nccl-tests version 2.18.2 nccl-headers=23007 nccl-library=23007"
echo "# Collective test starting: ${0##*/}"
echo "# nThread 1 nGpus 1 minBytes 4096 maxBytes 536870912 step: 2(factor)"
for ((r = 0; r < ranks; r++)); do
    echo "#  Rank $r Group  0 Pid 7$r on node-$((r * hosts / ranks)) device 0 [0x8d] NVIDIA H100 80GB HBM3"
done
echo "#       size         count      type   redop    root     time   algbw   busbw #wrong"
for ((bytes = 4096; bytes <= 1 << 29; bytes *= 2)); do
    us=$((1 + bytes / 104858))
    echo "  $bytes $((bytes / 4)) float none -1 $us.00 $((bytes / us / 1000)).5 1.00 N/A"
done
END
cat >"$folder/bin/mpirun" <<'END'
#!/bin/bash
[ "$1 $2 $3 $4" = "-np 8 -H a:4,b:4" ] || exit 9
RANKS=8 HOSTS_OF_RANKS=2 "${@:7}"
END
for test in all_gather reduce_scatter alltoall sendrecv; do
    cp "$folder/bin/all_reduce_perf" "$folder/bin/${test}_perf"
done
chmod +x "$folder"/bin/*

rm -f "$kit"/*.csv
HOSTS=a,b GPUS=4 NCCL_TESTS=$folder/bin "$kit/nccl.sh" >"$folder/out" || complain "nccl.sh failed"
tables=("$kit"/*_perf-*.csv)
[ ${#tables[@]} -eq 15 ] || complain "tables of nccl-tests: ${tables[*]}"
[ -z "$(find "$kit" -name '*.part')" ] || complain "nccl.sh left a table unfinished"
if ! command -v all_reduce_perf >/dev/null; then
    ! GPUS=4 "$kit/nccl.sh" 2>"$folder/err" || complain "nccl.sh ran without nccl-tests"
    says "expected all_reduce_perf"
fi

# The driver's name identifies the accelerator, here with 4 GPUs a node on two nodes.
ends 0 "$kit"/*.csv -o "$folder/accelerator.json" --site "$folder/cluster.json"
grep -q '^h100-80gb-sxm$' "$folder/out" || complain "another accelerator: $(head -n 1 "$folder/out")"
grep -q '^links between nodes: 90 collectives and sends' "$folder/out" || complain "no links: $(cat "$folder/out")"
"$plait" clusters "$folder/accelerator.json:2x4" >/dev/null || complain "accelerator.json is none"
"$plait" clusters "$folder/cluster.json" | grep -q '^h100-80gb-sxm, 4 a node' ||
    complain "another node: $("$plait" clusters "$folder/cluster.json" | head -n 4)"
"$plait" eval llama-3.1-8b "$folder/cluster.json" --gpus 8 --seq 4096 --gbs 32 --tp 2 >/dev/null ||
    complain "the cluster that was written has no price"

# A user's cluster keeps the numbers that were not measured; the accelerator of another cluster is rejected.
ends 0 "$kit"/*.csv --cluster h100-80gb-sxm:16x4,nic=200 --site -
grep -q '"nodes": 16' "$folder/out" || complain "--cluster is not the cluster that was written"
ends 2 "$kit"/*.csv --cluster dgx-a100 --site "$folder/no.json"
says "--cluster: expected a cluster of only h100-80gb-sxm"
ends 2 "$kit"/*.csv --cluster h100-80gb-sxm:1x4 --site "$folder/no.json"
says "expected at most the 4 GPUs"
ends 2 "$kit"/*.csv -o - --site -
says "--site: expected a file, since -o -"
ends 2 "$kit"/*.csv --site "$folder/no/such.json"
says "no/such.json"
ends 2 --log runs.csv --site "$folder/no.json"
says "expected --site or --log, found both"
[ ! -e "$folder/no.json" ] || complain "a refusal wrote a cluster"

# A killed job leaves half a row.
head -c -20 "$kit/all_gather_perf-2x4.csv" >"$folder/all_gather_perf.csv"
ends 2 "$folder/all_gather_perf.csv"
says "all_gather_perf.csv:"
exit $wrong
