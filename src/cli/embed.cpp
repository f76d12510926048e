// foveal embed: pictures in, one file of embeddings (or JSON lines on stdout) out.
#include "cli/choices.hpp"
#include "cli/command.hpp"
#include "cli/embed_arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/inputs.hpp"
#include "cli/progress.hpp"
#include "cli/sink.hpp"
#include "cli/stop_signals.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <iostream>
#include <memory>
#include <mutex>
#include <utility>

namespace foveal::cli {
namespace {

enum class OnError : std::uint8_t { kSkip, kStop };

// The arguments after their words were checked.
struct Job {
  EmbedArguments arguments;
  EncoderOptions encoder;
  EmbedOptions embed;
  OnError on_error = OnError::kSkip;
  ProgressMode progress = ProgressMode::kAuto;
  ResultSink::Target target;
  std::vector<std::string> pictures;
};

// What the run was like, for the summary.
struct Tally {
  std::int64_t embedded = 0;
  std::int64_t failed = 0;
  std::int64_t tokens = 0;  // rows in the tower
  double seconds = 0;
};

Status set_target(const EmbedArguments& arguments, const EmbedOptions& embed,
                  ResultSink::Target& target) {
  if (arguments.out.empty()) {
    if (arguments.resume) {
      return Error(ErrorCode::kUsageInvalid,
                   {{"what", "--resume continues an output file: name it with -o"},
                    {"command", "foveal embed"}});
    }
    return {};
  }
  target.out = arguments.out;
  FOVEAL_TRY(target.format, io::output_format(arguments.out));
  if (target.format == io::OutputFormat::kNpy) {
    const bool one = embed.outputs.size() == 1 && embed.outputs[0] != "all" &&
                     embed.outputs[0] != "hidden_states" && embed.outputs[0] != "deepstack";
    if (!one) {
      return Error(
          ErrorCode::kOptionUnknown,
          {{"option", "-o"},
           {"value", arguments.out},
           {"expected", ".safetensors, .npz, .jsonl where several outputs are asked for"}});
    }
    target.only = embed.outputs[0];
  }
  FOVEAL_TRY(const std::filesystem::path checked, io::output_target(arguments.out));
  static_cast<void>(checked);  // asked now, so that hours of work do not end in it
  return {};
}

Result<Job> prepare(const EmbedArguments& arguments) {
  if (arguments.one_sample) {
    return Error(
        ErrorCode::kFeatureNotBuilt,
        {{"what", "--one-sample"},
         {"version", FOVEAL_VERSION},
         {"instead", "leave it out: no family of this version has samples of several images"}});
  }
  Job job;
  job.arguments = arguments;
  FOVEAL_TRY(job.encoder, encoder_options(arguments.model));
  job.embed = embed_options(arguments.model);
  job.embed.outputs = split_names(arguments.outputs);
  job.embed.batch_tokens = arguments.batch_tokens;
  constexpr std::array<std::pair<std::string_view, OnError>, 2> kOnError{
      {{"skip", OnError::kSkip}, {"stop", OnError::kStop}}};
  FOVEAL_TRY(job.on_error, choose("--on-error", arguments.on_error, kOnError));
  constexpr std::array<std::pair<std::string_view, ProgressMode>, 2> kProgress{
      {{"auto", ProgressMode::kAuto}, {"never", ProgressMode::kNever}}};
  FOVEAL_TRY(job.progress, choose("--progress", arguments.progress, kProgress));
  if (arguments.out.empty() && ::isatty(STDOUT_FILENO) == 1) {
    job.progress = ProgressMode::kNever;  // it would be drawn between the lines of the results
  }
  FOVEAL_TRY_STATUS(set_target(arguments, job.embed, job.target));
  FOVEAL_TRY(job.pictures, collect_inputs(arguments.inputs, std::cin));
  return job;
}

// What --resume must find unchanged.
io::RunSettings settings_of(const Job& job, const std::string& fingerprint) {
  std::uint32_t crc = 0;
  for (const std::string& picture : job.pictures) {
    crc = io::crc32_of(std::as_bytes(std::span(picture.c_str(), picture.size() + 1)), crc);
  }
  std::array<char, 64> list{};
  std::snprintf(list.data(), list.size(), "%zu files (CRC of their names %08x)",
                job.pictures.size(), static_cast<unsigned>(crc));
  return {{"the output", job.arguments.outputs},
          {"the fingerprint", fingerprint},
          {"the list of pictures", list.data()},
          {"the model", to_metadata(job.arguments.model)}};
}

Result<ResultSink> open_sink(const Job& job, const Encoder& encoder) {
  io::OutputMetadata metadata;
  metadata.fingerprint = encoder.fingerprint(job.embed);
  const Json fingerprint = Json::parse(metadata.fingerprint, nullptr, false);
  metadata.content_hash = fingerprint.is_object() ? fingerprint.value("content_hash", "") : "";
  metadata.embed = to_metadata(job.arguments.model);
  if (job.target.out.empty()) {
    return ResultSink::to_stdout(std::move(metadata));
  }
  const io::SpoolOptions spool{
      .output = job.target.out,
      .mode = job.arguments.resume ? io::SpoolMode::kResume : io::SpoolMode::kFresh,
      .settings = settings_of(job, metadata.fingerprint),
      .pictures = job.pictures};
  return ResultSink::to_file(job.target, spool, std::move(metadata));
}

// Feeds the encoder and keeps what each file was when it was read, until its result comes.
class PictureFeed {
 public:
  PictureFeed(const std::vector<std::string>& pictures, std::int64_t begin)
      : pictures_(&pictures), next_(static_cast<std::size_t>(begin)) {}

