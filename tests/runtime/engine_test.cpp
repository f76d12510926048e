// The engine over a fake model: order, packing, failures in every place, stop at every stage,
// bounded memory. A fake picture's name is its row count, or a word that says where it fails.
#include "runtime/engine.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

namespace foveal {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

constexpr std::int64_t kBytesPerRow = 1000;

// Counts what lives and what the engine asked for.
struct FakeModel {
  std::chrono::microseconds load_time{0};
  std::chrono::microseconds prepare_time{0};
  std::chrono::microseconds forward_time{0};
  std::int64_t fail_forward_at = -1;  // number of the forward call that fails
  bool throw_in_forward = false;
  std::atomic<std::int64_t> live_pictures{0};  // prepared and not yet through the forward pass
  std::atomic<std::int64_t> max_live_pictures{0};
  std::atomic<std::int64_t> live_rows{0};
  std::atomic<std::int64_t> max_live_rows{0};
  std::atomic<std::int64_t> forwards{0};
  std::vector<std::vector<std::string>> batches;  // names, written by the calling thread alone
  std::vector<const void*> scratch;               // where each forward's scratch lay

  static void raise(std::atomic<std::int64_t>& peak, std::int64_t value) {
    std::int64_t seen = peak.load();
    while (seen < value && !peak.compare_exchange_weak(seen, value)) {
    }
  }

  EngineSteps steps() {
    return {.load = [this](ImageInput&& input) { return load(std::move(input)); },
            .prepare = [this](LoadedImage&& loaded) { return prepare(std::move(loaded)); },
            .forward =
                [this](std::span<const PreparedImage> images, Arena& arena,
                       std::span<ImageResult> results) { return forward(images, arena, results); }};
  }

  Result<LoadedImage> load(ImageInput&& input) const {
    std::this_thread::sleep_for(load_time);
    if (input.name == "unreadable") {
      return Error(ErrorCode::kImageUnreadable, {{"file", input.name}, {"reason", "it is a test"}});
    }
    if (input.name == "throws in load") {
      throw std::runtime_error("load threw");
    }
    const bool number =
        !input.name.empty() && input.name.find_first_not_of("0123456789") == std::string::npos;
    const std::int64_t rows = number ? std::stoll(input.name) : 1;
    return LoadedImage{.name = std::move(input.name),
                       .content = Image{},
                       .decoded = Bytes(rows * kBytesPerRow),
                       .tokens = {.sequence_rows = rows}};
  }

  Result<PreparedImage> prepare(LoadedImage&& loaded) {
    std::this_thread::sleep_for(prepare_time);
    if (loaded.name == "corrupt") {
      return Error(ErrorCode::kImageCorrupt, {{"file", loaded.name}, {"reason", "it is a test"}});
    }
    if (loaded.name == "throws in prepare") {
      throw std::runtime_error("prepare threw");
    }
    if (loaded.name == "no memory") {
      throw std::bad_alloc();
    }
    PreparedImage out;
    out.tokens.sequence_rows = loaded.tokens.sequence_rows;
    out.pixels.rgb.resize(static_cast<std::size_t>(loaded.tokens.sequence_rows));
    out.name = std::move(loaded.name);
    raise(max_live_pictures, ++live_pictures);
    raise(max_live_rows, live_rows += loaded.tokens.sequence_rows);
    return out;
  }

