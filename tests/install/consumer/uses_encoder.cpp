// Opens the model folder given and embeds one picture; exit code 0 where that works.
#include <foveal/encoder.hpp>

int main(int argc, char** argv) {
  const foveal::Context context = foveal::Context::create().value();
  const auto encoder = foveal::Encoder::open(context, argc > 1 ? argv[1] : "");
  if (!encoder) {
    return 1;
  }
  const auto results = encoder->embed({{.name = argc > 2 ? argv[2] : ""}}).value();
  return results.at(0).error ? 2 : 0;
}
