# Shared by ./quickstart, ./check and .ci/run: steps with their time, packages, building. Source it; needs bash.
# shellcheck shell=bash

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PACKAGE_LIST=$REPO/tools/packages-debian.txt
STEP_NAME=""
STEP_HELP=""
STEP_START=$SECONDS

# say TEXT...: one plain line.
say() { printf '    %s\n' "$*"; }

# step NAME [WHAT TO DO WHEN IT FAILS]: closes the running step and opens the next.
step() {
  end_step
  STEP_NAME=$1
  STEP_HELP=${2:-}
  STEP_START=$SECONDS
  printf '==> %s\n' "$STEP_NAME"
}

end_step() {
  if [ -n "$STEP_NAME" ]; then
    printf '    (%d s)\n' "$((SECONDS - STEP_START))"
  fi
  STEP_NAME=""
}

# fail TEXT...: ends the script with the reason and the step's advice.
fail() {
  printf '\nfailed: %s\n' "$*" >&2
  exit 1
}

# Installed as the EXIT trap: whatever ends the script in the middle of a step is named.
report_exit() {
  local status=$?
  if [ "$status" -ne 0 ] && [ -n "$STEP_NAME" ]; then
    printf '\n%s stopped (exit code %d) in the step "%s" after %d s.\n' \
      "$(basename "$0")" "$status" "$STEP_NAME" "$((SECONDS - STEP_START))" >&2
    if [ -n "$STEP_HELP" ]; then
      printf 'What to do: %s\n' "$STEP_HELP" >&2
    fi
  fi
}
trap report_exit EXIT

# packages GROUP...: the packages of these groups, one a line, without doubles.
packages() {
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group { print $2 }' "$PACKAGE_LIST"
  done | sort -u
}

# missing_packages GROUP...: those of them that dpkg does not know as installed.
missing_packages() {
  local package
  for package in $(packages "$@"); do
    if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' &&
      ! provided "$package"; then
      echo "$package"
    fi
  done
}

# Some names are virtual (pkg-config is provided by pkgconf elsewhere).
provided() { dpkg-query -W -f='${db:Status-Abbrev} ${Provides}\n' 2>/dev/null | grep -qE "^ii .*\b$1\b"; }

# need_packages GROUP...: installs what is missing as root, else stops with the command to run.
need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    fail "this is no Debian: install the packages of tools/packages-debian.txt by hand"
  fi
  local release
  release=$(. /etc/os-release && echo "${ID:-unknown} ${VERSION_ID:-}")
  if [ "$release" != "debian 12" ]; then
    say "made for Debian 12; this is $release: best effort (Ubuntu 24.04 has the same package names)"
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  if [ "${#missing[@]}" -eq 0 ]; then
    say "nothing to install: all $(packages "$@" | wc -l) packages are there"
    return
  fi
  if [ "$(id -u)" -ne 0 ]; then
    STEP_HELP="run this, then start again:
  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
    fail "${#missing[@]} packages are missing, and installing them needs root"
  fi
  say "installing ${missing[*]}"
  apt_install "${missing[@]}"
}

apt_install() {
  local log=$REPO/build/apt.log
  mkdir -p "$REPO/build"
  if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
    >"$log" 2>&1 </dev/null; then
    tail -n 15 "$log" >&2
    fail "apt-get could not install them; its whole output is in $log"
  fi
}

# configure PRESET [cmake options...]
configure() {
  local preset=$1
  shift
  if command -v ccache >/dev/null; then
    set -- -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@"
  fi
  (cd "$REPO" && cmake --preset "$preset" "$@") >"$REPO/build/configure-$preset.log" 2>&1 || {
    tail -n 25 "$REPO/build/configure-$preset.log" >&2
    fail "cmake could not configure; its whole output is in build/configure-$preset.log"
  }
}

# build PRESET [TARGET...]: ninja's own progress line on a terminal, else a line every 10 %.
build() {
  local preset=$1
  shift
  local targets=()
  if [ $# -gt 0 ]; then
    targets=(--target "$@")
  fi
  if [ -t 1 ]; then
    (cd "$REPO" && NINJA_STATUS='    [%p %f/%t] ' cmake --build --preset "$preset" "${targets[@]}")
    return
  fi
  local log=$REPO/build/build-$preset.log
  (cd "$REPO" && NINJA_STATUS='@%f/%t@ ' cmake --build --preset "$preset" "${targets[@]}") 2>&1 </dev/null |
    tee "$log" | awk '
      match($0, /^@[0-9]+\/[0-9]+@/) {
        split(substr($0, 2, RLENGTH - 2), n, "/")
        tenth = int(10 * n[1] / n[2])
        if (tenth > last) { printf "    built %d of %d files\n", n[1], n[2]; fflush(); last = tenth }
        next
      }
      !/ninja: no work to do/ { print; fflush() }'
}
