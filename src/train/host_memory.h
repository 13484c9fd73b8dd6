// Bytes of memory that this machine has.
#pragma once

#include <unistd.h>

namespace kw {

inline double host_memory() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<double>(::sysconf(_SC_PAGE_SIZE));
}

}  // namespace kw
