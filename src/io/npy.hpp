// The .npy format (NumPy's NEP 1), version 1.0: magic, header length, a Python dict as text, raw
// data.
#pragma once

#include <foveal/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace foveal::io {

// Little-endian, C order: "<f4" or "<i8". Padded so that the data begins at a multiple of 64 bytes.
std::string npy_header(bool integers, std::span<const std::int64_t> shape);

struct NpyHeader {
  bool integers = false;
  std::vector<std::int64_t> shape;
  std::size_t data_begin = 0;  // bytes from the start of the file
};
// nullopt where it is no .npy file of ours: other dtypes and Fortran order among it.
std::optional<NpyHeader> parse_npy(std::span<const std::byte> bytes);

}  // namespace foveal::io
