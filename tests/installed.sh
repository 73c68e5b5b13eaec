#!/bin/bash
# installed.sh BUILD CC [FLAG...] - checks that a program finds an installed library by pkg-config
#
# Installs a build into a prefix of its own, compiles the program of the umbrella header as its
# comment says, and runs it: with the library as configured, static or shared, then with the other.
set -eu
build=$1
cc=$2
flags=("${@:3}" -std=c11 -Wall -Wextra -Wpedantic -Werror)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix

install_part() { # install_part [OPTION...]
    cmake --install "$build" --prefix "$prefix" "$@" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
}

# Sets `folder` to where the library lies, and `static` to the option that it asks of pkg-config.
look_around() {
    folder=$(dirname "$(find "$prefix" -name 'libplait.*' | head -n 1)")
    static=()
    [ ! -e "$folder/libplait.a" ] || static=(--static)
}

try() {
    local words expected='^best plan: tp [0-9]+, pp [0-9]+, dp [0-9]+: [0-9.]+ s a step, [0-9.]+ GiB$'

    look_around
    export PKG_CONFIG_PATH=$folder/pkgconfig LD_LIBRARY_PATH=$folder
    read -ra words < <(pkg-config --cflags --libs "${static[@]}" plait)
    "$cc" "${flags[@]}" "$scratch/example.c" -o "$scratch/example" "${words[@]}"
    "$scratch/example" | grep -E "$expected"
}

tests/extract_example.sh include/plait/plait.h >"$scratch/example.c"
install_part
try
rm "$folder"/libplait.*
install_part --component other
try
