"""The innermost walls of a job, Landlock's and seccomp's: each tried from a real job or from a
process restricted in the same way, once without the wall where that tells something."""

import ctypes
import errno
import json
import mmap
import os
import re
import signal
import socket
import subprocess
import threading

import jail
import landlock
import pytest
import seccomp

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
    paths = tuple(own % name for name in ("a", "b", "a/x", "a/x", "b/x"))
    calls = "[os.mkdir(%s), os.mkdir(%s), open(%s, 'w').write('x'), os.rename(%s, %s)]" % paths
    assert attempt(calls) == [None, None, 1, None]


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
    assert attempt("__import__('sqlite3').__name__") == "sqlite3"  # not imported yet


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


def call(number, *args):
    """A system call's result, or OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(*(ctypes.c_long(arg) for arg in (number, *args)))
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


# With arguments that make no sense, which the kernel itself finds other faults with than EPERM.
FOR_EVERYONE = {"ptrace": 101, "personality": 135, "add_key": 248, "keyctl": 250, "unshare": 272,
                "perf_event_open": 298, "setns": 308, "process_vm_readv": 310,
                "process_vm_writev": 311, "socket": 41, "socketpair": 53, "connect": 42,
                "setsockopt": 54, "mq_open": 240, "shmget": 29}
FOR_ROOT = {"mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "kexec_load": 246,
            "init_module": 175, "finit_module": 313, "bpf": 321, "userfaultfd": 323,
            "name_to_handle_at": 303, "open_by_handle_at": 304, "setuid": 105,
            "seccomp": 317, "execve": 59, "execveat": 322, "mknod": 133, "chown": 92}
SINCE_5_1 = {"pidfd_send_signal": 424, "io_uring_setup": 425, "open_tree": 428, "fsopen": 430,
             "pidfd_open": 434, "clone3": 435, "openat2": 437, "pidfd_getfd": 438,
             "memfd_secret": 447, "not yet thought of": 1000}
NONSENSE = [-1] * 6


def refusals(calls):
    found = {}
    for name, number in calls.items():
        try:
            found[name] = call(number, *NONSENSE)
        except OSError as error:
            found[name] = errno.errorcode[error.errno]
    return found


def test_system_calls_that_no_job_needs_fail(wall):
    wall("system calls")
    without = confined(lambda: None, lambda: refusals(FOR_EVERYONE))
    assert "EPERM" not in without.values(), without
    calls = {**FOR_EVERYONE, **FOR_ROOT}
    assert confined(seccomp.restrict, lambda: refusals(calls)) == dict.fromkeys(calls, "EPERM")
    assert confined(seccomp.restrict, lambda: refusals(SINCE_5_1)) == dict.fromkeys(
        SINCE_5_1, "ENOSYS")


def test_calls_depend_on_their_arguments(wall):
    wall("system calls")
    new_user, thread_name, dumpable, push_character = 0x10000000, 16, 4, 0x5412
    assert confined(seccomp.restrict, lambda: call(56, new_user | 17, 0, 0, 0, 0)) == "EPERM"
    buffer = ctypes.create_string_buffer(16)
    assert confined(seccomp.restrict, lambda: call(157, thread_name, ctypes.addressof(buffer))) == 0
    assert confined(lambda: None, lambda: call(157, dumpable, 0)) == 0
    assert confined(seccomp.restrict, lambda: call(157, dumpable, 0)) == "EPERM"
    assert confined(lambda: None, lambda: call(16, -1, push_character, 0)) == "EBADF"
    assert confined(seccomp.restrict, lambda: call(16, -1, push_character, 0)) == "EPERM"


def test_the_other_interfaces_of_x86_are_refused(wall):
    wall("system calls")
    x32_getpid = 0x40000000 | 39
    assert confined(seccomp.restrict, lambda: call(x32_getpid)) == "ENOSYS"

    def i386_getpid():
        code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        code.write(b"\xb8\x14\0\0\0\xcd\x80\xc3")  # mov eax, 20; int 0x80; ret
        function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
        return function() == os.getpid()
    if confined(lambda: None, i386_getpid):  # else the kernel has no such interface
        assert confined(seccomp.restrict, i386_getpid) is False


def test_what_programs_are_made_of_still_works(wall):
    wall("system calls")

    def work():
        thread = threading.Thread(target=lambda: done.append(1))
        done = []
        thread.start()
        thread.join()
        return [*done, subprocess.run(["/bin/sh", "-c", "exit 7"]).returncode]
    assert confined(lambda: seccomp.restrict(executes=True), work) == [1, 7]
    assert confined(seccomp.restrict, work) == "EPERM"


def test_only_a_job_that_starts_programs_has_processes(wall, attempt):
    wall("system calls")
    fork, vfork, clone, child_ends = 57, 58, 56, signal.SIGCHLD

    def forked(*arguments):
        pid = call(*arguments)
        if pid == 0:
            os._exit(3)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    for arguments in ((fork,), (clone, child_ends, 0, 0, 0, 0)):
        assert confined(lambda: None, lambda: forked(*arguments)) == 3
        assert confined(lambda: seccomp.restrict(executes=True), lambda: forked(*arguments)) == 3
        assert confined(seccomp.restrict, lambda: forked(*arguments)) == "EPERM"
    assert confined(seccomp.restrict, lambda: forked(vfork)) == "EPERM"
    assert attempt("os.fork()") == "EPERM"
    assert attempt("[t.start() or t.join() for t in [__import__('threading').Thread()]]") == [None]


def test_a_job_has_no_sockets_and_no_namespaces(wall, attempt):
    wall("system calls")
    assert attempt("socket.socket()") == "EPERM"
    assert attempt("socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)") == "EPERM"
    assert attempt("os.execve('/nonexistent', ['x'], {})") == "EPERM"
    unshare_nothing = "(ctypes.CDLL(None, use_errno=True).unshare(0), ctypes.get_errno())"
    assert confined(lambda: None, lambda: call(272, 0)) == 0
    assert attempt(unshare_nothing) == [-1, errno.EPERM]


def test_the_numbers_are_the_systems():
    path = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
    if not os.path.exists(path):
        path = "/usr/include/asm/unistd_64.h"
    if not os.path.exists(path):
        pytest.skip("no header with the system calls' numbers here")
    with open(path) as header:
        numbers = dict(re.findall(r"#define __NR_(\w+) (\d+)", header.read()))
    known = {name: number for name, number in seccomp.allowed().items() if name in numbers}
    assert len(known) > 150
    assert known == {name: int(numbers[name]) for name in known}


def test_no_sandbox_leaves_them_out(tools, tmp_path):
    """For models that must read from elsewhere; said in the layers."""
    (tmp_path / "data.txt").write_text("numbers")
    client = tools.Client("--no-sandbox")
    layers = {layer["name"]: layer for layer in client.ready["sandbox"]}
    for name in ("Landlock files", "Landlock TCP", "Landlock signals", "system calls"):
        assert not layers[name]["active"] and layers[name]["detail"] == "switched off"
    source = "raise ValueError(open(%r).read())\n" % str(tmp_path / "data.txt")
    assert client.run(tools.request(source))[0]["message"].endswith("ValueError: numbers")
    client.close()
