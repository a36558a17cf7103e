"""Which system calls a container may make (OCI runtime-spec, linux.seccomp; CRI SecurityProfile).

A profile of the node (Localhost) is in the format that container engines share: names and
arguments as in OCI, with rules that may hang on capabilities and machines.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code, Refused

__all__ = ["profile_path", "seccomp"]

_EPERM, _ENOSYS = 1, 38
_DENIED: dict[str, tuple[str, ...]] = {
    "CAP_SYS_ADMIN": (
        *("bpf", "fanotify_init", "fsconfig", "fsmount", "fsopen", "fspick", "lookup_dcookie"),
        *("mount", "mount_setattr", "move_mount", "open_tree", "perf_event_open", "pivot_root"),
        *("quotactl", "quotactl_fd", "setdomainname", "sethostname", "setns", "swapoff", "swapon"),
        *("umount", "umount2", "unshare"),
    ),
    "CAP_SYS_BOOT": ("kexec_file_load", "kexec_load", "reboot"),
    "CAP_SYS_MODULE": ("delete_module", "finit_module", "init_module"),
    "CAP_SYS_PACCT": ("acct",),
    "CAP_SYS_RAWIO": ("ioperm", "iopl"),
    "CAP_SYS_TIME": ("adjtimex", "clock_adjtime", "clock_settime", "settimeofday", "stime"),
    "CAP_SYS_TTY_CONFIG": ("vhangup",),
    "CAP_DAC_READ_SEARCH": ("open_by_handle_at",),
    "": (
        *("add_key", "keyctl", "request_key", "userfaultfd", "nfsservctl", "uselib", "ustat"),
        *("sysfs", "_sysctl", "create_module", "get_kernel_syms", "query_module", "vm86"),
        *("vm86old", "io_uring_enter", "io_uring_register", "io_uring_setup", "move_pages"),
        *("migrate_pages", "mbind", "set_mempolicy"),
    ),
}
"""Refused by RuntimeDefault, unless a container has the capability: what acts on the machine beyond
any namespace, or has been a way out of one."""
_NEW_NAMESPACES = 0x7E020000  # the CLONE_NEW* flags of clone(2)
_MASKED_EQUAL = "SCMP_CMP_MASKED_EQ"
_ARCHITECTURES = {
    "x86_64": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
    "aarch64": ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
}
_LOCALHOST = "localhost/"


def profile_path(context: Any) -> str:
    """Of the node's file that a container asks for; empty where it asks for none. The structured
    field wins over the old one. INVALID_ARGUMENT for a path that is not absolute."""
    if context.HasField("seccomp"):
        if context.seccomp.profile_type != pb.SecurityProfile.Localhost:
            return ""
        path = context.seccomp.localhost_ref
    elif context.seccomp_profile_path.startswith(_LOCALHOST):
        path = context.seccomp_profile_path.removeprefix(_LOCALHOST)
    else:
        return ""
    if not path.startswith("/"):
        raise Refused(
            Code.INVALID_ARGUMENT,
            f"the seccomp profile {path!r} is no absolute path: localhost_ref is the whole one",
        )
    return str(path)


def seccomp(
    context: Any, granted: Collection[str], machine: str, profile: str = ""
) -> dict[str, Any] | None:
    """`linux.seccomp`; None where nothing is refused: nothing is asked for, or it is privileged.
    granted: its capabilities. machine: as uname(2) calls it. profile: the text of the file at
    `profile_path`. INVALID_ARGUMENT for one that is none."""
    if context.privileged:
        return None
    if profile_path(context):
        return _read(profile, granted, machine)
    if context.HasField("seccomp"):
        wanted = context.seccomp.profile_type == pb.SecurityProfile.RuntimeDefault
    else:
        wanted = context.seccomp_profile_path in ("runtime/default", "docker/default")
    return _default(granted, machine) if wanted else None


def _default(granted: Collection[str], machine: str) -> dict[str, Any]:
    names = [
        name for capability, calls in _DENIED.items() if capability not in granted for name in calls
    ]
    rules: list[dict[str, Any]] = [_refused(names, _EPERM)]
    if "CAP_SYS_ADMIN" not in granted:
        # clone3 has its flags in memory, where no filter can look: libraries fall back to clone.
        rules.append(_refused(["clone3"], _ENOSYS))
        for bit in range(_NEW_NAMESPACES.bit_length()):
            flag = 1 << bit
            if flag & _NEW_NAMESPACES:
                argument = {"index": 0, "value": flag, "valueTwo": flag, "op": _MASKED_EQUAL}
                rules.append({**_refused(["clone"], _EPERM), "args": [argument]})
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": _ARCHITECTURES.get(machine, []),
        "syscalls": rules,
    }


def _refused(names: list[str], number: int) -> dict[str, Any]:
    return {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": number}


def _read(text: str, granted: Collection[str], machine: str) -> dict[str, Any]:
    try:
        told = json.loads(text)
        rules = [_rule(each) for each in told.get("syscalls") or () if _holds(each, granted)]
        action = str(told["defaultAction"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refused(
            Code.INVALID_ARGUMENT,
            f"the seccomp profile cannot be read: {error!r}; it is a JSON object with"
            " defaultAction and syscalls",
        ) from None
    read: dict[str, Any] = {"defaultAction": action, "syscalls": rules}
    read["architectures"] = told.get("architectures") or _ARCHITECTURES.get(machine, [])
    for name in ("defaultErrnoRet", "flags", "listenerPath", "listenerMetadata"):
        if told.get(name) is not None:
            read[name] = told[name]
    return read


def _holds(rule: dict[str, Any], granted: Collection[str]) -> bool:
    """Whether a rule that hangs on capabilities counts."""
    includes = (rule.get("includes") or {}).get("caps") or ()
    excludes = (rule.get("excludes") or {}).get("caps") or ()
    return all(cap in granted for cap in includes) and not any(cap in granted for cap in excludes)


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    """One rule with the members that OCI knows; a single name is a list of one."""
    names = rule.get("names") or [rule["name"]]
    made: dict[str, Any] = {"names": names, "action": rule["action"]}
    made |= {key: rule[key] for key in ("errnoRet", "args") if rule.get(key) is not None}
    return made
