#!/bin/bash
# run.sh - starts plan.yaml on all nodes; FlagScale's runner reaches them by ssh
#
#   HOSTFILE=hosts ./run.sh    hosts: lines "NAME slots=8", one for each of 128 nodes
#
# Further arguments, such as action=dryrun, are appended to those of the plan.
set -euo pipefail
unset CDPATH
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/." && pwd)
: "${HOSTFILE:?expected a file that names the nodes}"

[ -z "${HOSTFILE:-}" ] || HOSTFILE=$(realpath -- "$HOSTFILE")
export HOSTFILE
cd -- "${FLAGSCALE:?expected the folder of a checkout of FlagScale}"
exec python run.py --config-path "$here" --config-name plan "$@"
