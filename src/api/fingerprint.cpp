#include "api/fingerprint.hpp"

#include "base/sha256.hpp"

#include <algorithm>
#include <vector>

namespace foveal {
namespace {

// A JSON string. Names of outputs come from callers; the rest are words of ours.
std::string json_string(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20) {
      out += "\\u00";
      out += kDigits[u >> 4];
      out += kDigits[u & 15U];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string background_text(const DecodeOptions& decode) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (!decode.background) {
    return "null";
  }
  std::string out;
  for (const std::uint8_t channel : *decode.background) {
    out += kDigits[channel >> 4];
    out += kDigits[channel & 15U];
  }
  return json_string(out);
}

// The vector space: `pooled` is the same whatever was written beside it.
std::string output_text(std::vector<std::string> outputs) {
  if (std::ranges::any_of(outputs,
                          [](const std::string& n) { return n == "pooled" || n == "all"; })) {
    return json_string("pooled");
  }
  std::ranges::sort(outputs);
  std::string out;
  for (const std::string& name : outputs) {
    out += (out.empty() ? "" : ",") + name;
  }
  return json_string(out);
}

std::string content(const FingerprintParts& p) {
  std::string out = "{\"model\": " + p.model_content;
  out += ", \"resize\": " +
         json_string(p.encoder.resize == ImageBackend::kPillow ? "pillow" : "torchvision");
  out += ", \"background\": " + background_text(p.encoder.decode);
  out +=
      ", \"fast_jpeg\": " + std::string(p.encoder.fast_jpeg == FastJpeg::kYes ? "true" : "false");
  out +=
      ", \"positions\": " +
      json_string(p.encoder.positions == PositionMode::kInterpolate ? "interpolate" : "as trained");
  out += ", \"output\": " + output_text(p.embed.outputs);
  out += ", \"layer\": " + (p.embed.layer ? std::to_string(*p.embed.layer) : std::string("null"));
  out += ", \"normalize\": " + std::string(p.embed.normalize == Normalize::kYes ? "true" : "false");
  return out + "}";
}

}  // namespace

std::string fingerprint_json(const FingerprintParts& p) {
  constexpr std::size_t kHashDigits = 16;  // 64 bits: a mixed index is an accident, not an attack
  const std::string text = content(p);
  return "{\"content\": " + text +
         ", \"content_hash\": " + json_string(sha256_hex(text).substr(0, kHashDigits)) +
         ", \"notes\": {\"dtype\": " + json_string(p.dtype) +
         ", \"backend\": " + json_string(p.backend) + ", \"isa\": " + json_string(p.isa) +
         ", \"version\": " + json_string(p.version) + "}}";
}

}  // namespace foveal
