// Folders of models and of adapters to them. What adapters of PEFT compute is looked at in
// model/transformer_test.cc.
#include "formats/model_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/base/error.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

Json adapter_to(const std::string& base) {
  return {{"peft_type", "LORA"}, {"r", 4}, {"lora_alpha", 6}, {"base_model_name_or_path", base}};
}

class ModelFolders : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / "kw-model-folders";
    fs::remove_all(root_);
    fs::create_directories(root_ / "base");
    write("base/tokenizer.json", "{}");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  void adapter(const fs::path& folder, const std::string& base) const {
    write(folder / kAdapterConfig, adapter_to(base).dump());
  }
  static std::string refusal(const std::function<void()>& act) {
    try {
      act();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  fs::path root_;
};

TEST_F(ModelFolders, AModelIsItself) {
  const ModelFolder found = find_model(root_ / "base");
  EXPECT_EQ(found.base, root_ / "base");
  EXPECT_FALSE(found.adapter);
  EXPECT_EQ(found.tokenizer, root_ / "base/tokenizer.json");
}

TEST_F(ModelFolders, AnAdapterNamesItsBase) {
  adapter("a/first", "../../base");
  adapter("second", (root_ / "base").string());  // absolute
  write("second/tokenizer.json", "{}");
  for (const char* folder : {"a/first", "second"}) {
    const ModelFolder found = find_model(root_ / folder);
    EXPECT_TRUE(fs::equivalent(found.base, root_ / "base"));
    ASSERT_TRUE(found.adapter);
    EXPECT_TRUE(fs::equivalent(*found.adapter, root_ / folder));
  }
  EXPECT_TRUE(
      fs::equivalent(find_model(root_ / "a/first").tokenizer, root_ / "base/tokenizer.json"));
  EXPECT_EQ(find_model(root_ / "second").tokenizer, root_ / "second/tokenizer.json");
}

TEST_F(ModelFolders, WhatIsNotThereIsNamed) {
  adapter("lost", "../elsewhere");
  EXPECT_NE(refusal([&] { find_model(root_ / "lost"); }).find("../elsewhere"), std::string::npos);
  adapter("long", std::string(5000, 'x'));
  EXPECT_NE(refusal([&] { find_model(root_ / "long"); }), "");
  adapter("one", "../other");
  adapter("other", "../one");
  EXPECT_NE(refusal([&] { find_model(root_ / "one"); }).find("adapter itself"), std::string::npos);
  EXPECT_EQ(find_model(root_ / "nowhere").base, root_ / "nowhere");  // whose reader says so
}

TEST_F(ModelFolders, OtherAdaptersAreRefused) {
  EXPECT_EQ(parse_adapter_config(adapter_to("b").dump(), "here").scale(), 1.5);
  for (const char* key : {"peft_type", "r", "lora_alpha", "base_model_name_or_path"}) {
    Json json = adapter_to("b");
    json.erase(key);
    const std::string said = refusal([&] { parse_adapter_config(json.dump(), "here"); });
    EXPECT_NE(said.find(key), std::string::npos) << said;
  }
  const std::vector<std::pair<const char*, Json>> variants = {{"peft_type", "IA3"},
                                                              {"r", 0},
                                                              {"use_dora", true},
                                                              {"use_rslora", true},
                                                              {"init_lora_weights", "pissa"},
                                                              {"init_lora_weights", "olora"},
                                                              {"fan_in_fan_out", true},
                                                              {"rank_pattern", {{"q_proj", 2}}},
                                                              {"modules_to_save", {"x"}},
                                                              {"bias", "all"},
                                                              {"base_model_name_or_path", ""}};
  for (const auto& [key, value] : variants) {
    Json json = adapter_to("b");
    json[key] = value;
    const std::string said = refusal([&] { parse_adapter_config(json.dump(), "here"); });
    EXPECT_NE(said.find(key), std::string::npos) << key << ": " << said;
  }
  for (const char* key : {"modules_to_save", "rank_pattern", "use_dora"}) {  // as PEFT writes it
    Json json = adapter_to("b");
    json[key] = nullptr;
    EXPECT_EQ(parse_adapter_config(json.dump(), "here").rank, 4);
  }
}

}  // namespace
}  // namespace kw
