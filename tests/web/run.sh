#!/bin/bash
# run.sh PLAIT SITE NODE_MODULES [PICTURES] - the page that plans in Chromium, against the native program
#
# With PICTURES, a folder, its first screens are drawn for the README: a desktop, a telephone, the dark theme.
# The last line is "N passed, N failed".
set -u

plait=$(realpath "$1") site=$(realpath "$2") modules=$3 pictures=${4:--}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$chromium" ] || ! command -v node >/dev/null || [ ! -d "$modules/puppeteer-core" ]; then
    echo "no Chromium, node or puppeteer-core: the page that plans is not tested"
    exit 0
fi
node tests/web/planner.mjs "$modules" "$chromium" "$plait" "$site" "$scratch" "$pictures"