  Status forward(std::span<const PreparedImage> images, Arena& arena,
                 std::span<ImageResult> results) {
    std::this_thread::sleep_for(forward_time);
    const std::int64_t call = forwards++;
    if (call == fail_forward_at) {
      if (throw_in_forward) {
        throw std::runtime_error("forward threw");
      }
      return Error(ErrorCode::kOutOfMemory, {{"bytes", 1}, {"what", "a test"}});
    }
    FOVEAL_TRY(const TensorView view, arena.take(DType::kF32, {64}, "scratch"));
    scratch.push_back(view.data);
    batches.emplace_back();
    for (std::size_t i = 0; i < images.size(); ++i) {
      batches.back().push_back(images[i].name);
      results[i].outputs.push_back({.name = "pooled",
                                    .shape = {1, 1},
                                    .values = {static_cast<float>(images[i].tokens.sequence_rows)},
                                    .integers = {}});
      --live_pictures;
      live_rows -= images[i].tokens.sequence_rows;
    }
    return {};
  }
};

struct Outcome {
  Status status;
  std::vector<ImageResult> results;
};

Encoder::Source names_source(const std::vector<std::string>& names, std::size_t& at) {
  return [&names, &at]() -> std::optional<ImageInput> {
    if (at == names.size()) {
      return std::nullopt;
    }
    return ImageInput{.name = names[at++]};
  };
}

Outcome run(FakeModel& model, const std::vector<std::string>& names, const EngineLimits& limits) {
  Outcome out;
  Arena arena;
  std::size_t at = 0;
  out.status = run_engine(names_source(names, at), model.steps(), limits,
                          [&](ImageResult&& result) -> Status {
                            out.results.push_back(std::move(result));
                            return {};
                          },
                          {.arena = arena});
  return out;
}

int threads_of_this_process() {
  std::thread([] {}).join();  // a sanitizer's own thread comes with the first one that is started
  int count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

std::vector<std::string> random_names(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    const auto kind = random() % 12;
    names.push_back(kind == 0   ? "unreadable"
                    : kind == 1 ? "corrupt"
                                : std::to_string(1 + random() % 40));
  }
  return names;
}

TEST(Engine, EmptySourceGivesNothing) {
  FakeModel model;
  const Outcome r = run(model, {}, {});
  EXPECT_TRUE(r.status);
  EXPECT_TRUE(r.results.empty());
  EXPECT_EQ(model.forwards, 0);
}

TEST(Engine, CutsBatchesWhereTheNextPictureWouldExceedTheBudget) {
  FakeModel model;
  const Outcome r = run(model, {"4", "4", "2", "9", "1", "1", "10", "3"}, {.batch_tokens = 10});
  ASSERT_TRUE(r.status) << r.status.error().describe();
  const std::vector<std::vector<std::string>> want{
      {"4", "4", "2"}, {"9", "1"}, {"1"}, {"10"}, {"3"}};
  EXPECT_EQ(model.batches, want);
}

TEST(Engine, APictureLargerThanTheBudgetRunsAloneUnlessTheBudgetIsTheUsers) {
  FakeModel model;
  const std::vector<std::string> names{"4", "25", "4", "30"};
  const Outcome r = run(model, names, {.batch_tokens = 10, .oversize = Oversize::kAlone});
  ASSERT_TRUE(r.status) << r.status.error().describe();
  const std::vector<std::vector<std::string>> want{{"4"}, {"25"}, {"4"}, {"30"}};
  EXPECT_EQ(model.batches, want);
  const Outcome refused = run(model, names, {.batch_tokens = 10});
  ASSERT_TRUE(refused.status) << refused.status.error().describe();
  ASSERT_TRUE(refused.results.at(1).error.has_value());
  EXPECT_EQ(refused.results[1].error->code(), ErrorCode::kImageOverBudget);
  EXPECT_FALSE(refused.results[2].error.has_value());
}

TEST(Engine, ResultsComeInInputOrderWithAnyNumberOfThreads) {
  const std::vector<std::string> names = random_names(400, 7);
  std::vector<std::vector<std::string>> batches;
  for (int threads = 1; threads <= 8; ++threads) {
    FakeModel model;
    model.prepare_time = 50us;
    const Outcome r = run(model, names, {.batch_tokens = 100, .decode_threads = threads});
    ASSERT_TRUE(r.status) << r.status.error().describe();
    ASSERT_EQ(r.results.size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      const ImageResult& result = r.results[i];
      ASSERT_EQ(result.index, static_cast<std::int64_t>(i)) << threads << " threads";
      ASSERT_EQ(result.name, names[i]);
      if (names[i] == "unreadable" || names[i] == "corrupt") {
        ASSERT_TRUE(result.error.has_value()) << i;
        ASSERT_TRUE(result.outputs.empty());
      } else {
        ASSERT_FALSE(result.error.has_value()) << result.error->describe();
        ASSERT_EQ(result.outputs.at(0).values.at(0), std::stof(names[i])) << i;
      }
    }
    if (threads == 1) {
      batches = model.batches;
    }
    EXPECT_EQ(model.batches, batches) << "packing depends on the number of threads: " << threads;
  }
}

TEST(Engine, EachWayToFailCostsItsOwnPictureOnly) {
  FakeModel model;
  const std::vector<std::string> names{
      "1", "unreadable",        "2",         "corrupt", "throws in load",
      "3", "throws in prepare", "no memory", "11",      "4"};
  const Outcome r = run(model, names, {.batch_tokens = 10, .decode_threads = 2});
  ASSERT_TRUE(r.status) << r.status.error().describe();
  ASSERT_EQ(r.results.size(), names.size());
  const std::vector<std::pair<std::size_t, ErrorCode>> want{
      {1, ErrorCode::kImageUnreadable}, {3, ErrorCode::kImageCorrupt},
      {4, ErrorCode::kInternal},        {6, ErrorCode::kInternal},
      {7, ErrorCode::kOutOfMemory},     {8, ErrorCode::kImageOverBudget}};
  for (const auto& [i, code] : want) {
    ASSERT_TRUE(r.results[i].error.has_value()) << names[i];
    EXPECT_EQ(r.results[i].error->code(), code) << r.results[i].error->describe();
  }
  EXPECT_EQ(r.results[8].error->field("tokens")->text(), "11");
  EXPECT_EQ(r.results[8].error->field("limit")->text(), "10");
  const std::vector<std::vector<std::string>> packed{{"1", "2", "3", "4"}};
  EXPECT_EQ(model.batches, packed);
}

TEST(Engine, OnlyBrokenPicturesArriveOneByOneWithoutAForwardPass) {
  FakeModel model;
  const Outcome r =
      run(model, std::vector<std::string>(20'000, "unreadable"), {.decode_threads = 3});
  EXPECT_TRUE(r.status);
  EXPECT_EQ(r.results.size(), 20'000U);
  EXPECT_EQ(model.forwards, 0);
}

TEST(Engine, AnErrorWithNothingBeforeItIsDeliveredAtOnce) {
  FakeModel model;
  Arena arena;
  std::atomic<std::int64_t> taken{0};
  std::int64_t taken_at_first = 0;
  const Status status = run_engine(
      [&]() -> std::optional<ImageInput> {
        return taken++ < 3000 ? std::optional(ImageInput{.name = "unreadable"}) : std::nullopt;
      },
      model.steps(), {.batch_tokens = 100, .decode_threads = 2},
      [&](ImageResult&& result) -> Status {
        taken_at_first = result.index == 0 ? taken.load() : taken_at_first;
        return {};
      },
      {.arena = arena});
  EXPECT_TRUE(status);
  EXPECT_LE(taken_at_first, 100 + 3);  // what the queue holds
}

TEST(Engine, ALongRunOfBrokenPicturesBehindAGoodOneIsDeliveredInPieces) {
  FakeModel model;
  Arena arena;
  constexpr std::int64_t kCount = 20'000;
  std::atomic<std::int64_t> taken{0};
  std::int64_t taken_at_first = 0;
  const Status status = run_engine(
      [&]() -> std::optional<ImageInput> {
        const std::int64_t i = taken++;
        return i < kCount ? std::optional(ImageInput{.name = i == 0 ? "1" : "unreadable"})
                          : std::nullopt;
      },
      model.steps(), {.batch_tokens = 100, .decode_threads = 2},
      [&](ImageResult&& result) -> Status {
        taken_at_first = result.index == 0 ? taken.load() : taken_at_first;
        return {};
      },
      {.arena = arena});
  EXPECT_TRUE(status);
  EXPECT_LT(taken_at_first, kCount / 2);
  EXPECT_EQ(model.forwards, 1);
}

TEST(Engine, LivePicturesAreBoundedWhateverTheirNumber) {
  constexpr std::int64_t kBatch = 100;
  constexpr int kThreads = 3;
  for (const std::size_t count : {200U, 2000U}) {
    FakeModel model;
    model.forward_time = 200us;  // the consumer is the slow one
    const Outcome r = run(model, std::vector<std::string>(count, "10"),
                          {.batch_tokens = kBatch, .decode_threads = kThreads});
    ASSERT_TRUE(r.status);
    EXPECT_EQ(r.results.size(), count);
    // One batch in hand, one picture that did not fit it, one batch ahead and what each thread had
    // begun.
    const std::int64_t bound = kBatch / 10 + 1 + kBatch / 10 + kThreads;
    EXPECT_LE(model.max_live_pictures, bound) << count << " pictures";
    EXPECT_EQ(model.live_pictures, 0);
  }
}

TEST(Engine, DecodingHoldsNoMoreBytesThanItsBudget) {
  FakeModel model;
  model.load_time = 2ms;  // all threads have an input before the first one asks for room
  std::atomic<std::int64_t> held{0};
  std::atomic<std::int64_t> peak{0};
  EngineSteps steps = model.steps();
  steps.prepare = [&](LoadedImage&& loaded) -> Result<PreparedImage> {
    const std::int64_t bytes = loaded.decoded.v;
    FakeModel::raise(peak, held += bytes);
    std::this_thread::sleep_for(300us);
    auto out = model.prepare(std::move(loaded));
    held -= bytes;
    return out;
  };
  const std::vector<std::string> names(200, "40");  // 40,000 bytes each while they are decoded
  std::size_t at = 0;
  Arena arena;
  const EngineLimits limits{
      .batch_tokens = 10'000, .decode_threads = 8, .in_flight = Bytes(100'000)};
  const Status status = run_engine(names_source(names, at), steps, limits,
                                   [](ImageResult&&) -> Status { return {}; }, {.arena = arena});
  ASSERT_TRUE(status);
  EXPECT_LE(peak, 100'000 + 40'000);  // the picture whose turn it is goes ahead in any case
}

TEST(Engine, FilesBeingReadCountToo) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("foveal_engine_" + std::to_string(::getpid()));
  std::ofstream(file, std::ios::binary) << std::string(40'000, 'x');
  FakeModel model;
  std::atomic<std::int64_t> held{0};
  std::atomic<std::int64_t> peak{0};
  EngineSteps steps = model.steps();
  steps.load = [&](ImageInput&& input) -> Result<LoadedImage> {
    FakeModel::raise(peak, held += 40'000);
    std::this_thread::sleep_for(2ms);
    held -= 40'000;
    return model.load(std::move(input));
  };
  const std::vector<std::string> names(60, file.string());
  std::size_t at = 0;
  Arena arena;
  const EngineLimits limits{
      .batch_tokens = 10'000, .decode_threads = 8, .in_flight = Bytes(100'000)};
  const Status status = run_engine(names_source(names, at), steps, limits,
                                   [](ImageResult&&) -> Status { return {}; }, {.arena = arena});
  std::filesystem::remove(file);
  ASSERT_TRUE(status);
  EXPECT_LE(peak, 100'000 + 40'000);  // the picture whose turn it is goes ahead in any case
}

TEST(Engine, APictureLargerThanTheByteBudgetGetsThrough) {
  FakeModel model;
  const Outcome r = run(model, {"1", "50", "50", "2", "50"},
                        {.batch_tokens = 60, .decode_threads = 4, .in_flight = Bytes(1)});
  ASSERT_TRUE(r.status);
  EXPECT_EQ(r.results.size(), 5U);
}

TEST(Engine, DecodingGoesOnBesideTheForwardPass) {
  FakeModel model;
  Arena arena;
  std::atomic<int> prepared{0};
  int beside = 0;  // forward passes that saw another picture being prepared
  EngineSteps steps = model.steps();
  steps.prepare = [&](LoadedImage&& loaded) {
    ++prepared;
    prepared.notify_all();
    std::this_thread::sleep_for(1ms);
    return model.prepare(std::move(loaded));
  };
  steps.forward = [&](std::span<const PreparedImage> images, Arena& scratch,
                      std::span<ImageResult> results) {
    const int before = prepared;
    for (int i = 0; i < 10'000 && prepared == before && before < 20; ++i) {
      std::this_thread::sleep_for(1ms);
    }
    beside += prepared > before ? 1 : 0;
    return model.forward(images, scratch, results);
  };
  std::size_t at = 0;
  const std::vector<std::string> names(20, "10");
  const Status status =
      run_engine(names_source(names, at), steps, {.batch_tokens = 50, .decode_threads = 1},
                 [](ImageResult&&) -> Status { return {}; }, {.arena = arena});
  ASSERT_TRUE(status);
  EXPECT_GE(beside, 2);
}

TEST(Engine, ScratchIsReusedBetweenBatches) {
  FakeModel model;
  const Outcome r = run(model, std::vector<std::string>(10, "10"), {.batch_tokens = 10});
  ASSERT_TRUE(r.status);
  ASSERT_EQ(model.scratch.size(), 10U);
  for (const void* p : model.scratch) {
    EXPECT_EQ(p, model.scratch.front());
  }
}

TEST(Engine, AFailureOfTheForwardPassEndsTheRun) {
  for (const bool throws : {false, true}) {
    FakeModel model;
    model.fail_forward_at = 2;
    model.throw_in_forward = throws;
    const Outcome r =
        run(model, std::vector<std::string>(50, "10"), {.batch_tokens = 20, .decode_threads = 2});
    ASSERT_FALSE(r.status);
    EXPECT_EQ(r.status.error().code(), throws ? ErrorCode::kInternal : ErrorCode::kOutOfMemory);
    EXPECT_EQ(r.results.size(), 4U);
  }
}

TEST(Engine, ASourceThatThrowsEndsTheRunAfterWhatItGave) {
  const int threads_before = threads_of_this_process();
  for (const int fail_at : {0, 1, 7, 30}) {
    for (const int threads : {1, 4}) {
      FakeModel model;
      Arena arena;
      int given = 0;
      std::int64_t results = 0;
      const Status status = run_engine(
          [&]() -> std::optional<ImageInput> {
            if (given == fail_at) {
              throw std::runtime_error("source threw");
            }
            ++given;
            return ImageInput{.name = "10"};
          },
          model.steps(), {.batch_tokens = 40, .decode_threads = threads},
          [&](ImageResult&&) -> Status {
            ++results;
            return {};
          },
          {.arena = arena});
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code(), ErrorCode::kInternal);
      EXPECT_EQ(results, fail_at);
    }
  }
  EXPECT_EQ(threads_of_this_process(), threads_before);
}

TEST(Engine, AnErrorThrownByTheSourceStaysThatError) {
  FakeModel model;
  Arena arena;
  const Status status = run_engine(
      []() -> std::optional<ImageInput> {
        throw Exception(Error(ErrorCode::kInputEmpty, {{"what", "a test"}}));
      },
      model.steps(), {}, [](ImageResult&&) -> Status { return {}; }, {.arena = arena});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kInputEmpty);
}

TEST(Engine, ASinkThatFailsOrThrowsEndsTheRunAtOnce) {
  const int threads_before = threads_of_this_process();
  for (const bool throws : {false, true}) {
    for (const std::int64_t fail_at : {0, 3, 11}) {
      FakeModel model;
      Arena arena;
      std::int64_t results = 0;
      const Status status = run_engine(
          []() -> std::optional<ImageInput> { return ImageInput{.name = "10"}; },  // endless
          model.steps(), {.batch_tokens = 40, .decode_threads = 3},
          [&](ImageResult&&) -> Status {
            if (results == fail_at) {
              if (throws) {
                throw std::runtime_error("sink threw");
              }
              return Error(ErrorCode::kOutputUnwritable, {{"file", "x"}, {"reason", "a test"}});
            }
            ++results;
            return {};
          },
          {.arena = arena});
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code(),
                throws ? ErrorCode::kInternal : ErrorCode::kOutputUnwritable);
      EXPECT_EQ(results, fail_at);
    }
  }
  EXPECT_EQ(threads_of_this_process(), threads_before);
}

