// The safetensors reader against good files, every truncation, and headers that lie.
#include "tensor/safetensors.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

namespace foveal {
namespace {

std::vector<std::byte> file_of(const std::string& header, std::size_t data_bytes) {
  std::vector<std::byte> out(8 + header.size() + data_bytes);
  const std::uint64_t n = header.size();
  std::memcpy(out.data(), &n, 8);
  std::memcpy(out.data() + 8, header.data(), header.size());
  for (std::size_t i = 0; i < data_bytes; ++i) {
    out[8 + header.size() + i] = static_cast<std::byte>(i);
  }
  return out;
}

struct Parsed {
  std::optional<Error> error;
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
};

Parsed parse(const std::vector<std::byte>& bytes) {
  Parsed out;
  const auto r = parse_safetensors_header(bytes, "f.safetensors", out.entries, out.metadata);
  if (!r) {
    out.error = r.error();
  }
  return out;
}

ErrorCode code_of(const std::string& header, std::size_t data_bytes) {
  const Parsed p = parse(file_of(header, data_bytes));
  return p.error ? p.error->code() : ErrorCode::kInternal;
}

constexpr const char* kGood =
    R"({"__metadata__":{"format":"pt","k\u00e9":"v"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]},)"
    R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"s":{"dtype":"I64","shape":[],"data_offsets":[20,28]}}  )";

TEST(Safetensors, ReadsEntriesByOffsetAndMetadata) {
  const Parsed p = parse(file_of(kGood, 28));
  ASSERT_FALSE(p.error) << p.error->describe();
  ASSERT_EQ(p.entries.size(), 3U);
  EXPECT_EQ(p.entries[0].name, "a");
  EXPECT_EQ(p.entries[1].shape, (Shape{2, 3}));
  EXPECT_EQ(p.entries[1].dtype, DType::kBF16);
  EXPECT_EQ(p.entries[2].shape.rank(), 0);
  EXPECT_EQ(p.metadata.at("k\xC3\xA9"), "v");
}

TEST(Safetensors, RefusesEveryTruncation) {
  const auto whole = file_of(kGood, 28);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    const Parsed p = parse(cut);
    ASSERT_TRUE(p.error.has_value()) << n;
    EXPECT_EQ(p.error->code(),
              n < 8 ? ErrorCode::kSafetensorsInvalid : ErrorCode::kSafetensorsTruncated)
        << n;
  }
}

TEST(Safetensors, RefusesHeadersThatLie) {
  const ErrorCode invalid = ErrorCode::kSafetensorsInvalid;
  EXPECT_EQ(code_of("[]", 0), invalid);
  EXPECT_EQ(code_of("{", 0), invalid);
  EXPECT_EQ(code_of("{} x", 0), invalid);
  EXPECT_EQ(code_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4), invalid);
  EXPECT_EQ(code_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8), invalid);
  EXPECT_EQ(code_of(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), invalid);
  EXPECT_EQ(code_of(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8), invalid);
  EXPECT_EQ(
      code_of(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 8),
      invalid);
  EXPECT_EQ(code_of(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}})", 8),
            invalid);
  EXPECT_EQ(code_of(R"({"a":{"shape":[2],"data_offsets":[0,8]}})", 8), invalid);
  EXPECT_EQ(
      code_of(
          R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
          8),
      invalid);
  EXPECT_EQ(code_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,80]}})", 8), invalid);
  EXPECT_EQ(code_of(R"({"a":{"dtype":"F32","shape":[20],"data_offsets":[0,80]}})", 8),
            ErrorCode::kSafetensorsTruncated);
}

TEST(Safetensors, KeepsUnknownDtypesOpaque) {
  const Parsed p = parse(file_of(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2));
  ASSERT_FALSE(p.error);
  EXPECT_FALSE(p.entries[0].dtype.has_value());
  EXPECT_EQ(p.entries[0].dtype_text, "F4");
}

TEST(Safetensors, SurvivesFlippedBytes) {
  const auto whole = file_of(kGood, 28);
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    auto bytes = whole;
    for (int k = 0; k < 3; ++k) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random() & 0xFF);
    }
    const Parsed p = parse(bytes);
    for (const SafetensorsEntry& e : p.error ? std::vector<SafetensorsEntry>{} : p.entries) {
      EXPECT_LE(static_cast<std::size_t>(e.end.v), bytes.size());
    }
  }
}

TEST(Safetensors, OpensAFileAndFindsTensors) {
  const auto path = std::filesystem::temp_directory_path() / "foveal_safetensors_test.safetensors";
  const auto bytes = file_of(kGood, 28);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  {
    const SafetensorsFile file = SafetensorsFile::open(path.string()).value();
    ASSERT_NE(file.find("a"), nullptr);
    EXPECT_EQ(file.find("zz"), nullptr);
    const ConstTensorView view = file.view(*file.find("a"));
    EXPECT_EQ(view.as<std::byte>()[0], std::byte{0});
    EXPECT_EQ(view.as<std::byte>()[7], std::byte{7});
  }
  std::filesystem::remove(path);
  EXPECT_EQ(SafetensorsFile::open(path.string()).error().code(), ErrorCode::kSafetensorsInvalid);
  EXPECT_EQ(SafetensorsFile::open("/").error().code(), ErrorCode::kSafetensorsInvalid);
  EXPECT_EQ(SafetensorsFile::open("/dev/zero").error().code(), ErrorCode::kSafetensorsInvalid);
}

TEST(Safetensors, DoesNotWaitForTheWriterOfANamedPipe) {
  std::string pattern = (std::filesystem::temp_directory_path() / "foveal_test_XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  const std::string pipe = (folder / "pipe.safetensors").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(SafetensorsFile::open(pipe).error().code(), ErrorCode::kSafetensorsInvalid);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace foveal
