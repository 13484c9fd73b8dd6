#include "program/python/graph_path.h"

#include <algorithm>
#include <set>
#include <vector>

#include "program/makers.h"
#include "program/python/python_text.h"

namespace kw {
namespace {

// Whether each element has a place of its own, and (`dense`) no place is left between them.
bool has_own_places(const Value& value, bool dense) {
  if (value.numel() == 0) return true;
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t i = 0; i < value.shape.size(); ++i) {
    if (value.shape[i] > 1) dims.emplace_back(value.strides[i], value.shape[i]);
  }
  std::ranges::sort(dims);
  int64_t span = 1;  // of the dimensions before
  for (const auto& [stride, size] : dims) {
    if (dense ? stride != span : stride < span) return false;
    span = stride * (size - 1) + span;
  }
  return true;
}

// torch.tensor() waits until its numbers are on the device, which a capture forbids.
bool brings_numbers(const Step& step) {
  if (!is_constant(step)) return false;
  const Arg* data = std::get<AtenCall>(step).find("data");
  return data && !std::get<std::vector<Arg>>(data->v).empty();
}

}  // namespace

std::string no_graph_because(const Task& task) {
  const Program& forward = task.forward;
  if (forward.steps.empty()) return "its forward has no steps";
  if (std::ranges::any_of(forward.steps, [](const Step& step) { return is_random(step); }))
    return "its forward draws random numbers";
  if (std::ranges::any_of(forward.steps, brings_numbers)) {
    return "its forward makes tensors of numbers";
  }
  std::set<int> taken;
  for (ValueId id : forward.inputs) taken.insert(forward.values[id].storage);
  for (int storage : written_storages(forward, task.kernels)) {
    if (taken.contains(storage)) return "its forward changes a tensor that it is given";
  }
  for (ValueId id : forward.outputs) {
    const Value& value = forward.values[id];
    if (!taken.insert(value.storage).second) return "its results share memory";
    if (!has_own_places(value, true)) return "a result has gaps in memory";
  }
  const size_t first = task.state.size() + task.derive.outputs.size();
  for (size_t i = first; i < forward.inputs.size(); ++i) {
    if (!has_own_places(forward.values[forward.inputs[i]], false)) {
      return "an argument has elements that share memory";
    }
  }
  return "";
}

