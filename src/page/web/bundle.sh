#!/bin/sh
# bundle.sh FROM OUT - bundles charts.js and its dependencies into one script
#
# npm installs the packages of package-lock.json into a folder beside OUT, and OUT.json lists the
# files that were bundled. If npm fails, OUT is empty and the reason is printed; pages then have
# tables but no charts.
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
