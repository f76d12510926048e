// Fixtures of the image tests: files, expected tensors, small encoders.
#pragma once

#include <gtest/gtest.h>
#include <foveal/image.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace foveal {

using FileBytes = std::vector<std::uint8_t>;

inline std::filesystem::path golden_dir() {
  return std::filesystem::path(FOVEAL_SOURCE_DIR) / "tests" / "golden";
}
inline std::filesystem::path decode_dir() {
  return golden_dir() / "units" / "decode";
}
inline std::filesystem::path resize_dir() {
  return golden_dir() / "units" / "resize";
}
inline std::filesystem::path made_dir() {
  return golden_dir() / "image";
}

// Empty where the file cannot be read: the test that uses it then fails.
inline FileBytes read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The files of a folder with one of these extensions, in order of their names.
inline std::vector<std::filesystem::path> files_in(const std::filesystem::path& dir,
                                                   const std::vector<std::string>& extensions) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    if (std::find(extensions.begin(), extensions.end(), entry.path().extension()) !=
        extensions.end()) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Tensor {
  std::string dtype;  // "U8", "F32"
  std::vector<std::int64_t> shape;
  FileBytes bytes;

  Image image() const {
    return {
        .width = static_cast<int>(shape[1]), .height = static_cast<int>(shape[0]), .rgb = bytes};
  }
  std::vector<float> floats() const {
    std::vector<float> out(bytes.size() / sizeof(float));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
};

// A safetensors file that we wrote ourselves; the reader for foreign ones is tested elsewhere.
inline std::map<std::string, Tensor> read_tensors(const std::filesystem::path& path) {
  const FileBytes file = read_bytes(path);
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, file.data(), sizeof(header_size));
  const auto begin = file.begin() + 8;
  const auto data = begin + static_cast<std::ptrdiff_t>(header_size);
  std::map<std::string, Tensor> tensors;
  const auto header = nlohmann::json::parse(begin, data);
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      continue;
    }
    const auto offsets = entry["data_offsets"].get<std::vector<std::ptrdiff_t>>();
    tensors[name] = {.dtype = entry["dtype"],
                     .shape = entry["shape"],
                     .bytes = FileBytes(data + offsets[0], data + offsets[1])};
  }
  return tensors;
}

// Equal extents and bytes; else where the first difference is.
inline ::testing::AssertionResult same_image(const Image& got, const Image& want) {
  if (got.size() != want.size()) {
    return ::testing::AssertionFailure()
           << got.width << "x" << got.height << ", expected " << want.width << "x" << want.height;
  }
  if (got.rgb.size() != want.rgb.size()) {
    return ::testing::AssertionFailure()
           << got.rgb.size() << " bytes, expected " << want.rgb.size();
  }
  const auto [a, b] = std::mismatch(got.rgb.begin(), got.rgb.end(), want.rgb.begin());
  if (a == got.rgb.end()) {
    return ::testing::AssertionSuccess();
  }
  const auto at = static_cast<std::size_t>(a - got.rgb.begin());
  const auto width = static_cast<std::size_t>(got.width);
  std::size_t different = 0;
  for (std::size_t i = 0; i < got.rgb.size(); ++i) {
    different += got.rgb[i] != want.rgb[i] ? 1 : 0;
  }
  return ::testing::AssertionFailure()
         << different << " of " << got.rgb.size() << " bytes differ, first at y " << at / 3 / width
         << " x " << at / 3 % width << " c " << at % 3 << ": " << int{*a} << ", expected "
         << int{*b};
}

// Every pixel another colour, so that a misplaced one shows.
inline Image test_image(int width, int height) {
  Image image{.width = width, .height = height, .rgb = {}};
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < std::int64_t{width} * height * 3; ++i) {
    state = state * 1664525U + 1013904223U;
    image.rgb.push_back(static_cast<std::uint8_t>(state >> 24));
  }
  return image;
}

inline std::uint32_t crc32(const FileBytes& bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int k = 0; k < 8; ++k) {
      crc = (crc >> 1) ^ (0xEDB88320U & (0U - (crc & 1U)));
    }
  }
  return ~crc;
}

inline void append_be32(FileBytes& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<std::uint8_t>(value >> shift));
  }
}

inline void append_chunk(FileBytes& out, const std::string& type, const FileBytes& data) {
  append_be32(out, static_cast<std::uint32_t>(data.size()));
  FileBytes checked(type.begin(), type.end());
  checked.insert(checked.end(), data.begin(), data.end());
  out.insert(out.end(), checked.begin(), checked.end());
  append_be32(out, crc32(checked));
}

// A PNG of any claims: header, then the chunks given, then the end.
inline FileBytes png_file(std::uint32_t width, std::uint32_t height, std::uint8_t bits,
                          std::uint8_t color_type,
                          const std::vector<std::pair<std::string, FileBytes>>& chunks) {
  FileBytes out{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  FileBytes header;
  append_be32(header, width);
  append_be32(header, height);
  header.insert(header.end(), {bits, color_type, 0, 0, 0});
  append_chunk(out, "IHDR", header);
  for (const auto& [type, data] : chunks) {
    append_chunk(out, type, data);
  }
  append_chunk(out, "IEND", {});
  return out;
}

// Code and fields of an error must fit its entry: no {name} may be left in the sentence.
inline ::testing::AssertionResult is_error(const Error& error, ErrorCode code) {
  if (error.code() != code) {
    return ::testing::AssertionFailure() << error.describe();
  }
  for (const std::string& text : {error.message(), error.fix()}) {
    if (text.find('{') != std::string::npos) {
      return ::testing::AssertionFailure() << "a field is missing: " << text;
    }
  }
  return ::testing::AssertionSuccess();
}
template <class T>
::testing::AssertionResult is_error(const Result<T>& result, ErrorCode code) {
  if (result.has_value()) {
    return ::testing::AssertionFailure() << "no error";
  }
  return is_error(result.error(), code);
}

}  // namespace foveal
