"""A child of the zygote puts its sandbox on, reads one request, sends one reply and ends.

A request may ask the child to stay for further ones of its kind. That is for jobs which run no code
of their source, so none can wait in the child for the next job.
"""

import gc
import json
import os
import socket
import sys
import tempfile
import traceback

import companion
import frames
import jail
from refusal import Refused, one_line

STAYING = ("interpret",)


def confine(job_fd, limits, own_pid_namespace):
    """Puts the sandbox on; its layers as they were found."""
    jail.die_with_parent()
    os.setsid()
    layers = jail.enter(limits, keep=(job_fd,))
    layers.append({"name": "own processes", "active": own_pid_namespace,
                   "detail": "" if own_pid_namespace else "no pid namespace for each job"})
    return layers


def restrict(message):
    """The layers that depend on the job: only the files and programs that this kind needs."""
    kind, folder = message.get("kind"), message.get("folder")
    if kind in ("record", "adapt", "run") and folder:
        import loading
        return jail.restrict(folders=[loading.package_root(os.path.abspath(folder))])
    if kind == "compile":
        import compiler
        return jail.restrict(programs=[compiler.PROGRAMS])
    return jail.restrict()


def report_layers(job_fd, limits, own_pid_namespace):
    """A child that only finds out what the sandbox of the others will be."""
    layers = confine(job_fd, limits, own_pid_namespace) + jail.restrict()
    socket.socket(fileno=job_fd).sendall(json.dumps(layers).encode())


def serve(job_fd, limits, own_pid_namespace):
    """Serves the job on `job_fd`. The reply names the sandbox's layers as they were found."""
    layers = confine(job_fd, limits, own_pid_namespace)
    sock = socket.socket(fileno=job_fd)
    message, blobs, fds = frames.receive(sock)
    if companion.is_wanted(message):
        message["companion"] = companion.start(job_fd)
    layers += restrict(message)
    kind = message.get("kind")
    while answer(sock, layers, message, blobs, fds) and kind in STAYING and message.get("stay"):
        message, blobs, fds = frames.receive(sock)
        if message.get("kind") != kind:  # it has given up what other kinds need
            raise frames.FrameError("a child that stays serves one kind of job")
    sock.shutdown(socket.SHUT_WR)


def answer(sock, layers, message, blobs, fds):
    """Sends a job's reply. Whether it is done."""
    try:
        reply, blobs = run(message, blobs, fds)
    except Refused as refusal:
        reply, blobs = refusal.reply(), []
    except MemoryError:
        reply, blobs = {"status": "failed", "message": "out of memory"}, []
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        reply, blobs = {"status": "failed", "message": "%s (%s:%d)" % (
            one_line(error), os.path.basename(where.filename), where.lineno)}, []
    reply["sandbox"] = layers
    frames.send(sock, reply, blobs)
    return reply["status"] == "ok"


def record_own(message, model):
    """The reply for one of many texts that the supervisor wrote itself."""
    import recorder
    try:
        return recorder.record({**message, **model, "kind": "record"})
    except Refused as refusal:
        return refusal.reply()


def run(message, blobs, fds):
    kind = message.get("kind")
    sys.setrecursionlimit(5000)
    if kind == "record":
        import recorder
        gc.disable()  # short, and everything it makes is kept until the end
        return recorder.record(message), []
    if kind == "record_own":
        return {"status": "ok", "replies": [record_own(message, each) for each in message["models"]]}, []
    if kind == "adapt":
        import operator_test
        return operator_test.adapt(message), []
    if kind == "cut":
        import cutting
        return cutting.cut(message), []
    if kind == "slice":
        import compiler
        return compiler.slice_kernels(message), []
    if kind == "compile":
        import compiler
        with tempfile.TemporaryDirectory() as folder:  # nobody else's cache
            os.environ["TRITON_CACHE_DIR"] = folder
            return compiler.compile_kernels(message)
    if kind == "lower":
        import interpreter
        return interpreter.lower(message), []
    if kind == "interpret":
        import interpreter
        return interpreter.interpret(message, fds), []
    if kind == "run":
        import plain
        return plain.run(message)
    if kind == "compare":
        import comparison
        return comparison.compare(message, blobs), []
    raise Refused("unsupported", "there is no job of kind %r" % kind)
