// Runs Programs on given tensors: the executor's half of the parity test
// (tests/operators/parity.py) and a tool for people. One request and one reply a line, many in one
// process.
//
//   replay_program [--backend cpu|cuda]
//
//   {"program": Program, "inputs": path, "outputs": path, "seed": n}
//     -> {"outputs": [Value], "overwritten": [input number]}    or {"failed": message}
//   {"task": Task, "source": text}
//     -> {"python": the task as exported source, "hash": its canonical hash}
//
// `inputs` holds the bytes of each storage that the Program's inputs are views of, in the order of
// storage numbers. `outputs` receives the elements of each output in row-major order, and then
// those of each input that was overwritten. Values in the reply have PyTorch's layout, which may
// differ from the recorded one. Programs with launches are refused. The files and lines come from
// the caller, who is trusted.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "executor/replay/loaded_task.h"
#include "executor/replay/replay.h"
#include "formats/base/error.h"
#include "program/python/export.h"
#include "program/rewrite/transform.h"
#include "program/task_json.h"

namespace kw::exec {
namespace {

std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + " cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

// Elements of its storage that a value reaches.
int64_t span(const Value& value) {
  if (value.numel() == 0) return 0;
  int64_t out = value.offset + 1;
  for (size_t d = 0; d < value.shape.size(); ++d) {
    out += (value.shape[d] - 1) * value.strides[d];
  }
  return out;
}

std::vector<at::Tensor> load_inputs(const Program& program, const std::string& bytes,
                                    at::Device device) {
  std::map<int, int64_t> elements;  // by storage
  for (ValueId id : program.inputs) {
    const Value& value = program.values[id];
    int64_t& count = elements[value.storage];
    count = std::max(count, span(value));
  }
  std::map<int, at::Tensor> flat;
  std::vector<at::Tensor> out;
  size_t position = 0;
  for (ValueId id : program.inputs) {
    const Value& value = program.values[id];
    at::Tensor& storage = flat[value.storage];
    if (!storage.defined()) {
      storage = at::empty({elements[value.storage]}, at::dtype(scalar_type(value.dtype)));
      if (bytes.size() - position < storage.nbytes()) throw InputError("the inputs are too short");
      std::copy_n(bytes.data() + position, storage.nbytes(),
                  static_cast<char*>(storage.mutable_data_ptr()));
      position += storage.nbytes();
      storage = storage.to(device);
    }
    out.push_back(storage.as_strided(value.shape, value.strides, value.offset));
  }
  if (position != bytes.size()) throw InputError("the inputs are too long");
  return out;
}

void write_elements(const at::Tensor& tensor, std::ofstream& out) {
  const at::Tensor host = tensor.to(at::kCPU).contiguous();
  out.write(static_cast<const char*>(host.const_data_ptr()),
            static_cast<std::streamsize>(host.nbytes()));
}

Json describe(const at::Tensor& tensor) {
  Value value;
  value.dtype = dtype_of(tensor.scalar_type());
  value.shape = tensor.sizes().vec();
  value.strides = tensor.strides().vec();
  value.offset = tensor.storage_offset();
  return to_json(value);
}

Json replayed(const JsonReader& request, at::Device device) {
  const Program program = program_from_json(request.at("program"));
  check_program(program, {}, "program");
  Replay replay(program, {}, nullptr, device);
  const std::vector<at::Tensor> inputs =
      load_inputs(program, read_bytes(request.at("inputs").string()), device);
  seed_generators(static_cast<uint64_t>(request.at("seed").integer(0, int64_t{1} << 52)));
  const std::vector<at::Tensor> outputs = replay.run(inputs, {});
  std::ofstream file(request.at("outputs").string(), std::ios::binary);
  Json out = {{"outputs", Json::array()}, {"overwritten", Json::array()}};
  for (const at::Tensor& tensor : outputs) {
    out["outputs"].push_back(describe(tensor));
    write_elements(tensor, file);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!replay.mutated_inputs()[i]) continue;
    out["overwritten"].push_back(i);
    write_elements(inputs[i], file);
  }
  if (!file.flush()) throw EnvironmentError("cannot write " + request.at("outputs").string());
  return out;
}

Json answer(const JsonReader& request, at::Device device) {
  if (!request.has("task")) return replayed(request, device);
  const Task task = task_from_json(request.at("task"), nullptr);
  return {{"python", export_python(task, request.at("source").string())},
          {"hash", canonical_hash(canonical(task))}};
}

int serve(const std::string& backend) {
  c10::InferenceMode inference;
  const at::Device device = backend == "cuda" ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU);
  for (std::string line; std::getline(std::cin, line);) {
    Json reply;
    try {
      const Json request = parse_json(line, "request");
      reply = answer(JsonReader(request, "request"), device);
    } catch (const std::exception& error) {
      reply = {{"failed", error.what()}};
    }
    std::cout << reply.dump() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace kw::exec

int main(int argc, char** argv) {
  const std::string backend = argc == 3 && std::string(argv[1]) == "--backend" ? argv[2] : "cpu";
  if ((argc != 1 && argc != 3) || (backend != "cpu" && backend != "cuda")) {
    std::cerr << "usage: replay_program [--backend cpu|cuda]\n";
    return 2;
  }
  return kw::exec::serve(backend);
}
