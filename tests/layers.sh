#!/bin/bash
# layers.sh - checks that every #include points the way the rooms allow
#
# A room may include public headers ("plait/..."), its own headers, and those of the rooms listed
# for it. Libraries that others wrote each have one home.
set -u
cd "$(dirname "$0")/.." || exit 1

rooms_of() { # the rooms whose headers a room may include, besides its own
    case $1 in
    src/base) ;;
    src/plan | src/io) echo src/base ;;
    costmodel | costmodel/serving) echo src/base src/plan ;;
    search) echo src/base src/plan search/cuts search/layout search/mixed search/stages ;;
    search/cuts) echo src/base src/plan search/stages ;;
    search/stages) echo src/base src/plan search/milp ;;
    search/mixed) echo src/base src/plan search ;;
    search/layout | search/operators | search/serving) echo src/base src/plan ;;
    search/milp) echo src/base ;;
    src/report | src/launch | src/validate | src/calibrate) echo src/base src/plan src/io ;;
    src/launch/write) echo src/base src/plan src/io src/launch ;;
    src/launch/read) echo src/base src/plan src/io src/launch src/launch/write ;;
    src/launch/flagscale | src/launch/mindspeed) # Megatron-LM's arguments, in YAML or with more of them
        echo src/base src/plan src/io src/launch src/launch/read src/launch/write src/launch/megatron
        ;;
    src/launch/*) # a target, which knows no other target
        echo src/base src/plan src/io src/launch src/launch/read src/launch/write
        ;;
    src/mpi) echo src/cli ;;
    src/page) echo src/base src/plan src/io src/report ;;
    src/cli) echo src/base src/plan src/io src/report src/page src/launch src/validate src/calibrate ;;
    esac
}

home_of() { # sets `home`, a pattern of the files that may include a library; any file for libc
    case $1 in
    glpk.h) home='search/milp/milp_glpk.c' ;;
    omp.h) home='search/batches.c' ;;
    cjson/*) home='src/io/*' ;;
    csv.h) home='src/io/csv_table.c' ;;
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
    search*:plait/kernel.h | search*:plait/collective.h) return 1 ;;
    src/base:*) [[ $2 =~ ^plait/(error|arena|units|version)[.]h$ ]] ;;
    esac
}

local_allowed() { # local_allowed ROOM HEADER
    local room

    for room in "$1" $(rooms_of "$1"); do
        [ -e "$room/${2##*/}" ] && return 0
    done
    return 1
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
for room in src/* src/launch/*/ costmodel costmodel/*/ search search/*/; do
    room=${room%/}
    for file in "$room"/*.[ch]; do
        [ -e "$file" ] || continue
        check_file "$room" "$file"
        checked=$((checked + 1))
    done
done
echo "$checked files, $wrong wrong includes"
[ $wrong -eq 0 ] && [ $checked -gt 0 ]
