"""Requests for devices in container annotations: the way before CRI had a field for them.

cdi.k8s.io/<plugin>_<device id>: vendor.com/class=a,vendor.com/class=b
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from refimpl.cdi.names import BadName, QualifiedName, not_subdomain

PREFIX = "cdi.k8s.io/"
NAME_LENGTH = 63

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
_SHAPE = "letters, digits and _ - . between a letter or digit at either end"


class AnnotationError(ValueError):
    """An annotation that cannot be made or read; the text names it, the rule and what to do."""


def key(plugin: str, device_id: str) -> str:
    """The annotation's key for one allocation; slashes of the id become underscores.

    `plugin` is of the form vendor.device-type. Raises AnnotationError.
    """
    for field, text in (("plugin", plugin), ("device id", device_id)):
        if not text:
            raise AnnotationError(f"the {field} is empty; a key is plugin_deviceID, give both")
    name = f"{plugin}_{device_id.replace('/', '_')}"
    if len(name.encode()) > NAME_LENGTH:
        raise AnnotationError(
            f"{name!r} has {len(name.encode())} bytes; a key's name has at most {NAME_LENGTH},"
            " use a shorter id"
        )
    if not _NAME.fullmatch(name):
        raise AnnotationError(f"{name!r} is no name for a key: it has {_SHAPE}")
    return PREFIX + name


def value(devices: Iterable[str]) -> str:
    """The annotation's value. Raises AnnotationError for a name that is not qualified."""
    return ",".join(_qualified(device, "the list") for device in devices)


def update(
    annotations: Mapping[str, str], plugin: str, device_id: str, devices: Iterable[str]
) -> dict[str, str]:
    """The annotations with one request more. Raises AnnotationError, also for a key in use."""
    name = key(plugin, device_id)
    if name in annotations:
        raise AnnotationError(f"annotation {name!r} is in use; give each allocation its own id")
    return {**annotations, name: value(devices)}


def parse(annotations: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """(keys that request devices, names they request), in the order of the keys.

    One bad name spoils all of them: raises AnnotationError, as the Go library does.
    """
    keys = sorted(name for name in annotations if name.startswith(PREFIX))
    devices = [
        _qualified(device, f"annotation {name!r}")
        for name in keys
        for device in annotations[name].split(",")
    ]
    return keys, devices


def requested(
    field: Iterable[str], annotations: Mapping[str, str], *, unique: bool = True
) -> list[str]:
    """The names that a container asks for: CRI's field first, then what annotations add.

    `unique`: a name repeated within the field counts once, as with containerd; CRI-O keeps it.
    Raises AnnotationError.
    """
    names = list(dict.fromkeys(field)) if unique else list(field)
    return [*names, *(dict.fromkeys(name for name in parse(annotations)[1] if name not in names))]


def key_problem(name: str) -> str:
    """What is wrong with a key of annotations by the rule of Kubernetes, "" if nothing."""
    prefix, slash, bare_name = name.lower().rpartition("/")
    if slash:
        problem = not_subdomain(f"the prefix of annotation {name!r}", prefix)
        if problem:
            return problem
    if len(bare_name) > NAME_LENGTH or not _NAME.fullmatch(bare_name):
        return f"the name of annotation {name!r} is not 1 to {NAME_LENGTH} of {_SHAPE}"
    return ""


def _qualified(device: str, where: str) -> str:
    try:
        QualifiedName.parse(device)
    except BadName as error:
        raise AnnotationError(f"{where}: {error}; separate names by commas alone") from error
    return device
