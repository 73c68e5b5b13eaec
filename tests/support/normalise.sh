# normalise.sh - masks what differs from run to run: numbers on lines about elapsed time and threads,
# and the unit of an elapsed time
normalise() {
    sed -E -e '/elapsed|threads/ s/[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?/N/g' \
        -e 's/elapsed N (s|ms|us) /elapsed N /'
}
