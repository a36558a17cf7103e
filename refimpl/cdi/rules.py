"""The rules a CDI document is judged by, and how hard, as one table.

Where the specification's text and the Go library part, the policy decides: `strict` is the text,
`practice` the library that containerd, CRI-O and podman load specifications with.
"""

from __future__ import annotations

from typing import Literal

import attrs

from refimpl.cdi.versions import FLOOR, VERSIONS

Level = Literal["error", "warning"]
Policy = Literal["strict", "practice"]
POLICIES: tuple[Policy, ...] = ("strict", "practice")


@attrs.frozen
class CdiRule:
    """How a breach counts under each policy (None: not at all), where it is written, what to do."""

    strict: Level | None
    practice: Level | None
    source: str
    hint: str

    def level(self, policy: Policy) -> Level | None:
        """How a breach counts under the policy."""
        return self.strict if policy == "strict" else self.practice


_TEXT = "CDI SPEC"
_CODE = "Go library"
_BOTH = "CDI SPEC and Go library"
_E: Level = "error"
_W: Level = "warning"

RULES: dict[str, CdiRule] = {
    # the text of the document
    "unreadable": CdiRule(_E, _E, _BOTH, "make it a regular file that the runtime may read"),
    "syntax": CdiRule(_E, _E, _BOTH, "correct the text"),
    "duplicate-key": CdiRule(_E, _E, _CODE, "remove one of them"),
    "not-json": CdiRule(_E, _W, _TEXT, "write JSON, or name the file .yaml"),
    "byte-order-mark": CdiRule(_W, _W, _TEXT, "save the file as UTF-8 without a mark"),
    "number": CdiRule(_W, _W, _TEXT, "write the number plainly, in decimal"),
    "word": CdiRule(_W, _W, _TEXT, "quote it"),
    # the shape
    "type": CdiRule(_E, _E, _BOTH, "give a value of that type"),
    "unquoted": CdiRule(_E, _W, _TEXT, "quote it: the Go library takes the text, others do not"),
    "null": CdiRule(_E, _W, _TEXT, "leave the member out"),
    "unknown-field": CdiRule(_E, _E, _BOTH, "remove it, or correct its spelling and letter case"),
    "removed-field": CdiRule(_W, _E, _CODE, "leave it out: newer libraries refuse the whole file"),
    "required": CdiRule(_E, _E, _BOTH, "add it, not empty"),
    # versions
    "version-unknown": CdiRule(_E, _E, _BOTH, f"declare one of {', '.join(VERSIONS[2:])}"),
    "version-floor": CdiRule(_E, _E, _CODE, f"declare {FLOOR} or later"),
    "version-prefix": CdiRule(
        _E, _W, _TEXT, "leave the v out: it is no part of a semantic version"
    ),
    "version-minimum": CdiRule(_E, _E, _BOTH, "declare that version, or do without"),
    "version-presence": CdiRule(
        _E, _W, _TEXT, "leave the member out: older readers do not know it"
    ),
    # names
    "kind": CdiRule(_E, _E, _BOTH, "write vendor.com/class"),
    "vendor-dns": CdiRule(_E, _W, _TEXT, "use a domain name that is yours, in lower case"),
    "class-length": CdiRule(_E, _W, _TEXT, "shorten it"),
    "device-name": CdiRule(_E, _E, _BOTH, "choose another name"),
    "device-colon": CdiRule(_W, None, _TEXT, "prefer - or _"),
    # devices and annotations
    "no-devices": CdiRule(_E, _E, _BOTH, "list at least one device"),
    "duplicate-device": CdiRule(_E, _E, _BOTH, "give each device a name of its own"),
    "empty-device": CdiRule(_W, _E, _CODE, "add an edit: the library refuses the whole file"),
    "annotation-key": CdiRule(
        _E, _W, _TEXT, "write name or dns.prefix/name, 63 characters at most"
    ),
    "annotation-size": CdiRule(_E, _W, _TEXT, "keep all annotations within 262144 bytes"),
    # edits
    "env": CdiRule(_E, _E, _BOTH, "write NAME=VALUE"),
    "device-type": CdiRule(_E, _E, _BOTH, "write b, c, u or p, or leave it out"),
    "device-number": CdiRule(
        _E, _E, _CODE, "write the number of the host's node: -1 is a wildcard"
    ),
    "device-permissions": CdiRule(_E, _E, _BOTH, "write letters of rwm, or none"),
    "device-path": CdiRule(_E, _W, _TEXT, "write an absolute path"),
    "hook-name": CdiRule(
        _E, _E, _BOTH, "write createRuntime, createContainer, startContainer, poststart or poststop"
    ),
    "hook-prestart": CdiRule(_W, None, _TEXT, "prefer createRuntime: OCI has deprecated prestart"),
    "hook-path": CdiRule(_E, _W, _TEXT, "write an absolute path"),
    "hook-timeout": CdiRule(_E, _W, _TEXT, "write seconds greater than zero, or leave it out"),
    "net-device": CdiRule(_E, _E, _CODE, "name each interface once, on either side"),
    "clos-id": CdiRule(_E, _E, _CODE, "write a file name, or / for the root class"),
}
"""Rule id to rule. The newest version that is judged here is `refimpl.cdi.versions.LATEST`."""
