"""What runtimes do differently, as data: one value for every choice that a runtime has made.

`strict` is the specification; the others are what the programs of that name do, deviations
included, so that a plugin can be tried against them without installing one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from refimpl.cni.contract import Verb
from refimpl.cni.runtime.choices import Answers, Cache, Pods, Policy, Profile, Requests

__all__ = ["PROFILES", "Profile", "profile"]

NO_END_S: Final = 24 * 3600.0
"""The deadline of a runtime that has none."""

_STRICT = Profile(
    name="strict",
    note="CNI 1.1 and its conventions",
    requests=Requests(
        document="exact",
        environment="verb",
        kept=("PATH", "HOME", "LANG", "TMPDIR", "XTABLES_LOCKFILE"),
    ),
    answers=Answers(reader="exact", convert=True),
    cache=Cache(begin=True, verify=True, needed_by_check=True, later="cached", gc_from="cached"),
    policy=Policy(
        deadlines={
            Verb.ADD: 120.0,
            Verb.DEL: 60.0,
            Verb.CHECK: 60.0,
            Verb.STATUS: 10.0,
            Verb.GC: 60.0,
            Verb.VERSION: 10.0,
        },
        busy=(6, 1.0),
        again="refuse",
        clean=True,
        skip_unrun=True,
        old_check="skip",
        future_version="refuse",
        one_at_a_time=True,
        check_netns=True,
        check_names=True,
        gc_without_list="refuse",
        gc_unreadable_cache="error",
    ),
    pods=Pods(
        loopback="netlink",
        spelling="conventions",
        args="fixed",
        daemon_args=False,
        capabilities=(
            "portMappings",
            "bandwidth",
            "dns",
            "ips",
            "mac",
            "aliases",
            "cgroupPath",
            "io.kubernetes.cri.pod-annotations",
        ),
        static="capabilities",
        empty="empty",
        one_sided=True,
        aliases="list",
        burst=0,
        networks=1,
        attach="all",
        bad_file="skip",
        validate=False,
        parallel=False,
        delete="reverse",
        on_delete_error="continue",
        forgive=(),
        check=True,
        status="all",
        gc="asked",
        forget=False,
        need_ip=False,
    ),
)

_LIBCNI = Profile(
    name="libcni",
    note="libcni 1.3.1 as cnitool uses it",
    requests=Requests(
        document="go",
        environment="inherited",
        # libcni kept the key of the tagged text beside the present one.
        gc_keys=("cni.dev/valid-attachments", "cni.dev/attachments"),
        # Plugins of old libraries refuse VERSION without these.
        probe={"CNI_NETNS": "dummy", "CNI_IFNAME": "dummy", "CNI_PATH": "dummy"},
    ),
    answers=Answers(reader="go", convert=False),
    cache=Cache(
        begin=False, verify=False, needed_by_check=False, later="current", gc_from="current"
    ),
    policy=Policy(
        deadlines=dict.fromkeys(Verb, NO_END_S),
        # It means to try six times, but the second start of one exec.Cmd is an error.
        busy=(1, 1.0),
        again="allow",
        clean=False,
        skip_unrun=False,
        old_check="error",
        future_version="send",
        one_at_a_time=False,
        check_netns=False,
        check_names=False,
        gc_without_list="all",
        gc_unreadable_cache="skip",
    ),
    # cnitool knows no pods; this is the least that makes one.
    pods=attrs.evolve(
        _STRICT.pods, capabilities=(), delete="forward", on_delete_error="halt", check=False
    ),
)

_GO_CNI = attrs.evolve(
    _LIBCNI,
    name="go-cni",
    note="containerd 2.4.2 with go-cni 1.1.14",
    policy=attrs.evolve(
        _LIBCNI.policy,
        # RunPodSandbox of a kubelet: twice its two minutes; STATUS has no end at all.
        deadlines={**_LIBCNI.policy.deadlines, Verb.ADD: 240.0, Verb.DEL: 120.0},
        clean=True,
    ),
    pods=Pods(
        loopback="exec",
        spelling="go",
        args="random",
        daemon_args=False,
        capabilities=(
            "io.kubernetes.cri.pod-annotations",
            "portMappings",
            "bandwidth",
            "dns",
            "cgroupPath",
        ),
        static="never",
        empty="null",
        one_sided=False,
        aliases="list",
        burst=2**32 - 1,
        networks=1,
        attach="all",
        bad_file="fail",
        validate=False,
        parallel=True,
        delete="forward",
        on_delete_error="halt",
        forgive=("not found",),
        check=False,
        status="all",
        gc="never",
        forget=True,
        need_ip=True,
        index="die",
    ),
)

_OCICNI = attrs.evolve(
    _LIBCNI,
    name="ocicni",
    note="CRI-O with ocicni 0.5.0 and libcni 1.3.0",
    # The list is a Go slice that nothing was appended to.
    requests=attrs.evolve(_LIBCNI.requests, gc_none="null"),
    cache=attrs.evolve(_LIBCNI.cache, later="cached"),
    policy=attrs.evolve(
        _LIBCNI.policy,
        deadlines={**_LIBCNI.policy.deadlines, Verb.ADD: 300.0, Verb.DEL: 60.0, Verb.GC: 30.0},
        clean=True,
        one_at_a_time=True,
    ),
    pods=Pods(
        loopback="netlink",
        spelling="conventions",
        args="fixed",
        daemon_args=True,
        # portMappings is known to ocicni, but CRI-O maps ports itself and never sends it.
        capabilities=(
            "bandwidth",
            "ipRanges",
            "aliases",
            "cgroupPath",
            "io.kubernetes.cri.pod-annotations",
        ),
        static="args",
        empty="empty",
        one_sided=False,
        aliases="map",
        burst=8 * (2**32 - 1) - 1,
        networks=0,
        attach="default",
        bad_file="skip",
        validate=True,
        parallel=False,
        delete="cached",
        on_delete_error="halt",
        forgive=(),
        check=True,
        status="default",
        gc="start",
        forget=False,
        need_ip=False,
    ),
)

PROFILES: Mapping[str, Profile] = {each.name: each for each in (_STRICT, _LIBCNI, _GO_CNI, _OCICNI)}


def profile(name: str | Profile) -> Profile:
    """The profile of that name; raises ValueError naming those there are."""
    if isinstance(name, Profile):
        return name
    if name not in PROFILES:
        known = ", ".join(PROFILES)
        raise ValueError(f"profile {name!r} is none of {known}; name one of them")
    return PROFILES[name]
