#include "worker/process/sockets.h"

#include <poll.h>

#include <cerrno>
#include <cstring>

#include "formats/base/error.h"

namespace kw {

bool wait_for(int fd, short events, Deadline deadline, int stop) {
  for (;;) {
    pollfd entries[] = {{fd, events, 0}, {stop, POLLIN, 0}};
    const int ready = ::poll(entries, 2, poll_timeout(deadline));
    if (ready > 0) return entries[1].revents == 0;
    if (ready == 0) return false;
    if (errno != EINTR) throw EnvironmentError(std::string("poll: ") + std::strerror(errno));
  }
}

std::optional<sockaddr_un> unix_address(const std::string& path) {
  if (path.empty() || path.size() > kLongestSocketPath) return std::nullopt;
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  path.copy(out.sun_path, path.size());
  return out;
}

}  // namespace kw
