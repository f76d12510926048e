// WebP by libwebp: libwebpdemux takes the container apart (no pixel is decoded for that), libwebp
// decodes the first frame straight into its place on the canvas.
#include "image/codecs/webp.hpp"
#include "image/orientation.hpp"

#include <memory>
#include <string>

#include <webp/decode.h>
#include <webp/demux.h>

namespace foveal::codecs::webp {
namespace {

struct DemuxerDeleter {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};
using Demuxer = std::unique_ptr<WebPDemuxer, DemuxerDeleter>;

struct Frame {
  WebPIterator it{};
  Frame() = default;
  ~Frame() { WebPDemuxReleaseIterator(&it); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
};

Result<Demuxer> open(const Input& input) {
  const WebPData data{input.bytes.data(), input.bytes.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  Demuxer demuxer(WebPDemuxPartial(&data, &state));
  if (state == WEBP_DEMUX_PARSING_HEADER || state == WEBP_DEMUX_PARSED_HEADER) {
    return input.truncated("it ends before its last chunk");
  }
  if (demuxer == nullptr || state != WEBP_DEMUX_DONE) {
    return input.corrupt("its chunks do not make a WebP file");
  }
  return demuxer;
}

// The payload of a metadata chunk; empty where there is none. Points into the input.
std::span<const std::uint8_t> chunk_of(const WebPDemuxer* demuxer, const char (&fourcc)[5]) {
  std::span<const std::uint8_t> payload;
  WebPChunkIterator it{};
  if (WebPDemuxGetChunk(demuxer, fourcc, 1, &it) != 0) {
    payload = {it.chunk.bytes, it.chunk.size};
  }
  WebPDemuxReleaseChunkIterator(&it);
  return payload;
}

Error decode_error(const Input& input, VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return input.truncated("its picture data end early");
    case VP8_STATUS_OUT_OF_MEMORY:
      return Error(ErrorCode::kOutOfMemory, {{"bytes", input.bytes.size()},
                                             {"what", "decoding " + std::string(input.name)}});
    default:
      return input.corrupt("its picture data are damaged (libwebp status " +
                           std::to_string(status) + ")");
  }
}

}  // namespace

bool recognises(std::span<const std::uint8_t> bytes) {
  return starts_with(bytes, "RIFF") && bytes.size() >= 12 && starts_with(bytes.subspan(8), "WEBP");
}

Result<ImageInfo> probe(const Input& input) {
  FOVEAL_TRY(const Demuxer demuxer, open(input));
  const std::uint32_t flags = WebPDemuxGetI(demuxer.get(), WEBP_FF_FORMAT_FLAGS);
  ImageInfo info;
  info.format = kCodec.format;
  info.width = static_cast<int>(WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH));
  info.height = static_cast<int>(WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT));
  info.has_alpha = (flags & ALPHA_FLAG) != 0;
  info.mode = info.has_alpha ? "RGBA" : "RGB";
  info.frames = static_cast<int>(WebPDemuxGetI(demuxer.get(), WEBP_FF_FRAME_COUNT));
  info.orientation =
      find_orientation(chunk_of(demuxer.get(), "EXIF"), chunk_of(demuxer.get(), "XMP "));
  if (info.width <= 0 || info.height <= 0 || info.frames <= 0) {
    return input.corrupt("it holds no frame");
  }
  return info;
}

Result<Raster> decode(const Input& input, const ImageInfo& info, const DecodeOptions& options) {
  FOVEAL_TRY(const Demuxer demuxer, open(input));
  Frame frame;
  if (WebPDemuxGetFrame(demuxer.get(), 1, &frame.it) == 0) {
    return input.corrupt("it holds no frame");
  }
  if (frame.it.complete == 0) {
    return input.truncated("its first frame is incomplete");
  }
  const WebPIterator& it = frame.it;
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) {
    return input.corrupt("libwebp is another version than the one built against");
  }
  const VP8StatusCode header = WebPGetFeatures(it.fragment.bytes, it.fragment.size, &config.input);
  if (header != VP8_STATUS_OK) {
    return decode_error(input, header);
  }
  if (it.x_offset < 0 || it.y_offset < 0 || config.input.width != it.width ||
      config.input.height != it.height || it.width > info.width - it.x_offset ||
      it.height > info.height - it.y_offset) {
    return input.corrupt("its first frame does not fit its canvas");
  }

  Raster raster;
  raster.width = info.width;
  raster.height = info.height;
  raster.channels = options.background && info.has_alpha ? 4 : 3;
  const auto channels = static_cast<std::size_t>(raster.channels);
  const std::size_t stride = static_cast<std::size_t>(info.width) * channels;
  raster.pixels.resize(stride *
                       static_cast<std::size_t>(info.height));  // zeros around a smaller frame

  const std::size_t start = static_cast<std::size_t>(it.y_offset) * stride +
                            static_cast<std::size_t>(it.x_offset) * channels;
  config.output.colorspace = raster.channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = raster.pixels.data() + start;
  config.output.u.RGBA.stride = static_cast<int>(stride);
  config.output.u.RGBA.size = raster.pixels.size() - start;
  const VP8StatusCode status = WebPDecode(it.fragment.bytes, it.fragment.size, &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) {
    return decode_error(input, status);
  }
  return raster;
}

}  // namespace foveal::codecs::webp
