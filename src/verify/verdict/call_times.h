// Wall time of calls as Python makes them, in a process of their own (worker/calls.py): what a user
// feels, where the device time of a verdict leaves the host out.
#pragma once

#include <map>
#include <string>

#include "formats/json.h"

namespace kw {

// Seconds a call.
struct CallTime {
  double wall = 0;        // one after another, until the device has done the last
  double latency = 0;     // alone, until the device has done it
  double host = 0;        // alone, until it returns
  double over_eager = 0;  // eager's wall time over this one's, the median over rounds
};

struct CallTimes {
  // "eager", "compile" and "reduce_overhead" (torch.compile's modes), and optimized.py: "launches",
  // "graph", and "called", which chooses.
  std::map<std::string, CallTime> times;
  std::map<std::string, std::string> absent;  // why there is no time
  bool by_graph = false;                      // what "called" chose
  std::string fault;                          // why there are no times at all

  // The fastest of the original's: its name. Empty without times.
  std::string best_other() const;
  // How much faster optimized.py is than that, as called; 0 without times.
  double over_best() const;
  // Whether optimized.py is known to be no faster than eager, as called.
  bool is_no_gain() const;
};

Json to_json(const CallTimes& times);
CallTimes call_times_from_json(const JsonReader& in);

// "torch.compile (reduce-overhead)" for "reduce_overhead".
std::string contestant_name(const std::string& key);

// One line for people: "as Python calls it: 1.52x of torch.compile (0.227 ms, by a CUDA graph)".
std::string call_times_text(const CallTimes& times);

}  // namespace kw
