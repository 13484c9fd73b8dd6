// Task documents: parse, check, write, read again; and what the verifier asks of every task.
#include "fuzz.h"
#include "program/cost.h"
#include "program/rewrite/transform.h"
#include "program/task_json.h"
#include "verify/aliasing.h"
#include "verify/coverage/coverage.h"

namespace kw {
namespace {

Task task_of(const Json& json) { return task_from_json(JsonReader(json, "task"), nullptr); }

void check(std::string_view text) {
  const auto json = parsed([&] { return parse_json(text, "fuzz"); });
  if (!json) return;
  const auto task = parsed([&] { return task_of(*json); });
  if (!task) return;
  const Json written = to_json(*task);
  const auto again = parsed([&] { return task_of(parse_json(written.dump(), "again")); });
  must(again.has_value(), "a task that was read can be written and read again");
  must(to_json(*again) == written, "and is the same then");
  must(canonical_hash(*again) == canonical_hash(*task), "with the same hash");
  parsed([&] { return structure_hash(*task); });
  parsed([&] { return coverage(*task, *again); });
  parsed([&] { return aliasing_fault(task->forward, again->forward); });
}

}  // namespace
}  // namespace kw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kw::check(kw::text_of(data, size));
  return 0;
}
