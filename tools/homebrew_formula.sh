#!/bin/bash
# homebrew_formula.sh URL X86_64.tar.gz ARM64.tar.gz - prints a formula of Homebrew for Linux
#
# The archives are those of `./dev static`, and URL is the folder from which they can be downloaded. The
# formula has their checksums, so it is made for each release and is not in the tree.
set -euo pipefail

[ $# -eq 3 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
readonly url=${1%/} x86_64=$2 arm64=$3

sum() { sha256sum "$1" | cut -d ' ' -f 1; }

version=$(basename "$x86_64" | sed -nE 's/^plait-([0-9.]+)-linux-x86_64\.tar\.gz$/\1/p')
if [ -z "$version" ] || [ "$(basename "$arm64")" != "plait-$version-linux-arm64.tar.gz" ]; then
    echo "homebrew_formula.sh: expected plait-VERSION-linux-x86_64.tar.gz and -arm64.tar.gz of one version, found $x86_64 and $arm64" >&2
    exit 2
fi
cat <<END
class Plait < Formula
  desc "Planner for the parallel training and serving of large models"
  homepage "${url%/releases/download/*}"
  version "$version"
  license "GPL-3.0-or-later"

  depends_on :linux

  on_intel do
    url "$url/$(basename "$x86_64")"
    sha256 "$(sum "$x86_64")"
  end
  on_arm do
    url "$url/$(basename "$arm64")"
    sha256 "$(sum "$arm64")"
  end

  def install
    prefix.install Dir["*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/plait --version")
    assert_match "step_s", shell_output("#{bin}/plait eval llama-3.1-8b dgx-h100 --gpus 8 --seq 4k --gbs 8 --json")
  end
end
END
