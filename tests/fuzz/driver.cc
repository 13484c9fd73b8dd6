// Runs a fuzz target without libFuzzer: `TARGET FOLDER [COUNT]` gives it every file of FOLDER, then
// COUNT mutations of them, the same ones each time. When the process dies of it, the input is left
// in the file TARGET.find, as libFuzzer leaves its own.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "fuzz.h"
#include "mutate.h"

namespace {

namespace fs = std::filesystem;

constexpr rlim_t kMemory = rlim_t{1} << 30;
// Of this process, for one input. Usual are milliseconds, but a reader of its output may be slow.
constexpr std::clock_t kPatience = 10 * CLOCKS_PER_SEC;

std::vector<std::string> seeds_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const fs::path& file : files) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    seeds.push_back(std::move(text).str());
  }
  return seeds;
}

void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__)  // which maps terabytes
  const rlimit limit{kMemory, kMemory};
  ::setrlimit(RLIMIT_AS, &limit);
#endif
}

// The input at work, and where it goes when the process dies.
std::string input, find;

void save_input(int signal) {
  const int file = ::open(find.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  (void)!::write(file, input.data(), input.size());
  ::raise(signal);  // again, and for good
}

void save_input_on_death() {
  static char stack[1 << 16];  // its own: the usual one may have overflowed
  const stack_t other{stack, 0, sizeof(stack)};
  ::sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = save_input;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    ::sigaction(signal, &action, nullptr);
}

void run(std::string text) {
  input = std::move(text);
  const std::clock_t start = std::clock();
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  kw::must(std::clock() - start < kPatience, "one input takes seconds at most");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: " << argv[0] << " FOLDER [COUNT]\n";
    return 2;
  }
  limit_memory();
  const std::vector<std::string> seeds = seeds_in(argv[1]);
  kw::must(!seeds.empty(), "the folder holds seeds");
  const int count = argc > 2 ? std::atoi(argv[2]) : 0;
  find = fs::path(argv[0]).filename().string() + ".find";
  save_input_on_death();
  for (const std::string& seed : seeds) run(seed);
  std::mt19937_64 random(1);
  for (int i = 0; i < count; ++i) run(kw::mutated(seeds, random));
  std::cout << seeds.size() << " seeds, " << count << " mutations\n";
}
