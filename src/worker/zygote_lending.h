// A zygote that outlives commands: one process keeps it, and commands of the same user borrow
// copies of it over a socket in the file system. Importing torch takes seconds, a copy
// milliseconds.
//
// A copy ends with the keeper's zygote, or when the borrower closes it. The two processes trust
// each other no more than the file system makes them: the socket is its owner's alone.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "worker/worker_pool.h"
#include "worker/zygote.h"

namespace kw {

class ZygoteKeeper {
 public:
  // Starts the zygote and listens at `socket`. A socket that nobody listens at is replaced, and
  // anything else there is an EnvironmentError, as is a zygote that does not start. Borrowers whose
  // files are below /tmp see the folders of `config.visible` and no others.
  ZygoteKeeper(const WorkerConfig& config, std::filesystem::path socket);
  ~ZygoteKeeper();  // removes the socket
  ZygoteKeeper(const ZygoteKeeper&) = delete;
  ZygoteKeeper& operator=(const ZygoteKeeper&) = delete;

  // Lends copies until `stop` is set, which a signal handler may do.
  void serve(const std::atomic<bool>& stop);

 private:
  void answer(int connection);

  const WorkerConfig config_;
  const std::filesystem::path path_;
  SharedZygote zygote_;
  UniqueFd listener_;
};

// Returns a copy of the zygote that this user keeps at `socket`. Returns nothing when nobody
// answers there, or when that zygote has another interpreter or sandbox, or does not see the
// folders of `config`; the keeper's reason is then in `why`.
std::unique_ptr<Zygote> borrow_zygote(const std::string& socket, const WorkerConfig& config,
                                      std::string* why = nullptr);

}  // namespace kw
