#include "worker/services/parquet.h"

#include <chrono>
#include <string>
#include <vector>

#include "formats/base/error.h"
#include "worker/process/process.h"
#include "worker/worker_pool.h"

namespace kw {
namespace {

constexpr std::chrono::minutes kLimit{10};

void run(const std::vector<std::string>& args) {
  const WorkerConfig worker = default_worker_config();
  OutputTail tail;
  ProcessSpec spec;
  spec.argv = {worker.python, worker.worker_dir + "/parquet.py"};
  spec.argv.insert(spec.argv.end(), args.begin(), args.end());
  spec.err = tail.write_end();
  Process process = Process::start(spec);
  tail.close_write_end();
  const std::optional<int> status = process.wait(deadline_in(kLimit));
  tail.drain();
  if (status == 0) return;
  const std::string said = tail.last_lines(1);
  throw EnvironmentError("parquet: " + (said.empty() && status ? describe_status(*status)
                                        : said.empty()         ? "took too long"
                                                               : said));
}

}  // namespace

void check_parquet() { run({"--check"}); }

void write_parquet(const std::filesystem::path& rows, const std::filesystem::path& out) {
  run({rows.string(), out.string()});
}

}  // namespace kw
