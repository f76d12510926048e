#!/usr/bin/env bash
# Fails when a C++ file that git knows is not as .clang-format would have it; names the first differing line.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files '*.hpp' '*.cpp' '*.cu' '*.cuh' | xargs -r clang-format --dry-run --Werror --ferror-limit=1
