"""The walls around untrusted code, each a function that the process calls on itself, for good.

Standard library only (ctypes for what Python does not wrap): the jailed process imports this. ``apply`` puts up the
layers it is asked for and returns which of them stand; none can be taken down again from inside.

References: landlock(7), seccomp(2), user_namespaces(7), capset(2), and the kernel's syscall tables.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

ORDER: Final = ("netns", "uid", "landlock", "rlimits", "seccomp")
"""All layers, in the only order that works: each needs something that a later one takes away."""

NOBODY: Final = 65534
"""User and group that code gets when a root process jails it."""

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_SECCOMP_MODE_FILTER = 2
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_CAPABILITY_VERSION_3 = 0x20080522

# The three Landlock system calls have the same numbers on every architecture.
_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF = 444, 446
_LANDLOCK_VERSION_FLAG = 1

_FILTER_RETURN_ALLOW, _FILTER_RETURN_EPERM, _FILTER_KILL = 0x7FFF0000, 0x00050001, 0x80000000
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06


class LayerUnavailable(OSError):
    """The layer is not available on this machine, with this kernel, or to this user.

    It is an ``OSError``, with the error number where a system call failed.
    """


@dataclass(frozen=True, slots=True)
class Resources:
    """What the rlimits layer grants.

    Attributes:
        cpu_seconds: Seconds of processor time.
        memory_bytes: Bytes of address space.
    """

    cpu_seconds: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class _Machine:
    audit_arch: int
    syscalls: tuple[int, ...]


# What a Python interpreter with everything imported still needs: memory, time, futexes, signals to itself, reading and
# writing descriptors it already has, and exiting. No open, stat, socket, clone, exec, kill, prlimit, ioctl, ptrace.
_MACHINES: Final = {
    "x86_64": _Machine(
        0xC000003E,
        (
            0,  # read
            1,  # write
            3,  # close
            8,  # lseek
            9,  # mmap
            10,  # mprotect
            11,  # munmap
            12,  # brk
            13,  # rt_sigaction
            14,  # rt_sigprocmask
            15,  # rt_sigreturn
            24,  # sched_yield
            25,  # mremap
            28,  # madvise
            39,  # getpid
            60,  # exit
            96,  # gettimeofday
            131,  # sigaltstack
            186,  # gettid
            202,  # futex
            219,  # restart_syscall
            228,  # clock_gettime
            230,  # clock_nanosleep
            231,  # exit_group
            273,  # set_robust_list
            318,  # getrandom
            334,  # rseq
        ),
    ),
    # From the kernel's generic table; not yet run on a machine of this kind.
    "aarch64": _Machine(
        0xC00000B7,
        (
            57,  # close
            62,  # lseek
            63,  # read
            64,  # write
            93,  # exit
            94,  # exit_group
            98,  # futex
            99,  # set_robust_list
            113,  # clock_gettime
            115,  # clock_nanosleep
            124,  # sched_yield
            128,  # restart_syscall
            132,  # sigaltstack
            134,  # rt_sigaction
            135,  # rt_sigprocmask
            139,  # rt_sigreturn
            169,  # gettimeofday
            172,  # getpid
            178,  # gettid
            214,  # brk
            215,  # munmap
            216,  # mremap
            222,  # mmap
            226,  # mprotect
            233,  # madvise
            278,  # getrandom
            293,  # rseq
        ),
    ),
}


def apply(wanted: Iterable[str], resources: Resources, parent: int) -> tuple[tuple[str, ...], dict[str, str]]:
    """Put up the wanted layers; in any case, seal the process's memory and tie its life to its parent's.

    Args:
        wanted: Names from ``ORDER``; the order they are given in does not matter.
        resources: Grants of the rlimits layer.
        parent: Id of the parent process to die with.

    Returns:
        The layers that stand, in order, and why each of the other wanted ones does not.
    """
    layers: dict[str, Callable[[], None]] = {
        "netns": leave_network,
        "uid": become_nobody,
        "landlock": deny_files_and_network,
        "rlimits": partial(limit_resources, resources),
        "seccomp": filter_system_calls,
    }
    chosen = frozenset(wanted)
    standing: list[str] = []
    missing: dict[str, str] = {}
    for name in ORDER:
        if name == "landlock":
            # After the change of user, which undoes both; before seccomp, which forbids them.
            seal_memory()
            die_with_parent(parent)
        if name in chosen:
            try:
                layers[name]()
            except (OSError, ValueError) as error:
                missing[name] = str(error)
            else:
                standing.append(name)
    return tuple(standing), missing


def redirect_standard_streams() -> None:
    """Point descriptors 0, 1 and 2 at the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    if null > 2:
        os.close(null)


