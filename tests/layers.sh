#!/bin/bash
# layers.sh [BUILD] - checks that includes and symbols cross folders only in the allowed direction
#
# A folder may include public headers ("plait/..."), its own headers, and those of the folders listed
# for it. Each library of others is included in one place. With the folder of a build, `nm` also
# checks that no two folders use each other's symbols: a cycle which includes alone would hide.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1

allowed_folders() { # the folders whose headers a folder may include, besides its own
    case $1 in
    src/base) ;;
    src/hardware | src/shell | costmodel/network | costmodel/run | costmodel/schedule) echo src/base ;;
    src/plan) echo src/base src/hardware ;;
    src/rules) echo src/base src/plan ;;
    costmodel/layer | costmodel/rl | costmodel/serving) echo src/base src/plan ;;
    costmodel/stage) echo src/base src/plan costmodel/{layer,schedule} ;;
    costmodel/plan) echo src/base src/plan src/rules costmodel/{layer,network,stage} ;;
    costmodel/table) echo src/base src/plan costmodel/{layer,plan,stage} ;;
    search) echo src/base src/plan src/rules search/{exhaustive,pipeline,space} ;;
    search/pipeline) echo src/base src/plan src/rules search/{exhaustive,space} ;;
    search/exhaustive) echo src/base src/plan search/space ;;
    search/space) echo src/base src/plan src/rules ;;
    search/explain) echo src/base src/plan search search/{exhaustive,space} ;;
    search/capacity) echo src/base src/plan search search/{exhaustive,explain} ;;
    search/operators | search/serving) echo src/base src/plan ;;
    search/rl) echo src/base src/plan search costmodel/rl ;; # it joins the two sides of a step
    src/io) echo src/base ;; # files and folders, without what is in them
    src/io/json | src/io/csv) echo src/base src/io ;;
    src/io/data) echo src/base src/io src/io/json ;;
    src/io/model | src/io/cluster | src/io/runtime) echo src/base src/io src/io/{data,json} ;;
    src/io/plans) echo src/base src/io src/io/{cluster,csv,data,json,model} ;;
    src/report | src/launch | src/calibrate | src/validate)
        echo src/base src/plan src/rules src/io src/io/{cluster,csv,data,json,model,plans,runtime}
        ;;
    src/launch/write) echo src/base src/plan src/io src/io/{data,json,plans} src/launch src/shell ;;
    src/launch/read)
        echo src/base src/plan src/io src/io/{data,json,plans} src/launch src/launch/write src/shell
        ;;
    src/launch/flagscale | src/launch/mindspeed | src/launch/rl) # Megatron-LM's arguments in other forms
        echo src/base src/plan src/io src/io/{data,json,plans} src/launch src/launch/{read,write,megatron} src/shell
        ;;
    src/launch/*) # a target, which uses no other target
        echo src/base src/plan src/rules src/io src/io/{data,json,plans} src/launch src/launch/{read,write} src/shell
        ;;
    src/mpi) echo src/cli ;;
    src/mcp) echo src/base src/io src/io/json ;;
    src/page) echo src/base src/plan src/io src/io/{data,json,plans} src/report ;;
    src/cli)
        echo src/base src/plan src/rules src/io src/io/{cluster,csv,data,json,model,plans,runtime} src/report \
            src/page src/launch src/shell src/validate src/calibrate src/mcp
        ;;
    esac
}

home_of() { # sets `home`, a pattern of the files that may include a library; any file for libc
    case $1 in
    glpk.h) home='tests/*' ;;
    pthread.h) home='src/base/threads.[ch]' ;;
    cjson/*) home='src/io/json/*' ;;
    csv.h) home='src/io/csv/csv_table.c' ;;
    mpi.h) home='src/mpi/plait_mpi.c' ;;
    gsl/* | lmmin.h | cminpack.h | levmar.h) home='src/calibrate/*' ;;
    *) home='*' ;;
    esac
}

# The search sees the cost model through its prices and descriptions, not through its formulas; but
# search/operators prices what no plan can say.
public_allowed() { # public_allowed ROOM HEADER
    case $1:$2 in
    search/operators:*) ;;
    search*:plait/lowlevel/kernel.h | search*:plait/lowlevel/collective.h) return 1 ;;
    src/base:*) [[ $2 =~ ^plait/(error|arena|units|version)[.]h$ ]] ;;
    esac
}

local_allowed() { # local_allowed FOLDER HEADER
    local folder=${2%/*}

    [[ $1:$2 =~ ^(costmodel|search).*:costmodel/api[.]h$ ]] && return # what a search may use of the prices
    [[ $folder =~ ^(costmodel|search) ]] || folder=src/$folder
    [[ " $1 $(allowed_folders "$1") " == *" $folder "* ]] && [ -e "$folder/${2##*/}" ]
}

wrong=0
complain() {
    echo "$1 may not include $2"
    wrong=$((wrong + 1))
}

check_file() { # check_file ROOM FILE
    local header name home

    while IFS= read -r header; do
        name=${header:1:-1}
        case $header in
        '"plait/'*) public_allowed "$1" "$name" || complain "$2" "$header" ;;
        '"'*) local_allowed "$1" "$name" || complain "$2" "$header" ;;
        '<'*)
            home_of "$name"
            # shellcheck disable=SC2053  # the right side is meant to be a pattern
            [[ $2 == $home ]] || complain "$2" "$header"
            ;;
        esac
    done < <(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*(["<][^">]*[">]).*/\1/p' "$2")
}

checked=0
for room in src/* src/io/*/ src/launch/*/ costmodel/*/ search search/*/; do
    room=${room%/}
    for file in "$room"/*.[ch]; do
        [ -e "$file" ] || continue
        check_file "$room" "$file"
        checked=$((checked + 1))
    done
done
echo "$checked files, $wrong wrong includes"

# ---- symbols -------------------------------------------------------------------------------

# Prints "U SYMBOL FOLDER" for each symbol that a folder uses, "D SYMBOL FOLDER" for each that it defines.
symbols() { # symbols BUILD; objects whose source no longer exists do not count
    find "$1/CMakeFiles" -name '*.c.o' -path '*/plait_*' | while IFS= read -r object; do
        source=${object#*.dir/}
        [ ! -e "${source%.o}" ] || echo "$object"
    done | xargs nm -A | sed -nE 's,^.*[.]dir/(.*)/[^/]*[.]c[.]o:.* ([UTDBRC]) (.*)$,\2 \3 \1,p' |
        sed 's/^[TBRC]/D/' | sort -u
}

if [ $# -gt 0 ]; then
    all=$(symbols "$1")
    edges=$(join <(sed -n 's/^U //p' <<<"$all") <(sed -n 's/^D //p' <<<"$all") |
        cut -d ' ' -f 2- | awk '$1 != $2' | sort -u)
    [ -n "$edges" ] || { echo "no objects in $1"; exit 1; }
    if loop=$(tsort <<<"$edges" 2>&1 >/dev/null) && [ -z "$loop" ]; then
        echo "no cycle between folders"
    else
        echo "folders use each other's symbols in a cycle:"
        echo "$loop"
        wrong=$((wrong + 1))
    fi
fi
[ $wrong -eq 0 ] && [ $checked -gt 0 ]
