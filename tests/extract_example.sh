#!/bin/sh
# Prints the program in the comment of the umbrella header.
sed -n '/^ \*     #include/,/^ \*     }$/{s/^ \*     \{0,1\}//;s/^ \*$//;p}' "$1"
