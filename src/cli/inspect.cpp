// foveal inspect: what a model folder holds, what a picture is, what the one makes of the other.
#include "base/printable.hpp"
#include "cli/command.hpp"
#include "cli/embed_arguments.hpp"
#include "cli/exit_code.hpp"
#include "io/model_files.hpp"

#include <foveal/encoder.hpp>
#include <foveal/image.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <system_error>

namespace foveal::cli {
namespace {

namespace fs = std::filesystem;

struct InspectArguments {
  std::string first;   // model or picture
  std::string second;  // picture, where the first is a model
  ModelArguments model;
  bool tensors = false;
  bool json = false;
};

// A file is a picture, unless it ends as weights do: those get the model loader's answer.
bool is_picture(const std::string& path) {
  constexpr std::array<std::string_view, 7> kWeights{".safetensors", ".gguf", ".onnx", ".bin",
                                                     ".pth",         ".pt",   ".json"};
  std::error_code ignored;
  const std::string ending = fs::path(path).extension().string();
  return fs::is_regular_file(path, ignored) &&
         std::find(kWeights.begin(), kWeights.end(), ending) == kWeights.end();
}

Result<ImageInfo> probe(const std::string& path, const ModelArguments& arguments) {
  ImageLimits limits;
  limits.max_pixels = arguments.max_pixels;
  limits.max_bytes = Bytes(arguments.max_bytes);
  FOVEAL_TRY(const std::vector<std::uint8_t> bytes, read_image_file(path, limits));
  return probe_image(bytes, path, limits);
}

std::string row(std::string name, const std::string& value) {
  name.resize(std::max<std::size_t>(name.size() + 1, 16), ' ');
  return name + printable(value) + "\n";
}

std::string picture_text(const std::string& path, const ImageInfo& info) {
  return row("file", path) + row("format", std::string(info.format)) +
         row("size", std::to_string(info.oriented_width()) + " x " +
                         std::to_string(info.oriented_height())) +
         row("mode", std::string(info.mode) + ", " + std::to_string(info.bits) + " bits" +
                         (info.has_alpha ? ", with transparency" : "")) +
         row("orientation",
             std::to_string(info.orientation) +
                 (info.orientation == 1 ? ""
                                        : " (EXIF; stored as " + std::to_string(info.width) +
                                              " x " + std::to_string(info.height) + ")")) +
         (info.frames > 1 ? row("frames", std::to_string(info.frames) + ", the first is read")
                          : std::string());
}

Json picture_json(const std::string& path, const ImageInfo& info) {
  return {{"file", path},
          {"format", std::string(info.format)},
          {"width", info.oriented_width()},
          {"height", info.oriented_height()},
          {"mode", std::string(info.mode)},
          {"bits", info.bits},
          {"alpha", info.has_alpha},
          {"frames", info.frames},
          {"exif",
           {{"orientation", info.orientation},
            {"stored_width", info.width},
            {"stored_height", info.height}}}};
}

std::string model_text(const ModelInfo& m, const std::vector<io::TensorSummary>& tensors,
                       bool list) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  std::string outputs;
  for (const std::string& output : m.outputs) {
    outputs += (outputs.empty() ? "" : ", ") + output;
  }
  std::string out =
      row("folder", m.folder) + row("family", m.family + " (model_type " + m.model_type + ")") +
      row("layers", number(m.num_layers)) +
      row("hidden_size",
          number(m.hidden_size) + ", " + number(m.num_heads) + " heads of " + number(m.head_dim)) +
      row("pooled", number(m.output_dim) + " columns") +
      row("patch_size",
          number(m.patch_size) +
              (m.merge_size > 1 ? ", merged " + number(m.merge_size) + " x " + number(m.merge_size)
                                : "")) +
      row("parameters", number(m.parameters) + " in the vision part") +
      row("dtype", m.weights_dtype + " on disk, computes in " + m.compute_dtype) +
      row("outputs", outputs) +
      row("tensors", number(static_cast<std::int64_t>(tensors.size())) + " in the folder" +
                         (list ? "" : " (--tensors lists them)"));
  for (std::size_t i = 0; list && i < tensors.size(); ++i) {
    out += "  " + printable(tensors[i].name + "  " + tensors[i].dtype) + " " +
           tensors[i].shape.text() + "\n";
  }
  return out;
}

Json model_json(const ModelInfo& m, const std::vector<io::TensorSummary>& tensors) {
  Json list = Json::array();
  for (const io::TensorSummary& t : tensors) {
    const auto extents = t.shape.extents();
    list.push_back({{"name", t.name},
                    {"dtype", t.dtype},
                    {"shape", std::vector<std::int64_t>(extents.begin(), extents.end())},
                    {"file", t.file}});
  }
  return {{"folder", m.folder},
          {"family", m.family},
          {"model_type", m.model_type},
          {"hidden_size", m.hidden_size},
          {"num_layers", m.num_layers},
          {"num_heads", m.num_heads},
          {"head_dim", m.head_dim},
          {"output_dim", m.output_dim},
          {"patch_size", m.patch_size},
          {"merge_size", m.merge_size},
          {"parameters", m.parameters},
          {"weights_dtype", m.weights_dtype},
          {"compute_dtype", m.compute_dtype},
          {"outputs", m.outputs},
          {"tensors", std::move(list)}};
}

Status inspect_picture(const InspectArguments& arguments) {
  FOVEAL_TRY(const ImageInfo info, probe(arguments.first, arguments.model));
  return print(arguments.json ? io::dump(picture_json(arguments.first, info), 2) + "\n"
                              : picture_text(arguments.first, info));
}

Status inspect_model(const InspectArguments& arguments) {
  FOVEAL_TRY(const Context context, Context::create(context_options(arguments.model)));
  FOVEAL_TRY(const EncoderOptions options, encoder_options(arguments.model));
  FOVEAL_TRY(const Encoder encoder, Encoder::open(context, arguments.first, options));
  if (arguments.second.empty()) {
    FOVEAL_TRY(const std::vector<io::TensorSummary> tensors,
               io::list_tensors(encoder.info().folder));
    return print(arguments.json ? io::dump(model_json(encoder.info(), tensors), 2) + "\n"
                                : model_text(encoder.info(), tensors, arguments.tensors));
  }
  FOVEAL_TRY(const ImageInfo info, probe(arguments.second, arguments.model));
  FOVEAL_TRY(const ImageTokens tokens,
             encoder.tokens_for(info.oriented_height(), info.oriented_width(), arguments.second));
  if (arguments.json) {
    return print(io::dump({{"grid", {tokens.grid_t, tokens.grid_h, tokens.grid_w}},
                           {"tiles", tokens.tiles},
                           {"tokens", tokens.tokens},
                           {"sequence_rows", tokens.sequence_rows}}) +
                 "\n");
  }
  return print(picture_text(arguments.second, info) +
               row("grid", std::to_string(tokens.grid_t) + " x " + std::to_string(tokens.grid_h) +
                               " x " + std::to_string(tokens.grid_w) + " patches (t, h, w)") +
               row("tiles", std::to_string(tokens.tiles)) +
               row("tokens", std::to_string(tokens.tokens) + " (" +
                                 std::to_string(tokens.sequence_rows) + " rows in the tower)"));
}

int run_inspect(const InspectArguments& arguments, Console& console) {
  if (arguments.json) {
    console.use_json();
  }
  Status status = arguments.second.empty() && is_picture(arguments.first)
                      ? inspect_picture(arguments)
                      : inspect_model(arguments);
  if (status) {
    status = flush_output();
  }
  return status ? kExitDone : console.fail(status.error());
}

}  // namespace

Command add_inspect(CLI::App& root) {
  const auto arguments = std::make_shared<InspectArguments>();
  CLI::App* app = root.add_subcommand(
      "inspect", "What a model folder holds, what a picture is, what tokens it makes");
  app->add_option("what", arguments->first, "model, or picture")->required();
  app->add_option("image", arguments->second,
                  "picture, where the first is a model: the tokens that it will make");
  add_compute_flags(*app, arguments->model);
  add_picture_flags(*app, arguments->model);
  app->add_flag("--tensors", arguments->tensors, "list the tensors of the folder");
  app->add_flag("--json", arguments->json, "print JSON; errors as objects on stderr");
  return {.app = app,
          .run = [arguments](Console& console) { return run_inspect(*arguments, console); }};
}

}  // namespace foveal::cli
