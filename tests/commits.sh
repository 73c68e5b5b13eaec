#!/bin/bash
# commits.sh [BASE] - checks the subjects of the commits after BASE: "area: imperative", 72 characters
#
# A shallow clone may not contain BASE; then only the newest commit is checked, because older ones were made
# before the rule. Without git or a repository there is nothing to check.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1

readonly base=${1:-77e8fe1f} # the last commit before the rule
readonly longest=72

git rev-parse --verify -q HEAD >/dev/null 2>&1 || { echo "no repository: no commits checked"; exit 0; }
if git merge-base --is-ancestor "$base" HEAD 2>/dev/null; then
    range=("$base..HEAD")
else
    echo "$base is not in this clone: only the newest commit is checked"
    range=(-1 HEAD)
fi

wrong=0
complain() { # complain COMMIT EXPECTED SUBJECT
    echo "commit $1: expected $2, found \"$3\""
    wrong=$((wrong + 1))
}

checked=0
while read -r commit subject; do
    checked=$((checked + 1))
    if [ ${#subject} -gt $longest ]; then
        complain "$commit" "at most $longest characters" "$subject"
    elif ! [[ $subject =~ ^[a-z]+:\ ([a-z][a-z-]*)(\ .*[^.]|)$ ]]; then
        complain "$commit" "\"area: imperative\" in lower case, without a full stop" "$subject"
    else
        # "adds", "added" and "adding", but not "pass", "need" and "bring".
        case ${BASH_REMATCH[1]} in
        *ss | need | seed | feed | embed | speed | bring | string | focus | bias) ;;
        *s | *ed | *ing) complain "$commit" "an imperative after the colon" "$subject" ;;
        esac
    fi
done < <(git log --no-merges --format='%h %s' "${range[@]}")
echo "$checked commits, $wrong with a wrong subject"
[ $wrong -eq 0 ]
