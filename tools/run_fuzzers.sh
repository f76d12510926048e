#!/usr/bin/env bash
# Runs every fuzz target of a build folder on its committed corpus.
#   tools/run_fuzzers.sh BUILD SECONDS
# A target fuzz_NAME starts from fuzz/corpus/NAME; what it finds new stays in BUILD. A crash ends the run with
# the input's path.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
seconds=$2
found=0
while IFS= read -r target; do
  found=$((found + 1))
  name=$(basename "$target")
  name=${name#fuzz_}
  work=$build/corpus/$name
  mkdir -p "$work" "$build/crashes"
  seeds=()
  if [ -d "fuzz/corpus/$name" ]; then
    seeds=("fuzz/corpus/$name")
  fi
  log=$build/$name.log
  "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$build/crashes/$name-" \
    "$work" "${seeds[@]}" >"$log" 2>&1 </dev/null || {
    tail -n 40 "$log" >&2
    echo "fuzz target $name failed; the input is in $build/crashes, the whole output in $log" >&2
    exit 1
  }
  echo "    $name: $(grep -oE 'Done [0-9]+ runs' "$log"), seeds: ${seeds[*]:-none}"
done < <(find "$build" -type f -name 'fuzz_*' -perm -u+x | sort)
if [ "$found" -eq 0 ]; then
  echo "no fuzz target in $build" >&2
  exit 1
fi
