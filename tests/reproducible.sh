#!/bin/bash
# reproducible.sh BUILD - compiles a room once more, from a copy of the tree in another folder
#
# The objects must have the same bytes: names of folders, times and the order of files leave no trace
# in code or debug information. `./dev reproduce` does so for all that is released.
set -eu
build=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
copy=$scratch/copy-of-the-tree

quietly() { "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }; }

mkdir "$copy"
tar --create --exclude=./build --exclude=./.git --exclude=./tests . | tar --extract --directory="$copy"
quietly env --chdir="$copy" cmake --preset release -DBUILD_TESTING=OFF -DPLAIT_CHARTS=OFF -DPLAIT_MPI=OFF
quietly cmake --build "$copy/build/release" --target plait_io
cd "$build/CMakeFiles/plait_io.dir"
compared=0
while IFS= read -r object; do
    cmp "$object" "$copy/build/release/CMakeFiles/plait_io.dir/$object"
    compared=$((compared + 1))
done < <(find . -name '*.o')
echo "$compared objects"
[ $compared -gt 0 ]
