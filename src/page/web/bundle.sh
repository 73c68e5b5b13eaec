#!/bin/sh
# bundle.sh - what draws the charts, as one script: bundle.sh FROM OUT
#
# npm fetches what package-lock.json names into a folder beside OUT; OUT.json says what of it went in.
# Where it cannot, OUT is empty and a line says why: pages then have their tables alone.
set -u
from=$1 out=$2
folder=$out.npm

bundle() {
    cp "$from/package.json" "$from/package-lock.json" "$from/charts.js" "$folder" &&
        cd "$folder" &&
        npm ci --ignore-scripts --no-audit --no-fund --loglevel=error &&
        node_modules/.bin/esbuild charts.js --bundle --minify --format=iife --legal-comments=inline \
            --log-level=warning --metafile="$out.json" --outfile="$out"
}

mkdir -p "$folder" || exit 1
if ! (bundle) >"$out.log" 2>&1; then
    echo "bundle.sh: npm could not bundle the charts, so pages will have none; end of $out.log:" >&2
    tail -n 3 "$out.log" >&2
    : >"$out"
    echo "{}" >"$out.json"
fi
