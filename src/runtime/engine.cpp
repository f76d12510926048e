// The batch in hand and the loop around it; what runs beside it is decode_queue.cpp's.
#include "runtime/engine.hpp"

#include "base/guarded.hpp"

#include <algorithm>
#include <utility>

namespace foveal {
namespace {

// Results that wait for their turn behind a batch that is not full: bounds a long run of broken
// pictures.
constexpr std::size_t kMaxResults = 4096;

// Pictures of one forward pass and, in input order, the results that are delivered with them.
class Batch {
 public:
  bool empty() const { return results_.empty(); }
  bool has_pictures() const { return !pictures_.empty(); }

  bool fits(const QueuedImage& image, std::int64_t batch_tokens) const {
    return results_.size() < kMaxResults && rows_ + rows(image) <= batch_tokens;
  }

  void add(QueuedImage image) {
    rows_ += rows(image);
    ImageResult result{
        .index = image.index, .name = std::move(image.name), .error = {}, .outputs = {}};
    if (auto* error = std::get_if<Error>(&image.content)) {
      result.error = std::move(*error);
    } else {
      const std::int64_t sequence_rows = rows(image);
      pictures_.push_back(std::get<PreparedImage>(std::move(image.content)));
      computed_.push_back({.index = result.index,
                           .name = result.name,
                           .error = {},
                           .outputs = {},
                           .sequence_rows = sequence_rows});
    }
    results_.push_back(std::move(result));
  }

  Status forward(const EngineSteps& steps, Arena& arena) {
    if (pictures_.empty()) {
      return {};
    }
    arena.reset();
    FOVEAL_TRY_STATUS(
        guarded("the forward pass", [&] { return steps.forward(pictures_, arena, computed_); }));
    pictures_.clear();
    auto next = computed_.begin();
    for (ImageResult& result : results_) {
      if (!result.error) {
        result = std::move(*next++);
      }
    }
    computed_.clear();
    return {};
  }

  Status deliver(const Encoder::Sink& sink, std::int64_t& done) {
    for (ImageResult& result : results_) {
      FOVEAL_TRY_STATUS(guarded("a result", [&] { return sink(std::move(result)); }));
      ++done;
    }
    results_.clear();
    rows_ = 0;
    return {};
  }

 private:
  static std::int64_t rows(const QueuedImage& image) {
    const auto* prepared = std::get_if<PreparedImage>(&image.content);
    return prepared != nullptr ? prepared->tokens.sequence_rows : 0;
  }

  std::vector<ImageResult> results_;  // all, in input order
  std::vector<PreparedImage> pictures_;
  std::vector<ImageResult> computed_;  // of pictures_
  std::int64_t rows_ = 0;
};

}  // namespace

Status run_engine(const Encoder::Source& source, const EngineSteps& steps,
                  const EngineLimits& limits, const Encoder::Sink& sink, EngineRun run) {
  return guarded("embedding", [&]() -> Status {
    std::int64_t done = 0;
    Batch batch;
    DecodeQueue queue(source, steps, limits);
    const auto flush = [&]() -> Status {
      FOVEAL_TRY_STATUS(batch.forward(steps, run.arena));
      return batch.deliver(sink, done);
    };
    while (std::optional<QueuedImage> next = queue.pop(run.stop)) {
      if (!batch.fits(*next, limits.batch_tokens)) {
        FOVEAL_TRY_STATUS(flush());
      }
      batch.add(*std::move(next));
      if (!batch.has_pictures()) {
        FOVEAL_TRY_STATUS(flush());  // an error with nothing before it need not wait
      }
    }
    if (run.stop.stop_requested() && !(queue.at_end() && batch.empty())) {
      return Error(ErrorCode::kCancelled, {{"done", done}});
    }
    FOVEAL_TRY_STATUS(flush());
    return queue.status();
  });
}

}  // namespace foveal
