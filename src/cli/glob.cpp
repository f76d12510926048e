#include "cli/glob.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

namespace foveal::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& pattern) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (at < pattern.size()) {
    const std::size_t slash = std::min(pattern.find('/', at), pattern.size());
    std::string part = pattern.substr(at, slash - at);
    // ** after ** says nothing more, but would walk every folder once for each way to share it.
    if (!part.empty() && !(part == "**" && !parts.empty() && parts.back() == part)) {
      parts.push_back(std::move(part));
    }
    at = slash + 1;
  }
  return parts;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;  // a folder that cannot be read matches nothing
  for (fs::directory_iterator it(folder.empty() ? fs::path(".") : folder, failed), end;
       !failed && it != end; it.increment(failed)) {
    names.push_back(it->path().filename().string());
  }
  return names;
}

void expand(const fs::path& folder, std::span<const std::string> parts,
            std::vector<std::string>& out) {
  std::error_code ignored;
  if (parts.empty()) {
    if (fs::exists(folder, ignored)) {
      out.push_back(folder.string());
    }
    return;
  }
  const std::string& part = parts.front();
  if (part == "**") {
    expand(folder, parts.subspan(1), out);
    for (const std::string& name : names_in(folder)) {
      const fs::path inner = folder / name;
      // Linked folders are not walked: they may lead back up.
      if (!name.starts_with('.') && fs::is_directory(inner, ignored) &&
          !fs::is_symlink(inner, ignored)) {
        expand(inner, parts, out);
      }
    }
  } else if (has_wildcard(part)) {
    for (const std::string& name : names_in(folder)) {
      if (::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0) {
        expand(folder / name, parts.subspan(1), out);
      }
    }
  } else {
    expand(folder / part, parts.subspan(1), out);
  }
}

}  // namespace

bool has_wildcard(std::string_view path) {
  return path.find_first_of("*?[") != path.npos;
}

std::vector<std::string> expand_glob(const std::string& pattern) {
  std::vector<std::string> out;
  const std::vector<std::string> parts = split(pattern);
  expand(pattern.starts_with('/') ? fs::path("/") : fs::path(), parts, out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace foveal::cli