TEST(Engine, AStopAfterAnyResultDeliversTheBatchInHandAndSaysHowMany) {
  const int threads_before = threads_of_this_process();
  for (std::int64_t stop_at = 1; stop_at <= 13; ++stop_at) {
    FakeModel model;
    Arena arena;
    std::stop_source stop;
    std::int64_t results = 0;
    const Status status =
        run_engine([]() -> std::optional<ImageInput> { return ImageInput{.name = "10"}; },
                   model.steps(), {.batch_tokens = 40, .decode_threads = 2},
                   [&](ImageResult&& result) -> Status {
                     EXPECT_EQ(result.index, results);
                     if (++results == stop_at) {
                       stop.request_stop();
                     }
                     return {};
                   },
                   {.arena = arena, .stop = stop.get_token()});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
    EXPECT_EQ(results, (stop_at + 3) / 4 * 4) << "whole batches of four";
    EXPECT_EQ(status.error().field("done")->text(), std::to_string(results));
  }
  EXPECT_EQ(threads_of_this_process(), threads_before);
}

TEST(Engine, AStopWhileItWaitsForPicturesReturnsSoon) {
  FakeModel model;
  model.prepare_time = 5ms;
  Arena arena;
  std::stop_source stop;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(30ms);
    stop.request_stop();
  });
  const auto start = std::chrono::steady_clock::now();
  const Status status = run_engine(
      []() -> std::optional<ImageInput> { return ImageInput{.name = "1"}; }, model.steps(),
      {.batch_tokens = 1'000'000, .decode_threads = 2}, [](ImageResult&&) -> Status { return {}; },
      {.arena = arena, .stop = stop.get_token()});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(status.error().field("done")->text(), "0");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
}

