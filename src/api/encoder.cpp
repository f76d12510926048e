// Encoder: checks the options, then lets the engine run over a loaded Model.
#include <foveal/encoder.hpp>

#include "api/context_state.hpp"
#include "api/fingerprint.hpp"
#include "api/outputs.hpp"
#include "base/guarded.hpp"
#include "model/model.hpp"
#include "runtime/engine.hpp"
#include "runtime/load_image.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace foveal {
namespace {

constexpr int kMaxDecodeThreads = 256;
// Each may hold a whole picture, and 16 decode more photos than a forward pass on that machine
// takes.
constexpr int kDefaultDecodeThreads = 16;

// Scratch of forward passes that run at once; kept, so that calls one after the other allocate it
// once.
class ArenaPool {
 public:
  std::unique_ptr<Arena> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto out = std::move(free_.back());
        free_.pop_back();
        return out;
      }
    }
    return std::make_unique<Arena>();
  }
  void give_back(std::unique_ptr<Arena> arena) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(arena));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Arena>> free_;  // guarded by mutex_
};

Status check_device(std::string_view device) {
  if (device == "auto" || device == "cpu" || device.empty()) {
    return {};
  }
  const bool cuda =
      device == "cuda" || (device.starts_with("cuda:") && device.size() > 5 &&
                           device.find_first_not_of("0123456789", 5) == std::string_view::npos);
  if (cuda) {
    return Error(ErrorCode::kDeviceUnavailable,
                 {{"device", device}, {"reason", "built without CUDA"}});
  }
  return Error(ErrorCode::kOptionUnknown,
               {{"option", "device"}, {"value", device}, {"expected", "auto, cpu, cuda, cuda:N"}});
}

// bf16 only where a tile unit makes it faster; f16 has no arithmetic of its own on the CPU.
ComputeDType resolve(ComputeDType dtype, CpuIsa isa) {
  switch (dtype) {
    case ComputeDType::kAuto:
      return isa == CpuIsa::kAmx ? ComputeDType::kBF16 : ComputeDType::kF32;
    case ComputeDType::kBF16:
      return ComputeDType::kBF16;
    case ComputeDType::kF16:
    case ComputeDType::kF32:
      break;
  }
  return ComputeDType::kF32;
}

Status check_count(std::string_view option, std::int64_t value, std::int64_t min,
                   std::int64_t max) {
  if (value >= min && value <= max) {
    return {};
  }
  return Error(ErrorCode::kOptionInvalid,
               {{"option", option},
                {"value", std::to_string(value)},
                {"expected", std::string(option) + " is " + std::to_string(min) + " to " +
                                 std::to_string(max)}});
}

}  // namespace

struct Encoder::State {
  const Context::State* context;
  EncoderOptions options;
  ComputeDType dtype;  // resolved: f32 or bf16
  Model model;
  mutable ArenaPool arenas;

  State(const Context::State* c, EncoderOptions o, ComputeDType d, Model m)
      : context(c), options(std::move(o)), dtype(d), model(std::move(m)) {}

  Result<LoadedImage> load(ImageInput&& input) const {
    FOVEAL_TRY(LoadedHeader header, load_image(std::move(input), options.decode.limits));
    FOVEAL_TRY(header.image.tokens,
               model.tokens_for(header.size.height, header.size.width, header.image.name));
    header.image.resized = model.resized_size(header.size);
    return std::move(header.image);
  }

  Result<PreparedImage> prepare(LoadedImage&& loaded) const {
    DecodeOptions decode = options.decode;
    decode.fast_jpeg_target.reset();
    if (options.fast_jpeg == FastJpeg::kYes) {
      decode.fast_jpeg_target = loaded.resized;
    }
    const std::string name = loaded.name;
    FOVEAL_TRY(const Image image, decode_loaded(std::move(loaded), decode));
    return model.prepare(image, name);
  }

  EngineSteps steps(const ForwardRequest& request) const {
    return {.load = [this](ImageInput&& input) { return load(std::move(input)); },
            .prepare = [this](LoadedImage&& loaded) { return prepare(std::move(loaded)); },
            .forward =
                [this, &request](std::span<const PreparedImage> images, Arena& arena,
                                 std::span<ImageResult> results) {
                  return model.forward(images, request, arena, results);
                }};
  }

