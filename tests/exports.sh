#!/bin/bash
# exports.sh CC LIBRARY... - checks that a library's symbols are what the public headers declare
#
# Every function and every constant of include/plait and include/plait/lowlevel is exported by each library, static or
# shared, and nothing else is: helpers of one file and those shared between rooms stay inside.
set -u
export LC_ALL=C
cc=$1
shift
cd "$(dirname "$0")/.." || exit 1

# The declarations of all public headers, one a line, without bodies and attributes. Bodies go from
# the innermost brace outwards.
declarations() {
    printf '#include "%s"\n' include/plait/*.h include/plait/lowlevel/*.h | "$cc" -I include -E -x c - |
        awk '/^# [0-9]+ /{ours = ($3 ~ /include\/plait\//); next} ours && !/^#/' | tr '\n' ' ' |
        sed -E ':again; s/\{[^{}]*\}/;/; t again
            s/__attribute__ *\(\([a-z_]+ *(\([^()]*\))?\)\)//g; s/ *; */\n/g'
}

declared() { # the name before the first parenthesis or bracket, else the last of an `extern`
    declarations | sed -E '/^ *(typedef|static)\>/d' |
        sed -nE 's/^[^([]*\<(\w+) *[([].*/\1/p; t; s/^ *extern .*\<(\w+)$/\1/p' | sort -u
}

# Names with two underscores are the compiler's; sanitizers add some.
exported() { # exported LIBRARY
    case $1 in
    *.a) nm --extern-only --defined-only "$1" ;;
    *) nm --dynamic --defined-only "$1" ;;
    esac | awk 'NF == 3 && $3 !~ /^__/ {print $3}' | sort -u
}

wrong=0
complain() { # complain WHERE WHAT: of the symbols that are read
    local symbol
    while IFS= read -r symbol; do
        echo "${1##*/}: $symbol $2"
        wrong=$((wrong + 1))
    done
}

names=$(declared)
complain "include/plait" "lacks the prefix plait_" < <(grep -v '^plait_' <<<"$names")
for library; do
    complain "$library" "is exported, but no public header declares it" \
        < <(comm -13 <(echo "$names") <(exported "$library"))
    complain "$library" "is declared by a public header, but not exported" \
        < <(comm -23 <(echo "$names") <(exported "$library"))
done
echo "$(wc -l <<<"$names") public names, $wrong wrong"
[ $wrong -eq 0 ] && [ -n "$names" ]
