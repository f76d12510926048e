// What produced an output, as JSON: "content" decides whether vectors may be compared, "notes" say
// how they were computed.
#pragma once

#include <foveal/encoder.hpp>

#include <string>
#include <string_view>

namespace foveal {

struct FingerprintParts {
  std::string model_content;  // JSON object: Model::content_fingerprint()
  const EncoderOptions& encoder;
  const EmbedOptions& embed;
  std::string_view dtype;    // "f32" or "bf16"
  std::string_view backend;  // of attention
  std::string_view isa;
  std::string_view version;
};

// {"content": {...}, "content_hash": "<16 hex>", "notes": {...}}; the hash is the beginning of the
// SHA-256 of the content's text.
std::string fingerprint_json(const FingerprintParts& parts);

}  // namespace foveal
