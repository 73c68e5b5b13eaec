#!/bin/bash
# abi.sh LIBRARY - checks that a program of an earlier build of the library runs with this one
#
# tests/abi/libplait.abi has the functions, structs, fields and values of the public headers, as abidw
# reads them off the debug information of gcc, except functions and constants of plait/lowlevel, which
# may change. New functions are welcome, anything else fails and is shown.
# Where no such program can notice (room that a struct kept for later, a soname that was not
# released), UPDATE_GOLDEN=1 writes the file anew; else the soname has to be raised: docs/dev/releasing.md.
set -eu
library=$1
kept=tests/abi/libplait.abi
command -v abidw >/dev/null || { echo "no abidw: the binary interface is not looked at"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

names=$(sed -nE '/^(PLAIT_MUST_CHECK |extern )?[a-z]/s/^[^([]*\<(plait_[a-z_0-9]+)[([].*/\1/p' \
    include/plait/lowlevel/*.h | sort -u | paste -sd '|')
printf '[suppress_function]\n  symbol_name_regexp = ^(%s)$\n  drop = yes\n' "$names" >"$scratch/lowlevel"
sed 's/suppress_function/suppress_variable/' "$scratch/lowlevel" >"$scratch/lowlevel_constants"
abidw --suppressions "$scratch/lowlevel" --suppressions "$scratch/lowlevel_constants" \
    --headers-dir include/plait --drop-private-types --exported-interfaces-only --no-corpus-path \
    --no-comp-dir-path --no-show-locs --no-parameter-names --no-elf-needed --no-write-default-sizes \
    --type-id-style hash --out-file "$scratch/now.abi" "$library"
if [ -n "${UPDATE_GOLDEN:-}" ]; then
    cp "$scratch/now.abi" "$kept"
fi
abidiff --no-added-syms "$kept" "$scratch/now.abi"
