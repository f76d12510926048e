// A thread takes a number and an input together, so that numbers follow the input's order. The
// picture whose turn it is never waits for room: whatever the others hold, the queue moves.
#include "runtime/decode_queue.hpp"

#include "base/guarded.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace foveal {
namespace {

Bytes content_bytes(const LoadedImage& image) {
  const auto* file = std::get_if<std::vector<std::uint8_t>>(&image.content);
  return Bytes(file != nullptr ? static_cast<std::int64_t>(file->size()) : 0);
}

// What reading the input will take; 0 where it is in memory already or cannot be looked at.
Bytes bytes_to_read(const ImageInput& input) {
  std::error_code failed;
  const bool path = std::holds_alternative<std::monostate>(input.content);
  const std::uintmax_t size = path ? std::filesystem::file_size(input.name, failed) : 0;
  return Bytes(failed ? 0 : static_cast<std::int64_t>(size));
}

Bytes pixel_bytes(const PreparedImage& image) {
  return Bytes(static_cast<std::int64_t>(image.pixels.rgb.size()));
}

}  // namespace

DecodeQueue::DecodeQueue(const Encoder::Source& source, const EngineSteps& steps,
                         const EngineLimits& limits)
    : source_(source), steps_(steps), limits_(limits) {
  const int wanted = std::max(1, limits.decode_threads);
  threads_.reserve(static_cast<std::size_t>(wanted));
  for (int i = 0; i < wanted; ++i) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // no more threads to be had: fewer do as well
      if (threads_.empty()) {
        throw;
      }
      break;
    }
  }
}

DecodeQueue::~DecodeQueue() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  room_.notify_all();
}

void DecodeQueue::work() {
  const Status status = guarded("the queue of pictures", [this]() -> Status {
    while (std::optional<Ticket> ticket = take()) {
      Bytes held;
      QueuedImage image = make(*std::move(ticket), held);
      finish(std::move(image), held);
    }
    return {};
  });
  if (!status) {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    ended_ = true;
    failure_ = status.error();
    ready_.notify_all();
    room_.notify_all();
  }
}

std::optional<DecodeQueue::Ticket> DecodeQueue::take() {
  const std::lock_guard one_at_a_time(source_mutex_);
  {
    std::unique_lock lock(mutex_);
    // A batch ahead is enough to keep the forward pass busy.
    room_.wait(lock, [this] {
      return quit_ || ended_ ||
             (waiting_rows_ < limits_.batch_tokens && in_flight_ < limits_.in_flight);
    });
    if (quit_ || ended_) {
      return std::nullopt;
    }
  }
  std::optional<ImageInput> input;
  const Status status = guarded("the source of pictures", [&]() -> Status {
    input = source_();
    return {};
  });
  const std::lock_guard lock(mutex_);
  if (!status || !input) {
    ended_ = true;
    if (!status) {
      failure_ = status.error();
    }
    ready_.notify_all();
    room_.notify_all();
    return std::nullopt;
  }
  return Ticket{taken_++, *std::move(input)};
}

QueuedImage DecodeQueue::make(Ticket ticket, Bytes& held) {
  QueuedImage out{ticket.index, ticket.input.name, PreparedImage{}};
  const auto within_budget = [&](std::int64_t rows) -> Status {
    if (rows > limits_.batch_tokens && limits_.oversize == Oversize::kRefuse) {
      return Error(ErrorCode::kImageOverBudget,
                   {{"file", out.name}, {"tokens", rows}, {"limit", limits_.batch_tokens}});
    }
    return {};
  };
  auto prepared = guarded(out.name, [&]() -> Result<PreparedImage> {
    const auto hold = [&](Bytes need) -> Status {
      if (!reserve(ticket.index, need - held)) {
        return Error(ErrorCode::kCancelled,
                     {{"done", ticket.index}});  // nobody will see it: the queue is going
      }
      held = need;
      return {};
    };
    FOVEAL_TRY_STATUS(hold(bytes_to_read(ticket.input)));
    FOVEAL_TRY(LoadedImage loaded, steps_.load(std::move(ticket.input)));
    FOVEAL_TRY_STATUS(within_budget(loaded.tokens.sequence_rows));
    FOVEAL_TRY_STATUS(hold(content_bytes(loaded) + loaded.decoded));
    FOVEAL_TRY(PreparedImage image, steps_.prepare(std::move(loaded)));
    FOVEAL_TRY_STATUS(within_budget(image.tokens.sequence_rows));
    return image;
  });
  if (prepared) {
    out.content = *std::move(prepared);
  } else {
    out.content = std::move(prepared).error();
  }
  return out;
}

bool DecodeQueue::reserve(std::int64_t index, Bytes bytes) {
  std::unique_lock lock(mutex_);
  room_.wait(lock,
             [&] { return quit_ || index == head_ || in_flight_ + bytes <= limits_.in_flight; });
  if (quit_) {
    return false;
  }
  in_flight_ += bytes;
  return true;
}

void DecodeQueue::finish(QueuedImage image, Bytes held) {
  std::int64_t rows = 1;
  Bytes kept;
  if (const auto* prepared = std::get_if<PreparedImage>(&image.content)) {
    rows = std::max<std::int64_t>(1, prepared->tokens.sequence_rows);
    kept = pixel_bytes(*prepared);
  }
  const std::lock_guard lock(mutex_);
  in_flight_ = in_flight_ - held + kept;
  waiting_rows_ += rows;
  const std::int64_t index = image.index;
  waiting_.emplace(index, Waiting{std::move(image), rows, kept});
  ready_.notify_all();
  room_.notify_all();  // it may hold less now than it had reserved
}

std::optional<QueuedImage> DecodeQueue::pop(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const bool came = ready_.wait(
      lock, stop, [this] { return waiting_.contains(head_) || exhausted() || broken_; });
  if (!came || stop.stop_requested() || !waiting_.contains(head_)) {
    return std::nullopt;
  }
  auto node = waiting_.extract(head_++);
  waiting_rows_ -= node.mapped().rows;
  in_flight_ = in_flight_ - node.mapped().bytes;
  room_.notify_all();
  return std::move(node.mapped().image);
}

bool DecodeQueue::at_end() const {
  const std::lock_guard lock(mutex_);
  return exhausted();
}

Status DecodeQueue::status() const {
  const std::lock_guard lock(mutex_);
  return failure_ ? Status(*failure_) : Status();
}

}  // namespace foveal
