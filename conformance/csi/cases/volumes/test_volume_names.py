"""CreateVolume: names are free text, and one name is one volume."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Mapping
from functools import partial

from conformance.csi.needs import CREATE_DELETE_VOLUME, FILES
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, together
from refimpl.wire.status import Code

LIMIT = 128  # bytes of a name (CSI 1.13, Size Limits)

# Legal in a name, and special to a shell, a path, a URL, YAML or a line-based tool.
AWKWARD = {
    "a tab": "a\tb",
    "a line feed": "a\nb",
    "a carriage return": "a\rb",
    "a space": "a b",
    "a slash": "a/b",
    "dots": "a..b",
    "quotes": "a'\"b",
    "a percent code": "a%2Fb",
    "a shell expansion": "a$(b)",
}

# One of each range that the specification bans.
BANNED = ("\x00", "\x08", "\x0b", "\x0c", "\x0e", "\x1f", "\x7f", "\x9f")


@case("CSI-CTRL-027", "CSI 1.13 Size Limits", needs=[CREATE_DELETE_VOLUME])
def test_a_name_of_128_bytes_is_taken(csi: CsiTarget) -> None:
    """Orchestrators build names of prefixes and ids; a shorter limit shows only on some."""
    name = _long(csi.requests.fresh_name(), "x", LIMIT)
    csi.steps.volume(csi.requests.volume(name))


@case("CSI-CTRL-028", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_a_name_of_128_bytes_of_any_script_is_taken(csi: CsiTarget) -> None:
    """The limit counts bytes and any Unicode is allowed, also where the back end has less."""
    with together() as check:
        for what, letter in (("Han characters", "卷"), ("emoji", "💾"), ("Arabic letters", "ق")):
            with check:
                name = _long(csi.requests.fresh_name(), letter, LIMIT)
                expect_status(
                    partial(
                        csi.controller.CreateVolume,
                        csi.requests.volume(name),
                    ),
                    {Code.OK},
                    f"a name of {LIMIT} bytes with {what} is taken",
                )


@case("CSI-CTRL-029", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_names_with_awkward_characters_are_names_like_others(csi: CsiTarget) -> None:
    """A driver that cleans names up gives two claims one volume; one that does not may be led out
    of its directory or into a shell."""
    base = csi.requests.fresh_name()
    names = {what: f"{base}-{text}" for what, text in AWKWARD.items()}
    names |= {"a leading dash": f"-{base}", "a way upwards": f"{'../' * 12}tmp/{base}-a"}
    ids = _create_all(csi, names, {Code.OK})
    with together() as check:
        with check:
            _expect_distinct(ids)
        if csi.has(FILES):
            out = f"/tmp/{base}-a"
            with check:
                expect(
                    not os.path.lexists(out),
                    "a name is not a path",
                    wanted=f"no {out}",
                    got="it is there",
                )


@case("CSI-CTRL-030", "robustness: names are compared as bytes", needs=[CREATE_DELETE_VOLUME])
def test_names_that_only_look_alike_are_two_volumes(csi: CsiTarget) -> None:
    """Nothing says that names differ in more than case or composition; merged, data is shared."""
    base = csi.requests.fresh_name()
    composed = unicodedata.normalize("NFC", f"{base}-é")
    names = {
        "lower case": f"{base}-name",
        "upper case": f"{base}-NAME",
        "composed": composed,
        "decomposed": unicodedata.normalize("NFD", composed),
    }
    _expect_distinct(_create_all(csi, names, {Code.OK}))


@case("CSI-CTRL-031", "robustness: banned characters", needs=[CREATE_DELETE_VOLUME])
def test_names_with_banned_characters_are_refused_or_kept_whole(csi: CsiTarget) -> None:
    """The ban binds the caller; a driver that cuts a name at such a character merges volumes."""
    base = csi.requests.fresh_name()
    names = {f"U+{ord(banned):04X}": f"{base}-a{banned}b" for banned in BANNED}
    names |= {"nothing": f"{base}-ab", "nothing behind it": f"{base}-a"}
    _expect_distinct(_create_all(csi, names, {Code.OK, Code.INVALID_ARGUMENT}))


@case("CSI-CTRL-032", "robustness: names beyond the limit", needs=[CREATE_DELETE_VOLUME])
def test_a_name_of_129_bytes_is_refused_or_kept_whole(csi: CsiTarget) -> None:
    """Cut to the limit, two long names become one volume with two owners."""
    longest = _long(csi.requests.fresh_name(), "x", LIMIT)
    names = {"128 bytes": longest, "129 bytes": f"{longest}a", "another 129": f"{longest}b"}
    _expect_distinct(_create_all(csi, names, {Code.OK, Code.INVALID_ARGUMENT}))


@case("CSI-CTRL-033", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_names_that_begin_alike_are_two_volumes(csi: CsiTarget) -> None:
    """Back ends with labels of 63 or 100 characters must not compare by what fits in there."""
    names: dict[str, str] = {}
    for length in (63, 100):
        start = _long(csi.requests.fresh_name(), "x", length)
        names |= {f"{length} bytes and {end}": start + end for end in "ab"}
    _expect_distinct(_create_all(csi, names, {Code.OK}))


def _long(start: str, letter: str, size: int) -> str:
    """A name of exactly `size` bytes: the start, as many letters as fit, and dots to fill up."""
    room = size - len(start)
    letters = room // len(letter.encode())
    return start + letter * letters + "." * (room - letters * len(letter.encode()))


def _create_all(csi: CsiTarget, names: Mapping[str, str], accepted: set[Code]) -> dict[str, str]:
    """The id of each volume that was made, by what is special about its name."""
    ids = {}
    for what, name in names.items():
        request = csi.requests.volume(name)
        reply = expect_status(
            partial(csi.controller.CreateVolume, request),
            accepted,
            f"the name {name!r} ({what}) {'is taken' if len(accepted) == 1 else 'is judged'}",
        )
        if reply is not None:
            ids[what] = reply.volume.volume_id
    return ids


def _expect_distinct(ids: Mapping[str, str]) -> None:
    same = [(one, two) for one, two in _pairs(ids) if ids[one] == ids[two]]
    expect(not same, "two names are two volumes", wanted="an id each", got=f"one id for {same}")


def _pairs(names: Iterable[str]) -> list[tuple[str, str]]:
    listed = list(names)
    return [(one, two) for index, one in enumerate(listed) for two in listed[index + 1 :]]
