#!/bin/bash
# package.sh BUILD CC - makes the Debian packages, installs them into a root of their own, removes them
#
# What is installed must answer, be hardened, have all that the manual cites and a library that others
# can link, and say nothing of where it was built; lintian, where it is there, has nothing to say. Once
# removed, nothing is left.
set -eu
build=$1 cc=$2
command -v dpkg-shlibdeps >/dev/null || { echo "no dpkg: no package is made"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root
unset PLAIT_DATA

fail() { echo "$@"; exit 1; }

in_root() { # in_root DPKG-OPTION...: only unpacking needs to be root there
    fakeroot=()
    [ "$(id -u)" -eq 0 ] || fakeroot=(unshare --map-root-user)
    "${fakeroot[@]}" dpkg --root="$root" --force-depends --log="$scratch/dpkg.log" "$@" >"$scratch/log" 2>&1 ||
        fail "$(cat "$scratch/log")"
}

installed_files() { find "$root" -not -type d -not -path '*/var/lib/dpkg/*' "$@"; }

cpack --config "$build/CPackConfig.cmake" -B "$scratch/made" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
packages=("$scratch"/made/*.deb)
if command -v lintian >/dev/null; then
    lintian --fail-on error,warning "${packages[@]}" 2>/dev/null || fail "lintian objects"
fi

mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
touch "$root/var/lib/dpkg/status"
in_root --install "${packages[@]}"
plait=$root/usr/bin/plait
"$plait" search llama-3.1-8b h100-80gb-sxm:1x8 --seq 8k --gbs 64 --top 1 --refine none >"$scratch/answer"
"$build/plait" search llama-3.1-8b h100-80gb-sxm:1x8 --seq 8k --gbs 64 --top 1 --refine none |
    diff <(grep -v elapsed "$scratch/answer") <(grep -v elapsed)
[ "$("$plait" --version)" = "plait $(dpkg-deb --field "${packages[0]}" Version)" ] || fail "another version"
tests/hardened.sh "$PWD" "$build" "$plait" >"$scratch/log" || fail "$(cat "$scratch/log")"
installed_files -print0 | xargs -0 grep -laF -e "$PWD/" -e "$build" && fail "of the tree that they were built in"

# The manual's texts; a folder of data has its own beside it.
zcat "$root/usr/share/man/man1/plait.1.gz" | sed 's/\\-/-/g' | grep -oE '\b[a-z]+/[A-Za-z./]+\.(md|json|csv|html)' |
    grep -vE '^clusters/x\.json$' | sort -u >"$scratch/cited"
[ -s "$scratch/cited" ]
while IFS= read -r file; do
    [ -e "$root/usr/share/doc/plait/$file" ] || [ -e "$root/usr/share/plait/$file" ] || fail "the manual cites $file, which is not there"
done <"$scratch/cited"

# The library: its code alone, found by pkg-config wherever the prefix is said to be.
archive=$(find "$root" -name libplait.a)
! readelf --wide --section-headers "$archive" | grep -E '\.gnu\.(debug)?lto|\.debug_' || fail "the archive carries more than code"
export PKG_CONFIG_LIBDIR
PKG_CONFIG_LIBDIR=$(dirname "$archive")/pkgconfig:$(pkg-config --variable=pc_path pkg-config)
[ "$(pkg-config --variable=prefix plait)" = /usr ] || fail "plait.pc has another prefix"
tests/extract_example.sh include/plait/plait.h >"$scratch/example.c"
read -ra words < <(pkg-config --define-variable=prefix="$root/usr" --cflags --libs --static plait)
"$cc" -std=c11 "$scratch/example.c" -o "$root/usr/bin/example" "${words[@]}"
"$root/usr/bin/example" | grep '^best plan: '
rm "$root/usr/bin/example"

in_root --purge plait libplait-dev
[ -z "$(installed_files)" ] || fail "left behind: $(installed_files)"
[ -z "$(find "$root" -name '*plait*' -not -path '*/var/lib/dpkg/*')" ] || fail "folders are left behind"
