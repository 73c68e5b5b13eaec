#!/bin/bash
# run.sh - starts training on one host; run it on each host of 1 slice of 256 chips
#
#   gcloud compute tpus tpu-vm ssh NAME --worker=all --command=...    runs it on all hosts of a slice
#
# Arguments of the form KEY=VALUE override the configuration.
set -euo pipefail
unset CDPATH
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/." && pwd)

cd -- "${MAXTEXT:?expected the folder of a checkout of MaxText}"
exec python3 -m maxtext.trainers.pre_train.train "$here/config.yml" "$@"
