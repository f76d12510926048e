// foveal doctor: what this machine has, what is missing, and the command that mends it.
#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/hub_cache.hpp"
#include "cli/version.hpp"

#include <foveal/context.hpp>

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

namespace foveal::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr std::uintmax_t kLittleRoom = std::uintmax_t{2}
                                       << 30;  // bytes; a large model and its output fit in it

enum class State : std::uint8_t { kOk, kNote, kMissing };

struct Finding {
  std::string what;
  State state = State::kOk;
  std::string detail;
  std::string mend{};  // a command, or empty
};

std::string word(State state) {
  return state == State::kOk ? "ok" : state == State::kNote ? "note" : "missing";
}

std::string gib(double bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f GiB", bytes / kGiB);
  return text.data();
}

Finding system_finding() {
  utsname name{};
  ::uname(&name);
  const double memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {.what = "system",
          .state = State::kOk,
          .detail = std::string(name.sysname) + " " + name.release + " " + name.machine +
                    ", memory " + gib(memory)};
}

void add_cpu(std::vector<Finding>& out) {
  const auto context = Context::create();
  if (!context) {
    out.push_back({.what = "cpu", .state = State::kMissing, .detail = context.error().message()});
    return;
  }
  std::string isas;
  for (const std::string_view isa : context->cpu_isas()) {
    isas += (isas.empty() ? "" : ", ") + std::string(isa);
  }
  out.push_back({.what = "cpu",
                 .state = State::kOk,
                 .detail = std::string(context->cpu_model()) + ", " +
                           std::to_string(context->threads()) + " threads, has " + isas +
                           ", uses " + std::string(context->cpu_isa())});
  for (const BackendStatus& backend : context->backends()) {
    out.push_back({.what = "backend " + std::string(backend.name),
                   .state = backend.reason.empty() ? State::kOk : State::kNote,
                   .detail = backend.reason.empty() ? "serves" : backend.reason});
  }
}

Finding gpu_finding() {
  std::error_code ignored;
  const bool driver =
      fs::exists("/proc/driver/nvidia/version", ignored) || fs::exists("/dev/nvidia0", ignored);
  return {.what = "gpu",
          .state = State::kNote,
          .detail =
              driver ? "an NVIDIA driver is here, but this program is built without CUDA"
                     : "none: no NVIDIA driver is loaded, and this program is built without CUDA"};
}

Finding cache_finding() {
  const fs::path folder = hub_cache_folder();
  std::error_code failed;
  std::int64_t models = 0;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    models += it->path().filename().string().starts_with("models--") ? 1 : 0;
  }
  if (models > 0) {
    return {.what = "model cache",
            .state = State::kOk,
            .detail = folder.string() + ", " + std::to_string(models) + " models"};
  }
  return {.what = "model cache",
          .state = State::kNote,
          .detail = folder.string() + (failed ? " is not there" : " holds no model") +
                    "; model folders work without it",
          .mend = "pip install huggingface_hub && hf download facebook/dinov2-small"};
}

Finding disk_finding(const std::string& what, const fs::path& folder) {
  std::error_code failed;
  const fs::space_info space = fs::space(folder, failed);
  if (failed) {
    return {
        .what = what, .state = State::kNote, .detail = folder.string() + ": " + failed.message()};
  }
  const bool little = space.available < kLittleRoom;
  return {.what = what,
          .state = little ? State::kMissing : State::kOk,
          .detail = gib(static_cast<double>(space.available)) + " free in " + folder.string(),
          .mend = little ? "free some room, or write elsewhere with -o" : ""};
}

std::vector<Finding> examine() {
  std::vector<Finding> out;
  out.push_back({.what = "foveal", .state = State::kOk, .detail = FOVEAL_VERSION});
  out.push_back(system_finding());
  add_cpu(out);
  out.push_back(gpu_finding());
  const Json build = version_json();
  for (const auto& [name, version] : build["libraries"].items()) {
    out.push_back(
        {.what = "library " + name, .state = State::kOk, .detail = version.get<std::string>()});
  }
  out.push_back(cache_finding());
  std::error_code failed;
  out.push_back(disk_finding("disk", fs::current_path(failed)));
  return out;
}

int run_doctor(bool json, Console& console) {
  const std::vector<Finding> findings = examine();
  std::string text;
  Json rows = Json::array();
  bool missing = false;
  for (const Finding& f : findings) {
    missing = missing || f.state == State::kMissing;
    rows.push_back({{"what", f.what},
                    {"state", word(f.state)},
                    {"detail", f.detail},
                    {"mend", f.mend.empty() ? Json() : Json(f.mend)}});
    std::string what = f.what;
    what.resize(std::max<std::size_t>(what.size(), 24), ' ');
    std::string state = word(f.state);
    state.resize(9, ' ');
    text += state + what + f.detail + "\n";
    if (!f.mend.empty()) {
      text += std::string(33, ' ') + "mend: " + f.mend + "\n";
    }
  }
  text += missing ? "\nSomething is missing: see above.\n" : "\nReady.\n";
  Status status = print(
      json ? io::dump(
                 {{"ready", !missing}, {"findings", std::move(rows)}, {"build", version_json()}},
                 2) +
                 "\n"
           : text);
  if (status) {
    status = flush_output();
  }
  if (!status) {
    return console.fail(status.error());
  }
  return missing ? kExitSomeFailed : kExitDone;
}

}  // namespace

Command add_doctor(CLI::App& root) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* app =
      root.add_subcommand("doctor", "What this machine has, what is missing, and how to mend it");
  app->add_flag("--json", *json, "print JSON");
  return {.app = app, .run = [json](Console& console) { return run_doctor(*json, console); }};
}

}  // namespace foveal::cli
