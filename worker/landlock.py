"""Landlock: a process gives up all files but those named to it, TCP, and signals to others.

From then on the kernel checks every path that is opened against rules for inodes, in addition to mounts
and permissions. Descriptors that are open already stay as they are. The ABI number says what a kernel
supports: files from 2 on, TCP from 4, signals and abstract sockets from 6. ABI 1 is of no use, because
it refuses every rename from one folder to another, and Triton's cache needs them.

Constants are of linux/landlock.h; the system's header may be older than its kernel.
"""

import ctypes
import os
import stat

SYS_CREATE_RULESET, SYS_ADD_RULE, SYS_RESTRICT_SELF = 444, 445, 446
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1
LOG_SAME_EXEC_OFF = 1  # ABI 7: the kernel's log is not a job's to fill

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
REFER, TRUNCATE = 1 << 13, 1 << 14
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE  # the rest makes sense for folders alone

READ = READ_FILE | READ_DIR
WRITE = (READ | WRITE_FILE | TRUNCATE | REFER | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG)

# (what is given up, first ABI)
LAYERS = FILES, TCP, SIGNALS = ("Landlock files", 2), ("Landlock TCP", 4), ("Landlock signals", 6)

_libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    """What is refused unless a rule allows it. An older kernel takes the start of it."""
    _fields_ = [("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Rule(ctypes.Structure):
    _fields_ = [("access", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def _call(number, *args):
    result = _libc.syscall(ctypes.c_long(number), *args)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def abi():
    """The kernel's ABI number. OSError where there is no Landlock."""
    return _call(SYS_CREATE_RULESET, None, ctypes.c_size_t(0), CREATE_RULESET_VERSION)


def _all_file_accesses(version):
    # 13 of ABI 1, then one with each of 2 (REFER), 3 (TRUNCATE) and 5 (IOCTL_DEV).
    return (1 << (13 + (version >= 2) + (version >= 3) + (version >= 5))) - 1


def _allow(ruleset, handled, path, access):
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no rule
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            access &= OF_FILES
        rule = _Rule(access & handled, fd)
        _call(SYS_ADD_RULE, ruleset, RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(fd)


def restrict(grants):
    """Leaves this thread, and all that it starts, the accesses of `grants` ((path, access) pairs,
    folders with all below them) and neither TCP nor signals to outside. Needs no_new_privs. Returns
    the ABI that was used; OSError when nothing was given up."""
    version = abi()
    if version < FILES[1]:
        raise OSError("this kernel's Landlock (ABI %d) refuses renames between folders" % version)
    handled = _Ruleset(_all_file_accesses(version), 3 if version >= TCP[1] else 0,
                       3 if version >= SIGNALS[1] else 0)
    size = 8 * (1 + (version >= TCP[1]) + (version >= SIGNALS[1]))
    ruleset = _call(SYS_CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(size), 0)
    try:
        for path, access in grants:
            _allow(ruleset, handled.files, path, access)
        _call(SYS_RESTRICT_SELF, ruleset, LOG_SAME_EXEC_OFF if version >= 7 else 0)
    finally:
        os.close(ruleset)
    return version


def layers(grants):
    """restrict(), and what came of it as layers of the sandbox."""
    try:
        version, problem = restrict(grants), None
    except OSError as error:
        version, problem = 0, "no Landlock: %s" % error
    return [{"name": name, "active": version >= needed,
             "detail": "" if version >= needed else
             problem or "this kernel's Landlock (ABI %d) does not know it" % version}
            for name, needed in LAYERS]
