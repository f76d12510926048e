// The NumPy forms of an output: .npz with every array, .npy with one.
#include "io/npy.hpp"
#include "io/write_output.hpp"
#include "io/zip.hpp"

#include <algorithm>

namespace foveal::io {
namespace {

Json metadata_json(const OutputLayout& layout, const OutputMetadata& metadata) {
  return {{"files", layout.files},
          {"errors", layout.errors},
          {"fingerprint", metadata.fingerprint},
          {"embed", metadata.embed}};
}

}  // namespace

Status write_npz(const Spool& spool, const OutputMetadata& metadata, File& to) {
  FOVEAL_TRY(const OutputLayout layout, layout_of(spool));
  ZipWriter zip(to);
  for (const OutputArray& array : layout.arrays) {
    const std::string header = npy_header(array.integers, array.shape);
    const auto fill = [&](File& file) -> Result<std::uint32_t> {
      FOVEAL_TRY_STATUS(file.write(header));
      return append_array(spool, array, file, crc32_of(std::as_bytes(std::span(header))));
    };
    FOVEAL_TRY_STATUS(zip.add(array.name + ".npy",
                              static_cast<std::int64_t>(header.size()) + array.bytes(), fill));
  }
  const std::string text = dump(metadata_json(layout, metadata), 1) + "\n";
  const auto fill = [&](File& file) -> Result<std::uint32_t> {
    FOVEAL_TRY_STATUS(file.write(text));
    return crc32_of(std::as_bytes(std::span(text)));
  };
  FOVEAL_TRY_STATUS(zip.add("metadata.json", static_cast<std::int64_t>(text.size()), fill));
  return zip.finish();
}

Status write_npy(const Spool& spool, const OutputMetadata& metadata, File& to,
                 std::string& sidecar) {
  FOVEAL_TRY(const OutputLayout layout, layout_of(spool));
  const OutputArray nothing{.name = "pooled", .shape = {0, 0}};  // every picture failed
  const OutputArray& array = layout.arrays.empty() ? nothing : layout.arrays.front();
  FOVEAL_TRY_STATUS(to.write(npy_header(array.integers, array.shape)));
  FOVEAL_TRY(const std::uint32_t crc, append_array(spool, array, to));
  Json json = metadata_json(layout, metadata);
  json["output"] = array.name;
  json["shape"] = array.shape;
  json["crc32"] = crc;  // of the data: tells a pair that does not belong together
  for (const OutputArray& other : layout.arrays) {
    if (other.column < 0) {
      json[other.name] = other.values;
    }
  }
  sidecar = dump(json, 1) + "\n";
  return {};
}

}  // namespace foveal::io