std::string graph_classes() {
  return R"py(

def _kw_graph_settings(wanted=None, copies=True, limit=None):
    return {"wanted": wanted, "copies": copies, "limit": limit, "wait": 3, "warned": False}


def _kw_found_settings():
    """Functions of this PyTorch that read a setting."""
    sums = "fp16_reduced_precision_reduction", "bf16_reduced_precision_reduction", "fp16_accumulation"
    attention = "flash", "mem_efficient", "math", "cudnn"
    names = [
        *("cublas_allow_" + name for name in sums),
        *(name + "_sdp_enabled" for name in attention),
        "math_sdp_allow_fp16_bf16_reduction", "blas_preferred_backend", "cudnn_enabled",
        "cudnn_deterministic", "deterministic_algorithms",
    ]
    return [getattr(torch._C, "_get_" + name) for name in names if hasattr(torch._C, "_get_" + name)]


_kw_settings = _kw_found_settings()


def _kw_numerics():
    """The settings by which PyTorch chooses kernels for its operators."""
    precision = getattr(torch._C, "_get_fp32_precision_getter", None)
    if precision is None:  # before PyTorch 2.9
        tf32 = torch._C._get_cublas_allow_tf32(), torch._C._get_cudnn_allow_tf32()
    else:
        tf32 = [precision("cuda", what) for what in ("matmul", "conv", "rnn")]
    return *tf32, *[setting() for setting in _kw_settings]


def _kw_is_watched():
    """True where modes see PyTorch's operators one by one. A default device is such a mode, too, but
    the steps name their device."""
    if torch._C._len_torch_dispatch_stack():
        return True
    if not torch._C._len_torch_function_stack():
        return False
    modes = torch.overrides._get_current_function_mode_stack()
    return any(type(mode) is not torch.utils._device.DeviceContext for mode in modes)


def _kw_seconds(run, times):
    """How long the host takes to begin calls, and how long they take in all."""
    torch.cuda.current_stream().synchronize()
    start = _kw_time.perf_counter()
    for _ in range(times):
        run()
    begun = _kw_time.perf_counter() - start
    torch.cuda.current_stream().synchronize()
    return begun, _kw_time.perf_counter() - start


class _kw_Cuda:
    """CUDA's own calls for graphs. torch.cuda.CUDAGraph makes them too, but while it captures, random
    numbers fail in every other thread, and after a capture that failed they fail everywhere."""

    def __init__(self):
        self.library = None

    def call(self, name, *args):
        if self.library is None:
            self.library = _kw_ctypes.CDLL("libcuda.so.1")
        code = getattr(self.library, name)(*args)
        if code:
            raise RuntimeError("%s: CUDA's error %d" % (name, code))

    def stream(self):
        """A stream that nobody else is given, as PyTorch's are. cuBLAS keeps memory for each stream."""
        made, non_blocking = _kw_ctypes.c_void_p(), 1
        self.call("cuStreamCreate", _kw_ctypes.byref(made), non_blocking)
        return torch.cuda.ExternalStream(made.value)

    def begin(self, stream):
        thread_local = 1  # other threads may do what ends a capture
        self.call("cuStreamBeginCapture_v2", _kw_ctypes.c_void_p(stream), thread_local)

    def end(self, stream):
        """What was captured; ends the capture in any case."""
        graph, made = _kw_ctypes.c_void_p(), _kw_ctypes.c_void_p()
        self.call("cuStreamEndCapture", _kw_ctypes.c_void_p(stream), _kw_ctypes.byref(graph))
        try:
            flags = _kw_ctypes.c_ulonglong(0)
            self.call("cuGraphInstantiateWithFlags", _kw_ctypes.byref(made), graph, flags)
        finally:
            self.call("cuGraphDestroy", graph)
        return made

    def launch(self, graph, stream):
        self.call("cuGraphLaunch", graph, _kw_ctypes.c_void_p(stream))

    def relaxed(self, run, *given):
        """Runs what is forbidden in a capture of this thread, which it does not touch."""
        mode = _kw_ctypes.c_int(2)
        self.call("cuThreadExchangeStreamCaptureMode", _kw_ctypes.byref(mode))
        try:
            run(*given)
        finally:
            self.call("cuThreadExchangeStreamCaptureMode", _kw_ctypes.byref(mode))

    def destroy(self, graph):
        self.relaxed(self.call, "cuGraphExecDestroy", graph)


_kw_cuda = _kw_Cuda()


class _kw_Graph:
    """forward's steps as a CUDA graph. Its memory is its own: arguments are copied there."""

    made = None

    def __init__(self, call, steps, arguments, pool, stream):
        self.cuda, self.numerics, self.given = _kw_cuda, _kw_numerics(), ()
        stream.wait_stream(torch.cuda.current_stream())
        collects = _kw_gc.isenabled()
        _kw_gc.disable()  # it may destroy what belongs to CUDA, which ends a capture
        try:
            with torch.inference_mode(False), torch.no_grad(), torch.cuda.stream(stream):
                with torch.cuda.use_mem_pool(pool):
                    self.cuda.begin(stream.cuda_stream)
                    try:
                        self.given = tuple([
                            torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
                            for x in arguments
                        ])
                        self.results = steps(call.tensors, call.where(), *self.given)
                    finally:
                        self.made = self.cuda.end(stream.cuda_stream)
        finally:
            if collects:
                _kw_gc.enable()

    def __del__(self):
        if self.made is not None:
            self.cuda.destroy(self.made)

    def replay(self, arguments, stream, copies):
        for there, x in zip(self.given, arguments):
            there.copy_(x)
        if not arguments:  # PyTorch has called nothing yet that gives a new thread CUDA's context
            torch.cuda.current_stream().query()
        self.cuda.launch(self.made, stream)
        return tuple([t.clone() if copies else t.detach() for t in self.results])


class _kw_Graphs:
    """The CUDA graphs of a model as it is: one for each kind of call, in memory that they share."""

    sides = {}  # by GPU: streams for captures that are not in use

    def __init__(self, settings):
        self.cuda = _kw_cuda
        self.settings, self.wait = settings, settings["wait"]  # equal calls before a capture
        self.lock = _kw_threading.Lock()  # one replay at a time
        self.seen, self.graphs = {}, {}  # by the call's id; a graph may be False
        self.pool = self.side = None  # where graphs are captured
        self.bytes = 0  # of the pool, as it grew
        self.why = ""  # there is no graph
        self.last = self.stream = self.done = None  # where the replay before was, and its end

    def __del__(self):
        if self.side is not None:
            self.free.append(self.side)
        if self.done is not None:  # the memory of graphs goes
            self.cuda.relaxed(self.done.synchronize)

    def run(self, call, model, arguments):
        """The results of forward's steps: by a graph, or by launches."""
        where, wanted = call.where(), self.settings["wanted"]
        by_launches = (
            where is None
            or wanted is False
            or torch.cuda.is_current_stream_capturing()
            or _kw_is_watched()
        )
        if not by_launches:
            with self.lock:
                graph = self.graphs.get(id(call))
                if graph is None:
                    self.seen[id(call)] = seen = self.seen.get(id(call), 0) + 1
                    if wanted or seen >= self.wait:
                        graph = self.graphs[id(call)] = self.captured(call, model, arguments)
                        if not any(self.graphs.values()):
                            self.pool, self.bytes = None, 0  # gives its memory back
                if graph and graph.numerics == _kw_numerics():
                    return self.replayed(graph, arguments, where)
            if self.why and not self.settings["warned"]:  # outside of the lock: it may call the model
                self.settings["warned"] = True
                _kw_warnings.warn("ModelNew: calls go by launches, because there is no CUDA graph: " + self.why)
        return model._kw_steps(call.tensors, where, *arguments)

    def replayed(self, graph, arguments, where):
        """Work on another stream than that of the replay before waits for it."""
        if where != self.last:
            self.last, self.stream = where, torch.cuda.current_stream()
            if self.done is not None:
                self.stream.wait_event(self.done)
            self.done = torch.cuda.Event()
        try:
            return graph.replay(arguments, where[1], self.settings["copies"])
        finally:
            self.done.record(self.stream)

    def captured(self, call, model, arguments):
        """A graph. False where there can be none, and where it is not faster, unless it is wanted. None
        where there may be one later."""
        steps, bound = model._kw_steps, model.__dict__.get("_kw_bound")

        def checked():
            """What a call does before its steps, while the GPU may still be busy."""
            return bound is None or bound.known(model, *arguments)

        def launched():
            checked()
            return steps(call.tensors, call.where(), *arguments)

        def replayed():
            checked()
            return self.replayed(graph, arguments, call.where())

        launched()  # compiles kernels, and PyTorch makes what it keeps
        if not self.settings["wanted"]:
            begun, took = min((_kw_seconds(launched, 1) for _ in range(3)), key=lambda both: both[1])
            if begun < took / 2:  # the host does not keep the GPU waiting
                return False
        before, limit = torch.cuda.memory_reserved(), self.settings["limit"]
        if limit is None:
            limit = torch.cuda.get_device_properties(call.gpu).total_memory // 10
        try:
            if torch.cuda.get_allocator_backend() != "native":
                return self.refused("PyTorch's allocator is not its own")
            if self.side is None:  # one, as PyTorch keeps freed memory for the stream that used it
                self.free = self.sides.setdefault(call.gpu, [])
                self.side = self.free.pop() if self.free else self.cuda.stream()
                self.settings["wait"] = 2 * self.wait  # a model that changes is captured less often
            if self.pool is None:
                self.pool = torch.cuda.MemPool()
            graph = _kw_Graph(call, steps, arguments, self.pool, self.side)
        except Exception as error:
            error = error.__context__ or error
            return self.refused("%s: %.200s" % (type(error).__name__, error))
        self.bytes += max(torch.cuda.memory_reserved() - before, 0)
        if self.bytes > limit:
            graph, taken = None, self.bytes  # before its pool, which gives back what nobody uses
            if not self.dropped():
                return self.refused("it takes %d bytes, and %d are allowed" % (taken, limit))
            self.wait *= 2
            return None  # those that are called again are captured again
        if not self.settings["wanted"]:
            times = max(1, min(10, int(1e-3 / took)))
            rounds = [(_kw_seconds(replayed, times), _kw_seconds(launched, times)) for _ in range(3)]
            if min(ours[1] for ours, _ in rounds) >= min(theirs[1] for _, theirs in rounds):
                return False
        return graph

    def dropped(self):
        """Gives the memory of all graphs back. How many there were."""
        if self.done is not None:
            self.cuda.relaxed(self.done.synchronize)
        count = sum(map(bool, self.graphs.values()))
        self.seen, self.graphs = {}, {k: False for k, kept in self.graphs.items() if kept is False}
        self.pool, self.bytes = None, 0
        return count

    def refused(self, why):
        self.why = why
        return False
)py";
}

std::string graphed_method(const std::string& refused) {
  std::string out = R"py(    def _kw_graphed_by(self, wanted=True, copies=True, limit=None):
        """Chooses how the steps run, and returns the model. As CUDA graphs from the next call on (True),
        by launches (False), or by what is faster after a few equal calls (None, as at first).
        Results are copies, or, without `copies`, are overwritten by a later call. Graphs take at
        most `limit` bytes of the GPU's memory; None stands for a tenth of it."""
)py";
  if (!refused.empty()) {
    return out + "        if wanted:\n            _kw_warnings.warn(" +
           python_string("ModelNew: calls go by launches, because " + refused) +
           ")\n        return self\n\n";
  }
  return out + R"py(        self.__dict__["_kw_graphed"] = _kw_graph_settings(wanted, copies, limit)
        self.__dict__.pop("_kw_bound", None)
        return self

)py";
}

std::string graphed_name(const std::string& base) {
  return "\n\nif not hasattr(" + base + R"py(, "graphed"):  # what is the model's own stays
    ModelNew.graphed = ModelNew._kw_graphed_by
)py";
}

}  // namespace kw
