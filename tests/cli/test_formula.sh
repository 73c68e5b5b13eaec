#!/bin/bash
# test_formula.sh PLAIT - the formula of Homebrew that a release makes
set -u
cd "$(dirname "$0")/../.." || exit 1

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() { echo "$*"; wrong=1; }

readonly x86_64=$scratch/plait-1.2.3-linux-x86_64.tar.gz arm64=$scratch/plait-1.2.3-linux-arm64.tar.gz
echo one >"$x86_64"
echo two >"$arm64"
tools/homebrew_formula.sh https://host.example/OWNER/plait/releases/download/v1.2.3 "$x86_64" "$arm64" >"$scratch/plait.rb" ||
    complain "no formula"
for file in "$x86_64" "$arm64"; do
    grep -A 1 -F "url \"https://host.example/OWNER/plait/releases/download/v1.2.3/${file##*/}\"" "$scratch/plait.rb" |
        grep -qF "sha256 \"$(sha256sum "$file" | cut -d ' ' -f 1)\"" || complain "no checksum of ${file##*/}"
done
grep -qF 'homepage "https://host.example/OWNER/plait"' "$scratch/plait.rb" || complain "no homepage"
if tools/homebrew_formula.sh https://host.example "$arm64" "$x86_64" >/dev/null 2>&1; then complain "archives in the wrong order are accepted"; fi
if command -v ruby >/dev/null; then
    ruby -c "$scratch/plait.rb" >"$scratch/out" 2>&1 || complain "ruby: $(cat "$scratch/out")"
else
    echo "ruby is missing: the syntax of the formula was not checked"
fi
exit $wrong
