"""Stand-ins for streams, events and CUDA graphs: classes, as PyTorch's are.

Work is recorded in the order in which the host gives it. A stream runs its work in that order, and an
event lets another stream wait for work that was given before. So this order is one of those that the
device may take, and a program that synchronises as it must has the same results in all of them. What
only orders work on the device is therefore no step. What a graph captures runs outside of the program
that captured it, and is refused.
"""

import itertools

import torch

DEVICE = torch.device("cuda", 0)
_DEVICE_TYPE = 1  # c10::DeviceType::CUDA


def stand_ins(recorder, check_device):
    """Returns (name -> value in torch.cuda, name -> the same class in torch). `check_device` refuses
    all devices but one."""
    numbers, current = itertools.count(1), []

    def graph_refused(*args, **kwargs):
        recorder.refuse("compile-api", "the program uses a CUDA graph, which cannot be recorded: call "
                        "what it captures")

    class Stream:
        def __new__(cls, device=None, priority=0, *args, **kwargs):
            check_device(device)
            stream = object.__new__(cls)
            number = kwargs.get("stream_id")
            stream.stream_id = next(numbers) if number is None else number
            stream.priority = priority
            return stream

        device, device_index, device_type = DEVICE, 0, _DEVICE_TYPE
        cuda_stream = property(lambda stream: stream.stream_id << 12)
        native_handle = _as_parameter_ = cuda_stream

        def __init__(self, *args, **kwargs):
            pass

        def wait_event(self, event):
            pass

        def wait_stream(self, stream):
            pass

        def synchronize(self):
            pass

        def query(self):
            return True

        def record_event(self, event=None):
            return Event() if event is None else event

        @staticmethod
        def priority_range():
            return 0, -5

        def __enter__(self):
            self._previous = [*getattr(self, "_previous", ()), current_stream()]
            set_stream(self)
            return self

        def __exit__(self, *exception):
            set_stream(self._previous.pop())

        def __eq__(self, other):
            return isinstance(other, Stream) and other.stream_id == self.stream_id

        def __hash__(self):
            return hash((Stream, self.stream_id))

        def __repr__(self):
            return "<torch.cuda.Stream device=%s cuda_stream=%#x>" % (DEVICE, self.cuda_stream)

    class ExternalStream(Stream):
        def __new__(cls, stream_ptr, device=None, **kwargs):
            return Stream.__new__(cls, device, stream_id=stream_ptr >> 12)

    class Event:
        device, cuda_event, event_id = DEVICE, 0, 0

        def __new__(cls, *args, **kwargs):
            return object.__new__(cls)

        def __init__(self, *args, **kwargs):
            pass

        def record(self, stream=None):
            pass

        def wait(self, stream=None):
            pass

        def query(self):
            return True

        def synchronize(self):
            pass

        def elapsed_time(self, end_event):
            recorder.refuse("host-read", "the program reads how long its work took, and nothing runs "
                            "while it is recorded: remove elapsed_time")
            return 0.0

        def ipc_handle(self):
            recorder.refuse("unsupported", "the program shares an event with another process, which "
                            "is not supported")

        @classmethod
        def from_ipc_handle(cls, device, handle):
            recorder.refuse("unsupported", "the program shares an event with another process, which "
                            "is not supported")
            return cls()

    class CUDAGraph:
        def __new__(cls, *args, **kwargs):
            return object.__new__(cls)

        def __init__(self, *args, **kwargs):
            pass

        capture_begin = capture_end = instantiate = replay = graph_refused

        def reset(self):
            pass

        def pool(self):
            return 0, 1

        def enable_debug_mode(self):
            pass

    class graph:
        def __init__(self, cuda_graph, *args, **kwargs):
            self.cuda_graph = cuda_graph

        __enter__ = graph_refused

        def __exit__(self, *exception):
            return False

    default = Stream(stream_id=0)

    def current_stream(device=None):
        check_device(device)
        return current[-1] if current else default

    def default_stream(device=None):
        check_device(device)
        return default

    def set_stream(stream):
        if stream is not None:
            current[:] = [stream]

    def make_graphed_callables(callables, *args, **kwargs):
        graph_refused()
        return callables

    for cls, module in ((Stream, "streams"), (ExternalStream, "streams"), (Event, "streams"),
                        (CUDAGraph, "graphs"), (graph, "graphs")):
        cls.__module__, cls.__qualname__ = "torch.cuda." + module, cls.__name__
    in_cuda = {
        "Stream": Stream, "ExternalStream": ExternalStream, "Event": Event, "CUDAGraph": CUDAGraph,
        "graph": graph, "make_graphed_callables": make_graphed_callables,
        "current_stream": current_stream, "default_stream": default_stream,
        "set_stream": set_stream, "get_stream_from_external": ExternalStream,
        "graph_pool_handle": lambda: (0, 1), "is_current_stream_capturing": lambda: False}
    return in_cuda, {"Stream": Stream, "Event": Event}
