"""Programs without anybody's bytes in them. `pause` is the first process of a sandbox.

As the first process of its namespace it gets no signal that it does not ask for, and has to wait
for orphans; so it blocks TERM, INT and CHLD, waits for one of them, collects the dead at CHLD, and
ends with 0 at the others. Its system calls are those of Linux on x86-64: elsewhere a busybox plays
this part.
"""

from __future__ import annotations

import struct

__all__ = ["EFFECTIVE_USER", "PAUSE"]

_CODE = bytes.fromhex(
    "6802400100"  # push 0x14002: the set of INT, TERM and CHLD
    "4889e3"  # mov rbx, rsp
    "b80e00000031ff4889de31d241ba080000000f05"  # rt_sigprocmask(SIG_BLOCK, set, 0, 8)
    "b8800000004889df31f631d241ba080000000f05"  # wait: rt_sigtimedwait(set, 0, 0, 8)
    "83f811751e"  # cmp eax, CHLD; jne done
    "b83d00000048c7c7ffffffff31f6ba010000004531d20f05"  # reap: wait4(-1, 0, WNOHANG, 0)
    "85c07fe4ebc9"  # test eax, eax; jg reap; jmp wait
    "83f8007cc4"  # done: cmp eax, 0; jl wait, as a debugger interrupts it
    "b83c00000031ff0f05"  # exit(0)
)
_TEXT = b"Effective uid: "
_TELLS = bytes.fromhex(
    "b86b0000000f05"  # geteuid()
    "4883ec40488d7c243fc6070ab90a000000"  # room for digits from the end, a line feed, divide by 10
    "31d2f7f180c23048ffcf881785c075f0"  # digit: the rest is the next one, until nothing is left
    "4889fb"  # where they begin
    "b801000000bf01000000488d3527000000ba0f0000000f05"  # write(1, text, 15)
    "b801000000bf010000004889de488d5424404829da0f05"  # write(1, digits, as many as there are)
    "b83c00000031ff0f05"  # exit(0)
)
_BASE = 0x400000
_HEADERS = 64 + 56
_X86_64 = 62


def _program(code: bytes) -> bytes:
    """An executable of one segment, which is read and run, not written."""
    size = _HEADERS + len(code)
    identity = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        identity,
        2,  # an executable
        _X86_64,
        1,
        _BASE + _HEADERS,  # where it starts
        64,  # where its one program header lies
        0,
        0,
        64,
        56,
        1,
        0,
        0,
        0,
    )
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 0x1000)
    return header + segment + code


PAUSE = _program(_CODE)
"""Under 300 bytes."""
EFFECTIVE_USER = _program(_TELLS + _TEXT)
"""Tells for which user it acts, `Effective uid: 0`: with the setuid bit it shows whether a process
may gain privileges."""
