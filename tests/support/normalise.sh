# normalise.sh - masks what differs from run to run: numbers on lines about elapsed time and threads,
# the unit of an elapsed time, whether there was one thread or several; and from release to release
mask_version() {
    sed -E 's/^( *"plait": ")[0-9.]+"/\1VERSION"/; s/^plait [0-9]+\.[0-9]+\.[0-9]+$/plait VERSION/'
}

normalise() {
    mask_version | sed -E -e '/elapsed|thread/ s/[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?/N/g' \
        -e 's/elapsed N (s|ms|us) /elapsed N /' -e 's/on N threads?$/on N threads/'
}
