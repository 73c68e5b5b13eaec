#!/bin/bash
# wheel.sh BUILD FOLDER - packs python/ with the program of a build into FOLDER/plait-VERSION-....whl
#
# The same files give the same bytes: times are those of the last commit, and permissions do not
# depend on the umask. It needs Debian's python3-setuptools and python3-wheel, and no network.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly build=$1 folder=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
umask 022

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
export SOURCE_DATE_EPOCH
cmake --install "$build" --prefix "$scratch/prefix" --component program --strip >/dev/null
mkdir -p "$scratch/python" "$folder"
cp CMakeLists.txt "$scratch" # setup.py reads the version there
cp -r --no-preserve=mode LICENSE python/{pyproject.toml,setup.py,plait} "$scratch/python"
find "$scratch/python" -name __pycache__ -prune -exec rm -r {} +
program=$scratch/python/plait/program
mkdir -p "$program"/{bin,share/doc/plait}
install -m 755 "$scratch/prefix/bin/plait" "$program/bin"
cp -r --no-preserve=mode "$scratch/prefix/share/plait" "$program/share"
cp --no-preserve=mode "$scratch"/prefix/share/doc/plait/{copyright,plait.cdx.json} \
    "$program/share/doc/plait"
cd "$scratch/python"
/usr/bin/python3 setup.py --quiet bdist_wheel --dist-dir "$scratch/wheel" >"$scratch/log" 2>&1 ||
    { cat "$scratch/log" >&2; exit 1; }
cd "$OLDPWD"
rm -f "$folder"/plait-*.whl
cp "$scratch"/wheel/plait-*.whl "$folder"
