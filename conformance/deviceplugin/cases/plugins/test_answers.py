"""What Allocate answers: paths, variables, annotations and CDI names that a runtime can use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from conformance.deviceplugin.plugins.answers import repeated, singles
from conformance.deviceplugin.plugins.needs import (
    GIVES_ANNOTATIONS,
    GIVES_CDI,
    GIVES_DEVICES,
    GIVES_ENVS,
    GIVES_MOUNTS,
    ONE_DEVICE,
)
from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect
from refimpl.cdi import AnnotationError, BadName, Cache, QualifiedName
from refimpl.cdi.annotations import PREFIX, key_problem
from refimpl.cdi.annotations import parse as cdi_requests
from refimpl.deviceplugin import illusion
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb

ANSWER = "device plugin v1beta1, ContainerAllocateResponse"
CHECKPOINTED = 1024 * 1024
"""Kubelet writes every answer into one file whenever anything changes."""

_PERMISSIONS = frozenset("rwm")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@case("DP-PLG-039", f"{ANSWER}.devices", needs=[GIVES_DEVICES])
def test_device_files_have_absolute_paths_and_permissions(plugin: DevicePluginUnderTest) -> None:
    """They go into the runtime's configuration as they are, and the container does not start, or
    its device cannot be opened."""
    wrong = [fault for id, given in singles(plugin) for fault in _device_faults(id, given)]
    expect(
        not wrong,
        "devices have absolute paths, and permissions out of r, w and m",
        wanted="/dev/x at /dev/x, rw",
        got=wrong,
    )


def _device_faults(id: str, given: pb.ContainerAllocateResponse) -> Iterator[str]:
    for device in given.devices:
        for what, path in (("host", device.host_path), ("container", device.container_path)):
            if not os.path.isabs(path):
                yield f"{id!r}: {what}_path {path!r}"
        letters = device.permissions
        if not letters or not set(letters) <= _PERMISSIONS:
            yield f"{id!r}: permissions {letters!r}"


@case("DP-PLG-040", f"{ANSWER}.devices and mounts", needs=[ONE_DEVICE])
def test_paths_of_the_host_exist(plugin: DevicePluginUnderTest) -> None:
    """What is missing is found out by the runtime, and the pod hangs in ContainerCreating."""
    missing = [
        f"{id!r}: {path}"
        for id, given in singles(plugin)
        for path in _host_paths(given)
        if not _on_host(plugin, path)
    ]
    expect(
        not missing,
        "host paths of devices and mounts exist once Allocate has answered",
        wanted="paths that are there",
        got=missing,
    )


def _host_paths(given: pb.ContainerAllocateResponse) -> Iterator[str]:
    yield from (device.host_path for device in given.devices)
    yield from (mount.host_path for mount in given.mounts)


def _on_host(plugin: DevicePluginUnderTest, path: str) -> bool:
    """Also below the folder that a plugin sees at the real kubelet's path."""
    seen = Path(path)
    if os.path.lexists(seen):
        return True
    return seen.is_relative_to(illusion.REAL) and os.path.lexists(
        plugin.session.layout.root / seen.relative_to(illusion.REAL)
    )


@case("DP-PLG-041", f"{ANSWER}.mounts", needs=[GIVES_MOUNTS])
def test_mounts_have_absolute_paths_each_at_a_place_of_its_own(
    plugin: DevicePluginUnderTest,
) -> None:
    """Of two mounts at one place kubelet takes one, and a path with .. leaves the folder that it
    seems to lie in. Asked for up to eight devices alone and all at once."""
    together = plugin.calls.allocate(plugin.ids()[:8]).container_responses
    answers = [*singles(plugin), *(("all of them", each) for each in together)]
    wrong = [fault for id, given in answers for fault in _mount_faults(id, given)]
    expect(
        not wrong,
        "mounts have absolute paths without .., and no two are at one place",
        wanted="/opt/x at /opt/x",
        got=wrong,
    )


def _mount_faults(id: str, given: pb.ContainerAllocateResponse) -> Iterator[str]:
    for mount in given.mounts:
        for what, path in (("host", mount.host_path), ("container", mount.container_path)):
            if not os.path.isabs(path) or ".." in Path(path).parts:
                yield f"{id!r}: {what}_path {path!r}"
    for path in repeated(mount.container_path for mount in given.mounts):
        yield f"{id!r}: {path} twice"


