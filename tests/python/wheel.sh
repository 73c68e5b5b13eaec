#!/bin/bash
# wheel.sh BUILD [WHEEL] - checks the wheel of a build in a new virtual environment without network
#
# The wheel has the same bytes when it is built again with another umask. The environment has
# nothing but the wheel, and plait is neither in PATH nor in the variable PLAIT.
set -eu
readonly build=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$@"; exit 1; }

for module in ensurepip setuptools wheel; do
    /usr/bin/python3 -c "import $module" 2>/dev/null ||
        { echo "Python's $module is missing: the wheel is not tested"; exit 77; }
done
wheel=${2:-}
if [ -z "$wheel" ]; then
    cmake/wheel.sh "$build" "$scratch/one"
    wheel=$(echo "$scratch"/one/*.whl)
fi
(umask 077 && cmake/wheel.sh "$build" "$scratch/two")
cmp "$wheel" "$scratch/two/$(basename "$wheel")" || fail "two builds of the wheel differ"

/usr/bin/python3 -m venv "$scratch/venv"
# A name space without network, if the kernel lets this user make one.
apart=()
! unshare --net --map-root-user true 2>/dev/null || apart=(unshare --net --map-root-user)
run() {
    (cd / && env -i HOME="$scratch" PATH="$scratch/venv/bin:/usr/bin:/bin" "${apart[@]}" "$@")
}
run pip install --quiet --no-index --disable-pip-version-check "$wheel"
run pip check --disable-pip-version-check >/dev/null || fail "pip check fails"
said=$(run plait --version)
[ "$said" = "$("$build/plait" --version)" ] || fail "the command plait of the wheel prints: $said"
said=$(run python -c '
import plait
answer = plait.search("llama-3.1-8b", "dgx-h100", gpus=16, seq=8192, gbs=64)
assert plait.program().startswith(plait.__path__[0]), plait.program()
assert plait.launch(answer)["run.sh"]
print(plait.__version__, answer.recommended.verdict)')
[ "$said" = "$("$build/plait" --version | cut -d " " -f 2) fits" ] || fail "the package prints: $said"
run pip uninstall --quiet --yes --disable-pip-version-check plait
[ -z "$(find "$scratch/venv" -path '*/plait/*')" ] || fail "files stay after pip uninstall"
