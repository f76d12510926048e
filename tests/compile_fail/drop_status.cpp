// A call whose failure nobody would see.
#include <foveal/context.hpp>

void use(const foveal::Context& context, const foveal::AttentionPlan& plan,
         const foveal::QkvView& in, const foveal::OutView& out) {
#if defined(MISUSE)
  context.attention(plan, in, out);
#else
  context.attention(plan, in, out).value();
#endif
}