@case("DP-PLG-042", f"{ANSWER}.envs", needs=[GIVES_ENVS])
def test_variables_can_be_set_in_every_process(plugin: DevicePluginUnderTest) -> None:
    """A shell in the container cannot read a name with a dash or a dot, and a NUL ends the value:
    the runtime refuses the container."""
    wrong = [
        f"{id!r}: {name}={value!r}"
        for id, given in singles(plugin)
        for name, value in given.envs.items()
        if not _VARIABLE.fullmatch(name) or set(value) & {"\0", "\n"}
    ]
    expect(
        not wrong,
        "envs have names of letters, digits and _, and values of one line",
        wanted="NAME=value",
        got=wrong,
    )


@case("DP-PLG-043", f"{ANSWER}.annotations", needs=[GIVES_ANNOTATIONS])
def test_annotations_have_qualified_keys(plugin: DevicePluginUnderTest) -> None:
    """Runtimes look devices up that cdi.k8s.io annotations name, and one name that is none spoils
    the container."""
    wrong = [fault for id, given in singles(plugin) for fault in _annotation_faults(id, given)]
    expect(
        not wrong,
        "keys of annotations are qualified, and CDI annotations name CDI devices",
        wanted="vendor.com/key: value",
        got=wrong,
    )


def _annotation_faults(id: str, given: pb.ContainerAllocateResponse) -> Iterator[str]:
    annotations = dict(given.annotations)
    yield from (f"{id!r}: {fault}" for key in annotations if (fault := key_problem(key)))
    try:
        cdi_requests(annotations)
    except AnnotationError as error:
        yield f"{id!r}: {error}"


@case("DP-PLG-044", f"{ANSWER}.cdi_devices", needs=[GIVES_CDI])
def test_cdi_devices_are_defined_when_the_answer_comes(plugin: DevicePluginUnderTest) -> None:
    """The runtime looks them up at once and fails on a name that no CDI file has yet; it does not
    try again."""
    wrong: list[str] = []
    for id, given in singles(plugin):
        names = [each.name for each in given.cdi_devices]
        wrong += [f"{id!r}: {fault}" for fault in _cdi_faults(plugin, names)]
    where = ", ".join(map(str, plugin.sessions.cdi_dirs))
    expect(
        not wrong,
        "cdi_devices are qualified, different, and defined by a CDI file",
        wanted=f"vendor.com/class=name, defined in {where}",
        got=wrong,
    )


def _cdi_faults(plugin: DevicePluginUnderTest, names: list[str]) -> Iterator[str]:
    yield from (f"{name} twice" for name in repeated(names))
    with Cache(plugin.sessions.cdi_dirs, watched=False) as cache:
        defined = cache.registry
    for name in names:
        try:
            QualifiedName.parse(name)
        except BadName as error:
            yield str(error)
        else:
            if why := defined.why_not(name):
                yield why


@case("DP-PLG-045", f"{ANSWER}.cdi_devices", needs=[GIVES_CDI])
def test_a_cdi_device_is_named_in_one_way(plugin: DevicePluginUnderTest) -> None:
    """Named in an annotation as well, it is injected by a runtime that reads both, perhaps twice;
    the annotation is for kubelets that do not know the field."""
    both: list[str] = []
    for id, given in singles(plugin):
        prefixed = {k: v for k, v in given.annotations.items() if k.startswith(PREFIX)}
        noted = {name for value in prefixed.values() for name in value.split(",")}
        both += [f"{id!r}: {each.name}" for each in given.cdi_devices if each.name in noted]
    expect(
        not both,
        "no device is named by cdi_devices and by a CDI annotation",
        wanted="either of them",
        got=both,
    )


@case("DP-PLG-046", "Kubernetes 1.37 kubelet, checkpoint", needs=[ONE_DEVICE])
def test_an_answer_is_not_large(plugin: DevicePluginUnderTest) -> None:
    """Kubelet keeps it in its checkpoint for as long as the pod lives, and writes all of it anew
    with every list and every pod."""
    ids = plugin.ids()
    size = plugin.calls.allocate(ids).ByteSize()
    expect(
        size < CHECKPOINTED,
        f"the answer for all {len(ids)} devices is smaller than 1 MiB",
        wanted=f"less than {CHECKPOINTED} bytes",
        got=f"{size} bytes",
    )
