#include "io/npy.hpp"

#include "base/narrow.hpp"

#include <charconv>
#include <string_view>

namespace foveal::io {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY\x01\x00", 8};
constexpr std::size_t kPreamble = 10;   // magic and a 16-bit header length
constexpr std::size_t kAlignment = 64;  // as NumPy writes it

}  // namespace

std::string npy_header(bool integers, std::span<const std::int64_t> shape) {
  std::string dict = std::string("{'descr': '") + (integers ? "<i8" : "<f4") +
                     "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : shape) {
    dict += std::to_string(extent) + ", ";
  }
  if (shape.size() > 1) {
    dict.resize(dict.size() - 2);
  } else if (shape.size() == 1) {
    dict.pop_back();  // a tuple of one keeps its comma
  }
  dict += "), }";
  const std::size_t whole =
      (kPreamble + dict.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  dict.resize(whole - kPreamble - 1, ' ');
  dict += '\n';
  std::string out(kMagic);
  out += static_cast<char>(dict.size() & 0xFF);
  out += static_cast<char>(dict.size() >> 8);
  return out + dict;
}

std::optional<NpyHeader> parse_npy(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < kPreamble || text.substr(0, 8) != kMagic) {
    return std::nullopt;
  }
  const std::size_t length =
      std::to_integer<std::size_t>(bytes[8]) | std::to_integer<std::size_t>(bytes[9]) << 8;
  if (length > text.size() - kPreamble) {
    return std::nullopt;
  }
  const std::string_view dict = text.substr(kPreamble, length);
  NpyHeader out;
  out.data_begin = kPreamble + length;
  out.integers = dict.find("'<i8'") != dict.npos;
  if ((!out.integers && dict.find("'<f4'") == dict.npos) ||
      dict.find("'fortran_order': False") == dict.npos) {
    return std::nullopt;
  }
  constexpr std::string_view kShape = "'shape': (";
  std::size_t at = dict.find(kShape);
  if (at == dict.npos) {
    return std::nullopt;
  }
  long long count = 1;
  for (at += kShape.size(); at < dict.size() && dict[at] != ')';) {
    if (dict[at] == ' ' || dict[at] == ',') {
      ++at;
      continue;
    }
    std::int64_t extent = 0;
    const auto parsed = std::from_chars(dict.data() + at, dict.data() + dict.size(), extent);
    const auto product = checked_mul(count, extent);
    if (parsed.ec != std::errc() || extent < 0 || !product) {
      return std::nullopt;
    }
    count = *product;
    out.shape.push_back(extent);
    at = static_cast<std::size_t>(parsed.ptr - dict.data());
  }
  const auto size = checked_mul(count, out.integers ? 8 : 4);
  if (!size || static_cast<std::uint64_t>(*size) > bytes.size() - out.data_begin) {
    return std::nullopt;
  }
  return out;
}

}  // namespace foveal::io
