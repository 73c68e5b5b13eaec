#!/bin/bash
# run.sh - start all nodes of plan.yaml from one: FlagScale's runner reaches them by ssh
#
#   HOSTFILE=hosts ./run.sh    lines "NAME slots=8", one a node, 128 of them
#
# Arguments are handed on behind those of the plan: action=dryrun, action=stop.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
hostfile=${HOSTFILE:?expected a file that names the nodes}

cd "${FLAGSCALE:?expected the folder of a checkout of FlagScale}"
exec python run.py --config-path "$here" --config-name plan \
    experiment.runner.hostfile="$hostfile" "$@"
