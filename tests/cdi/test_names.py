"""Names by the rule of the library and by the text of the specification."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.cdi.names import (
    BadName,
    QualifiedName,
    class_problem,
    device_problem,
    is_qualified,
    kind_problem,
    split_kind,
    vendor_problem,
)


@pytest.mark.parametrize("text", ["vendor.com/gpu=0", "a/b=c", "A_b-1/C.d=0:1", "v/c=a"])
def test_a_qualified_name_has_three_parts(text: str) -> None:
    """Also where each part is a single letter, which a library of old crashed on."""
    name = QualifiedName.parse(text)
    assert str(name) == text
    assert name.kind == f"{name.vendor}/{name.device_class}"
    assert is_qualified(text)


@pytest.mark.parametrize(
    "text",
    ["", "gpu", "a/b", "a/b=", "/a/b=c", "=c", "a=b", "/b=c", "a/=c", "a/b/c=d", "a/b=c/d",
     "a/b=c=d", "1/b=c", "a_/b=c", "a/b=-c", "a/b=c ", "é/b=c", "a/b=é", "a/b=c\n"],
)  # fmt: skip
def test_what_is_not_qualified_is_refused_with_the_rule(text: str) -> None:
    """The text of the error has the name as it was given."""
    with pytest.raises(BadName, match="no qualified device name") as caught:
        QualifiedName.parse(text)
    assert repr(text) in str(caught.value)
    assert not is_qualified(text)


@pytest.mark.parametrize(
    ("vendor", "lax", "strict"),
    [
        ("vendor.com", True, True),
        ("a", True, True),
        ("vendor_x.com", True, False),
        ("Vendor.com", True, False),
        ("a" * 63 + "." + "b" * 63, True, True),
        ("a" * 64, True, False),
        (".".join(["abcdefg"] * 32), True, False),  # 255 characters
        ("a..b", True, False),
        ("vendor.com.", False, False),
        ("3com.com", False, False),
        ("", False, False),
    ],
)
def test_a_vendor_is_a_dns_subdomain_only_for_the_text(
    vendor: str, lax: bool, strict: bool
) -> None:
    """The library takes underscores, upper case and any length."""
    assert (vendor_problem(vendor) == "") is lax
    assert (vendor_problem(vendor, strict=True) == "") is strict


def test_a_class_is_bounded_only_by_the_text() -> None:
    """63 characters; a dot inside is a matter of versions, not of names."""
    assert class_problem("c" * 63, strict=True) == ""
    assert class_problem("c" * 64) == ""
    assert "64 characters" in class_problem("c" * 64, strict=True)
    assert class_problem("a.b_c-d", strict=True) == ""
    assert "must start" in class_problem("-a")


@pytest.mark.parametrize(
    ("device", "lax", "strict"),
    [("0", True, True), ("a:b", True, False), ("a_", False, False), ("-a", False, False),
     ("", False, False), ("ü", False, False), ("a.b-c_d", True, True)],
)  # fmt: skip
def test_a_device_may_start_with_a_digit(device: str, lax: bool, strict: bool) -> None:
    """Colons are what the library allows and the text does not mention."""
    assert (device_problem(device) == "") is lax
    assert (device_problem(device, strict=True) == "") is strict


@pytest.mark.parametrize("kind", ["foo", "vendor.com/foo/", "vendor.com/foo/bar", "/foo", "a/", ""])
def test_a_kind_is_vendor_and_class(kind: str) -> None:
    """The examples of the specification that are invalid."""
    assert kind_problem(kind)


def test_a_kind_is_split_at_its_first_slash() -> None:
    """As the library does it, so that the rest of it is judged as the class."""
    assert split_kind("a/b/c") == ("a", "b/c")
    assert split_kind("a/") == ("", "a/")
    assert kind_problem("foo.bar.baz/foo-bar123.B_az", strict=True) == ""


@given(st.text(max_size=20))
def test_a_name_that_parses_is_rendered_as_it_came(text: str) -> None:
    """And nothing but BadName is raised."""
    assert not is_qualified(text) or str(QualifiedName.parse(text)) == text


@given(st.from_regex(r"[a-z0-9:._-]{1,8}/[a-z0-9:._-]{1,8}=[a-z0-9:._-]{1,8}", fullmatch=True))
def test_strict_is_stricter(text: str) -> None:
    """What the strict rule takes, the lax one takes."""
    try:
        QualifiedName.parse(text, strict=True)
        accepted = True
    except BadName:
        accepted = False
    assert is_qualified(text) or not accepted
