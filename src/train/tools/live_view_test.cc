#include "train/tools/live_view.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "train/rl/rl_report.h"

namespace kw::train {
namespace {

std::string written(bool terminal, const std::function<void(LiveView&)>& work) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  {
    LiveView view(out, terminal, "train");
    work(view);
  }
  std::fclose(out);
  const std::string result(text, size);
  std::free(text);
  return result;
}

TEST(LiveView, HasLinesAloneWhereThereIsNoTerminal) {
  const std::string out = written(false, [](LiveView& view) {
    view.live({"writing", "3 of 4"});
    view.line("step 1");
    view.live({"writing", "4 of 4"});
    view.line("step 2");
  });
  EXPECT_EQ(out, "train: step 1\ntrain: step 2\n");
}

TEST(LiveView, TakesBackWhatItDrew) {
  const std::string out = written(true, [](LiveView& view) {
    view.live({"a", "b"});
    view.live({"too soon"});  // within a tenth of a second
    view.line("step 1");
    view.live({"c"});
  });
  EXPECT_EQ(out,
            "\033[?7la\nb\n\033[?7h"
            "\033[1A\033[2K\033[1A\033[2Ktrain: step 1\n"
            "\033[?7lc\n\033[?7h"
            "\033[1A\033[2K");
}

TEST(Sparkline, ShowsTheLastOnes) {
  EXPECT_EQ(sparkline({}, 5), "");
  EXPECT_EQ(sparkline({9, 0, 1}, 2), "▁█");
  EXPECT_EQ(sparkline({0, 0.5, 1}, 9), "▁▅█");
  EXPECT_EQ(sparkline({2, 2}, 9), "▁▁");
}

}  // namespace
}  // namespace kw::train
