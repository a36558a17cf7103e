"""The choices that runtimes have made, one field each; `profiles` has the values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from refimpl.cni.contract import Verb

__all__ = ["Answers", "Cache", "Pods", "Policy", "Profile", "Requests"]


@attrs.frozen(kw_only=True)
class Requests:
    """How a request comes about (CNI 1.1, "Deriving execution configuration from plugin
    configuration").

    document: "exact" keeps order and numbers; "go" decodes into a map and encodes it: float64
    numbers, sorted members, `<>&` escaped, capabilities and reserved members passed on.
    environment: "verb" sends the variables of the verb and the ambient ones named in `kept`;
    "inherited" sends the whole environment of the runtime and all six variables.
    """

    document: Literal["exact", "go"]
    environment: Literal["verb", "inherited"]
    kept: tuple[str, ...] = ()
    gc_keys: tuple[str, ...] = ("cni.dev/valid-attachments",)
    gc_none: Literal["list", "null"] = "list"
    """What stands there when no attachment is valid."""
    probe: Mapping[str, str] = attrs.field(factory=dict)
    """Variables that VERSION gets although it has no use for them."""


@attrs.frozen(kw_only=True)
class Answers:
    """What counts as an answer.

    reader: "exact" refuses what is no result and keeps unknown members; "go" reads any object
    that fits its types and drops what it does not know, an error object with exit 0 included.
    convert: whether the next plugin gets the result in the version of the network.
    """

    reader: Literal["exact", "go"]
    convert: bool


@attrs.frozen(kw_only=True)
class Cache:
    """What is remembered of an attachment, and how (the files are those of libcni).

    begin: written before the first plugin runs, so that a crash leaves a trace to clean up.
    verify: a file counts only when it names the attachment that is asked for.
    needed_by_check: CHECK without a kept result is refused; libcni goes on without prevResult.
    later: DEL and CHECK use configuration, arguments and capabilities of ADD, or the present ones.
    gc_from: the same for the DEL of what GC finds stale.
    """

    begin: bool
    verify: bool
    needed_by_check: bool
    later: Literal["cached", "current"]
    gc_from: Literal["cached", "current"]


@attrs.frozen(kw_only=True)
class Policy:
    """What is done when.

    deadlines: seconds an exec may take, by verb. busy: attempts, and the pause between them in
    seconds, at a plugin that is being written. again: ADD of what is attached already is refused.
    clean: DEL of the whole list after a failed ADD. skip_unrun: that DEL leaves out plugins that
    could not be started. old_check: what CHECK of a version before 0.4.0 is. one_at_a_time: calls
    for one container follow each other, GC runs alone. check_netns: ADD wants a namespace that is
    there and not the runtime's own; DEL does not name one that is gone. check_names: names are
    checked before every verb, not before ADD only.
    """

    deadlines: Mapping[Verb, float]
    busy: tuple[int, float]
    again: Literal["refuse", "allow"]
    clean: bool
    skip_unrun: bool
    old_check: Literal["skip", "error"]
    future_version: Literal["refuse", "send"]
    one_at_a_time: bool
    check_netns: bool
    check_names: bool
    gc_without_list: Literal["refuse", "all"]
    gc_unreadable_cache: Literal["error", "skip"]


@attrs.frozen(kw_only=True)
class Pods:
    """What a runtime does around the contract for the sandbox of a pod.

    loopback: "netlink" raises it without a plugin, "exec" runs one as a network of its own.
    spelling: member names of capability payloads, of the conventions or of Go's fields.
    args: order of CNI_ARGS. daemon_args: the CNI_ARGS of the runtime's own environment follow.
    capabilities: those that are sent. static: how a wanted address and MAC reach the plugins.
    empty: what stands for a list or map without members.
    burst: bits that a bandwidth limit lets through at once; 0 is one second at the rate.
    networks: how many files of the folder count, 0 for all.
    attach: to all of them, or to the first unless the pod names others.
    bad_file: a broken file in front is skipped, or is the end of it.
    validate: VERSION of every plugin is asked at load.
    parallel: the networks of one pod are attached at once.
    delete: order of the networks on DEL; "cached" is that of the kept files.
    forgive: a DEL error with this text is none.
    check: CHECK on every status. status: which networks are asked for STATUS.
    gc: when the runtime collects.
    forget: a failed clean-up after a failed ADD is not repeated.
    need_ip: ADD without an address on the first interface is a failure.
    index: an `ips[].interface` that is negative, or the number of interfaces, is nobody's
    ("ignore") or ends the daemon ("die").
    """

    loopback: Literal["netlink", "exec"]
    spelling: Literal["conventions", "go"]
    args: Literal["fixed", "random"]
    daemon_args: bool
    capabilities: tuple[str, ...]
    static: Literal["capabilities", "args", "never"]
    empty: Literal["empty", "null"]
    one_sided: bool
    """Whether a limit in one direction says nothing of the other; else it is sent as 0."""
    aliases: Literal["list", "map"]
    burst: int
    networks: int
    attach: Literal["all", "default"]
    bad_file: Literal["skip", "fail"]
    validate: bool
    parallel: bool
    delete: Literal["reverse", "forward", "cached"]
    on_delete_error: Literal["continue", "halt"]
    forgive: tuple[str, ...]
    check: bool
    status: Literal["all", "default", "never"]
    gc: Literal["asked", "start", "never"]
    forget: bool
    need_ip: bool
    index: Literal["ignore", "die"] = "ignore"


@attrs.frozen(kw_only=True)
class Profile:
    """One runtime. `note` says which, in which version."""

    name: str
    note: str
    requests: Requests
    answers: Answers
    cache: Cache
    policy: Policy
    pods: Pods
