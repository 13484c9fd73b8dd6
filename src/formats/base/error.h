// The two kinds of failure that are exceptions. A rejected candidate is neither: it is a value.
#pragma once

#include <stdexcept>
#include <string>

namespace kw {

// The user's mistake (exit code 2). The message says what was found, what was expected and how to
// mend it, preceded by file and line where there is one.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The machine's fault (exit code 3): no GPU, a full disk, a worker that does not start.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace kw
