// kernelwright doctor: what works on this machine, and the fix for what does not.
#include <sys/utsname.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "cli/commands.h"
#include "cli/support/common.h"
#include "formats/base/error.h"
#include "formats/install.h"
#include "net/http.h"
#include "store/store.h"

namespace kw {
namespace {

struct Probe {
  enum class State { kWorks, kDegraded, kBroken };
  std::string name;
  State state = State::kWorks;
  std::string detail, fix;
};

// A model and a kernel of the smallest kind, to send through the workers for real.
constexpr const char* kModel = R"py(
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1.0

def get_inputs():
    return [torch.randn(1000)]

def get_init_inputs():
    return []
)py";

constexpr const char* kCandidate = R"py(
import torch
import triton
import triton.language as tl

@triton.jit
def add_one(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) + 1.0, mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        add_one[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
        return out

def get_inputs():
    return [torch.randn(1000)]

def get_init_inputs():
    return []
)py";

RecordRequest request_for_text(const char* text, const char* cls, const DeviceProfile& profile) {
  RecordRequest request;
  request.text = text;
  request.file = "doctor.py";
  request.cls = cls;
  request.profile = profile;
  return request;
}

// True when the pair is in the file of supported versions ("torch-major.minor[.x] triton").
bool is_supported_pair(const std::string& torch, const std::string& triton) {
  std::ifstream in(shipped("scripts/supported-versions.txt"));
  auto minor = [](const std::string& v) { return v.substr(0, v.find('.', v.find('.') + 1)); };
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string a, b;
    if (line.starts_with("#") || !(words >> a >> b)) continue;
    if (minor(a) == minor(torch) && b == triton.substr(0, triton.find('+'))) return true;
  }
  return false;
}

Probe probe_machine() {
  utsname name{};
  ::uname(&name);
  std::string os = "unknown system";
  std::ifstream in("/etc/os-release");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("PRETTY_NAME=")) os = line.substr(13, line.size() - 14);
  }
  Probe probe{"machine", Probe::State::kWorks, os + ", " + name.machine + ", Linux " + name.release,
              ""};
  if (std::string(name.machine) != "x86_64") {
    probe.state = Probe::State::kBroken;
    probe.fix = "Kernelwright runs on x86-64";
  }
  return probe;
}

Probe probe_worker(Machine& machine) {
  Probe probe{"python worker", Probe::State::kWorks, "", ""};
  try {
    machine.pool.start();
    const Json& v = machine.pool.versions();
    const std::string torch = v.value("torch", "?"), triton = v.value("triton", "?");
    probe.detail = default_worker_config().python + ": Python " + v.value("python", "?") +
                   ", torch " + torch + ", triton " + triton;
    if (!is_supported_pair(torch, triton)) {
      probe.state = Probe::State::kDegraded;
      probe.fix =
          "this pair is not among the tested ones in scripts/supported-versions.txt; the "
          "probes below say whether it works";
    }
  } catch (const EnvironmentError& error) {
    probe.state = Probe::State::kBroken;
    probe.detail = error.what();
    probe.fix = "make build PYTHON=/path/to/python3 with torch and triton, or plain make build";
  }
  return probe;
}

std::vector<Probe> probe_sandbox(Machine& machine) {
  std::vector<Probe> out;
  for (const SandboxLayer& layer : machine.pool.sandbox()) {
    out.push_back({"sandbox: " + layer.name,
                   layer.active ? Probe::State::kWorks : Probe::State::kDegraded, layer.detail,
                   layer.active ? ""
                                : "the other layers still hold; candidates you do not trust "
                                  "want all of them"});
  }
  return out;
}

