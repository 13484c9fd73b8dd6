#include <atomic>
#include <csignal>
#include <iostream>

#include "cli/commands.h"
#include "cli/support/common.h"
#include "worker/zygote_lending.h"

namespace kw {
namespace {

struct ZygoteFlags {
  std::string socket;
  std::vector<std::string> visible;
  bool no_sandbox = false;
};

std::atomic<bool> g_end_zygote{false};

int run_zygote(const ZygoteFlags& flags) {
  std::signal(SIGINT, [](int) { g_end_zygote = true; });
  std::signal(SIGTERM, [](int) { g_end_zygote = true; });
  WorkerConfig config = default_worker_config();
  config.sandbox = !flags.no_sandbox;
  for (const std::string& folder : flags.visible) {
    config.visible.push_back(std::filesystem::absolute(folder).lexically_normal());
  }
  ZygoteKeeper keeper(config, flags.socket);
  std::cerr << "ready: KERNELWRIGHT_ZYGOTE=" << flags.socket << "\n";
  keeper.serve(g_end_zygote);
  return 0;
}

}  // namespace

Command add_zygote(CLI::App& app) {
  auto flags = std::make_shared<ZygoteFlags>();
  app.add_option("--socket", flags->socket,
                 "where commands find it; a socket that nobody listens at is replaced")
      ->required();
  app.add_option("--visible", flags->visible,
                 "folders below /tmp that model files are in; others there are hidden");
  app.add_flag("--no-sandbox", flags->no_sandbox,
               "serve commands that have this flag (only code you trust)");
  app.footer(
      "Importing torch takes each command about three seconds. While this one runs, commands with\n"
      "KERNELWRIGHT_ZYGOTE=SOCKET in their environment start from copies of it instead. A command\n"
      "whose interpreter, sandbox or files it cannot serve starts its own. Ctrl-C ends it.");
  return [flags] { return run_zygote(*flags); };
}

}  // namespace kw
