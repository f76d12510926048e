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
  echo "    $name: $seconds s, seeds: ${seeds[*]:-none}"
  "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=0 \
    -artifact_prefix="$build/crashes/$name-" "$work" "${seeds[@]}" </dev/null
done < <(find "$build" -type f -name 'fuzz_*' -perm -u+x | sort)
if [ "$found" -eq 0 ]; then
  echo "no fuzz target in $build" >&2
  exit 1
fi
