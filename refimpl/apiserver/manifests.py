"""Objects as they are sent: whether they have the shape of one, and what a patch makes of them."""

from __future__ import annotations

from typing import Any

__all__ = ["Malformed", "Object", "checked", "merged"]

Object = dict[str, Any]
"""As in JSON."""

# Lists that are maps to a strategic merge, by the field that names an entry (of v1.Node and v1.Pod,
# what kubelet patches). All other lists are replaced as a whole.
_KEYED = {
    "conditions": "type",
    "addresses": "type",
    "podIPs": "ip",
    "hostIPs": "ip",
    "ownerReferences": "uid",
}


class Malformed(ValueError):
    """What was sent is no object, or no patch of one."""


def checked(manifest: Any) -> Object:
    """The same, if it has the shape of an object: raises Malformed for one whose metadata, spec or
    status is anything but an object, or whose name is no text."""
    if not isinstance(manifest, dict):
        raise Malformed(f"an object is expected, not {type(manifest).__name__}")
    for name in ("metadata", "spec", "status"):
        if not isinstance(manifest.get(name) or {}, dict):
            raise Malformed(f"{name} is an object, not {manifest[name]!r}")
    metadata = manifest.get("metadata") or {}
    for name in ("name", "namespace", "uid"):
        if not isinstance(metadata.get(name, ""), str):
            raise Malformed(f"metadata.{name} is text, not {metadata[name]!r}")
    return manifest


def merged(before: Any, patch: Any, *, strategic: bool) -> Any:
    """`before` with a merge patch (RFC 7386) on it, or with a strategic one of Kubernetes, as far
    as kubelet makes them. Raises Malformed for a list that its entries cannot be merged into."""
    if not isinstance(patch, dict):
        return patch
    after = dict(before) if isinstance(before, dict) else {}
    for name, value in patch.items():
        if strategic and name.startswith("$"):  # orders and retained keys: order tells nothing here
            continue
        if value is None:
            after.pop(name, None)
        elif strategic and name in _KEYED and isinstance(value, list):
            after[name] = _by_key(after.get(name) or [], value, _KEYED[name])
        else:
            after[name] = merged(after.get(name), value, strategic=strategic)
    return after


def _by_key(before: list[Any], patch: list[Any], key: str) -> list[Any]:
    if not all(isinstance(entry, dict) and ("$patch" in entry or key in entry) for entry in patch):
        raise Malformed(f"every entry of the list is an object with {key}")
    if any(entry.get("$patch") == "replace" for entry in patch):
        return [entry for entry in patch if "$patch" not in entry]
    after = {entry[key]: entry for entry in before}
    for entry in patch:
        if entry.get("$patch") == "delete":
            after.pop(entry.get(key), None)
        else:
            after[entry[key]] = merged(after.get(entry[key]), entry, strategic=True)
    return list(after.values())