TEST(Engine, AStopDuringTheForwardPassStillDeliversThatBatch) {
  FakeModel model;
  Arena arena;
  std::stop_source stop;
  EngineSteps steps = model.steps();
  steps.forward = [&](std::span<const PreparedImage> images, Arena& scratch,
                      std::span<ImageResult> results) {
    stop.request_stop();
    return model.forward(images, scratch, results);
  };
  std::int64_t results = 0;
  const Status status =
      run_engine([]() -> std::optional<ImageInput> { return ImageInput{.name = "10"}; }, steps,
                 {.batch_tokens = 40},
                 [&](ImageResult&&) -> Status {
                   ++results;
                   return {};
                 },
                 {.arena = arena, .stop = stop.get_token()});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(results, 4);
}

TEST(Engine, AStopBeforeTheStartComputesNothing) {
  FakeModel model;
  Arena arena;
  std::stop_source stop;
  stop.request_stop();
  std::size_t at = 0;
  const std::vector<std::string> names{"1", "2"};
  const Status status = run_engine(names_source(names, at), model.steps(), {},
                                   [](ImageResult&&) -> Status { return {}; },
                                   {.arena = arena, .stop = stop.get_token()});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(model.forwards, 0);
}

TEST(Engine, AStopAfterTheLastResultIsNoFailure) {
  FakeModel model;
  Arena arena;
  std::stop_source stop;
  std::size_t at = 0;
  const std::vector<std::string> names{"1", "2"};
  const Status status = run_engine(names_source(names, at), model.steps(), {},
                                   [&](ImageResult&& result) -> Status {
                                     if (result.index == 1) {
                                       stop.request_stop();
                                     }
                                     return {};
                                   },
                                   {.arena = arena, .stop = stop.get_token()});
  EXPECT_TRUE(status);
}

