#!/bin/bash
# manual.sh PLAIT FOLDER - writes FOLDER/plait.1 and FOLDER/reference/cli.md
#
# The section on commands comes from the option tables of the program, everything else from
# src/cli/manual.md. The man page is a translation of the Markdown page:
#
#     ## Title    .SH TITLE        * `--flag VALUE`: text    .TP
#     ### name    .SS name         `word`                    bold
set -euo pipefail
export LC_ALL=C
readonly program=$1 folder=$2

mkdir -p "$folder/reference"
commands=$("$program" --manual)
while IFS= read -r line; do
    if [ "$line" = @COMMANDS@ ]; then printf '%s\n' "$commands"; else printf '%s\n' "$line"; fi
done <"$(dirname "$0")/../src/cli/manual.md" >"$folder/reference/cli.md"

awk '
function roff(text,    parts, n, i, out) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.\047]/)
        text = "\\&" text
    n = split(text, parts, "`")
    out = parts[1]
    for (i = 2; i <= n; i++)
        out = out (i % 2 == 0 ? "\\fB" : "\\fR") parts[i]
    return out
}
BEGIN {
    print ".TH PLAIT 1 \"\" \"plait\" \"User Commands\""
    print ".SH NAME\nplait \\- plan the parallel training and serving of large models"
    print ".SH DESCRIPTION"
}
NR <= 2 { next } # the title
{
    is_code = substr($0, 1, 4) == "    "
    if (is_code != code)
        print is_code ? ".PP\n.RS\n.nf" : ".fi\n.RE"
    code = is_code
    if (code)
        print roff(substr($0, 5))
    else if (/^## /)
        print ".SH " toupper(substr($0, 4))
    else if (/^### /)
        print ".SS " roff(substr($0, 5))
    else if (/^\* `/) {
        split(substr($0, 4), term, "`: ")
        print ".TP\n" roff("`" term[1] "`")
        print roff(substr($0, length(term[1]) + 7))
    } else if ($0 != "")
        print (text ? "" : ".PP\n") roff($0)
    text = !code && $0 != ""
}' "$folder/reference/cli.md" >"$folder/plait.1"
