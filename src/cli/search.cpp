// foveal search: the pictures of an index that are nearest to one, as a table, as JSON, as a
// contact sheet.
#include "base/printable.hpp"
#include "cli/command.hpp"
#include "cli/embed_arguments.hpp"
#include "cli/exit_code.hpp"
#include "io/contact_sheet.hpp"
#include "io/file.hpp"
#include "io/index.hpp"

#include <foveal/image.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

namespace foveal::cli {
namespace {

constexpr std::array<std::uint8_t, 3> kWhite{255, 255,
                                             255};  // under transparent pictures on a sheet

struct SearchArguments {
  std::string index;
  std::string image;
  std::string text;
  std::string model;  // empty: the one that made the index
  std::string sheet;
  ModelArguments compute;  // flags of this run
  std::int64_t k = 10;
  bool json = false;
};

struct Found {
  std::vector<io::Hit> hits;
  std::vector<std::string> notes;
};

// The settings of the index, with what this command line overrides.
ModelArguments query_arguments(const SearchArguments& arguments, const io::VectorIndex& index) {
  ModelArguments out = from_metadata(index.embed());
  if (!arguments.model.empty()) {
    out.model = arguments.model;
  }
  if (arguments.compute.dtype != "auto") {
    out.dtype = arguments.compute.dtype;
  }
  out.device = arguments.compute.device;
  out.backend = arguments.compute.backend;
  out.threads = arguments.compute.threads;
  return out;
}

Result<Found> search(const SearchArguments& arguments, const io::VectorIndex& index) {
  const ModelArguments query = query_arguments(arguments, index);
  if (query.model.empty()) {
    return Error(
        ErrorCode::kUsageInvalid,
        {{"what", arguments.index + " does not say which model made it: name it with --model"},
         {"command", "foveal search"}});
  }
  FOVEAL_TRY(const Context context, Context::create(context_options(query)));
  FOVEAL_TRY(const EncoderOptions options, encoder_options(query));
  FOVEAL_TRY(const Encoder encoder, Encoder::open(context, query.model, options));
  Found found;
  const EmbedOptions embed = embed_options(query);
  FOVEAL_TRY_STATUS(index.comparable_with(encoder.fingerprint(embed), "the query by " + query.model,
                                          found.notes));
  std::vector<ImageInput> inputs;
  inputs.push_back({.name = arguments.image, .content = {}});
  FOVEAL_TRY(std::vector<ImageResult> results, encoder.embed(std::move(inputs), embed));
  if (results.front().error) {
    return *std::move(results.front().error);
  }
  const auto& outputs = results.front().outputs;
  const auto pooled = std::find_if(outputs.begin(), outputs.end(),
                                   [](const auto& o) { return o.name == "pooled"; });
  if (pooled == outputs.end()) {
    return Error(ErrorCode::kInternal,
                 {{"condition", "a result has pooled"}, {"file", __FILE__}, {"line", __LINE__}});
  }
  FOVEAL_TRY(found.hits, index.nearest(pooled->values, arguments.k));
  return found;
}

// A file of the index: as it was named then, else beside the index.
std::string find_file(const io::VectorIndex& index, const std::string& name) {
  std::error_code ignored;
  const std::filesystem::path beside = index.path().parent_path() / name;
  return !std::filesystem::exists(name, ignored) && std::filesystem::exists(beside, ignored)
             ? beside.string()
             : name;
}

io::SheetPicture sheet_picture(const std::string& path, io::SheetPlace place, double score) {
  io::SheetPicture out{.image = std::nullopt, .name = path, .score = score};
  DecodeOptions options;
  options.background = kWhite;
  const auto bytes = read_image_file(path, options.limits);
  const auto image = bytes ? decode_image(*bytes, path, options) : Result<Image>(bytes.error());
  if (auto small = image ? io::sheet_thumbnail(*image, place) : Result<Image>(image.error());
      small) {
    out.image = *std::move(small);
  }
  return out;
}

Status write_sheet(const SearchArguments& arguments, const io::VectorIndex& index,
                   const std::vector<io::Hit>& hits) {
  io::ContactSheet sheet{.query = sheet_picture(arguments.image, io::SheetPlace::kQuery, 1.0),
                         .nearest = {},
                         .title = "Nearest pictures",
                         .subtitle = std::to_string(hits.size()) + " of " +
                                     std::to_string(index.rows()) + " in " +
                                     index.path().filename().string() + ", by cosine of " +
                                     std::to_string(index.dim()) + " dimensions"};
  for (const io::Hit& hit : hits) {
    const std::string& name = index.files()[static_cast<std::size_t>(hit.row)];
    sheet.nearest.push_back(
        sheet_picture(find_file(index, name), io::SheetPlace::kNearest, hit.score));
  }
  FOVEAL_TRY(const Image image, io::draw_contact_sheet(sheet));
  FOVEAL_TRY(const std::vector<std::uint8_t> png, encode_png(image));
  return io::write_atomically(arguments.sheet, std::as_bytes(std::span(png)));
}

Status print_table(const io::VectorIndex& index, const std::vector<io::Hit>& hits) {
  std::string out = "rank   score  file\n";
  for (std::size_t i = 0; i < hits.size(); ++i) {
    std::array<char, 48> columns{};
    std::snprintf(columns.data(), columns.size(), "%4zu  %6.4f  ", i + 1, hits[i].score);
    out += columns.data() + printable(index.files()[static_cast<std::size_t>(hits[i].row)]) + "\n";
  }
  return print(out);
}

Status print_json(const SearchArguments& arguments, const io::VectorIndex& index,
                  const Found& found) {
  Json results = Json::array();
  for (std::size_t i = 0; i < found.hits.size(); ++i) {
    results.push_back({{"rank", i + 1},
                       {"score", found.hits[i].score},
                       {"file", index.files()[static_cast<std::size_t>(found.hits[i].row)]},
                       {"row", found.hits[i].row}});
  }
  return print(io::dump({{"index", arguments.index},
                         {"query", arguments.image},
                         {"pictures", index.rows()},
                         {"results", std::move(results)},
                         {"notes", found.notes},
                         {"sheet", arguments.sheet.empty() ? Json() : Json(arguments.sheet)}},
                        2) +
               "\n");
}

Status search_and_print(const SearchArguments& arguments, Console& console) {
  if (!arguments.text.empty()) {
    return Error(ErrorCode::kFeatureNotBuilt,
                 {{"what", "search by words (--text)"},
                  {"version", FOVEAL_VERSION},
                  {"instead", "search by a picture: foveal search INDEX IMAGE"}});
  }
  if (arguments.image.empty()) {
    return Error(ErrorCode::kUsageInvalid,
                 {{"what", "a picture to search for is missing"}, {"command", "foveal search"}});
  }
  if (!arguments.sheet.empty()) {
    FOVEAL_TRY(const std::filesystem::path checked, io::output_target(arguments.sheet));
    static_cast<void>(checked);
  }
  FOVEAL_TRY(const io::VectorIndex index, io::VectorIndex::open(arguments.index));
  FOVEAL_TRY(const Found found, search(arguments, index));
  if (!arguments.sheet.empty()) {
    FOVEAL_TRY_STATUS(write_sheet(arguments, index, found.hits));
  }
  if (arguments.json) {
    FOVEAL_TRY_STATUS(print_json(arguments, index, found));
    return flush_output();
  }
  FOVEAL_TRY_STATUS(print_table(index, found.hits));
  FOVEAL_TRY_STATUS(flush_output());
  for (const std::string& note : found.notes) {
    console.say(LogLevel::kWarning, note);
  }
  if (!arguments.sheet.empty()) {
    console.say(LogLevel::kInfo, "contact sheet: " + arguments.sheet);
  }
  return {};
}

int run_search(const SearchArguments& arguments, Console& console) {
  if (arguments.json) {
    console.use_json();
  }
  const Status status = search_and_print(arguments, console);
  return status ? kExitDone : console.fail(status.error());
}

}  // namespace

Command add_search(CLI::App& root) {
  const auto arguments = std::make_shared<SearchArguments>();
  CLI::App* app = root.add_subcommand("search", "Pictures of an index that are nearest to one");
  app->add_option("index", arguments->index,
                  "what `foveal embed` wrote: .safetensors, .npz or .npy")
      ->required();
  app->add_option("image", arguments->image, "picture to search for");
  app->add_option("--text", arguments->text, "words to search for (reserved)");
  app->add_option("-k,--top", arguments->k, "how many")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  app->add_option("--sheet", arguments->sheet,
                  "write a contact sheet of the query and what was found: NAME.png");
  app->add_option("--model", arguments->model,
                  "model of the query; default: the one that made the index");
  add_compute_flags(*app, arguments->compute);
  app->add_flag("--json", arguments->json, "print JSON; errors as objects on stderr");
  return {.app = app,
          .run = [arguments](Console& console) { return run_search(*arguments, console); }};
}

}  // namespace foveal::cli