TEST(Engine, AStopAfterTheLastOfBrokenPicturesIsNoFailure) {
  FakeModel model;
  Arena arena;
  std::stop_source stop;
  std::atomic<int> taken{0};
  const Status status = run_engine(
      [&]() -> std::optional<ImageInput> {
        return taken++ == 0 ? std::optional(ImageInput{.name = "unreadable"}) : std::nullopt;
      },
      model.steps(), {},
      [&](ImageResult&&) -> Status {
        while (taken < 2) {  // until the end of the input has been seen
          std::this_thread::sleep_for(1ms);
        }
        std::this_thread::sleep_for(20ms);
        stop.request_stop();
        return {};
      },
      {.arena = arena, .stop = stop.get_token()});
  EXPECT_TRUE(status) << status.error().describe();
}

TEST(Engine, ASlowSinkOrASlowSourceDoesNotLockUp) {
  for (const bool slow_sink : {false, true}) {
    FakeModel model;
    Arena arena;
    int left = 60;
    std::int64_t results = 0;
    const Status status = run_engine(
        [&]() -> std::optional<ImageInput> {
          if (!slow_sink) {
            std::this_thread::sleep_for(500us);
          }
          return left-- > 0 ? std::optional(ImageInput{.name = "10"}) : std::nullopt;
        },
        model.steps(), {.batch_tokens = 10, .decode_threads = 8},
        [&](ImageResult&&) -> Status {
          if (slow_sink) {
            std::this_thread::sleep_for(500us);
          }
          ++results;
          return {};
        },
        {.arena = arena});
    EXPECT_TRUE(status);
    EXPECT_EQ(results, 60);
  }
}

}  // namespace
}  // namespace foveal
