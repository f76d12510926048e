#include "cli/version.hpp"

#include <CLI/Version.hpp>

namespace foveal::cli {
namespace {

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

}  // namespace

io::Json version_json() {
  const auto number = [](int part) { return std::to_string(part); };
  return {{"version", FOVEAL_VERSION},
          {"compiler", compiler()},
          {"build_type", FOVEAL_BUILD_TYPE},
          {"cuda", false},
          {"libraries",
           {{"libjpeg-turbo", FOVEAL_LIBJPEG_VERSION},
            {"libpng", FOVEAL_LIBPNG_VERSION},
            {"libwebp", FOVEAL_LIBWEBP_VERSION},
            {"zlib", FOVEAL_ZLIB_VERSION},
            {"nlohmann-json", number(NLOHMANN_JSON_VERSION_MAJOR) + "." +
                                  number(NLOHMANN_JSON_VERSION_MINOR) + "." +
                                  number(NLOHMANN_JSON_VERSION_PATCH)},
            {"CLI11", CLI11_VERSION}}}};
}

std::string version_text() {
  const io::Json json = version_json();
  std::string out =
      "foveal " FOVEAL_VERSION " (" + compiler() + ", " FOVEAL_BUILD_TYPE ", without CUDA)\n";
  for (const auto& [name, version] : json["libraries"].items()) {
    out += "  " + name + " " + version.get<std::string>() + "\n";
  }
  return out;
}

}  // namespace foveal::cli
