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
class Rule:
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

RULES: dict[str, Rule] = {
    # the text of the document
    "unreadable": Rule(_E, _E, _BOTH, "make it a regular file that the runtime may read"),
    "syntax": Rule(_E, _E, _BOTH, "correct the text"),
    "duplicate-key": Rule(_E, _E, _CODE, "remove one of them"),
    "not-json": Rule(_E, _W, _TEXT, "write JSON, or name the file .yaml"),
    "byte-order-mark": Rule(_W, _W, _TEXT, "save the file as UTF-8 without a mark"),
    "number": Rule(_W, _W, _TEXT, "write the number plainly, in decimal"),
    "word": Rule(_W, _W, _TEXT, "quote it"),
    # the shape
    "type": Rule(_E, _E, _BOTH, "give a value of that type"),
    "unquoted": Rule(_E, _W, _TEXT, "quote it: the Go library takes the text, others do not"),
    "null": Rule(_E, _W, _TEXT, "leave the member out"),
    "unknown-field": Rule(_E, _E, _BOTH, "remove it, or correct its spelling and letter case"),
    "removed-field": Rule(_W, _E, _CODE, "leave it out: newer libraries refuse the whole file"),
    "required": Rule(_E, _E, _BOTH, "add it, not empty"),
    # versions
    "version-unknown": Rule(_E, _E, _BOTH, f"declare one of {', '.join(VERSIONS[2:])}"),
    "version-floor": Rule(_E, _E, _CODE, f"declare {FLOOR} or later"),
    "version-prefix": Rule(_E, _W, _TEXT, "leave the v out: it is no part of a semantic version"),
    "version-minimum": Rule(_E, _E, _BOTH, "declare that version, or do without"),
    "version-presence": Rule(_E, _W, _TEXT, "leave the member out: older readers do not know it"),
    # names
    "kind": Rule(_E, _E, _BOTH, "write vendor.com/class"),
    "vendor-dns": Rule(_E, _W, _TEXT, "use a domain name that is yours, in lower case"),
    "class-length": Rule(_E, _W, _TEXT, "shorten it"),
    "device-name": Rule(_E, _E, _BOTH, "choose another name"),
    "device-colon": Rule(_W, None, _TEXT, "prefer - or _"),
    # devices and annotations
    "no-devices": Rule(_E, _E, _BOTH, "list at least one device"),
    "duplicate-device": Rule(_E, _E, _BOTH, "give each device a name of its own"),
    "empty-device": Rule(_W, _E, _CODE, "add an edit: the library refuses the whole file"),
    "annotation-key": Rule(_E, _W, _TEXT, "write name or dns.prefix/name, 63 characters at most"),
    "annotation-size": Rule(_E, _W, _TEXT, "keep all annotations within 262144 bytes"),
    # edits
    "env": Rule(_E, _E, _BOTH, "write NAME=VALUE"),
    "device-type": Rule(_E, _E, _BOTH, "write b, c, u or p, or leave it out"),
    "device-number": Rule(_E, _E, _CODE, "write the number of the host's node: -1 is a wildcard"),
    "device-permissions": Rule(_E, _E, _BOTH, "write letters of rwm, or none"),
    "device-path": Rule(_E, _W, _TEXT, "write an absolute path"),
    "hook-name": Rule(
        _E, _E, _BOTH, "write createRuntime, createContainer, startContainer, poststart or poststop"
    ),
    "hook-prestart": Rule(_W, None, _TEXT, "prefer createRuntime: OCI has deprecated prestart"),
    "hook-path": Rule(_E, _W, _TEXT, "write an absolute path"),
    "hook-timeout": Rule(_E, _W, _TEXT, "write seconds greater than zero, or leave it out"),
    "net-device": Rule(_E, _E, _CODE, "name each interface once, on either side"),
    "clos-id": Rule(_E, _E, _CODE, "write a file name, or / for the root class"),
}
"""Rule id to rule. The newest version that is judged here is `refimpl.cdi.versions.LATEST`."""
