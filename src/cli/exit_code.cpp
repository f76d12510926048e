#include "cli/exit_code.hpp"

namespace foveal::cli {

int exit_code(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kCancelled:
      return kExitStopped;
    case ErrorCode::kOptionUnknown:
    case ErrorCode::kOptionInvalid:
    case ErrorCode::kInputEmpty:
    case ErrorCode::kUsageInvalid:
    case ErrorCode::kResumeMismatch:
    case ErrorCode::kFeatureNotBuilt:
      return kExitUsage;
    default:
      break;
  }
  const std::string_view kind = error_info(error.code()).kind;
  if (kind == "model") {
    return kExitModel;
  }
  if (kind == "device" || kind == "unsupported") {
    return kExitDevice;
  }
  return kind == "internal" ? kExitBug : kExitSomeFailed;
}

}  // namespace foveal::cli
