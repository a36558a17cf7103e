"""Names: vendors, classes and devices."""

from __future__ import annotations

from conformance.cdi.documents import document
from conformance.cdi.host import CdiHost
from conformance.cdi.judging import Documents, judged
from conformance.cdi.needs import LOAD
from conformance.engine.case import case
from conformance.engine.verdict import together


def _kinds(*kinds: str) -> Documents:
    return {kind if len(kind) < 50 else f"{len(kind)} bytes": document(kind=kind) for kind in kinds}


@case("CDI-009", "CDI Kind", needs=[LOAD])
def test_a_kind_is_a_vendor_and_a_class(host: CdiHost) -> None:
    """Names are split at the slash; one letter on either side is a name, too."""
    judged(
        host,
        "kind has two segments, separated by a slash",
        taken=_kinds("vendor.com/foo", "a/b"),
        refused=_kinds("foo", "vendor.com/foo/", "vendor.com/foo/bar", "/foo"),
    )


@case("CDI-010", "CDI Kind", needs=[LOAD])
def test_a_vendor_is_a_dns_subdomain(host: CdiHost) -> None:
    """It keeps the names of two vendors apart because a domain has one owner."""
    loose = _kinds("ven_dor.com/foo", "Vendor.com/foo", "abcdefghi." * 25 + "vendor/foo")
    if host.settings.policy == "practice":
        loose = {}  # the library takes them
    refused = {**loose, **_kinds("vendor.com./foo")}
    rule = "the prefix must be a DNS subdomain of 253 characters at most"
    judged(host, rule, taken=_kinds("a-b.vendor.com/foo"), refused=refused)


@case("CDI-011", "CDI Kind", needs=[LOAD])
def test_a_class_has_63_characters_at_most_and_dots_since_0_6_0(host: CdiHost) -> None:
    """Longer names do not fit where others keep them."""
    dotted = {
        version: {f"a dot at {version}": document(version=version, kind="vendor.com/a.b")}
        for version in ("0.5.0", "0.6.0")
    }
    with together() as check:
        with check:
            judged(
                host,
                "the name segment begins and ends with a letter or digit, with - _ . between",
                taken={**_kinds("vendor.com/a-b_c"), **dotted["0.6.0"]},
                refused={**_kinds("vendor.com/-a", "vendor.com/a_"), **dotted["0.5.0"]},
            )
        long = {f"{size} characters": document(kind=f"v.com/{'c' * size}") for size in (63, 64)}
        refused = (
            {} if host.settings.policy == "practice" else {"64 characters": long["64 characters"]}
        )
        rule = "the name segment must be 63 characters or less"
        with check:
            judged(host, rule, taken={"63 characters": long["63 characters"]}, refused=refused)


@case("CDI-012", "CDI Devices", needs=[LOAD])
def test_a_device_name_has_letters_or_digits_at_its_ends(host: CdiHost) -> None:
    """It becomes part of a request that is split at other characters."""
    judged(
        host,
        "a name begins and ends with a letter or digit, with - _ . between",
        taken={repr(name): document(name=name) for name in ("0", "a:b", "a.b-c_d")},
        refused={
            repr(name): document(name=name) for name in ("a_", "-a", "", "gerät", "a b", "a=b")
        },
    )
