#!/bin/bash
# static_libraries.sh FOLDER [TOOLCHAIN] - builds as archives the libraries that Debian ships as shared objects only
#
# cJSON with Debian's patches and cminpack, each from the newest source package of this release,
# into FOLDER/prefix. Nothing of this system changes. apt checks their signatures. With TOOLCHAIN, a file
# of CMake for another system, libcsv is built as well, since Debian's archive is of this system.
set -euo pipefail

readonly folder=$1 toolchain=${2:-}
readonly prefix=$folder/prefix
flags="-ffile-prefix-map=$folder/="
[[ $toolchain == *mscripten* ]] || flags+=" -fstack-protector-strong" # WebAssembly has a stack of another kind

get_sources() {
    local apt=$folder/apt
    local options=(-qq -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt" -o "Dir::Etc::SourceList=$apt/sources.list"
        -o Dir::Etc::SourceParts=/dev/null -o APT::Sandbox::User=root)
    local key='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]' release

    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    printf 'deb-src %s http://deb.debian.org/%s main\n' "$key" "debian $release" \
        "$key" "debian-security $release-security" >"$apt/sources.list"
    apt-get "${options[@]}" update
    (cd "$folder" && apt-get "${options[@]}" source cjson &&
        apt-get "${options[@]}" --tar-only source cminpack && tar --extract --file cminpack_*.orig.tar.gz)
    [ -z "$toolchain" ] || (cd "$folder" && apt-get "${options[@]}" source libcsv)
}

build_archive() { # build_archive SOURCE [CMAKE OPTION...]
    local source=$1
    shift
    cmake -S "$source" -B "$source/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
        "-DCMAKE_C_FLAGS=$flags" \
        "-DCMAKE_INSTALL_PREFIX=$prefix" -DCMAKE_INSTALL_LIBDIR=lib ${toolchain:+--toolchain "$toolchain"} "$@"
    cmake --build "$source/build"
    cmake --install "$source/build"
}

rm -rf "$folder"
mkdir -p "$folder"
get_sources
build_archive "$folder"/cjson-*/ -DENABLE_CJSON_TEST=OFF -DENABLE_CUSTOM_COMPILER_FLAGS=OFF
build_archive "$folder"/cminpack-*/ -DUSE_BLAS=OFF -DBUILD_EXAMPLES=OFF -DCMINPACK_LIB_INSTALL_DIR=lib
mv "$prefix/lib/libcminpack_s.a" "$prefix/lib/libcminpack.a" # as its pkg-config file says
if [ -n "$toolchain" ]; then
    printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(csv C)' 'add_library(csv STATIC libcsv.c)' \
        'install(TARGETS csv)' 'install(FILES csv.h DESTINATION include)' >"$(echo "$folder"/libcsv-*/)CMakeLists.txt"
    build_archive "$folder"/libcsv-*/
fi
touch "$folder/built"
