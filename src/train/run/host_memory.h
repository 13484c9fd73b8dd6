// The memory that this process may use, in bytes: the machine's, or its control group's if that is
// less.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace kw::train {

inline double host_memory() {
  const double machine = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  double group = 0;
  std::ifstream in("/sys/fs/cgroup/memory.max");  // "max" is no number
  return in >> group ? std::min(machine, group) : machine;
}

}  // namespace kw::train
