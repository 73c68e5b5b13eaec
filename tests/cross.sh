#!/bin/bash
# cross.sh ARCHITECTURE FOLDER - builds plait for another sort of processor, and tests it there
#
#     i386     32 bits: what does not fit a long or a size_t; runs here, without an emulator
#     s390x    big-endian: what is read or written byte by byte; runs under qemu
#
# The architecture's libraries are unpacked into FOLDER from Debian's packages, and nothing of this
# system changes. Tests are those of units and vectors, and the texts of whole commands: their digits
# are those of any other machine. The last line is "N passed, N failed".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly arch=$1
readonly folder=$2
readonly root=$folder/root
readonly packages=(libc6-dev libgcc-12-dev libglpk-dev libcjson-dev libcsv-dev libcmocka-dev libcminpack-dev)

case $arch in
i386)
    readonly prefix=i686-linux-gnu libraries=i386-linux-gnu flags='-msse2 -mfpmath=sse' emulator=''
    readonly link="-Wl,--disable-new-dtags,--dynamic-linker=$root/lib/ld-linux.so.2,-rpath=$root/lib/$libraries:$root/usr/lib/$libraries"
    # libm's erfc, whose last digit differs, stands in one text.
    readonly differs='golden_search_fewer_gpus_json'
    ;;
s390x)
    readonly prefix=s390x-linux-gnu libraries=s390x-linux-gnu flags='' link=''
    readonly emulator="qemu-s390x;-L;$root"
    readonly differs='none'
    ;;
*)
    echo "cross.sh: expected i386 or s390x, found $arch" >&2
    exit 2
    ;;
esac

# Debian's packages of another architecture, without dpkg knowing of it.
unpack_packages() {
    local apt=$folder/apt package
    local options=(-qq -o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o "Dir::State=$apt"
        -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt" -o "Dir::Etc::SourceList=$apt/sources.list"
        -o Dir::Etc::SourceParts=/dev/null -o APT::Install-Recommends=false -o APT::Sandbox::User=root)

    mkdir -p "$apt"/{lists,archives}/partial "$root"
    : >"$apt/status"
    echo "deb [arch=$arch signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
        "http://deb.debian.org/debian $(. /etc/os-release && echo "$VERSION_CODENAME") main" >"$apt/sources.list"
    apt-get "${options[@]}" update
    apt-get "${options[@]}" -y --download-only install "${packages[@]}"
    for package in "$apt"/archives/*.deb; do
        dpkg -x "$package" "$root"
    done
    touch "$folder/unpacked"
}

write_toolchain() {
    cat >"$folder/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${prefix%%-*})
set(CMAKE_C_COMPILER $prefix-gcc)
set(CMAKE_C_FLAGS_INIT "$flags")
set(CMAKE_EXE_LINKER_FLAGS_INIT "$link")
set(CMAKE_SYSROOT "$root")
set(CMAKE_FIND_ROOT_PATH "$root")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
${emulator:+set(CMAKE_CROSSCOMPILING_EMULATOR "$emulator")}
set(ENV{PKG_CONFIG_LIBDIR} "$root/usr/lib/$libraries/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "$root")
END
}

[ -e "$folder/unpacked" ] || unpack_packages
write_toolchain
cmake -S . -B "$folder" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$folder/toolchain.cmake" \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O1 -DPLAIT_MPI=OFF -DPLAIT_CHARTS=OFF >/dev/null
cmake --build "$folder" >/dev/null
ctest --test-dir "$folder" -L 'unit|vectors|golden' -E "^($differs)$" -j "$(nproc)" \
    --output-on-failure | tee "$folder/tests.log" || true
sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests? failed out of ([0-9]+)$/\2 \1/p' "$folder/tests.log" |
    { read -r all failed; echo "$((all - failed)) passed, $failed failed"; [ "$failed" -eq 0 ]; }
