# plait.bash - completion of plait's command line for bash
#
# The program itself says what it takes: `plait --complete` prints its verbs, and with a verb a line
# for each flag and operand, with what its value is called and the words that it may be.

# The column of a row: of `--tp`, `-o`, or `1` for the first operand.
_plait_column() { # _plait_column TABLE ROW COLUMN
    awk -F '\t' -v row="$2" -v column="$3" '$1 == row { print $column }' <<<"$1"
}

# The place of the operand that is being completed.
_plait_place() { # _plait_place TABLE
    local i word place=1
    for ((i = 2; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
        -*) [[ -z $(_plait_column "$1" "$word" 2) ]] || i=$((i + 1)) ;;
        *) place=$((place + 1)) ;;
        esac
    done
    echo $place
}

_plait() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local program=${COMP_WORDS[0]} words table

    if ((COMP_CWORD == 1)); then
        words=$("$program" --complete 2>/dev/null)
    else
        table=$("$program" --complete "${COMP_WORDS[1]}" 2>/dev/null)
        if [[ $before == -* && -n $(_plait_column "$table" "$before" 2) ]]; then
            words=$(_plait_column "$table" "$before" 3)
        elif [[ $word == -* ]]; then
            words=$(cut -f 1 <<<"$table" | grep '^-')
        else
            words=$(_plait_column "$table" "$(_plait_place "$table")" 3)
        fi
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _plait plait
