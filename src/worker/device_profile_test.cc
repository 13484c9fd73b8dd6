#include "worker/device_profile.h"

#include <gtest/gtest.h>

#include "worker/test_folder.h"

namespace kw {
namespace {

// Names as the driver gives them.
TEST(DeviceProfile, GpusAreKnownByTheirDriversNames) {
  for (const auto& [gpu, profile] : {std::pair{"NVIDIA H200", "NVIDIA H200"},
                                     {"NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"},
                                     {"NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3"},
                                     {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"}}) {
    const auto found = profile_of_gpu(gpu);
    ASSERT_TRUE(found.has_value()) << gpu;
    EXPECT_EQ(found->name, profile);
  }
  for (const char* gpu : {"", "Tesla T4", "NVIDIA GeForce RTX 4090", "NVIDIA RTX A1000 Laptop GPU",
                          "NVIDIA RTX A1000", "NVIDIA GH200 480GB"}) {
    EXPECT_FALSE(profile_of_gpu(gpu).has_value()) << gpu;
  }
}

TEST(DeviceProfile, TheFirstGpuIsNamedByTheDriver) {
  TestFolder folder;
  for (const char* gpu : {"0000:0b:00.0", "0000:1b:00.0", "0000:9b:00.0"}) {
    std::filesystem::create_directory(folder.path() / gpu);
  }
  EXPECT_EQ(name_of_gpu(folder.path() / "none"), "");
  EXPECT_EQ(name_of_gpu(folder.path()), "");
  folder.write("0000:9b:00.0/information", "Model: \t\t NVIDIA H200\nIRQ:   \t\t 20\n");
  folder.write("0000:1b:00.0/information",
               "IRQ:   \t\t 18\nModel: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-1\n");
  EXPECT_EQ(name_of_gpu(folder.path()), "NVIDIA H100 80GB HBM3");
  folder.write("0000:0b:00.0/information", "Model:\n");
  EXPECT_EQ(name_of_gpu(folder.path()), "");
}

}  // namespace
}  // namespace kw
