"""Files of `refimpl dra`: devices, objects and nodes in them. Problems are usage errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from refimpl import files
from refimpl.cli.errors import Usage

if TYPE_CHECKING:
    from refimpl.dra.allocation import Node
    from refimpl.dra.cel import Device

__all__ = ["devices", "everything", "nodes", "read"]


def devices(path: str, driver: str) -> Iterator[tuple[str, Device]]:
    """Each device of a file with its name. Raises Usage."""
    from refimpl.documents import DocumentError, yaml

    try:
        document = yaml.parse(read(path), name=path).value
    except DocumentError as error:
        raise Usage(str(error)) from error
    found = list(_in_document(document, driver, path))
    if not found:
        raise Usage(f"{path} has no device: neither a ResourceSlice nor attributes or capacity")
    yield from found


def read(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else files.read(path)
    except OSError as error:
        raise Usage(f"{path}: {error.strerror}") from error


def _in_document(document: Any, driver: str, path: str) -> Iterator[tuple[str, Device]]:
    if not isinstance(document, Mapping):
        raise Usage(f"{path} is no object")
    if isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _in_document(item, driver, path)
    elif isinstance(document.get("spec"), Mapping):
        spec = document["spec"]
        pool = spec.get("pool", {}).get("name", "") if isinstance(spec.get("pool"), Mapping) else ""
        for device in spec.get("devices") or ():
            name = "/".join(filter(None, (spec.get("driver", ""), pool, device.get("name", ""))))
            yield name, _built(str(spec.get("driver", driver)), device, name)
    elif "attributes" in document or "capacity" in document:
        name = str(document.get("name", "device"))
        yield name, _built(str(document.get("driver", driver)), document, name)


def _built(driver: str, device: Any, name: str) -> Device:
    from refimpl.dra.cel import Device

    try:
        return Device.of(driver, device)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Usage(f"{name}: {error}") from error


def everything(path: str) -> list[Any]:
    """The objects of a file that a scheduler looks at; those of DRA are checked first."""
    from refimpl.documents import DocumentError
    from refimpl.dra.validation.documents import objects

    try:
        found = objects(read(path), path)
    except DocumentError as error:
        raise Usage(str(error)) from error
    except ValueError as error:
        raise Usage(f"{error}; refimpl dra validate tells all that is wrong") from error
    return found


def nodes(objects: list[Any], only: tuple[str, ...]) -> list[Node]:
    from refimpl.dra.allocation import Node

    nodes = {}
    for each in objects:
        if each.get("kind") == "Node":
            metadata = each.get("metadata") or {}
            nodes[metadata.get("name", "")] = Node(metadata["name"], metadata.get("labels") or {})
    if not nodes:
        named = [
            place.get("nodeName")
            for each in objects
            if each.get("kind") == "ResourceSlice"
            for place in (each["spec"], *(each["spec"].get("devices") or ()))
        ]
        nodes = {name: Node(name) for name in (*filter(None, named), *only)}
    strange = [name for name in only if name not in nodes]
    if strange:
        raise Usage(f"there is no node {strange[0]}: {', '.join(nodes) or 'none at all'}")
    chosen = [node for name, node in nodes.items() if not only or name in only]
    if not chosen:
        raise Usage("neither a Node nor a slice names a node: name one with --node")
    return chosen
