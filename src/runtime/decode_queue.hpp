// Pictures read and prepared ahead of the forward pass: threads take inputs from the source and
// give prepared pictures out in input order. What waits is bounded in tokens and bytes, never by
// the number of pictures.
#pragma once

#include "model/model.hpp"

#include <foveal/encoder.hpp>
#include <foveal/error.hpp>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace foveal {

// A picture before its pixels: the bytes are read, the header is known.
struct LoadedImage {
  std::string name;
  std::variant<std::vector<std::uint8_t> /*a file*/, Image> content;
  Bytes decoded;  // what the pixels will take
  ImageTokens tokens;
  // What the model will resize it to; absent: it keeps its size.
  std::optional<ImageSize> resized{};
};

// What the engine needs of a model. Each may be called from many threads at once, forward from one
// an arena.
struct EngineSteps {
  std::function<Result<LoadedImage>(ImageInput&&)> load;
  std::function<Result<PreparedImage>(LoadedImage&&)> prepare;
  // results[i].outputs are filled for images[i].
  std::function<Status(std::span<const PreparedImage>, Arena&, std::span<ImageResult>)> forward;
};

enum class Oversize : std::uint8_t { kRefuse, kAlone };  // a picture of more rows than a batch

struct EngineLimits {
  // Rows of one forward. 32 pictures of 256 patches: enough for the matrix products, some 100 MB of
  // scratch.
  std::int64_t batch_tokens = 8192;
  Oversize oversize = Oversize::kRefuse;
  int decode_threads = 1;
  // Files, pixels and prepared pictures on their way. Seven photos of 12 million pixels; the
  // picture whose turn it is goes ahead in any case, so one of any size gets through.
  Bytes in_flight{std::int64_t{256} << 20};
};

// The picture at `index` of the input, or why there is none.
struct QueuedImage {
  std::int64_t index = 0;
  std::string name;
  std::variant<PreparedImage, Error> content;
};

class DecodeQueue {
 public:
  // Starts the threads. All three must outlive the queue. The source is called by one thread at a
  // time.
  DecodeQueue(const Encoder::Source& source, const EngineSteps& steps, const EngineLimits& limits);
  // Stops taking inputs, finishes the pictures under way and joins: no thread is left behind.
  ~DecodeQueue();
  DecodeQueue(const DecodeQueue&) = delete;
  DecodeQueue& operator=(const DecodeQueue&) = delete;

  // The next picture in input order. Waits for it; nullopt at the end of the input, at a failure of
  // the source (see status) and after a stop request.
  std::optional<QueuedImage> pop(const std::stop_token& stop);
  // Every input has been taken and given out.
  bool at_end() const;
  // Why the input ended early: what the source threw. Valid once pop() gave nullopt.
  Status status() const;

 private:
  struct Waiting {
    QueuedImage image;
    std::int64_t rows = 0;
    Bytes bytes;
  };
  struct Ticket {
    std::int64_t index = 0;
    ImageInput input;
  };

  void work();
  bool exhausted() const { return ended_ && head_ == taken_; }  // under mutex_
  std::optional<Ticket> take();
  QueuedImage make(Ticket ticket, Bytes& held);
  bool reserve(std::int64_t index, Bytes bytes);
  void finish(QueuedImage image, Bytes held);

  const Encoder::Source& source_;
  const EngineSteps& steps_;
  const EngineLimits& limits_;

  std::mutex source_mutex_;  // held while the source is called; taken before mutex_

  mutable std::mutex mutex_;                 // guards all below
  std::condition_variable_any ready_;        // a picture came, or the end
  std::condition_variable room_;             // a picture went or holds less, or quit
  std::map<std::int64_t, Waiting> waiting_;  // by index
  std::int64_t taken_ = 0;                   // inputs taken from the source
  std::int64_t head_ = 0;                    // index that pop() gives next
  std::int64_t waiting_rows_ = 0;            // of waiting_, at least 1 a picture
  Bytes in_flight_;                          // reserved by threads and waiting_
  bool ended_ = false;                       // the source has no more
  bool quit_ = false;
  bool broken_ = false;           // a thread gave up: a picture will never come
  std::optional<Error> failure_;  // of the source or of a thread

  std::vector<std::jthread> threads_;  // last: they use the rest
};

}  // namespace foveal
