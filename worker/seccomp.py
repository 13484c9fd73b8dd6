"""seccomp: the system calls that a job may make; all others are answered with an error.

The list has the calls that jobs of each kind were seen to use. It also has similar harmless calls,
which another torch, triton or glibc may need. These are calls for files (which Landlock and the mounts
guard), memory, threads and clocks, and for sending over the socket that is there.

There are no sockets, mounts, namespaces, tracing, keys, bpf or io_uring. A job may start processes only
if it is to start programs. The limit on processes does not bind root, and a fork bomb keeps the cores
busy long after it was killed.

A call that is not on the list fails with EPERM. Calls from 424 on, which Linux 5.1 and later have, fail
with ENOSYS, as they do on older kernels, which every libc supports. One of them is clone3: glibc tries
it before clone, and a filter cannot see its flags. Nothing is killed: what fails says so in its own
words.

x86-64 only. The calls of its two other interfaces, i386 and x32, are refused like unknown ones.
"""

import ctypes
import errno
import os
import struct

_ALLOWED = """
read 0 write 1 close 3 stat 4 fstat 5 lstat 6 poll 7 lseek 8 pread64 17 pwrite64 18 readv 19
writev 20 access 21 pipe 22 select 23 dup 32 dup2 33 sendfile 40 fcntl 72 flock 73 fsync 74
fdatasync 75 truncate 76 ftruncate 77 getdents 78 getcwd 79 chdir 80 fchdir 81 rename 82 mkdir 83
rmdir 84 creat 85 link 86 unlink 87 symlink 88 readlink 89 chmod 90 fchmod 91 umask 95 utime 132
statfs 137 fstatfs 138 open 2 getxattr 191 lgetxattr 192 fgetxattr 193 listxattr 194 llistxattr 195
flistxattr 196 getdents64 217 fadvise64 221 utimes 235 openat 257 mkdirat 258 newfstatat 262
unlinkat 263 renameat 264 linkat 265 symlinkat 266 readlinkat 267 fchmodat 268 faccessat 269
pselect6 270 ppoll 271 utimensat 280 fallocate 285 dup3 292 pipe2 293 preadv 295 pwritev 296
renameat2 316 memfd_create 319 copy_file_range 326 preadv2 327 pwritev2 328 statx 332
close_range 436 faccessat2 439 fchmodat2 452

mmap 9 mprotect 10 munmap 11 brk 12 mremap 25 msync 26 mincore 27 madvise 28 mlock 149 munlock 150
get_mempolicy 239 membarrier 324

rt_sigaction 13 rt_sigprocmask 14 rt_sigreturn 15 sched_yield 24 pause 34 getpid 39 exit 60
wait4 61 kill 62 uname 63 getrlimit 97 getrusage 98 sysinfo 99 times 100 getuid 102
getgid 104 geteuid 107 getegid 108 setpgid 109 getppid 110 getpgrp 111 setsid 112 getgroups 115
getresuid 118 getresgid 120 getpgid 121 getsid 124 capget 125 rt_sigpending 127 rt_sigtimedwait 128
rt_sigsuspend 130 sigaltstack 131 getpriority 140 sched_getparam 143 sched_getscheduler 145
sched_get_priority_max 146 sched_get_priority_min 147 arch_prctl 158 gettid 186 futex 202
sched_setaffinity 203 sched_getaffinity 204 set_tid_address 218 restart_syscall 219 exit_group 231
tgkill 234 waitid 247 set_robust_list 273 prlimit64 302 getcpu 309 rseq 334
futex_waitv 449

nanosleep 35 getitimer 36 alarm 37 setitimer 38 gettimeofday 96 time 201 clock_gettime 228
clock_getres 229 clock_nanosleep 230 getrandom 318

sendto 44 recvfrom 45 sendmsg 46 recvmsg 47 shutdown 48 getsockname 51 getpeername 52 getsockopt 55
"""
FORK, VFORK, EXECVE = 57, 58, 59

