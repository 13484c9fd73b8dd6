"""A real zygote for the tests, spoken to over sockets as the supervisor does."""

import array
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import types

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORKER = os.path.join(ROOT, "worker")
sys.path[:0] = [WORKER, os.path.join(ROOT, "tests")]

import frames  # noqa: E402
from recording import PROFILE, operator_table  # noqa: E402


def fake_cuda_device():
    """The no-op device guard that a CPU build of torch needs: built by cmake, or here."""
    given = os.environ.get("KERNELWRIGHT_FAKE_CUDA_DEVICE")
    if given:
        return given
    built = os.path.join(ROOT, "build", "libkw_fake_cuda_device.so")
    return built if os.path.exists(built) else build_fake_cuda_device()


def build_fake_cuda_device():
    import torch
    import torch.utils
    base = os.path.dirname(torch.__file__)
    source = os.path.join(ROOT, "src", "worker", "native", "fake_cuda_device.cc")
    target = os.path.join("/tmp", "kw_fake_cuda_device_%s_%d.so" % (torch.__version__, os.getuid()))
    if not os.path.exists(target) or os.path.getmtime(target) < os.path.getmtime(source):
        subprocess.run(["g++", "-std=c++20", "-O1", "-shared", "-fPIC", source, "-o",
                        target + ".new", "-I" + os.path.join(base, "include"),
                        "-L" + os.path.join(base, "lib"), "-lc10"], check=True)
        os.replace(target + ".new", target)
    return target


class Client:
    """The supervisor's end."""

    def __init__(self, *flags):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.folder = tempfile.mkdtemp(prefix="kernelwright-worker-")
        self.control = ours
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(WORKER, "zygote.py"), "--socket", str(theirs.fileno()),
             "--fake-cuda-device", fake_cuda_device(), *flags], pass_fds=[theirs.fileno()],
            # What a child mounts over: not /tmp itself, where the tests' own files are.
            env={**os.environ, "TMPDIR": self.folder})
        theirs.close()
        self._greet()

    def _greet(self):
        self.control.settimeout(120)
        self.ready = json.loads(self.control.recv(4096))
        self.jobs = 0
        self.ends = {}  # job -> how its process ended

    def copy(self):
        """Of a copy of the zygote: its control socket is all that there is."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        rights = array.array("i", [theirs.fileno(), sys.stderr.fileno()])
        self.control.sendmsg([b'{"copy": true}'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        theirs.close()
        out = Client.__new__(Client)
        out.control = ours
        out._greet()
        return out

    def start(self, message, blobs=(), fds=(), limits=None):
        """Starts a job: (socket, pid, pidfd)."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.jobs += 1
        request = {"job": self.jobs}
        if limits:
            request["limits"] = limits
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))]
        self.control.sendmsg([json.dumps(request).encode()], rights)
        theirs.close()
        while True:
            data, fds_back = frames.receive_with_fds(self.control, 4096)
            reply = json.loads(data)
            if "pid" in reply:
                break
            self.ends[reply["job"]] = reply
        assert reply["job"] == self.jobs and len(fds_back) == 1
        ours.settimeout(120)
        frames.send(ours, message, blobs, fds)
        return ours, reply["pid"], fds_back[0]

    def run(self, message, blobs=(), fds=(), limits=None):
        """The reply's (message, blobs)."""
        sock, _, pidfd = self.start(message, blobs, fds, limits)
        try:
            reply, blobs, _ = frames.receive(sock)
            return reply, blobs
        finally:
            sock.close()
            os.close(pidfd)

    def close(self):
        self.control.close()
        code = self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)
        return code


def ended(pidfd, seconds=30):
    """Whether the process behind a pidfd ends in time."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(1000 * seconds))


@pytest.fixture(scope="session")
def client():
    client = Client()
    yield client
    client.close()


OPERATORS = operator_table()


def record_request(source, cls="Model", **changes):
    request = {"kind": "record", "source": source, "file": "model.py", "folder": None,
               "class": cls, "profile": PROFILE, "operators": OPERATORS,
               "inputs": None, "init_inputs": True}
    request.update(changes)
    return request


@pytest.fixture(scope="session")
def tools():
    return types.SimpleNamespace(request=record_request, frames=frames, ended=ended,
                                 Client=Client, operators=OPERATORS, profile=PROFILE)
