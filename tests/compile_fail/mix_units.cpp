// A count of elements where tokens are due.
#include <foveal/units.hpp>

foveal::Tokens longest(foveal::Tokens a, foveal::Tokens b) {
  return a < b ? b : a;
}

#if defined(MISUSE)
foveal::Tokens use() {
  return longest(foveal::Tokens(3), foveal::Elements(3));
}
#else
foveal::Tokens use() {
  return longest(foveal::Tokens(3), foveal::Tokens(3));
}
#endif
