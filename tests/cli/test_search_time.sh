#!/bin/bash
# test_search_time.sh PLAIT - the time that a search tells is the whole, with what is asked where nothing fits
set -u

plait=$(realpath "$1")

begin=$(date +%s%N)
found=$("$plait" search llama-3.1-405b a100-40gb-sxm:1x8 --seq 8192 --gbs 64 --json)
took=$(($(date +%s%N) - begin))
python3 -c '
import json, sys
found, took_s = json.loads(sys.argv[1]), int(sys.argv[2]) * 1e-9
told_s = found["search"]["elapsed_s"]
assert not found["plans"], "a plan fits: another question is needed"
if not 0.6 * took_s < told_s <= took_s:
    sys.exit("told %.3f s, took %.3f s" % (told_s, took_s))' "$found" "$took"
