// What a zygote and its children say: each message in all the roles that it could be meant for.
#include <numeric>
#include <utility>
#include <vector>

#include "fuzz.h"
#include "program/task_json.h"
#include "worker/jobs.h"
#include "worker/replies.h"

namespace kw {
namespace {

void check_reply(const Json& json) {
  const auto result = parsed([&] { return result_from_reply({json, {"code", "more code"}}); });
  if (!result || !result->ok()) return;
  RecordRequest request;
  request.file = "model.py";
  const auto recorded = record_result(*result, request);
  must(recorded.value.has_value() != recorded.fault.has_value(), "a record or a fault");
  if (!recorded.value) return;
  // The same message again as the answer to what it asked to have compiled.
  std::vector<size_t> places(recorded.value->task.kernels.size());
  std::iota(places.begin(), places.end(), 0);
  const auto kernels = compiled_kernels(*result, *recorded.value, places, request);
  must(kernels.value.has_value() != kernels.fault.has_value(), "kernels or a fault");
  if (!kernels.value) return;
  Task task = recorded.value->task;
  task.kernels = *kernels.value;
  const auto runnable = runnable_task(std::move(task), request);
  must(runnable.value.has_value() != runnable.fault.has_value(), "a task or a fault");
}

void check(std::string_view text) {
  const auto json = parsed([&] { return parse_json(text, "fuzz"); });
  if (!json) return;
  const JsonReader in(*json, "worker");
  parsed([&] { return report_from_json(in, {}); });
  parsed([&] { return layers_from_json(in.at("sandbox")); });
  check_reply(*json);
}

}  // namespace
}  // namespace kw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kw::check(kw::text_of(data, size));
  return 0;
}
