// The safetensors form of an output: u64 header length, JSON header, arrays. Integers come first,
// so that every array lies aligned for its dtype.
#include "io/write_output.hpp"

#include <algorithm>
#include <array>

namespace foveal::io {
namespace {

constexpr std::size_t kHeaderAlignment =
    8;  // of the data behind it: the widest dtype that is written

}  // namespace

Status write_safetensors(const Spool& spool, const OutputMetadata& metadata, File& to) {
  FOVEAL_TRY(OutputLayout layout, layout_of(spool));
  std::stable_partition(layout.arrays.begin(), layout.arrays.end(),
                        [](const OutputArray& a) { return a.integers; });
  Json header;
  header["__metadata__"] = {{"format", "foveal"},
                            {"files", dump(layout.files)},
                            {"errors", dump(layout.errors)},
                            {"fingerprint", metadata.fingerprint},
                            {"embed", metadata.embed}};
  std::int64_t at = 0;
  for (const OutputArray& array : layout.arrays) {
    header[array.name] = {{"dtype", array.integers ? "I64" : "F32"},
                          {"shape", array.shape},
                          {"data_offsets", {at, at + array.bytes()}}};
    at += array.bytes();
  }
  std::string text = dump(header);
  text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  std::array<std::byte, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<std::byte>(text.size() >> (8 * i));
  }
  FOVEAL_TRY_STATUS(to.write(length));
  FOVEAL_TRY_STATUS(to.write(text));
  for (const OutputArray& array : layout.arrays) {
    FOVEAL_TRY(const std::uint32_t crc, append_array(spool, array, to));
    static_cast<void>(crc);  // the format has none
  }
  return {};
}

}  // namespace foveal::io
