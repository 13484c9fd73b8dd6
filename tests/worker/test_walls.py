"""The innermost walls of a job, Landlock's: each tried from a real job or from a process restricted
in the same way, once without the wall where that tells something."""

import ctypes
import errno
import json
import os
import signal
import socket
import subprocess

import jail
import landlock
import pytest

PR_SET_NO_NEW_PRIVS = 38


@pytest.fixture
def wall(client):
    """wall(name) skips the test where this machine has not that layer, with its reason."""
    layers = {layer["name"]: layer for layer in client.ready["sandbox"]}

    def need(name):
        if not layers[name]["active"]:
            pytest.skip("%s: %s" % (name, layers[name]["detail"]))
    return need


@pytest.fixture
def attempt(client, tools):
    """attempt(expression, folder=None): what the module body of a candidate gets from it in a real
    job, as JSON: its value, or the name of the errno that it failed with."""
    def run(expression, folder=None):
        source = ("import ctypes, errno, json, os, subprocess, socket, sys\n"
                  "def value():\n"
                  "    try:\n"
                  "        return %s\n"
                  "    except OSError as error:\n"
                  "        return errno.errorcode[error.errno]\n"
                  "raise ValueError(json.dumps(value()))\n" % expression)
        reply, _ = client.run(tools.request(source, folder=folder and str(folder)))
        assert reply["status"] == "refused" and "ValueError: " in reply["message"], reply
        return json.loads(reply["message"].split("ValueError: ", 1)[1])
    return run


def confined(restrict, body):
    """What body() gives, as JSON, in a child that restrict() was called in; an OSError as its
    errno's name."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            restrict()
            try:
                value = body()
            except OSError as error:
                value = errno.errorcode[error.errno]
            os.write(writing, json.dumps(value).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def only_the_system():
    landlock.restrict([(path, landlock.READ) for path in ("/usr", "/lib", "/lib64")])


def test_a_job_writes_only_to_its_own_folder(wall, attempt, tmp_path):
    wall("Landlock files")
    outside = tmp_path / "outside"
    assert attempt("open(%r, 'w').write('x')" % str(outside)) == "EACCES"
    assert attempt("open(%r, 'w').write('x')" % str(outside), folder=tmp_path) == "EACCES"
    assert not outside.exists()
    outside.write_text("kept")
    for expression in ("os.truncate(%r, 0)", "os.remove(%r)", "os.rename(%r, 'away')"):
        assert attempt(expression % str(outside), folder=tmp_path) == "EACCES"
    assert outside.read_text() == "kept"
    assert attempt("open('/dev/shm/x', 'w').write('x')") == "EACCES"
    assert attempt("open('/dev/null', 'w').write('x')") == 1
    assert attempt("open(os.environ['TMPDIR'] + '/x', 'w').write('x')") == 1


def test_renames_between_own_folders_work(wall, attempt):
    wall("Landlock files")  # Triton's cache does so
    own = "os.environ['TMPDIR'] + '/%s'"
    assert attempt("[os.mkdir(%s), os.mkdir(%s), open(%s, 'w').write('x'), os.rename(%s, %s)]" % tuple(
        own % name for name in ("a", "b", "a/x", "a/x", "b/x"))) == [None, None, 1, None]


def test_a_job_reads_what_it_needs_and_its_models_folder(wall, attempt, tmp_path):
    wall("Landlock files")
    (tmp_path / "data.txt").write_text("numbers")
    read = "open(%r).read()" % str(tmp_path / "data.txt")
    assert attempt(read, folder=tmp_path) == "numbers"
    assert attempt(read) == "EACCES"
    assert attempt("os.listdir('/')") == "EACCES"
    assert attempt("os.listdir(%r)" % os.path.dirname(__file__)) == "EACCES"
    assert attempt("open('/proc/1/mem', 'rb').read(1)") == "EACCES"
    assert attempt("open('/proc/%d/environ', 'rb').read(1)" % os.getpid()) == "EACCES"
    assert attempt("__import__('sqlite3').__name__") == "sqlite3"  # what the zygote has not imported


def test_a_job_starts_no_program(wall, attempt):
    wall("Landlock files")
    assert attempt("os.execve('/bin/sh', ['sh', '-c', 'exit 0'], {})") in ("EACCES", "EPERM")


def test_a_compile_job_starts_its_programs_only(wall, tmp_path):
    wall("Landlock files")
    copy = tmp_path / "true"
    copy.write_bytes(open("/bin/true", "rb").read())
    copy.chmod(0o755)

    def codes():
        found = []
        for program in (str(copy), "/bin/true"):
            try:
                found.append(subprocess.run([program]).returncode)
            except OSError as error:
                found.append(errno.errorcode[error.errno])
        return found
    assert confined(lambda: jail.restrict(programs=[str(tmp_path)]), codes) == [0, "EACCES"]


def test_no_tcp(wall):
    wall("Landlock TCP")
    with socket.create_server(("127.0.0.1", 0)) as server:
        def connect():
            socket.create_connection(server.getsockname(), 5).close()
            return "connected"

        def listen():
            socket.create_server(("127.0.0.1", 0)).close()
            return "listening"
        assert confined(lambda: None, connect) == "connected"
        assert confined(only_the_system, connect) == "EACCES"
        assert confined(only_the_system, listen) == "EACCES"


def test_no_signals_to_other_processes(wall):
    wall("Landlock signals")
    def own_child():
        pid = os.fork()
        if pid == 0:
            signal.pause()
        os.kill(pid, signal.SIGKILL)
        return os.waitpid(pid, 0)[1]
    parent = os.getpid()
    assert confined(lambda: None, lambda: os.kill(parent, 0)) is None
    assert confined(only_the_system, lambda: os.kill(parent, 0)) == "EPERM"
    assert confined(only_the_system, own_child) == signal.SIGKILL


def test_no_abstract_sockets_of_others(wall):
    wall("Landlock signals")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("")  # the kernel chooses an abstract name
        server.listen()
        def connect():
            with socket.socket(socket.AF_UNIX) as client:
                return client.connect(server.getsockname())
        assert confined(lambda: None, connect) is None
        assert confined(only_the_system, connect) == "EPERM"
