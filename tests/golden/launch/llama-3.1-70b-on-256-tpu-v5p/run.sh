#!/bin/bash
# run.sh - start one host; run the same on each host of 1 slice of 256 chips
#
#   gcloud compute tpus tpu-vm ssh NAME --worker=all --command=...    does so in one slice
#
# Arguments, KEY=VALUE each, are laid over the configuration.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

cd "${MAXTEXT:?expected the folder of a checkout of MaxText}"
exec python3 -m maxtext.trainers.pre_train.train "$here/config.yml" "$@"
