#!/bin/bash
# hardened.sh SOURCE BUILD FILE... - checks programs and shared libraries of the release build
#
# Each lies at any address, has its relocations bound and read-only before it runs, no executable
# stack, stacks that are guarded, calls of libc that check their buffers; and nothing in it, debug
# information included, says where it was built.
set -u
source=$1 build=$2
shift 2
wrong=0
complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

check() { # check FILE
    local headers dynamic symbols
    headers=$(readelf --wide --file-header --program-headers "$1")
    dynamic=$(readelf --wide --dynamic "$1")
    symbols=$(nm --dynamic --undefined-only "$1")

    grep -qE 'Type: +DYN' <<<"$headers" || complain "$1 has a fixed address"
    grep -q 'GNU_RELRO' <<<"$headers" || complain "$1 has no read-only relocations"
    grep -qE 'GNU_STACK .* RW +0x' <<<"$headers" || complain "$1 has an executable stack"
    grep -qE '\(FLAGS_1\).* NOW' <<<"$dynamic" || complain "$1 binds symbols as it goes"
    ! grep -qE '\(TEXTREL\)|\(R(UN)?PATH\)' <<<"$dynamic" || complain "$1 changes its text, or has a path of libraries"
    grep -q ' __stack_chk_fail' <<<"$symbols" || complain "$1 has no guarded stacks"
    grep -qE ' __(mem|str|v?snprintf).*_chk' <<<"$symbols" || complain "$1 calls libc unchecked"
    ! grep -qaF -e "$source/" -e "$build" "$1" || complain "$1 names the folder where it was built"
}

for file; do
    check "$file"
done
echo "$# files, $wrong faults"
[ $wrong -eq 0 ] && [ $# -gt 0 ]
