#!/bin/bash
# abi.sh LIBRARY - checks that a program of an earlier build of the library runs with this one
#
# tests/abi/libplait.abi has the functions, structs, fields and values of the public headers, as abidw
# reads them off the debug information of gcc. New functions are welcome, anything else fails and is shown.
# Where no such program can notice (room that a struct kept for later, a soname that was not
# released), UPDATE_GOLDEN=1 writes the file anew; else the soname has to be raised: docs/dev/releasing.md.
set -eu
library=$1
kept=tests/abi/libplait.abi
command -v abidw >/dev/null || { echo "no abidw: the binary interface is not looked at"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

abidw --headers-dir include/plait --drop-private-types --exported-interfaces-only --no-corpus-path \
    --no-comp-dir-path --no-show-locs --no-parameter-names --no-elf-needed --no-write-default-sizes \
    --type-id-style hash --out-file "$scratch/now.abi" "$library"
if [ -n "${UPDATE_GOLDEN:-}" ]; then
    cp "$scratch/now.abi" "$kept"
fi
abidiff --no-added-syms "$kept" "$scratch/now.abi"
