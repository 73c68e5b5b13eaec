#!/bin/bash
# test_launch_run.sh PLAIT - every script that launch and rl write runs, and starts what the plan states
#
# The scripts of each target run on their own, under SLURM, in pods and as systemd units, with stubs in
# place of the runtimes (launch_run/stubs): what a stub receives is compared with the plan, word by
# word. Folders, models, containers and variables have names that shells and YAML interpret. Folders
# that import reads come back at the same step time.
set -u

exec /usr/bin/python3 -B "$(dirname "$0")/launch_run/run.py" "$(realpath "$1")"
