// Decodes JPEG by libjpeg-turbo with its defaults (slow integer DCT, fancy upsampling): the bytes
// of Pillow. libjpeg reports errors by a callback that must not return. Ours jumps back into one of
// two small functions that hold no object with a destructor; everything that outlives the jump is
// in Job.
#include "image/codecs/jpeg.hpp"

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <string>

// They need size_t and FILE first.
#include <jerror.h>
#include <jpeglib.h>

namespace foveal::codecs::jpeg {
namespace {

// A progressive file may hold any number of scans of a few bytes, each a walk over all
// coefficients. Encoders write about 10; libjpeg-turbo's own fuzzers stop at 500.
constexpr int kMaxScans = 500;

enum class Ending { kNone, kTruncated, kCorrupt, kTooManyScans };

struct Job {
  jpeg_decompress_struct cinfo{};
  jpeg_error_mgr errors{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  Ending ending = Ending::kNone;
  char reason[JMSG_LENGTH_MAX] = {};  // of kCorrupt

  explicit Job(std::span<const std::uint8_t> bytes);
  ~Job() { jpeg_destroy_decompress(&cinfo); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
};

Job& job_of(j_common_ptr cinfo) {
  return *static_cast<Job*>(cinfo->client_data);
}

[[noreturn]] void leave(Job& job, Ending ending) {
  job.ending = ending;
  std::longjmp(job.escape, 1);
}

void on_error(j_common_ptr cinfo) {
  Job& job = job_of(cinfo);
  (*cinfo->err->format_message)(cinfo, job.reason);
  leave(job, Ending::kCorrupt);
}

void on_message(j_common_ptr cinfo, int level) {
  if (level >= 0) {  // trace
    return;
  }
  ++cinfo->err->num_warnings;
  // Entropy data that stops before its picture is complete: the rest would be gray.
  const int code = cinfo->err->msg_code;
  if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER) {
    leave(job_of(cinfo), Ending::kTruncated);
  }
}

void on_output(j_common_ptr) {}

void on_progress(j_common_ptr cinfo) {
  if (reinterpret_cast<j_decompress_ptr>(cinfo)->input_scan_number > kMaxScans) {
    leave(job_of(cinfo), Ending::kTooManyScans);
  }
}

void start_source(j_decompress_ptr) {}
void end_source(j_decompress_ptr) {}

boolean on_source_empty(j_decompress_ptr cinfo) {
  leave(job_of(reinterpret_cast<j_common_ptr>(cinfo)), Ending::kTruncated);
}

void skip_source(j_decompress_ptr cinfo, long count) {
  if (count <= 0) {
    return;
  }
  const auto skipped = static_cast<std::size_t>(count);
  if (skipped > cinfo->src->bytes_in_buffer) {
    leave(job_of(reinterpret_cast<j_common_ptr>(cinfo)), Ending::kTruncated);
  }
  cinfo->src->next_input_byte += skipped;
  cinfo->src->bytes_in_buffer -= skipped;
}

Job::Job(std::span<const std::uint8_t> bytes) {
  cinfo.err = jpeg_std_error(&errors);
  errors.error_exit = on_error;
  errors.emit_message = on_message;
  errors.output_message = on_output;
  cinfo.client_data = this;
  source.next_input_byte = bytes.data();
  source.bytes_in_buffer = bytes.size();
  source.init_source = start_source;
  source.fill_input_buffer = on_source_empty;
  source.skip_input_data = skip_source;
  source.resync_to_restart = jpeg_resync_to_restart;
  source.term_source = end_source;
  progress.progress_monitor = on_progress;
}

// Header and output extents. false: job.ending says why.
bool read_header(Job& job, unsigned denominator) {
  if (setjmp(job.escape) != 0) {
    return false;
  }
  jpeg_create_decompress(&job.cinfo);
  job.cinfo.src = &job.source;
  job.cinfo.progress = &job.progress;
  jpeg_read_header(&job.cinfo, TRUE);
  job.cinfo.scale_num = 1;
  job.cinfo.scale_denom = denominator;
  job.cinfo.out_color_space = job.cinfo.num_components == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_calc_output_dimensions(&job.cinfo);
  return true;
}

// As Pillow: CMYK in a JPEG is always taken as inverted (Adobe's way, with its marker or without),
// and converted by (1 - K) - C * (1 - K), each product divided by 255 and rounded.
void cmyk_row_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, std::size_t width) {
  for (std::size_t x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    const int light = cmyk[3];  // 255 - K
    for (int c = 0; c < 3; ++c) {
      const int product = (255 - cmyk[c]) * light + 128;
      const int value = light - ((product + (product >> 8)) >> 8);
      rgb[c] = static_cast<std::uint8_t>(value < 0 ? 0 : value);
    }
  }
}

// pixels: (output_height, output_width, 3); cmyk_row: output_width * 4 bytes, or null where not
// needed.
bool read_pixels(Job& job, std::uint8_t* pixels, std::uint8_t* cmyk_row) {
  if (setjmp(job.escape) != 0) {
    return false;
  }
  jpeg_start_decompress(&job.cinfo);
  const std::size_t width = job.cinfo.output_width;
  while (job.cinfo.output_scanline < job.cinfo.output_height) {
    std::uint8_t* out = pixels + job.cinfo.output_scanline * width * 3;
    JSAMPROW row = cmyk_row != nullptr ? cmyk_row : out;
    jpeg_read_scanlines(&job.cinfo, &row, 1);
    if (cmyk_row != nullptr) {
      cmyk_row_to_rgb(cmyk_row, out, width);
    }
  }
  jpeg_finish_decompress(&job.cinfo);
  return true;
}

Error error_of(const Job& job, const Input& input) {
  switch (job.ending) {
    case Ending::kTruncated:
      return input.truncated("its picture data end early");
    case Ending::kTooManyScans:
      return input.corrupt("it has more than " + std::to_string(kMaxScans) + " scans");
    default:
      return input.corrupt(job.reason);
  }
}

// The largest of 8, 4, 2, 1 that leaves both sides at least twice the size wanted.
unsigned denominator_for(const ImageInfo& info, const DecodeOptions& options) {
  if (!options.fast_jpeg_target) {
    return 1;
  }
  unsigned denominator = 1;
  while (denominator < 8) {
    const std::int64_t next = denominator * 2;
    if (info.oriented_width() / next < std::int64_t{2} * options.fast_jpeg_target->width ||
        info.oriented_height() / next < std::int64_t{2} * options.fast_jpeg_target->height) {
      break;
    }
    denominator *= 2;
  }
  return denominator;
}

}  // namespace

Result<Raster> decode(const Input& input, const ImageInfo& info, const DecodeOptions& options) {
  Job job(input.bytes);
  if (!read_header(job, denominator_for(info, options))) {
    return error_of(job, input);
  }
  if (job.cinfo.image_width != static_cast<JDIMENSION>(info.width) ||
      job.cinfo.image_height != static_cast<JDIMENSION>(info.height)) {
    return input.corrupt("it has two frame headers that disagree");
  }
  Raster raster;
  raster.width = static_cast<int>(job.cinfo.output_width);
  raster.height = static_cast<int>(job.cinfo.output_height);
  const std::size_t width = job.cinfo.output_width;
  raster.pixels.resize(width * job.cinfo.output_height * 3);
  std::vector<std::uint8_t> cmyk_row(job.cinfo.num_components == 4 ? width * 4 : 0);
  if (!read_pixels(job, raster.pixels.data(), cmyk_row.empty() ? nullptr : cmyk_row.data())) {
    return error_of(job, input);
  }
  return raster;
}

}  // namespace foveal::codecs::jpeg
