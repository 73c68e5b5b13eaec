#!/bin/bash
# installed.sh BUILD CC [FLAG...] - checks an installation: its program, and programs of its library
#
# Installs a build into a prefix of its own and moves it. The program there must take the data beside
# it, and no others: a model that is taken out of the prefix is unknown, though the source tree has
# it. Then the program of the umbrella header is compiled as its comment says and run: with the
# library as configured, static or shared, then with the other.
set -eu
build=$1
cc=$2
flags=("${@:3}" -std=c11 -Wall -Wextra -Wpedantic -Werror)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/moved
unset PLAIT_DATA

fail() { echo "$@"; exit 1; }

install_part() { # install_part [OPTION...]
    cmake --install "$build" --prefix "$scratch/prefix" "$@" >"$scratch/log" || fail "$(cat "$scratch/log")"
    cp -r "$scratch/prefix/." "$prefix"
    rm -rf "$scratch/prefix"
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
    "$cc" "${flags[@]}" "$scratch/example.c" -o "$prefix/bin/example" "${words[@]}"
    "$prefix/bin/example" | grep -E "$expected"
    # A program in another place finds the data by the shared library, else it is told where they were sought.
    cp "$prefix/bin/example" "$scratch/elsewhere"
    if [ -n "${static[*]}" ]; then
        "$scratch/elsewhere" 2>&1 | grep -qF "set PLAIT_DATA to the folder that contains" ||
            fail "a program without data: $("$scratch/elsewhere" 2>&1)"
    else
        "$scratch/elsewhere" | grep -qE "$expected" || fail "no data beside the library"
    fi
}

mkdir "$prefix"
install_part
models=$prefix/share/plait/models
if [ -x "$prefix/bin/plait" ]; then
    rm "$models/gpt2-xl.json"
    cp "$models/llama-3.1-8b.json" "$models/added.json"
    "$prefix/bin/plait" models added >/dev/null
    ! "$prefix/bin/plait" models gpt2-xl >/dev/null 2>&1 || fail "data of another place are found"
    ln -s "$prefix/bin/plait" "$scratch/link"
    "$scratch/link" models added >/dev/null || fail "a link to the program finds no data"
    cp "$prefix/bin/plait" "$scratch/alone"
    for command in models "models gpt2" "models openai/gpt-oss-20b" clusters; do
        # shellcheck disable=SC2086  # the command is several words
        said=$("$scratch/alone" $command 2>&1) && fail "$command: found data of another place"
        [[ $said == *"set PLAIT_DATA to the folder that contains"*"found none in $scratch"* && $(wc -l <<<"$said") == 1 ]] ||
            fail "$command without data: $said"
    done
fi

tests/extract_example.sh include/plait/plait.h >"$scratch/example.c"
try
rm "$folder"/libplait.*
install_part --component other
try
