"""The zygote and its children: frames, isolation, and how everything ends."""

import os
import signal

import frames
import pytest

SPIN = """
import torch
while True:
    pass
"""


def test_ready_names_the_versions(client):
    assert client.ready["ready"] is True
    assert set(client.ready) >= {"python", "torch", "triton", "cuda", "sandbox"}


def test_replies_name_the_sandbox(client, tools):
    reply, _ = client.run(tools.request("x = 1\n"))
    layers = {layer["name"]: layer["active"] for layer in reply["sandbox"]}
    assert layers["resource limits"] and layers["no inherited descriptors"]
    assert layers["no new privileges"] and layers["no ptrace, no core dump"]
    assert layers["no capabilities"]


def closed(sock):
    """Whether the other end of a socket is gone."""
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:  # it left bytes unread
        return True


def leak(client, tools, body):
    """Runs `body` in the child and gives back the text of the exception it raises."""
    source = "import os, sys\n" + body
    reply, _ = client.run(tools.request(source))
    assert reply["status"] == "refused", reply
    return reply["message"]


def test_a_child_has_no_descriptors_but_its_own(client, tools):
    message = leak(client, tools, "raise ValueError(sorted(os.listdir('/proc/self/fd')))")
    if "ValueError" in message:  # with PR_SET_DUMPABLE 0 the folder may be out of reach
        found = message[message.index("["):]
        assert len(eval(found)) <= 5, found


def test_children_do_not_see_each_other(client, tools):
    folder = "os.environ.get('TMPDIR', '/tmp')"
    leak(client, tools, "open(os.path.join(%s, 'left'), 'w').write('x'); raise ValueError" % folder)
    message = leak(client, tools, "raise ValueError(os.listdir(%s))" % folder)
    layers = {layer["name"]: layer["active"] for layer in client.ready["sandbox"]}
    if layers["private /tmp"]:
        assert "left" not in message


def test_a_child_dumps_no_core_and_has_limits(client, tools):
    message = leak(client, tools, "import resource as r\nraise ValueError([r.getrlimit(x)[0] for x "
                   "in (r.RLIMIT_CORE, r.RLIMIT_FSIZE, r.RLIMIT_CPU)])")
    assert "[0, 268435456, 600]" in message


def test_memory_is_limited(client, tools):
    source = "import torch\nx = bytearray(1 << 30)\n"
    reply, _ = client.run(tools.request(source), limits={"memory_bytes": 256 << 20})
    assert reply["status"] == "refused" and "MemoryError" in reply["message"]


def test_what_a_child_prints_goes_nowhere(client, tools):
    reply, _ = client.run(tools.request("print('x' * 100000)\nraise ValueError('end')\n"))
    assert reply["message"].endswith("ValueError: end")


def test_killing_a_child_kills_what_it_started(tools):
    """The pid namespace ends with its first process. Where seccomp is on, a job starts none."""
    client = tools.Client("--no-sandbox")
    layers = {layer["name"]: layer["active"] for layer in client.ready["sandbox"]}
    if not layers["own processes"]:
        client.close()
        pytest.skip("no pid namespaces here")
    source = """
import os
if os.fork() == 0:
    os.setsid()
    for fd in range(3, 16):  # one of them is the job's socket
        try:
            os.write(fd, b"x")
        except OSError:
            pass
while True:
    pass
"""
    sock, _, pidfd = client.start(tools.request(source))
    assert sock.recv(1) == b"x"  # the grandchild runs
    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    assert tools.ended(pidfd)
    # The socket is closed in every process that held it: the grandchild is gone too.
    assert closed(sock)
    os.close(pidfd)
    client.close()


def test_a_child_that_crashes_closes_its_socket(client, tools):
    source = "import ctypes\nctypes.string_at(0)\n"
    sock, _, pidfd = client.start(tools.request(source))
    assert closed(sock) and tools.ended(pidfd)
    os.close(pidfd)


def test_garbage_instead_of_a_request(client, tools):
    sock, _, pidfd = client.start({"kind": "record"})
    assert frames.receive(sock)[0]["status"] in ("failed", "refused")
    os.close(pidfd)


def test_everything_ends_with_the_control_socket(tools):
    other = tools.Client()
    sock, _, pidfd = other.start(tools.request(SPIN))
    assert other.close() == 0
    assert tools.ended(pidfd) and closed(sock)
    os.close(pidfd)


def test_a_copy_is_a_zygote_of_its_own(tools):
    original = tools.Client()
    copies = [original.copy() for _ in range(3)]
    assert all(copy.ready == original.ready for copy in copies)
    request = tools.request("raise ValueError('here')\n")
    for one in (original, *copies, original):
        assert one.run(request)[0]["message"].endswith("ValueError: here")
    # One ends with its socket, and its jobs with it; the others do not.
    sock, _, pidfd = copies[0].start(tools.request(SPIN))
    copies[0].control.close()
    assert tools.ended(pidfd) and closed(sock)
    os.close(pidfd)
    again = copies[1].copy()  # of a copy
    for one in (original, copies[1], again):
        assert one.run(request)[0]["message"].endswith("ValueError: here")
    # All end with the first.
    jobs = [one.start(tools.request(SPIN)) for one in (copies[1], copies[2], again)]
    assert original.close() == 0
    for sock, _, pidfd in jobs:
        assert tools.ended(pidfd) and closed(sock)
        os.close(pidfd)


def test_a_job_of_a_copy_has_the_same_walls(client, tools):
    copy = client.copy()
    request = tools.request("import os\nraise ValueError(sorted(os.listdir('/proc/self/fd')))")
    layers = [one.run(request)[0]["sandbox"] for one in (client, copy)]
    assert layers[0] == layers[1]
    message = copy.run(request)[0]["message"]
    if "ValueError" in message:
        assert len(eval(message[message.index("["):])) <= 5, message
    copy.control.close()


def test_record_is_fast(client, tools):
    """Not a measurement: that the caches of the zygote are of use to its children."""
    from models import MODELS
    request = tools.request(MODELS["rms_norm_swiglu"])
    client.run(request)
    best = min(client.run(request)[0]["seconds"] for _ in range(5))
    assert best < 0.2
