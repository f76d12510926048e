#include "cli/inputs.hpp"

#include "cli/glob.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <system_error>

namespace foveal::cli {
namespace {

namespace fs = std::filesystem;

// Endings of every format that the decoders know or may come to know: a folder's other files are
// not pictures.
constexpr std::array<std::string_view, 20> kEndings{
    "jpg",  "jpeg", "jpe", "jfif", "png", "apng", "webp", "gif",  "bmp", "tif",
    "tiff", "ppm",  "pgm", "pbm",  "pnm", "avif", "heic", "heif", "jxl", "jp2"};

void walk(const fs::path& folder, std::vector<std::string>& out) {
  std::error_code failed;
  // Stepped by hand: a loop over the range would throw where the folder fails half-way.
  for (fs::directory_iterator it(folder, failed); !failed && it != fs::directory_iterator();
       it.increment(failed)) {
    const fs::directory_entry& entry = *it;
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) {
      continue;
    }
    std::error_code ignored;
    if (entry.is_directory(ignored) &&
        !entry.is_symlink(ignored)) {  // a linked folder may lead back up
      walk(entry.path(), out);
    } else if (ends_like_picture(name) && !entry.is_directory(ignored)) {
      out.push_back(entry.path().string());
    }
  }
  if (failed) {
    out.push_back(
        folder.string());  // cannot be listed: becomes an input that fails with its own error
  }
}

void add_named(const std::string& argument, std::vector<std::string>& out) {
  std::error_code ignored;
  if (fs::is_directory(argument, ignored)) {
    std::vector<std::string> found;
    walk(argument, found);
    std::sort(found.begin(), found.end());
    out.insert(out.end(), found.begin(), found.end());
    return;
  }
  if (has_wildcard(argument) && !fs::exists(argument, ignored)) {
    for (const std::string& path : expand_glob(argument)) {
      add_named(path, out);
    }
    return;
  }
  out.push_back(argument);
}

}  // namespace

bool ends_like_picture(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == path.npos) {
    return false;
  }
  std::string ending(path.substr(dot + 1));
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

Result<std::vector<std::string>> collect_inputs(std::span<const std::string> arguments,
                                                std::istream& lines) {
  std::vector<std::string> out;
  std::string looked;
  for (const std::string& argument : arguments) {
    looked +=
        (looked.empty() ? "" : ", ") + (argument == "-" ? std::string("standard input") : argument);
    if (argument != "-") {
      add_named(argument, out);
      continue;
    }
    for (std::string line; std::getline(lines, line);) {
      if (line.ends_with('\r')) {
        line.pop_back();
      }
      if (!line.empty()) {
        add_named(line, out);
      }
    }
  }
  if (out.empty()) {
    return Error(
        ErrorCode::kInputEmpty,
        {{"what", arguments.empty() ? std::string("no input was named") : "looked in " + looked}});
  }
  return out;
}

}  // namespace foveal::cli
