// A package that is really built (on the CPU), and found again by a builder that can build none.
#include "search/stored_package.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "policy/test_fragment.h"
#include "worker/test_folder.h"

namespace kw {
namespace {

constexpr const char* kModel =
    "import torch\n"
    "class Model(torch.nn.Module):\n"
    "    def forward(self, x):\n"
    "        return torch.exp(x)\n"
    "def get_inputs():\n"
    "    return [torch.randn(64)]\n";

Task task_of(const std::string& op) {
  teacher::FragmentBuilder b;
  const ValueId x = b.input({64});
  return b.build(b.call(op, {{"self", teacher::ref(x)}}, {64}));
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(StoredPackageOnProcesses, IsBuiltOnce) {
  TestFolder folder;
  const std::filesystem::path path = folder.path();
  const Json machine = {{"torch", "2"}};
  const Task exp = task_of("aten.exp.default");
  RecordRequest model;
  model.text = kModel;
  model.file = "model.py";
  Store store(path / "store.sqlite");
  std::string built;
  {
    Baselines baselines("cpu", 1);
    built = bytes_of(stored_package(store, baselines, model, exp, machine, path));
    ASSERT_FALSE(built.empty());
  }
  Baselines none("no such device", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(bytes_of(stored_package(store, none, model, exp, machine, path)), built);
  // Another machine, another program behind the same text, another text.
  EXPECT_EQ(stored_package(store, none, model, exp, {{"torch", "3"}}, path), "");
  EXPECT_EQ(stored_package(store, none, model, task_of("aten.neg.default"), machine, path), "");
  model.text += "# another\n";
  EXPECT_EQ(stored_package(store, none, model, exp, machine, path), "");
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace kw
