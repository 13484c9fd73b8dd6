// Labelled candidates (tests/corpora, docs/formats/corpus.md). The Program of some is wrong and
// must be rejected; each has an honest twin. Others are honest, and some have a right Program in a
// file that lies: it does something else when it is run. The last two must be accepted.
//
// A case is one file. Its first line says what it is; `# %% NAME` lines part it into modules:
//
//   # program wrong | family: decoy | mechanism: a masked store | stage: correct | check: noop
//   # %% reference # %% candidate # %% twin
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "verify/verdict/checks.h"

namespace kw {

struct CorpusCase {
  std::filesystem::path path;
  bool program_wrong = false, file_lies = false;  // neither: it is honest
  std::string family, mechanism;
  // The stage at which a wrong program must be rejected, and the checks that must do it. Each of
  // several would do alone.
  Stage stage = Stage::kLoad;
  std::vector<const Check*> checks;
  bool pure = false;         // no computing PyTorch operator may be left
  bool needs_gpu = false;    // only a GPU can judge it
  bool needs_cpu = false;    // a GPU does not see it
  bool known_fault = false;  // the verdict is known to be wrong
  // Modules; each line has the number that it has in the file. Only a wrong program has a
  // `twin`.
  std::string reference, candidate, twin;

  // Whether the candidate can be judged without its checks.
  bool can_be_unchecked() const;
  bool timed() const;  // whether one of its checks belongs to the time stage
};

std::string_view label_of(const CorpusCase& test);  // as in the first line

// "share+noop"
std::string names_of(const std::vector<const Check*>& checks);

// InputError with file and line on anything that is no case.
CorpusCase parse_corpus_case(const std::filesystem::path& path, const std::string& text);

// The cases in `places`, files or folders of them (all .py files below), in the order of their
// paths.
std::vector<CorpusCase> read_corpus(const std::vector<std::filesystem::path>& places);

}  // namespace kw
