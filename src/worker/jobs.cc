#include "worker/jobs.h"

#include <algorithm>
#include <sstream>

#include "formats/base/error.h"
#include "ops/operator.h"
#include "program/rewrite/tables.h"
#include "program/task_json.h"
#include "worker/replies.h"

namespace kw {
namespace {

using Status = JobResult::Status;

// A job that ended without an answer names no file.
JobFault fault_of(const JobResult& result, const char* job, const RecordRequest& request) {
  return {result.status,  result.code,
          result.message, result.file.empty() ? request.file : result.file,
          result.line,    job};
}

// Runs `parse` on a good reply; whatever is wrong with it becomes a fault.
template <class T, class Parse>
JobOutcome<T> outcome_of(const JobResult& result, const char* job, const RecordRequest& request,
                         Parse parse) {
  if (!result.ok()) return {std::nullopt, fault_of(result, job, request)};
  try {
    return {parse(JsonReader(result.reply.json, "reply")), std::nullopt};
  } catch (const InputError& error) {
    return {std::nullopt, invalid_answer(job, error.what(), request)};
  }
}

const Json& operators_json() {
  static const Json all = [] {
    Json map = Json::object();
    for (const OperatorRow& row : operator_table()) {
      map[std::string(row.name)] = recorded_name(row.recorded);
    }
    for (std::string_view name : opaque_operators()) map[std::string(name)] = "opaque";
    return map;
  }();
  return all;
}

Json inputs_json(const RecordRequest& request) {
  Json inputs = Json::array();
  for (const Value& value : request.inputs) inputs.push_back(to_json(value));
  return inputs;
}

// All that decides what is compiled: everything but the slice and the machine code.
bool same_specialization(const Kernel& a, const Kernel& b) {
  return a.name == b.name && a.params == b.params && a.constexprs == b.constexprs &&
         a.attrs == b.attrs && a.options == b.options;
}

std::vector<Tuning> tunings_from_json(const JsonReader& in) {
  constexpr size_t kMostTunings = 256, kMostTexts = 4096;
  std::vector<Tuning> tunings;
  for (const JsonReader& item : in.items()) {
    Tuning tuning{one_line(item.at("kernel").string()), {}};
    for (const JsonReader& text : item.at("configurations").items()) {
      tuning.configurations.push_back(one_line(text.string()));
    }
    const size_t count = tuning.configurations.size();
    if (count < 2 || count > kMostTexts) {
      item.at("configurations").fail("expected from 2 to " + std::to_string(kMostTexts));
    }
    tunings.push_back(std::move(tuning));
  }
  if (tunings.size() > kMostTunings) {
    in.fail("expected at most " + std::to_string(kMostTunings));
  }
  return tunings;
}

Recorded recorded_from_json(const JsonReader& in) {
  Recorded recorded;
  recorded.task = task_from_json(in.at("task"), nullptr);
  recorded.seconds = in.at("seconds").number();
  if (in.has("warnings")) {
    for (const JsonReader& warning : in.at("warnings").items()) {
      recorded.warnings.push_back(one_line(warning.string()));
    }
  }
  if (in.has("tunings")) recorded.tunings = tunings_from_json(in.at("tunings"));
  const auto raw = in.at("kernels").items();
  if (raw.size() != recorded.task.kernels.size()) {
    in.at("kernels").fail("expected one raw kernel for each kernel of the task");
  }
  for (size_t i = 0; i < raw.size(); ++i) {
    if (recorded.task.kernels[i].compiled) raw[i].fail("is compiled before it could be");
    if (!same_specialization(kernel_from_json(raw[i], nullptr), recorded.task.kernels[i])) {
      raw[i].fail("differs from the task's kernel");
    }
  }
  recorded.raw_kernels = in.at("kernels").raw();
  return recorded;
}

// The kernels of a compile reply, which were to be those of `task` at the places `sent`.
std::vector<Kernel> kernels_from_reply(const Frame& reply, const JsonReader& in, const Task& task,
                                       const std::vector<size_t>& sent) {
  const auto entries = in.at("kernels").items();
  if (entries.size() != sent.size()) in.at("kernels").fail("expected as many as were sent");
  std::vector<Kernel> out;
  for (size_t i = 0; i < entries.size(); ++i) {
    const JsonReader& entry = entries[i];
    Kernel kernel = kernel_from_json(entry.at("kernel"), nullptr);
    if (!same_specialization(kernel, task.kernels[sent[i]])) {
      entry.at("kernel").fail("is not what was to be compiled");
    }
    if (!kernel.compiled || kernel.compiled->arch != task.target) {
      entry.at("kernel").fail("is not compiled for " + task.target);
    }
    const auto last = static_cast<int64_t>(reply.blobs.size()) - 1;
    kernel.source = entry.at("slice").string();
    kernel.compiled->cubin = reply.blobs[entry.at("cubin").integer(0, last)];
    if (kernel.source.empty()) entry.at("slice").fail("is empty");
    if (kernel.compiled->cubin.empty()) entry.at("cubin").fail("is empty");
    out.push_back(std::move(kernel));
  }
  return out;
}

// What the device has too little of for some kernel.
std::optional<JobFault> resources_fault(const Task& task, const RecordRequest& request) {
  for (const Kernel& kernel : task.kernels) {
    const int64_t available = request.profile.shared_per_block;
    if (kernel.compiled->shared <= available) continue;
    return JobFault{Status::kRefused,
                    "resources",
                    "kernel " + kernel.name + " needs " + std::to_string(kernel.compiled->shared) +
                        " bytes of shared memory; " + request.profile.name + " has " +
                        std::to_string(available),
                    request.file,
                    0,
                    "compile"};
  }
  return std::nullopt;
}

}  // namespace

JobFault invalid_answer(const char* job, const std::string& what, const RecordRequest& request) {
  return {Status::kFailed,
          "",
          std::string("the worker's answer to ") + job + " is not valid: " + one_line(what),
          request.file,
          0,
          job};
}

std::string JobFault::text() const {
  std::string text;
  if (!file.empty()) text = file + (line > 0 ? ":" + std::to_string(line) : "") + ": ";
  text += message;
  if (!code.empty()) text += " [" + code + "]";
  return text;
}

bool JobFault::cannot_run() const { return status == Status::kRefused && code == "resources"; }

std::optional<JobFault> text_fault(const RecordRequest& request) {
  std::istringstream lines(request.text);
  int number = 1;
  for (std::string line; std::getline(lines, line); ++number) {
    if (!is_utf8(line)) {
      return JobFault{Status::kRefused, "syntax", "the line is not UTF-8 text", request.file,
                      number};
    }
  }
  return std::nullopt;
}

RecordRequest proposal_request(const Program& forward, const std::string& source,
                               const DeviceProfile& profile) {
  RecordRequest request;
  request.text = source;
  request.file = "proposal.py";
  request.cls = "ModelNew";
  request.profile = profile;
  request.fragment = true;
  for (ValueId id : forward.inputs) request.inputs.push_back(forward.values[id]);
  return request;
}

Job record_job(const RecordRequest& request, std::chrono::milliseconds deadline) {
  Job job;
  job.deadline = deadline;
  job.request.json = {{"kind", "record"},
                      {"source", request.text},
                      {"file", request.file},
                      {"folder", nullptr},
                      {"class", request.cls},
                      {"profile", to_json(request.profile)},
                      {"operators", operators_json()},
                      {"inputs", nullptr},
                      {"init_inputs", !request.fragment}};
  if (!request.folder.empty()) job.request.json["folder"] = request.folder.string();
  if (!request.harness_text.empty()) {
    job.request.json["harness"] = {{"source", request.harness_text},
                                   {"file", request.harness_file}};
  }
  if (request.fragment) job.request.json["inputs"] = inputs_json(request);
  if (!request.without.empty()) job.request.json["without"] = request.without;
  using OtherNumbers = RecordRequest::OtherNumbers;
  if (request.numbers == OtherNumbers::kOne) {
    job.request.json["numbers"] = request.number;
  } else if (request.numbers != OtherNumbers::kNone) {
    job.request.json["numbers"] = request.numbers == OtherNumbers::kAll ? "all" : "floats";
  }
  if (!request.configurations.empty()) {
    job.request.json["configurations"] = request.configurations;
  }
  return job;
}

JobOutcome<Recorded> record_result(const JobResult& result, const RecordRequest& request) {
  return outcome_of<Recorded>(result, "record", request, recorded_from_json);
}

namespace {

// Outcomes of a job's requests [begin, end).
void take_own(const JobResult& result, const std::vector<RecordRequest>& requests, size_t begin,
              size_t end, std::vector<JobOutcome<Recorded>>& out) {
  const auto all_fail = [&](const JobFault& fault) {
    for (size_t i = begin; i < end; ++i) out[i].fault = fault;
  };
  if (!result.ok()) return all_fail(fault_of(result, "record_own", requests[begin]));
  try {
    const auto replies = JsonReader(result.reply.json, "reply").at("replies").items();
    if (replies.size() != end - begin) throw InputError("not a reply for each text");
    for (size_t i = begin; i < end; ++i) {
      Frame frame;
      frame.json = replies[i - begin].raw();
      JobResult own = result_from_reply(std::move(frame));
      own.seconds = result.seconds / static_cast<double>(end - begin);
      out[i] = record_result(own, requests[i]);
    }
  } catch (const InputError& error) {
    all_fail(invalid_answer("record_own", error.what(), requests[begin]));
  }
}

}  // namespace

std::vector<JobOutcome<Recorded>> record_own(Workers& pool,
                                             const std::vector<RecordRequest>& requests,
                                             size_t a_job, std::chrono::milliseconds deadline) {
  std::vector<JobOutcome<Recorded>> out(requests.size());
  std::map<uint64_t, size_t> under_way;  // job id -> its first request
  for (size_t begin = 0; begin < requests.size(); begin += a_job) {
    Job job = record_job(requests[begin], deadline);
    job.request.json["kind"] = "record_own";
    for (const char* own : {"source", "file"}) job.request.json.erase(own);
    Json models = Json::array();
    for (size_t i = begin; i < std::min(begin + a_job, requests.size()); ++i) {
      models.push_back({{"source", requests[i].text}, {"file", requests[i].file}});
    }
    job.request.json["models"] = std::move(models);
    under_way[pool.submit(std::move(job))] = begin;
  }
  while (!under_way.empty()) {
    const JobResult result = pool.next();
    const size_t begin = under_way.at(result.id);
    under_way.erase(result.id);
    take_own(result, requests, begin, std::min(begin + a_job, requests.size()), out);
  }
  return out;
}

std::vector<JobOutcome<AdaptedTest>> adapt_tests(Workers& pool,
                                                 const std::vector<RecordRequest>& tests,
                                                 std::chrono::milliseconds deadline) {
  std::vector<JobOutcome<AdaptedTest>> out(tests.size());
  std::map<uint64_t, size_t> under_way;  // job id -> its test
  for (size_t i = 0; i < tests.size(); ++i) {
    if (auto fault = text_fault(tests[i])) {
      out[i].fault = std::move(fault);
      continue;
    }
    Job job = record_job(tests[i], deadline);
    job.request.json["kind"] = "adapt";
    under_way[pool.submit(std::move(job))] = i;
  }
  while (!under_way.empty()) {
    const JobResult result = pool.next();
    const size_t i = under_way.at(result.id);
    under_way.erase(result.id);
    out[i] = outcome_of<AdaptedTest>(result, "adapt", tests[i], [](const JsonReader& in) {
      return AdaptedTest{in.at("model").string(), in.at("operator").string(),
                         in.at("candidate").string()};
    });
  }
  return out;
}

JobOutcome<std::string> text_without(Workers& workers, const RecordRequest& request,
                                     const std::string& cls, std::chrono::milliseconds deadline) {
  if (auto fault = text_fault(request)) return {std::nullopt, std::move(fault)};
  Job job;
  job.deadline = deadline;
  job.request.json = {{"kind", "cut"},
                      {"source", request.text},
                      {"file", request.file},
                      {"class", cls},
                      {"keeps", {request.cls, "get_inputs", "get_init_inputs"}}};
  workers.submit(std::move(job));
  return outcome_of<std::string>(workers.next(), "cut", request, [&](const JsonReader& in) {
    const std::string& text = in.at("source").string();
    std::istringstream from(request.text), left(text);
    std::string line;
    for (std::string wanted; std::getline(left, wanted);) {
      while (std::getline(from, line) && line != wanted) {
      }
      if (!from) in.at("source").fail("has a line that the file does not have");
    }
    return text;
  });
}

Job slice_job(const Recorded& recorded, const RecordRequest& request,
              std::chrono::milliseconds deadline) {
  Job job;
  job.deadline = deadline;
  job.request.json = {{"kind", "slice"},
                      {"source", request.text},
                      {"file", request.file},
                      {"kernels", recorded.raw_kernels}};
  return job;
}

JobOutcome<std::vector<std::string>> slice_result(const JobResult& result, const Recorded& recorded,
                                                  const RecordRequest& request) {
  return outcome_of<std::vector<std::string>>(result, "slice", request, [&](const JsonReader& in) {
    std::vector<std::string> slices;
    for (const JsonReader& slice : in.at("slices").items()) {
      slices.push_back(slice.string());
      if (slices.back().empty()) slice.fail("is empty");
    }
    if (slices.size() != recorded.task.kernels.size()) {
      in.at("slices").fail("expected as many as kernels were sent");
    }
    return slices;
  });
}

Job compile_job(const Recorded& recorded, const std::vector<size_t>& places,
                const RecordRequest& request, std::chrono::milliseconds deadline) {
  Json kernels = Json::array();
  for (size_t place : places) kernels.push_back(recorded.raw_kernels[place]);
  Job job;
  job.deadline = deadline;
  job.request.json = {{"kind", "compile"},
                      {"source", request.text},
                      {"file", request.file},
                      {"arch", recorded.task.target},
                      {"kernels", std::move(kernels)}};
  return job;
}

JobOutcome<std::vector<Kernel>> compiled_kernels(const JobResult& result, const Recorded& recorded,
                                                 const std::vector<size_t>& places,
                                                 const RecordRequest& request) {
  return outcome_of<std::vector<Kernel>>(result, "compile", request, [&](const JsonReader& in) {
    return kernels_from_reply(result.reply, in, recorded.task, places);
  });
}

Job run_job(const RecordRequest& request, const RunPlan& plan, std::chrono::milliseconds deadline) {
  Job job;
  job.deadline = deadline;
  Json& json = job.request.json;
  json = {{"kind", "run"},      {"source", request.text}, {"file", request.file},
          {"folder", nullptr},  {"class", request.cls},   {"seed", plan.seed},
          {"harness", nullptr}, {"inputs", nullptr},      {"weights", Json::array()}};
  if (!request.folder.empty()) json["folder"] = request.folder.string();
  if (request.fragment) {
    json["inputs"] = inputs_json(request);
  } else {
    json["harness"] = {{"source", request.harness_text},
                       {"file", request.harness_file},
                       {"class", plan.reference_class}};
  }
  for (const auto& [own, theirs] : plan.weights) json["weights"].push_back({own, theirs});
  return job;
}

JobOutcome<PlainRun> run_result(const JobResult& result, const RecordRequest& request) {
  return outcome_of<PlainRun>(result, "run", request, [&](const JsonReader& in) {
    in.at("calls").items();  // a list
    return PlainRun{in.at("calls").raw(), result.reply.blobs,
                    in.at("raised").is_null() ? "" : one_line(in.at("raised").string())};
  });
}

Job compare_job(const PlainRun& ours, const PlainRun& theirs, std::chrono::milliseconds deadline) {
  Job job;
  job.deadline = deadline;
  job.request.json = {{"kind", "compare"},
                      {"ours", ours.calls},
                      {"theirs", theirs.calls},
                      {"blobs_of_ours", ours.blobs.size()}};
  job.request.blobs = ours.blobs;
  job.request.blobs.insert(job.request.blobs.end(), theirs.blobs.begin(), theirs.blobs.end());
  return job;
}

JobOutcome<std::string> compare_result(const JobResult& result, const RecordRequest& request) {
  return outcome_of<std::string>(result, "compare", request, [](const JsonReader& in) {
    return one_line(in.at("difference").string());
  });
}

JobOutcome<Task> runnable_task(Task task, const RecordRequest& request) {
  try {
    check_task(task);
  } catch (const InputError& error) {
    return {std::nullopt, invalid_answer("compile", error.what(), request)};
  }
  if (auto fault = resources_fault(task, request)) return {std::nullopt, std::move(fault)};
  mark_premises(task);  // now it is known what launches write
  return {std::move(task), std::nullopt};
}

}  // namespace kw
