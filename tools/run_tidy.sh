#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy over src/ and the public headers, or over the sources given.
#   tools/run_tidy.sh [FILE...]
#   TIDY_FAST=1 tools/run_tidy.sh    without clang-analyzer-*, which takes most of the time
# Needs compile_commands.json in build/release (./check makes it), or in the folder that BUILD names. Any finding fails.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then
  mapfile -t files < <(git ls-files 'src/*.cpp')
else
  files=("$@")
fi
checks=()
if [ -n "${TIDY_FAST:-}" ]; then
  checks=('--checks=-clang-analyzer-*')
fi
log=build/tidy.log
printf '%s\0' "${files[@]}" |
  xargs -0 -n 2 -P "$(nproc)" clang-tidy -p "${BUILD:-build/release}" --quiet "${checks[@]}" >"$log" 2>/dev/null || true
if [ $# -eq 0 ]; then
  # By themselves: include/.clang-tidy adds a check for what a caller could swap.
  mapfile -t headers < <(git ls-files 'include/*.hpp')
  clang-tidy --quiet "${checks[@]}" "${headers[@]}" -- -x c++ -std=c++20 -Iinclude >>"$log" 2>/dev/null || true
fi
# One header is seen from many files: count a place once.
findings=$(grep -E '^[^ ]+:[0-9]+:[0-9]+: (warning|error): ' "$log" | sed "s|^$PWD/||" |
  grep -v -e '-inl\.hpp:.*misc-definitions-in-headers' | sort -u || true)
if [ -n "$findings" ]; then
  echo "$findings"
  echo "$findings" | grep -oE '\[[a-zA-Z0-9.,-]+\]$' | sort | uniq -c | sort -rn
  echo "clang-tidy: $(echo "$findings" | wc -l) findings in ${#files[@]} files; the notes are in $log" >&2
  exit 1
fi
echo "    ${#files[@]} files, no finding"