  std::optional<ImageInput> next() {
    const std::lock_guard lock(mutex_);
    if (next_ >= pictures_->size()) {
      return std::nullopt;
    }
    const std::string& path = (*pictures_)[next_++];
    stamps_.push_back(io::stamp_of(path));
    return ImageInput{.name = path, .content = {}};
  }
  // Results come in the order of the inputs.
  io::FileStamp take_stamp() {
    const std::lock_guard lock(mutex_);
    const io::FileStamp stamp = stamps_.front();
    stamps_.pop_front();
    return stamp;
  }

 private:
  const std::vector<std::string>* pictures_;
  std::size_t next_;
  std::mutex mutex_;  // the encoder's threads take inputs while this one takes results
  std::deque<io::FileStamp> stamps_;
};

Status run_pictures(const Job& job, const Encoder& encoder, ResultSink& sink, Console& console,
                    Tally& tally, const std::stop_token& stop) {
  PictureFeed feed(job.pictures, sink.done_before());
  Progress progress(
      console, job.progress,
      {.total = static_cast<std::int64_t>(job.pictures.size()), .before = sink.done_before()});
  const auto deliver = [&](ImageResult&& result) -> Status {
    const io::FileStamp stamp = feed.take_stamp();
    if (result.error) {
      if (job.on_error == OnError::kStop) {
        return *result.error;
      }
      console.input_failed(result.name, sink.done(), *result.error);
    }
    FOVEAL_TRY_STATUS(sink.add(result, stamp));
    if (result.error) {
      ++tally.failed;
      progress.add_failed();
    } else {
      ++tally.embedded;
      tally.tokens += result.sequence_rows;
      progress.add_done();
    }
    return {};
  };
  Status status = encoder.embed([&] { return feed.next(); }, job.embed, deliver, stop);
  tally.seconds = progress.seconds();
  return status;
}

void summarise(const Job& job, const ResultSink& sink, const Tally& tally, bool stopped,
               Console& console) {
  const double seconds = std::max(tally.seconds, 1e-9);
  const std::int64_t failed = tally.failed + sink.failed_before();
  const std::int64_t embedded = sink.done() - failed;
  const double images = static_cast<double>(tally.embedded + tally.failed) / seconds;
  const double tokens = static_cast<double>(tally.tokens) / seconds;
  if (job.arguments.json) {
    const Json json = {{"pictures", embedded},
                       {"failures", failed},
                       {"resumed", sink.done_before()},
                       {"total", job.pictures.size()},
                       {"stopped", stopped},
                       {"seconds", tally.seconds},
                       {"images_per_second", images},
                       {"tokens", tally.tokens},
                       {"tokens_per_second", tokens},
                       {"output", job.target.out.empty() ? Json() : Json(job.target.out)}};
    if (job.target.out.empty()) {  // stdout holds the embeddings
      console.say(LogLevel::kInfo, "done", {{"summary", json}});
    } else {
      static_cast<void>(print(io::dump(json) + "\n"));
    }
    return;
  }
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(),
                "%lld pictures embedded, %lld failed, in %s: %.1f images/s, %.0f tokens/s",
                static_cast<long long>(embedded), static_cast<long long>(failed),
                duration_text(tally.seconds).c_str(), images, tokens);
  std::string line = text.data();
  if (sink.done_before() > 0) {
    line += ", " + std::to_string(sink.done_before()) + " of them by an earlier run";
  }
  if (!job.target.out.empty()) {
    line += " -> " + job.target.out;
  }
  console.say(LogLevel::kInfo, line);
}

void note_spool(const Job& job, const ResultSink& sink, Console& console) {
  if (sink.left_spool()) {
    console.say(LogLevel::kInfo,
                std::to_string(sink.done()) + " of " + std::to_string(job.pictures.size()) +
                    " pictures are kept in " + io::Spool::folder_for(job.target.out).string() +
                    ": run the same command with --resume to go on");
  }
}

int run_embed(const EmbedArguments& arguments, Console& console) {
  if (arguments.json) {
    console.use_json();
  }
  const StopSignals signals;
  const auto job = prepare(arguments);
  if (!job) {
    return console.fail(job.error());
  }
  const auto context = Context::create(context_options(arguments.model));
  if (!context) {
    return console.fail(context.error());
  }
  const auto encoder = Encoder::open(*context, arguments.model.model, job->encoder);
  if (!encoder) {
    return console.fail(encoder.error());
  }
  auto sink = open_sink(*job, *encoder);
  if (!sink) {
    return console.fail(sink.error());
  }
  Tally tally;
  const Status status = run_pictures(*job, *encoder, *sink, console, tally, signals.token());
  const bool complete = sink->done() == static_cast<std::int64_t>(job->pictures.size());
  const bool stopped = !complete && !status && status.error().code() == ErrorCode::kCancelled;
  if (!status && !stopped && !complete) {
    const int code = console.fail(status.error());
    static_cast<void>(
        sink->finish(ResultSink::Ending::kFailed));  // the first failure is the one to tell
    note_spool(*job, *sink, console);
    return code;
  }
  const Status finished =
      sink->finish(stopped ? ResultSink::Ending::kStopped : ResultSink::Ending::kComplete);
  if (!finished) {
    const int code = console.fail(finished.error());
    note_spool(*job, *sink, console);
    return code;
  }
  summarise(*job, *sink, tally, stopped, console);
  note_spool(*job, *sink, console);
  if (const Status flushed = flush_output(); !flushed) {
    return console.fail(flushed.error());
  }
  if (stopped) {
    return kExitStopped;
  }
  return tally.failed + sink->failed_before() > 0 ? kExitSomeFailed : kExitDone;
}

}  // namespace

