// Attention cases: defaults, dtypes and what is refused.
#include "io/attention_case.hpp"

#include "io/error_json.hpp"
#include "io/run_files.hpp"

#include <cstring>

namespace foveal::io {
namespace {

using testing::TempFolder;
using testing::write_all;
namespace fs = std::filesystem;

struct Piece {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}
std::string bytes_of(const std::vector<std::int32_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int32_t)};
}

std::vector<Piece> plain_case() {
  const std::vector<float> rows(16, 0.5F);
  return {{"q", "F32", {2, 1, 8}, bytes_of(rows)},
          {"k", "F32", {2, 1, 8}, bytes_of(rows)},
          {"v", "F32", {2, 1, 8}, bytes_of(rows)},
          {"cu_seqlens_q", "I32", {2}, bytes_of(std::vector<std::int32_t>{0, 2})},
          {"cu_seqlens_k", "I32", {2}, bytes_of(std::vector<std::int32_t>{0, 2})}};
}

std::string write_case(const TempFolder& folder, const std::vector<Piece>& pieces,
                       const Json& metadata = Json::object()) {
  Json header;
  header["__metadata__"] = metadata;
  std::string data;
  for (const Piece& piece : pieces) {
    header[piece.name] = {{"dtype", piece.dtype},
                          {"shape", piece.shape},
                          {"data_offsets", {data.size(), data.size() + piece.bytes.size()}}};
    data += piece.bytes;
  }
  const std::string text = header.dump();
  std::string out(8, '\0');
  const std::uint64_t size = text.size();
  std::memcpy(out.data(), &size, sizeof size);
  const fs::path path = folder / "case.safetensors";
  write_all(path, out + text + data);
  return path.string();
}

TEST(AttentionCase, ReadsTensorsAndMetadata) {
  const TempFolder folder;
  const std::string path = write_case(folder, plain_case(),
                                      {{"scale", "0.25"},
                                       {"causal", "true"},
                                       {"window_left", "9"},
                                       {"window_right", "-1"},
                                       {"softcap", "0.0"}});
  const AttentionCase c = read_attention_case(path, std::nullopt).value();
  EXPECT_EQ(c.scale, 0.25F);
  EXPECT_TRUE(c.causal);
  EXPECT_EQ(c.window_left, 9);
  EXPECT_FALSE(c.window_right) << "-1 is unbounded";
  EXPECT_FALSE(c.softcap) << "0 is none";
  EXPECT_EQ(c.cu_seqlens_k, (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(c.q.data<float>()[3], 0.5F);
}

TEST(AttentionCase, ConvertsToTheDtypeAskedFor) {
  const TempFolder folder;
  const AttentionCase c =
      read_attention_case(write_case(folder, plain_case()), DType::kBF16).value();
  EXPECT_EQ(c.q.dtype(), DType::kBF16);
  EXPECT_EQ(as_f32(c.v).value().data<float>()[15], 0.5F);
}

TEST(AttentionCase, TakesOneCuSeqlensForBoth) {
  const TempFolder folder;
  std::vector<Piece> pieces = plain_case();
  pieces.pop_back();
  pieces.back().name = "cu_seqlens";
  const AttentionCase c = read_attention_case(write_case(folder, pieces), std::nullopt).value();
  EXPECT_EQ(c.cu_seqlens_q, c.cu_seqlens_k);
}

TEST(AttentionCase, RefusesWhatIsMissingMisshapenOrNoNumber) {
  const TempFolder folder;
  std::vector<Piece> pieces = plain_case();
  pieces.erase(pieces.begin() + 1);
  EXPECT_EQ(read_attention_case(write_case(folder, pieces), {}).error().code(),
            ErrorCode::kTensorMissing);
  pieces = plain_case();
  pieces[0].shape = {16};
  EXPECT_EQ(read_attention_case(write_case(folder, pieces), {}).error().code(),
            ErrorCode::kShapeMismatch);
  pieces = plain_case();
  pieces[0].dtype = "I32";
  EXPECT_EQ(read_attention_case(write_case(folder, pieces), {}).error().code(),
            ErrorCode::kDtypeUnsupported);
  pieces = plain_case();
  pieces[3].dtype = "F32";
  EXPECT_EQ(read_attention_case(write_case(folder, pieces), {}).error().code(),
            ErrorCode::kCuSeqlensDtype);
  EXPECT_EQ(
      read_attention_case(write_case(folder, plain_case(), {{"scale", "much"}}), {}).error().code(),
      ErrorCode::kOptionInvalid);
}

TEST(AttentionCase, WritesWhatItsOwnReaderTakes) {
  const TempFolder folder;
  Tensor rows = Tensor::allocate(DType::kF32, Shape{1, 2, 8}, "test").value();
  std::fill_n(rows.data<float>(), 16, 2.0F);
  const std::vector<NamedTensor> tensors{{"out", rows.view()}};
  const fs::path path = folder / "out.safetensors";
  ASSERT_TRUE(write_tensors(path, tensors));
  EXPECT_FALSE(write_tensors(folder / "absent/out.safetensors", tensors));
  const std::string bytes = testing::read_all(path);
  EXPECT_EQ(bytes.substr(bytes.size() - 64),
            std::string(reinterpret_cast<const char*>(rows.data<float>()), 64));
}

}  // namespace
}  // namespace foveal::io
