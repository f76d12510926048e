// foveal backends: who can run attention on this machine, and why the others cannot.
#include "cli/command.hpp"
#include "cli/exit_code.hpp"

#include <foveal/context.hpp>

#include <algorithm>
#include <memory>

namespace foveal::cli {
namespace {

struct BackendsArguments {
  bool json = false;
};

Status list(const BackendsArguments& arguments) {
  FOVEAL_TRY(const Context context, Context::create());
  if (arguments.json) {
    Json rows = Json::array();
    for (const BackendStatus& b : context.backends()) {
      rows.push_back({{"name", std::string(b.name)},
                      {"available", b.reason.empty()},
                      {"reason", b.reason.empty() ? Json() : Json(b.reason)}});
    }
    Json isas = Json::array();
    for (const std::string_view isa : context.cpu_isas()) {
      isas.push_back(std::string(isa));
    }
    FOVEAL_TRY_STATUS(print(io::dump({{"backends", std::move(rows)},
                                      {"cpu", std::string(context.cpu_model())},
                                      {"cpu_isa", std::string(context.cpu_isa())},
                                      {"cpu_isas", std::move(isas)},
                                      {"threads", context.threads()}},
                                     2) +
                            "\n"));
    return flush_output();
  }
  std::string out;
  for (const BackendStatus& b : context.backends()) {
    std::string name(b.name);
    name.resize(std::max<std::size_t>(name.size(), 14), ' ');
    out += name + (b.reason.empty() ? "serves" : "declines: " + b.reason) + "\n";
  }
  out += "\nBest first. CPU: " + std::string(context.cpu_model()) + ", " +
         std::to_string(context.threads()) + " threads, instruction set " +
         std::string(context.cpu_isa()) + " (has";
  for (const std::string_view isa : context.cpu_isas()) {
    out += " " + std::string(isa);
  }
  FOVEAL_TRY_STATUS(print(out + ")\n"));
  return flush_output();
}

}  // namespace

Command add_backends(CLI::App& root) {
  const auto arguments = std::make_shared<BackendsArguments>();
  CLI::App* app =
      root.add_subcommand("backends", "What this machine can run, and why not the others");
  app->add_flag("--json", arguments->json, "print JSON");
  return {.app = app, .run = [arguments](Console& console) {
            const Status status = list(*arguments);
            return status ? kExitDone : console.fail(status.error());
          }};
}

}  // namespace foveal::cli
