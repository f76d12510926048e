#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy over src/ (all of it), or over the files given.
#   tools/run_tidy.sh [FILE...]
# Needs build/release/compile_commands.json (./check makes it). Any finding fails.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then
  mapfile -t files < <(git ls-files 'src/*.cpp')
else
  files=("$@")
fi
log=build/tidy.log
printf '%s\0' "${files[@]}" |
  xargs -0 -n 2 -P "$(nproc)" clang-tidy -p build/release --quiet >"$log" 2>/dev/null || true
# One header is seen from many files: count a place once.
findings=$(grep -E '^/.*(warning|error): ' "$log" | sort -u || true)
if [ -n "$findings" ]; then
  echo "${findings//$PWD\//}"
  echo "$findings" | grep -oE '\[[a-zA-Z0-9.,-]+\]$' | sort | uniq -c | sort -rn
  echo "clang-tidy: $(echo "$findings" | wc -l) findings in ${#files[@]} files; the notes are in $log" >&2
  exit 1
fi
echo "    ${#files[@]} files, no finding"
