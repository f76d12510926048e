// The main loop: pictures from a source, packed in input order into batches of at most batch_tokens
// rows, through the forward pass, to a sink in input order. Decoding goes on beside the forward
// pass.
#pragma once

#include "runtime/decode_queue.hpp"

#include <foveal/encoder.hpp>
#include <foveal/error.hpp>

#include <stop_token>

namespace foveal {

struct EngineRun {
  Arena& arena;  // scratch of the forward pass, kept between batches and calls
  std::stop_token stop{};
};

// Results go to the sink from the calling thread, in input order; a picture that fails is a result
// with an error and takes no row. A batch is cut where the next picture would exceed the budget, so
// batches depend on the input alone. Returns what the sink, the forward pass or the source fail
// with; Cancelled{done} after a stop request, once a batch whose forward pass had begun is
// delivered (pictures merely read ahead are dropped). Either way no thread is left behind. A source
// that blocks holds up the return until it gives something.
Status run_engine(const Encoder::Source& source, const EngineSteps& steps,
                  const EngineLimits& limits, const Encoder::Sink& sink, EngineRun run);

}  // namespace foveal
