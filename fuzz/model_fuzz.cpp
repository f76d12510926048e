// Fuzz target of config.json and preprocessor_config.json: the input is the two texts with a NUL
// between them. Every family must describe a tower whose sizes make sense, or give an error; and
// plan a picture's size. tests/model/fuzz_corpus_test.cpp replays the corpus through it.
#include "model/families/families.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

std::optional<foveal::Config> config_of(std::string_view text, const char* file) {
  nlohmann::json document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) {
    return std::nullopt;
  }
  return foveal::Config(std::make_shared<const nlohmann::json>(std::move(document)), file);
}

void expect(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto split = text.find('\0');
  if (split == std::string_view::npos) {
    return 0;
  }
  const auto config = config_of(text.substr(0, split), "config.json");
  const auto preprocessor = config_of(text.substr(split + 1), "preprocessor_config.json");
  if (!config || !preprocessor) {
    return 0;
  }
  const foveal::ModelFolder folder{"fuzz", *config, *preprocessor};
  for (const foveal::Family& family : foveal::kFamilies) {
    const auto spec = family.describe(folder, foveal::WeightFiles());
    if (!spec) {
      expect(!spec.error().describe().empty());
      continue;
    }
    const auto& attention = spec->block.attention;
    expect(attention.num_heads * attention.head_dim == spec->hidden_size);
    expect(attention.head_dim % 8 == 0 && attention.head_dim <= 256);
    expect(spec->num_layers >= 1 && spec->patch.geometry.patch_size >= 1);
    for (const foveal::ImageSize picture :
         {foveal::ImageSize{1, 1}, {70, 70}, {1, 4000}, {8000, 6000}}) {
      const auto plan = foveal::plan_size(spec->preprocess, spec->patch.geometry, picture,
                                          foveal::ImageBackend::kTorchvision, "fuzz", spec->family);
      // A side may come out as 0 (1 x 4000 bounded by longest_edge): resize and tokens_for refuse
      // that.
      expect(!plan || (plan->final_size.height >= 0 && plan->final_size.width >= 0));
    }
  }
  return 0;
}
