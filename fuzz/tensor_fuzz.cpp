// Fuzz target of the safetensors header: any bytes must give entries that lie inside of the file,
// or an error. tests/tensor/fuzz_corpus_test.cpp replays the corpus through it.
#include "tensor/safetensors.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  std::vector<foveal::SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
  const auto start = foveal::parse_safetensors_header(bytes, "fuzz", entries, metadata);
  if (!start) {
    return 0;
  }
  std::int64_t previous = 0;
  for (const foveal::SafetensorsEntry& e : entries) {
    const bool inside = e.begin.v >= previous && e.end >= e.begin &&
                        *start + static_cast<std::size_t>(e.end.v) <= size;
    const bool fits =
        !e.dtype || e.shape.numel() * foveal::dtype_size(*e.dtype).v == (e.end - e.begin).v;
    if (!inside || !fits) {
      std::abort();
    }
    previous = e.end.v;
  }
  return 0;
}