  // What attention of this model runs on, for the notes of a fingerprint.
  std::string_view backend() const {
    const ModelInfo& info = model.info();
    const auto plan = make_plan({.heads = {.num_heads = info.num_heads, .head_dim = info.head_dim},
                                 .q_seqs = {},
                                 .k_seqs = {},
                                 .options = {},
                                 .dtype = dtype == ComputeDType::kBF16 ? DType::kBF16 : DType::kF32,
                                 .device = {}},
                                context->backends, context->machine, context->backend);
    return plan ? plan->backend() : std::string_view("none");
  }
};

Encoder::Encoder(std::unique_ptr<State> state) : state_(std::move(state)) {}
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;
Encoder::~Encoder() = default;

Result<Encoder> Encoder::open(const Context& context, std::string_view model,
                              const EncoderOptions& options) {
  FOVEAL_TRY_STATUS(check_device(options.device));
  const Context::State& shared = context.state();
  const ComputeDType dtype = resolve(options.dtype, shared.machine.isa);
  LoadOptions load{.model = std::string(model),
                   .encoder = options,
                   .exec = {.device = {}, .pool = &shared.pool, .isa = shared.machine.isa},
                   .machine = shared.machine,
                   .backends = shared.backends,
                   .attention_backend = shared.backend};
  load.encoder.dtype = dtype;
  return guarded("the model", [&]() -> Result<Encoder> {
    FOVEAL_TRY(Model loaded, Model::load(load));
    return Encoder(std::make_unique<State>(&shared, options, dtype, std::move(loaded)));
  });
}

const ModelInfo& Encoder::info() const {
  return state_->model.info();
}

Result<ImageTokens> Encoder::tokens_for(int height, int width, std::string_view name) const {
  return state_->model.tokens_for(height, width, name);
}

Status Encoder::embed(const Source& source, const EmbedOptions& options, const Sink& sink,
                      std::stop_token stop) const {
  const std::vector<std::string>& known = info().outputs;
  ForwardRequest request{.outputs = {}, .layer = options.layer, .normalize = options.normalize};
  FOVEAL_TRY(request.outputs, expand_outputs(options.outputs, known));
  FOVEAL_TRY_STATUS(check_layer(options.layer, known));
  const std::int64_t batch_tokens = options.batch_tokens.value_or(EngineLimits{}.batch_tokens);
  FOVEAL_TRY_STATUS(check_count("batch_tokens", batch_tokens, 1, PackedSeqs::kMaxTokens));
  FOVEAL_TRY_STATUS(check_count("decode_threads", options.decode_threads, 0, kMaxDecodeThreads));
  const EngineLimits limits{
      .batch_tokens = batch_tokens,
      .oversize = options.batch_tokens ? Oversize::kRefuse : Oversize::kAlone,
      // As many as compute: they sleep while the queue is full, and where decoding is the
      // bottleneck they are it.
      .decode_threads = options.decode_threads > 0
                            ? options.decode_threads
                            : std::min(state_->context->pool.size(), kDefaultDecodeThreads)};
  std::unique_ptr<Arena> arena = state_->arenas.take();
  Status status = run_engine(source, state_->steps(request), limits, sink,
                             {.arena = *arena, .stop = std::move(stop)});
  state_->arenas.give_back(std::move(arena));
  return status;
}

Result<std::vector<ImageResult>> Encoder::embed(std::vector<ImageInput> images,
                                                const EmbedOptions& options) const {
  EmbedOptions few = options;
  if (few.decode_threads == 0 && images.size() < static_cast<std::size_t>(kDefaultDecodeThreads)) {
    few.decode_threads =
        std::clamp(static_cast<int>(images.size()), 1, state_->context->pool.size());
  }
  std::vector<ImageResult> results;
  results.reserve(images.size());
  std::size_t next = 0;
  FOVEAL_TRY_STATUS(embed(
      [&]() -> std::optional<ImageInput> {
        return next < images.size() ? std::optional(std::move(images[next++])) : std::nullopt;
      },
      few,
      [&](ImageResult&& result) -> Status {
        results.push_back(std::move(result));
        return {};
      }));
  return results;
}

std::string Encoder::fingerprint(const EmbedOptions& options) const {
  return fingerprint_json({.model_content = state_->model.content_fingerprint(),
                           .encoder = state_->options,
                           .embed = options,
                           .dtype = state_->dtype == ComputeDType::kBF16 ? "bf16" : "f32",
                           .backend = state_->backend(),
                           .isa = isa_name(state_->context->machine.isa),
                           .version = FOVEAL_VERSION});
}

}  // namespace foveal