def close_descriptors(keep: int) -> int:
    """Close all descriptors but ``keep`` and the standard three, which lead nowhere already.

    Returns:
        The number that ``keep`` has afterwards: 3.
    """
    if keep != 3:
        os.dup2(keep, 3, inheritable=False)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    return 3


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; exit at once if it already has.

    The kernel's notion of the parent is the thread that forked (prctl(2), ``PR_SET_PDEATHSIG``); elsewhere than on
    Linux only the check at the start is made.
    """
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def warm() -> None:
    """Compute once, in a process that is going to be forked, what each child would need for its walls."""
    _libc()
    for prepare in (_landlock, _filter):
        with contextlib.suppress(OSError):
            prepare()


def die_first() -> None:
    """Let the kernel kill this process before any other when memory runs out: no draft may cost the zygote its life.

    Any process may raise its own score, and only root may lower it. Where it cannot be raised, the kernel chooses by
    size.
    """
    with contextlib.suppress(OSError):
        mark = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        try:
            os.write(mark, b"1000")
        finally:
            os.close(mark)


def seal_memory() -> None:
    """Keep other processes of the same user from tracing this one or reading its memory."""
    if sys.platform == "linux":
        _prctl(_PR_SET_DUMPABLE, 0)


def leave_network() -> None:
    """Move into an empty network namespace, where no interface is up, not even loopback.

    Root moves directly, other users by way of a new user namespace. Root without the right to do so does not get a user
    namespace instead: it would make the ``uid`` layer, which is worth more, impossible.

    Raises:
        LayerUnavailable: The system does not allow it.
    """
    _need_linux()
    flags = _CLONE_NEWNET if os.geteuid() == 0 else _CLONE_NEWUSER | _CLONE_NEWNET
    _check(_libc().unshare(flags), "unshare")
    if flags & _CLONE_NEWUSER:
        _drop_capabilities()


def become_nobody() -> None:
    """Drop root for good. An ordinary user has nothing to drop, so there the layer is missing.

    Raises:
        LayerUnavailable: This is not root, or the change did not take effect.
    """
    if os.geteuid() != 0:
        raise LayerUnavailable("not root: the code runs as the user who started hazardmill")
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    if os.getresuid() != (NOBODY,) * 3 or os.getresgid() != (NOBODY,) * 3:
        raise LayerUnavailable("the change of user did not take effect")


def landlock_version() -> int:
    """Return the version of the kernel's Landlock.

    Raises:
        LayerUnavailable: It has none.
    """
    _need_linux()
    version = _libc().syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_VERSION_FLAG)
    _check(version, "Landlock")
    return int(version)


def deny_files_and_network() -> None:
    """Deny file access, TCP and signals to other processes by Landlock, as far as the kernel's version knows them.

    The rule set is empty, so nothing is allowed.

    Raises:
        LayerUnavailable: The kernel has no Landlock.
    """
    attributes = _landlock()
    libc = _libc()
    ruleset = libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
    _check(ruleset, "Landlock ruleset")
    try:
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        _check(libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0), "Landlock restriction")
    finally:
        os.close(ruleset)


@cache
def _landlock() -> bytes:
    """Return ``struct landlock_ruleset_attr``, which grew by version: files, TCP (4), sockets and signals (6)."""
    version = landlock_version()
    fields = [(1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1]
    if version >= 4:
        fields.append(0b11)
    if version >= 6:
        fields.append(0b11)
    return struct.pack(f"={len(fields)}Q", *fields)


def limit_resources(resources: Resources) -> None:
    """Set the rlimits: CPU and memory; no file growth, core dump or further process; at most 16 descriptors.

    A hard limit that is lower already is kept.
    """
    for kind, soft, hard in (
        (resource.RLIMIT_CPU, resources.cpu_seconds, resources.cpu_seconds + 1),
        (resource.RLIMIT_AS, resources.memory_bytes, resources.memory_bytes),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NPROC, 0, 0),
        (resource.RLIMIT_NOFILE, 16, 16),
    ):
        ceiling = resource.getrlimit(kind)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(kind, (soft, hard))


def filter_system_calls() -> None:
    """Install a seccomp filter: the system calls of ``_MACHINES`` pass, all others fail with EPERM.

    Raises:
        LayerUnavailable: There is no table for this machine, or the kernel refuses the filter.
    """
    described = _filter()
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(described))


class _Program(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


@cache
def _filter() -> _Program:
    _need_linux()
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        raise LayerUnavailable(f"no table of system calls for {platform.machine()}")
    program = _filter_program(machine)
    # The structure keeps the bytes that it points to.
    return _Program(len(program) // 8, program)


def _filter_program(machine: _Machine) -> bytes:
    """Return the filter as classic BPF: check the architecture, then the call's number against the list."""

    def step(code: int, if_true: int, if_false: int, value: int) -> bytes:
        return struct.pack("=HBBI", code, if_true, if_false, value)

    count = len(machine.syscalls)
    steps = [
        step(_LOAD, 0, 0, 4),
        step(_JUMP_IF_EQUAL, 1, 0, machine.audit_arch),
        step(_RETURN, 0, 0, _FILTER_KILL),
        step(_LOAD, 0, 0, 0),
    ]
    # A match jumps over the remaining comparisons and the refusal, to the last step.
    steps += [step(_JUMP_IF_EQUAL, count - i, 0, number) for i, number in enumerate(machine.syscalls)]
    steps += [step(_RETURN, 0, 0, _FILTER_RETURN_EPERM), step(_RETURN, 0, 0, _FILTER_RETURN_ALLOW)]
    return b"".join(steps)


def _drop_capabilities() -> None:
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    _check(_libc().capset(header, bytes(24)), "capset")


def _need_linux() -> None:
    if sys.platform != "linux":
        raise LayerUnavailable(f"{sys.platform} has no such layer")


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    # Variadic arguments travel as whole registers.
    libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    libc.syscall.argtypes = [ctypes.c_long, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_ulong]
    libc.syscall.restype = ctypes.c_long
    return libc


def _prctl(option: int, value: int, pointer: int = 0) -> None:
    _check(_libc().prctl(option, value, pointer, 0, 0), f"prctl {option}")


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise LayerUnavailable(number, f"{what}: {os.strerror(number)}")
