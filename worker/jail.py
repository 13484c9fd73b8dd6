"""The inner layers of a worker's sandbox, put on by each child before it touches its job.

The zygote already runs inside the namespaces that the supervisor made. enter() adds what is per
job: private folders for temporary files and shared memory, and resource limits. It leaves no inherited
descriptor but the job's socket, no core dumps, no ptrace, no capabilities and no way to get them back.
restrict() adds what depends on the kind of job: the files that it may touch, the system calls that it
may make.
Every layer is tried and reported as {"name", "active", "detail"}; which layers a verdict demands is
the supervisor's decision.

System calls go through ctypes: the interpreter that runs the workers is the user's, and may be any
Python from 3.10 on.
"""

import ctypes
import os
import resource
import sys

import landlock
import seccomp

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS = 28, 38
SECUREBITS_LOCKED_NOROOT = 0x0F  # NOROOT and NO_SETUID_FIXUP, each with its lock
SYS_CAPSET = 126  # x86-64
CAPABILITY_VERSION_3 = 0x20080522
LAST_CAPABILITY = 63

DEFAULT_LIMITS = {
    "memory_bytes": 8 << 30,      # address space above what the zygote already maps
    "cpu_seconds": 600,
    "file_bytes": 256 << 20,
    "processes": 256,             # threads and processes above those of the same user
    "files": 256,
    "tmp_bytes": 1 << 30,
}

# Beside the interpreter's folders: shared libraries, and what the C library asks of the machine.
SYSTEM_FILES = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/sys/devices/system/cpu",
                "/proc/cpuinfo", "/proc/meminfo", "/dev/urandom", "/dev/random", "/dev/zero")
PROGRAM_LOADER = "/lib64/ld-linux-x86-64.so.2"

# Cleared by the zygote when the user wants no sandbox: then jobs keep all files and system calls.
restricted = True

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, "%s: %s" % (what, os.strerror(error)))
    return result


def _prctl(option, *args):
    padded = [ctypes.c_ulong(a) for a in args] + [ctypes.c_ulong(0)] * (4 - len(args))
    return _check(_libc.prctl(option, *padded), "prctl(%d)" % option)


def die_with_parent():
    _prctl(PR_SET_PDEATHSIG, 9)


def enter_pid_namespace_for_children():
    """The next fork becomes process 1 of a new pid namespace: when it ends, so do all that it
    started. Must be undone by leave_pid_namespace_for_children() before the next call."""
    _check(_libc.unshare(CLONE_NEWPID), "unshare(CLONE_NEWPID)")


def leave_pid_namespace_for_children(own_namespace):
    """`own_namespace` is an open /proc/self/ns/pid."""
    _check(_libc.setns(own_namespace, CLONE_NEWPID), "setns(pid)")


def _private_tmp(limits):
    _check(_libc.unshare(CLONE_NEWNS), "unshare(CLONE_NEWNS)")
    _check(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount private /")
    options = b"mode=1777,size=%d" % limits["tmp_bytes"]
    flags = MS_NOSUID | MS_NODEV
    for folder in (os.environ.get("TMPDIR") or "/tmp", "/dev/shm"):
        if os.path.isdir(folder):
            _check(_libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", flags, options),
                   "mount tmpfs on " + folder)


def _private_ipc(_):
    """Shared memory, semaphores and message queues of System V outlive the job that made them."""
    _check(_libc.unshare(CLONE_NEWIPC), "unshare(CLONE_NEWIPC)")


def _descriptors(keep):
    """Everything but `keep` goes; 0, 1 and 2 become /dev/null."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    previous = 2
    for fd in sorted(keep):
        os.closerange(previous + 1, fd)
        previous = fd
    os.closerange(previous + 1, os.sysconf("SC_OPEN_MAX"))


def _own_tasks():
    """Threads that count against this user's RLIMIT_NPROC, as far as /proc shows them."""
    uid, count = os.getuid(), 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.stat("/proc/" + name).st_uid == uid:
                    count += len(os.listdir("/proc/%s/task" % name))
            except OSError:
                pass  # it ended meanwhile
    return count


def _resource_limits(limits):
    with open("/proc/self/statm") as statm:
        mapped = int(statm.read().split()[0]) * resource.getpagesize()
    wanted = {
        resource.RLIMIT_AS: mapped + limits["memory_bytes"],
        resource.RLIMIT_CPU: limits["cpu_seconds"],
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_NPROC: _own_tasks() + limits["processes"],
        resource.RLIMIT_NOFILE: limits["files"],
        resource.RLIMIT_CORE: 0,
    }
    for which, value in wanted.items():
        hard = resource.getrlimit(which)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(which, (value, value))


def _drop_capabilities(_):
    for capability in range(LAST_CAPABILITY + 1):
        if _libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break  # past the last one this kernel has, or not allowed: capset below decides
    _libc.prctl(PR_SET_SECUREBITS, ctypes.c_ulong(SECUREBITS_LOCKED_NOROOT), 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _check(_libc.syscall(SYS_CAPSET, header, nothing), "capset")


def _layer(name, put_on, *args):
    """Puts one layer on, and what came of it."""
    try:
        put_on(*args)
        return {"name": name, "active": True, "detail": ""}
    except (OSError, ValueError) as error:
        return {"name": name, "active": False, "detail": str(error)}


def enter(limits, keep=()):
    """Puts on every layer that can be had and returns what was found. `keep`: descriptors that stay
    open. Called once, in a child, before anything that the job can influence runs."""
    limits = {**DEFAULT_LIMITS, **{k: int(v) for k, v in (limits or {}).items()
                                   if k in DEFAULT_LIMITS}}
    # Limits come before the mount so that /proc is still the one that belongs to this namespace.
    layers = [
        ("resource limits", _resource_limits),
        ("private /tmp", _private_tmp),
        ("private IPC", _private_ipc),
        ("no inherited descriptors", lambda _: _descriptors(keep)),
        ("no ptrace, no core dump", lambda _: _prctl(PR_SET_DUMPABLE, 0)),
        ("no capabilities", _drop_capabilities),
        ("no new privileges", lambda _: _prctl(PR_SET_NO_NEW_PRIVS, 1)),
    ]
    return [_layer(name, put_on, limits) for name, put_on in layers]


def _grants(folders, programs):
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    packages = [os.path.dirname(sys.modules[name].__file__)  # may lie outside of sys.path
                for name in ("torch", "triton") if name in sys.modules]
    read = {sys.prefix, sys.base_prefix, *sys.path, *packages, *libraries, *folders, *SYSTEM_FILES}
    run = {PROGRAM_LOADER, *programs} if programs else set()
    return [*((path, landlock.READ) for path in read - {""}),
            *((path, landlock.READ | landlock.EXECUTE) for path in run),
            (os.devnull, landlock.READ | landlock.WRITE),
            (os.environ.get("TMPDIR") or "/tmp", landlock.WRITE)]


def restrict(folders=(), programs=()):
    """Adds the last layers and returns which are active. From here on the job reads only its
    interpreter, the system's libraries and `folders`. It writes nowhere but in TMPDIR, and starts
    nothing but `programs` (files, or folders of them). System calls that no job needs fail. It is
    called after enter(), which rules out new privileges."""
    if not restricted:
        names = [*(name for name, _ in landlock.LAYERS), "system calls"]
        return [{"name": name, "active": False, "detail": "switched off"} for name in names]
    found = landlock.layers(_grants(folders, programs))
    return [*found, _layer("system calls", seccomp.restrict, bool(programs))]
