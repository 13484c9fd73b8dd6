// Waiting on descriptors, and the addresses of Unix-domain sockets. Any thread.
#pragma once

#include <sys/un.h>

#include <optional>
#include <string>

#include "worker/process/channel.h"

namespace kw {

// Waits for `events` on `fd` (POLLIN, POLLOUT). Returns false if the deadline passed or `stop`
// became readable first; -1 is no `stop`. A signal does not end it.
bool wait_for(int fd, short events, Deadline deadline, int stop = -1);

// Returns the address of a Unix-domain socket, or nothing if `path` is empty or too long for one.
std::optional<sockaddr_un> unix_address(const std::string& path);
constexpr size_t kLongestSocketPath = sizeof(sockaddr_un::sun_path) - 1;

}  // namespace kw
