#!/bin/sh
# A program that takes one file, as a subject that takes a folder: each.sh PROGRAM CASES RESULTS
set -e
for case in "$2"/*; do
  "$1" "$case" "$3/$(basename "$case")"
done
