"""The system call filter, run by a small interpreter of classic BPF; the walls themselves are tested by the attacks."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.sandbox.process import isolation

MACHINES = isolation._MACHINES
ALLOW, EPERM, KILL = 0x7FFF0000, 0x00050001, 0x80000000

# Numbers of system calls that must never pass, from the kernel's tables.
FORBIDDEN = {
    "x86_64": {
        "open": 2, "stat": 4, "ioctl": 16, "dup2": 33, "socket": 41, "connect": 42, "sendto": 44, "clone": 56,
        "fork": 57, "vfork": 58, "execve": 59, "kill": 62, "ptrace": 101, "prctl": 157, "tkill": 200, "tgkill": 234,
        "openat": 257, "unshare": 272, "prlimit64": 302, "process_vm_readv": 310, "seccomp": 317, "bpf": 321,
        "execveat": 322, "io_uring_setup": 425, "pidfd_send_signal": 424, "clone3": 435, "openat2": 437,
    },
    "aarch64": {
        "ioctl": 29, "openat": 56, "unshare": 97, "ptrace": 117, "kill": 129, "tkill": 130, "tgkill": 131,
        "prctl": 167, "socket": 198, "connect": 203, "sendto": 206, "clone": 220, "execve": 221, "prlimit64": 261,
        "process_vm_readv": 270, "seccomp": 277, "bpf": 280, "execveat": 281, "io_uring_setup": 425,
        "pidfd_send_signal": 424, "clone3": 435, "openat2": 437,
    },
}  # fmt: skip


def verdict(machine: str, call: int, arch: int | None = None) -> int:
    """What the kernel would do: ``struct seccomp_data`` begins with the call's number, then the architecture."""
    data = struct.pack("=II", call, MACHINES[machine].audit_arch if arch is None else arch)
    program = list(struct.iter_unpack("=HBBI", isolation._filter_program(MACHINES[machine])))
    at, loaded = 0, 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        if code == 0x20:
            (loaded,) = struct.unpack_from("=I", data, value)
        elif code == 0x15:
            at += if_true if loaded == value else if_false
        else:
            assert code == 0x06
            return value


@pytest.mark.parametrize("machine", MACHINES)
@given(call=st.integers(0, 600) | st.integers(0, 2**32 - 1))
def test_exactly_the_listed_calls_pass(machine: str, call: int) -> None:
    assert verdict(machine, call) == (ALLOW if call in MACHINES[machine].syscalls else EPERM)


@pytest.mark.parametrize("machine", MACHINES)
def test_dangerous_calls_are_not_listed(machine: str) -> None:
    assert [name for name, call in FORBIDDEN[machine].items() if verdict(machine, call) != EPERM] == []


def test_the_x32_variant_of_a_listed_call_fails() -> None:
    assert verdict("x86_64", 0x40000000) == EPERM


def test_a_call_in_another_architecture_kills() -> None:
    assert verdict("x86_64", 0, arch=0x40000003) == KILL


def test_an_unknown_machine_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation.platform, "machine", lambda: "riscv64")
    isolation._filter.cache_clear()
    with pytest.raises(isolation.LayerUnavailable, match="riscv64"):
        isolation.filter_system_calls()