Command add_embed(CLI::App& root) {
  const auto arguments = std::make_shared<EmbedArguments>();
  CLI::App* app = root.add_subcommand("embed", "Pictures in, embeddings out");
  app->add_option("model", arguments->model.model,
                  "model folder, or org/name[@revision] in the Hugging Face cache")
      ->required();
  app->add_option(
      "inputs", arguments->inputs,
      "files, folders (walked in byte order: picture endings, no hidden names), patterns in quotes "
      "(* ? [..] **), or - for one path a line on standard input");
  app->add_option(
      "-o,--out", arguments->out,
      "NAME.safetensors, .npz, .npy or .jsonl; without it: JSON lines on standard output");
  app->add_option(
         "--output", arguments->outputs,
         "pooled,last_hidden_state,hidden_states,hidden_states.N,deepstack,pixel_values or all")
      ->capture_default_str();
  add_vector_flags(*app, arguments->model);
  add_picture_flags(*app, arguments->model);
  add_compute_flags(*app, arguments->model);
  app->add_option("--batch-tokens", arguments->batch_tokens,
                  "rows of one forward pass, bounds the memory; a larger picture is refused "
                  "(without the flag: 8192, and a larger picture runs alone)")
      ->check(CLI::PositiveNumber);
  app->add_option("--on-error", arguments->on_error,
                  "skip: go on without the picture; stop: end the run")
      ->capture_default_str();
  app->add_flag("--resume", arguments->resume,
                "go on where an earlier run of the same command ended");
  app->add_option("--progress", arguments->progress, "auto (on a terminal) or never")
      ->capture_default_str();
  app->add_flag("--one-sample", arguments->one_sample,
                "all images belong to one sample (reserved)");
  app->add_flag(
      "--json", arguments->json,
      "summary as JSON on standard output (on stderr without -o), errors as objects on stderr");
  return {.app = app,
          .run = [arguments](Console& console) { return run_embed(*arguments, console); }};
}

}  // namespace foveal::cli
