#!/bin/bash
# run.sh CC - the two examples of docs/dev/extending.md: a toy schedule and a toy key, built and used
#
# Both patches go into a copy of the tree, which is built without tests. A new schedule and a new key
# must then work wherever the others do: on the command line, in searches, files, help, completion.
set -u
cd "$(dirname "$0")/../.." || exit 1
cc=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
copy=$scratch/plait
plait=$scratch/build/plait
wrong=0

complain() {
    echo "$@"
    wrong=$((wrong + 1))
}

# ---- patched and built ----

mkdir "$copy"
cp -r CMakeLists.txt LICENSE README.md cmake include src costmodel search clusters models completions docs "$copy"
for patch in schedule key; do
    files=$(grep -c '^+++ ' tests/toys/$patch.patch)
    [ "$files" -le 3 ] || complain "$patch.patch touches $files files"
    patch -d "$copy" -s -p1 <tests/toys/$patch.patch || exit 1
done
sed -i 's/"schedules": \["1f1b", /&"flushed", /' "$copy/clusters/runtimes/megatron.json"
{
    cmake -S "$copy" -B "$scratch/build" -G Ninja -DCMAKE_C_COMPILER="$cc" -DBUILD_TESTING=OFF \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 &&
        cmake --build "$scratch/build" --target plait_cli
} >"$scratch/log" 2>&1 || { tail -20 "$scratch/log"; exit 1; }
[ -x "$plait" ] || plait=$(find "$scratch/build" -name plait -type f -perm -u+x | head -1)

# ---- used ----

cd "$scratch" || exit 1
question=(llama-3.1-8b h100-80gb-sxm:2x8 --seq 4096 --gbs 64)
degrees=(--tp 2 --pp 4 --recompute none --mbs 1)

value() { # value FILE KEY
    sed -nE "s/^ *\"$2\": (.*[^,]),?$/\1/p" "$1" | head -1
}

price() { # price FILE FLAGS...: an eval as JSON
    "$plait" eval "${question[@]}" "${degrees[@]}" "${@:2}" -o "$1" >"$1.txt" 2>&1 ||
        complain "eval ${*:2}: $(cat "$1.txt")"
}

ratio() { # ratio A B TERM EXPECTED: of a term in two files, within a millionth
    awk -v a="$(value "$1" "$3")" -v b="$(value "$2" "$3")" -v r="$4" \
        'BEGIN { exit !(b > 0 && a / b > r * 0.999999 && a / b < r * 1.000001) }' ||
        complain "$3 of $1 is $(value "$1" "$3"), of $2 $(value "$2" "$3"), expected $4 of that"
}

price plain.json --schedule 1f1b
price flushed.json --schedule flushed
price rounded.json --rounding stochastic

# 32 microbatches drain 16 times
ratio flushed.json plain.json bubble_s 16
[ "$(value flushed.json schedule)" = '"flushed"' ] || complain "schedule $(value flushed.json schedule)"
ratio rounded.json plain.json optimizer_s 1.1
[ "$(value rounded.json rounding)" = '"stochastic"' ] || complain "rounding is not in the file"
[ "$(value plain.json rounding)" = '"nearest"' ] || complain "rounding has no usual value"
grep -q 'rounding stochastic' rounded.json.txt || complain "the report does not say rounding"

"$plait" eval --plan rounded.json --json | cmp -s - rounded.json || complain "not the same when read back"
"$plait" search "${question[@]}" --fix rounding=stochastic --top 1 -o best.json >/dev/null ||
    complain "search --fix rounding=stochastic: $?"
[ "$(value best.json rounding)" = '"stochastic"' ] || complain "the limit is not kept"
"$plait" search "${question[@]}" --fix schedule=flushed --top 1 -o best.json >/dev/null ||
    complain "search --fix schedule=flushed: $?"
[ "$(value best.json schedule)" = '"flushed"' ] || complain "the search does not have the schedule"
"$plait" eval --help | grep -q -- '--rounding HOW' || complain "help lacks --rounding"
"$plait" --complete eval | grep -qP '^--rounding\tHOW\tnearest stochastic$' || complain "no completion"
"$plait" --complete eval | grep -P '^--schedule\t' | grep -qw flushed || complain "no word flushed"
"$plait" eval "${question[@]}" --rounding up 2>&1 | grep -q 'expected one of nearest, stochastic' ||
    complain "a wrong word is not refused"
"$plait" launch rounded.json --target companion -o launched >/dev/null || complain "launch: $?"

exit $((wrong > 0))
