# normalise.sh - masks what differs from run to run: numbers on lines about elapsed time and threads
normalise() {
    sed -E '/elapsed|threads/ s/[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?/N/g'
}
