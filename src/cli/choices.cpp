#include "cli/choices.hpp"

#include <charconv>

namespace foveal::cli {

Result<ComputeDType> parse_dtype(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, ComputeDType>, 4> kWords{
      {{"auto", ComputeDType::kAuto},
       {"f32", ComputeDType::kF32},
       {"bf16", ComputeDType::kBF16},
       {"f16", ComputeDType::kF16}}};
  return choose("--dtype", text, kWords);
}

Result<ImageBackend> parse_resize(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, ImageBackend>, 2> kWords{
      {{"torchvision", ImageBackend::kTorchvision}, {"pillow", ImageBackend::kPillow}}};
  return choose("--resize", text, kWords);
}

Result<std::optional<std::array<std::uint8_t, 3>>> parse_background(std::string_view text) {
  if (text.empty()) {
    return std::optional<std::array<std::uint8_t, 3>>();
  }
  std::string_view digits = text;
  if (digits.starts_with('#')) {
    digits.remove_prefix(1);
  }
  std::uint32_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() != 6 || parsed.ec != std::errc() ||
      parsed.ptr != digits.data() + digits.size()) {
    return Error(ErrorCode::kOptionUnknown,
                 {{"option", "--background"},
                  {"value", text},
                  {"expected", "RRGGBB in hexadecimal, such as FFFFFF for white"}});
  }
  return std::optional(std::array{static_cast<std::uint8_t>(value >> 16),
                                  static_cast<std::uint8_t>(value >> 8),
                                  static_cast<std::uint8_t>(value)});
}

Result<LogLevel> parse_log_level(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, LogLevel>, 4> kWords{
      {{"error", LogLevel::kError},
       {"warning", LogLevel::kWarning},
       {"info", LogLevel::kInfo},
       {"debug", LogLevel::kDebug}}};
  return choose("--log-level", text, kWords);
}

Result<LogFormat> parse_log_format(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, LogFormat>, 2> kWords{
      {{"text", LogFormat::kText}, {"json", LogFormat::kJson}}};
  return choose("--log-format", text, kWords);
}

}  // namespace foveal::cli
