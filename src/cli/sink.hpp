// Where the results of `embed` go: a spool that becomes one file at the end, or JSON lines on
// stdout at once.
#pragma once

#include "io/spool.hpp"
#include "io/write_output.hpp"

#include <foveal/encoder.hpp>
#include <foveal/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace foveal::cli {

class ResultSink {
 public:
  struct Target {
    std::string out;  // empty: JSON lines on stdout
    io::OutputFormat format = io::OutputFormat::kJsonl;
    std::string only{};  // .npy holds this output alone
  };

  // Spooled to a file. As Spool::open.
  static Result<ResultSink> to_file(const Target& target, const io::SpoolOptions& options,
                                    io::OutputMetadata metadata);
  static ResultSink to_stdout(io::OutputMetadata metadata);

  std::int64_t done_before() const { return done_before_; }
  std::int64_t failed_before() const { return failed_before_; }
  std::int64_t done() const { return spool_ ? spool_->done() : done_; }

  Status add(const ImageResult& result, const io::FileStamp& stamp);

  enum class Ending : std::uint8_t { kComplete, kStopped, kFailed };
  // Complete: the file appears, the spool goes. Stopped: the file appears with what is done, the
  // spool stays. Failed: no file, the spool stays. A spool without a picture always goes.
  Status finish(Ending ending);
  bool left_spool() const { return left_spool_; }

 private:
  ResultSink(Target target, io::OutputMetadata metadata)
      : target_(std::move(target)), metadata_(std::move(metadata)) {}
  Target target_;
  io::OutputMetadata metadata_;
  std::optional<io::Spool> spool_;
  std::int64_t done_ = 0;
  std::int64_t done_before_ = 0;
  std::int64_t failed_before_ = 0;
  bool left_spool_ = false;
};

}  // namespace foveal::cli
