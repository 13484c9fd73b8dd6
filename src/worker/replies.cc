#include "worker/replies.h"

#include <algorithm>

#include "formats/base/error.h"

namespace kw {
namespace {

constexpr std::string_view kStatuses[] = {"ok", "refused", "failed"};  // as in JobResult::Status
constexpr std::string_view kRefusalCodes[] = {
    "syntax",      "missing",     "raised",        "host-read", "operator", "option",
    "address",     "compile-api", "hidden-launch", "survives",  "varies",   "lazy",
    "unsupported", "slice",       "compile",       "resources", "work"};

}  // namespace

ZygoteReport report_from_json(const JsonReader& in, std::vector<UniqueFd> fds) {
  ZygoteReport report;
  report.job = static_cast<uint64_t>(in.at("job").integer(0, INT64_MAX));
  if (in.has("pid")) {
    in.at("pid").integer(1, INT32_MAX);
    if (fds.size() != 1) in.fail("expected one pidfd");
    report.kind = ZygoteReport::Kind::kStarted;
    report.pidfd = std::move(fds[0]);
  } else if (in.has("exit")) {
    report.kind = ZygoteReport::Kind::kExited;
    report.code = static_cast<int>(in.at("exit").integer(0, 255));
  } else if (in.has("signal")) {
    report.kind = ZygoteReport::Kind::kSignalled;
    report.code = static_cast<int>(in.at("signal").integer(1, 64));
  } else {
    report.kind = ZygoteReport::Kind::kNotForked;
    report.error = one_line(in.at("error").string());
  }
  return report;
}

std::vector<SandboxLayer> layers_from_json(const JsonReader& in) {
  std::vector<SandboxLayer> layers;
  for (const JsonReader& layer : in.items()) {
    layers.push_back({one_line(layer.at("name").string()), layer.at("active").boolean(),
                      one_line(layer.at("detail").string())});
  }
  return layers;
}

JobResult result_from_reply(Frame frame) {
  JobResult result;
  const JsonReader in(frame.json, "reply");
  result.status = static_cast<JobResult::Status>(in.at("status").one_of(kStatuses));
  if (result.status == JobResult::Status::kOk) {
    result.reply = std::move(frame);
    return result;
  }
  result.message = one_line(in.at("message").string(), 2000);
  if (result.status == JobResult::Status::kFailed) return result;
  result.code = kRefusalCodes[in.at("code").one_of(kRefusalCodes)];
  if (!in.at("file").is_null()) result.file = one_line(in.at("file").string());
  if (!in.at("line").is_null()) {
    result.line = static_cast<int>(in.at("line").integer(0, INT32_MAX));
  }
  return result;
}

}  // namespace kw
