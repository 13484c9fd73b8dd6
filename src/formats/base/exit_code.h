// How a program ends (docs/exit-codes.md): its exit code, what it says of a failure, and whether
// what it printed has reached its place.
#pragma once

#include <exception>
#include <string>

namespace kw {

enum ExitCode { kDone = 0, kRejected = 1, kUsersMistake = 2, kMachinesFault = 3, kNotJudged = 4 };

struct Failure {
  ExitCode code;
  std::string message;
};
// Returns what an uncaught exception means for the user.
Failure failure_of(const std::exception& error);

// Opens /dev/null in the place of closed standard streams, so that no file that is opened later
// takes their numbers. EnvironmentError when the standard output was closed: what is printed would
// be lost.
void open_standard_streams();

// Throws EnvironmentError when the working folder or the one for temporary files is gone.
void check_folders();

// Throws EnvironmentError when what was printed so far could not be written.
void flush_stdout();

}  // namespace kw