// The main path on the smallest program: record, compile, interpret or launch, judge.
std::vector<Probe> probe_path(Machine& machine, const std::string& backend) {
  std::vector<Probe> out;
  auto run = [&](const std::string& name, const std::string& fix, auto&& body) {
    Probe probe{name, Probe::State::kWorks, "", ""};
    try {
      probe.detail = body();
    } catch (const std::exception& error) {
      probe.state = Probe::State::kBroken;
      probe.detail = error.what();
      probe.fix = fix;
    }
    out.push_back(probe);
    return probe.state == Probe::State::kWorks;
  };
  char text[128];
  run("record",
      "the message names the cause; other torch versions are in scripts/supported-versions.txt",
      [&] {
        double best = 1e9;
        for (int i = 0; i < 3; ++i) {
          const auto built =
              build_task(machine.pool, request_for_text(kModel, "Model", machine.profile),
                         build_within(std::chrono::minutes(1)));
          if (built.fault) throw EnvironmentError(built.fault->text());
          best = std::min(best, built.value->record_seconds);
        }
        std::snprintf(text, sizeof(text), "%.0f ms warm", 1e3 * best);
        return std::string(text);
      });
  const bool compiles = run(
      "compile for " + machine.profile.arch, "triton needs its bundled ptxas and a writable folder",
      [&] {
        const auto built =
            build_task(machine.pool, request_for_text(kCandidate, "ModelNew", machine.profile),
                       build_within(std::chrono::minutes(2)));
        if (built.fault) throw EnvironmentError(built.fault->text());
        std::snprintf(text, sizeof(text), "%.2f s for one kernel", built.value->compile_seconds);
        return std::string(text);
      });
  const bool executes = run("executor (" + backend + ")",
                            backend == "cuda" ? "a GPU with its driver and a CUDA build of torch"
                                              : "make build builds it against this torch",
                            [&] { return machine.executor.hello().dump(); });
  if (!compiles || !executes) return out;
  run("verdict", "the message names the stage", [&] {
    Verifier verifier(machine.pool, machine.executor, machine.profile);
    VerifyOptions options;
    options.seed = 1;
    const Reference reference =
        verifier.prepare(request_for_text(kModel, "Model", machine.profile), options);
    const Verdict verdict = verifier.verify(
        reference, request_for_text(kCandidate, "ModelNew", machine.profile), options);
    if (verdict.outcome != Verdict::Outcome::kAccepted) throw EnvironmentError(verdict.reason);
    return std::string("a correct kernel is accepted");
  });
  return out;
}

Probe probe_store() {
  Probe probe{"store", Probe::State::kWorks, default_store_path().string(), ""};
  try {
    const Store store(default_store_path());
    if (!store.fault().empty()) throw EnvironmentError(store.fault());
  } catch (const std::exception& error) {
    probe.state = Probe::State::kBroken;
    probe.detail = error.what();
    probe.fix = "remove it, or set KERNELWRIGHT_STORE to a writable place";
  }
  return probe;
}
Probe probe_requests() {
  try {
    return {"requests to models", Probe::State::kWorks, http_library(), ""};
  } catch (const EnvironmentError& error) {
    return {"requests to models", Probe::State::kDegraded, error.what(),
            "needed by the policies openai and local, and by review"};
  }
}

int run_doctor(const MachineFlags& flags, bool json) {
  Machine machine(flags, {});
  std::vector<Probe> probes = {probe_machine(), probe_worker(machine)};
  if (probes.back().state != Probe::State::kBroken) {
    for (Probe& p : probe_sandbox(machine)) probes.push_back(std::move(p));
    for (Probe& p : probe_path(machine, flags.chosen_backend())) probes.push_back(std::move(p));
  }
  probes.push_back(probe_store());
  probes.push_back(probe_requests());
  if (flags.chosen_backend() == "cpu") {
    probes.push_back({"GPU", Probe::State::kDegraded, "none found",
                      "kernels are judged by an interpreter and times are modelled"});
  }
  static constexpr const char* kNames[] = {"works", "degraded", "BROKEN"};
  bool broken = false;
  Json list = Json::array();
  for (const Probe& p : probes) {
    broken = broken || p.state == Probe::State::kBroken;
    const char* state = kNames[static_cast<int>(p.state)];
    list.push_back({{"name", p.name}, {"state", state}, {"detail", p.detail}, {"fix", p.fix}});
    if (json) continue;
    std::printf("%-8s  %-28s %s\n", state, p.name.c_str(), p.detail.c_str());
    if (!p.fix.empty()) std::printf("%-40s-> %s\n", "", p.fix.c_str());
  }
  if (json) std::cout << Json{{"probes", list}}.dump(1) << "\n";
  return broken ? 3 : 0;
}

}  // namespace

Command add_doctor(CLI::App& app) {
  auto flags = std::make_shared<MachineFlags>();
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print one JSON object");
  flags->add_to(app);
  return [flags, json] { return run_doctor(*flags, *json); };
}

}  // namespace kw
