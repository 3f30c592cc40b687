"""A seccomp filter for the sandbox: system calls that no Python program needs fail with ``EPERM``.

Bubblewrap takes the filter as a program of the kernel's classic BPF. It is a second wall: the namespaces already give
nothing to mount or trace. It keeps code away from the parts of the kernel where holes are found most often.
"""

from __future__ import annotations

import errno
import platform
import struct

LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER_AT, ARCHITECTURE_AT, ARGUMENT_AT = 0, 4, 16
"""Offsets in the kernel's ``struct seccomp_data``."""
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
X32_CALLS = 0x40000000
"""System calls of x86-64 with 32-bit pointers start here: other numbers for the same calls."""
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

REFUSED = {
    # name: (number on x86-64, number on ARM64); kernel sources, asm/unistd
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "semget": (64, 190),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "settimeofday": (164, 170),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
"""What leads out of the sandbox; slows the processes that watch; or takes memory that belongs to no process."""
PRLIMIT = (302, 261)
"""Refused for other processes: the limits of those that watch could be lowered."""


def filter_program() -> bytes | None:
    """The filter for this machine, or ``None`` where the numbers of its system calls are not known here."""
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        return None
    numbers = [pair[machine == "aarch64"] for pair in REFUSED.values()]
    checks = [(JUMP_IF_AT_LEAST, X32_CALLS)] if machine == "x86_64" else []
    checks += [(JUMP_IF_EQUAL, number) for number in numbers]
    program = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        # A call under another architecture has other numbers, so it is refused: the last instruction.
        (JUMP_IF_EQUAL, 0, len(checks) + 5, ARCHITECTURES[machine]),
        (LOAD, 0, 0, NUMBER_AT),
        *((code, len(checks) + 3 - place, 0, value) for place, (code, value) in enumerate(checks)),
        (JUMP_IF_EQUAL, 0, 2, PRLIMIT[machine == "aarch64"]),
        (LOAD, 0, 0, ARGUMENT_AT),
        (JUMP_IF_EQUAL, 0, 1, 0),  # process 0 is the caller
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
