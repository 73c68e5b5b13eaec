#!/bin/bash
# test_launch_files.sh PLAIT - what launch writes is well formed: scripts for shellcheck, YAML, Python, JSON, TOML
#
# The folders are the reviewed ones of tests/golden/launch, which the golden tests compare with the
# output of this build.
set -u

cd "$(dirname "$0")/../golden/launch" || exit 1
wrong=0
checked=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

check() { # check FILE WORDS...: the words find nothing to say about the file
    local file=$1
    shift
    checked=$((checked + 1))
    "$@" "$file" || complain "$file is not well formed"
}

load='import sys; list(yaml.safe_load_all(open(sys.argv[1])))'
for file in */*; do
    case $file in
    *.sh | *.sbatch) check "$file" shellcheck ;;
    *.yaml | *.yml) check "$file" /usr/bin/python3 -c "import yaml; $load" ;;
    *.py) check "$file" /usr/bin/python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' ;;
    *.toml) check "$file" /usr/bin/python3 -c 'import tomllib, sys; tomllib.load(open(sys.argv[1], "rb"))' ;;
    *.json) check "$file" /usr/bin/python3 -c 'import json, sys; json.load(open(sys.argv[1]))' ;;
    *.service) check "$file" python3 -c "import configparser, sys
unit = configparser.RawConfigParser(strict=False)
unit.read(sys.argv[1])
assert unit.has_option('Service', 'ExecStart') and unit.has_section('Unit')" ;;
    *.csv) ;;
    *) complain "$file: no check for such a file" ;;
    esac
done
echo "$checked files"
[ $wrong -eq 0 ] && [ $checked -gt 40 ]
