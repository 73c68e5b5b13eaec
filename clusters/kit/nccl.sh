#!/bin/bash
# nccl.sh - collectives and sends by nccl-tests, in one node and between nodes
#
#   ./nccl.sh                      on one node: 2, 4, ... and all of its GPUs
#   HOSTS=node1,node2 ./nccl.sh    also between nodes, started by mpirun
#   sbatch kit.sbatch              also between the nodes of a job, started by srun
#
# Between nodes nccl-tests has to be built with MPI=1. Its programs are looked for in $NCCL_TESTS, then
# in $PATH. The tables are what they print; they are named .csv so that `plait calibrate *.csv` reads
# them with those of kit.py.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -z "${NCCL_TESTS:-}" ] || PATH=$NCCL_TESTS:$PATH
command -v all_reduce_perf >/dev/null || {
    echo "nccl.sh: expected all_reduce_perf of nccl-tests in \$NCCL_TESTS or \$PATH, found none;" \
        "kit.py links measures without it" >&2
    exit 1
}

tests=(all_reduce_perf all_gather_perf reduce_scatter_perf alltoall_perf sendrecv_perf)
sizes=(-b 4K -e 512M -f 2 -n 20 -w 3 -c 0)
gpus=${GPUS:-$(nvidia-smi --list-gpus | wc -l)}

table() { # table TEST NODES RANKS COMMAND...: what COMMAND prints, once it has come to its end
    local file="$here/$1-$2x$3.csv"
    "${@:4}" >"$file.part"
    mv "$file.part" "$file"
    echo "$file"
}

between() { # between NODES COMMAND...: one process a GPU of all nodes
    if [ -n "${HOSTS:-}" ]; then
        mpirun -np $(($1 * gpus)) -H "${HOSTS//,/:$gpus,}:$gpus" --map-by "ppr:$gpus:node" "${@:2}"
    else
        srun --mpi="${MPI:-pmix}" --nodes="$1" --ntasks=$(($1 * gpus)) --ntasks-per-node="$gpus" "${@:2}"
    fi
}

nodes=${SLURM_NNODES:-1}
[ -z "${HOSTS:-}" ] || nodes=$(tr ',' '\n' <<<"$HOSTS" | wc -l)
for test in "${tests[@]}"; do
    for ((ranks = 2; ranks <= gpus; ranks *= 2)); do
        table "$test" 1 "$ranks" "$test" "${sizes[@]}" -g "$ranks"
    done
    [ "$nodes" -lt 2 ] || table "$test" "$nodes" "$gpus" between "$nodes" "$test" "${sizes[@]}" -g 1
done
