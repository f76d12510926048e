// Runs the built program and gives exit code, stdout and stderr; makes pictures and folders for it.
#pragma once

#include "io/error_json.hpp"

#include <foveal/image.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace foveal::cli::testing {

namespace fs = std::filesystem;
using io::Json;

inline std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_all(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

struct Outcome {
  int code = 0;  // 128 + signal where one ended it
  std::string out{};
  std::string err{};
};

struct RunOptions {
  std::string input{};                // on stdin
  std::vector<std::string> set{};     // NAME=value
  rlim_t file_bytes = RLIM_INFINITY;  // largest file that it may write: a full disk
  fs::path cwd{};
  // Called with the process id while it runs, until it returns true.
  std::function<bool(pid_t)> meanwhile{};
};

class CliTest : public ::testing::Test {
 protected:
  CliTest() {
    std::string name = (fs::temp_directory_path() / "foveal_cli_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~CliTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  Outcome run(const std::vector<std::string>& arguments, const RunOptions& options = {}) const {
    const fs::path in = folder_ / ".stdin", out = folder_ / ".stdout", err = folder_ / ".stderr";
    write_all(in, options.input);
    const pid_t child = ::fork();
    if (child == 0) {
      start(arguments, options, in, out, err);
    }
    int status = 0;
    bool watching = static_cast<bool>(options.meanwhile);
    while (watching && ::waitpid(child, &status, WNOHANG) == 0) {
      watching = !options.meanwhile(child);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ::waitpid(child, &status, 0);  // fails, and changes nothing, where the loop has seen the end
    Outcome outcome{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
    outcome.out = read_all(out);
    outcome.err = read_all(err);
    return outcome;
  }

  fs::path make(const std::string& name) const {
    fs::create_directories((folder_ / name).parent_path());
    return folder_ / name;
  }

  // A PNG whose pixels depend on the seed.
  std::string picture(const std::string& name, int seed, int side = 40) const {
    Image image;
    image.width = side + seed % 7;
    image.height = side;
    image.rgb.resize(static_cast<std::size_t>(image.width) *
                     static_cast<std::size_t>(image.height) * 3);
    for (std::size_t i = 0; i < image.rgb.size(); ++i) {
      image.rgb[i] = static_cast<std::uint8_t>((i * static_cast<std::size_t>(seed + 3)) >> (i % 3));
    }
    const std::vector<std::uint8_t> png = encode_png(image).value();
    const fs::path path = make(name);
    write_all(path, std::string(png.begin(), png.end()));
    return path.string();
  }

  static std::string model(const std::string& name = "vit_small") {
    return std::string(FOVEAL_SOURCE_DIR) + "/tests/golden/models/" + name + "/MODEL";
  }

  static std::vector<Json> json_lines(const std::string& text) {
    std::vector<Json> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      out.push_back(Json::parse(line, nullptr, false));
    }
    return out;
  }

  static std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
      ++n;
    }
    return n;
  }

  fs::path folder_;

 private:
  [[noreturn]] static void start(const std::vector<std::string>& arguments,
                                 const RunOptions& options, const fs::path& in, const fs::path& out,
                                 const fs::path& err) {
    const auto redirect = [](const fs::path& path, int flags, int to) {
      ::dup2(::open(path.c_str(), flags, 0666), to);
    };
    redirect(in, O_RDONLY, STDIN_FILENO);
    redirect(out, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect(err, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    if (options.file_bytes != RLIM_INFINITY) {
      const rlimit cap{options.file_bytes, options.file_bytes};
      ::setrlimit(RLIMIT_FSIZE, &cap);
    }
    if (!options.cwd.empty() && ::chdir(options.cwd.c_str()) != 0) {
      ::_exit(126);
    }
    for (const std::string& variable : options.set) {
      const std::size_t equals = variable.find('=');
      ::setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
    }
    std::vector<char*> argv{const_cast<char*>(FOVEAL_PROGRAM)};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    ::execv(FOVEAL_PROGRAM, argv.data());
    ::_exit(127);
  }
};

}  // namespace foveal::cli::testing
