"""What is remembered of an attachment between ADD and DEL, in the files that libcni writes.

`<cache>/results/<network>-<container id>-<interface>`, JSON, kind "cniCacheV1"; files of directory
mode 0700, 0600 each. Two rules of our own keep what libcni can still read:

- "-" may stand in all three parts, so one name can mean several attachments. A file counts only
  when its members name the attachment; who comes second takes the name with `~` and a digest
  behind it (a character that neither ids nor network names have). So does a name too long for a
  file. libcni finds these when it lists the folder (GC), not by name.
- A file without `result` is an ADD that was begun. libcni reads an empty result from it.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from refimpl import files
from refimpl.cni.runtime.attachment import Attachment
from refimpl.cni.runtime.gojson import Struct, as_map, marshal
from refimpl.cni.runtime.profiles import Profile
from refimpl.documents import DocumentError
from refimpl.documents import json as documents

__all__ = ["DEFAULT", "KIND", "CacheError", "Kept", "Store"]

DEFAULT: Final = Path("/var/lib/cni")
KIND: Final = "cniCacheV1"
_LONGEST: Final = 255


class CacheError(ValueError):
    """A kept file that cannot be read: its path, and what is wrong with it."""


@attrs.frozen
class Kept:
    """One kept attachment. result: the last plugin's document, None where ADD never ended.

    config: the network document of ADD, b"" in a file of before libcni 0.8, which is only a result.
    """

    network: str
    attachment: Attachment
    config: bytes
    result: dict[str, Any] | None = None

    def to_dict(self) -> Struct:
        """The members of the file, in libcni's order; what is empty is left out."""
        about = self.attachment
        optional = {
            "netns": about.netns,
            "cniArgs": [list(pair) for pair in about.args],
            "capabilityArgs": dict(about.capability_args),
            "result": self.result or {},
        }
        return Struct(
            kind=KIND,
            containerId=about.container_id,
            config=base64.b64encode(self.config).decode(),
            ifName=about.ifname,
            networkName=self.network,
            **{name: value for name, value in optional.items() if value},
        )


class Store:
    """The files below one cache directory."""

    def __init__(self, folder: Path, profile: Profile) -> None:
        self._folder = folder / "results"
        self._verify = profile.cache.verify
        self._go = profile.requests.document == "go"

    def write(self, kept: Kept) -> Path:
        """Keeps an attachment, in one step: a crash leaves the old file or the new. OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = self._find(kept.network, kept.attachment) or self._free(
            kept.network, kept.attachment
        )
        value = kept.to_dict()
        data = marshal(_mapped(value)) if self._go else documents.dump(value)
        number, name = tempfile.mkstemp(prefix=".refimpl-", dir=self._folder)
        try:
            with open(number, "wb") as file:
                file.write(data)
                file.flush()
                if not self._go:
                    os.fsync(file.fileno())
            os.replace(name, place)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            raise
        return place

    def read(self, network: str, attachment: Attachment) -> Kept | None:
        """What is kept of the attachment, None if nothing is; raises CacheError."""
        place = self._find(network, attachment)
        return None if place is None else self._held(_read(place, network, attachment))

    def remove(self, network: str, attachment: Attachment) -> None:
        """Forgets the attachment, also when its file cannot be read."""
        place = self._find(network, attachment)
        if place is not None:
            place.unlink(missing_ok=True)

    def __iter__(self) -> Iterator[Kept]:
        """Everything kept, in the order of the file names; what cannot be read is left out.

        Raises OSError where the folder cannot be listed; no folder is an empty one.
        """
        try:
            names = sorted(os.listdir(self._folder), key=os.fsencode)
        except FileNotFoundError:
            return
        for name in names:
            with contextlib.suppress(OSError, CacheError):
                kept = self._held(_read(self._folder / name))
                if kept.network and kept.attachment.ifname:
                    yield kept

    def _held(self, kept: Kept) -> Kept:
        """What a program in Go has in memory of it: payloads in maps, numbers float64."""
        if not self._go:
            return kept
        about = kept.attachment
        try:
            turned = as_map(about.capability_args)
        except ValueError as error:
            raise CacheError(f"kept attachment {about}: capabilityArgs: {error}") from error
        return attrs.evolve(kept, attachment=attrs.evolve(about, capability_args=turned))

    def _names(self, network: str, attachment: Attachment) -> tuple[str, str]:
        """libcni's name of the file, and the one that nobody else has."""
        plain = f"{network}-{attachment.container_id}-{attachment.ifname}"
        parts = "\0".join((network, attachment.container_id, attachment.ifname))
        digest = hashlib.sha256(parts.encode()).hexdigest()[:32]
        head = plain.encode()[: _LONGEST - len(digest) - 1].decode(errors="ignore")
        return plain, f"{head}~{digest}"

    def _find(self, network: str, attachment: Attachment) -> Path | None:
        """The file of the attachment, if there is one."""
        plain, sure = self._names(network, attachment)
        if not self._verify:
            place = self._folder / plain
            return place if os.path.exists(place) else None
        for name in (plain, sure):
            place = self._folder / name
            with contextlib.suppress(OSError):
                if self._is_of(place, network, attachment):
                    return place
        return None

    def _is_of(self, place: Path, network: str, attachment: Attachment) -> bool:
        """Whether a file is about the attachment; one that cannot be read may well be."""
        if not os.path.exists(place):
            return False
        try:
            kept = _read(place, network, attachment)
        except CacheError:
            return True
        return (kept.network, *kept.attachment.pair) == (network, *attachment.pair)

    def _free(self, network: str, attachment: Attachment) -> Path:
        plain, sure = self._names(network, attachment)
        fits = len(os.fsencode(plain)) <= _LONGEST
        if not self._verify or (fits and not os.path.exists(self._folder / plain)):
            return self._folder / plain
        return self._folder / sure


def _mapped(value: Struct) -> Struct:
    """The file's members with a result that has gone through a map, as libcni's has."""
    if "result" not in value:
        return value
    return Struct({**value, "result": _plain(value["result"])})


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _read(place: Path, network: str = "", attachment: Attachment | None = None) -> Kept:
    """One file; `network` and `attachment` stand in for what a bare result does not say."""
    data = files.read(place)
    try:
        value = documents.parse(data, name=str(place)).value
    except DocumentError as error:
        raise CacheError(f"kept attachment {error}") from error
    if not isinstance(value, dict):
        raise CacheError(f"kept attachment {place}: no object; delete the file")
    if value.get("kind") != KIND:
        if attachment is None:
            raise CacheError(f"kept attachment {place}: kind {value.get('kind')!r} is not {KIND!r}")
        return Kept(network, attachment, b"", value)
    try:
        return _kept(value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CacheError(f"kept attachment {place}: member {error}; delete the file") from error


def _kept(value: dict[str, Any]) -> Kept:
    about = Attachment(
        container_id=_text(value, "containerId"),
        netns=_text(value, "netns"),
        ifname=_text(value, "ifName"),
        args=tuple((key, text) for key, text in value.get("cniArgs") or ()),
        capability_args=dict(value.get("capabilityArgs") or {}),
    )
    try:
        config = base64.b64decode(_text(value, "config"), validate=True)
    except binascii.Error as error:
        raise ValueError(f"config: {error}") from error
    result = value.get("result")
    if not isinstance(result, dict | None):
        raise TypeError("result: no object")
    return Kept(_text(value, "networkName"), about, config, result)


def _text(value: dict[str, Any], name: str) -> str:
    text = value.get(name, "")
    if not isinstance(text, str):
        raise TypeError(f"{name}: no string")
    return text
