#include "cli/sink.hpp"

#include "cli/console.hpp"

#include <utility>

namespace foveal::cli {

Result<ResultSink> ResultSink::to_file(const Target& target, const io::SpoolOptions& options,
                                       io::OutputMetadata metadata) {
  ResultSink sink(target, std::move(metadata));
  FOVEAL_TRY(sink.spool_, io::Spool::open(options));
  sink.done_before_ = sink.spool_->done();
  sink.failed_before_ = sink.spool_->failed();
  return sink;
}

ResultSink ResultSink::to_stdout(io::OutputMetadata metadata) {
  return ResultSink({}, std::move(metadata));
}

Status ResultSink::add(const ImageResult& result, const io::FileStamp& stamp) {
  std::vector<io::OutputBlock> blocks;
  for (const OutputRows& rows : result.outputs) {
    if (target_.only.empty() || rows.name == target_.only) {
      blocks.push_back({.name = rows.name,
                        .shape = rows.shape,
                        .values = rows.values,
                        .integers = rows.integers});
    }
  }
  const io::PictureOutput picture{.index = done(),
                                  .file = result.name,
                                  .stamp = stamp,
                                  .error = result.error ? &*result.error : nullptr,
                                  .blocks = blocks};
  if (spool_) {
    return spool_->append(picture);
  }
  ++done_;
  const std::string error = result.error ? io::dump(io::to_json(*result.error)) : std::string();
  FOVEAL_TRY_STATUS(print(io::jsonl_line(picture, error, metadata_.content_hash)));
  return flush_output();
}

Status ResultSink::finish(Ending ending) {
  if (!spool_) {
    return flush_output();
  }
  const bool empty = spool_->done() == 0;
  if (ending != Ending::kFailed && !(empty && ending == Ending::kStopped)) {
    if (Status written = io::write_output(*spool_, target_.format, metadata_); !written) {
      left_spool_ = !empty;
      return written;
    }
  }
  if (ending == Ending::kComplete || empty) {
    spool_->remove();
  } else {
    left_spool_ = true;
  }
  return {};
}

}  // namespace foveal::cli
