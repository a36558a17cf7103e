"""What is mounted below a mount: whether it is seen, and whether it can be written."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from conformance.cri.needs import (
    HOST,
    IMAGE,
    MOUNT_OPTIONS,
    NO_MOUNT_OPTIONS,
    NODE,
    PLAIN_HANDLER,
    RECURSIVE,
)
from conformance.cri.node import Node, folder, mount, privileged, said, worked
from conformance.cri.pods import ContainerUnderTest
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Refused

_INWARD = pb.PROPAGATION_HOST_TO_CONTAINER
_BOTH = pb.PROPAGATION_BIDIRECTIONAL
_EXIT = 7
_OPTIONS = ("noexec", "nosuid", "nodev")


@case("CRI-MT-011", "CRI v1 MountPropagation", needs=[IMAGE, HOST, NODE])
def test_mounts_propagate_as_asked(cri: CriTarget) -> None:
    """What the node mounts later comes into HOST_TO_CONTAINER and BIDIRECTIONAL, what a container
    mounts goes out of BIDIRECTIONAL only: a CSI driver mounts its volumes so."""
    data = folder(cri)
    (data / "inside").mkdir()
    node = Node(cri)
    node.bind(data)
    private, inward, both = (
        privileged(node.pod, mount(data, propagation=each)) for each in (0, _INWARD, _BOTH)
    )
    node.tmpfs(data / "outside")
    worked(both, "touch /data/outside/mark")
    _expect_seen(private, inward, both, "outside")
    for container, name, seen in ((inward, "inward", False), (both, "both", True)):
        (data / name).mkdir()
        worked(container, f"mount -t tmpfs refimpl /data/{name} && touch /data/{name}/mark")
        cri.scope.callback(partial(worked, container, f"umount /data/{name}"))
        other = inward if seen else both
        found = worked(other, f"ls /data/{name}/mark")
        rule = f"what is mounted in {name} {'is' if seen else 'is not'} seen elsewhere"
        expect(found == seen, rule, wanted=seen, got=found)
    expect(not worked(private, "ls /data/both/mark"), "PRIVATE stays", wanted="no file", got="one")


def _expect_seen(
    private: ContainerUnderTest, inward: ContainerUnderTest, both: ContainerUnderTest, name: str
) -> None:
    with together() as check:
        for container, what, seen in (
            (private, "PRIVATE", False),
            (inward, "HOST_TO_CONTAINER", True),
            (both, "BIDIRECTIONAL", True),
        ):
            with check:
                found = worked(container, f"ls /data/{name}/mark")
                rule = f"what the node mounts later is {'' if seen else 'not '}seen in {what}"
                expect(found == seen, rule, wanted=seen, got=found)


@case("CRI-MT-012", "containerd, CRI-O: the source has to be shared", needs=[IMAGE, HOST, NODE])
def test_nothing_goes_out_of_a_private_mount(cri: CriTarget) -> None:
    """A driver would wait for its mounts to come up on the node, for ever."""
    data = folder(cri)
    node = Node(cri)
    node.bind(data, propagation="private")
    expect_refusal(
        lambda: privileged(node.pod, mount(data, propagation=_BOTH)),
        "BIDIRECTIONAL of a path that is on a private mount",
    )


@case("CRI-MT-013", "CRI v1 Mount.recursive_read_only", needs=[IMAGE, HOST, NODE, RECURSIVE])
def test_what_is_mounted_below_is_read_only_too(cri: CriTarget) -> None:
    """Without it only the mount itself is (readonly of Linux is of one mount)."""
    data = folder(cri)
    node = Node(cri)
    node.tmpfs(data / "below")
    pod = cri.pods.shared()
    plain = pod.run(mounts=[mount(data, readonly=True)])
    recursive = pod.run(mounts=[mount(data, readonly=True, recursive_read_only=True)])
    wrote = worked(plain, "touch /data/below/plain")
    expect(wrote, "readonly alone leaves what is below writable", wanted="a file", got="none")
    for path in ("/data/below/new", "/data/new"):
        wrote = worked(recursive, f"touch {path}")
        expect(not wrote, f"{path} cannot be written", wanted="Read-only file system", got="a file")


@case(
    "CRI-MT-014",
    "CRI v1 Mount.recursive_read_only: readonly, PRIVATE",
    needs=[IMAGE, HOST, RECURSIVE],
)
def test_recursive_read_only_goes_with_read_only_and_private(cri: CriTarget) -> None:
    """Anything else would be writable somewhere."""
    pod, data = cri.pods.shared(), folder(cri)
    with together() as check:
        for what, readonly, propagation in (
            ("without readonly", False, pb.PROPAGATION_PRIVATE),
            ("with HOST_TO_CONTAINER", True, pb.PROPAGATION_HOST_TO_CONTAINER),
            ("with BIDIRECTIONAL", True, pb.PROPAGATION_BIDIRECTIONAL),
        ):
            asked = mount(
                data, recursive_read_only=True, readonly=readonly, propagation=propagation
            )
            with check:
                expect_refusal(partial(pod.create, mounts=[asked]), f"recursive_read_only {what}")


@case(
    "CRI-MT-015",
    "cri-api pkg/errors: RROUnsupported",
    needs=[IMAGE, HOST, PLAIN_HANDLER],
)
def test_a_handler_that_cannot_do_it_refuses_it(cri: CriTarget) -> None:
    """Never half of it: the pod would be told that nothing below can be written."""
    handlers = cri.kubelet.status().runtime_handlers
    plain = [each.name for each in handlers if not each.features.recursive_read_only_mounts]
    pod = cri.pods.ask(cri.pods.config(), next(iter(plain), ""))
    asked = mount(folder(cri), readonly=True, recursive_read_only=True)
    expect_refusal(lambda: pod.run(mounts=[asked]), "recursive_read_only by such a handler")


def _script(data: Path) -> None:
    file = data / "run"
    file.write_text(f"#!/bin/sh\nexit {_EXIT}\n")
    file.chmod(0o755)


@case("CRI-MT-016", "CRI v1 Mount.mount_options", needs=[IMAGE, HOST, MOUNT_OPTIONS])
def test_each_option_is_in_effect(cri: CriTarget) -> None:
    """VolumeBindMountOptions of Kubernetes."""
    data = folder(cri)
    _script(data)
    pod = cri.pods.shared()
    with together() as check:
        for option in _OPTIONS:
            container = pod.run(mounts=[mount(data, mount_options=[option])])
            table = said(container, "cat", "/proc/self/mountinfo").splitlines()
            lines = [line.split() for line in table]
            options = next((each[5].split(",") for each in lines if each[4] == "/data"), [])
            with check:
                there = option in options
                expect(there, f"{option} is in the table", wanted=option, got=options)
            if option == "noexec":
                with check:
                    code = _run(container)
                    expect(code != _EXIT, "nothing is run there", wanted="an error", got=code)


def _run(container: ContainerUnderTest) -> int:
    """The exit code of the script in its mount; -1 where the runtime cannot run it."""
    try:
        return container.runtime.exec_sync(container.id, ["/data/run"], 10).exit_code
    except Refused:
        return -1


@case("CRI-MT-017", "CRI v1 Mount.mount_options", needs=[IMAGE, HOST, NO_MOUNT_OPTIONS])
def test_options_are_ignored_or_refused_without_the_feature(cri: CriTarget) -> None:
    """Kubelet does not send them then (D81); the mount is there all the same."""
    data = folder(cri)
    _script(data)
    try:
        container = cri.pods.shared().run(mounts=[mount(data, mount_options=["noexec"])])
    except Refused:
        return
    code = _run(container)
    expect(code == _EXIT, "the mount is as without options", wanted=_EXIT, got=code)
