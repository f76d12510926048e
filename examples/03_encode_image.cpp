// Pictures of any size in, one vector each out: 03_encode_image MODEL_FOLDER PICTURE...
#include <foveal/encoder.hpp>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::printf("usage: %s MODEL_FOLDER PICTURE...\n", argv[0]);
    return 2;
  }
  const foveal::Context context = foveal::Context::create().value();
  const auto encoder = foveal::Encoder::open(context, argv[1]);
  if (!encoder) {
    std::printf("%s\n", encoder.error().describe().c_str());
    return 3;
  }
  std::vector<foveal::ImageInput> pictures;
  for (int i = 2; i < argc; ++i) {
    pictures.push_back({.name = argv[i]});
  }
  const auto results =
      encoder->embed(std::move(pictures), {.normalize = foveal::Normalize::kYes}).value();
  int failed = 0;
  for (const foveal::ImageResult& result :
       results) {  // in input order; a broken picture is one of them
    if (result.error) {
      std::printf("%s\n", result.error->describe().c_str());
      failed = 1;
      continue;
    }
    const foveal::OutputRows& pooled = result.outputs.front();
    std::printf("%s: %lld x %lld, first values %g %g %g\n", result.name.c_str(),
                static_cast<long long>(pooled.shape[0]), static_cast<long long>(pooled.shape[1]),
                static_cast<double>(pooled.values[0]), static_cast<double>(pooled.values[1]),
                static_cast<double>(pooled.values[2]));
  }
  return failed;
}
