// A Result that nobody looks at.
#include <foveal/context.hpp>

void use() {
#if defined(MISUSE)
  foveal::Context::create();
#else
  if (!foveal::Context::create()) {
    return;
  }
#endif
}
