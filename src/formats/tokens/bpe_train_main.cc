// bpe_train [--runs] SIZE FILE... >tokenizer.json: a tokenizer of that many tokens, trained on
// these files; with --runs, its tokens may span words (kRunPattern).
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string_view>

#include "formats/base/error.h"
#include "formats/tokens/bpe_trainer.h"

namespace kw {
namespace {

int run(int count, char** arguments) {
  BpeOptions options;
  if (count > 1 && std::string_view(arguments[1]) == "--runs") {
    options.pattern = kRunPattern;
    --count, ++arguments;
  }
  if (count < 3) throw InputError("usage: bpe_train [--runs] SIZE FILE... >tokenizer.json");
  options.size = std::atoi(arguments[1]);
  PieceCounts corpus(options);
  for (char** name = arguments + 2; name < arguments + count; ++name) {
    std::ifstream in(*name, std::ios::binary);
    if (!in) throw InputError(std::string(*name) + ": cannot be read");
    corpus.add(std::string(std::istreambuf_iterator<char>(in), {}));
  }
  std::cerr << corpus.counts().size() << " distinct pieces\n";
  const TrainedBpe made = train_bpe(corpus, options, [](int tokens, int wanted) {
    std::cerr << "\r" << tokens << " of " << wanted << " tokens" << std::flush;
  });
  std::cerr << (made.fewer.empty() ? "" : ": ") << made.fewer << "\n";
  std::cout << made.json << std::flush;
  return std::cout ? 0 : 3;
}

}  // namespace
}  // namespace kw

int main(int count, char** arguments) {
  try {
    return kw::run(count, arguments);
  } catch (const kw::InputError& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 2;
  }
}
