// SHA-256 (FIPS 180-4), for digests of weights and fingerprints. Not for secrets: nothing here is
// timed evenly.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace foveal {

class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  // May be called any number of times; the pieces are one message.
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  // Ends the message; the object is spent.
  Digest finish();
  // finish() in lower-case hexadecimal, 64 characters.
  std::string finish_hex();

 private:
  static constexpr std::size_t kBlock = 64;  // bytes
  void block(const std::uint8_t* bytes);

  std::array<std::uint32_t, 8> state_{0x6a09e667U, 0xbb67ae85U, 0x3c6ef372U, 0xa54ff53aU,
                                      0x510e527fU, 0x9b05688cU, 0x1f83d9abU, 0x5be0cd19U};
  std::array<std::uint8_t, kBlock> waiting_{};
  std::size_t used_ = 0;      // bytes in waiting_, [0, kBlock)
  std::uint64_t length_ = 0;  // bytes of the message so far
};

// 64 lower-case hexadecimal digits of one message.
std::string sha256_hex(std::string_view text);

}  // namespace foveal
