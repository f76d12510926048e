#!/bin/sh
# Proves of a build that the units built with an instruction set's flags share nothing with the rest of the
# program: no weak (inline) definition that the linker could hand to others, no call into the C++ library.
# Usage: tools/check_isa_symbols.sh BUILD_FOLDER
set -eu
build=${1:?usage: tools/check_isa_symbols.sh BUILD_FOLDER}
objects=$(find "$build" -path '*fv_*/cpu/*.o' | grep -E '/(generic|avx2|avx512[a-z0-9]*|amx[a-z0-9]*)\.cpp\.o$' || true)
objects="$objects $(find "$build" -path '*fv_backend_cpu*' -name '*.o' | grep -E '/(generic|avx2|avx512[a-z0-9]*|amx[a-z0-9]*)\.cpp\.o$' || true)"
count=0
bad=0
for object in $(printf '%s\n' $objects | sort -u); do
  count=$((count + 1))
  # W, V: weak; u: unique across the program. _ZSt, _ZNSt, _ZNKSt: namespace std; _Zna, _Znw: operator new.
  if nm "$object" | grep -E ' [WwVvu] | U _Z(St|NSt|NKSt|na|nw)'; then
    echo "$object: shares the symbols above" >&2
    bad=1
  fi
done
if [ "$count" -eq 0 ]; then
  echo "$build holds no object of an instruction set" >&2
  exit 1
fi
[ "$bad" -eq 0 ] && echo "$count objects share nothing"
exit "$bad"