# Calls that depend on an argument: number, which argument, and the values that it may have.
_IOCTL = (16, 1, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451))
#                 TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
_PRCTL = (157, 0, (15, 16, 0x53564D41))  # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA
# clone, when it asks for no namespace of its own; without CLONE_THREAD it makes a process
_CLONE, _NAMESPACES, _THREAD = 56, 0x7E020000, 0x00010000
_FIRST_NEW_CALL = 424

_ARCH_X86_64 = 0xC000003E
_AT_NUMBER, _AT_ARCH, _AT_ARGUMENTS = 0, 4, 16  # in struct seccomp_data
_LOAD, _EQUAL, _ABOVE, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06
_ALLOW = 0x7FFF0000
_REFUSE, _UNKNOWN = (0x00050000 | number for number in (errno.EPERM, errno.ENOSYS))

_SYS_SECCOMP, _SET_MODE_FILTER = 317, 1
_SPECULATION_ALLOWED = 4  # the mitigation, which older kernels add unasked, slows all that follows


def allowed():
    """name -> number of the calls that are allowed whatever their arguments."""
    words = _ALLOWED.split()
    return dict(zip(words[::2], map(int, words[1::2])))


def _step(code, value, when_true=0, when_false=0):
    return struct.pack("HBBI", code, when_true, when_false, value)


def _answer(verdict):
    return _step(_RETURN, verdict)


def _ranges(numbers):
    """Runs of consecutive numbers: [[first, last]]."""
    runs = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def _on_argument(number, argument, tests):
    """Steps for one call: the tests on the low word of its argument, each of which may answer."""
    body = [_step(_LOAD, _AT_ARGUMENTS + 8 * argument), *tests]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _one_of(values):
    tests = []
    for value in values:
        tests += [_step(_EQUAL, value, 0, 1), _answer(_ALLOW)]
    return [*tests, _answer(_REFUSE)]


def program(executes):
    """The filter as bytes of struct sock_filter."""
    numbers = [*allowed().values(), *([FORK, VFORK, EXECVE] if executes else [])]
    clones = [_step(_ANY_BIT, _NAMESPACES, 0, 1), _answer(_REFUSE)]
    if not executes:
        clones += [_step(_ANY_BIT, _THREAD, 1, 0), _answer(_REFUSE)]
    steps = [_step(_LOAD, _AT_ARCH), _step(_EQUAL, _ARCH_X86_64, 1, 0), _answer(_UNKNOWN),
             _step(_LOAD, _AT_NUMBER)]
    for number, argument, values in (_IOCTL, _PRCTL):
        steps += _on_argument(number, argument, _one_of(values))
    steps += _on_argument(_CLONE, 0, [*clones, _answer(_ALLOW)])
    for first, last in _ranges(numbers):  # in order: what is above the last of one is in the next
        steps += [_step(_ABOVE, last, 2, 0), _step(_AT_LEAST, first, 0, 1), _answer(_ALLOW)]
    return b"".join([*steps, _step(_AT_LEAST, _FIRST_NEW_CALL, 0, 1), _answer(_UNKNOWN),
                     _answer(_REFUSE)])


# Ready before the fork, so that a job pays for the system call alone.
_PROGRAMS = {executes: program(executes) for executes in (False, True)}
_libc = ctypes.CDLL(None, use_errno=True)


class _SockFprog(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def restrict(executes=False):
    """Puts the filter on this thread and all that it starts, for good; `executes`: programs
    may be started. Needs no_new_privs. OSError where the kernel refuses."""
    code = _PROGRAMS[executes]
    if _libc.syscall(ctypes.c_long(_SYS_SECCOMP), _SET_MODE_FILTER, _SPECULATION_ALLOWED,
                     ctypes.byref(_SockFprog(len(code) // 8, code))) < 0:
        error = ctypes.get_errno()
        raise OSError(error, "seccomp: " + os.strerror(error))
