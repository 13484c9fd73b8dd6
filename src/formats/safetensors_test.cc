#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>

#include "formats/base/error.h"
#include "formats/json.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "kw-safetensors-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// A file as the format's documentation describes it, put together by hand.
std::string file_of(const std::string& header, const std::string& elements) {
  const uint64_t length = header.size();
  std::string out(sizeof(length), '\0');
  std::memcpy(out.data(), &length, sizeof(length));
  return out + header + elements;
}

SafetensorsHeader parsed(const std::string& header, const std::string& elements) {
  const std::string file = file_of(header, elements);
  return parse_safetensors(file, file.size(), "test");
}

std::string complaint(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Safetensors, ReadsWhatTheDocumentationDescribes) {
  const auto header = parsed(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[],"data_offsets":[8,10]},)"
      R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})",
      std::string(10, 'x'));
  ASSERT_EQ(header.tensors.size(), 2u);
  EXPECT_EQ(header.tensors.at("a").shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(header.tensors.at("b").begin, 8u);
  EXPECT_EQ(header.metadata.at("format"), "pt");
}

TEST(Safetensors, RefusesHeadersThatDoNotAddUp) {
  const struct {
    const char *header, *says;
    size_t elements;
  } cases[] = {
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "spans 4 bytes", 4},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "cut off", 3},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "cut off", 5},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "gap", 8},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
       "overlap", 6},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "negative", 4},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})",
       "more elements", 0},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "beginning and an end", 4},
      {R"({"a":{"dtype":"X4","shape":[1],"data_offsets":[0,4]}})", "no type", 4},
      {R"({"a":{"dtype":"F32","shape":[1]}})", "data_offsets", 4},
      {R"([1])", "object", 0},
      {R"({"__metadata__":{"a":1}})", "string", 0},
  };
  for (const auto& each : cases) {
    const std::string said =
        complaint([&] { parsed(each.header, std::string(each.elements, 'x')); });
    EXPECT_NE(said.find(each.says), std::string::npos) << each.header << ": " << said;
  }
}

TEST(Safetensors, RefusesLengthsThatTheFileHasNot) {
  for (uint64_t length : {uint64_t{3}, uint64_t{1} << 40, ~uint64_t{0}}) {
    std::string file(sizeof(length), '\0');
    std::memcpy(file.data(), &length, sizeof(length));
    file += "{}";
    EXPECT_NE(complaint([&] { parse_safetensors(file, file.size(), "test"); }), "");
  }
  EXPECT_NE(complaint([] { parse_safetensors("abc", 3, "test"); }), "");
}

std::vector<TensorToStore> some_tensors(const std::string& bytes) {
  return {{"one", "F32", {2, 2}, std::string_view(bytes).substr(0, 16)},
          {"two", "BF16", {3}, std::string_view(bytes).substr(16, 6)},
          {"three", "I64", {}, std::string_view(bytes).substr(22, 8)}};
}

TEST(Safetensors, WhatIsWrittenIsRead) {
  const Folder folder;
  const std::string bytes = "0123456789abcdefghijklmnopqrst";
  write_safetensors(folder.path() / "x.safetensors", some_tensors(bytes), {{"format", "pt"}});
  const SafetensorsFile file(folder.path() / "x.safetensors");
  EXPECT_EQ(file.header().bytes % 8, 0u);
  EXPECT_EQ(file.bytes(file.header().tensors.at("one")), bytes.substr(0, 16));
  EXPECT_EQ(file.bytes(file.header().tensors.at("three")), bytes.substr(22, 8));
}

TEST(Checkpoint, ShardsHoldWhatOneFileWould) {
  const std::string bytes = "0123456789abcdefghijklmnopqrst";
  for (uint64_t most : {1, 16, 22, 1000}) {
    const Folder folder;
    write_checkpoint(folder.path(), some_tensors(bytes), most);
    const Checkpoint checkpoint(folder.path());
    EXPECT_EQ(checkpoint.names(), (std::vector<std::string>{"one", "three", "two"}));
    EXPECT_EQ(checkpoint.at("two").bytes, bytes.substr(16, 6));
    EXPECT_EQ(checkpoint.at("two").tensor.dtype, "BF16");
    EXPECT_THROW(checkpoint.at("four"), InputError);
    EXPECT_EQ(fs::exists(folder.path() / "model.safetensors"), most == 1000);
  }
}

TEST(Checkpoint, AnIndexNamesFilesOfItsFolderAlone) {
  const Folder folder;
  const std::string bytes = "0123456789abcdefghijklmnopqrst";
  write_safetensors(folder.path() / "a.safetensors", some_tensors(bytes));
  const auto index = [&](const std::string& map) {
    std::ofstream(folder.path() / "model.safetensors.index.json")
        << "{\"weight_map\":" << map << "}";
    return complaint([&] { Checkpoint{folder.path()}; });
  };
  EXPECT_EQ(index(R"({"one":"a.safetensors"})"), "");
  EXPECT_NE(index(R"({"one":"../a.safetensors"})").find("same folder"), std::string::npos);
  EXPECT_NE(index(R"({"one":"/etc/passwd"})").find("same folder"), std::string::npos);
  EXPECT_NE(index(R"({"five":"a.safetensors"})").find("five"), std::string::npos);
  EXPECT_NE(index(R"({"one":"b.safetensors"})").find("cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace kw
