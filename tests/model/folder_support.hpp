// Copies of fixture folders that tests spoil: tensors as a map, written back as one safetensors
// file.
#pragma once

#include "model/support.hpp"

#include <unistd.h>

#include <map>

namespace foveal::testing {

struct RawTensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string bytes;
};
using RawTensors = std::map<std::string, RawTensor>;

inline RawTensors read_tensors(const fs::path& path) {
  const SafetensorsFile file = SafetensorsFile::open(path.string()).value();
  RawTensors out;
  for (const SafetensorsEntry& e : file.entries()) {
    const auto extents = e.shape.extents();
    out[e.name] = {
        e.dtype_text,
        {extents.begin(), extents.end()},
        std::string(file.view(e).as<char>(), static_cast<std::size_t>((e.end - e.begin).v))};
  }
  return out;
}

inline void write_tensors(const fs::path& path, const RawTensors& tensors) {
  nlohmann::json header;
  std::string data;
  for (const auto& [name, t] : tensors) {
    header[name] = {{"dtype", t.dtype},
                    {"shape", t.shape},
                    {"data_offsets", {data.size(), data.size() + t.bytes.size()}}};
    data += t.bytes;
  }
  const std::string text = header.dump();
  const std::uint64_t n = text.size();
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&n), sizeof n);
  out << text << data;
}

// A folder of its own under the temporary directory, removed at the end.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (fs::temp_directory_path() / "foveal_test_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const fs::path& path() const { return path_; }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

inline void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A copy of a fixture's model whose parts can be changed one by one.
class ModelCopy {
 public:
  explicit ModelCopy(const std::string& name) {
    fs::copy(fixture(name) / "MODEL", folder_.path(), fs::copy_options::recursive);
    config = load_json(folder_ / "config.json");
    preprocessor = load_json(folder_ / "preprocessor_config.json");
    if (fs::exists(folder_ / "model.safetensors")) {
      tensors = read_tensors(folder_ / "model.safetensors");
    }
  }
  // Writes the changed parts and returns the folder.
  std::string save() const {
    write_text(folder_ / "config.json", config.dump());
    write_text(folder_ / "preprocessor_config.json", preprocessor.dump());
    if (!tensors.empty()) {
      write_tensors(folder_ / "model.safetensors", tensors);
    }
    return folder_.path().string();
  }
  fs::path operator/(const std::string& name) const { return folder_ / name; }

  nlohmann::json config;
  nlohmann::json preprocessor;
  RawTensors tensors;  // empty for sharded models

 private:
  TempFolder folder_;
};

}  // namespace foveal::testing
